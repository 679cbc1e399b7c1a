#!/usr/bin/env python3
"""peer_schemes_2026.py BIN WORK: compare the decoders of 2026 with their libraries.

Random weights of several sizes are quantized and packed by the library's own code, and decoded by it in F32; amn-remember must give the
same bits: NVFP4-E5M3 and MXINT4 of auto-round, NVFP4 in groups of 16 and 32 of ModelOpt, INT4 and UINT4 of amd-quark in both orders,
Gemma's integers and embeddings of transformers, NVFP4 and MX in tiles of torchao, INT4, NVFP4 and MXFP4 of compressed-tensors, and
msmodelslim's W8A8_DYNAMIC and W4A8_DYNAMIC. A library that is not installed is left out, by name; see peer_forget_2026.py.
"""
import json
import os
import sys

import torch
from safetensors.torch import load_file, save_file
from tools import Tally, Tools

P = "model.layers.0.mlp.down_proj"
SIZES = ((16, 64), (48, 96), (130, 320), (256, 1024))


def weight_of(out, cols):
    weight = torch.randn(out, cols) * .05 * torch.exp(torch.randn(out, 1))
    weight[3], weight[4, :32] = 0, -0.
    return weight


def method(**block):
    return {"model_type": "llama", "quantization_config": block}


def e5m3(group):
    from auto_round.data_type.nvfp import e5m3_to_float_tensor, nvfp4_v2
    from auto_round.experimental.qmodules.fp4_utils import unpack_fp4_from_uint8
    from auto_round.export.export_to_autoround.qlinear_fp import QuantLinear

    def make(out, cols):
        weight = weight_of(out, cols)
        _, scale, _ = nvfp4_v2(weight, group_size=group)
        layer = torch.nn.Linear(cols, out, bias=False)
        layer.weight.data = weight
        packed = QuantLinear(4, group, cols, out, False, data_type="nvfp4_v2")
        packed.pack(layer, scale.reshape(out, -1).float(), device="cpu")
        codes = unpack_fp4_from_uint8(packed.weight_packed, out, cols, dtype=torch.float32)
        value = (codes.reshape(-1, group) * e5m3_to_float_tensor(packed.weight_scale).reshape(-1, 1)).reshape(out, cols)
        return {P + ".weight_packed": packed.weight_packed, P + ".weight_scale": packed.weight_scale}, value, method(
            quant_method="auto-round", packing_format="auto_round:llm_compressor_nvfp4_e5m3", data_type="nvfp4_v2", bits=4, group_size=group)
    return make


def mxint4():
    from auto_round.experimental.qmodules.mx import MXINT4QuantLinear
    from auto_round.export.export_to_autoround.qlinear_int import QuantLinear

    def make(out, cols):
        weight = weight_of(out, cols)
        largest = weight.reshape(out, -1, 32).abs().amax(-1).clamp(min=2. ** -60)
        layer = torch.nn.Linear(cols, out, bias=False)
        layer.weight.data = weight
        packed = QuantLinear(4, 32, cols, out, False, data_type="mx_int4")
        packed.pack(layer, torch.floor(torch.log2(largest)), device="cpu")
        codes = MXINT4QuantLinear.unpack_data(FakeSelf(out, cols), packed.weight_packed)
        value = codes.float().reshape(-1, 32) * torch.exp2(packed.weight_scale.float() - 127).reshape(-1, 1)
        return {P + ".weight_packed": packed.weight_packed, P + ".weight_scale": packed.weight_scale}, value.reshape(out, cols), method(
            quant_method="auto-round", packing_format="auto_round", data_type="mx_int", bits=4, group_size=32)
    return make


class FakeSelf:
    """What MXINT4QuantLinear's unpack_data needs of a layer."""

    def __init__(self, out, cols):
        self.in_features, self.out_features, self.dtype = cols, out, torch.float32


def modelopt(group):
    from modelopt.torch.quantization.qtensor import NVFP4QTensor

    def make(out, cols):
        made, scale, outer = NVFP4QTensor.quantize(weight_of(out, cols), group)
        value = made.dequantize(torch.float32, scale=scale, double_scale=outer, block_sizes={-1: group})
        return {P + ".weight": made._quantized_data, P + ".weight_scale": scale, P + ".weight_scale_2": outer.float().reshape(())}, value, \
            method(quant_method="modelopt", quant_algo="W4A8_NVFP4_FP8" if group == 32 else "NVFP4", group_size=group)
    return make


def quark(dtype, qscheme, order):
    from corpus import without_init
    if "quark" not in sys.modules:
        without_init("quark", "quark.torch", "quark.torch.utils", "quark.torch.quantization", "quark.torch.quantization.config")
    from quark.torch.utils.pack import Pack_4_bits

    def make(out, cols):
        turned, low = qscheme == "per_group", -8 if dtype == "int4" else 0
        n = cols // 32 if turned else 1
        codes, zeros = torch.randint(low, low + 16, (out, cols)), torch.randint(low, low + 16, (out, n))
        scale = (torch.rand(out, n) * 1e-2 + 1e-3).bfloat16()
        pack = Pack_4_bits(qscheme, dtype)
        stored = pack.pack(codes.int(), order == "reorder")
        back = pack.unpack(stored, order == "reorder", out if turned else cols).to(torch.int32)
        zero = pack.pack(zeros.int() if turned else zeros[:, 0].int(), order == "reorder")
        value = (back - zeros.repeat_interleave(cols // n, 1)) * scale.float().repeat_interleave(cols // n, 1)
        spec = {"dtype": dtype, "qscheme": qscheme, "group_size": 32 if turned else None, "symmetric": False, "is_dynamic": False}
        return {P + ".weight": stored, P + ".weight_zero_point": zero,
                P + ".weight_scale": scale.T.contiguous() if turned else scale[:, 0].contiguous()}, value, method(
                    quant_method="quark", export={"pack_method": order}, global_quant_config={"weight": spec})
    return make


def gemma(bits, table):
    from transformers.integrations.gemma_quant import QuantizedEmbedding, QuantizedLinear

    def make(out, cols):
        if table:
            layer = QuantizedEmbedding(out, cols, torch.float32, num_bits=bits)
            layer.embedding_quantized.data = torch.randint(0, 256, layer.embedding_quantized.shape, dtype=torch.uint8)
            layer.embedding_scale = torch.nn.Parameter(torch.rand(out, cols // 16) * 1e-2 + 1e-3)
            value = layer.weight
        else:
            layer = QuantizedLinear(cols, out, num_bits=bits)
            layer.weight.data = torch.randint(-128 if bits == 8 else 0, 128 if bits == 8 else 256, layer.weight.shape).to(layer.weight.dtype)
            layer.weight_scale.data = torch.rand(out, 1) * 1e-2 + 1e-3
            value = layer._dequantize_weights()
        return {P + "." + key: t.detach().clone() for key, t in layer.state_dict().items()}, value.detach().float(), method(
            quant_method="gemma", num_bits=bits, quantize_embeddings=table, module_quant_configs={})
    return make


def torchao(kind):
    from torchao.prototype.mx_formats.mx_tensor import MXTensor
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor

    def make(out, cols):
        weight, name = weight_of(out, cols), P.rsplit(".", 1)[0] + ".down_proj._weight_"
        if kind == "nvfp4":
            made = NVFP4Tensor.to_nvfp4(weight, per_tensor_scale=weight.abs().max() / (448 * 6), is_swizzled_scales=True)
            data, parts = {"block_size": 16, "is_swizzled_scales": True}, ["qdata", "scale", "per_tensor_scale"]
        else:
            made = MXTensor.to_mx(weight, kind, 32, is_swizzled_scales=True)
            data, parts = {"block_size": 32, "is_swizzled_scales": True, "elem_dtype": {
                "_type": "torch.dtype", "_data": str(kind).removeprefix("torch.")}}, ["qdata", "scale"]
        about = {P + ".weight": json.dumps({"_type": type(made).__name__, "_data": data, "_tensor_data_names": parts})}
        return {name + part: getattr(made, part).contiguous() for part in parts}, made.dequantize(torch.float32), method(quant_method="torchao"), about
    return make


def packed(bits, group):
    from compressed_tensors.compressors.pack_quantized import base
    pack, unpack = base.pack_to_int32, base.unpack_from_int32

    def make(out, cols):
        codes, scale = torch.randint(-(1 << bits - 1), 1 << bits - 1, (out, cols), dtype=torch.int8), (torch.rand(out, cols // group) * 1e-2 + 1e-3).bfloat16()
        stored = pack(codes, bits)
        value = unpack(stored, bits, torch.Size((out, cols))).float() * scale.float().repeat_interleave(group, 1)
        weights = {"num_bits": bits, "type": "int", "symmetric": True, "strategy": "group", "group_size": group}
        return {P + ".weight_packed": stored, P + ".weight_scale": scale, P + ".weight_shape": torch.tensor([out, cols])}, value, method(
            quant_method="compressed-tensors", format="pack-quantized", config_groups={"group_0": {"targets": ["Linear"], "weights": weights}})
    return make


def ct_fp4(kind):
    from compressed_tensors.compressors.nvfp4.helpers import pack_fp4_to_uint8, unpack_fp4_from_uint8

    def make(out, cols):
        values = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -.5, -1, -1.5, -2, -3, -4, -6])
        dense = values[torch.randint(0, 15, (out, cols))].bfloat16()
        stored = pack_fp4_to_uint8(dense)
        back = unpack_fp4_from_uint8(stored, out, cols, torch.float32)
        if kind == "nvfp4":
            scale, outer = (torch.rand(out, cols // 16) * 400 + 1).to(torch.float8_e4m3fn), torch.tensor([5432.1])
            parts, step = {P + ".weight_global_scale": outer}, (scale.float() / outer).repeat_interleave(16, 1)
        else:
            scale = torch.randint(110, 130, (out, cols // 32), dtype=torch.uint8)
            parts, step = {}, torch.exp2(scale.float() - 127).repeat_interleave(32, 1)
        word = kind + "-pack-quantized"
        return {P + ".weight_packed": stored, P + ".weight_scale": scale, **parts}, back * step, method(
            quant_method="compressed-tensors", format=word, config_groups={"group_0": {"targets": ["Linear"], "format": word}})
    return make


def modelslim(bits):
    from peer_forget_2026 import modelslim as maker
    saved = maker(bits)

    def make(out, cols):
        tensors, value = saved(P + ".weight", weight_of(out + out % 2, cols), 0)
        word = "W8A8_DYNAMIC" if bits == 8 else "W4A8_DYNAMIC"
        return {name: t.contiguous() for name, t in tensors.items()}, value, {"model_type": "qwen3"}, None, {
            "model_quant_type": word, **{name: word for name in tensors}}
    return make


def check(tally, tools, label, made):
    tensors, value, config, about, words = (*made, None, None)[:5]
    folder, out = tools.path("schemes-2026"), tools.path("schemes-2026.safetensors")
    os.makedirs(folder, exist_ok=True)
    save_file(tensors, os.path.join(folder, "model.safetensors"), metadata={"format": "pt", **(about or {})})
    described = os.path.join(folder, "quant_model_description.json")
    for path, text in ((os.path.join(folder, "config.json"), config), (described, words)):
        if text:
            with open(path, "w", encoding="utf-8") as f:
                json.dump(text, f)
    done = tools.read("amn-remember", "-q", "--to", "f32", "-o", out, folder)
    if words:
        os.remove(described)
    if tally.check(done is not None, label + ": amn-remember"):
        got = load_file(out).get(P + ".weight")
        tally.check(got is not None and got.shape == value.shape
                    and torch.equal(got.view(torch.int32), value.float().contiguous().view(torch.int32)), label + ": values")


def main():
    tally, tools = Tally(), Tools()
    torch.manual_seed(2026)
    rows = [("E5M3, %d" % g, e5m3, (g,)) for g in (16, 32)] + [("MXINT4", mxint4, ())]
    rows += [("ModelOpt NVFP4, %d" % g, modelopt, (g,)) for g in (16, 32)]
    rows += [("Quark %s %s %s" % q, quark, q) for q in ((a, b, c) for a in ("int4", "uint4") for b in ("per_group", "per_channel") for c in ("order", "reorder"))]
    rows += [("Gemma, %d" % b, gemma, (b, False)) for b in (2, 4, 8)] + [("Gemma embedding, %d" % b, gemma, (b, True)) for b in (2, 4)]
    rows += [("torchao " + str(k), torchao, (k,)) for k in ("nvfp4", torch.float8_e4m3fn, torch.float8_e5m2, torch.float4_e2m1fn_x2)]
    rows += [("compressed-tensors INT%d" % b, packed, (b, 32)) for b in (2, 3, 4, 8)] + [("compressed-tensors " + k, ct_fp4, (k,)) for k in ("nvfp4", "mxfp4")]
    rows += [("ModelSlim W%dA8" % b, modelslim, (b,)) for b in (4, 8)]
    for label, maker, args in rows:
        try:
            make = maker(*args)
        except ImportError as why:
            print("%s was not compared: %s" % (label, why))
            continue
        for out, cols in SIZES:
            check(tally, tools, "%s [%d, %d]" % (label, out, cols), make(out, cols))
    tally.finish()


main()
