"""peer_forget_groups.py BIN FOLDER: compare amn-forget's groups and blocks of columns with compressed-tensors, MLX and
comfy-kitchen: codes, scales, zero points and their packing, of random weights and of awkward ones, and their decoded values."""
import dataclasses
import json
import subprocess

import mlx.core as mx
import numpy as np
import torch
from comfy_kitchen.tensor.fp8 import TensorCoreFP8Layout
from comfy_kitchen.tensor.int8 import TensorWiseINT8Layout
from comfy_kitchen.tensor.mxfp8 import TensorCoreMXFP8Layout
from comfy_kitchen.tensor.nvfp4 import TensorCoreNVFP4Layout
from compressed_tensors.compressors.mxfp4.base import MXFP4PackedCompressor
from compressed_tensors.compressors.mxfp8.base import MXFP8QuantizationCompressor
from compressed_tensors.compressors.naive_quantized.base import NaiveQuantizationCompressor
from compressed_tensors.compressors.nvfp4.base import NVFP4PackedCompressor
from compressed_tensors.compressors.pack_quantized.base import PackedQuantizationCompressor
from compressed_tensors.quantization import preset_name_to_scheme
from compressed_tensors.quantization.utils.helpers import calculate_qparams, generate_gparam
from safetensors.torch import save_file

from peers import Tally, Tools, load, same_bits

DTYPES = torch.bfloat16, torch.float16, torch.float32
ROWS, COLS = 96, 512


# --- weights

def awkward(dtype, rng):
    """Returns one row of each kind that is difficult for encoders, among random ones."""
    x = torch.randn(ROWS, COLS, generator=rng) * 0.05
    x[0] = 0
    x[1] = -0.0
    x[2] = x[2].abs()
    x[3] = -x[3].abs()
    x[4] = 0.25                                         # constant
    x[5, ::7] = 3                                       # outliers
    x[6] = torch.arange(COLS) % 16 - 7.5                # ties
    x[7] = (torch.arange(COLS) % 64 - 32) / 8
    x[8] *= 1e-4
    x[9, :COLS // 2] = 0
    x[10] = torch.exp2(-torch.randint(0, 12, (COLS,), generator=rng).float())      # powers of two
    x[11] = 1 + torch.rand(COLS, generator=rng) * 1e-3
    x[12, 1:] = 0                                       # one value
    x[13] = torch.where(torch.arange(COLS) % 2 == 0, x[13], -0.0)
    return x.to(dtype)


def extremes(dtype, rng):
    """Magnitudes up to the limits of the type."""
    x = torch.randn(ROWS, COLS, generator=rng)
    info = torch.finfo(dtype)
    low, high = int(np.log2(info.tiny)), int(np.log2(info.max))
    for i in range(ROWS):
        x[i] = (x[i].double() * 2.0 ** (low + 8 + (high - low - 16) * i / ROWS)).float()
    return x.to(dtype)


def weights(dtype, rng):
    yield "random", (torch.randn(ROWS, COLS, generator=rng) * 0.02).to(dtype)
    yield "awkward", awkward(dtype, rng)
    yield "large", (torch.randn(64, 256, generator=rng) * 40).to(dtype)
    yield "tiny", (torch.randn(64, 256, generator=rng) * 2e-6).to(dtype)
    yield "heavy", torch.randn(160, 640, generator=rng).pow(5).clamp(-3e4, 3e4).to(dtype)
    yield "extremes", extremes(dtype, rng)


# --- compressed-tensors: (format, stored, decoded)

COMPRESSORS = {"int-quantized": NaiveQuantizationCompressor, "pack-quantized": PackedQuantizationCompressor,
               "mxfp4-pack-quantized": MXFP4PackedCompressor, "mxfp8-quantized": MXFP8QuantizationCompressor,
               "nvfp4-pack-quantized": NVFP4PackedCompressor}
PRESETS = {"int-quantized": "W8A8", "pack-quantized": "W4A16", "mxfp4-pack-quantized": "MXFP4A16",
           "mxfp8-quantized": "MXFP8A16", "nvfp4-pack-quantized": "NVFP4A16"}


def ct_scheme(form, group=None, symmetric=True):
    scheme = preset_name_to_scheme(PRESETS[form], ["Linear"])
    weights = scheme.weights.model_copy(update={"symmetric": symmetric})
    if group:
        weights = weights.model_copy(update={"group_size": group})
    return scheme.model_copy(update={"weights": weights})


def ct(w, form, scheme):
    args = scheme.weights
    grouped = w.unflatten(-1, (-1, args.group_size)) if args.group_size else w.unsqueeze(1)
    extra = {}
    if form == "nvfp4-pack-quantized":
        extra["weight_global_scale"] = generate_gparam(w.min(), w.max())
    scale, zero = calculate_qparams(grouped.amin(-1), grouped.amax(-1), args, extra.get("weight_global_scale"))
    state = {"weight": w, "weight_scale": scale, "weight_zero_point": zero} | extra
    if form in ("int-quantized", "pack-quantized"):
        state["weight_zero_point"] = zero.to(torch.int8)
    stored = COMPRESSORS[form].compress(state, scheme)
    if args.symmetric:
        stored.pop("weight_zero_point", None)
    return stored, COMPRESSORS[form].decompress(dict(stored), scheme)["weight"]


# --- MLX

MLX = {torch.bfloat16: mx.bfloat16, torch.float16: mx.float16, torch.float32: mx.float32}


def to_torch(array, dtype):
    return torch.from_numpy(np.array(array.astype(mx.float32))).to(dtype)


def mlx(w, bits, group):
    array = mx.array(w.float().numpy()).astype(MLX[w.dtype])
    codes, scales, biases = mx.quantize(array, group_size=group, bits=bits)
    back = mx.dequantize(codes, scales, biases, group_size=group, bits=bits)
    return ({"weight": torch.from_numpy(np.array(codes)), "scales": to_torch(scales, w.dtype),
             "biases": to_torch(biases, w.dtype)}, to_torch(back, w.dtype))


# --- ComfyUI

def marker(**what):
    return torch.tensor(list(json.dumps(what).encode()), dtype=torch.uint8)


def comfy(layout, w, marked, **how):
    """Decodes to F32, because the library would round scales to the type of the model."""
    codes, params = layout.quantize(w.clone(), **how)
    stored = {f"weight{key}": value for key, value in layout.state_dict_tensors(codes, params).items()}
    back = layout.dequantize(codes, dataclasses.replace(params, orig_dtype=torch.float32))
    return stored | {"comfy_quant": marker(**marked)}, back


# --- the comparison

class Forget:
    def __init__(self, tally, tools):
        self.tally, self.tools = tally, tools

    def run(self, what, scheme, w, *options):
        source, out = self.tools.path("in.safetensors"), self.tools.path("out.safetensors")
        save_file({"m.weight": w}, source)
        command = [f"{self.tools.bin}/amn-forget", "-q", "--to", "safetensors", "--scheme", scheme, *options, "-o", out,
                   source]
        if not self.tally.check(subprocess.run(command, check=False).returncode == 0, f"{what}: runs"):
            return None
        return load(out)[0]

    def same(self, what, got, stored):
        self.tally.check(set(got) == {f"m.{name}" for name in stored}, f"{what}: names {sorted(got)}")
        for name, want in stored.items():
            value = got.get(f"m.{name}")
            if want.dtype == torch.uint32 and value is not None:
                value, want = value.view(torch.int32), want.view(torch.int32)
            ok = self.tally.check(same_bits(value, want), f"{what}: {name}")
            if not ok and value is not None and value.shape == want.shape and value.dtype == want.dtype:
                a, b = (t.contiguous().reshape(-1).view(torch.uint8) for t in (value, want))
                print(f"    {int((a != b).sum())} of {a.numel()} bytes differ")

    def decodes(self, what, back):
        """Returns the values of the output according to amn-remember."""
        out = self.tools.path("out.safetensors")
        to = {torch.bfloat16: "bf16", torch.float16: "f16"}.get(back.dtype, "f32")
        for how, path in self.tools.remember(out, "--to", to, "--config", "none"):
            got = load(path)[0].get("m.weight") if path else None
            self.tally.check(same_bits(got, back), f"{what}: remembered, {how}")

    def compare(self, what, scheme, w, stored, back, *options):
        got = self.run(what, scheme, w, *options)
        if got is None:
            return
        self.same(what, got, stored)
        if back is not None:
            self.decodes(what, back)


def of_compressed_tensors(forget, name, w):
    for form, scheme, options in (
            ("int-quantized", "int8-channel", ()), ("int-quantized", "int8-channel", ("--asymmetric",)),
            ("pack-quantized", "int4-group", ()), ("pack-quantized", "int4-group", ("--asymmetric",)),
            ("pack-quantized", "int4-group", ("--group-size", "32")),
            ("pack-quantized", "int4-group", ("--group-size", "64", "--asymmetric")),
            ("mxfp4-pack-quantized", "mxfp4", ()), ("mxfp8-quantized", "mxfp8", ()),
            ("nvfp4-pack-quantized", "nvfp4", ())):
        group = int(options[1]) if "--group-size" in options else None
        rule = ct_scheme(form, group, "--asymmetric" not in options)
        stored, back = ct(w, form, rule)
        forget.compare(f"{scheme} {' '.join(options)}, {name}", scheme, w, stored, back, *options)


def of_mlx(forget, name, w):
    for bits in (2, 3, 4, 5, 6, 8):
        for group in (64, 32, 128):
            stored, back = mlx(w, bits, group)
            options = () if group == 64 else ("--group-size", str(group))
            # without a config the group is a guess
            told = group == 64 and bits in (3, 4, 5, 6, 8)
            forget.compare(f"mlx-{bits}bit {group}, {name}", f"mlx-{bits}bit", w, stored, back if told else None,
                           *options)


def of_comfy(forget, name, w):
    scale = w.abs().max() / 448
    if (1 / scale.float()).to(w.dtype).isfinite():      # otherwise the library writes 448 or NaN
        forget.compare(f"comfy-fp8, {name}", "comfy-fp8", w,
                       *comfy(TensorCoreFP8Layout, w, {"format": "float8_e4m3fn"}))
    forget.compare(f"comfy-int8, {name}", "comfy-int8", w,
                   *comfy(TensorWiseINT8Layout, w, {"format": "int8_tensorwise"}, per_channel=True))
    forget.compare(f"comfy-mxfp8, {name}", "comfy-mxfp8", w, *comfy(TensorCoreMXFP8Layout, w, {"format": "mxfp8"}))
    if w.abs().max() / 2688 != 0:                       # otherwise it writes zeros
        forget.compare(f"comfy-nvfp4, {name}", "comfy-nvfp4", w,
                       *comfy(TensorCoreNVFP4Layout, w, {"format": "nvfp4"}))


def of_convrot(forget, rng):
    """Sums of integers are exact, in whatever order the library adds."""
    for dtype in DTYPES:
        for group in (4, 16, 64, 256):
            w = torch.randint(-63, 64, (64, 512), generator=rng).to(dtype) / 64
            parts, _ = comfy(TensorWiseINT8Layout, w, {"format": "int8_tensorwise", "convrot": True,
                                                          "convrot_groupsize": group}, per_channel=True, convrot=True,
                                convrot_groupsize=group)
            options = () if group == 256 else ("--group-size", str(group))
            forget.compare(f"comfy-int8 --convrot {group}, {dtype}", "comfy-int8", w, parts, None, "--convrot",
                           *options)


def main():
    tally, tools = Tally(), Tools()
    rng = torch.Generator().manual_seed(8)
    forget = Forget(tally, tools)
    for dtype in DTYPES:
        for name, w in weights(dtype, rng):
            name = f"{str(dtype)[6:].replace('bfloat', 'BF').replace('float', 'F')} {name}"
            of_compressed_tensors(forget, name, w)
            of_mlx(forget, name, w)
            of_comfy(forget, name, w)
    of_convrot(forget, rng)
    tally.finish()


main()
