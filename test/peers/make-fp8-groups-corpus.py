#!/usr/bin/env python3
r"""make-fp8-groups-corpus.py CORPUS: write CORPUS/safetensors-good/peer-fp8-groups-* and CORPUS/manifest-fp8-groups.ndjson.

FP8 of compressed-tensors with the strategy "group", quantized and decompressed by the library with F32 scales. Run by hand, in
the environment of requirements.txt:

    python test/peers/make-fp8-groups-corpus.py test/corpus
"""
import importlib.metadata
import sys

import torch
from compressed_tensors.compressors.naive_quantized.base import NaiveQuantizationCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from compressed_tensors.quantization.utils.helpers import calculate_qparams
from corpus_writer import Models

CASES = {"model.layers.0.mlp.up_proj": (16, 192), "model.layers.0.mlp.down_proj": (48, 96), "model.layers.1.mlp.up_proj": (7, 288)}


def main():
    torch.manual_seed(4)
    models = Models(sys.argv[1], "fp8-groups", "compressed-tensors " + importlib.metadata.version("compressed-tensors"))
    for group in (96, 48):
        args = QuantizationArgs(num_bits=8, type="float", strategy="group", group_size=group)
        scheme = QuantizationScheme(targets=["Linear"], weights=args)
        stored, expected = {}, {}
        for name, shape in CASES.items():
            w = torch.randn(shape) * 0.05
            grouped = w.unflatten(-1, (-1, group))
            scale, zero = calculate_qparams(grouped.amin(-1), grouped.amax(-1), args)
            parts = NaiveQuantizationCompressor.compress({"weight": w, "weight_scale": scale, "weight_zero_point": zero}, scheme)
            parts.pop("weight_zero_point", None)
            stored |= {f"{name}.{key}": value.contiguous() for key, value in parts.items()}
            expected[f"{name}.weight"] = NaiveQuantizationCompressor.decompress(dict(parts), scheme)["weight"].float()
        models.add(str(group), stored, expected, f"strategy group, {group} columns", {"quantization_config": {
            "quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": {"group_0": {
                "targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "group",
                                                   "group_size": group, "symmetric": True}}}}})
    models.done()


main()
