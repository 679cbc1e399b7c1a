#!/usr/bin/env python3
r"""make-mlx-corpus.py CORPUS: write CORPUS/safetensors-good/peer-mlx-* and CORPUS/manifest-mlx.ndjson.

Small MLX models, quantized, written and decoded by MLX itself on the CPU; those of transformers' Metal quantizer by its
own functions. Run by hand when a case is added, in the environment of requirements.txt:

    python test/peers/make-mlx-corpus.py test/corpus
"""
import sys

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import torch
import transformers
from corpus_writer import Models
from mlx.utils import tree_flatten
from transformers.integrations.metal_quantization import _affine_dequantize_tensor, _affine_quantize_tensor

TYPES = {"bf16": mx.bfloat16, "f16": mx.float16, "f32": mx.float32}
GOLDEN = {  # bits, words
    4: "4a18f5c3 e4b29f6d 8e5c3907 28f6d3a1 4e7093c5 a4d6f92b 0a3c5f81 6f92b5e7",
    3: "de54cef1 e343eb19 33bca89d 0e5d8a73 e7e1ab3f 7e1cbc14",
}


def to_torch(array):
    """A float array, in its own type."""
    types = {mx.bfloat16: torch.bfloat16, mx.float16: torch.float16, mx.float32: torch.float32}
    return torch.from_numpy(np.array(array.astype(mx.float32))).to(types[array.dtype])


def random(*shape):
    return mx.random.normal(shape) * 0.1 + 0.02


def quantized(weight, **how):
    """Returns (stored, expected) of one weight."""
    parts = mx.quantize(weight, **how)
    stored = dict(zip(("weight", "scales", "biases"), parts))
    return stored, mx.dequantize(*parts, **how)


class Case:
    def __init__(self):
        self.stored, self.expected, self.blocks = {}, {}, {}

    def weight(self, name, weight, told=True, **how):
        stored, expected = quantized(weight, **how)
        self.stored |= {f"{name}.{key}": value for key, value in stored.items()}
        self.expected[f"{name}.weight"] = to_torch(expected)
        if told:
            self.blocks[name] = how
        return stored

    def write(self, file):
        mx.save_safetensors(file, self.stored, metadata={"format": "mlx"})

    def add(self, models, name, note, config=None):
        models.add(name, self.write, self.expected, note, config)


def config_of(**block):
    return {"model_type": "llama", "quantization": block, "quantization_config": block}


def every_width(models):
    case = Case()
    for i, bits in enumerate((1, 2, 3, 4, 5, 6, 8)):
        for group, dtype in ((32, "bf16"), (64, "f16"), (128, "f32")):
            case.weight(f"model.layers.{i}.{dtype}", random(3, 384).astype(TYPES[dtype]), bits=bits, group_size=group)
    case.add(models, "every-width", "every number of bits, group size and type; each module has a block of its own",
             config_of(group_size=64, bits=4, **case.blocks))


def golden(models):
    case = Case()
    v = mx.array([(((37 * i + 11) % 64) - 31.5) / 32 for i in range(64)]).astype(mx.bfloat16).reshape(1, 64)
    for bits, words in GOLDEN.items():
        stored = case.weight(f"golden{bits}", v, bits=bits, group_size=32)
        assert " ".join("%08x" % int(w) for w in np.array(stored["weight"])[0]) == words
    case.add(models, "golden", "the golden vectors", config_of(group_size=32, bits=4, **case.blocks))


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(11, 128)
        self.up_proj = nn.Linear(128, 7, bias=True)
        self.norm = nn.RMSNorm(128)


def modules(models):
    mx.random.seed(1)
    model = Small()
    model.set_dtype(mx.bfloat16)
    nn.quantize(model, group_size=64, bits=4)
    case = Case()
    case.stored = dict(tree_flatten(model.parameters()))
    for name, module in (("embed_tokens", model.embed_tokens), ("up_proj", model.up_proj)):
        case.expected[name + ".weight"] = to_torch(mx.dequantize(
            module.weight, module.scales, module.biases, group_size=64, bits=4))
    case.expected["up_proj.bias"] = to_torch(model.up_proj.bias)
    case.expected["norm.weight"] = to_torch(model.norm.weight)
    case.weight("experts.gate_proj", random(3, 5, 192).astype(mx.bfloat16), bits=4, group_size=64)
    case.weight("experts.down_proj", random(2, 3, 96).astype(mx.bfloat16), bits=6, group_size=32)
    case.add(models, "modules", "an embedding, a Linear with a bias, experts; one module differs",
             config_of(group_size=64, bits=4, **{"experts.down_proj": {"group_size": 32, "bits": 6}}))


def by_shape(models):
    case = Case()
    for bits, group in ((5, 32), (5, 64), (5, 128), (6, 128), (8, 128), (3, 32), (1, 32)):
        case.weight(f"b{bits}g{group}", random(2, 256).astype(mx.bfloat16), bits=bits, group_size=group)
    case.add(models, "by-shape", "no config: bits and groups that the shapes tell")


def edges(models):
    case = Case()
    stored = case.weight("a", random(4, 128).astype(mx.bfloat16), bits=4, group_size=64)
    bits = np.array([0x7F80, 0x0000, 0x7FC1, 0x8000, 0x0001, 0x8080, 0x7F7F, 0xFF80], np.uint16)
    stored["scales"] = mx.view(mx.array(bits), mx.bfloat16).reshape(4, 2)
    case.stored["a.scales"] = stored["scales"]
    case.expected["a.weight"] = to_torch(mx.dequantize(*stored.values(), bits=4, group_size=64))
    case.add(models, "edges", "zero, subnormal, largest, infinite and NaN scales", config_of(group_size=64, bits=4))


def floats(models):
    case = Case()
    for mode in ("mxfp4", "nvfp4", "mxfp8"):
        case.weight(f"{mode}.a", random(5, 96).astype(mx.bfloat16), mode=mode)
        case.weight(f"{mode}.experts", random(2, 3, 64).astype(mx.bfloat16), mode=mode)
    codes, scales = mx.arange(256, dtype=mx.uint32).astype(mx.uint8), mx.full((8, 2), 100, dtype=mx.uint8)
    case.stored |= {"every.weight": mx.view(codes.reshape(8, 32), mx.uint32), "every.scales": scales}
    case.expected["every.weight"] = to_torch(mx.dequantize(case.stored["every.weight"], scales, mode="mxfp4"))
    scale = mx.array(0.37)
    stored = dict(zip(("weight", "scales"), mx.quantize(random(3, 96), mode="nvfp4", global_scale=scale)))
    case.stored |= {f"global.{key}": value for key, value in stored.items()} | {"global.global_scale": scale}
    case.expected["global.weight"] = to_torch(mx.dequantize(*stored.values(), mode="nvfp4", global_scale=scale,
                                                            dtype=mx.float32))
    case.add(models, "floats", "mxfp4, nvfp4 with and without global_scale, mxfp8: told by the shapes")


def metal(models):
    stored, expected = {}, {}
    torch.manual_seed(1)
    for bits in (2, 4, 8):
        weight = (torch.randn(5, 256) * 0.1).to(torch.bfloat16)
        w, s, b = _affine_quantize_tensor(weight, 64, bits)
        s, b = s.to(weight.dtype), b.to(weight.dtype)
        name = f"model.layers.{bits}.up_proj"
        stored |= {f"{name}.weight": w, f"{name}.scales": s, f"{name}.qbiases": b}
        expected[f"{name}.weight"] = _affine_dequantize_tensor(w, s, b, 64, bits)
    block = {"quant_method": "metal", "bits": 4, "group_size": 64}
    four = {k: v for k, v in stored.items() if ".4." in k}
    models.add("metal", four, {k: v for k, v in expected.items() if ".4." in k},
               f"qbiases: F32 and one rounding at the end, as transformers {transformers.__version__} computes",
               {"model_type": "llama", "quantization_config": block})


def main():
    models = Models(sys.argv[1], "mlx", f"MLX {mx.__version__}")
    mx.random.seed(0)
    for make in (every_width, golden, modules, by_shape, edges, floats, metal):
        make(models)
    models.done()


main()
