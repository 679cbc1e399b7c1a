#!/usr/bin/env python3
r"""make-sdnq-corpus.py CORPUS: write CORPUS/safetensors-good/peer-sdnq-* and CORPUS/manifest-sdnq.ndjson.

Small models quantized, packed and decoded by sdnq itself. In types-*, the codes of each type are then replaced: by all
that the type has, or random ones; and their scales by values of a wide range. Run by hand when a case is added, in the
environment of requirements.txt:

    python test/peers/make-sdnq-corpus.py test/corpus
"""
import json
import os
import sys
from importlib.metadata import version

import torch
from corpus_writer import Models
from sdnq.common import dtype_dict
from sdnq.quantizer import SDNQConfig, sdnq_quantize_layer_weight
from sdnq.utils import check_param_name_in, get_minimum_dtype

ALIASES = ["fp%d" % n for n in range(2, 9)]
TYPES = [k for k, v in dtype_dict.items() if 2 <= v["num_bits"] <= 8 and (v["is_packed"] or k in (
    "int8", "uint8", "float8_e4m3fn", "float8_e5m2")) and not k.startswith(("fp", "ufp"))] + ALIASES
FEW = ["int8", "uint8", "float8_e4m3fn", "float8_e5m2", "int3", "int6", "uint2", "uint5", "uint7", "float8_e4m3fn_sdnq",
       "float8_e5m2fn", "float6_e5m0fn", "float5_e2m2fn", "float8_e1m7fnu", "float7_e5m2fnu", "float3_e1m2fnu"]


def config(dtype, **more):
    made = SDNQConfig(weights_dtype=dtype).to_dict()
    made.update(more)
    made = {k: v.value if hasattr(v, "value") else v for k, v in made.items()}
    return {"model_type": "x", "quantization_config": made}


class Model:
    def __init__(self):
        self.stored, self.expected = {}, {}

    def add(self, name, dtype, shape, scale=None, codes=None, **how):
        """One weight; scale: their type, codes: replace them."""
        weight = torch.randn(shape) * 0.1 + 0.02
        how = {"layer_class_name": "Linear", "group_size": -1, "torch_dtype": torch.bfloat16, **how}
        decode, parts = sdnq_quantize_layer_weight(weight, weights_dtype=dtype, **how)
        parts = {k: v for k, v in parts.items() if v is not None}
        for k in ("scale", "zero_point"):
            if k in parts and codes is not None:        # some random bits, no two with the same exponent
                wide = torch.randn(parts[k].shape) * 2.0 ** torch.randint(-9, 5, parts[k].shape)
                parts[k] = wide.to(scale)
            elif k in parts:
                parts[k] = parts[k].to(scale or parts[k].dtype)
        if codes is not None:
            parts["weight"] = codes(parts["weight"])
        self.expected[name + ".weight"] = decode(**parts, skip_compile=True, dtype=parts["scale"].dtype,
                                                 skip_quantized_matmul=decode.use_quantized_matmul)
        self.stored.update({"%s.%s" % (name, k): v.contiguous() for k, v in parts.items()})


def every_code(stored):
    """Codes of a byte each: all 256 in another order; packs: random bytes."""
    if stored.dtype != torch.uint8 or stored.numel() == 256:
        return (torch.arange(256) * 37 % 256).to(torch.uint8).view(stored.dtype).reshape(stored.shape)
    return torch.randint(0, 256, stored.shape, dtype=torch.uint8)


def of_types(types, scale):
    model = Model()
    for dtype in types:
        model.add("m." + dtype, dtype, (8, 32), scale=scale, codes=every_code)
    return model


# Every way to name the types of of_shapes(); the first match counts.
DEFAULT = "uint4"
BY_DICT = {
    "int6": ["groups.b.weight", "rows.b*"], "uint8": ["groups.d.weight", ".tensor.b", ".turned.b"],
    "float8_e4m3fn": ["groups.e.*", "turned.c.weight"], "uint3": ["f"], "float5_e2m2fn": ["g"],
    "int2": [".rows.a"], "int8": [".groups.c", "tensor.a*", "turned.a.weight"], "int7": ["*.c.wei*"],
    "float8_e5m2": ["rows.d.weight"], "minimum_5bit": ["rows.e.*"], "minimum_uint3": [".own.b"],
}
BY_MODULE = {"turned.a.weight": {"group_size": 0}, "own.a.*": {"weights_dtype": "int4"}, ".own.b": {"weights_dtype": "int2"}}


def type_of(name):
    """Returns the value as SDNQ computes it."""
    key = check_param_name_in(name, BY_MODULE)
    return get_minimum_dtype(BY_MODULE.get(key, {}).get("weights_dtype", DEFAULT), name, BY_DICT)


def of_shapes():
    model, BF16, F16 = Model(), torch.bfloat16, torch.float16

    def add(name, dtype, *args, **more):
        assert type_of(name + ".weight") == dtype, (name, dtype, type_of(name + ".weight"))
        model.add(name, dtype, *args, **more)

    add("groups.a", "uint4", (5, 48), group_size=16)
    add("groups.b", "int6", (3, 60), group_size=12, scale=BF16)
    add("groups.c", "int8", (7, 45), group_size=15)
    add("groups.d", "uint8", (3, 34), group_size=2, scale=F16)
    add("groups.e", "float8_e4m3fn", (4, 24), group_size=8)
    add("groups.f", "uint3", (5, 40), group_size=5)
    add("groups.g", "float5_e2m2fn", (8, 14), group_size=7, scale=F16)
    add("rows.a", "int2", (3, 28))
    add("rows.b", "int6", (2, 10), scale=F16)
    add("rows.c", "int7", (9, 56), scale=BF16)
    add("rows.d", "float8_e5m2", (7, 13))
    add("rows.e", "int5", (24, 3))
    add("tensor.a", "int8", (5, 7), group_size=-2)
    add("tensor.b", "uint8", (7, 5), group_size=-2, scale=BF16)
    add("turned.a", "int8", (48, 32), use_quantized_matmul=True)
    add("turned.b", "uint8", (32, 48), use_quantized_matmul=True, scale=F16)
    add("turned.c", "float8_e4m3fn", (32, 64), use_quantized_matmul=True)
    add("own.a", "int4", (4, 22))
    add("own.b", "uint3", (4, 16), group_size=8)
    return model


def main():
    torch.manual_seed(0)
    models = Models(sys.argv[1], "sdnq", "sdnq %s, torch %s" % (version("sdnq"), torch.__version__.split("+")[0]))
    for name, types, scale in (("f32", TYPES, torch.float32), ("bf16", FEW, torch.bfloat16), ("f16", FEW, torch.float16)):
        model = of_types(types, scale)
        models.add("types-" + name, model.stored, model.expected, "every type with scales of " + name.upper(),
                   config("uint1", modules_dtype_dict={t: [t] for t in types}))
    model = of_shapes()
    models.add("shapes", model.stored, model.expected, "rows, groups, one scale, stored turned around, and all ways to name "
               "a type, in quantization_config.json", config(DEFAULT, modules_dtype_dict=BY_DICT,
                                                             modules_quant_config=BY_MODULE))
    folder = os.path.join(sys.argv[1], "safetensors-good", "peer-sdnq-shapes")
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        block = json.load(f)["quantization_config"]
    os.remove(f.name)
    with open(os.path.join(folder, "quantization_config.json"), "w", encoding="utf-8") as f:
        json.dump(block, f, indent=1)
        f.write("\n")
    models.done()


main()
