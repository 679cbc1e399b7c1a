"""peer_towers.py BIN FOLDER [CASE...]: convert the towers of tiny models (towers.py) with amn-convert --mmproj and with llama.cpp's
converter: tensors (names, order, types, shapes, bytes) and keys agree, for each type of output. LLAMA_CPP: see hf_reference.py."""
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import torch
import transformers

import hf_reference
import towers
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class
from hf_reference import gguf
from tools import Tally, Tools

NAMELESS = {"general.name", "general.size_label", "general.basename", "general.finetune", "general.version", "general.organization"}


def make(name, folder):
    """Makes the directory of a case: transformers' class with random weights, or named tensors."""
    case = towers.CASES[name]
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(1)
    if "tensors" in case:
        folder.mkdir()
        from safetensors.torch import save_file
        save_file({n: torch.randn(s, dtype=torch.float32).to(torch.bfloat16) for n, s in case["tensors"].items()}, folder / "model.safetensors")
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


def reference(folder, kind, target):
    with torch.inference_mode():
        hparams = ModelBase.load_hparams(folder, False)
        cls = get_model_class(get_model_architecture(hparams, ModelType.MMPROJ), mmproj=True)
        cls(folder, gguf.LlamaFileType[hf_reference.TYPES[kind]], target, is_big_endian=False, use_temp_file=False, eager=False,
            metadata_override=None, model_name=None, split_max_tensors=0, split_max_size=0, dry_run=False, small_first_shard=False,
            remote_hf_model_id=None).write()


def differences(got, want):
    mine, theirs = ({k.pop("key"): k for k in hf_reference.keys_of(r)} for r in (got, want))
    for key in list(theirs) + [k for k in mine if k not in theirs]:
        if key not in NAMELESS and mine.get(key) != theirs.get(key):
            yield "%s is %s, expected %s" % (key, mine.get(key), theirs.get(key))
    order = [[t.name for t in r.tensors] for r in (got, want)]
    if order[0] != order[1]:
        yield "tensors %s, expected %s" % tuple([n for n in a if n not in b][:6] or a[:4] for a, b in (order, order[::-1]))
    have = {t.name: t for t in got.tensors}
    for t in want.tensors:
        m = have.get(t.name)
        if m is not None and (m.tensor_type, list(m.shape)) != (t.tensor_type, list(t.shape)):
            yield "%s is %s %s, expected %s %s" % (t.name, m.tensor_type.name, list(m.shape), t.tensor_type.name, list(t.shape))
        elif m is not None and not numpy.array_equal(m.data.view(numpy.uint8), t.data.view(numpy.uint8)):
            yield "%s has other bytes" % t.name


def main():
    tally, tools = Tally(), Tools()
    for name in sys.argv[3:] or towers.CASES:
        folder = Path(tools.path(name))
        make(name, folder)
        for kind in hf_reference.TYPES:
            out, want = tools.path("out.gguf"), tools.path("want.gguf")
            for path in (out, want):
                Path(path).unlink(missing_ok=True)
            reference(folder, kind, Path(want))
            done = subprocess.run([tools.bin + "/amn-convert", "-q", "--mmproj", *([] if kind == "auto" else ["--dtype", kind]), "-o", out, str(folder)],
                                  check=False, text=True, stderr=subprocess.PIPE)
            wrong = [done.stderr.strip()] if done.returncode else list(differences(gguf.GGUFReader(out), gguf.GGUFReader(want)))
            tally.check(not wrong, "%s, %s: %s" % (name, kind, "; ".join(wrong[:4])[:700]))
    tally.finish()


if __name__ == "__main__":
    main()
