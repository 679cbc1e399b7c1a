#!/usr/bin/env python3
"""make-padded.py CORPUS: write CORPUS/padded: plain.safetensors, and its encoding by comfy-kitchen.

Weights whose sizes are not multiples of the blocks, which comfy-kitchen pads with zeros. Run by hand, in the environment of
requirements.txt:

    python test/peers/make-padded.py test/corpus
"""
import json
import os
import sys

import torch
from comfy_kitchen.tensor.mxfp8 import TensorCoreMXFP8Layout
from comfy_kitchen.tensor.nvfp4 import TensorCoreNVFP4Layout
from safetensors.torch import save_file

SHAPES = {"rows": (33, 64), "cols": (64, 40), "both": (130, 72), "small": (7, 5)}


def main():
    out = os.path.join(sys.argv[1], "padded")
    os.makedirs(out, exist_ok=True)
    rng = torch.Generator().manual_seed(9)
    plain = {name: (torch.randn(shape, generator=rng) * 0.05).to(torch.bfloat16) for name, shape in SHAPES.items()}
    save_file({f"{name}.weight": w for name, w in plain.items()}, f"{out}/plain.safetensors", metadata={"format": "pt"})
    for name, layout in (("mxfp8", TensorCoreMXFP8Layout), ("nvfp4", TensorCoreNVFP4Layout)):
        marker = torch.tensor(list(json.dumps({"format": name}).encode()), dtype=torch.uint8)
        stored = {}
        for module, w in plain.items():
            codes, params = layout.quantize(w.clone())
            parts = layout.state_dict_tensors(codes, params) | {".": marker}
            stored |= {f"{module}.weight{key}" if key != "." else f"{module}.comfy_quant": value.clone()
                       for key, value in parts.items()}
        save_file(stored, f"{out}/comfy-{name}.safetensors", metadata={"format": "pt"})


main()
