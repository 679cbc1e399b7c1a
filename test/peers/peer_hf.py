"""peer_hf.py BIN FOLDER: load converted Hugging Face model directories (test/corpus/hf-models) with llama.cpp: it splits a
text into the same tokens as the tokenizer's own library, computes the logits of transformers, and generates. Tensors that
amn-forget makes from a directory equal those of llama.cpp's own quantizer for the GGUF file of that directory, byte for
byte."""
import importlib.machinery
import importlib.util
import json
import os
import subprocess

import llama_cpp
import numpy

from peer_quantize import MIXES, NEED, compare, theirs
from tools import Tally, Tools

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "corpus", "hf-models")
F32 = 0                         # GGML_TYPE_F32, of the cache
WIDE = ("llama-wide", "mixtral")            # rows are a multiple of super-blocks
NOT_HALF = ("bert", "llama-f32", "llama-mixed")     # amn-forget does not round F32 to F16 before it quantizes
NOT_MIXED = ("deepseek_v3-lite", "falcon_h1")       # llama.cpp does not load it; products that have no columns for blocks


def load_maker():
    loader = importlib.machinery.SourceFileLoader("hf_model", os.path.join(HERE, "..", "helpers", "hf-model"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("hf_model", loader))
    loader.exec_module(module)
    return module


def run(tools, tool, source, target, *options):
    return subprocess.run([os.path.join(tools.bin, tool), "-q", "-f", *options, "-o", target, source], check=False).returncode == 0


class Loaded:
    def __init__(self, path):
        self.model = None
        try:
            self.model = llama_cpp.Llama(path, n_ctx=256, n_batch=256, n_threads=1, logits_all=True, verbose=False, type_k=F32,
                                         type_v=F32, flash_attn=False)
        except ValueError:
            pass

    def tokens(self, text):
        return self.model.tokenize(text.encode(), add_bos=True, special=True)

    def logits(self, tokens):
        self.model.reset()
        self.model.eval(tokens)
        return numpy.array(self.model.scores[len(tokens) - 1], "<f8")

    def generates(self, tokens, n):
        self.model.reset()
        got = []
        for token in self.model.generate(tokens, temp=0.0):
            got.append(token)
            if len(got) == n:
                return True
        return False


def check_values(tally, what, loaded, want, most):
    if not tally.check(loaded.model is not None, f"{what}: loads"):
        return
    got = loaded.logits(want["tokens"])
    off = numpy.abs(got[:len(want["logits"])] - want["logits"]).max() / want["most"]
    tally.check(off <= most, f"{what}: logits {off:.3g} off")


def mixes_of(case):
    if case in NOT_MIXED:
        return []
    return sorted(MIXES.keys() - NEED - {"nvfp4"}) if case in WIDE else ["q8_0", "q4_k_m"]


def check_mixes(tally, tools, case, model):
    """Runs before anything is loaded: the quantizer is a child, without the threads of the parent."""
    whole, other = tools.path("whole.gguf"), tools.path("other.gguf")
    if not mixes_of(case):
        return
    if not tally.check(run(tools, "amn-convert", model, whole, *(["--dtype", "f32"] if case in NOT_HALF else [])),
                       f"{case}: converted"):
        return
    for mix in mixes_of(case):
        mine = tools.path(f"{case}-{mix}.gguf")
        if tally.check(theirs(whole, other, mix, None, False), f"{case}, {mix}: by llama.cpp") and tally.check(
                run(tools, "amn-forget", model, mine, "--scheme", mix), f"{case}: {mix}"):
            compare(tally, f"{case}, {mix}", mine, other)


def check_runs(tally, tools, case, model, want):
    out = tools.path("out.gguf")
    tally.check(run(tools, "amn-convert", model, out, "--dtype", "f32"), f"{case}: converted to F32")
    if "llama" in want or want.get("encoder"):
        return                                  # peer_families.py
    loaded = Loaded(out)
    # llama.cpp's GELU is a table
    check_values(tally, f"{case}, F32", loaded, want, want.get("off", 1e-3 if "gemma" in case else 5e-6))
    if loaded.model:
        got = loaded.tokens(want["text"])
        tally.check(got == want["tokens"], f"{case}: tokens {got}, expected {want['tokens']}")
    tally.check(run(tools, "amn-convert", model, out) and Loaded(out).model is not None, f"{case}: loads")
    for mix in ("q8_0", "q4_k_m") if mixes_of(case) else ():
        loaded = Loaded(tools.path(f"{case}-{mix}.gguf"))
        tally.check(loaded.model is not None and loaded.generates(want["tokens"][:4], 8), f"{case}, {mix}: generates")


def main():
    tally, tools, maker = Tally(), Tools(), load_maker()
    os.environ["GGML_NO_BACKTRACE"] = "1"
    cases = sorted(os.listdir(ROOT))
    for case in cases:
        maker.make(os.path.join(ROOT, case), tools.path(case))
        check_mixes(tally, tools, case, tools.path(case))
    for case in cases:
        with open(os.path.join(ROOT, case, "expected.json"), encoding="utf-8") as f:
            check_runs(tally, tools, case, tools.path(case), json.load(f))
    tally.finish()


main()
