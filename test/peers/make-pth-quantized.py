#!/usr/bin/env python3
"""make-pth-quantized.py: write some quantized models of test/corpus as PyTorch checkpoints, test/corpus/pth-quantized, with
torch.save() of the tensors that safetensors reads: the new and the old form alternate. Each has its safetensors file next
to it."""
import os
import shutil

import torch
from safetensors.torch import load_file

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus")
NAMES = ["bnb-nf4-bs64-bfloat16-dq", "gptq-4bit-asym-shuffled", "awq-gemm", "ct-int8-bf16-32x4-zp", "fp8-grid-42-even",
         "hqq-1bit-axis1", "fp8-grid-e8m0-32x32", "gptq-3bit-sym"]

folder = os.path.join(CORPUS, "pth-quantized")
os.makedirs(folder, exist_ok=True)
for i, name in enumerate(NAMES):
    source = os.path.join(CORPUS, "safetensors-good", name + ".safetensors")
    shutil.copy(source, folder)
    torch.save(load_file(source), os.path.join(folder, name + ".pt"), _use_new_zipfile_serialization=i % 3 != 2)
