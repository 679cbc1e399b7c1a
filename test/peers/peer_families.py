"""peer_families.py BIN FOLDER [CASE...]: convert a tiny model of every family (hf_models.py) with amn and with llama.cpp's converter:
tensors (names, order, types, bytes) and keys agree. llama.cpp loads the file and computes the logits of transformers, and its tokens of
a page of text are those of the tokenizer's own library. The directory that amn-convert --to hf makes of the file is loaded by
transformers, with equal logits and tokens, bit for bit, where transformers has the class. One line a family; what a case cannot show is said there.

LLAMA_CPP: see hf_reference.py. llama.cpp itself: see llama_process.py."""
import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import torch
import transformers

import hf_models
import hf_reference
from hf_tokenizers import SOURCE
from llama_process import Llama
from tools import Tally, Tools

HERE = Path(__file__).resolve().parent
PAGE = SOURCE + [hf_reference.TEXT, "  \n\n x\t", "1 22 333 4444", "WE'RE in THE HARBOUR"]
FAMILY = {"llama3": "llama", "mistral": "llama", "phi4": "phi3", "qwen2-moe": "qwen2_moe", "qwen3-moe": "qwen3_moe",
          "qwen3-moe-stacked": "qwen3_moe"}                         # cases whose name does not begin with it
REQUIRED = ("architectures", "model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
SCORES = {"llama-json"}                                             # one score for all in the reference


def load_check(name="check-hf"):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(HERE.parent / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Case:
    def __init__(self, tools, name):
        self.tools, self.name, self.options, self.wrong = tools, name, hf_models.CASES[name][5], []
        self.notes = []
        self.folder, self.model = Path(tools.path("case")), Path(tools.path(name))
        shutil.rmtree(self.folder, ignore_errors=True)
        torch.manual_seed(1)
        self.pre = hf_models.build(name, self.folder)
        hf_models.hf_model.make(str(self.folder), str(self.model))
        self.encoder = self.options.get("encoder", False)
        self.bare = "tensors" in self.options or "weights" in self.options      # transformers has no class

    def check(self, ok, what):
        if not ok:
            self.wrong.append(what)
        return ok

    def amn(self, *args):
        done = subprocess.run([os.path.join(self.tools.bin, "amn-convert"), "-q", "-f", *map(str, args)], check=False, text=True,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return self.check(done.returncode == 0, "status %d: %s" % (done.returncode, done.stderr.strip()[-200:]))

    def against_reference(self, checker, kinds=hf_reference.TYPES, what=""):
        try:
            want = {**hf_reference.outputs(self.model, self.pre, kinds), "extra": self.options.get("extra", ())}
        except Exception as error:      # of any of its classes
            self.check(False, "%sthe reference: %s: %s" % (what, type(error).__name__, error))
            return
        for kind in kinds:
            out = self.tools.path(kind + ".gguf")
            if self.amn(*([] if kind == "auto" else ["--dtype", kind]), "-o", out, self.model):
                for text in checker.differences(checker.Reader(out), want, kind, ({"tokenizer.ggml.scores"} if self.name in SCORES else set()) | set(self.options.get("otherwise", ()))):
                    self.check(False, "%s%s: %s" % (what, kind, text[:200]))

    def without_defaults(self, checker):
        """The same without the members of config.json that have the value of transformers' class."""
        if self.bare:
            return
        path = self.model / "config.json"
        text = path.read_text()
        c = json.loads(text)
        if c["model_type"] not in transformers.CONFIG_MAPPING or "text_config" in c:
            return
        default = transformers.CONFIG_MAPPING[c["model_type"]]().to_dict()
        path.write_text(json.dumps({k: v for k, v in c.items() if k not in default or v != default[k] or k in REQUIRED}))
        try:
            self.against_reference(checker, {"auto": hf_reference.TYPES["auto"]}, "without defaults, ")
        except KeyError as error:       # a class of the reference that reads config.json itself
            self.notes.append("%s: the reference needs defaults: %s" % (self.name, error))
        path.write_text(text)

    def in_llama(self, llama):
        out = self.tools.path("f32.gguf")
        if "llama" in self.options or not self.amn("--dtype", "f32", "-o", out, self.model):
            return
        tokens = hf_reference.tokens_of(self.model, hf_reference.TEXT)
        got = llama.ask(path=out, texts=[hf_reference.TEXT] + PAGE, tokens=tokens, encoder=self.encoder)
        if not self.check("error" not in got, "llama.cpp: " + got.get("error", "")):
            return
        for text, ids in zip([hf_reference.TEXT] + PAGE, got["tokens"]):
            self.check(ids == hf_reference.tokens_of(self.model, text), "llama.cpp: other tokens of %r" % text)
        if self.bare:       # loaded, and computed
            return
        want = self.logits(hf_reference.load(self.name, self.model), tokens)
        off = float((torch.tensor(got["logits"], dtype=torch.float64) - want).abs().max() / want.abs().max())
        self.check(off <= self.options.get("off", 1e-3 if "gemma" in self.name else 5e-6), "llama.cpp: logits %.3g off" % off)

    def logits(self, model, tokens):
        return hf_reference.logits_of(model, tokens).double()

    def back(self):
        source, out, folder = self.model, self.tools.path("back.gguf"), Path(self.tools.path("back"))
        shutil.rmtree(folder, ignore_errors=True)
        wide = ["--dtype", "f32"] if hf_models.CASES[self.name][1] == "float32" else []
        if not self.amn(*wide, "-o", out, source) or not self.amn("--to", "hf", out, "-o", str(folder) + os.sep):
            return
        if self.bare:
            return
        tokens = hf_reference.tokens_of(source)
        config = json.loads((folder / "config.json").read_text())
        try:
            model = getattr(transformers, config["architectures"][0]).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
            got, want = self.logits(model, tokens), self.logits(hf_reference.load(self.name, source), tokens)
            off = float((got - want).abs().max() / want.abs().max()) if got.shape == want.shape else float("inf")
            self.check(off <= self.options.get("back", 0), "back: logits %.3g off" % off)
            for text in PAGE:
                self.check(hf_reference.tokens_of(folder, text) == hf_reference.tokens_of(source, text), "back: other tokens of %r" % text)
        except (AttributeError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
            self.check(False, "back: %s: %s" % (type(error).__name__, str(error)[:200]))


def family_of(case, families):
    return FAMILY.get(case) or max((f for f in families if case == f or case.startswith(f + "-")), key=len)


def main():
    tally, tools, checker, llama = Tally(), Tools(), load_check(), Llama()
    families = sorted(p.stem for p in (HERE.parents[1] / "families").glob("[a-z]*.family"))
    cases = {f: [] for f in families}
    for name in hf_models.CASES:
        cases[family_of(name, families)].append(name)
    for family, names in cases.items():
        names = [n for n in names if not sys.argv[3:] or n in sys.argv[3:]]
        wrong, notes = [], []
        for name in names:
            case = Case(tools, name)
            if "reference" in case.options:
                notes.append("%s: the reference %s" % (name, case.options["reference"]))
            else:
                case.against_reference(checker)
                case.without_defaults(checker)
            case.in_llama(llama)
            if "llama" in case.options:
                notes.append("%s: llama.cpp %s" % (name, case.options["llama"]))
            no_back = case.options.get("no_back") or case.options.get("but", {}).get("none")
            if no_back:
                notes.append("%s: back: %s" % (name, no_back))
            else:
                case.back()
            shutil.rmtree(case.model)
            notes.extend(case.notes)
            wrong.extend("%s: %s" % (name, text) for text in case.wrong)
            tally.check(not case.wrong, name)
        if names or not sys.argv[3:]:
            tally.check(names, family + ": has a model")
            print("%-18s %s%s" % (family, "verified" if names and not wrong else "differs", "".join("; " + n for n in notes)))
            print("".join("    %s\n" % text for text in wrong[:12]), end="", flush=True)
    tally.finish()


if __name__ == "__main__":
    main()
