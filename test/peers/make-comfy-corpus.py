#!/usr/bin/env python3
r"""make-comfy-corpus.py CORPUS: write CORPUS/safetensors-good/peer-comfy-* and CORPUS/manifest-comfy.ndjson.

Small models in ComfyUI's integer formats, which comfy-kitchen's eager code quantizes, of awkward shapes, and the
SHA-256 of what must come out.

What is expected is the library's own where that is exact: int8_tensorwise without a rotation, the INT8 codes that
asym_w4a8_int8 is turned into, awq_w4a16 in F32. What is rotated is not the library's: it multiplies by a matrix of F32,
and adds products in an order that nobody defines. There the sums are made here, of integers, in numpy's int64, and the
scale multiplies once; the library may differ in what nearly lies between two BF16 values, by one of them, and where the
sum is 0 by what its additions leave over, if only a -0. The former is counted and held against TOLERANCE. nf4 is in no
library: ComfyUI's loader hands it to the 4-bit format of bitsandbytes, whose decode is one multiplication.

    python test/peers/make-comfy-corpus.py test/corpus        in the environment of requirements.txt
"""
import json
import sys

import numpy as np
import torch
from comfy_kitchen.backends.eager import convrot_w4a4, quantization, w4a8_int8
from comfy_kitchen.backends.eager.svdquant import _unpack_int4_row_major
from comfy_kitchen.tensor.awq_w4a16 import TensorCoreAWQW4A16Layout as Awq
from safetensors.torch import save_file

from corpus_writer import Models

BF16, F16, F32, F8 = torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn
TOLERANCE = 0.002               # of the elements; 76 of 174592 in a larger trial

H4 = np.array([[1, 1, 1, -1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, 1]])
differ = zeros = compared = 0


def hadamard(g):
    h = np.ones((1, 1), dtype=np.int64)
    while len(h) < g:
        h = np.kron(h, H4)
    return h


def rotated(q, scale, g):
    """The definition: exact sums, one F32 product, a power of two; +0 if the sum is 0."""
    q = np.asarray(q, dtype=np.int64)
    rows, cols = q.shape
    sums = (q.reshape(rows, cols // g, g) @ hadamard(g)).reshape(rows, cols)
    v = sums.astype(np.float32) * np.broadcast_to(np.asarray(scale, dtype=np.float32).reshape(-1, 1), (rows, 1))
    return torch.from_numpy(np.where(sums == 0, np.float32(0), v) * np.float32(1 / g ** 0.5))


def near(ours, library):
    """Counts BF16 values that differ; more than one step is an error, unless ours is 0."""
    global differ, zeros, compared
    a, b = (t.to(BF16).view(torch.int16).to(torch.int32) for t in (ours, library))
    off = a != b
    steps = (a - b).abs()
    little = library.abs() < 1e-4 * library.abs().amax(dim=-1, keepdim=True)
    assert ((steps <= 1) | (ours == 0) & little | ~off).all(), "the library decodes something else"
    differ += int((off & (ours != 0)).sum())
    zeros += int((off & (ours == 0)).sum())
    compared += off.numel()
    return ours


class Model:
    """Returns the stored tensors, their expected values, and the markers."""

    def __init__(self):
        self.stored, self.expected, self.layers = {}, {}, {}

    def add(self, name, dense, marker, in_metadata=False, **parts):
        self.expected[name + ".weight"] = dense
        self.stored |= {f"{name}.{part}": t.clone(memory_format=torch.contiguous_format) for part, t in parts.items()}
        if in_metadata:
            self.layers[name] = marker
        else:
            text = json.dumps(marker).encode()
            self.stored[name + ".comfy_quant"] = torch.tensor(list(text), dtype=torch.uint8)

    def keep(self, name, tensor):
        self.stored[name] = self.expected[name] = tensor

    def write(self, file):
        meta = {"format": "pt"}
        if self.layers:
            meta["_quantization_metadata"] = json.dumps({"format_version": "1.0", "layers": self.layers})
        save_file(self.stored, file, metadata=meta)


def some(*shape):
    """Returns a weight with a few outliers, and a row of zeros."""
    w = torch.randn(shape) * 0.02
    w.view(-1)[::97] *= 8
    if w.dim() == 2 and len(w) > 3:
        w[2] = 0
    return w


# --- int8_tensorwise

def int8(models):
    m = Model()
    for name, shape, rows in (("one", (5, 33), False), ("rows", (7, 41), True), ("conv", (3, 2, 3, 3), False),
                              ("vector", (19,), False)):
        w = some(*shape)
        q, scale = quantization.quantize_int8_rowwise(w) if rows else quantization.quantize_int8_tensorwise(w)
        m.add(name, quantization.dequantize_int8_simple(q, scale), {"format": "int8_tensorwise", "per_row": rows},
              in_metadata=name == "one", weight=q, weight_scale=scale if name != "vector" else scale.reshape(1))
    for name, each in (("experts_one", False), ("experts_rows", True)):
        w = some(3, 5, 24)
        scale = (w.abs().amax(dim=-1 if each else (1, 2), keepdim=True) / 127).float()
        q = (w / scale).round().clamp(-127, 127).to(torch.int8)
        m.add(name, quantization.dequantize_int8_simple(q, scale), {"format": "int8_tensorwise", "num_experts": 3},
              weight=q, weight_scale=scale if each else scale.reshape(3))
    m.keep("one.bias", torch.randn(5).to(BF16))
    models.add("int8", m.write, m.expected, note="int8_tensorwise: one scale, one a row, one an expert, any rank",
               plain=("one.bias",))


def convrot(models):
    m = Model()
    for g, rows, cols in ((4, 9, 20), (16, 5, 80), (64, 3, 192), (256, 3, 768), (1024, 2, 1024)):
        q, scale = quantization.quantize_int8_convrot_weight(some(rows, cols), g)
        library = quantization.dequantize_int8_convrot_weight(q, scale, g)
        marker = {"format": "int8_tensorwise", "convrot": True, "convrot_groupsize": g}
        if g == 16:
            marker = {"format": "int8_tensorwise", "params": {"convrot": True, "convrot_groupsize": g}}
        elif g == 64:
            marker = {"convrot": True, "convrot_groupsize": g, "per_row": True}
        elif g == 256:
            del marker["convrot_groupsize"]
        m.add(f"g{g}", near(rotated(q, scale, g), library), marker, in_metadata=g == 4, weight=q, weight_scale=scale)
    q, scale = quantization.quantize_int8_tensorwise(quantization.rotate_int8_convrot_weight(some(4, 32), 16))
    m.add("one", near(rotated(q, scale, 16), quantization.dequantize_int8_convrot_weight(q, scale, 16)),
          {"format": "int8_tensorwise", "convrot": True, "convrot_groupsize": 16}, weight=q, weight_scale=scale)
    q = torch.stack([torch.randint(-128, 128, (3, 64)) for _ in range(2)]).to(torch.int8)
    scale = torch.tensor([0.01, -0.02, 3e-39, 1e30, 0.5, 7]).reshape(2, 3, 1)
    m.add("experts", torch.stack([rotated(q[e], scale[e], 64) for e in range(2)]),
          {"format": "int8_tensorwise", "convrot": True, "convrot_groupsize": 64}, weight=q, weight_scale=scale)
    models.add("convrot", m.write, m.expected, note="int8_tensorwise, rotated in groups of 4 to 1024; parameters at "
               "the top, in params, without a format; a scale that is negative, subnormal; codes of -128")


def w4a4(models):
    m = Model()
    for g, rows, cols in ((16, 5, 192), (64, 3, 64), (256, 3, 512), (4, 7, 64)):
        packed, scale = convrot_w4a4.quantize_convrot_w4a4_weight(some(rows, cols), g)
        library = convrot_w4a4.dequantize_convrot_w4a4_weight(packed, scale, g)
        q = _unpack_int4_row_major(packed)
        m.add(f"g{g}", near(rotated(q, scale, g), library), {"format": "convrot_w4a4", "convrot_groupsize": g},
              in_metadata=g == 64, weight=packed, weight_scale=scale)
    packed = torch.randint(-128, 128, (5, 6)).to(torch.int8)
    scale = torch.rand(5) - 0.5
    m.add("odd", rotated(_unpack_int4_row_major(packed), scale, 4), {"format": "convrot_w4a4", "convrot_groupsize": 4},
          weight=packed, weight_scale=scale)
    models.add("w4a4", m.write, m.expected, note="convrot_w4a4; rows of 6 bytes, codes of -8")


# --- asym_w4a8_int8

def w4a8(models):
    m = Model()

    def add(name, packed, s_rel, s_channel, codebook, gs, g, as_bytes=False):
        q = w4a8_int8._dequant_int4_grouped_to_int8(packed, s_rel, codebook, gs)
        library = w4a8_int8.dequantize_w4a8_int8_weight(packed, s_rel, s_channel, codebook, None, gs, g, F32)
        parts = {"weight": packed, "weight_s_rel": s_rel.view(torch.uint8) if as_bytes else s_rel,
                 "weight_s_channel": s_channel} | ({} if codebook is None else {"weight_codebook": codebook})
        m.add(name, near(rotated(q, s_channel, g), library),
              {"format": "asym_w4a8_int8", "group_size": gs, "convrot_groupsize": g,
               "full_precision_matrix_mult": True}, **parts)

    for name, rows, cols, gs, g, bits, dtype, book in (
            ("book", 5, 256, 16, 256, 4, F8, True), ("fine", 3, 80, 4, 16, 4, F8, True),
            ("eight", 3, 48, 8, 16, 4, F32, False), ("wide", 4, 192, 48, 64, 4, F8, False),
            ("six", 5, 256, 16, 64, 6, F8, False), ("six_wide", 3, 288, 48, 4, 6, F32, False),
            ("six_row", 7, 64, 64, 64, 6, F8, False)):
        packed, s_rel, s_channel, correction, codebook = w4a8_int8.quantize_w4a8_int8_weight(
            some(rows, cols), gs, g, True, dtype, book, None, 0, bits)
        assert correction is None and (codebook is not None) == book
        add(name, packed, s_rel, s_channel, codebook, gs, g, as_bytes=name in ("wide", "six_row"))
    # Any code with any scale: ties, what is clamped, and a codebook without order
    packed = torch.randint(-128, 128, (6, 32)).to(torch.int8)
    s_rel = torch.tensor([0.5, 1.5, 2.25, 30, 448, -7, 0, 0.001953125]).repeat(12).reshape(6, 16)
    add("ties", packed, s_rel, torch.rand(6), None, 4, 16)
    add("order", packed, s_rel.to(F8), torch.rand(6), torch.randn(16) * 20, 4, 64)
    packed = torch.randint(-128, 128, (6, 48)).to(torch.int8)
    add("six_ties", packed, s_rel[:, :4].contiguous(), torch.rand(6), None, 16, 16)
    models.add("w4a8", m.write, m.expected, note="asym_w4a8_int8 of 4 and 6 bits, with and without a codebook; s_rel "
               "of F8_E4M3, U8 and F32; groups of 4 to 64, some across those that are rotated; ties, clamped codes")


# --- awq_w4a16, nf4

def others(models):
    m = Model()
    for name, rows, cols, gs, dtype, zero in (("bf16", 7, 128, 64, BF16, "zeros"), ("f16", 5, 96, 32, F16, "zero"),
                                              ("f32", 3, 36, 3, F32, "zeros"), ("odd", 9, 6, 1, BF16, "zeros"),
                                              ("row", 1, 70, 70, F16, "zeros")):
        packed = torch.randint(-128, 128, (rows, cols // 2)).to(torch.int8)
        scales, zeros = (torch.randn(cols // gs, rows) * 0.02).to(dtype), torch.randn(cols // gs, rows).to(dtype)
        params = Awq.Params(scale=scales.float(), orig_dtype=F32, orig_shape=(rows, cols), zeros=zeros.float(),
                            group_size=gs)
        m.add(name, Awq.dequantize(packed, params), {"format": "awq_w4a16"} | ({} if gs == 64 else {"group_size": gs}),
              weight=packed, weight_scale=scales, **{"weight_" + zero: zeros})
    packed = torch.randint(-128, 128, (2, 3, 16)).to(torch.int8)
    scales, zeros = torch.randn(2, 2, 3).to(BF16), torch.randn(2, 2, 3).to(BF16)
    dense = [Awq.dequantize(packed[e], Awq.Params(scale=scales[e].float(), orig_dtype=F32, orig_shape=(3, 32),
                                                  zeros=zeros[e].float(), group_size=16)) for e in range(2)]
    m.add("experts", torch.stack(dense), {"format": "awq_w4a16", "group_size": 16}, weight=packed, weight_scale=scales,
          weight_zeros=zeros)
    code = torch.tensor([-1.0, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.09105004, 0.0,
                         0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1.0])
    for name, shape in (("nf4", (9, 40)), ("nf4_odd", (5, 13)), ("nf4_one", (1, 1))):
        n = shape[0] * shape[1]
        packed = torch.randint(0, 256, ((n + 1) // 2, 1), dtype=torch.uint8)
        scale = torch.rand((n + 63) // 64)
        codes = torch.stack([packed >> 4, packed & 15], dim=-1).reshape(-1)[:n].to(torch.int64)
        dense = code[codes] * scale.repeat_interleave(64)[:n]
        m.add(name, dense.reshape(shape), {"format": "nf4", "shape": list(shape), "blocksize": 64, "dtype": "bfloat16",
                                           "double_quant": False}, in_metadata=True, weight=packed, weight_scale=scale,
              weight_code=code)
    m.keep("norm.weight", torch.ones(8, dtype=BF16))
    models.add("others", m.write, m.expected, note="awq_w4a16 in groups of 1, 3, 32, 64 and a row, stacked too; nf4 by "
               "metadata, with a byte half used", plain=("norm.weight",))


def main():
    models = Models(sys.argv[1], "comfy", "comfy-kitchen 0.2.40")
    for make in (int8, convrot, w4a4, w4a8, others):
        torch.manual_seed(7)
        make(models)
    models.done()
    print(f"rotated: {differ} of {compared} BF16 values are others in the library, and {zeros} that are 0",
          file=sys.stderr)
    assert differ <= TOLERANCE * compared


main()
