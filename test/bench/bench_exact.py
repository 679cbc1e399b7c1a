"""S18: amn-forget --exact against the ordinary encoder of the same target, on the same quantized input."""
import os
import random
import struct
import subprocess

from bench_clock import Command
from bench_inputs import LAYER, MIB, write_safetensors

# Input, target with its options, level.
PAIRS = [("mxfp4", "mxfp4 --to gguf", ""), ("mxfp4", "q5_0", ""), ("mxfp4", "q8_0", ""), ("mxfp4", "q5_1", ""), ("mxfp4", "nvfp4 --to gguf", ""),
         ("mxfp4", "modelopt-mxfp4", ""), ("mxfp4", "mxfp8", ""), ("mxfp4", "modelopt-nvfp4", ""), ("mxfp4", "comfy-nvfp4", ""),
         ("mxfp4", "fp8-ue8m0", ""), ("mxfp4", "fp8", ""), ("mxfp4", "fp8-per-channel", ""), ("mxfp4", "fp8-per-tensor", ""),
         ("mxfp4", "mlx-5bit", "real"),
         ("int4", "q4_0", ""), ("int4", "q5_0", ""), ("int4", "q8_0", ""), ("int4", "q4_1", ""), ("int4", "int4-group --group-size 32", ""),
         ("int4", "gptq --group-size 32", ""), ("int4", "awq --group-size 32", ""), ("int4", "mlx-4bit --group-size 32", "real"),
         ("nvfp4", "nvfp4 --to gguf", "real"), ("nvfp4", "nvfp4 --to gguf", "bf16"), ("nvfp4", "nvfp4 --to safetensors", "bf16"),
         ("nvfp4", "comfy-nvfp4", ""),
         ("int8", "q8_0", ""),
         ("copy of mxfp4", "mxfp4 --to gguf", ""), ("copy of mxfp4", "mxfp8", ""), ("copy of mxfp4", "q8_0", ""),
         ("copy of mxfp4", "fp8-ue8m0", ""), ("copy of int4", "int4-group --group-size 32", "bf16"), ("copy of int4", "q4_0", "bf16"),
         ("copy of int8", "int8-channel", "bf16")]
COPY = "copy of "                               # dequantized to BF16
GOAL = 1.3


def halves(rng, n, low):
    return struct.pack(f"<{n}H", *(low + rng.randrange(0x80) for _ in range(n)))


def parts(kind, rows, cols, rng):
    """Suffix, type, shape and repeated bytes of the tensors of a weight."""
    codes = rng.randbytes(MIB)
    if kind == "mxfp4":
        return [("_packed", "U8", [rows, cols // 2], codes, 0.5),
                ("_scale", "U8", [rows, cols // 32], bytes(118 + rng.randrange(6) for _ in range(MIB)), 1 / 32)]
    if kind == "int4":
        return [("_packed", "I32", [rows, cols // 8], codes, 0.5), ("_scale", "BF16", [rows, cols // 32], halves(rng, MIB // 2, 0x3C00), 1 / 16),
                ("_shape", "I64", [2], struct.pack("<2q", rows, cols), 0)]
    if kind == "nvfp4":
        return [("", "U8", [rows, cols // 2], codes, 0.5),
                ("_scale", "F8_E4M3", [rows, cols // 16], bytes(40 + rng.randrange(80) for _ in range(MIB)), 1 / 16),
                ("_scale_2", "F32", [], struct.pack("<f", 0.0123), 0)]
    if kind == "int8":
        return [("", "I8", [rows, cols], codes, 1), ("_scale", "BF16", [rows, 1], halves(rng, MIB // 2, 0x3C00), 2 / cols)]
    raise ValueError(kind)


def make(path, kind):
    rng = random.Random(28)
    tensors = []
    for name, (rows, cols) in LAYER.items():
        for suffix, dtype, shape, unit, each in parts(kind, rows, cols, rng):
            tensors.append((f"layers.0.{name}.weight{suffix}", dtype, shape, unit, int(each * rows * cols) or len(unit)))
    write_safetensors(path, tensors)


def run(bench):
    if not bench.wants("S18"):
        return
    config = os.path.join(bench.folder, "config.json")
    with open(config, "w") as f:
        f.write('{"quantization_config": {"quant_method": "modelopt"}}')
    made = None
    for kind, target, level in PAIRS:
        if kind != made:
            make(bench.input, kind.removeprefix(COPY))
            made = kind
            if kind.startswith(COPY):
                subprocess.run([bench.remember, "-q", "-o", bench.out, bench.input], check=True)
                os.replace(bench.out, bench.input)
        options = ["-q", "--config", config if kind == "nvfp4" else "none", "--scheme", *target.split()]
        exact = Command([bench.forget, "--exact" + (level and "=" + level), *options, "-o", bench.new, bench.input], new=bench.new)
        other = Command([bench.forget, *options, "-o", bench.new, bench.input], new=bench.new)
        bench.table.row(f"S18 {kind} -> {target}", exact, other, GOAL, bench.touch)
