"""make-casts.py: write test/corpus/casts, floats of all types and their casts by torch to other types. A NaN of torch can
have any sign and payload; a NaN that was cast is replaced by the one that amn writes.

usage: make-casts.py FOLDER
"""
import sys

import torch
from safetensors.torch import save_file

TYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
NAN = {torch.bfloat16: (torch.int16, 0x7FC0), torch.float16: (torch.int16, 0x7E00), torch.float32: (torch.int32, 0x7FC00000)}


def awkward(dtype):
    torch.manual_seed(7)
    spread = torch.randn(200, dtype=torch.float64) * torch.exp(20 * torch.randn(200, dtype=torch.float64))
    special = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-45, 5e-324, 65519.99, 65520.0, 3.4028235e38, 3.41e38,
               1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11, 1 + 3 * 2**-11, 2**-24 * 1.5, 2**-25, 2**-133, 1 + 2**-8 + 2**-40]
    return torch.cat([torch.tensor(special, dtype=torch.float64), spread]).to(dtype)


def cast(x, dtype):
    y = x.to(dtype).contiguous()
    bits, nan = NAN[dtype]
    if x.dtype != dtype:
        y.view(bits)[torch.isnan(y)] = nan
    return y


def main(folder):
    source = {name: awkward(dtype) for name, dtype in TYPES.items()}
    whole = {"count": torch.arange(5), "flags": torch.tensor([True, False])}
    save_file(source | whole, folder + "/in.safetensors")
    for name in ("bf16", "f16", "f32"):
        save_file({k: cast(v, TYPES[name]) for k, v in source.items()} | whole, folder + "/%s.safetensors" % name)


main(sys.argv[1])
