import pytest
import torch

from liger_kernel.transformers.cross_entropy import LigerCrossEntropyLoss
from liger_kernel.transformers.functional import liger_cross_entropy
from liger_kernel.utils import infer_device

device = infer_device()

SHAPES = [
    # rows, vocabulary
    (6, 64),
    (9, 129),  # odd width: the rows are not aligned and the block is masked
    (1, 7),
    (3, 32768 + 77),  # more than one block of the column loop, see also below
]
DTYPES = [
    # dtype, rtol, atol
    (torch.float32, 1e-5, 1e-6),
    (torch.bfloat16, 2e-2, 1e-3),
]
IGNORE_INDEX = -100


def reference_results(logits, target, factor, ignore_index=IGNORE_INDEX):
    """Loss and gradient of ``factor * loss`` in float32, from logits rounded to the tested dtype."""
    logits = logits.detach().to(torch.float32, copy=True).requires_grad_()
    loss = torch.nn.functional.cross_entropy(logits, target, ignore_index=ignore_index)
    return loss.detach(), *torch.autograd.grad(loss * factor, logits)


def check(logits, target, factor, rtol, atol):
    """Compare loss and gradient of the module with plain torch."""
    # Taken first: the kernel overwrites the logits.
    loss_ref, grad_ref = reference_results(logits, target, factor)
    logits = logits.clone().requires_grad_()
    loss = LigerCrossEntropyLoss(ignore_index=IGNORE_INDEX)(logits, target)
    (loss * factor).backward()

    assert logits.grad.dtype == logits.dtype
    torch.testing.assert_close(loss, loss_ref, rtol=rtol, atol=atol)
    torch.testing.assert_close(logits.grad.float(), grad_ref, rtol=rtol, atol=atol)


@pytest.mark.parametrize("factor", [1.0, -0.37])
@pytest.mark.parametrize(("dtype", "rtol", "atol"), DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_cross_entropy(shape, dtype, rtol, atol, factor):
    logits = torch.randn(shape, device=device, dtype=dtype) * 3
    target = torch.randint(0, shape[1], shape[:1], device=device)
    check(logits, target, factor, rtol, atol)


@pytest.mark.parametrize(("dtype", "rtol", "atol"), DTYPES)
def test_cross_entropy_with_the_maximum_in_a_later_block(dtype, rtol, atol):
    # The first block alone has nearly every maximum, and then its sum is never scaled to a new one.
    logits = torch.randn(2, 32768 + 77, device=device, dtype=dtype)
    logits[:, -1] = torch.tensor([9.0, 11.0], device=device, dtype=dtype)
    target = torch.tensor([5, 32768 + 76], device=device)
    check(logits, target, 1.0, rtol, atol)


@pytest.mark.parametrize(("dtype", "rtol", "atol"), DTYPES)
def test_cross_entropy_ignores_rows(dtype, rtol, atol):
    logits = torch.randn(7, 129, device=device, dtype=dtype)
    target = torch.randint(0, 129, (7,), device=device)
    target[[0, 3, 6]] = IGNORE_INDEX
    check(logits, target, 2.0, rtol, atol)


@pytest.mark.parametrize(("dtype", "rtol", "atol"), DTYPES)
@pytest.mark.parametrize("label_is_likely", [True, False])
def test_cross_entropy_of_confident_logits(dtype, rtol, atol, label_is_likely):
    # Random logits never bring the softmax near one, where the gradient is a small difference.
    logits = torch.randn(5, 65, device=device, dtype=dtype)
    target = torch.randint(0, 65, (5,), device=device)
    peak = target if label_is_likely else (target + 1) % 65
    logits.scatter_(1, peak[:, None], 12.0)
    check(logits, target, 1.0, rtol, atol)


def test_cross_entropy_without_gradient_keeps_the_logits():
    logits = torch.randn(3, 129, device=device)
    target = torch.tensor([5, 1, 128], device=device)
    before = logits.clone()

    loss = liger_cross_entropy(logits, target, ignore_index=1)

    loss_ref = torch.nn.functional.cross_entropy(before, target, ignore_index=1)
    torch.testing.assert_close(loss, loss_ref)
    torch.testing.assert_close(logits, before, rtol=0, atol=0)


@pytest.mark.parametrize("label", [-1, 64])
def test_cross_entropy_rejects_labels_outside_the_vocabulary(label):
    logits = torch.randn(2, 64, device=device)
    with pytest.raises(ValueError, match=r"\[0, 64\)"):
        liger_cross_entropy(logits, torch.tensor([3, label], device=device))
