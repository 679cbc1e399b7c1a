"""exact_sources: files of many small quantized weights, packed by the libraries whose formats they are in, and the values that these
libraries decode. Scales are usual ones and awkward ones: subnormal, huge, zero, negative, powers of two, of few bits."""
import importlib.util
import json
import logging
import os
import sys
import types
from fractions import Fraction

import bitsandbytes.functional as bnb
import gguf
import mlx.core as mx
import numpy as np
import torch
from comfy_kitchen.backends.eager import quantization as comfy
from comfy_kitchen.float_utils import to_blocked
from compressed_tensors.compressors.mxfp4 import MXFP4PackedCompressor
from compressed_tensors.compressors.mxfp8 import MXFP8QuantizationCompressor
from compressed_tensors.compressors.naive_quantized import NaiveQuantizationCompressor
from compressed_tensors.compressors.nvfp4.helpers import pack_fp4_to_uint8, unpack_fp4_from_uint8
from compressed_tensors.compressors.pack_quantized import PackedQuantizationCompressor
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from compressed_tensors.quantization.lifecycle.forward import dequantize
from modelopt.torch.quantization.qtensor import MXFP4QTensor, NVFP4QTensor
from safetensors.torch import save_file
from transformers.integrations.finegrained_fp8 import Fp8Dequantize
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from exact_search import read_nvfp4

ROWS, COLS = 16, 128          # one word of zero points for 8 rows, and compressed-tensors 0.20 cannot read a single one
F8, E8 = torch.float8_e4m3fn, torch.float8_e8m0fnu
TORCH = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32}
MLX = {"BF16": mx.bfloat16, "F16": mx.float16, "F32": mx.float32}
E2M1 = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])


class Source:
    """Weights of one format: `values` [n, rows, cols] of F32, in the order of `names`, the names of the output. `real`: F64, if values are
    rounded. `scale`: the type that a target takes over; `group`: the elements that share a scale, or None."""

    def __init__(self, maker, values, names, scale, group=None, real=None, config=None):
        self.maker, self.values, self.names, self.scale, self.group = maker, values, names, scale, group
        self.real, self.config = values.astype(np.float64) if real is None else real, config
        self.tensors, self.blocks, self.parts = {}, {}, None

    def only(self, places):
        """Some of the weights."""
        names = [self.names[i] for i in places]
        some = Source(self.maker, self.values[places], names, self.scale, self.group, self.real[places], self.config)
        stems = {name.removesuffix(".weight") for name in names}
        of = {key: key.partition(".weight")[0].removesuffix("_blocks").removesuffix("_scales") for key in self.tensors}
        some.tensors = {key: t for key, t in self.tensors.items() if of[key] in stems or of[key].rpartition(".")[0] in stems}
        some.blocks = {name: self.blocks[name] for name in names if name in self.blocks}
        return some

    def write(self, folder):
        """Returns the path, and the options of the tool."""
        options = []
        if self.config:
            path = os.path.join(folder, "source.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(self.config, f)
            options = ["--config", path]
        else:
            options = ["--config", "none"]
        path = os.path.join(folder, "source.gguf" if self.blocks else "source.safetensors")
        if not self.blocks:
            save_file({name: t.contiguous().clone() for name, t in self.tensors.items()}, path)
            return path, options
        writer = gguf.GGUFWriter(path, "none")
        for name, (raw, kind) in self.blocks.items():
            writer.add_tensor(name, raw, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path, options


def module(i):
    return f"model.layers.{i}.mlp.down_proj"


def of_modules(maker, n, values, parts, scale, group=None, **rest):
    """A source of modules in safetensors; parts: {suffix: function of i}."""
    s = Source(maker, values, [module(i) + ".weight" for i in range(n)], scale, group, **rest)
    for i in range(n):
        s.tensors |= {module(i) + suffix: part(i) for suffix, part in parts.items()}
    return s


def dense(t):
    return t.detach().float().numpy()


# --- codes and scales

def codes(rng, n, low, high, rows=ROWS, cols=COLS):
    """[n, rows, cols] in low..high: any, few, even, or one in a block; some blocks only 0 (if that is a code)."""
    out = rng.integers(low, high + 1, (n, rows, cols))
    for i in range(n):
        how = rng.integers(0, 8)
        if how == 0:
            out[i] = rng.choice(rng.integers(low, high + 1, 3), (rows, cols))
        elif how == 1:
            out[i] = out[i] // 2 * 2 if low <= 0 else out[i]
        elif how == 2:
            out[i, :, ::2] = rng.integers(low, high + 1)
        elif how == 3:
            out[i] = np.repeat(rng.integers(low, high + 1, (rows, cols // 16)), 16, axis=1)
        if how < 4 and low <= 0:
            zeros = rng.random((rows, cols // 32)) < 0.2
            out[i][np.repeat(zeros, 32, axis=1)] = 0
    return np.clip(out, low, high)


LIMITS = {"F16": (-24, 15), "BF16": (-132, 100), "F32": (-140, 100)}


def scales(rng, shape, kind, negative=True):
    """[n, ...] numbers of a type."""
    n, (least, most) = shape[0], LIMITS[kind]
    out = 2.0 ** rng.uniform(-12, -3, shape)
    for i in range(n):
        how = rng.integers(0, 12)
        rest = shape[1:]
        if how == 0:
            out[i] = 2.0 ** rng.integers(-12, -3, rest)
        elif how == 1:
            out[i] = 2.0 ** rng.uniform(least, most, rest)
        elif how == 2:
            out[i] = 2.0 ** rng.uniform(least, least + 12, rest)
        elif how == 3:
            out[i] = 2.0 ** rng.uniform(most - 12, most, rest)
        elif how == 4:
            out[i] = 2.0 ** rng.uniform(-12, -3)
        elif how == 5 and negative:
            out[i] *= rng.choice([-1, 1], rest)
        elif how == 6:
            out[i] *= rng.choice([0, 1], rest)
        elif how == 7:
            out[i] = rng.integers(1, 8, rest) * 2.0 ** rng.integers(-12, -3, rest)
        elif how == 8:
            out[i] = 2.0 ** rng.integers(-13, -2)
    return torch.from_numpy(out).to(TORCH[kind])


def exponents(rng, shape, least=0, most=250):
    """[n, ...] bytes of E8M0: together, apart, at the ends."""
    out = rng.integers(115, 126, shape)
    for i in range(shape[0]):
        how = rng.integers(0, 8)
        if how == 0:
            out[i] = rng.integers(least, most + 1, shape[1:])
        elif how == 1:
            out[i] = rng.integers(least, most + 1)
        elif how == 2:
            out[i] = rng.integers(105, 127, shape[1:])
        elif how == 3:
            out[i] = least + rng.integers(0, 16, shape[1:])
        elif how == 4:
            out[i] = most - rng.integers(0, 16, shape[1:])
    return torch.from_numpy(out.astype(np.uint8))


def e4m3(rng, shape, edges=True):
    out = rng.integers(0x28, 0x68, shape)
    for i in range(shape[0]):
        how = rng.integers(0, 6) if edges else 9
        if how == 0:
            out[i] = rng.integers(0, 0x7F, shape[1:])
        elif how == 1:
            out[i] = rng.integers(0, 16, shape[1:]) * 8
        elif how == 2:
            out[i] = rng.integers(0, 0x7F)
    return torch.from_numpy(out.astype(np.uint8)).view(F8)


def ct_scheme(**how):
    return QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**how))


def ct_config(form, **how):
    group = {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group"} | how}
    return {"model_type": "llama", "quantization_config": {"quant_method": "compressed-tensors", "format": form,
                                                           "config_groups": {"group_0": group}}}


def rows_of(t):
    """[n, rows, ...] to [n * rows, ...]: formats whose rows stand alone are decoded at once."""
    return t.reshape(-1, *t.shape[2:])


# --- A: MXFP4

def fp4(rng, n):
    """Codes as bytes, the even column in the low nibble: [n, rows, cols / 2]."""
    q = codes(rng, n, 0, 15)
    return torch.from_numpy((q[..., ::2] | q[..., 1::2] << 4).astype(np.uint8))


def ct_mxfp4(rng, n):
    q, s = codes(rng, n, 0, 15), exponents(rng, (n, ROWS, COLS // 32))
    packed = torch.stack([pack_fp4_to_uint8(E2M1[torch.from_numpy(q[i])]) for i in range(n)])
    how = ct_scheme(num_bits=4, type="float", strategy="group", group_size=32)
    values = MXFP4PackedCompressor.decompress({"weight_packed": rows_of(packed), "weight_scale": rows_of(s)}, how)["weight"]
    return of_modules("ct-mxfp4", n, dense(values).reshape(n, ROWS, COLS), {".weight_packed": lambda i: packed[i], ".weight_scale":
                      lambda i: s[i]}, "BF16", 32)


def modelopt_mxfp4(rng, n):
    p, s = fp4(rng, n), exponents(rng, (n, ROWS, COLS // 32))
    values = MXFP4QTensor((n * ROWS, COLS), torch.float32, rows_of(p)).dequantize(torch.float32, scale=rows_of(s), block_sizes={-1: 32})
    return of_modules("modelopt-mxfp4", n, dense(values).reshape(n, ROWS, COLS), {".weight": lambda i: p[i], ".weight_scale":
                      lambda i: s[i]}, "BF16", 32)


def gpt_oss(rng, n):
    n = n // 2 * 2
    p, s = fp4(rng, n), exponents(rng, (n, ROWS, COLS // 32))
    blocks, scale = p.reshape(-1, 2, ROWS, COLS // 32, 16), s.reshape(-1, 2, ROWS, COLS // 32)
    names = [f"model.layers.{i}.mlp.experts.down_proj" for i in range(n // 2)]
    values = torch.stack([convert_moe_packed_tensors(b, e, dtype=torch.float32).transpose(1, 2) for b, e in zip(blocks, scale)])
    out = Source("gpt-oss", dense(values).reshape(n // 2, 2 * ROWS, COLS), names, "BF16", 32)
    for i, name in enumerate(names):
        out.tensors |= {name + "_blocks": blocks[i], name + "_scales": scale[i]}
    return out


def deepseek_fp4(rng, n):
    p, s = fp4(rng, n), exponents(rng, (n, ROWS, COLS // 32))
    names = [f"layers.{i}.ffn.experts.0.w1.weight" for i in range(n)]
    values = Fp8Dequantize(None)._dequantize_one(rows_of(p).view(torch.int8), rows_of(s).view(E8), torch.float32)
    out = Source("deepseek-fp4", dense(values).reshape(n, ROWS, COLS), names, "BF16", 32)
    for i, name in enumerate(names):
        out.tensors |= {name: p[i].view(torch.int8), name[:-7] + ".scale": s[i].view(E8)}
    return out


def mlx_array(t):
    return mx.array(t.view(torch.uint8).numpy()) if t.dtype in (F8, E8) else mx.array(t.numpy())


def mlx_float(mode, words, s, bits, group, **more):
    """words: bytes. MLX decodes to F32."""
    w = mx.array(words.contiguous().numpy()).view(mx.uint32)
    y = mx.dequantize(w, mlx_array(s), group_size=group, bits=bits, mode=mode, dtype=mx.float32, **more)
    return np.array(y)


def mlx_config(mode, bits, group):
    return {"model_type": "llama", "quantization": {"group_size": group, "bits": bits, "mode": mode}}


def words(t):
    return t.contiguous().view(torch.int32).view(torch.uint32)


def mlx_mxfp4(rng, n):
    p, s = fp4(rng, n), exponents(rng, (n, ROWS, COLS // 32))
    values = mlx_float("mxfp4", rows_of(p), rows_of(s), 4, 32)
    return of_modules("mlx-mxfp4", n, values.reshape(n, ROWS, COLS), {".weight": lambda i: words(p[i]), ".scales": lambda i: s[i]}, "BF16",
                      32, config=mlx_config("mxfp4", 4, 32))


def of_blocks(raw, kind, scale, group):
    """A GGUF source: raw [n, rows, bytes]."""
    n = len(raw)
    values = gguf.quants.dequantize(raw.reshape(n * ROWS, -1), kind).reshape(n, ROWS, -1)
    s = Source("gguf " + kind.name, values.astype(np.float32), [module(i) + ".weight" for i in range(n)], scale, group)
    s.blocks = {name: (raw[i], kind) for i, name in enumerate(s.names)}
    return s


def gguf_mxfp4(rng, n):
    raw = rng.integers(0, 256, (n, ROWS, COLS // 32, 17), dtype=np.uint8)
    raw[..., 0] = exponents(rng, (n, ROWS, COLS // 32)).numpy()
    return of_blocks(raw.reshape(n, ROWS, -1), gguf.GGMLQuantizationType.MXFP4, "BF16", 32)


# --- B and C: FP8

def fp8_codes(rng, n):
    """Any codes, or those of few values, such as MXFP4 has."""
    q = rng.integers(0, 127, (n, ROWS, COLS)) | rng.integers(0, 2, (n, ROWS, COLS)) << 7
    for i in range(n):
        how = rng.integers(0, 4)
        if how == 0:
            few = rng.choice(E2M1.numpy(), (ROWS, COLS)) * 2.0 ** rng.integers(-4, 5, (ROWS, COLS // 32)).repeat(32, axis=1)
            q[i] = torch.from_numpy(few).to(F8).view(torch.uint8).numpy()
        elif how == 1:
            q[i] = torch.from_numpy(rng.integers(-8, 8, (ROWS, COLS)) * 1.0).to(F8).view(torch.uint8).numpy()
    return torch.from_numpy(q.astype(np.uint8)).view(F8)


def ct_mxfp8(rng, n):
    # the library returns BF16, which has no number below 2^-133
    q, s = fp8_codes(rng, n), exponents(rng, (n, ROWS, COLS // 32), 3, 244)
    how = ct_scheme(num_bits=8, type="float", strategy="group", group_size=32, scale_dtype=torch.uint8)
    values = MXFP8QuantizationCompressor.decompress({"weight": rows_of(q), "weight_scale": rows_of(s)}, how)["weight"]
    return of_modules("ct-mxfp8", n, dense(values).reshape(n, ROWS, COLS), {".weight": lambda i: q[i], ".weight_scale": lambda i: s[i]},
                      "BF16", 32)


def mlx_mxfp8(rng, n):
    q, s = fp8_codes(rng, n), exponents(rng, (n, ROWS, COLS // 32), 0, 244)
    values = mlx_float("mxfp8", rows_of(q).view(torch.uint8), rows_of(s), 8, 32)
    return of_modules("mlx-mxfp8", n, values.reshape(n, ROWS, COLS), {".weight": lambda i: words(q[i].view(torch.uint8)), ".scales":
                      lambda i: s[i]}, "BF16", 32, config=mlx_config("mxfp8", 8, 32))


def comfy_mxfp8(rng, n):
    q, s = fp8_codes(rng, n), exponents(rng, (n, ROWS, COLS // 32), 1, 244)
    grid = [to_blocked(s[i], flatten=False) for i in range(n)]
    values = np.stack([dense(comfy.dequantize_mxfp8(q[i], grid[i].view(E8), torch.float32))[:ROWS] for i in range(n)])
    marker = torch.tensor(list(json.dumps({"format": "mxfp8"}).encode()), dtype=torch.uint8)
    return of_modules("comfy-mxfp8", n, values, {".weight": lambda i: q[i], ".weight_scale": lambda i: grid[i], ".comfy_quant":
                      lambda i: marker}, "BF16", 32)


def deepseek_fp8(rng, n):
    q, s = fp8_codes(rng, n), exponents(rng, (n, 1, 1), 0, 244)
    one = Fp8Dequantize(None)
    values = np.stack([dense(one._dequantize_one(q[i], s[i].view(E8), torch.float32)) for i in range(n)])
    return of_modules("deepseek-fp8", n, values, {".weight": lambda i: q[i], ".scale": lambda i: s[i].view(E8)}, "BF16", 128)


def deepseek_fp8_32(rng, n):
    """DeepSeek V4.1: tiles of 32x32."""
    q, s = fp8_codes(rng, n).repeat(1, 4, 1), exponents(rng, (n, 2, COLS // 32), 0, 244)
    one = Fp8Dequantize(None)
    values = np.stack([dense(one._dequantize_one(q[i], s[i].view(E8), torch.float32)) for i in range(n)])
    return of_modules("deepseek-fp8-32", n, values, {".weight": lambda i: q[i], ".scale": lambda i: s[i].view(E8)}, "BF16", 32)


def float_fp8(strategy, kind):
    def make(rng, n):
        q, s = fp8_codes(rng, n), scales(rng, (n, ROWS if strategy == "channel" else 1, 1), kind)
        how = ct_scheme(num_bits=8, type="float", strategy=strategy)
        values = np.stack([dense(NaiveQuantizationCompressor.decompress({"weight": q[i], "weight_scale": s[i].float().reshape(
            (ROWS, 1) if strategy == "channel" else 1)}, how)["weight"]) for i in range(n)])
        shape = (ROWS, 1) if strategy == "channel" else (1,)
        real = q.double().numpy() * s.double().numpy()
        return of_modules(f"ct-fp8-{strategy}-{kind}", n, values, {".weight": lambda i: q[i], ".weight_scale": lambda i: s[i].reshape(shape)},
                          kind, real=real, config=ct_config("float-quantized", num_bits=8, type="float", strategy=strategy))
    return make


def tile_fp8(rng, n):
    q, s = fp8_codes(rng, n), scales(rng, (n, 1, 1), "F32")
    one = Fp8Dequantize(None)
    values = np.stack([dense(one._dequantize_one(q[i], s[i], torch.float32)) for i in range(n)])
    return of_modules("transformers-fp8", n, values, {".weight": lambda i: q[i], ".weight_scale_inv": lambda i: s[i]}, "F32", 128,
                      real=q.double().numpy() * s.double().numpy())


# --- D: NVFP4

def second(rng, n, divides=False):
    """Scales of a tensor: usual, powers of two, of few bits."""
    out = np.empty(n, dtype=np.float32)
    for i in range(n):
        how, usual = rng.integers(0, 4), 2.0 ** rng.uniform(-18, -6)
        out[i] = usual if how < 2 else 2.0 ** rng.integers(-20, 2) if how == 2 else rng.integers(1, 1 << 15) * 2.0 ** rng.integers(-30, -10)
    return torch.from_numpy(1 / out if divides else out)


class Parts:
    """NVFP4 as numbers of F32: codes [n, rows, cols], scales for each of them, and the factor of each weight over a number, or its
    divisor."""

    def __init__(self, p, s, factor, divides=False, over=1):
        low, high = E2M1[(p & 15).long()], E2M1[(p >> 4).long()]
        self.c = torch.stack([low, high], dim=-1).reshape(*p.shape[:-1], -1).numpy()
        self.s = s.float().repeat_interleave(16, dim=-1).numpy()
        self.factor, self.divides, self.over = factor.float().numpy().reshape(-1), divides, over

    def real(self):
        """But for a division, which F64 rounds."""
        return self.c.astype(np.float64) * self.s * (1 if self.divides else self.factor.astype(np.float64).reshape(-1, 1, 1))

    def divisors(self):
        """[n], or None."""
        return self.factor if self.divides else np.full(len(self.factor), self.over) if self.over != 1 else None

    def fraction(self, i):
        factor = Fraction(float(self.factor[i]))
        return 1 / factor if self.divides else factor / self.over


def nvfp4(maker, values, p, s, factor, parts, divides=False, over=1, **rest):
    of = Parts(p, s, factor, divides, over)
    # what searches take for the library's order of operations
    assert (read_nvfp4(maker.removesuffix("-nvfp4"), of.c, of.s, of.factor.reshape(-1, 1, 1)) == values).all(), maker
    source = of_modules(maker, len(values), values, parts, "BF16", 16, real=of.real(), **rest)
    source.parts = of
    return source


def modelopt_nvfp4(rng, n):
    p, s, s2 = fp4(rng, n), e4m3(rng, (n, ROWS, COLS // 16)), second(rng, n)
    values = np.stack([dense(NVFP4QTensor((ROWS, COLS), torch.float32, p[i]).dequantize(torch.float32, scale=s[i], double_scale=s2[i],
                                                                                         block_sizes={-1: 16})) for i in range(n)])
    return nvfp4("modelopt-nvfp4", values, p, s, s2, {".weight": lambda i: p[i], ".weight_scale": lambda i: s[i], ".weight_scale_2":
                 lambda i: s2[i]})


def ct_fp4(packed, scale, how, factor):
    """The functions of decompress(), with F32 instead of BF16."""
    unpacked = unpack_fp4_from_uint8(packed, *packed.shape[:1], 2 * packed.shape[1], dtype=torch.float32)
    return dense(dequantize(unpacked, scale.float(), args=how.weights, global_scale=factor, dtype=torch.float32))


def ct_nvfp4(rng, n):
    p, s, g = fp4(rng, n), e4m3(rng, (n, ROWS, COLS // 16)), second(rng, n, True)
    how = ct_scheme(num_bits=4, type="float", strategy="tensor_group", group_size=16)
    values = np.stack([ct_fp4(p[i], s[i], how, g[i:i + 1]) for i in range(n)])
    return nvfp4("ct-nvfp4", values, p, s, g, {".weight_packed": lambda i: p[i], ".weight_scale": lambda i: s[i], ".weight_global_scale":
                 lambda i: g[i:i + 1]}, True)


def comfy_nvfp4(rng, n):
    p, s, s2 = fp4(rng, n), e4m3(rng, (n, ROWS, COLS // 16)), second(rng, n)
    grid = [to_blocked(s[i].view(torch.uint8), flatten=False) for i in range(n)]
    values = np.stack([dense(comfy.dequantize_nvfp4(p[i], s2[i], grid[i].view(F8), torch.float32))[:ROWS] for i in range(n)])
    marker = torch.tensor(list(json.dumps({"format": "nvfp4"}).encode()), dtype=torch.uint8)
    swapped = (p & 15) << 4 | p >> 4
    return nvfp4("comfy-nvfp4", values, swapped, s, s2, {".weight": lambda i: p[i], ".weight_scale": lambda i: grid[i].view(F8),
                 ".weight_scale_2": lambda i: s2[i], ".comfy_quant": lambda i: marker})


def mlx_nvfp4(rng, n):
    p, s, g = fp4(rng, n), e4m3(rng, (n, ROWS, COLS // 16)), second(rng, n) * 2688
    values = np.stack([mlx_float("nvfp4", p[i], s[i], 4, 16, global_scale=mx.array(g[i].numpy())) for i in range(n)])
    return nvfp4("mlx-nvfp4", values, p, s, g, {".weight": lambda i: words(p[i]), ".scales": lambda i: s[i].view(torch.uint8),
                 ".global_scale": lambda i: g[i]}, over=2688, config=mlx_config("nvfp4", 4, 16))


def gguf_nvfp4(rng, n):
    raw = rng.integers(0, 256, (n, ROWS, COLS // 64, 36), dtype=np.uint8)
    s = e4m3(rng, (n, ROWS, COLS // 64, 4)).view(torch.uint8)
    raw[..., :4] = s.numpy()
    q = torch.from_numpy(raw[..., 4:]).reshape(n, ROWS, COLS // 16, 8)
    packed = torch.cat([q & 15, q >> 4], dim=-1).reshape(n, ROWS, COLS // 2, 2)
    source = of_blocks(raw.reshape(n, ROWS, -1), gguf.GGMLQuantizationType.NVFP4, "BF16", 16)
    source.parts = Parts(packed[..., 0] | packed[..., 1] << 4, s.view(F8).reshape(n, ROWS, -1), torch.ones(n))
    return source


# --- E and F: integers

def ct_int4(kind, group, asymmetric=False, bits=4):
    def make(rng, n):
        half = 1 << (bits - 1)
        q, s = codes(rng, n, -half, half - 1), scales(rng, (n, ROWS, COLS // group), kind, not asymmetric)
        z = zero_points(rng, (n, ROWS, COLS // group), -half, half - 1)
        how = ct_scheme(num_bits=bits, type="int", strategy="group", group_size=group, symmetric=not asymmetric)
        packed = [pack_to_int32(torch.from_numpy(q[i]).to(torch.int8), bits) for i in range(n)]
        zeros = [pack_to_int32(torch.from_numpy(z[i]).to(torch.int8), bits, packed_dim=0).contiguous() for i in range(n)]
        shape = torch.tensor([ROWS, COLS])
        values = [PackedQuantizationCompressor.decompress(
            {"weight_packed": packed[i], "weight_scale": s[i].float(), "weight_shape": shape} | ({"weight_zero_point": zeros[i]}
                                                                                                 if asymmetric else {}), how)["weight"]
                  for i in range(n)]
        parts = {".weight_packed": lambda i: packed[i], ".weight_scale": lambda i: s[i], ".weight_shape": lambda i: shape.clone()}
        if asymmetric:
            parts[".weight_zero_point"] = lambda i: zeros[i]
        real = q - z.repeat(group, axis=2) if asymmetric else q
        return of_modules(f"ct-int{bits}-{kind}-g{group}{'-asym' * asymmetric}", n, np.stack([dense(v) for v in values]), parts, kind, group,
                          real=real * s.double().numpy().repeat(group, axis=2),
                          config=ct_config("pack-quantized", num_bits=bits, group_size=group, symmetric=not asymmetric))
    return make


def zero_points(rng, shape, low, high):
    """[n, ...]: any, all in the middle, near the middle."""
    out, middle = rng.integers(low, high + 1, shape), (low + high + 1) // 2
    for i in range(shape[0]):
        how = rng.integers(0, 4)
        if how == 0:
            out[i] = middle
        elif how == 1:
            out[i] = rng.integers(max(low, middle - 2), min(high, middle + 2) + 1, shape[1:])
    return out


def int8_rows(kind, asymmetric=False):
    def make(rng, n):
        q, s = codes(rng, n, -128, 127), scales(rng, (n, ROWS, 1), kind, not asymmetric)
        z = zero_points(rng, (n, ROWS, 1), -128, 127)
        how = ct_scheme(num_bits=8, type="int", strategy="channel", symmetric=not asymmetric)
        more = [{"weight_zero_point": torch.from_numpy(z[i]).to(torch.int8)} if asymmetric else {} for i in range(n)]
        codes_of = [torch.from_numpy(q[i]).to(torch.int8) for i in range(n)]
        values = [NaiveQuantizationCompressor.decompress({"weight": codes_of[i], "weight_scale": s[i].float()} | more[i], how)["weight"]
                  for i in range(n)]
        parts = {".weight": lambda i: codes_of[i], ".weight_scale": lambda i: s[i]}
        if asymmetric:
            parts[".weight_zero_point"] = lambda i: more[i]["weight_zero_point"]
        real = (q - z if asymmetric else q) * s.double().numpy()
        return of_modules(f"ct-int8-{kind}{'-asym' * asymmetric}", n, np.stack([dense(v) for v in values]), parts, kind, real=real,
                          config=ct_config("int-quantized", num_bits=8, strategy="channel", symmetric=not asymmetric))
    return make


def bnb_int8(rng, n):
    """Rows that bitsandbytes quantized, and any codes with any row maxima."""
    q, scb = np.empty((n, ROWS, COLS), dtype=np.int8), np.empty((n, ROWS), dtype=np.float32)
    any_codes, any_most = codes(rng, n, -127, 127), scales(rng, (n, ROWS), "F32", False).numpy() * np.float32(127)
    for i in range(n):
        q[i], scb[i] = (x.numpy() for x in bnb.int8_vectorwise_quant(torch.from_numpy(rng.normal(size=(ROWS, COLS)) * 0.05).half())[:2])
        if rng.random() < 0.6:
            q[i], scb[i] = any_codes[i], any_most[i]
    q, scb = torch.from_numpy(q), torch.from_numpy(scb)
    values = np.stack([dense(bnb.int8_vectorwise_dequant(q[i], scb[i])) for i in range(n)])
    return of_modules("bnb-int8", n, values, {".weight": lambda i: q[i], ".SCB": lambda i: scb[i], ".weight_format":
                      lambda i: torch.tensor(0, dtype=torch.uint8)}, "F32", config={"model_type": "llama", "quantization_config": {
                          "quant_method": "bitsandbytes", "load_in_8bit": True}})


def product(raw, kind, at, parts):
    """What the library multiplies by one of the factors, times that."""
    block = gguf.GGML_QUANT_SIZES[kind][0]
    factor = raw[..., at:at + 2].copy().view(np.float16).astype(np.float64)
    one = raw.copy()
    for other in parts:
        one[..., other:other + 2] = np.array([other == at], dtype=np.float16).view(np.uint8)
    values = gguf.quants.dequantize(one.reshape(len(raw) * ROWS, -1), kind)
    return values.astype(np.float64) * factor.repeat(block, axis=2).reshape(values.shape)


def with_factors(kind, parts, scale="F16", group=32, negative=True):
    """GGUF blocks that gguf-py quantized, or with any codes, whose F16 factors at these bytes are usual and awkward ones."""
    def make(rng, n):
        block, size = gguf.GGML_QUANT_SIZES[kind]
        cols, always = max(COLS, 2 * block), False
        try:
            raw = gguf.quants.quantize(rng.normal(size=(n * ROWS, cols)).astype(np.float32) * 0.05, kind)
        except NotImplementedError:
            raw, always = rng.integers(0, 256, (n * ROWS, cols // block * size), dtype=np.uint8), True
        raw = raw.reshape(n, ROWS, cols // block, size).copy()
        for at in parts:
            factors = scales(rng, (n, ROWS, cols // block), "F16", negative).numpy()
            some = (rng.random(n) < 0.7) | always
            raw[some, ..., at:at + 2] = factors[some][..., None].view(np.uint8)
        source = of_blocks(raw.reshape(n, ROWS, -1), kind, scale, group)
        if len(parts) == 2:                     # q * d + m or q * d - m, whose sum may be rounded
            source.real = sum(product(raw, kind, at, parts).reshape(source.values.shape) for at in parts)
        return source
    return make


def awq(rng, n, group=32):
    """AutoAWQ's packing of usual weights; rows are a multiple of 8 codes in a word."""
    packages("awq", "awq.modules", "awq.modules.linear", "awq.utils")
    from awq.modules.linear.gemm import WQLinear_GEMM
    from awq.utils.packing_utils import dequantize_gemm
    rows, source = 32, Source("autoawq", np.empty((n, 32, COLS), dtype=np.float32), [module(i) + ".weight" for i in range(n)], "F16", group)
    source.config = {"model_type": "llama", "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": group,
                                                                    "zero_point": True, "version": "gemm"}}
    for i in range(n):
        q, z = rng.integers(0, 16, (rows, COLS)), rng.integers(0, 16, (rows, COLS // group))
        s = (rng.random((rows, COLS // group)) * 0.01 + 1e-3).astype(np.float16)
        linear = torch.nn.Linear(COLS, rows, bias=False)
        spread = (q - z.repeat(group, 1)) * s.astype(np.float32).repeat(group, 1)
        linear.weight.data = torch.from_numpy(spread.astype(np.float32))
        packed = WQLinear_GEMM.from_linear(linear, 4, group, scales=torch.from_numpy(s).T, zeros=torch.from_numpy(z).T)
        parts = {"qweight": packed.qweight, "qzeros": packed.qzeros, "scales": packed.scales}
        source.values[i] = dense(dequantize_gemm(packed.qweight, packed.qzeros, packed.scales.float(), 4, group).T)
        source.tensors |= {module(i) + "." + key: t for key, t in parts.items()}
    source.real = source.values.astype(np.float64)
    return source


def packages(*names):
    """Makes packages importable without their __init__, which requires CUDA."""
    for package in names:
        parent, _, last = package.rpartition(".")
        module_ = types.ModuleType(package)
        module_.__path__ = ([os.path.join(path, last) for path in sys.modules[parent].__path__] if parent
                            else list(importlib.util.find_spec(package).submodule_search_locations))
        sys.modules.setdefault(package, module_)


def gptq(group, symmetric, form="gptq"):
    """GPTQModel's packing of any codes; its layer decodes them with scales of F32, so that nothing is rounded. Its version 1 takes 1 off
    the zero points, of which 0 does not come back."""
    def make(rng, n):
        from gptqmodel.nn_modules.qlinear.torch import TorchLinear
        from gptqmodel.quantization import QuantizeConfig
        from gptqmodel.utils.backend import BACKEND
        from gptqmodel.utils.model import convert_gptq_v1_to_v2_format_module, convert_gptq_v2_to_v1_format_module
        logging.getLogger("gguf").setLevel(logging.WARNING)             # the import has changed that
        how = QuantizeConfig(bits=4, group_size=group, sym=symmetric, desc_act=False, format=form)
        new = lambda: TorchLinear(bits=4, group_size=group, sym=symmetric, desc_act=False, in_features=COLS, out_features=ROWS, bias=False,
                                  pack_dtype=torch.int32, register_buffers=True, backend=BACKEND.AUTO, format=form)
        shape = (n, ROWS, COLS // group)
        q, s, step = codes(rng, n, 0, 15), scales(rng, shape, "F16"), 2.0 ** -8
        z = np.full(shape, 8) if symmetric else zero_points(rng, shape, 1 if form == "gptq" else 0, 15)
        steps = q - z.repeat(group, axis=2)
        source = Source(f"gptqmodel-{form}-g{group}{'-asym' * (not symmetric)}", np.empty((n, ROWS, COLS), dtype=np.float32),
                        [module(i) + ".weight" for i in range(n)], "F16", group, steps * s.double().numpy().repeat(group, axis=2))
        source.config = {"model_type": "llama", "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": group, "sym":
                                                                        symmetric, "desc_act": False, "checkpoint_format": form}}
        for i in range(n):
            linear, layer = torch.nn.Linear(COLS, ROWS, bias=False), new()
            linear.weight.data = torch.from_numpy(steps[i] * step).float()
            layer.pack_original(linear, torch.full(shape[1:], step), torch.from_numpy(z[i]).float(), (torch.arange(COLS) // group).to(torch.int32))
            if form == "gptq":
                convert_gptq_v2_to_v1_format_module(layer, how)
            parts = {key: getattr(layer, key).clone() for key in ("qweight", "qzeros", "g_idx")} | {"scales": s[i].T.contiguous()}
            source.tensors |= {module(i) + "." + key: t for key, t in parts.items()}
            layer = new()
            for key, t in parts.items():
                layer.register_buffer(key, t.float() if key == "scales" else t.clone())
            if form == "gptq":
                convert_gptq_v1_to_v2_format_module(layer, 4, torch.int32)
            layer.enable_wf_unsqueeze = True
            source.values[i] = dense(layer.dequantize_weight().T)
        return source
    return make


# --- G: MLX affine

def mlx_affine(bits, kind, group):
    def make(rng, n):
        w = mx.array(rng.normal(size=(n * ROWS, COLS)).astype(np.float32) * 0.05).astype(MLX[kind])
        q, s, b = mx.quantize(w, group_size=group, bits=bits)
        s, b = np.array(s.astype(mx.float32)).reshape(n, ROWS, -1), np.array(b.astype(mx.float32)).reshape(n, ROWS, -1)
        some = rng.random(n) < 0.6
        own = scales(rng, s.shape, kind).float().numpy()
        if kind == "F16":                   # products stay finite
            own = np.clip(own, -2.0 ** (14 - bits), 2.0 ** (14 - bits))
        s[some] = own[some]
        times = rng.integers(-(1 << bits), 1, s.shape) * s
        b[some] = torch.from_numpy(times).to(TORCH[kind]).float().numpy()[some]
        arrays = [mx.array(x.reshape(n * ROWS, -1)).astype(MLX[kind]) for x in (s, b)]
        values = mx.dequantize(q, *arrays, group_size=group, bits=bits)
        ones = mx.ones(arrays[0].shape, dtype=mx.float32)
        steps = np.array(mx.dequantize(q, ones, mx.zeros(ones.shape, dtype=mx.float32), group_size=group, bits=bits))
        real = steps.reshape(n, ROWS, COLS) * s.astype(np.float64).repeat(group, 2) + b.astype(np.float64).repeat(group, 2)
        q = torch.from_numpy(np.array(q)).reshape(n, ROWS, -1)
        to = lambda x: torch.from_numpy(x).to(TORCH[kind])
        return of_modules(f"mlx-{bits}bit-{kind}-g{group}", n, np.array(values.astype(mx.float32)).reshape(n, ROWS, COLS), {
            ".weight": lambda i: q[i], ".scales": lambda i: to(s[i]), ".biases": lambda i: to(b[i])}, kind, group, real=real,
            config=mlx_config("affine", bits, group))
    return make


# --- J: NF4

def nf4(nested):
    def make(rng, n):
        s = Source("bnb-nf4" + "-nested" * nested, np.empty((n, 32, COLS), dtype=np.float32), [module(i) + ".weight" for i in range(n)], "F32",
                   64)
        for i in range(n):
            w = torch.from_numpy(rng.normal(size=(32, COLS)).astype(np.float32) * 0.05)
            q, state = bnb.quantize_4bit(w, blocksize=64, quant_type="nf4", compress_statistics=nested, quant_storage=torch.uint8)
            if not nested and rng.random() < 0.6:
                state.absmax = scales(rng, (1, *state.absmax.shape), "F32", False)[0]
            s.values[i] = bnb.dequantize_4bit(q, state).numpy()
            s.tensors[s.names[i]] = q
            s.tensors |= {s.names[i] + "." + k: v for k, v in state.as_dict(packed=True).items()}
        s.real = s.values.astype(np.float64)
        return s
    return make


# --- L: dense copies

def copy(make, kind):
    """The values of another source, rounded to a type; rows and columns are at least 32."""
    def made(rng, n):
        of = make(rng, max(n // 4 * 4, 4) * (32 // ROWS))
        values = torch.from_numpy(of.values).clamp(-60000, 60000) if kind == "F16" else torch.from_numpy(of.values)
        rows = of.values.shape[1]
        values = values.reshape(-1, 32, of.values.shape[2]).to(TORCH[kind])
        s = Source(f"{kind} of {of.maker}", dense(values), [module(i) + ".weight" for i in range(len(values))], kind)
        assert 32 % rows == 0
        s.tensors = {name: values[i].clone() for i, name in enumerate(s.names)}
        return s
    return made
