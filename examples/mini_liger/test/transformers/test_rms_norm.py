import pytest
import torch

from liger_kernel.transformers.functional import liger_rms_norm
from liger_kernel.transformers.rms_norm import LigerRMSNorm
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


def reference_rms_norm(x, weight, eps):
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight.float()


def make_inputs(shape, dtype):
    """Input, weight and output gradient, all random, in ``dtype``."""
    x = torch.randn(shape, device=device, dtype=dtype)
    weight = torch.randn(shape[-1], device=device, dtype=dtype)
    dy = torch.randn(shape, device=device, dtype=dtype)
    return x, weight, dy


def reference_results(x, weight, dy, eps):
    """Output and gradients in float32, from inputs rounded to the tested dtype."""
    x = x.detach().to(torch.float32, copy=True).requires_grad_()
    weight = weight.detach().to(torch.float32, copy=True).requires_grad_()
    y = reference_rms_norm(x, weight, eps)
    return y.detach(), *torch.autograd.grad(y, (x, weight), dy.float())


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize(("dtype", "rtol", "atol"), DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_rms_norm(shape, dtype, rtol, atol, in_place):
    eps = 1e-6
    x, weight, dy = make_inputs(shape, dtype)
    y_ref, dx_ref, dw_ref = reference_results(x, weight, dy, eps)

    layer = LigerRMSNorm(shape[-1], eps=eps, in_place=in_place).to(device, dtype)
    layer.weight.data.copy_(weight)
    x.requires_grad_()
    y = layer(x)
    dy_before = dy.clone()
    y.backward(dy)

    assert y.dtype == x.grad.dtype == layer.weight.grad.dtype == dtype
    torch.testing.assert_close(y.float(), y_ref, rtol=rtol, atol=atol)
    torch.testing.assert_close(x.grad.float(), dx_ref, rtol=rtol, atol=atol)
    # A weight gradient sums over the rows, and grows with their root.
    n_rows = x.numel() // shape[-1]
    torch.testing.assert_close(layer.weight.grad.float(), dw_ref, rtol=rtol, atol=atol * n_rows**0.5)
    if not in_place:
        torch.testing.assert_close(dy, dy_before, rtol=0, atol=0)


@pytest.mark.parametrize(("dtype", "rtol", "atol"), DTYPES)
def test_rms_norm_functional_takes_any_strides(dtype, rtol, atol):
    eps = 1e-5
    x, weight, _ = make_inputs((3, 70), dtype)
    dy = torch.randn(70, device=device, dtype=dtype).expand(3, 70)  # stride 0
    y_ref, dx_ref, _ = reference_results(x, weight, dy, eps)

    x = x.t().contiguous().t().requires_grad_()
    y = liger_rms_norm(x, weight, eps)
    (dx,) = torch.autograd.grad(y, x, dy)

    torch.testing.assert_close(y.float(), y_ref, rtol=rtol, atol=atol)
    torch.testing.assert_close(dx.float(), dx_ref, rtol=rtol, atol=atol)
