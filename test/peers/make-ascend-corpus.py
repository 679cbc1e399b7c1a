#!/usr/bin/env python3
r"""make-ascend-corpus.py CORPUS: write CORPUS/safetensors-good/peer-ascend-* and CORPUS/manifest-ascend.ndjson.

Models of ModelSlim: msmodelslim quantizes a weight, its AscendV1Saver writes the tensors and the words of the description file, and
its dequantize() gives the values, in F32. Run by hand, in the environment of requirements.txt with

    pip install --no-deps msmodelslim==26.1.0
    pip install easydict==1.13 einops wcmatch pygtrie pydantic
    python test/peers/make-ascend-corpus.py test/corpus
"""
import json
import os
import sys

import torch
from corpus_writer import Models
from msmodelslim import ir as qir
from msmodelslim.core.quant_service.modelslim_v1.save.ascendv1 import AscendV1Saver
from msmodelslim.ir.api import calculate_qparam, dequantize, quantize
from msmodelslim.ir.qal import QDType, QParam, QScheme, QScope, QStorage

P = "model.layers.0.self_attn.q_proj"
NO_ACTIVATIONS = QParam(QScheme(), {"axes": -1, "dual_block_size": 512})


class Tensors:
    """What AscendV1Saver's methods need of it: a place for tensors and words."""

    def __init__(self, is_bf16=True):
        self._global_torch_dtype_is_bf16, self.stored, self.words = is_bf16, {}, {}

    def write_tensor(self, name, word, tensor):
        self.stored[name], self.words[name] = tensor.detach().contiguous(), word

    def update_quant_type(self, word):
        self.words["model_quant_type"] = word


def add(models, name, save, module, value, note, is_bf16=True, without=(), bias=None):
    """`without`: tensors of the module that older writers did not have."""
    saver = Tensors(is_bf16)
    getattr(AscendV1Saver, save)(saver, P, module)
    stored = {key: tensor for key, tensor in saver.stored.items() if key.removeprefix(P + ".") not in without}
    expected = {P + ".weight": value.contiguous()}
    if bias is not None:
        expected[P + ".bias"] = bias
    models.add(name, stored, expected, note, {"model_type": "qwen3"}, plain=[P + ".bias"] if P + ".bias" in stored else [])
    folder = os.path.join(models.corpus, "safetensors-good", "peer-ascend-" + name)
    with open(os.path.join(folder, "quant_model_description.json"), "w", encoding="utf-8") as f:
        json.dump({key: word for key, word in saver.words.items() if key in stored or "." not in key}, f, indent=1)
        f.write("\n")


def by_rows(out, cols, dtype):
    """Returns the numbers, the codes and the values of a random weight with a scale for each row."""
    weight = torch.randn(out, cols) * .05
    numbers = calculate_qparam(weight.amin(1), weight.amax(1), q_dtype=dtype, q_scope=QScope.PER_CHANNEL, symmetric=True)
    codes = quantize(QStorage(QDType.FLOAT, weight).T, numbers).T
    return numbers, codes, dequantize(QStorage(dtype, codes.value).T, numbers).T.value


def static(models):
    """The values are those of the stored deq_scale, which is rounded once."""
    for name, kind, is_bf16, bias, without, note in (
            ("static", "static", True, None, (), "deq_scale in F32"),
            ("static-i64", "static", False, None, (), "deq_scale in I64"),
            ("static-bias", "static", True, True, (), "with P.bias"),
            ("static-folded", "static", False, True, ("bias",), "the bias is in quant_bias only"),
            ("mix", "pd_mix", True, True, (), "W8A8_MIX"),
            ("mix-folded", "pd_mix", True, True, ("bias",), "W8A8_MIX, the bias is in quant_bias only")):
        numbers, codes, value = by_rows(12, 80, QDType.INT8)
        scale, offset, bias = torch.tensor(.0317), torch.tensor(-23.), torch.randn(12) if bias else None
        inputs = QParam(QScheme(QScope.PER_TENSOR, QDType.INT8, False), {"scale": scale, "offset": offset})
        module = {"static": qir.W8A8StaticFakeQuantLinear, "pd_mix": qir.W8A8PDMixFakeQuantLinear}[kind](inputs, numbers, codes, bias)
        deq = scale * module.weight_scale
        if kind == "static":
            value = codes.value.float() * (deq / scale)[:, None]
        if without:
            correction = codes.value.float().sum(1) * offset
            bias = deq * (torch.round(bias / deq - correction) + correction)
        add(models, name, "on_w8a8_" + kind, module, value, note, is_bf16, without, bias)


def integers(models):
    numbers, codes, value = by_rows(12, 80, QDType.INT8)
    add(models, "w8a8", "on_w8a8_dynamic_per_channel", qir.W8A8DynamicPerChannelFakeQuantLinear(NO_ACTIVATIONS, numbers, codes, None), value,
        "W8A8_DYNAMIC")
    numbers, codes, value = by_rows(12, 80, QDType.INT4)
    add(models, "w4a8", "on_w4a8_dynamic", qir.W4A8DynamicFakeQuantLinear(NO_ACTIVATIONS, numbers, codes, None), value, "W4A8_DYNAMIC")
    weight, group = torch.randn(6, 96) * .05, 32
    blocks = weight.reshape(6, -1, group)
    numbers = calculate_qparam(blocks.amin(2), blocks.amax(2), q_dtype=QDType.INT8, q_scope=QScope.PER_GROUP, symmetric=True)
    numbers.ext |= {"group_size": group, "offset": numbers.ext["offset"].contiguous()}
    codes = quantize(QStorage(QDType.FLOAT, weight).T, numbers).T
    value = dequantize(QStorage(QDType.INT8, codes.value).T, numbers).T.value
    add(models, "w8a16-group", "on_w8a16_static_per_group", qir.W8A16StaticPerGroupFakeQuantLinear(NO_ACTIVATIONS, numbers, codes, None), value,
        "W8A16 in groups")


def small_floats(models):
    for name, dtype, save, kind in (("mxfp8", QDType.MXFP8, "on_w8a8_mx_dynamic_per_block", qir.W8A8MXDynamicPerBlockFakeQuantLinear),
                                    ("mxfp4", QDType.MXFP4, "on_w4a4_mx_dynamic_per_block", qir.W4A4MXDynamicPerBlockFakeQuantLinear)):
        blocks = torch.randn(6, 3, 32) * .05
        numbers = calculate_qparam(blocks.amin(2, True), blocks.abs().amax(2, True), q_dtype=dtype, q_scope=QScope.PER_BLOCK, symmetric=True)
        codes = quantize(QStorage(QDType.FLOAT, blocks), numbers)
        value = dequantize(QStorage(dtype, codes.value), numbers).value.reshape(6, 96)
        numbers.ext |= {"axes": -1, "offset": torch.zeros(1)}
        codes.value = codes.value.reshape(6, 96)
        add(models, name, save, kind(
            QParam(QScheme(dtype=dtype), {"axes": -1}), numbers, codes, None), value, name.upper())


def main():
    torch.manual_seed(26)
    models = Models(sys.argv[1], "ascend", f"msmodelslim 26.1.0, torch {torch.__version__}")
    for make in (static, integers, small_floats):
        make(models)
    models.done()


main()
