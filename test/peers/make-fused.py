#!/usr/bin/env python3
"""make-fused.py CORPUS: write CORPUS/fused: plain.safetensors, and its encoding by compressed-tensors.

Weights that vLLM fuses, in BF16, whose largest elements differ by up to 60 times; nvfp4.safetensors and
fp8-per-tensor.safetensors have them encoded by compressed-tensors, with one scale for each group as llm-compressor calibrates
it: from the smallest and the largest element of the group. Run by hand, in the environment of requirements.txt:

    python test/peers/make-fused.py test/corpus
"""
import os
import sys

import torch
from compressed_tensors.compressors.naive_quantized.base import NaiveQuantizationCompressor
from compressed_tensors.compressors.nvfp4.base import NVFP4PackedCompressor
from compressed_tensors.quantization import preset_name_to_scheme
from compressed_tensors.quantization.utils.helpers import calculate_qparams, generate_gparam
from safetensors.torch import save_file

GROUPS = [
    {"l.0.self_attn.q_proj": (64, 0.02), "l.0.self_attn.k_proj": (32, 0.3), "l.0.self_attn.v_proj": (32, 0.005)},
    {"l.0.mlp.gate_proj": (48, 0.02), "l.0.mlp.up_proj": (48, 0.11)},
    {"l.0.block_sparse_moe.experts.0.w1": (32, 0.01), "l.0.block_sparse_moe.experts.0.w3": (32, 0.08)},
    {"l.0.block_sparse_moe.experts.1.w1": (32, 0.05), "l.0.block_sparse_moe.experts.1.w3": (32, 0.01)},
    {"l.1.self_attn.q_a_proj": (32, 0.01), "l.1.self_attn.kv_a_proj_with_mqa": (40, 0.05)},
    {"l.1.linear_attn.in_proj_qkv": (64, 0.01), "l.1.linear_attn.in_proj_z": (32, 0.05)},
    {"l.0.self_attn.o_proj": (32, 0.02)}, {"l.0.mlp.down_proj": (32, 0.4)},
]


def encode(group, preset, compressor):
    scheme = preset_name_to_scheme(preset, ["Linear"])
    least = torch.stack([w.min() for w in group.values()]).min()
    most = torch.stack([w.max() for w in group.values()]).max()
    stored = {}
    for name, w in group.items():
        state = {"weight": w}
        if preset == "NVFP4A16":
            state["weight_global_scale"] = generate_gparam(least, most)
            blocks = w.unflatten(-1, (-1, scheme.weights.group_size))
            state["weight_scale"], state["weight_zero_point"] = calculate_qparams(
                blocks.amin(-1), blocks.amax(-1), scheme.weights, state["weight_global_scale"])
        else:
            state["weight_scale"], state["weight_zero_point"] = calculate_qparams(
                least.reshape(1), most.reshape(1), scheme.weights)
        parts = compressor.compress(state, scheme)
        parts.pop("weight_zero_point", None)
        stored |= {f"{name}.{key}": value.contiguous() for key, value in parts.items()}
    return stored


def main():
    out = os.path.join(sys.argv[1], "fused")
    os.makedirs(out, exist_ok=True)
    rng = torch.Generator().manual_seed(7)
    groups = [{name: (torch.randn(rows, 64, generator=rng) * spread).to(torch.bfloat16)
               for name, (rows, spread) in group.items()} for group in GROUPS]
    save_file({f"{name}.weight": w for group in groups for name, w in group.items()}, f"{out}/plain.safetensors",
              metadata={"format": "pt"})
    for name, preset, compressor in (("nvfp4", "NVFP4A16", NVFP4PackedCompressor),
                                     ("fp8-per-tensor", "FP8", NaiveQuantizationCompressor)):
        stored = {}
        for group in groups:
            stored |= encode(group, preset, compressor)
        save_file(stored, f"{out}/{name}.safetensors", metadata={"format": "pt"})


main()
