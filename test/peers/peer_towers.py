"""peer_towers.py BIN FOLDER [CASE...]: convert the towers of tiny models (towers.py) with amn-convert --mmproj and with llama.cpp's
converter: tensors (names, order, types, shapes, bytes) and keys agree, for each type of output. LLAMA_CPP: see hf_reference.py.
LIBMTMD: llama.cpp's libmtmd.so, which then loads each file, except those of UNLOADED."""
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import torch
import transformers
from safetensors.torch import load_file, save_file

import hf_reference
import towers
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class
from hf_reference import gguf
from tools import Tally, Tools

NAMELESS = {"general.name", "general.size_label", "general.basename", "general.finetune", "general.version", "general.organization"}

# Tiny models that llama.cpp does not load, although the reference makes them: it has the sizes of the published ones.
UNLOADED = {"qwen2-audio", "voxtral", "audio-flamingo", "ultravox", "meralion2", "glm-asr-nano", "deepseek-ocr", "deepseek-ocr-unlimited",
            "deepseek-ocr2", "step3-vl", "deepseek-v4"}
SINUSOIDS = {"a.position_embd.weight"}


def same_rounded(got, want):
    """Returns true if numbers differ by at most the last bit of 1: torch rounds sines and cosines as its vector instructions do."""
    return got.shape == want.shape and numpy.abs(got - want).max() <= 2.0 ** -24


def make(name, folder):
    """Makes the directory of a case: transformers' class with random weights, or named tensors."""
    case = towers.CASES[name]
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(1)
    if "tensors" in case:
        folder.mkdir()
        save_file({n: torch.randn(s if isinstance(s, tuple) else (s,), dtype=torch.float32).to(torch.bfloat16) for n, s in case["tensors"].items()}, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(case["config"]))
    else:
        kind = getattr(transformers, case["class"])
        model = kind(kind.config_class(**case["config"])).to(torch.bfloat16)
        with torch.no_grad():           # norms and biases begin as ones and zeros
            for p in model.parameters():
                p.copy_(torch.randn_like(p, dtype=torch.float32) * 0.1 + (1 if p.dim() == 1 else 0))
        model.save_pretrained(folder)
        config = json.loads((folder / "config.json").read_text())
        config.update(case.get("also", {}))
        (folder / "config.json").write_text(json.dumps(config))
    for file, what in case["files"].items():
        (folder / file).write_text(json.dumps(what))


def rename(folder, renames, other):
    """Writes the tensors of a directory under other names to another one."""
    tensors = load_file(folder / "model.safetensors")
    for old, new in renames:
        tensors = {re.sub(old, new, n): t for n, t in tensors.items()}
    save_file(tensors, other / "model.safetensors")


def publish(folder, case):
    """Makes a directory beside this one with the names of the published model, which the reference reads; returns it."""
    other = folder.with_name(folder.name + "-published")
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(folder, other)
    rename(folder, case["published"], other)
    if "wrapped" in case:
        (other / "config.json").write_text(json.dumps(towers.wrapped(json.loads((folder / "config.json").read_text()), *case["wrapped"])))
    return other


def reference(folder, kind, target):
    with torch.inference_mode():
        hparams = ModelBase.load_hparams(folder, False)
        cls = get_model_class(get_model_architecture(hparams, ModelType.MMPROJ), mmproj=True)
        cls(folder, gguf.LlamaFileType[hf_reference.TYPES[kind]], target, is_big_endian=False, use_temp_file=False, eager=False,
            metadata_override=None, model_name=None, split_max_tensors=0, split_max_size=0, dry_run=False, small_first_shard=False,
            remote_hf_model_id=None).write()


def differences(got, want, more, loader):
    """Yields what differs. `more`: tensors that the loader requires and the reference does not write, by name, in F32.
    `loader`: names of the reference that its loader has otherwise."""
    theirs = {functools.reduce(lambda n, r: n.replace(*r), loader, t.name): t for t in want.tensors}
    keys, expected = ({k.pop("key"): k for k in hf_reference.keys_of(r)} for r in (got, want))
    for key in list(expected) + [k for k in keys if k not in expected]:
        if key not in NAMELESS and keys.get(key) != expected.get(key):
            yield "%s is %s, expected %s" % (key, keys.get(key), expected.get(key))
    order = [[t.name for t in got.tensors if t.name not in more], list(theirs)]
    if order[0] != order[1]:
        yield "tensors %s, expected %s" % tuple([n for n in a if n not in b][:6] or a[:4] for a, b in (order, order[::-1]))
    have = {t.name: t for t in got.tensors}
    for name, data in more.items():
        if name not in have or not numpy.array_equal(have[name].data, data):
            yield "%s differs from the tensor of the model" % name
    for name, t in theirs.items():
        m = have.get(name)
        if m is not None and (m.tensor_type, list(m.shape)) != (t.tensor_type, list(t.shape)):
            yield "%s is %s %s, expected %s %s" % (name, m.tensor_type.name, list(m.shape), t.tensor_type.name, list(t.shape))
        elif m is not None and not (same_rounded(m.data, t.data) if name in SINUSOIDS else numpy.array_equal(m.data.view(numpy.uint8), t.data.view(numpy.uint8))):
            yield "%s has other bytes" % name


def not_loaded(path):
    """Returns what llama.cpp says if it cannot load a file."""
    loader = [sys.executable, str(Path(__file__).with_name("clip_load.py")), os.environ["LIBMTMD"], path]
    done = subprocess.run(loader, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return ["llama.cpp: " + " ".join(done.stdout.split("\n")[-4:])] if done.returncode else []


def main():
    tally, tools = Tally(), Tools()
    for name in sys.argv[3:] or towers.CASES:
        case = towers.CASES[name]
        saved = Path(tools.path(name))
        make(name, saved)
        published = publish(saved, case) if "published" in case else saved
        more = {n: load_file(saved / "model.safetensors")[t][i].float().numpy() for n, (t, i) in case.get("more", {}).items()}
        for kind in hf_reference.TYPES:
            out, want = tools.path("out.gguf"), tools.path("want.gguf")
            Path(want).unlink(missing_ok=True)
            try:
                reference(published, kind, Path(want))
            except (ValueError, KeyError, AssertionError, NotImplementedError) as e:
                tally.check(False, "%s, %s: the reference: %s" % (published.name, kind, e))
                continue
            for folder in dict.fromkeys((published, published if case.get("part") else saved)):
                Path(out).unlink(missing_ok=True)
                done = subprocess.run([tools.bin + "/amn-convert", "-q", "--mmproj", *([] if kind == "auto" else ["--dtype", kind]),
                                       "-o", out, str(folder)], check=False, text=True, stderr=subprocess.PIPE)
                wrong = [done.stderr.strip()] if done.returncode else list(differences(gguf.GGUFReader(out), gguf.GGUFReader(want), more, case.get("loader", [])))
                if not wrong and kind == "auto" and "LIBMTMD" in os.environ and name not in UNLOADED:
                    wrong = not_loaded(out)
                tally.check(not wrong, "%s, %s: %s" % (folder.name, kind, "; ".join(wrong[:4])[:700]))
    tally.finish()


if __name__ == "__main__":
    main()
