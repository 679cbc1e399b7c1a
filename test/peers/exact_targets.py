"""exact_targets: decodes what amn wrote with the library of each target, and names the search that tells whether a block has an
encoding there."""
import bitsandbytes.functional as bnb
import gguf
import mlx.core as mx
import numpy as np
import torch
from comfy_kitchen.backends.eager import quantization as comfy
from compressed_tensors.compressors.mxfp4 import MXFP4PackedCompressor
from compressed_tensors.compressors.mxfp8 import MXFP8QuantizationCompressor
from compressed_tensors.compressors.naive_quantized import NaiveQuantizationCompressor
from compressed_tensors.compressors.pack_quantized import PackedQuantizationCompressor
from modelopt.torch.quantization.qtensor import MXFP4QTensor, NVFP4QTensor
from transformers.integrations.finegrained_fp8 import Fp8Dequantize
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from exact_search import E2M1, E4M3, Dense, Nvfp4Copy, Nvfp4Pairs, Nvfp4Powers, Power, Scaled, Steps, both_signs
from exact_sources import E8, F8, TORCH, Parts, ct_fp4, ct_scheme, dense, mlx_float

F32 = torch.float32


def stems(names):
    return [name.removesuffix(".weight") for name in names]


def stacked(out, names, suffix):
    """One part of all weights, rows after rows."""
    return torch.cat([out[stem + suffix] for stem in stems(names)])


class Target:
    """name: of --scheme. decode(out, names, shape): F32 [n, rows, cols], and real numbers of F64 with their divisors, or None. search:
    function of the source, or None: only what is decoded is checked. block: rows and columns of a block, by the source."""
    blocks = False

    def __init__(self, name, decode, search=None, block=(1, 32), options=(), levels=("f32",)):
        self.name, self.decode, self.search, self.block, self.options, self.levels = name, decode, search, block, options, levels

    def block_of(self, source):
        return self.block(source) if callable(self.block) else self.block


def power(magnitudes, least=-127):
    return lambda source: Power(magnitudes, least)


def group(source):
    """The group of a target that takes it over from the source; --group-size 32 is given otherwise."""
    return source.group if source.group in (32, 64, 128) else 32


# --- power of two times small floats

def ct_mxfp4(out, names, shape):
    how = ct_scheme(num_bits=4, type="float", strategy="group", group_size=32)
    parts = {"weight_packed": stacked(out, names, ".weight_packed"), "weight_scale": stacked(out, names, ".weight_scale")}
    return dense(MXFP4PackedCompressor.decompress(parts, how)["weight"])


def modelopt_mxfp4(out, names, shape):
    p, s = stacked(out, names, ".weight"), stacked(out, names, ".weight_scale")
    return dense(MXFP4QTensor((len(p), shape[-1]), F32, p).dequantize(F32, scale=s, block_sizes={-1: 32}))


def deepseek_fp4(out, names, shape):
    p, s = stacked(out, names, ".weight"), stacked(out, names, ".scale")
    assert p.dtype == torch.int8 and s.dtype == E8
    return dense(Fp8Dequantize(None)._dequantize_one(p, s, F32))


def gptoss(out, names, shape):
    return np.stack([dense(convert_moe_packed_tensors(out[name + "_blocks"], out[name + "_scales"], dtype=F32).transpose(1, 2))
                     for name in names])


def mlx_of(mode, bits, size):
    def decode(out, names, shape):
        p, s = stacked(out, names, ".weight"), stacked(out, names, ".scales")
        assert p.dtype == torch.uint32
        return mlx_float(mode, p.view(torch.int32).view(torch.uint8), s, bits, size)
    return decode


def mxfp8(out, names, shape):
    q, s = stacked(out, names, ".weight").float(), stacked(out, names, ".weight_scale")
    how = ct_scheme(num_bits=8, type="float", strategy="group", group_size=32, scale_dtype=torch.uint8)
    # as decompress() does, with F32 instead of BF16
    scale = MXFP8QuantizationCompressor._decompress_scale(s).float()
    return dense(NaiveQuantizationCompressor.decompress({"weight": q, "weight_scale": scale}, how)["weight"])


def comfy_mxfp8(out, names, shape):
    return np.stack([dense(comfy.dequantize_mxfp8(out[s + ".weight"], out[s + ".weight_scale"].view(E8), F32))[:shape[1]] for s in
                     stems(names)])


# --- FP8

def tiles(out, names, shape):
    one, values = Fp8Dequantize(None), []
    for s in stems(names):
        scale = out.get(s + ".scale", out.get(s + ".weight_scale_inv"))
        q = out[s + ".weight"]
        whole = torch.zeros(128 * scale.shape[-2], 128 * scale.shape[-1], dtype=F8)     # ragged tiles, which the library refuses
        whole[:q.shape[0], :q.shape[1]] = q
        values.append(dense(one._dequantize_one(whole, scale, F32))[:q.shape[0], :q.shape[1]])
    return np.stack(values)


def float_fp8(strategy):
    def decode(out, names, shape):
        how = ct_scheme(num_bits=8, type="float", strategy=strategy)
        return np.stack([dense(NaiveQuantizationCompressor.decompress({"weight": out[s + ".weight"], "weight_scale": out[s + ".weight_scale"]
                                                                       .float()}, how)["weight"]) for s in stems(names)])
    return decode


# --- NVFP4: values, real numbers, divisors

def with_real(values, parts, n):
    real = parts.real().reshape(n, -1, parts.c.shape[-1])
    return np.stack(values), real, parts.divisors()


def modelopt_nvfp4(out, names, shape):
    p, s, s2 = ([out[m + suffix] for m in stems(names)] for suffix in (".weight", ".weight_scale", ".weight_scale_2"))
    values = [dense(NVFP4QTensor(shape[1:], F32, p[i]).dequantize(F32, scale=s[i], double_scale=s2[i], block_sizes={-1: 16}))
              for i in range(len(p))]
    return with_real(values, Parts(torch.stack(p), torch.stack(s), torch.stack(s2)), len(p))


def ct_nvfp4(out, names, shape):
    p, s, g = ([out[m + suffix] for m in stems(names)] for suffix in (".weight_packed", ".weight_scale", ".weight_global_scale"))
    how = ct_scheme(num_bits=4, type="float", strategy="tensor_group", group_size=16)
    values = [ct_fp4(p[i], s[i], how, g[i]) for i in range(len(p))]
    return with_real(values, Parts(torch.stack(p), torch.stack(s), torch.cat(g), True), len(p))


def comfy_nvfp4(out, names, shape):
    values = [dense(comfy.dequantize_nvfp4(out[m + ".weight"], out[m + ".weight_scale_2"], out[m + ".weight_scale"].view(F8), F32))[:shape[1]]
              for m in stems(names)]
    return np.stack(values)


def mlx_nvfp4(out, names, shape):
    p, s = ([out[m + suffix].flatten(0, -2) for m in stems(names)] for suffix in (".weight", ".scales"))
    g = [out.get(m + ".global_scale") for m in stems(names)]
    packed = [x.view(torch.int32).view(torch.uint8) for x in p]
    more = [{} if x is None else {"global_scale": mx.array(x.numpy())} for x in g]
    values = [mlx_float("nvfp4", packed[i], s[i], 4, 16, **more[i]) for i in range(len(p))]
    factor = torch.tensor([2688.0 if x is None else float(x.reshape(-1)[0]) for x in g])
    return with_real(values, Parts(torch.stack(packed), torch.stack(s).view(F8), factor, over=2688), len(p))


# --- integers

def int4(asymmetric):
    def decode(out, names, shape):
        values = []
        for m in stems(names):
            parts = {k: out[m + "." + k] for k in ("weight_packed", "weight_scale", "weight_shape", "weight_zero_point") if m + "." + k in out}
            how = ct_scheme(num_bits=4, type="int", strategy="group", group_size=shape[-1] // parts["weight_scale"].shape[-1],
                            symmetric="weight_zero_point" not in parts)
            parts["weight_scale"] = parts["weight_scale"].float()
            values.append(dense(PackedQuantizationCompressor.decompress(parts, how)["weight"]))
        return np.stack(values)
    return decode


def int8(out, names, shape):
    values = []
    for m in stems(names):
        parts = {k: out[m + "." + k] for k in ("weight", "weight_scale", "weight_zero_point") if m + "." + k in out}
        how = ct_scheme(num_bits=8, type="int", strategy="channel", symmetric="weight_zero_point" not in parts)
        parts["weight_scale"] = parts["weight_scale"].float()
        values.append(dense(NaiveQuantizationCompressor.decompress(parts, how)["weight"]))
    return np.stack(values)


def affine(bits):
    def decode(out, names, shape):
        size = shape[-1] // out[stems(names)[0] + ".scales"].shape[-1]
        q = mx.array(stacked(out, names, ".weight").numpy())
        s, b = (stacked(out, names, suffix) for suffix in (".scales", ".biases"))
        kind = {torch.bfloat16: mx.bfloat16, torch.float16: mx.float16, F32: mx.float32}[s.dtype]
        values = mx.dequantize(q, *(mx.array(x.float().numpy()).astype(kind) for x in (s, b)), group_size=size, bits=bits)
        ones = mx.ones(tuple(s.shape), dtype=mx.float32)
        steps = np.array(mx.dequantize(q, ones, mx.zeros(ones.shape, dtype=mx.float32), group_size=size, bits=bits))
        real = steps * s.double().numpy().repeat(size, -1) + b.double().numpy().repeat(size, -1)
        return np.array(values.astype(mx.float32)), real.reshape(shape), None
    return decode


def nf4(out, names, shape):
    values = []
    for name in names:
        state = {k.removeprefix(name + "."): v for k, v in out.items() if k.startswith(name + ".")}
        state = bnb.QuantState.from_dict(state, device="cpu")
        state.dtype = F32
        values.append(dense(bnb.dequantize_4bit(out[name], state)))
    return np.stack(values)


def plain(out, names, shape):
    return np.stack([dense(out[name]) for name in names])


class Blocks(Target):
    """A GGUF type; out: {name: (raw, type)}."""
    blocks = True

    def __init__(self, kind, search, block=(1, 32), levels=("f32",)):
        super().__init__(kind.name.lower(), self.of_blocks, search, block, (), levels)
        self.kind = kind

    def of_blocks(self, out, names, shape):
        raw = np.concatenate([out[name][0].reshape(-1, out[name][0].shape[-1]) for name in names])
        assert all(out[name][1] == self.kind for name in names)
        values = gguf.quants.dequantize(raw, self.kind).astype(np.float32).reshape(shape)
        if self.kind != gguf.GGMLQuantizationType.NVFP4:
            return values
        factor = np.array([out[m + ".scale"][0].reshape(-1)[0] if m + ".scale" in out else 1 for m in stems(names)], dtype=np.float32)
        with np.errstate(under="ignore"):
            return values * factor.reshape(-1, 1, 1), values.astype(np.float64) * factor.astype(np.float64).reshape(-1, 1, 1), None


def is_dense(source):
    return source.maker.split()[0] in TORCH


def type_of(source):
    """The type of scales that a target can choose. Of a dense weight, the widest one that is tried."""
    return "F32" if is_dense(source) else source.scale


def integers(bits, kind=None, zeros=False, either=False):
    """either: dense weights get zero points if they need them."""
    def search(source):
        shifts = zeros or (either and is_dense(source))
        half = 1 << (bits - 1)
        return Scaled(np.arange(2 * half) if shifts else np.arange(-half, half), kind or type_of(source), not shifts, shifts, True)
    return search


NF4 = np.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
                -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
                0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0])


def nvfp4(reader):
    """Real numbers of E2M1 are searched with every scale of a block, others with powers of two."""
    def search(source):
        if source.parts is not None:
            return Nvfp4Pairs(reader)
        is_fp4 = "fp4" in source.maker.lower() or source.maker == "gpt-oss"
        return Nvfp4Copy(reader) if is_dense(source) else Nvfp4Powers(reader, is_fp4)
    return search


def row(source):
    return 1, source.values.shape[-1]


def tensor(source):
    return source.values.shape[1:]


Q = gguf.GGMLQuantizationType
TARGETS = {
    "MXFP4": [Target("mxfp4", ct_mxfp4, power(E2M1)), Target("modelopt-mxfp4", modelopt_mxfp4, power(E2M1)),
              Target("deepseek-fp4", deepseek_fp4, power(E2M1)), Target("mlx-mxfp4", mlx_of("mxfp4", 4, 32), power(E2M1)),
              Target("gptoss-mxfp4", gptoss, power(E2M1)), Blocks(Q.MXFP4, power(E2M1))],
    "MXFP8": [Target("mxfp8", mxfp8, power(E4M3)), Target("mlx-mxfp8", mlx_of("mxfp8", 8, 32), power(E4M3)),
              Target("comfy-mxfp8", comfy_mxfp8, power(E4M3, -126))],
    "FP8 E8M0": [Target("fp8-ue8m0", tiles, power(E4M3), (128, 128))],
    "FP8 float": [Target("fp8", tiles, lambda s: Scaled(both_signs(E4M3), "F32"), (128, 128)),
                  Target("fp8-per-channel", float_fp8("channel"), lambda s: Scaled(both_signs(E4M3), type_of(s)), row),
                  Target("fp8-per-tensor", float_fp8("tensor"), lambda s: Scaled(both_signs(E4M3), type_of(s)), tensor)],
    "NVFP4": [Target("modelopt-nvfp4", modelopt_nvfp4, nvfp4("modelopt"), (1, 16), levels=("f32", "bf16", "real")),
              Target("nvfp4", ct_nvfp4, nvfp4("ct"), (1, 16), levels=("f32", "bf16", "real")),
              Target("mlx-nvfp4", mlx_nvfp4, nvfp4("mlx"), (1, 16), levels=("f32", "bf16", "real")),
              Target("comfy-nvfp4", comfy_nvfp4, nvfp4("comfy"), (1, 16), levels=("f32", "bf16")),
              Blocks(Q.NVFP4, nvfp4("gguf"), (1, 16), levels=("f32", "bf16", "real"))],
    "INT sym": [Blocks(Q.Q4_0, integers(4, "F16")),
                Target("int4-group", int4(False), integers(4), lambda s: (1, group(s)), ("--symmetric",))],
    "Q5_0": [Blocks(Q.Q5_0, integers(5, "F16"))],
    "INT asym": [Target("int4-group", int4(True), integers(4, zeros=True), lambda s: (1, group(s)), ("--asymmetric",))],
    "Q4_1 Q5_1": [Blocks(Q.Q4_1, lambda s: Steps(4, "F16")), Blocks(Q.Q5_1, lambda s: Steps(5, "F16"))],
    "MLX affine": [Target(f"mlx-{b}bit", affine(b), lambda s, b=b: Steps(b, type_of(s), True), lambda s: (1, group(s)), levels=("f32", "real"))
                   for b in (2, 3, 4, 5, 6, 8)],
    "Q8_0 INT8": [Blocks(Q.Q8_0, integers(8, "F16")), Target("int8-channel", int8, integers(8, either=True), row)],
    "BF16": [Target(k.lower(), plain, lambda s, k=k: Dense(k), (1, 1)) for k in ("BF16", "F16", "F32")],
    "NF4": [Target("nf4", nf4, lambda s: Scaled(NF4, "F32"), lambda s: (1, 64))],
}
