"""peer_adapter_logits.py BIN FOLDER: llama.cpp's logits of a base with an adapter, and of the model that amn merged from both.

A tiny Llama, whose attn_q and attn_k llama.cpp stores in another order of rows, and a Qwen2 with biases and a tied head get random
factors as peft names them. llama.cpp's own converter makes a GGUF adapter of these; llama.cpp runs the base in F32 with it at a scale.
amn merges the GGUF adapter into the GGUF base, peft's adapter into the GGUF base, and peft's adapter into the Hugging Face model, which
it then converts. All three have the logits of llama.cpp to OFF of the largest, the bound that peer_families.py has for a model without
an adapter: the sums are those of F32 in another order. Each adapter changes the logits by more than 1000 times as much.

LLAMA_CPP: see hf_reference.py. llama.cpp itself: see llama_process.py."""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from llama_process import Llama
from tools import Tally, Tools

TEST = Path(__file__).resolve().parents[1]
OFF = 5e-6
RANK, ALPHA = 4, 6
TOKENS = [1, 5, 9, 20, 3, 44, 7]
LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "lm_head")
loader = importlib.machinery.SourceFileLoader("hf_model", str(TEST / "helpers" / "hf-model"))
hf_model = importlib.util.module_from_spec(importlib.util.spec_from_loader("hf_model", loader))
loader.exec_module(hf_model)


def shapes(folder):
    """The shape of each weight of a model directory."""
    for path in sorted(Path(folder).glob("*.safetensors")):
        with safe_open(path, "pt") as f:
            for name in f.keys():
                yield name, f.get_slice(name).get_shape()


def write_adapter(folder, model, tied):
    """Random factors for all matrices, whose change is a tenth of a weight or so; of the embedding only if no head is tied to it."""
    factors = {}
    for name, shape in shapes(model):
        module = name.removesuffix(".weight")
        kind = module.rsplit(".", 1)[-1]
        at = "base_model.model." + module
        if kind == "embed_tokens" and not tied:
            factors[at + ".lora_embedding_A"] = torch.randn(RANK, shape[0]) / 8
            factors[at + ".lora_embedding_B"] = torch.randn(shape[1], RANK) / 16
        elif kind in LINEAR and len(shape) == 2:
            factors[at + ".lora_A.weight"] = torch.randn(RANK, shape[1]) / 8
            factors[at + ".lora_B.weight"] = torch.randn(shape[0], RANK) / 16
    os.makedirs(folder, exist_ok=True)
    save_file(factors, os.path.join(folder, "adapter_model.safetensors"))
    with open(os.path.join(folder, "adapter_config.json"), "w", encoding="utf-8") as f:
        json.dump({"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "target_modules": list(LINEAR)}, f)
    return len(factors) // 2


def run(tally, what, *command):
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return tally.check(done.returncode == 0, f"{what}: status {done.returncode}: {done.stderr.strip()[-300:]}")


class Case:
    def __init__(self, tally, tools, llama, name, tied):
        self.tally, self.tools, self.llama, self.name = tally, tools, llama, name
        self.model, self.peft = tools.path(name), tools.path(name + "-lora")
        self.base, self.gguf, self.merged = (tools.path(f"{name}{end}.gguf") for end in ("", "-lora", "-merged"))
        hf_model.make(str(TEST / "corpus" / "hf-models" / name), self.model)
        self.modules = write_adapter(self.peft, self.model, tied)

    def convert(self, what, *args):
        tool = os.path.join(self.tools.bin, "amn-convert")
        return run(self.tally, f"{self.name}: {what}", tool, "-q", "-f", "--to", "gguf", "--dtype", "f32", *args)

    def prepare(self):
        script = os.path.join(os.environ["LLAMA_CPP"], "convert_lora_to_gguf.py")
        return self.convert("the base", "-o", self.base, self.model) and run(self.tally, f"{self.name}: llama.cpp's converter",
            sys.executable, script, "--base", self.model, "--outtype", "f32", "--outfile", self.gguf, self.peft)

    def logits(self, what, path, **more):
        got = self.llama.ask(path=path, texts=[], tokens=TOKENS, **more)
        ok = self.tally.check("error" not in got, f"{self.name}: {what}: {got.get('error')}")
        return numpy.array(got["logits"]) if ok else None

    def compare(self, scale, plain):
        want = self.logits("the adapter", self.base, adapter=self.gguf, scale=scale)
        if want is None:
            return
        size = numpy.abs(want).max()
        moved = numpy.abs(want - plain).max() / size
        self.tally.check(numpy.isfinite(want).all() and moved > 1000 * OFF, f"{self.name}: the adapter changes the logits by {moved:.3g}")
        worst = 0.0
        for what, adapter, base in (("GGUF on GGUF", self.gguf, self.base), ("peft's on GGUF", self.peft, self.base),
                                    ("peft's, then converted", self.peft, self.model)):
            what = f"{what}, scale {scale}"
            got = self.logits(what, self.merged) if self.convert(what, "--adapter", f"{adapter}:{scale}", "-o", self.merged, base) else None
            if got is not None:
                off = numpy.abs(got - want).max() / size
                worst = max(worst, off)
                self.tally.check(off <= OFF, f"{self.name}: {what}: logits {off:.3g} off")
        print(f"{self.name}, scale {scale}: {self.modules} modules change the logits by {moved:.3g}; merged {worst:.3g} off")

    def compare_all(self):
        plain = self.logits("the base", self.base) if self.prepare() else None
        for scale in (1, 0.5):
            if plain is not None:
                self.compare(scale, plain)


def main():
    torch.manual_seed(29)
    tally, tools, llama = Tally(), Tools(), Llama()
    for name, tied in (("llama-wide", False), ("qwen2", True)):
        Case(tally, tools, llama, name, tied).compare_all()
    tally.finish()


main()
