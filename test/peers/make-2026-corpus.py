#!/usr/bin/env python3
r"""make-2026-corpus.py CORPUS: write CORPUS/safetensors-good/peer-2026-* and CORPUS/manifest-2026.ndjson.

Schemes of 2026: Quark's integers of 4 bits, packed and unpacked by amd-quark; Gemma's, unpacked by transformers; NVFP4 and MX with
scales in tiles, made and decoded by torchao; blocks of ggml, decoded by gguf-py. The others have no library that runs on a CPU:
their codes are packed and decoded here with torch, as in the sources that the schemes' files name. Values are computed in F32.
Run by hand, in the environment of requirements.txt with

    pip install --no-deps amd-quark==0.13 transformers==5.24.0
    python test/peers/make-2026-corpus.py test/corpus
"""
import importlib.util
import json
import os
import sys

import torch
from corpus import without_init
from corpus_writer import Models

P = "model.layers.0.self_attn.q_proj"


def module(name, *path):
    """Loads one file of an installed package, without the package."""
    root = importlib.util.find_spec(path[0]).submodule_search_locations[0]
    spec = importlib.util.spec_from_file_location(name, os.path.join(root, *path[1:]))
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


FP4 = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])


def nibbles(codes, dtype=torch.uint8):
    codes = codes & 15
    return (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8).view(dtype)


def quark(models):
    without_init("quark", "quark.torch", "quark.torch.utils", "quark.torch.quantization", "quark.torch.quantization.config")
    from quark.torch.utils.pack import Pack_4_bits
    # qscheme, dtype, order, out, in, group; an out that is not a multiple of 8 is padded
    for qscheme, dtype, order, out, cols, group in (
            ("per_group", "int4", "reorder", 24, 64, 32), ("per_group", "int4", "order", 12, 96, 32),
            ("per_group", "uint4", "reorder", 20, 64, 16), ("per_group", "uint4", "order", 16, 64, 64),
            ("per_channel", "int4", "reorder", 16, 48, None), ("per_channel", "uint4", "order", 8, 40, None)):
        low = -8 if dtype == "int4" else 0
        n = cols // group if group else 1
        codes, zeros = torch.randint(low, low + 16, (out, cols)), torch.randint(low, low + 16, (out, n))
        scale = (torch.rand(out, n) * 1e-2 + 1e-3).bfloat16()
        pack = Pack_4_bits(qscheme, dtype)
        turned = qscheme == "per_group"
        weight = pack.pack(codes.int(), order == "reorder")
        zero = pack.pack(zeros.int() if turned else zeros[:, 0].int(), order == "reorder")
        back = pack.unpack(weight, order == "reorder", out if turned else cols)
        assert torch.equal(back.to(torch.int32), codes.int()), (qscheme, dtype, order)
        stored = {P + ".weight": weight, P + ".weight_scale": scale.T.contiguous() if turned else scale[:, 0].contiguous(),
                  P + ".weight_zero_point": zero}
        value = (codes - zeros.repeat_interleave(cols // n, 1)) * scale.float().repeat_interleave(cols // n, 1)
        spec = {"dtype": dtype, "qscheme": qscheme, "group_size": group, "symmetric": False, "is_dynamic": False}
        models.add(f"quark-{qscheme[4:]}-{dtype}-{order}", stored, {P + ".weight": value}, f"{dtype}, {qscheme}, {order}", {
            "quantization_config": {"quant_method": "quark", "export": {"pack_method": order},
                                    "global_quant_config": {"weight": spec}}})


def gemma(models):
    unpack = module("gemma_quant", "transformers", "integrations", "gemma_quant.py")
    stored, expected = {}, {}
    for name, bits, out, cols in ((P, 4, 5, 24), ("model.layers.20.mlp.gate_proj", 2, 6, 32), ("model.tower.fc1", 8, 4, 12)):
        layer = unpack.QuantizedLinear(cols, out, num_bits=bits)
        layer.weight.data = (torch.randint(-128, 128, layer.weight.shape, dtype=torch.int8) if bits == 8
                             else torch.randint(0, 256, layer.weight.shape, dtype=torch.uint8))
        layer.weight_scale.data = torch.rand(out, 1) * 1e-2 + 1e-3
        stored |= {f"{name}.{key}": value.detach().clone() for key, value in layer.state_dict().items()}
        expected[name + ".weight"] = layer._dequantize_weights()
    table = unpack.QuantizedEmbedding(7, 32, torch.float32, num_bits=4)
    table.embedding_quantized.data = torch.randint(0, 256, table.embedding_quantized.shape, dtype=torch.uint8)
    table.embedding_scale = torch.nn.Parameter(torch.rand(7, 2) * 1e-2 + 1e-3)
    name = "model.embed_tokens."
    stored |= {name + key: value.detach().clone() for key, value in table.state_dict().items()}
    expected[name + "weight"] = table.weight
    models.add("gemma", stored, {key: value.detach() for key, value in expected.items()}, "2, 4 and 8 bits, an embedding in blocks", {
        "model_type": "gemma4", "quantization_config": {
            "quant_method": "gemma", "num_bits": 4, "quantize_embeddings": True,
            "module_quant_configs": {"mlp": {"num_bits": 2}, "layers\\.20": {"num_bits": 2}, "^model\\.tower": {"num_bits": 8},
                                     "tower$": {"num_bits": 2}}}})


def torchao(models):
    from torchao.prototype.mx_formats.mx_tensor import MXTensor
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor
    stored, expected, metadata = {}, {}, {}
    for name, out, cols in (("a", 128, 320), ("b", 96, 80), ("c", 160, 64)):
        weight = NVFP4Tensor.to_nvfp4(torch.randn(out, cols), per_tensor_scale=torch.tensor(0.0123), is_swizzled_scales=True)
        stored |= {f"{name}._weight_qdata": weight.qdata.contiguous(), f"{name}._weight_scale": weight.scale.contiguous(),
                   f"{name}._weight_per_tensor_scale": weight.per_tensor_scale}
        expected[name + ".weight"] = weight.dequantize(torch.float32)
        metadata[name + ".weight"] = json.dumps({"_type": "NVFP4Tensor", "_data": {"block_size": 16, "is_swizzled_scales": True},
                                                 "_tensor_data_names": ["qdata", "scale", "per_tensor_scale"]})
    for name, out, cols, elem in (("d", 130, 192, torch.float8_e4m3fn), ("e", 16, 160, torch.float4_e2m1fn_x2)):
        weight = MXTensor.to_mx(torch.randn(out, cols), elem, 32, is_swizzled_scales=True)
        stored |= {f"{name}._weight_qdata": weight.qdata.contiguous(), f"{name}._weight_scale": weight.scale.contiguous()}
        expected[name + ".weight"] = weight.dequantize(torch.float32)
        metadata[name + ".weight"] = json.dumps({
            "_type": "MXTensor", "_data": {"block_size": 32, "is_swizzled_scales": True, "elem_dtype": {
                "_type": "torch.dtype", "_data": str(elem).removeprefix("torch.")}}, "_tensor_data_names": ["qdata", "scale"]})
    models.add("torchao-tiles", stored, expected, "NVFP4 and MX with scales in tiles", metadata={**metadata, "format": "pt"})


def described(models, name, word, stored, value, note):
    models.add(name, {f"{P}.{key}": tensor for key, tensor in stored.items()}, {P + ".weight": value}, note, {"model_type": "qwen3"})
    folder = os.path.join(models.corpus, "safetensors-good", "peer-2026-" + name)
    with open(os.path.join(folder, "quant_model_description.json"), "w", encoding="utf-8") as f:
        json.dump({"model_quant_type": word, **{f"{P}.{key}": word for key in stored}}, f, indent=1)


def modelslim(models):
    codes, scale = torch.randint(-8, 8, (10, 96)), torch.rand(10, 1) * 1e-2 + 1e-3
    second, value = torch.rand(10, 3) * 15 + 1, codes * scale
    pairs = (codes[0::2] & 15 | (codes[1::2] & 15) << 4).to(torch.uint8).view(torch.int8)
    parts = {"weight_scale": scale, "weight_offset": torch.zeros(10, 1), "scale_bias": value.sum(1, keepdim=True) * 8}
    word = "W4A8_DYNAMIC"
    described(models, "modelslim-rows", word, {"weight": pairs, **parts}, value, "two rows in a byte")
    more = {"weight_scale_second": second, "weight_offset_second": torch.zeros(10, 3)}
    both = value * second.repeat_interleave(32, 1)
    described(models, "modelslim-second", word, {"weight": codes.to(torch.int8), **parts, **more}, both, "a code in each byte")
    described(models, "modelslim-rows-second", word, {"weight": pairs, **parts, **more}, both, "two rows in a byte, second scales")
    codes, scale, dual = torch.randint(0, 16, (4, 1088)), torch.randint(118, 128, (4, 34), dtype=torch.uint8), torch.rand(4, 3, 1) + .01
    factors = torch.exp2(scale.float() - 127) * dual[..., 0].repeat_interleave(16, 1)[:, :34]
    described(models, "modelslim-dual", "W4A4_MXFP4_DUALSCALE", {
        "weight": nibbles(codes), "weight_scale": scale, "weight_dual_scale": dual},
        FP4[codes] * factors.repeat_interleave(32, 1), "factors for 512 columns, the last for 64")


def mimo(models):
    name, parts, rows, cols = "model.layers.0.self_attn.qkv_proj", 4, 40, 48
    codes = (torch.randn(parts * rows, cols) * 100).to(torch.float8_e4m3fn)
    scale = torch.rand(parts * 3, 3) * 1e-2 + 1e-3
    full = torch.cat([s.repeat_interleave(16, 0)[:rows] for s in scale.split(3)]).repeat_interleave(16, 1)
    models.add("mimo", {name + ".weight": codes, name + ".weight_scale_inv": scale}, {name + ".weight": codes.float() * full},
               "four parts of 40 rows in blocks of 16", {
                   "model_type": "mimo_v2", "num_key_value_heads": 4, "quantization_config": {
                       "quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [16, 16]}})


def mimo_flash(models):
    """Keys and values of a head, of 24 and 16 rows, are one matrix in blocks of 16 rows: the second block has both."""
    heads, key, value, cols, layer = 5, 24, 16, 40, "model.layers.0.self_attn."
    codes = (torch.randn(heads, key + value, cols) * 100).to(torch.float8_e4m3fn)
    scale = torch.rand(heads, 3, 3) * 1e-2 + 1e-3
    full = codes.float() * scale.repeat_interleave(16, 1)[:, :key + value].repeat_interleave(16, 2)[..., :cols]
    plain = (torch.randn(24, cols) * 100).to(torch.float8_e4m3fn)
    models.add("mimo-flash", {
        layer + "k_proj.weight": codes[:, :key].reshape(-1, cols), layer + "k_proj.weight_scale_inv": scale[:, :2].reshape(-1, 3).contiguous(),
        layer + "v_proj.weight": codes[:, key:].reshape(-1, cols), layer + "v_proj.weight_scale_inv": scale[:, 2].contiguous(),
        layer + "q_proj.weight": plain, layer + "q_proj.weight_scale_inv": scale[:2, 0].contiguous()}, {
        layer + "k_proj.weight": full[:, :key].reshape(-1, cols), layer + "v_proj.weight": full[:, key:].reshape(-1, cols),
        layer + "q_proj.weight": plain.float() * scale[:2, 0].repeat_interleave(16, 0)[:24].repeat_interleave(16, 1)[:, :cols]},
        "keys and values of a head in common blocks", {
            "model_type": "mimo_v2_flash", "num_key_value_heads": heads, "head_dim": key, "v_head_dim": value, "quantization_config": {
                "quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [16, 16]}})


def words(codes):
    """Eight codes of 4 bits in each word of 32, along the last dimension."""
    codes = (codes & 15).to(torch.int64).unflatten(-1, (-1, 8))
    return (codes << torch.arange(0, 32, 4)).sum(-1).to(torch.int32)


def four_bits(models):
    experts = "model.layers.0.mlp.experts."
    codes, scale = torch.randint(-8, 8, (6, 256)), (torch.rand(6, 2) * 1e-2 + 1e-3).bfloat16()
    name = experts + "0.gate_proj"
    models.add("w4afp8", {name + ".weight": nibbles(codes, torch.int8), name + ".weight_scale_inv": scale,
                          name + ".input_scale": torch.tensor([.05])},
               {name + ".weight": codes * scale.float().repeat_interleave(128, 1)}, "groups of 128",
               {"quantization_config": {"quant_method": "w4afp8", "group_size": 128}})
    codes, scale = torch.randint(0, 16, (6, 256)), torch.randint(118, 128, (6, 2), dtype=torch.uint8)
    models.add("deepseek-128", {P + ".weight": nibbles(codes, torch.int8), P + ".scale": scale.view(torch.float8_e8m0fnu)},
               {P + ".weight": (FP4[codes] + 0.) * torch.exp2(scale.float() - 127).repeat_interleave(128, 1)}, "groups of 128")
    scale, outer = (torch.rand(6, 8) * 100 + 1).to(torch.float8_e4m3fn), torch.tensor(.0021)
    models.add("modelopt-nvfp4-32", {P + ".weight": nibbles(codes), P + ".weight_scale": scale, P + ".weight_scale_2": outer},
               {P + ".weight": (FP4[codes] + 0.) * (scale.float() * outer).repeat_interleave(32, 1)}, "groups of 32",
               {"quantization_config": {"quant_method": "modelopt", "quant_algo": "W4A8_NVFP4_FP8", "group_size": 32}})
    codes, scale = torch.randint(-8, 8, (16, 64)), (torch.rand(2, 16) * 1e-2 + 1e-3).half()
    value = codes * scale.float().T.repeat_interleave(32, 1)
    for kind, empty in (("0", (0,)), ("2-0", (2, 0))):
        models.add("gptq-empty-" + kind, {P + ".qweight": words(codes + 8).T.contiguous(), P + ".scales": scale, P + ".qzeros": torch.empty(empty, dtype=torch.int32)},
            {P + ".weight": value}, "symmetric, with empty qzeros",
            {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": True, "desc_act": False}})
    codes, scale = torch.randint(-8, 8, (3, 6, 64)), (torch.rand(3, 6, 2) * 1e-2 + 1e-3).bfloat16()
    value = codes * scale.float().repeat_interleave(32, -1)
    shape = torch.tensor([[6, 64]] * 3)
    config = {"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {
        "group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32,
                                                       "symmetric": True}}}}}
    for kind, weight, dot in (("", experts + "w13", ".weight"), ("-flat", experts + "w13_weight", "")):
        models.add("ct-int4-experts" + kind, {
            weight + dot + "_packed": words(codes + 8), weight + dot + "_scale": scale, weight + dot + "_shape": shape},
            {weight + dot: value}, "weight_shape [E, 2]", config)


def blocks(models):
    from gguf import GGMLQuantizationType as Type
    from gguf.quants import dequantize

    def random(kind, rows, n, size, halves):
        """Blocks of random bytes, whose F16 scales are small."""
        raw = torch.randint(0, 256, (rows, n, size), dtype=torch.uint8)
        for at in halves:
            raw[..., at:at + 2] = (torch.rand(rows, n, 1) * 1e-2).half().view(torch.uint8)
        raw = raw.reshape(rows, n * size)
        return raw, torch.from_numpy(dequantize(raw.numpy(), kind))

    for fmt, bits, kind, size, halves in (("q_0", 4, Type.Q4_0, 18, (0,)), ("q_0", 8, Type.Q8_0, 34, (0,)), ("q_k_m", 4, Type.Q4_K, 144, (0, 2)),
                                          ("q_k_s", 5, Type.Q5_K, 176, (0, 2)), ("q_k", 6, Type.Q6_K, 210, (208,))):
        raw, value = random(kind, 5, 3, size, halves)
        models.add(f"gptqmodel-{kind.name.lower()}", {P + ".qweight": raw}, {P + ".weight": value}, f"format {fmt}, {bits} bits",
                   {"quantization_config": {"quant_method": "gguf", "format": fmt, "bits": bits}})
    for kind, size in ((Type.IQ2_XS, 74), (Type.IQ1_S, 50)):
        raw, value = random(kind, 4, 2, size, (0,))
        models.add("modelopt-" + kind.name.lower(), {P + ".weight": raw.reshape(4, 2, size)}, {P + ".weight": value}, kind.name,
                   {"quantization_config": {"quant_method": "modelopt", "quant_algo": kind.name, "packing": "ggml",
                                            "block_payload_bytes": size}})


def main():
    torch.manual_seed(26)
    models = Models(sys.argv[1], "2026", f"amd-quark 0.13, transformers 5.24.0, torchao 0.18.0, torch {torch.__version__}")
    for make in (quark, gemma, torchao, modelslim, mimo, mimo_flash, four_bits, blocks):
        make(models)
    models.done()


main()
