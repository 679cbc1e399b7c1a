#!/usr/bin/env python3
"""peer_ollama.py BIN WORK: a model in Ollama's store, one layer for each tensor, as a directory that its loaders read.

A small Llama is quantized by MLX and stored as ollama's x/create does (make-ollama-corpus.py). mlx-lm loads what amn-convert writes and
computes the same logits; transformers loads what amn-remember writes, with the weights that MLX dequantizes.
"""
import importlib
import json
import os
import pathlib

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import torch
from mlx.utils import tree_flatten
from mlx_lm.models import llama
from mlx_lm.utils import load_model
from tools import Tally, Tools
from transformers import AutoModelForCausalLM

corpus = importlib.import_module("make-ollama-corpus")
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128, "intermediate_size": 256,
          "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256, "rms_norm_eps": 1e-5,
          "max_position_embeddings": 128, "rope_theta": 10000.0, "tie_word_embeddings": False, "head_dim": 32}


def model_of(word):
    """A quantized model, and its layers in the store."""
    bits, group, mode = corpus.TYPES[word]
    model = llama.Model(llama.ModelArgs.from_dict(CONFIG))
    model.set_dtype(mx.bfloat16)
    nn.quantize(model, group_size=group, bits=bits, mode=mode)
    return model


def stored(store, model, word):
    own, layers = {".scales": ".weight.scale", ".biases": ".weight.bias"}, []
    tensors = dict(tree_flatten(model.parameters()))
    for name, t in tensors.items():
        if not name.endswith(".weight"):
            continue
        group = {name: t} | {name[:-7] + own[k]: tensors[name[:-7] + k] for k in own if name[:-7] + k in tensors}
        metadata = {"quant_type": word, "group_size": str(corpus.TYPES[word][1])} if len(group) > 1 else None
        layers.append(store.blob(corpus.safetensors(group, metadata), corpus.TENSOR, name))
    store.model(word, layers + store.files(config=CONFIG))


def values(model, word):
    bits, group, mode = corpus.TYPES[word]
    for name, module in model.named_modules():
        if hasattr(module, "scales"):
            biases = module.biases if "biases" in module else None
            yield name + ".weight", mx.dequantize(module.weight, module.scales, biases, group_size=group, bits=bits, mode=mode)


def main():
    tally, tools = Tally(), Tools()
    os.makedirs(tools.path("ollama/stores"))
    store = corpus.Store(tools.path("ollama"))
    os.environ["OLLAMA_MODELS"] = store.top
    tokens = mx.array([[1, 5, 9, 200, 17]])
    for word in ("int4", "int8", "mxfp4", "mxfp8", "nvfp4"):
        mx.random.seed(1)
        model = model_of(word)
        stored(store, model, word)
        kept, plain = tools.path("kept-" + word), tools.path("plain-" + word)
        tally.check(tools.read("amn-convert", "-q", "-o", kept + "/", "ollama:" + word) is not None, word + ": convert")
        loaded, _ = load_model(pathlib.Path(kept), strict=True)
        tally.check(mx.array_equal(loaded(tokens), model(tokens)).item(), word + ": logits of mlx-lm")
        tally.check(tools.read("amn-remember", "-q", "-o", plain + "/", "ollama:" + word) is not None, word + ": remember")
        weights = AutoModelForCausalLM.from_pretrained(plain, dtype=torch.bfloat16).state_dict()
        same = all(np.array_equal(weights[name].float().numpy(), np.array(v.astype(mx.float32))) for name, v in values(model, word))
        tally.check(same, word + ": weights of transformers")
        with open(os.path.join(kept, "config.json"), encoding="utf-8") as f:
            tally.check(json.load(f)["quantization"]["mode"] == corpus.TYPES[word][2], word + ": config.json")
    tally.finish()


main()
