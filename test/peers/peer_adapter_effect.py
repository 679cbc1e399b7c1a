"""peer_adapter_effect.py BIN FOLDER: what --report says about the change of an adapter, against numpy.

D is the change of the values, R the difference of the values that the outputs with and without the adapter contain, both read back with
amn-convert --dtype f32: relative |D| / |W|, kept R.D / D.D, noise |R - D| / |D|, changed the share of R != 0."""
import json
import os
import subprocess

import numpy
from safetensors.numpy import load_file, save_file
import ml_dtypes

from tools import Tally, Tools

ROWS, COLS, RANK = 96, 1024, 16
SCHEMES = ["fp8", "fp8-per-tensor", "int8", "nf4", "fp4", "mxfp4", "nvfp4", "mxfp8", "comfy-fp8", "mlx-4bit"]
BLOCKS = ["q8_0", "q6_k", "q5_k", "q4_k", "q4_0", "iq4_xs"]
tools, tally = Tools(), Tally()
rng = numpy.random.default_rng(29)


def run(tool, *args):
    return subprocess.run([os.path.join(tools.bin, tool), "-q", *args], stderr=subprocess.PIPE, check=False).returncode == 0


def values(source, name, *options):
    assert run("amn-convert", "--dtype", "f32", *options, "-o", tools.path(name), source), source
    return {n: t.astype(numpy.float64) for n, t in load_file(tools.path(name)).items()}


def make(size):
    base, lora = {}, {}
    for m in "ab":
        w, a, b = rng.normal(0, 0.03, (ROWS, COLS)), rng.normal(0, 1, (RANK, COLS)), rng.normal(0, 1, (ROWS, RANK))
        b *= size * numpy.linalg.norm(w) / numpy.linalg.norm(b @ a)
        base[f"{m}.weight"] = w.astype(ml_dtypes.bfloat16)
        lora[f"base_model.model.{m}.lora_A.weight"] = a.astype(numpy.float32)
        lora[f"base_model.model.{m}.lora_B.weight"] = b.astype(numpy.float32)
    os.makedirs(tools.path("lora"), exist_ok=True)
    save_file(base, tools.path("base.safetensors"))
    save_file(lora, tools.path("lora/adapter_model.safetensors"))
    with open(tools.path("lora/adapter_config.json"), "w", encoding="utf-8") as f:
        json.dump({"peft_type": "LORA", "r": RANK, "lora_alpha": RANK}, f)


def figures(w, v, without, with_, names):
    w, v, without, with_ = (numpy.concatenate([t[n].ravel() for n in names]) for t in (w, v, without, with_))
    d, r = v - w, with_ - without
    return {"elements": d.size, "relative": numpy.linalg.norm(d) / numpy.linalg.norm(w), "kept": r @ d / (d @ d),
            "noise": numpy.linalg.norm(r - d) / numpy.linalg.norm(d), "changed": numpy.count_nonzero(r) / r.size}


def check(what, base, suffix, tool, *options):
    lora, report = tools.path("lora"), tools.path("report")
    with_, without = tools.path("with" + suffix), tools.path("without" + suffix)
    if not run(tool, *options, "-o", without, base):
        return tally.check(False, f"{what}: not written")
    tally.check(run(tool, *options, "--adapter", lora, "--report", report, "-o", with_, base), f"{what}: failed")
    w, v = values(base, "w.safetensors"), values(base, "v.safetensors", "--adapter", lora)
    p, q = values(without, "p.safetensors"), values(with_, "q.safetensors")
    with open(report, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    lines = {line.get("adapted", "all"): line for line in lines if "adapted" in line or "all_adapted" in line}
    tally.check(sorted(lines) == ["a.weight", "all", "b.weight"], f"{what}: lines {sorted(lines)}")
    for name, line in lines.items():
        for key, want in figures(w, v, p, q, ["a.weight", "b.weight"] if name == "all" else [name]).items():
            tally.check(abs(line[key] - want) <= 1e-11 * max(1, abs(want)), f"{what}, {name}: {key} is {line[key]}, not {want}")
    return lines["all"]["kept"]


for size in 0.003, 0.01, 0.03:
    make(size)
    base = tools.path("base.safetensors")
    for to in "bf16", "f16":
        check(f"{size} {to}", base, ".safetensors", "amn-remember", "--to", to)
    for scheme in SCHEMES:
        check(f"{size} {scheme}", base, ".safetensors", "amn-forget", "--scheme", scheme)
    for scheme in BLOCKS:
        check(f"{size} {scheme}", base, ".gguf", "amn-forget", "--scheme", scheme, "--pure")
    os.replace(tools.path("without.gguf"), tools.path("again.gguf"))
    check(f"{size} bf16 of {BLOCKS[-1]}", tools.path("again.gguf"), ".safetensors", "amn-remember")
tally.finish()
