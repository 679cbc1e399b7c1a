"""peer_classes.py BIN FOLDER TABLE [CLASS...]: what becomes of every class that llama.cpp's converter registers, from runs, one row each, as a table in TABLE:

  reference   the two GGUF files are equal; equal but for the keys that are named; or why there is nothing to compare
  loads runs  llama.cpp loads the file, and computes logits that are numbers
  logits      their largest difference from transformers', by the largest logit; * those of the directory that comes back
  tokens      llama.cpp's tokens of a page of text are those of the tokenizer's own library
  back        the tensors of the directory that amn-convert --to hf makes of the file have the bytes of the source

A class has the case of hf_models whose config.json names it, else a case of a class that the converter treats alike, with its name. Rows
that are in TABLE already are kept, so that a run can be continued. LLAMA_CPP: see hf_reference.py; llama.cpp itself: see llama_process.py."""
import json
import math
import os
import shutil
import sys
import tempfile
from pathlib import Path

import torch
import transformers

import hf_models
import hf_reference                     # with the converter's folder
from conversion import TEXT_MODEL_MAP, ModelType, get_model_architecture, get_model_class
from conversion.base import ModelBase
from llama_process import Llama
from peer_families import PAGE, SCORES, Case, load_check
from tools import Tools

HEAD = "| class | family | case | reference | loads | runs | logits | tokens | back |\n|---|---|---|---|---|---|---|---|---|\n"
CLOSE = 1e-5                    # logits of F32
LOOSE = 2e-2                    # where llama.cpp has a table of F16 for an activation, or quantizes


def architecture(folder):
    return get_model_architecture(ModelBase.load_hparams(folder, False), ModelType.TEXT)


def case_classes():
    """Returns {class: its cases}."""
    found = {}
    for name in hf_models.CASES:
        with tempfile.TemporaryDirectory() as work:
            torch.manual_seed(1)
            hf_models.build(name, Path(work) / "case")
            text = json.loads((Path(work) / "case" / "config.json").read_text())
            for c in {architecture(Path(work) / "case"), *text["architectures"]}:
                found.setdefault(c, []).append(name)
    return found


def cases_of_all():
    """Returns {class: case}, and the classes whose case is named after another class."""
    own, of = case_classes(), {}
    for c in TEXT_MODEL_MAP:
        try:
            of.setdefault(get_model_class(c), []).append(c)
        except Exception:       # listed, but not registered for text
            of.setdefault(c, []).append(c)
    chosen, named = {c: own[c][0] for c in TEXT_MODEL_MAP if c in own}, set()
    for alike in of.values():
        for c in alike:
            if c not in chosen and any(x in own for x in alike):
                chosen[c] = own[next(x for x in alike if x in own)][0]
                named.add(c)
    return chosen, named


def rename(folder, old, new):
    """Gives a directory another class."""
    path = folder / "config.json"
    path.write_text(path.read_text().replace('"%s"' % old, '"%s"' % new))


def families():
    check = load_check("check-classes")
    return check.built_in(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "families"), "text")


class Row(Case):
    def __init__(self, tools, c, name, named):
        super().__init__(tools, name)
        self.row = {"class": c, "case": name + (" *" if named else "")}
        if named:
            rename(self.model, architecture(self.model), c)

    def reference(self, checker):
        if "reference" in self.options:
            return "it " + self.options["reference"]
        kinds = {k: hf_reference.TYPES[k] for k in ("auto", "f16")}
        try:
            want = hf_reference.outputs(self.model, self.pre, kinds)
        except Exception as error:
            return "it fails: %s: %s" % (type(error).__name__, str(error).split("\n")[0][:80])
        keys, tensors = set(), []
        for kind in kinds:
            out = self.tools.path(kind + ".gguf")
            if not self.amn(*([] if kind == "auto" else ["--dtype", kind]), "-o", out, self.model):
                return "amn: " + self.wrong[-1][-160:]
            for text in checker.differences(checker.Reader(out), want, kind, ()):
                if text.startswith("tensor ") or " tensors, " in text:
                    tensors.append(text)
                else:
                    keys.add(text.split(" ")[0])
        if tensors:
            return "**%d tensors differ**: %s" % (len(tensors), tensors[0][:120])
        return "equal but for " + ", ".join(sorted(keys)) if keys else "equal"

    def run(self, llama):
        """Fills loads, runs, tokens, and the difference of the logits."""
        out, row = self.tools.path("f32.gguf"), self.row
        if not self.amn("--dtype", "f32", "-o", out, self.model):
            row["loads"] = "amn: " + self.wrong[-1][-120:]
            return
        tokens = hf_reference.tokens_of(self.model, hf_reference.TEXT)
        got = llama.ask(path=out, texts=[hf_reference.TEXT] + PAGE, tokens=tokens, encoder=self.encoder)
        if "error" in got:
            row["loads"] = self.options.get("llama") and "llama.cpp " + self.options["llama"] or "no: " + got["error"][:80]
            return
        row["loads"], row["runs"] = "yes", "yes" if all(map(math.isfinite, got["logits"])) else "**not numbers**"
        other = [t for t, ids in zip([hf_reference.TEXT] + PAGE, got["tokens"]) if ids != hf_reference.tokens_of(self.model, t)]
        row["tokens"] = "**%d of %d texts**" % (len(other), len(PAGE) + 1) if other else "equal"
        self.compare(torch.tensor(got["logits"], dtype=torch.float64), tokens)

    def compare(self, got, tokens):
        star = ""
        try:
            if self.bare:       # transformers may have the class that comes back
                star, model = "*", self.returned()
            else:
                model = hf_reference.load(self.name, self.model)
            want = self.logits(model, tokens)
        except Exception as error:
            self.row["logits"] = "-" if self.bare else "%s: %s" % (type(error).__name__, str(error)[:60])
            return
        if got.shape != want.shape:
            self.row["logits"] = "-"
            return
        off = float((got - want).abs().max() / want.abs().max())
        self.row["logits"] = ("%.0e%s" if off <= self.options.get("off", 5e-6) else "**%.0e**%s") % (off, star)

    def returned(self):
        """Returns transformers' model of the directory that comes back of the file in F32."""
        folder = Path(self.tools.path("returned"))
        shutil.rmtree(folder, ignore_errors=True)
        if not self.amn("--to", "hf", self.tools.path("f32.gguf"), "-o", str(folder) + os.sep):
            raise ValueError(self.wrong[-1])
        c = json.loads((folder / "config.json").read_text())["architectures"][0]
        model, info = getattr(transformers, c).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
        if info["missing_keys"] or info["unexpected_keys"]:
            raise ValueError("other tensors")
        return model

    def back_bytes(self, checker):
        but = checker.BACK.get(self.name, self.options.get("but", {}))
        if "none" in but or "no_back" in self.options:
            return "no: " + (but.get("none") or self.options["no_back"])
        try:
            wrong = checker.check_back(self.tools.bin, self.name, str(self.model), str(self.tools.folder), but)
        except SystemExit as error:
            return "**fails**: %s" % error
        lost = ", but for " + ", ".join(x for k in ("lost", "other", "near") for x in but.get(k, ())) if but else ""
        return "**%s**" % wrong[0][:120] if wrong else "equal" + lost


def line(row):
    return "| " + " | ".join(str(row.get(k, "-")).replace("|", "/").replace("\n", " ") for k in (
        "class", "family", "case", "reference", "loads", "runs", "logits", "tokens", "back")) + " |\n"


def main():
    tools, checker, llama, table = Tools(), load_check(), Llama(), Path(sys.argv[3])
    family = families()
    kept = {l.split(" | ")[0][2:]: l + "\n" for l in table.read_text().splitlines()[2:]} if table.exists() else {}
    for c in sys.argv[4:]:
        kept.pop(c, None)
    chosen, named = cases_of_all()
    for c in sorted(TEXT_MODEL_MAP, key=str.lower):
        if c in kept:
            continue
        row = {"class": c, "family": family.get(c, "**none**"), "case": "**none**"}
        if c in chosen and c in family:
            work = Row(tools, c, chosen[c], c in named)
            work.row.update(family=family[c])
            work.row["reference"] = work.reference(checker)
            work.run(llama)
            work.row["back"] = work.back_bytes(checker)
            shutil.rmtree(work.model)
            row = work.row
        kept[c] = line(row)
        table.write_text(HEAD + "".join(kept[k] for k in sorted(kept, key=str.lower)))


main()
