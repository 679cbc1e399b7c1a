#!/usr/bin/env python3
r"""make-fp4-corpus.py CORPUS: write CORPUS/safetensors-good/fp4-* and CORPUS/manifest-fp4.ndjson.

Small models of 4- and 6-bit floats with block scales, and of ternary weights, as their libraries write them, and the
SHA-256 of what these libraries decode: NVFP4, MXFP4, MXFP6 and MXFP8 of compressed-tensors, NVFP4 and MXFP4 of
ModelOpt, its stacked experts among them, gpt-oss and BitNet of transformers, MXFP6 of Quark, NVFP4 and MXFP8 of
comfy-kitchen. Codes and scales are mostly random bits, so that every code and every kind of scale occurs; an E8M0 scale
of 255 does not: some libraries take it for infinity.

Run by hand when a case is added, in the environment of requirements.txt with these beside it (their other requirements
are not looked at by what is imported here):

    pip install --no-deps nvidia-modelopt==0.47.0 omegaconf pulp scipy nvidia-ml-py antlr4-python3-runtime \
        amd-quark==0.13 onnx onnxslim protobuf comfy-kitchen==0.2.40 accelerate
    python test/peers/make-fp4-corpus.py test/corpus
"""
import hashlib
import json
import os
import shutil
import sys

os.environ["TORCHDYNAMO_DISABLE"] = "1"         # transformers compiles its unpacking

import torch
from comfy_kitchen.backends.eager import quantization as comfy
from compressed_tensors.compressors.mxfp4 import MXFP4PackedCompressor
from compressed_tensors.compressors.mxfp6 import MXFP6PackedCompressor
from compressed_tensors.compressors.mxfp8 import MXFP8QuantizationCompressor
from compressed_tensors.compressors.nvfp4 import NVFP4PackedCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from modelopt.torch.export.quant_utils import maybe_transpose_expert_weight_dimensions
from modelopt.torch.quantization.qtensor import MXFP4QTensor, NVFP4QTensor
from quark.torch.utils.pack import create_pack_method
from safetensors.torch import save_file
from transformers.integrations.bitnet import pack_weights, unpack_weights
from transformers.integrations.finegrained_fp8 import Fp8Dequantize
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

BF16, F32, F8 = torch.bfloat16, torch.float32, torch.float8_e4m3fn
NAMES = {torch.float16: "F16", BF16: "BF16", F32: "F32", torch.uint8: "U8"}


# --- codes and scales

def codes(*shape):
    return torch.randint(0, 256, shape, dtype=torch.uint8)


def some_f8(*shape):
    """Returns usual block scales, and -0, NaN, negative, subnormal ones and the largest."""
    scales = torch.randint(0x28, 0x68, shape, dtype=torch.uint8)
    edges = torch.tensor([0x80, 0x7F, 0xB8, 0x01, 0x7E, 0x00], dtype=torch.uint8)
    scales.view(-1)[1:1 + len(edges)] = edges[:max(scales.numel() - 1, 0)]
    return scales.view(F8)


def some_e8(*shape):
    scales = torch.randint(110, 140, shape, dtype=torch.uint8)
    scales.view(-1)[:4] = torch.tensor([0, 1, 254, 253], dtype=torch.uint8)[:scales.numel()]
    return scales


def f32(*values):
    return torch.tensor(values, dtype=F32)


# --- a model

class Model:
    """Tensors as they are stored, and their expected values."""

    def __init__(self, name, note, by, config=None, shards=None, configs=None):
        self.name, self.note, self.by, self.stored, self.expected = name, note, by, {}, {}
        self.configs = configs or {}
        if config:
            self.configs = {"config.json": {"model_type": "llama", "quantization_config": config}}
        self.shards, self.metadata = shards, {"format": "pt"}

    def keep(self, name, tensor):
        self.stored[name] = self.expected[name] = tensor

    def weight(self, name, dense, **stored):
        """dense: the library's values; its parts by suffix, "_" is "."."""
        self.expected[name] = dense.to(BF16).contiguous()
        base = name[:-len(".weight")] if name.endswith(".weight") else name
        self.stored |= {base + suffix.replace("__", "."): t.contiguous() for suffix, t in stored.items()}

    def write(self, corpus):
        path = os.path.join("safetensors-good", "fp4-" + self.name)
        whole = os.path.join(corpus, path)
        if not self.configs and not self.shards:
            path, whole = path + ".safetensors", whole + ".safetensors"
            save_file(self.stored, whole, metadata=self.metadata)
        else:
            os.mkdir(whole)
            self.write_folder(whole)
        entry = {"file": path, "tensors": [expectation(*item) for item in self.expected.items()], "by": self.by,
                 "note": self.note, "check": "decoded"}
        return entry

    def write_folder(self, whole):
        for name, text in self.configs.items():
            with open(os.path.join(whole, name), "w", encoding="utf-8") as f:
                json.dump(text, f, indent=1)
                f.write("\n")
        if not self.shards:
            save_file(self.stored, os.path.join(whole, "model.safetensors"), metadata=self.metadata)
            return
        places = {name: 1 + any(name.endswith(suffix) for suffix in self.shards) for name in self.stored}
        file = "model-%05d-of-00002.safetensors"
        for i in (1, 2):
            save_file({n: t for n, t in self.stored.items() if places[n] == i}, os.path.join(whole, file % i),
                      metadata=self.metadata)
        with open(os.path.join(whole, "model.safetensors.index.json"), "w", encoding="utf-8") as f:
            json.dump({"metadata": {}, "weight_map": {n: file % i for n, i in places.items()}}, f, indent=1)
            f.write("\n")


def expectation(name, tensor):
    data = tensor.contiguous()
    bits = data.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[data.element_size()])
    entry = {"name": name, "dtype": NAMES[tensor.dtype], "shape": list(tensor.shape)}
    if tensor.is_floating_point() and tensor.isnan().any():
        entry["nan"] = int(tensor.isnan().sum())
        canonical = torch.where(data.isnan(), torch.tensor(0x7FC0, dtype=torch.int16), bits)
        entry["sha256_nan_7fc0"] = hashlib.sha256(canonical.numpy().tobytes()).hexdigest()
    entry["sha256"] = hashlib.sha256(bits.numpy().tobytes()).hexdigest()
    return entry


# --- what the libraries decode

CT = {
    "nvfp4": (NVFP4PackedCompressor, dict(num_bits=4, type="float", strategy="tensor_group", group_size=16)),
    "mxfp4": (MXFP4PackedCompressor, dict(num_bits=4, type="float", strategy="group", group_size=32)),
    "mxfp6": (MXFP6PackedCompressor, dict(num_bits=6, type="float", strategy="group", group_size=32)),
    "mxfp8": (MXFP8QuantizationCompressor, dict(num_bits=8, type="float", strategy="group", group_size=32,
                                                scale_dtype=torch.uint8)),
}


def ct(kind, **parts):
    compressor, args = CT[kind]
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**args))
    return compressor.decompress(dict(parts), scheme)["weight"]


def modelopt(packed, scale, second, dtype=BF16):
    shape = (*packed.shape[:-1], 2 * packed.shape[-1])
    if second.numel() > 1:
        second = second.view(-1, 1, 1)
    return NVFP4QTensor(shape, dtype, packed).dequantize(dtype, scale=scale, double_scale=second, block_sizes={-1: 16})


def modelopt_mx(packed, scale):
    shape = (*packed.shape[:-1], 2 * packed.shape[-1])
    return MXFP4QTensor(shape, BF16, packed).dequantize(BF16, scale=scale, block_sizes={-1: 32})


def kitchen(packed, second, grid, rows=None):
    return comfy.dequantize_nvfp4(packed, second, grid.view(F8), F32)


def blocked(scales):
    """In the order of tensor cores, with other bytes in the padding, which is ignored."""
    from comfy_kitchen.float_utils import to_blocked
    tiles = to_blocked(scales.view(torch.uint8) + 0, flatten=False)
    inside = to_blocked(torch.ones_like(scales.view(torch.uint8)), flatten=False)
    return torch.where(inside.bool(), tiles, torch.full_like(tiles, 0x55))


# --- the models

def head(m):
    """Tensors that every model has."""
    m.keep("model.norm.weight", torch.ones(8, dtype=BF16))
    m.keep("lm_head.weight", torch.randn(4, 8).to(BF16))


def compressed_tensors():
    m = Model("ct", "NVFP4, MXFP4, MXFP6 and MXFP8 in one model; NaN, -0, negative and subnormal scales",
              "compressed-tensors 0.20.0")
    for name, out, n_in in (("q", 40, 48), ("k", 3, 16), ("v", 130, 64)):
        packed, scale, second = codes(out, n_in // 2), some_f8(out, n_in // 16), f32(1234.5 + n_in)
        dense = ct("nvfp4", weight_packed=packed, weight_scale=scale, weight_global_scale=second)
        m.weight(f"{name}.weight", dense, __weight_packed=packed, __weight_scale=scale, __weight_global_scale=second,
                 __input_global_scale=f32(17))
    packed, scale = codes(7, 80), some_e8(7, 5)
    m.weight("up.weight", ct("mxfp4", weight_packed=packed, weight_scale=scale), __weight_packed=packed,
             __weight_scale=scale)
    packed, scale = codes(6, 72), some_e8(6, 3)
    m.weight("down.weight", ct("mxfp6", weight_packed=packed, weight_scale=scale), __weight_packed=packed,
             __weight_scale=scale)
    weight, scale = codes(6, 96).view(F8), some_e8(6, 3)
    m.weight("o.weight", ct("mxfp8", weight=weight, weight_scale=scale), __weight=weight, __weight_scale=scale)
    m.keep("q.bias", torch.randn(40).to(BF16))
    head(m)
    yield m

    weight = torch.randn(24, 64).to(BF16) * 0.02
    second = (448 * 6 / weight.abs().max()).to(F32).reshape(1)
    scale = (weight.view(24, 4, 16).abs().amax(-1).float() / 6 * second).to(F8)
    compressor, args = CT["nvfp4"]
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**args))
    parts = {"weight": weight, "weight_scale": scale.float(), "weight_global_scale": second}
    parts = compressor.compress(parts, scheme)
    m = Model("ct-compressed", "a weight that the library compressed, codes as F4", "compressed-tensors 0.20.0")
    m.weight("q.weight", ct("nvfp4", **parts), __weight_packed=parts["weight_packed"].view(torch.float4_e2m1fn_x2),
             __weight_scale=parts["weight_scale"], __weight_global_scale=second)
    yield m


def of_modelopt():
    m = Model("modelopt", "NVFP4 with and without pre_quant_scale, MXFP4, NVFP4 whose scales could be in tiles",
              "ModelOpt 0.47.0", configs={"hf_quant_config.json": {
                  "producer": {"name": "modelopt", "version": "0.47.0"},
                  "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16}}})
    for name, out, n_in in (("q", 24, 64), ("k", 128, 64), ("v", 1, 16)):
        packed, scale, second = codes(out, n_in // 2), some_f8(out, n_in // 16), torch.tensor(0.00123)
        m.weight(f"{name}_proj.weight", modelopt(packed, scale, second), __weight=packed, __weight_scale=scale,
                 __weight_scale_2=second, __input_scale=torch.tensor(0.5))
    m.stored["k_proj.k_scale"] = torch.tensor(0.25)
    weight = torch.randn(16, 96) * 0.1
    packed, scale, second = NVFP4QTensor.quantize(weight.to(BF16), 16)
    m.weight("o_proj.weight", packed.dequantize(BF16, scale=scale, double_scale=second, block_sizes={-1: 16}),
             __weight=packed._quantized_data, __weight_scale=scale, __weight_scale_2=second)
    packed, scale, second, smooth = codes(9, 24), some_f8(9, 3), torch.tensor(0.02), torch.rand(48).to(BF16) + 0.5
    m.weight("down_proj.weight", modelopt(packed, scale, second, F32) * smooth.float(), __weight=packed,
             __weight_scale=scale, __weight_scale_2=second, __pre_quant_scale=smooth)
    packed, scale = codes(5, 48), some_e8(5, 3)
    m.weight("up_proj.weight", modelopt_mx(packed, scale), __weight=packed, __weight_scale=scale)
    head(m)
    yield m

    m = Model("modelopt-experts", "stacked experts: by rows and transposed, a scale for all and one for each, smoothed",
              "ModelOpt 0.47.0")
    for name, per_expert, turned in (("a", False, False), ("b", True, False), ("c", False, True), ("d", True, True)):
        packed, scale = codes(3, 20, 24), some_f8(3, 20, 3)
        second = f32(0.01, 0.02, 0.03) if per_expert else torch.tensor(0.01)
        smooth = torch.rand(48) + 0.5 if name == "d" else torch.ones(48)
        dense = modelopt(packed, scale, second, F32) * smooth
        if turned:
            (packed, scale), dense = maybe_transpose_expert_weight_dimensions(packed, scale), dense.transpose(-2, -1)
        name = f"experts.{name}"
        m.weight(name, dense, _weight_scale=scale, _weight_scale_2=second, _input_scale=f32(1.0))
        m.stored[name] = packed.contiguous()
        if per_expert and turned:
            m.stored[name + "_pre_quant_scale"] = smooth
    packed, scale = codes(2, 6, 32), some_e8(2, 6, 2)
    m.weight("experts.e", modelopt_mx(packed, scale), _weight_scale=scale)
    m.stored["experts.e"] = packed
    yield m


def gpt_oss():
    m = Model("gpt-oss", "experts in the form of transformers, turned around, and in the original form",
              "transformers 5.23.0")
    for name, experts, out, n_in in (("gate_up_proj", 3, 34, 96), ("down_proj", 2, 7, 32)):
        blocks, scales = codes(experts, out, n_in // 32, 16), some_e8(experts, out, n_in // 32)
        m.weight(f"model.layers.0.mlp.experts.{name}", convert_moe_packed_tensors(blocks, scales), _blocks=blocks,
                 _scales=scales)
        m.keep(f"model.layers.0.mlp.experts.{name}_bias", torch.randn(experts, out).to(BF16))
    blocks, scales = codes(2, 10, 3, 16), some_e8(2, 10, 3)
    dense = convert_moe_packed_tensors(blocks, scales).transpose(1, 2)
    m.weight("block.0.mlp.mlp1_weight", dense, __blocks=blocks, __scales=scales)
    head(m)
    yield m


def deepseek():
    """Code 8 is +0 in DeepSeek's own table but not in transformers': it does not occur here."""
    m = Model("deepseek", "packed experts in groups of 32 and of 16, and FP8 in blocks of 32, with E8M0 scales",
              "transformers 5.23.0")
    dequantize = Fp8Dequantize(None)
    for name, group in (("w1", 32), ("w2", 16)):
        packed = codes(6, 48)
        packed = torch.where(packed & 15 == 8, packed & 0xF0, packed)
        packed = torch.where(packed >> 4 == 8, packed & 15, packed).view(torch.int8)
        scale = torch.randint(100, 140, (6, 96 // group), dtype=torch.uint8).view(torch.float8_e8m0fnu)
        m.weight(f"layers.0.ffn.experts.3.{name}.weight", dequantize._dequantize_one(packed, scale, BF16),
                 __weight=packed, __scale=scale)
    weight, scale = torch.randn(64, 96).to(F8), torch.randint(100, 140, (2, 3), dtype=torch.uint8)
    scale = scale.view(torch.float8_e8m0fnu)
    dense = dequantize._dequantize_one(weight, scale, BF16)
    m.weight("layers.0.attn.wq_a.weight", dense, __weight=weight, __scale=scale)
    yield m


def of_comfy():
    m = Model("comfy", "NVFP4 with markers: several tiles, a ragged last one, experts, smoothed; MXFP8, scale code 0",
              "comfy-kitchen 0.2.40")
    for name, rows, cols in (("a", 40, 96), ("b", 130, 208), ("c", 1, 16)):
        packed, grid, second = codes(rows, cols // 2), blocked(some_f8(rows, cols // 16)), torch.tensor(0.005)
        dense = kitchen(packed, second, grid)
        if name == "b":
            m.stored["b.pre_quant_scale"] = torch.rand(cols) + 0.5
            dense = dense * m.stored["b.pre_quant_scale"]
        m.weight(f"{name}.weight", dense, __weight=packed, __weight_scale=grid.view(F8), __weight_scale_2=second)
    packed = codes(2, 20, 24)
    grid, second = torch.stack([blocked(some_f8(20, 3)) for _ in range(2)]), f32(0.1, 0.3)
    dense = torch.stack([kitchen(packed[e], second[e], grid[e]) for e in range(2)])
    m.weight("experts.weight", dense, __weight=packed, __weight_scale=grid, __weight_scale_2=second)
    weight, grid = codes(33, 160).view(F8), blocked(some_e8(33, 5))
    dense = comfy.dequantize_mxfp8(weight, grid.view(torch.float8_e8m0fnu), F32)
    m.weight("m.weight", dense, __weight=weight, __weight_scale=grid)
    layers = {n: {"format": "mxfp8" if n == "m" else "nvfp4"} for n in ("a", "b", "c", "experts", "m")}
    m.metadata["_quantization_metadata"] = json.dumps({"format_version": "1.0", "layers": layers})
    yield m


def quark():
    def weight_of(dtype):
        return {"dtype": dtype, "qscheme": "per_group", "group_size": 32, "scale_format": "e8m0"}

    m = Model("quark-mxfp6", "E3M2, but the layers that a pattern names; the first pattern counts", "Quark 0.13",
              config={"quant_method": "quark", "export": {"pack_method": "order"},
                      "global_quant_config": {"weight": [weight_of("fp6_e3m2")]},
                      "layer_quant_config": {"*.layers.0.*": {"weight": weight_of("fp6_e2m3")},
                                             "*down_proj": {"weight": weight_of("fp6_e3m2")}}})
    for layer, name, dtype in ((0, "up_proj", "fp6_e2m3"), (0, "down_proj", "fp6_e2m3"), (1, "down_proj", "fp6_e3m2"),
                               (2, "up_proj", "fp6_e3m2")):
        packed, scale = codes(5, 72), torch.randint(100, 140, (5, 3), dtype=torch.uint8)
        values = create_pack_method("per_group", dtype).unpack(packed, False)
        dense = (values.view(5, 3, 32) * 2.0 ** (scale.float() - 127).unsqueeze(-1)).view(5, 96)
        m.weight(f"model.layers.{layer}.mlp.{name}.weight", dense, __weight=packed, __weight_scale=scale)
    yield m


def bitnet():
    for kind, config, note in (("divides", {}, "linear_class is not said: the scale divides"),
                               ("multiplies", {"linear_class": "autobitlinear", "quantization_mode": "offline"},
                                "autobitlinear: the scale multiplies")):
        m = Model("bitnet-" + kind, note, "transformers 5.23.0", config={"quant_method": "bitnet", **config})
        for name, out, n_in in (("q_proj", 24, 20), ("k_proj", 4, 33)):
            packed = pack_weights(torch.randint(-1, 2, (out, n_in)).float())
            scale = (torch.rand(1) + 0.3).to(BF16)
            ternary = unpack_weights(packed, F32)
            dense = ternary / scale.float() if kind == "divides" else ternary * scale.float()
            m.weight(f"model.layers.0.self_attn.{name}.weight", dense, __weight=packed, __weight_scale=scale)
        head(m)
        yield m


def mixed():
    m = Model("mixed", "FP8 attention, NVFP4 experts, MXFP4 and a BF16 head; scales in another shard",
              "compressed-tensors 0.20.0, ModelOpt 0.47.0", shards=("_scale", "_scale_2", "_scales"),
              config={"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"})
    weight, scale = torch.randn(16, 48).to(F8), torch.tensor(0.003)
    m.weight("self_attn.q_proj.weight", weight.float() * scale, __weight=weight, __weight_scale=scale)
    for e in range(2):
        packed, scale, second = codes(128, 32), some_f8(128, 4), torch.tensor(0.001 * (e + 1))
        m.weight(f"mlp.experts.{e}.up_proj.weight", modelopt(packed, scale, second), __weight=packed,
                 __weight_scale=scale, __weight_scale_2=second)
    packed, scale = codes(9, 32), some_e8(9, 2)
    m.weight("mlp.down_proj.weight", modelopt_mx(packed, scale), __weight=packed, __weight_scale=scale)
    blocks, scales = codes(2, 8, 1, 16), some_e8(2, 8, 1)
    m.weight("mlp.experts.gate_up_proj", convert_moe_packed_tensors(blocks, scales), _blocks=blocks, _scales=scales)
    head(m)
    yield m


def main():
    corpus = sys.argv[1]
    good = os.path.join(corpus, "safetensors-good")
    for name in os.listdir(good):
        path = os.path.join(good, name)
        if name.startswith("fp4-"):
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    entries = []
    for make in (compressed_tensors, of_modelopt, gpt_oss, deepseek, of_comfy, quark, bitnet, mixed):
        torch.manual_seed(4)
        entries += [m.write(corpus) for m in make()]
    with open(os.path.join(corpus, "manifest-fp4.ndjson"), "w", encoding="utf-8") as f:
        f.writelines(json.dumps(entry) + "\n" for entry in entries)
    for entry in entries:
        print(entry["file"])


main()
