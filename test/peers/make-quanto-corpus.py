#!/usr/bin/env python3
r"""make-quanto-corpus.py CORPUS: write CORPUS/safetensors-good/peer-quanto-* and CORPUS/manifest-quanto.ndjson.

Small models of optimum-quanto, quantized, frozen and decoded by its own modules on the CPU and written as their
state_dict(). Where the formula has one product, it is computed with F32 scales, so that nothing is rounded before the
end. Run by hand when a case is added, in the environment of requirements.txt:

    python test/peers/make-quanto-corpus.py test/corpus
"""
import importlib.metadata
import sys

import torch
from corpus_writer import Models
from optimum.quanto import MaxOptimizer, QConv2d, QLinear, WeightQBitsTensor, WeightQBytesTensor, qint2, qint4, qint8
from optimum.quanto import qfloat8_e4m3fn, qfloat8_e5m2, quantize_weight

F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32


def linear_of(n_out, n_in, dtype, bias):
    linear = torch.nn.Linear(n_in, n_out, bias=bias).to(dtype)
    linear.weight.data += 0.02
    return linear


def frozen(module, qtype, zeropoint=False):
    wrapper = QConv2d if isinstance(module, torch.nn.Conv2d) else QLinear
    q = wrapper.from_module(module, weights=qtype)
    if not zeropoint:
        q.freeze()
        return q
    scale, shift = MaxOptimizer()(q.weight, qtype=qtype, axis=0, group_size=q.weight_group_size, zeropoint=True)
    q.weight = torch.nn.Parameter(quantize_weight(q.weight, qtype=qtype, axis=0, scale=scale, shift=shift,
                                                  group_size=q.weight_group_size))
    return q


def decoded(q):
    weight = q.weight.data if isinstance(q.weight, torch.nn.Parameter) else q.weight
    if isinstance(weight, WeightQBytesTensor):
        return WeightQBytesTensor(weight.qtype, weight.axis, weight.size(), weight.stride(), weight._data,
                                  weight._scale.float(), None).dequantize()
    if type(weight) is not WeightQBitsTensor:           # one that a kernel of this machine would use
        weight = weight.weight_qbits_tensor()
    if not weight._shift.dtype.is_floating_point:
        weight._scale = weight._scale.float()
    return weight.dequantize()


def add(stored, expected, name, q):
    state = {f"{name}.{key}": value for key, value in q.state_dict().items()}
    stored |= {key: value.contiguous() for key, value in state.items()}
    expected[f"{name}.weight"] = decoded(q)
    if q.bias is not None:
        expected[f"{name}.bias"] = q.bias.data


def write(models, name, note, cases, config=None):
    """`cases`: (module, type), optionally with "zeropoint" and with a name as (name,)."""
    stored, expected = {}, {}
    for i, (module, qtype, *rest) in enumerate(cases):
        called = next((r[0] for r in rest if isinstance(r, tuple)), f"blocks.{i}.proj")
        add(stored, expected, called, frozen(module, qtype, "zeropoint" in rest))
    models.add(name, stored, expected, note, config, plain={k for k in expected if k.endswith(".bias")})


def main():
    torch.manual_seed(0)
    versions = importlib.metadata.version("optimum-quanto"), torch.__version__.split("+")[0]
    models = Models(sys.argv[1], "quanto", "optimum-quanto %s, torch %s" % versions)
    conv = torch.nn.Conv2d(3, 5, 3).to(BF16)
    write(models, "bytes", "8 bits: INT8 and FP8, of a Linear and a convolution, one row", [
        (linear_of(7, 40, BF16, True), qint8), (linear_of(7, 40, F16, False), qint8),
        (linear_of(7, 40, F32, False), qint8), (linear_of(7, 40, BF16, False), qfloat8_e4m3fn), (linear_of(3, 24, F32, False), qfloat8_e5m2), (conv, qint8),
        (linear_of(1, 40, BF16, False), qint8)])
    write(models, "bits", "4 and 2 bits with a bias, which tells the rows: groups of 128, 96, 64, 32, and whole rows", [
        (linear_of(5, 256, F16, True), qint4), (linear_of(3, 192, BF16, True), qint4),
        (linear_of(7, 320, F32, True), qint4), (linear_of(3, 160, BF16, True), qint4),
        (linear_of(7, 100, F16, True), qint4), (linear_of(5, 256, BF16, True), qint2), (linear_of(3, 160, F16, True), qint2), (linear_of(9, 72, BF16, True), qint2)])
    write(models, "zero-points", "integer shifts", [
        (linear_of(5, 256, F16, True), qint4, "zeropoint"), (linear_of(3, 160, BF16, True), qint2, "zeropoint")])
    write(models, "no-bias", "4 bits without a bias: rows that are no groups; a convolution", [
        (linear_of(7, 100, BF16, False), qint4), (torch.nn.Conv2d(3, 5, 3).to(BF16), qint4)])
    layer = "model.layers.0."
    write(models, "sizes", "4 and 2 bits without a bias: config.json tells the rows", [
        (linear_of(5, 256, F16, False), qint4, (layer + "self_attn.q_proj",)),
        (linear_of(256, 64, BF16, False), qint4, (layer + "self_attn.o_proj",)),
        (linear_of(7, 256, BF16, False), qint2, (layer + "mlp.gate_proj",)),
        (linear_of(5, 160, F32, False), qint2, (layer + "mlp.down_proj",)),
        (linear_of(6, 100, F16, False), qint4, (layer + "other",))],
          {"model_type": "llama", "hidden_size": 256, "intermediate_size": 160})
    models.done()


main()
