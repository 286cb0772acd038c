import pytest
import torch

from liger_kernel.transformers.functional import liger_swiglu
from liger_kernel.transformers.swiglu import LigerSiLUMul
from liger_kernel.utils import infer_device

device = infer_device()

SHAPES = [
    (2, 3, 64),
    (4, 9, 129),  # odd width: the rows are not aligned and the block is masked
    (5, 1000),
    (1, 1, 7),
]
DTYPES = [
    # dtype, rtol, atol
    (torch.float32, 1e-5, 1e-5),
    (torch.bfloat16, 2e-2, 2e-2),
]


def reference_results(a, b, dc):
    """Output and gradients in float32, from inputs rounded to the tested dtype."""
    a = a.detach().to(torch.float32, copy=True).requires_grad_()
    b = b.detach().to(torch.float32, copy=True).requires_grad_()
    c = torch.nn.functional.silu(a) * b
    return c.detach(), *torch.autograd.grad(c, (a, b), dc.float())


@pytest.mark.parametrize("scale", [1.0, 10.0])
@pytest.mark.parametrize(("dtype", "rtol", "atol"), DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_swiglu(shape, dtype, rtol, atol, scale):
    # The larger scale reaches both ends of the sigmoid.
    a = torch.randn(shape, device=device, dtype=dtype) * scale
    b = torch.randn(shape, device=device, dtype=dtype)
    dc = torch.randn(shape, device=device, dtype=dtype)
    # Taken first: the kernel overwrites a and b.
    c_ref, da_ref, db_ref = reference_results(a, b, dc)

    a.requires_grad_()
    b.requires_grad_()
    c = LigerSiLUMul()(a, b)
    c.backward(dc)

    assert c.dtype == a.grad.dtype == b.grad.dtype == dtype
    torch.testing.assert_close(c.float(), c_ref, rtol=rtol, atol=atol)
    torch.testing.assert_close(a.grad.float(), da_ref, rtol=rtol, atol=atol)
    torch.testing.assert_close(b.grad.float(), db_ref, rtol=rtol, atol=atol)


@pytest.mark.parametrize(("dtype", "rtol", "atol"), DTYPES)
def test_swiglu_functional_takes_any_strides(dtype, rtol, atol):
    # The halves of one matrix, as a fused projection returns them, and a gradient of stride 0.
    both = torch.randn(3, 140, device=device, dtype=dtype)
    a, b = both.chunk(2, dim=-1)
    dc = torch.randn(70, device=device, dtype=dtype).expand(3, 70)
    c_ref, da_ref, db_ref = reference_results(a, b, dc)

    a, b = both.requires_grad_().chunk(2, dim=-1)
    c = liger_swiglu(a, b)
    (d_both,) = torch.autograd.grad(c, both, dc)

    torch.testing.assert_close(c.float(), c_ref, rtol=rtol, atol=atol)
    torch.testing.assert_close(d_both.float(), torch.cat((da_ref, db_ref), dim=-1), rtol=rtol, atol=atol)
