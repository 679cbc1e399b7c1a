#!/usr/bin/env python3
r"""make-integers-corpus.py CORPUS OLD: write CORPUS/safetensors-good/{autoawq,autoround,ct,modelopt,quark}-* and
CORPUS/manifest-integers.ndjson.

Small models of AWQ, compressed-tensors, ModelOpt and Quark, with integer codes of awkward shapes, packed by the code of
these libraries, and the SHA-256 of the dense BF16 weights. Where a library decodes what it packs, its own decoder says
what is expected, on F32 scales, so that nothing is rounded before the end; where only a GPU kernel of it does (AWQ GEMV
and GEMV_FAST, ModelOpt, Quark), the codes that were packed do, with the formula of that kernel.

Run by hand when a case is added, in the environment of requirements.txt with these beside it, whose other requirements
are not looked at by what is imported here; OLD is a folder with the release of compressed-tensors that padded words and
knew g_idx:

    pip install --no-deps --no-build-isolation autoawq==0.2.9 auto-round==0.16.1 amd-quark==0.13
    pip install --no-deps nvidia-modelopt==0.47.0 omegaconf antlr4-python3-runtime==4.9.3 pulp nvidia-ml-py onnx scipy
    pip install --no-deps --target OLD compressed-tensors==0.11.0 frozendict
    python test/peers/make-integers-corpus.py test/corpus OLD
"""
import os
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file

from corpus import Corpus, expectation, without_init

MODULE = "model.layers.0.mlp.up_proj"


def release(package, version):
    return f"{package} {version}, torch {torch.__version__.split('+')[0]}"


class Writer:
    def __init__(self, corpus, by):
        self.corpus, self.by = corpus, by

    def add(self, name, parts, dense, note, config=None, config_name="config.json", plain=None):
        """One model: parts {suffix: tensor} of modules {module: ...}, and their dense weights in F32."""
        plain = {"model.norm.weight": torch.ones(8, dtype=torch.bfloat16)} | (plain or {})
        stored = {f"{module}.{suffix}": t.contiguous() for module, p in parts.items() for suffix, t in p.items()} | plain
        tensors = [expectation(f"{module}.weight", t.to(torch.bfloat16)) for module, t in dense.items()]
        tensors += [expectation(key, t) for key, t in plain.items()]
        self.corpus.add(name, stored, tensors, self.by, note, config, config_name)

    def one(self, name, parts, dense, note, **rest):
        self.add(name, {MODULE: parts}, {MODULE: dense}, note, **rest)


# Scales that reveal an extra rounding, a flush to zero or a wrong NaN.
def edges(scales):
    table = torch.tensor([0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0x7C00, -0x400, 0x7E00, 0x3C01],
                         dtype=torch.int32).to(torch.int16).view(torch.float16).to(scales.dtype)
    flat = scales.reshape(-1)
    flat[:len(table)] = table
    return flat.reshape(scales.shape)


# --- AWQ

def awq_numbers(n_in, n_out, group, dtype=torch.float16, symmetric=False):
    """Codes [out, in], and scales and zero points [out, groups]."""
    groups = n_in // group
    codes = torch.randint(0, 16, (n_out, n_in))
    scales = (torch.rand(n_out, groups) * 0.01 + 1e-3).to(dtype)
    zeros = torch.full((n_out, groups), 8) if symmetric else torch.randint(0, 16, (n_out, groups))
    return codes, scales, zeros


def awq_linear(codes, scales, zeros, group):
    linear = torch.nn.Linear(codes.shape[1], codes.shape[0], bias=False)
    spread = lambda t: t.float().repeat_interleave(group, dim=1)
    linear.weight.data = (codes - spread(zeros)) * spread(scales)
    return linear


def autoawq(corpus):
    without_init("awq", "awq.modules", "awq.modules.linear", "awq.utils")
    from awq.modules.linear.gemm import WQLinear_GEMM
    from awq.modules.linear.gemv import WQLinear_GEMV
    from awq.modules.linear.gemv_fast import WQLinear_GEMVFast
    from awq.utils.packing_utils import dequantize_gemm

    w = Writer(corpus, release("AutoAWQ", "0.2.9"))

    def config(group, **more):
        return {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": True} | more}

    def gemm(name, n_in, n_out, group, note, dtype=torch.float16, change=lambda s: s, zeros=True, **rest):
        codes, scales, z = awq_numbers(n_in, n_out, group, symmetric=not zeros)
        packed = WQLinear_GEMM.from_linear(awq_linear(codes, scales, z, group), 4, group, scales=scales.T, zeros=z.T)
        scales = change(packed.scales.to(dtype))
        dense = dequantize_gemm(packed.qweight, packed.qzeros, scales.float(), 4, group).T
        parts = {"qweight": packed.qweight, "scales": scales} | ({"qzeros": packed.qzeros} if zeros else {})
        w.one("autoawq-gemm-" + name, parts, dense, note, **rest)

    gemm("g32", 96, 32, 32, "groups of 32", plain={MODULE + ".bias": torch.randn(32).half()})
    gemm("g128-tall", 128, 160, 128, "one group, 160 output rows: no multiple of 64")
    gemm("g16-wide", 208, 32, 16, "13 groups of 16")
    gemm("g40", 120, 32, 40, "groups of 40")
    gemm("bf16", 64, 32, 32, "BF16 scales, as GPTQModel writes them", dtype=torch.bfloat16)
    gemm("f32", 64, 32, 32, "F32 scales", dtype=torch.float32)
    gemm("edges", 64, 32, 32, "zero, subnormal, largest, infinite and NaN scales", change=edges)
    gemm("no-zeros", 64, 32, 32, "no qzeros, which zero_point false says", zeros=False, config=config(32, zero_point=False))

    def gemv(name, n_in, n_out, group, note, **rest):
        codes, scales, z = awq_numbers(n_in, n_out, group)
        linear = awq_linear(codes, scales, z, group)
        packed = WQLinear_GEMV.from_linear(linear, 4, group, scales=scales, zeros=z)
        parts = {"qweight": packed.qweight, "scales": packed.scales, "qzeros": packed.qzeros}
        w.one("autoawq-gemv-" + name, parts, linear.weight.data, note, **rest)

    gemv("g64", 1024, 8, 64, "16 groups of 64, which nothing else fits")
    gemv("g32-padded", 96, 16, 32, "3 groups of 32, padded to 32")
    gemv("g128", 512, 8, 128, "4 groups of 128 padded to 8: config.json tells them from 256 and 512",
         config=config(128, version="gemv"))
    gemv("like-gptq", 256, 16, 32, "shapes of GPTQ in groups of 8, too: config.json tells", config=config(32, version="gemv"))

    def fast(name, n_in, n_out, group, note, zeros="qzeros", **rest):
        codes, scales, z = awq_numbers(n_in, n_out, group)
        packed = WQLinear_GEMVFast.from_linear(awq_linear(codes, scales, z, group), 4, group, scales=scales, zeros=z)
        spread = lambda t: t.float()[:n_in // group].repeat_interleave(group, dim=0).T
        dense = codes * spread(packed.scales) + spread(packed.qzeros)
        parts = {"qweight": packed.qweight, "scales": packed.scales, zeros: packed.qzeros}
        w.one("autoawq-fast-" + name, parts, dense, note, **rest)

    fast("g64", 1024, 8, 64, "16 groups of 64, which nothing else fits")
    fast("g32-padded", 192, 24, 32, "6 groups of 32, padded to 32")
    fast("llm-awq", 512, 8, 128, "llm-awq: scaled_zeros, and the group in quant_config.json", zeros="scaled_zeros",
         config={"w_bit": 4, "q_group_size": 128, "zero_point": True, "version": "gemv_fast"}, config_name="quant_config.json")


# --- AutoRound: AWQ and GPTQ of other widths

def autoround(corpus):
    without_init("auto_round", "auto_round.utils")
    from auto_round.utils import bit_packing as packing

    w = Writer(corpus, release("AutoRound", "0.16.1"))

    def config(bits, form, **more):
        return {"quantization_config": {"quant_method": "auto-round", "bits": bits, "group_size": 32, "sym": False,
                                        "packing_format": form} | more}

    def numbers(bits, n_in, n_out):
        groups = n_in // 32
        return (torch.randint(0, 1 << bits, (n_in, n_out)), torch.randint(1, 1 << bits, (groups, n_out)),
                (torch.rand(groups, n_out) * 0.01 + 1e-3).half())

    def dense_of(codes, zeros, scales):
        spread = lambda t: t.repeat_interleave(32, dim=0)
        return ((codes - spread(zeros)) * spread(scales.float())).T

    for bits in 4, 5, 6, 7:
        codes, zeros, scales = numbers(bits, 96, 32)
        parts = {"qweight": packing.pack_awq_bitstream(codes, bits, dim=1), "scales": scales,
                 "qzeros": packing.pack_awq_bitstream(zeros, bits, dim=1)}
        dense = dense_of(packing.unpack_awq_bitstream(parts["qweight"], bits, dim=1),
                         packing.unpack_awq_bitstream(parts["qzeros"], bits, dim=1), scales)
        w.one(f"autoround-awq-{bits}bit", parts, dense, f"auto_round:auto_awq of {bits} bits",
              config=config(bits, "auto_round:auto_awq"))
    for bits, form, v1 in (5, "auto_round:auto_gptq", 1), (6, "auto_round", 0), (7, "auto_round:gptqmodel", 0), (3, "auto_round", 0):
        codes, zeros, scales = numbers(bits, 96, 32)
        parts = {"qweight": packing.pack_bitstream(codes, bits, dim=0), "scales": scales,
                 "qzeros": packing.pack_bitstream(zeros - v1, bits, dim=1)}
        dense = dense_of(packing.unpack_bitstream(parts["qweight"], bits, dim=0),
                         packing.unpack_bitstream(parts["qzeros"], bits, dim=1) + v1, scales)
        w.one(f"autoround-gptq-{bits}bit", parts, dense, f"{form} of {bits} bits, a stream", config=config(bits, form))


# --- compressed-tensors

def weights(shape):
    return torch.randn(shape) * 0.05


def quantized(args, weight, dtype):
    """Returns scales and zero points of a weight, in the number that the strategy requires, and the arguments of the
    compressors."""
    *stack, rows, cols = weight.shape
    if args.strategy == "tensor":
        shape = (1,)
    elif args.strategy == "channel":
        shape = (*stack, rows, 1)
    elif args.strategy == "group":
        shape = (*stack, rows, cols // args.group_size)
    else:
        shape = (-(-rows // args.block_structure[0]), -(-cols // args.block_structure[1]))
    half = max(1 << (args.num_bits - 1), 2)
    state = {"weight": weight.to(dtype), "weight_scale": (torch.rand(shape) * 0.04 + 0.08).div(half).to(dtype)}
    if not args.symmetric:
        state["weight_zero_point"] = torch.randint(-(1 << (args.num_bits - 1)), 1 << (args.num_bits - 1), shape).to(torch.int8)
    return state


def compressed_tensors(corpus):
    import compressed_tensors
    from compressed_tensors.compressors.naive_quantized import IntQuantizationCompressor
    from compressed_tensors.compressors.pack_quantized import PackedQuantizationCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    w = Writer(corpus, release("compressed-tensors", compressed_tensors.__version__))

    def make(compressor, shape, dtype=torch.bfloat16, change=lambda state: None, **args):
        args = QuantizationArgs(**{"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group"} | args)
        scheme = QuantizationScheme(targets=["Linear"], weights=args)
        state = compressor.compress(quantized(args, weights(shape), dtype), scheme)
        change(state)
        exact = state | {"weight_scale": state["weight_scale"].float()}
        return state, compressor.decompress(exact, scheme)["weight"]

    def config(groups, key="quantization_config", **more):
        return {key: {"quant_method": "compressed-tensors", "config_groups": {
            f"group_{i}": {"targets": targets, "weights": said} for i, (targets, said) in enumerate(groups)}} | more}

    def packed(name, shape, note, config=None, **args):
        state, dense = make(PackedQuantizationCompressor, shape, **args)
        w.one("ct-stream-" + name, state, dense, note, config=config)

    for bits in range(1, 9):
        packed(f"w{bits}-asym", (24, 96), f"{bits} bits, groups of 32, packed zero points", num_bits=bits, group_size=32,
               symmetric=False)
    for bits in 1, 5, 6, 7:
        packed(f"w{bits}-sym", (16, 64), f"{bits} bits, groups of 16, symmetric", num_bits=bits, group_size=16)
    packed("w4-channel-asym", (19, 70), "a scale and a zero point a row, 19 rows of 70", strategy="channel", symmetric=False)
    packed("w3-channel-asym", (37, 67), "3 bits; 37 rows of zero points cross words", strategy="channel", symmetric=False,
           num_bits=3)
    packed("w4-tensor-asym", (12, 33), "one scale and one I8 zero point", strategy="tensor", symmetric=False)
    packed("w8-block-asym", (40, 72), "blocks of 16x24 with I8 zero points, by config.json", strategy="block",
           block_structure=[16, 24], num_bits=8, symmetric=False,
           config=config([(["Linear"], {"num_bits": 8, "strategy": "block", "block_structure": [16, 24]})]))
    packed("w4-block-32", (64, 96), "blocks of 32x32, which the shapes tell", strategy="block", block_structure=[32, 32])
    packed("w4-experts-asym", (3, 16, 64), "three stacked experts", group_size=32, symmetric=False)
    packed("w5-experts-asym", (3, 13, 64), "three stacked experts of 13 rows, whose zero points cross words", group_size=32,
           symmetric=False, num_bits=5)
    packed("w4-f16", (16, 64), "F16 scales", group_size=32, dtype=torch.float16, change=lambda s: s.update(weight_scale=edges(s["weight_scale"])))
    packed("w4-f32-i32-shape", (16, 64), "F32 scales, and weight_shape of I32", group_size=32, dtype=torch.float32,
           change=lambda s: s.update(weight_shape=s["weight_shape"].int()))
    packed("w4-in-16", (16, 16), "16 columns: 3 bits would take as many words", strategy="channel",
           config=config([(["Linear"], {"num_bits": 4, "strategy": "channel"})]))
    first, dense = make(PackedQuantizationCompressor, (16, 64), group_size=32)
    second, more = make(PackedQuantizationCompressor, (8, 16), num_bits=3, strategy="channel")
    third, last = make(IntQuantizationCompressor, (8, 24), num_bits=8, strategy="channel")
    names = MODULE, "model.layers.0.mlp.down_proj", "model.layers.0.self_attn.o_proj"
    w.add("ct-stream-mixed", dict(zip(names, (first, second, third))), dict(zip(names, (dense, more, last))),
          "mixed-precision: 4 bits, 3 bits whose 16 columns only config.json tells from 4, and INT8",
          config=config([(["Linear"], {"num_bits": 4, "group_size": 32}), (["re:.*down_proj$"], {"num_bits": 3}),
                         ([names[2]], {"num_bits": 8})], format="mixed-precision"))
    state, dense = make(PackedQuantizationCompressor, (8, 16), num_bits=3, strategy="channel")
    w.one("ct-stream-old-key", state, dense, "compression_config, as the key was called; 3 bits or 4 by it",
          config=config([(["Linear"], {"num_bits": 3})], key="compression_config"))

    def plain(name, shape, note, config=None, **args):
        state, dense = make(IntQuantizationCompressor, shape, **{"num_bits": 8} | args)
        w.one("ct-codes-" + name, state, dense, note, config=config)

    plain("channel", (17, 45), "a scale a row", strategy="channel")
    plain("channel-asym", (17, 45), "a scale and a zero point a row", strategy="channel", symmetric=False, dtype=torch.float32)
    plain("tensor-asym", (5, 33), "one scale and one zero point", strategy="tensor", symmetric=False)
    plain("group-asym", (9, 80), "groups of 16", group_size=16, symmetric=False)
    plain("block", (40, 72), "blocks of 16x24, by config.json", strategy="block", block_structure=[16, 24],
          config=config([(["Linear"], {"num_bits": 8, "strategy": "block", "block_structure": [16, 24]})]))
    plain("block-128", (150, 130), "blocks of 128x128, ragged", strategy="block", block_structure=[128, 128])
    plain("w4", (9, 64), "codes of 4 bits in bytes", num_bits=4, group_size=32, symmetric=False)
    plain("experts", (3, 10, 32), "three stacked experts, groups of 8", group_size=8)


def old_part(folder):
    """Uses the release that padded words and supported g_idx: writes FOLDER/NAME.safetensors, and the dense weights next to it."""
    from compressed_tensors.compressors.quantized_compressors.pack_quantized import pack_to_int32, unpack_from_int32
    from compressed_tensors.quantization import QuantizationArgs
    from compressed_tensors.quantization.lifecycle.forward import dequantize, quantize

    def packed(name, bits, rows, cols, group, symmetric=False, order=None, plain_zeros=False):
        args = QuantizationArgs(num_bits=bits, type="int", symmetric=symmetric, strategy="group", group_size=group)
        state = quantized(args, weights((rows, cols)), torch.bfloat16)
        zeros = state.get("weight_zero_point")
        g_idx = None if order is None else order(torch.arange(cols, dtype=torch.int32) // group)
        codes = quantize(state["weight"], state["weight_scale"], zeros, args, dtype=torch.int8, g_idx=g_idx)
        stored = {"weight_packed": pack_to_int32(codes, bits), "weight_scale": state["weight_scale"],
                  "weight_shape": torch.tensor([rows, cols])}
        if g_idx is not None:
            stored["weight_g_idx"] = g_idx
        if zeros is not None:
            stored["weight_zero_point"] = zeros if plain_zeros else pack_to_int32(zeros, bits, packed_dim=0)
        assert torch.equal(unpack_from_int32(stored["weight_packed"], bits, torch.Size((rows, cols))), codes)
        dense = dequantize(codes, state["weight_scale"].float(), zeros, args, g_idx=g_idx)
        save_file({k: t.contiguous() for k, t in stored.items()} | {"dense": dense}, os.path.join(folder, name))

    shuffle = lambda g: g[torch.randperm(len(g))]
    for bits in 3, 5, 6, 7:
        packed(f"w{bits}-asym", bits, 23, 96, 32)
    packed("w7-sym", 7, 8, 64, 16, symmetric=True)
    packed("w4-actorder", 4, 24, 128, 32, order=shuffle)
    packed("w5-actorder", 5, 16, 96, 16, order=shuffle)
    packed("w8-actorder-sym", 8, 12, 64, 16, symmetric=True, order=shuffle)
    packed("w4-unused", 4, 16, 64, 32, order=lambda g: torch.full_like(g, -1))
    packed("w4-ordered", 4, 16, 64, 32, order=lambda g: g)
    packed("w4-i8-zeros", 4, 16, 64, 32, plain_zeros=True)


def old_compressed_tensors(corpus, old):
    notes = {"asym": "words padded, packed zero points", "sym": "words padded, symmetric; 8 bits would take as many",
             "actorder": "g_idx in any order", "actorder-sym": "g_idx in any order, symmetric",
             "unused": "g_idx of -1", "ordered": "g_idx in order", "i8-zeros": "I8 zero points"}
    w = Writer(corpus, release("compressed-tensors", "0.11.0"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join([old, os.environ.get("PYTHONPATH", "")])
        subprocess.run([sys.executable, __file__, "--old", folder], env=os.environ | {"PYTHONPATH": path}, check=True)
        for name in sorted(os.listdir(folder)):
            bits, _, kind = name.partition("-")
            stored = load_file(os.path.join(folder, name))
            dense = stored.pop("dense")
            config = {"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {
                "group_0": {"targets": ["Linear"], "weights": {"num_bits": int(bits[1:])}}}}}
            w.one("ct-padded-" + name, stored, dense, f"{bits[1:]} bits: {notes[kind]}",
                  config=config if bits == "w7" else None)


# --- ModelOpt, Quark

def modelopt(corpus):
    from modelopt.torch.export.quant_utils import to_quantized_weight

    w = Writer(corpus, release("ModelOpt", "0.47.0"))

    def int4(name, shape, group, note, dtype=torch.float32, kind="int4_awq", smooth=None, **more):
        *stack, rows, cols = shape
        codes = torch.randint(-8, 8, shape)
        scale = (torch.rand(*stack, rows, cols // group) * 0.01 + 1e-3).to(dtype)
        exact = codes * scale.float().repeat_interleave(group, dim=-1)
        parts = {"weight": to_quantized_weight(exact, scale.float(), kind, None, group), "weight_scale": scale} | more
        if smooth is not None:
            parts["pre_quant_scale"] = smooth
            exact = exact * smooth.float()
        w.one("modelopt-int4-" + name, parts, exact, note)

    int4("g32", (24, 96), 32, "W4A16_AWQ, groups of 32")
    int4("g16-bf16", (6, 80), 16, "BF16 scales", dtype=torch.bfloat16)
    int4("smooth", (16, 64), 32, "a pre_quant_scale", smooth=(torch.rand(64) + 0.5).bfloat16())
    int4("w4a8", (16, 64), 32, "W4A8_AWQ: weight_scale_2 and input_scale are its kernel's", kind="w4a8_awq",
         weight_scale_2=torch.tensor(0.0123), input_scale=torch.tensor(0.5))
    int4("experts", (3, 10, 48), 16, "three stacked experts")

    def int8(name, smooth, note):
        scale, codes = torch.rand(9) * 1e-3 + 1e-4, torch.randint(-128, 128, (9, 70))
        exact = codes * scale[:, None]
        parts = {"weight": to_quantized_weight(exact, scale, "int8_sq"), "weight_scale": scale,
                 "input_scale": torch.tensor(0.5)}
        if smooth:
            parts["pre_quant_scale"] = torch.rand(70).half() + 0.5
            exact = exact * parts["pre_quant_scale"].float()
        w.one("modelopt-int8-" + name, parts, exact, note)

    int8("channel", False, "W8A8_SQ_PER_CHANNEL: F32 [out]")
    int8("smooth", True, "W8A8_SQ_PER_CHANNEL with a pre_quant_scale of F16")


def quark(corpus):
    without_init("quark", "quark.torch", "quark.torch.utils", "quark.torch.quantization", "quark.torch.quantization.config")
    from quark.torch.utils.pack import Pack_8_bits

    w = Writer(corpus, release("Quark", "0.13"))
    config = {"quantization_config": {"quant_method": "quark"}}

    def int8(name, qscheme, rows, cols, scale_shape, spread, note):
        codes, zeros = torch.randint(-128, 128, (rows, cols)), torch.randint(-5, 6, scale_shape)
        scale = (torch.rand(scale_shape) * 1e-3 + 1e-4).bfloat16()
        pack = Pack_8_bits(qscheme, "int8")
        turn = (lambda t: t.T) if qscheme == "per_group" else lambda t: t
        parts = {"weight": pack.pack(codes, False), "weight_scale": turn(scale), "weight_zero_point": pack.pack(zeros, False)}
        dense = (pack.unpack(parts["weight"], False) - spread(zeros)) * spread(scale.float())
        w.one("quark-int8-" + name, parts, dense, note, config=config)

    int8("tensor", "per_tensor", 7, 40, (), lambda t: t, "one scale and zero point, of rank 0")
    int8("channel", "per_channel", 7, 40, (7,), lambda t: t[:, None], "a scale and a zero point a row, of rank 1")
    int8("group", "per_group", 20, 48, (20, 3), lambda t: t.repeat_interleave(16, dim=1), "groups of 16, turned around")
    int8("group-square", "per_group", 32, 32, (32, 2), lambda t: t.repeat_interleave(16, dim=1), "the same of a square")


def main():
    torch.manual_seed(20)
    if sys.argv[1] == "--old":
        old_part(sys.argv[2])
        return
    corpus = Corpus(sys.argv[1], "manifest-integers.ndjson", "autoawq-", "autoround-", "ct-stream-", "ct-codes-", "ct-padded-",
                    "modelopt-int", "quark-int8-")
    for i, write in enumerate((autoawq, autoround, compressed_tensors, modelopt, quark)):
        torch.manual_seed(i)
        write(corpus)
    old_compressed_tensors(corpus, sys.argv[2])
    corpus.finish()


main()
