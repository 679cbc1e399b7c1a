#!/usr/bin/env python3
"""peer_loaders_2026.py BIN WORK: read model directories in the schemes of 2026 with their loaders, on the CPU.

A tiny Llama is quantized by amn-forget in Gemma's integers, MXFP8 with its own method, Quark's INT4 and NVFP4-E5M3, and loaded by
transformers, which calls amd-quark and auto-round for the last two: no tensor may be missing or left over, and the logits must be those
of the directory that amn-remember makes; NVFP4-E5M3 quantizes activations too. A library that is not installed is left out, by
name; see peer_forget_2026.py. ModelSlim's directories are read by vllm-ascend only, which needs its hardware.
"""
import importlib.util
import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""

import torch
import transformers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from tools import Tally, Tools

transformers.logging.set_verbosity(transformers.logging.CRITICAL)
TEXT = torch.arange(3, 19).view(1, 16)
# Scheme, library, options, largest distance of the logits.
LOADERS = (("gemma-8bit", "transformers", (), 0), ("gemma-4bit", "transformers", (), 0), ("minimax-mxfp8", "transformers", (), 0),
           ("quark-int4", "quark", (), 0), ("quark-int4", "quark", ("--group-size", "32"), 0),
           ("nvfp4-e5m3", "auto_round", (), .25), ("nvfp4-e5m3", "auto_round", ("--exclude", "*.1.self_attn.[qk]_proj.*"), .25),
           ("gemma-8bit", "transformers", ("--exclude", "*.1.self_attn.[qk]_proj.*"), 0),
           ("minimax-mxfp8", "transformers", ("--exclude", "*.1.self_attn.[qk]_proj.*"), 0),
           ("quark-int4", "quark", ("--exclude", "*.1.self_attn.[qk]_proj.*"), 0))


def logits(model):
    with torch.no_grad():
        return model(TEXT).logits.float()


def check(tally, tools, folder, scheme, options, most):
    out, what = tools.path("loads-" + scheme + str(len(options)) + "".join(options)[-1:]), " ".join([scheme, *options])
    if tools.read("amn-forget", "-q", "--scheme", scheme, *options, "-o", out + "/", folder + "/") is None or \
            tools.read("amn-remember", "-q", "-o", out + "-plain/", out) is None:
        tally.check(False, what)
        return
    try:
        model, info = AutoModelForCausalLM.from_pretrained(out, output_loading_info=True)
    except Exception as why:            # noqa: BLE001  whatever a loader raises is what is wrong
        tally.check(False, "%s: %s %s" % (what, type(why).__name__, str(why)[:300]))
        return
    odd = {key: sorted(names)[:3] for key, names in info.items() if names}
    tally.check(not odd, "%s: %s" % (what, odd))
    plain = AutoModelForCausalLM.from_pretrained(out + "-plain")
    got, want = logits(model), logits(plain)
    distance = ((got - want).norm() / want.norm()).item()
    tally.check(distance <= most, "%s: distance %.4f" % (what, distance))
    kinds = {type(m).__name__ for m in model.modules()}
    tally.check(scheme == "minimax-mxfp8" or kinds & {"QuantizedLinear", "QParamsLinear", "NVFP4E5M3QuantLinear"},
                "%s: nothing is quantized" % what)          # MXFP8 is dequantized without a GPU


def main():
    tally, tools = Tally(), Tools()
    torch.manual_seed(26)
    folder = tools.path("loads")
    LlamaForCausalLM(LlamaConfig(vocab_size=160, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
                                 num_key_value_heads=2, max_position_embeddings=64)).bfloat16().save_pretrained(folder)
    for scheme, library, options, most in LOADERS:
        if importlib.util.find_spec(library):
            check(tally, tools, folder, scheme, options, most)
        else:
            print("%s is not installed: %s was not loaded" % (library, scheme))
    tally.finish()


if __name__ == "__main__":
    sys.exit(main())
