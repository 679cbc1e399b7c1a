#!/usr/bin/env python3
r"""make-hqq-corpus.py CORPUS: write CORPUS/safetensors-good/peer-hqq-* and CORPUS/manifest-hqq.ndjson.

Small HQQ models, quantized and decoded by HQQ's own layer on the CPU and written as its state_dict(). Run by hand when
a case is added, in the environment of requirements.txt:

    python test/peers/make-hqq-corpus.py test/corpus
"""
import importlib.metadata
import sys

import torch
from corpus_writer import Models
from hqq.core.quantize import BaseQuantizeConfig, HQQLinear


def layer_of(shape, nbits, group, axis, dtype, viewed=False, bias=False, round_zero=False):
    linear = torch.nn.Linear(shape[1], shape[0], bias=bias)
    config = BaseQuantizeConfig(nbits=nbits, group_size=group, axis=axis, view_as_float=viewed)
    config["weight_quant_params"]["optimize"] = False       # takes hours on a GPU, and changes only the numbers
    config["weight_quant_params"]["round_zero"] = round_zero
    return HQQLinear(linear, config, compute_dtype=dtype, device="cpu")


def add(stored, expected, name, layer):
    stored |= {f"{name}.{key}": value.detach().contiguous() for key, value in layer.state_dict().items()}
    expected[f"{name}.weight"] = layer.dequantize().to(torch.bfloat16)
    if layer.bias is not None:
        expected[f"{name}.bias"] = layer.bias


def write(models, name, note, layers, change=None):
    stored, expected = {"model.norm.weight": torch.ones(8, dtype=torch.bfloat16)}, {}
    for i, how in enumerate(layers):
        torch.manual_seed(i)
        add(stored, expected, f"model.layers.{i}.mlp.up_proj", layer_of(*how[:5], **(how[5] if len(how) > 5 else {})))
    expected["model.norm.weight"] = stored["model.norm.weight"]
    if change:
        change(stored, expected)
    models.add(name, stored, expected, note, plain={k for k in expected if not k.endswith("proj.weight")})


def edges(stored, expected):
    """Returns scales and zeros of all kinds, and the values of the layer."""
    name = "model.layers.0.mlp.up_proj"
    layer = layer_of((8, 32), 4, 16, 1, torch.float16)
    bits = torch.tensor([0, 0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x3C01]).to(torch.int16)
    layer.meta["scale"].view(-1)[:10] = bits.view(torch.float16)
    layer.meta["zero"].view(-1)[5:15] = bits.view(torch.float16)
    add(stored, expected, name, layer)


def main():
    versions = importlib.metadata.version("hqq"), torch.__version__.split("+")[0]
    models = Models(sys.argv[1], "hqq", "HQQ %s, torch %s" % versions)
    bf16, f16, f32 = torch.bfloat16, torch.float16, torch.float32
    write(models, "rows", "axis 1: a group is a row; every packing, 5 and 6 bits in bytes, 1.58 in two bits", [
        ((12, 40), 8, 8, 1, bf16), ((12, 40), 6, 24, 1, f16), ((12, 40), 5, None, 1, f32), ((12, 40), 4, 40, 1, bf16),
        ((7, 48), 4, 24, 1, f16, {"bias": True}), ((7, 48), 3, 16, 1, bf16), ((3, 40), 3, 40, 1, f16),
        ((10, 24), 3, 8, 1, f32), ((12, 40), 2, 8, 1, bf16), ((8, 12), 1.58, 8, 1, f16), ((16, 24), 1, 8, 1, bf16)])
    write(models, "columns", "axis 0: a group is a column", [
        ((12, 40), 8, 16, 0, bf16), ((12, 40), 4, 24, 0, f16), ((7, 48), 4, 8, 0, f32), ((7, 48), 3, 16, 0, bf16),
        ((6, 50), 3, None, 0, f16), ((12, 40), 2, 8, 0, bf16), ((16, 24), 1, 8, 0, f16), ((9, 64), 4, 64, 0, bf16)])
    write(models, "viewed", "view_as_float: the codes stored as another type", [
        ((8, 40), 8, 16, 1, bf16, {"viewed": True}), ((8, 40), 4, 40, 1, f16, {"viewed": True}),
        ((8, 40), 3, 16, 1, bf16, {"viewed": True}), ((8, 40), 2, 8, 0, f32, {"viewed": True}),
        ((8, 40), 3, 16, 0, f32, {"viewed": True}), ((16, 40), 1, 8, 0, f16, {"viewed": True})])
    write(models, "zeros", "rounded zeros, and scales and zeros at the edges of F16", [
        ((8, 32), 4, 16, 1, f16), ((8, 32), 4, 16, 1, bf16, {"round_zero": True})], edges)
    models.done()


main()
