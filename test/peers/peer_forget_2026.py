#!/usr/bin/env python3
"""peer_forget_2026.py BIN WORK: compare the quantizers of 2026 with their libraries.

Models of random weights, with rows of zeros and of very small values, are quantized by amn-forget; the tensors must be those of
msmodelslim (W8A8_DYNAMIC, W4A8_DYNAMIC), transformers (MXFP8 in blocks of 1x32), auto-round (NVFP4-E5M3) and amd-quark (INT4), and
what these libraries and transformers' Gemma decode from amn's tensors must be what amn-remember gives. scale_bias is a sum, which
torch rounds at each step and amn once. A library that is not installed is left out, by name. Besides requirements.txt:

    pip install --no-deps msmodelslim==26.1.0 auto-round==0.16.1 amd-quark==0.13 transformers==5.24.0 compressed-tensors==0.20.1
    pip install easydict==1.13 einops wcmatch pygtrie pydantic py-cpuinfo psutil datasets
    pip install loguru evaluate joblib zstandard sentencepiece pandas onnx onnxslim onnxruntime ninja     # for amd-quark
"""
import json
import os
import sys

import torch
from safetensors.torch import load_file, save_file
from tools import Tally, Tools

Q, K = "model.layers.0.self_attn.q_proj.weight", "model.layers.0.mlp.down_proj.weight"


def random_model(folder, dtype):
    weights = {Q: torch.randn(64, 256) * .05, K: torch.randn(32, 512) * torch.exp(torch.randn(32, 512))}
    weights[Q][3], weights[Q][4, :40], weights[Q][5] = 0, -0., weights[Q][5] * 1e-9
    weights = {name: w.to(dtype) for name, w in weights.items()}
    os.makedirs(folder)
    save_file(weights, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
        json.dump({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "torch_dtype": str(dtype)[6:]}, f)
    return weights


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def modelslim(bits):
    from msmodelslim import ir as qir
    from msmodelslim.core.quant_service.modelslim_v1.save.ascendv1 import AscendV1Saver
    from msmodelslim.ir.api import calculate_qparam, dequantize, quantize
    from msmodelslim.ir.qal import QDType, QParam, QScheme, QScope, QStorage
    dtype = {4: QDType.INT4, 8: QDType.INT8}[bits]
    kind, save = {4: (qir.W4A8DynamicFakeQuantLinear, AscendV1Saver.on_w4a8_dynamic),
                  8: (qir.W8A8DynamicPerChannelFakeQuantLinear, AscendV1Saver.on_w8a8_dynamic_per_channel)}[bits]

    class Saver(dict):
        def write_tensor(self, name, _, tensor):
            self[name] = tensor

        def update_quant_type(self, _):
            pass

    def make(name, weight, _):
        numbers = calculate_qparam(weight.amin(1), weight.amax(1), q_dtype=dtype, q_scope=QScope.PER_CHANNEL, symmetric=True)
        codes = quantize(QStorage(QDType.FLOAT, weight).T, numbers).T
        numbers.ext = {key: value.float() for key, value in numbers.ext.items()}
        saver = Saver()
        save(saver, name.removesuffix(".weight"), kind(QParam(QScheme(), {}), numbers, codes, None))
        return saver, dequantize(QStorage(dtype, codes.value).T, numbers).T.value
    return make


def minimax():
    from transformers import FineGrainedFP8Config
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize, Fp8Quantize

    class Quantizer:
        quantization_config = FineGrainedFP8Config(weight_block_size=(1, 32), scale_fmt="ue8m0")

    def make(name, weight, _):
        made = Fp8Quantize(Quantizer).convert({name: weight})
        made[name + "_scale_inv"] = made[name + "_scale_inv"].view(torch.uint8)
        return made, Fp8Dequantize(Quantizer)._dequantize_one(made[name], made[name + "_scale_inv"], torch.float32)
    return make


def e5m3():
    from auto_round.data_type.nvfp import nvfp4_v2
    from auto_round.export.export_to_autoround.qlinear_fp import QuantLinear

    def make(name, weight, _):
        value, scale, _ = nvfp4_v2(weight.float(), group_size=16)
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        layer.weight.data = weight
        packed = QuantLinear(4, 16, weight.shape[1], weight.shape[0], False, data_type="nvfp4_v2")
        packed.pack(layer, scale.reshape(weight.shape[0], -1).float(), device="cpu")
        return {name + "_packed": packed.weight_packed, name + "_scale": packed.weight_scale}, value
    return make


def quark():
    import quark.torch.kernel as kernel
    from quark.torch.quantization.config.config import Int4PerGroupSpec
    from quark.torch.quantization.observer.observer import PerGroupMinMaxObserver
    from quark.torch.utils.pack import Pack_4_bits
    pack = Pack_4_bits("per_group", "int4")

    def make(name, weight, group):
        spec = Int4PerGroupSpec(ch_axis=-1, group_size=group, is_dynamic=False).to_quantization_spec()
        observer = PerGroupMinMaxObserver(spec)
        observer(weight)
        scale, zero = observer._calculate_qparams()
        codes = kernel.scaled_real_quantize("int4", weight, scale, zero, -1, group, -8, 7, spec.round_method.value, "per_group")
        stored = pack.pack(codes.int(), True)
        back = pack.unpack(stored, True, weight.shape[0]).to(torch.int32)
        return {name: stored, name + "_scale": scale.T.contiguous()}, back * scale.float().repeat_interleave(group, 1)
    return make


def gemma(bits):
    """transformers only decodes: amn's own tensors."""
    from transformers.integrations.gemma_quant import QuantizedLinear

    def make(name, weight, _, got):
        layer = QuantizedLinear(weight.shape[1], weight.shape[0], num_bits=bits)
        own = {key.removeprefix(name.removesuffix("weight")): tensor for key, tensor in got.items()
               if key.startswith(name.removesuffix("weight"))}
        layer.load_state_dict(own, strict=True)
        top = 2 ** (bits - 1) - 1
        scale = torch.clamp(weight.abs().amax(1, True) / top, min=torch.finfo(torch.float32).eps).float()
        codes = torch.clamp(torch.round(weight / scale.to(weight.dtype)), -top - 1, top)
        value = layer._dequantize_weights()
        assert torch.equal(codes.float() * scale, value)
        return {name + "_scale": scale}, value
    return make


def check(tally, tools, folder, weights, scheme, make, *options):
    out = folder + "-" + scheme
    if tools.read("amn-forget", "-q", "--scheme", scheme, *options, "-o", out, folder) is None or \
            tools.read("amn-remember", "-q", "--to", "f32", "-o", out + ".safetensors", out) is None:
        tally.check(False, "%s %s" % (folder, scheme))
        return
    got, back = load_file(os.path.join(out, "model.safetensors")), load_file(out + ".safetensors")
    for name, weight in weights.items():
        want, value = make(name, weight, 64, got) if scheme.startswith("gemma") else make(name, weight, 64)
        for key, tensor in want.items():
            close = key.endswith("scale_bias") and torch.allclose(got[key], tensor, rtol=1e-3, atol=1e-3)
            tally.check(close or same(got[key], tensor), "%s %s %s" % (folder, scheme, key))
        tally.check(torch.equal(back[name], value.float()), "%s %s values of %s" % (folder, scheme, name))


def main():
    tally, tools = Tally(), Tools()
    torch.manual_seed(26)
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        folder = tools.path("forget-2026-" + str(dtype)[6:])
        weights = random_model(folder, dtype)
        for package, scheme, maker, args, options in (
                ("msmodelslim", "modelslim-w8a8", modelslim, (8,), ()), ("msmodelslim", "modelslim-w4a8", modelslim, (4,), ()),
                ("transformers", "minimax-mxfp8", minimax, (), ()), ("transformers", "gemma-8bit", gemma, (8,), ()),
                ("transformers", "gemma-4bit", gemma, (4,), ()), ("auto_round", "nvfp4-e5m3", e5m3, (), ()),
                ("quark", "quark-int4", quark, (), ("--group-size", "64"))):
            try:
                make = maker(*args)
            except ImportError as why:
                print("%s (%s): %s was not compared" % (package, why, scheme))
                continue
            check(tally, tools, folder, weights, scheme, make, *options)
    tally.finish()


if __name__ == "__main__":
    main()
