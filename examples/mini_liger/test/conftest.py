import os

import pytest
import torch

from liger_kernel.utils import infer_device

# Read when the kernels are decorated, that is when the test modules import them.
if infer_device() == "cpu":
    os.environ.setdefault("TRITON_INTERPRET", "1")


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
