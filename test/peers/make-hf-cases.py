#!/usr/bin/env python3
"""Write test/corpus/hf-models: tiny models of every class that can be converted to GGUF (hf_models.py), and the output of llama.cpp's
converter.

usage: make-hf-cases.py LLAMA_CPP OUTPUT [CASE...]
       make-hf-cases.py LLAMA_CPP OUTPUT --text [CASE...]      test/corpus/hf-text: the cases of hf_text_models.py, with fewer facts

LLAMA_CPP: see hf_reference.py. Needs transformers, torch, safetensors, sentencepiece. The models are made and saved by transformers'
own classes, so that names, shapes and texts are theirs; for the weights, a case keeps names, types and shapes (weights.json), and
test/helpers/hf-model fills them. expected.json has, for each output type, type and SHA-256 of every tensor, in the order of the
reference; all keys; and from transformers itself the tokens of a text and logits of the last of them, computed in F32. Of a case
that llama.cpp does not compute as transformers does, "llama" has the reason, and "off" the largest difference of logits.
"""
import os
import shutil
import sys
from pathlib import Path

if len(sys.argv) < 3:
    sys.exit(__doc__)
os.environ["LLAMA_CPP"] = sys.argv[1]
import torch

import hf_models
import hf_reference
import hf_text_models


def main():
    output, text = Path(sys.argv[2]), "--text" in sys.argv
    names = [a for a in sys.argv[3:] if a != "--text"]
    for name in names or [n for n, case in hf_models.CASES.items()
                          if not {"reference", "peer"} & case[5].keys() and text == (n in hf_text_models.CASES)]:
        folder = output / name
        shutil.rmtree(folder, ignore_errors=True)
        torch.manual_seed(1)
        pre = hf_models.build(name, folder)
        options = hf_models.CASES[name][5]
        hf_reference.write_expected(folder / "expected.json", {**hf_reference.expected(name, folder, pre),
                                                  **{k: options[k] for k in ("llama", "off", "encoder", "extra", "but", "otherwise") if k in options}})
        print(name, sum(p.stat().st_size for p in folder.iterdir()), flush=True)


main()
