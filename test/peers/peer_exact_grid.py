"""peer_exact_grid.py BIN FOLDER: amn-inspect --grid names the low-bit grid of dense weights: those that a library decoded, in BF16, F16 and
F32, and none of those that are random."""
import json
import os
import subprocess

import gguf
import numpy as np
import torch
from safetensors.torch import save_file

import exact_sources as S
from tools import Tally, Tools

Q = gguf.GGMLQuantizationType
ANY = ("BF16", "F16", "F32")

# source, types of the copy, grids that hold it: a smaller one that happens to do so is right, too
SOURCES = [
    (S.ct_mxfp4, ANY, ["mxfp4"]), (S.gguf_mxfp4, ANY, ["mxfp4"]), (S.mlx_mxfp4, ANY, ["mxfp4"]),
    (S.ct_int4("BF16", 32), ("BF16", "F32"), ["int4-group", "q4_0"]), (S.ct_int4("BF16", 64), ("BF16", "F32"), ["int4-group"]),
    (S.ct_int4("F32", 128), ("BF16", "F32"), ["int4-group"]), (S.ct_int4("F16", 32, True), ("F16", "F32"), ["int4-group", "q4_0"]),
    (S.ct_int4("BF16", 128, True), ("BF16", "F32"), ["int4-group"]), (S.awq, ("F16", "F32"), ["int4-group"]),
    (S.with_factors(Q.Q4_0, []), ("F16", "BF16", "F32"), ["int4-group", "q4_0"]), (S.with_factors(Q.Q5_0, []), ("F32",), ["q5_0"]),
    (S.with_factors(Q.Q8_0, []), ("F32",), ["q8_0"]), (S.with_factors(Q.Q4_1, []), ("F32",), ["q4_1"]),
    (S.int8_rows("F32"), ("BF16", "F32"), ["int8-channel"]), (S.int8_rows("BF16", True), ("F32",), ["int8-channel"]),
    (S.float_fp8("tensor", "F32"), ("BF16", "F32"), ["fp8-per-tensor", "fp8-per-channel"]),
    (S.float_fp8("channel", "BF16"), ("BF16", "F32"), ["fp8-per-tensor", "fp8-per-channel"]), (S.tile_fp8, ("BF16", "F32"), ["fp8-per-tensor", "fp8-per-channel",
                                                                                                          "fp8"]),
    (S.ct_mxfp8, ("BF16", "F32"), ["mxfp8", "fp8-ue8m0", "fp8-per-channel", "fp8-per-tensor"]),
    (S.modelopt_nvfp4, ("BF16", "F32"), ["nvfp4", "modelopt-nvfp4"]), (S.ct_nvfp4, ("BF16", "F32"), ["nvfp4", "modelopt-nvfp4"]),
    (S.nf4(False), ("BF16", "F32"), ["nf4"]), (S.nf4(True), ("BF16", "F32"), ["nf4"]),
]


def usual(source):
    """Weights as a quantizer leaves them: finite in F16, with all kinds of codes, and for NVFP4 with the largest code times the largest
    scale, which is what makes its scale known."""
    for i, v in enumerate(source.values):
        codes = {1: 9, 2: 60}[1 + ("8" in source.maker.replace("128", ""))]
        if any(len(np.unique(row)) < codes for row in v) or np.abs(v).max() > 6e4 or np.abs(v[v != 0]).min() < 2.0 ** -20:
            continue
        if source.parts is not None and (np.abs(source.parts.c[i]) * source.parts.s[i]).max() < 6 * 448:
            continue
        yield v


def largest(make, rng):
    """NVFP4 with a block of the largest values, which a quantizer always makes."""
    fp4, e4m3 = S.fp4, S.e4m3

    def with_six(rng, n):
        p = fp4(rng, n)
        p[:, 0, 0] = 0x77
        return p

    def with_448(rng, shape):
        s = e4m3(rng, shape, False).view(torch.uint8)
        s.view(shape[0], -1)[:, 0] = 0x7E
        return s.view(S.F8)
    S.fp4, S.e4m3 = with_six, with_448
    source = make(rng, 20)
    S.fp4, S.e4m3 = fp4, e4m3
    return source


def grids(tools, weights):
    path = tools.path("dense.safetensors")
    save_file({f"w{i}.weight": w.contiguous() for i, w in enumerate(weights)}, path)
    out = subprocess.run([os.path.join(tools.bin, "amn-inspect"), "--json", "--grid", path], stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def main():
    tally, tools, rng = Tally(), Tools(), np.random.default_rng(5)
    for make, kinds, names in SOURCES:
        source = make(rng, 96)
        if source.parts is not None:            # the largest code and scale are rare in random ones
            source = largest(make, rng)
        values = list(usual(source))[:6]
        if not tally.check(values, f"{source.maker}: no usual weight"):
            continue
        for kind in kinds:
            weights = [torch.from_numpy(v).to(S.TORCH[kind]) for v in values]
            if any((w.float() == 0).sum() != (torch.from_numpy(v) == 0).sum() for w, v in zip(weights, values)):
                continue
            for v, line in zip(values, grids(tools, weights)):
                smaller = ["mxfp4", "int4-group"]           # of few values
                tally.check(line["grid"] in names + smaller, f"{source.maker} in {kind}: {line['grid']}")
                if line["grid"] == "int4-group" and source.group in (32, 64, 128):
                    tally.check(line["group_size"] >= source.group, f"{source.maker} in {kind}: groups of {line['group_size']}")
    for kind in ANY:
        for line in grids(tools, [torch.randn(32, 128).to(S.TORCH[kind]) for _ in range(20)]):
            tally.check(line["grid"] is None, f"random {kind}: {line['grid']}")
    tally.finish()


main()
