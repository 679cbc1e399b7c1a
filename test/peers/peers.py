"""peers: shared by the comparisons."""
import torch
from safetensors import safe_open

from tools import Tally, Tools  # noqa: F401

TARGETS = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def load(path):
    """Returns tensors and metadata, read by the library."""
    with safe_open(path, framework="pt") as f:
        return {name: f.get_tensor(name) for name in f.keys()}, f.metadata()


def same_bits(got, want):
    """Equal dtypes, shapes and bits; any NaN equals any NaN, whose payload depends on the CPU."""
    if got is None or got.dtype != want.dtype or got.shape != want.shape:
        return False
    got, want = got.contiguous(), want.contiguous()
    bits = BITS[got.element_size()]
    differ = got.reshape(-1).view(bits) != want.reshape(-1).view(bits)
    if got.is_floating_point() and got.element_size() > 1:
        differ &= ~(got.isnan() & want.isnan()).reshape(-1)
    return not differ.any()
