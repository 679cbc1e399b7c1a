#!/usr/bin/env python3
"""make-ollama-corpus.py CORPUS: write CORPUS/stores/ollama-layers, a store of Ollama whose models have one layer for each tensor.

Weights are quantized and dequantized by MLX on the CPU; the layers follow ollama's x/create. CORPUS/stores/ollama-layers/expected has
the tensors that must come out, in BF16. Run by hand when a case is added, in the environment of requirements.txt:

    python test/peers/make-ollama-corpus.py test/corpus
"""
import hashlib
import json
import os
import shutil
import struct
import sys

import mlx.core as mx
import numpy as np

TYPES = {"int4": (4, 64, "affine"), "int8": (8, 64, "affine"), "nvfp4": (4, 16, "nvfp4"), "mxfp4": (4, 32, "mxfp4"),
         "mxfp8": (8, 32, "mxfp8"), "q4": (4, 64, "affine"), "FP8": (8, 64, "affine")}
NAMES = {mx.bfloat16: "BF16", mx.float32: "F32", mx.uint32: "U32", mx.uint8: "U8"}
TENSOR, FILE = "application/vnd.ollama.image.tensor", "application/vnd.ollama.image.json"
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128}


def random(*shape):
    return (mx.random.normal(shape) * 0.1 + 0.02).astype(mx.bfloat16)


def safetensors(tensors, metadata=None):
    """A file, its header padded to 8 bytes."""
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, t in tensors.items():
        raw = np.array(t.view(mx.uint8) if t.ndim else t.reshape(1).view(mx.uint8)).tobytes()
        header[name] = {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def quantized(name, weight, word, global_scale=None):
    """The stored tensors of a weight, and its value as ollama's runner computes it."""
    bits, group, mode = TYPES[word]
    codes, scales, *biases = mx.quantize(weight, group_size=group, bits=bits, mode=mode)
    value = mx.dequantize(codes, scales, *biases, group_size=group, bits=bits, mode=mode)
    stored = {name: codes, name + ".scale": scales} | {name + ".bias": b for b in biases}
    if global_scale is not None:
        stored[name + ".global_scale"] = mx.array([global_scale], dtype=mx.float32)
        value = (value * stored[name + ".global_scale"]).astype(value.dtype)
    return stored, value.astype(mx.bfloat16)


class Store:
    def __init__(self, corpus):
        self.top = os.path.join(corpus, "stores", "ollama-layers")
        shutil.rmtree(self.top, ignore_errors=True)
        os.makedirs(os.path.join(self.top, "blobs"))
        os.makedirs(os.path.join(self.top, "expected"))

    def blob(self, data, kind, name=None):
        digest = hashlib.sha256(data).hexdigest()
        with open(os.path.join(self.top, "blobs", "sha256-" + digest), "wb") as f:
            f.write(data)
        layer = {"mediaType": kind, "digest": "sha256:" + digest, "size": len(data)}
        return layer | ({"name": name} if name else {})

    def model(self, name, layers, **expected):
        config = self.blob(b"{}", "application/vnd.docker.container.image.v1+json")
        folder = os.path.join(self.top, "manifests/registry.example/library", name)
        os.makedirs(folder)
        with open(os.path.join(folder, "latest"), "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 2, "config": config, "layers": layers}, f)
        for word, tensors in expected.items():
            with open(os.path.join(self.top, "expected", "%s-%s.safetensors" % (name, word)), "wb") as f:
                f.write(safetensors(dict(sorted(tensors.items()))))

    def files(self, **files):
        return [self.blob(json.dumps(text).encode(), FILE, name.replace("__", "/") + ".json") for name, text in files.items()]


def every_type(store):
    layers, expected = [], {}
    for i, word in enumerate(TYPES):
        name = "model.layers.%d.mlp.up_proj.weight" % i
        stored, expected[name] = quantized(name, random(6, 128), word)
        layers.append(store.blob(safetensors(stored, {"quant_type": word, "group_size": str(TYPES[word][1])}), TENSOR, name))
    name = "model.layers.9.mlp.up_proj.weight"
    stored, expected[name] = quantized(name, random(6, 128) * 1000, "nvfp4", 0.0123)
    layers.append(store.blob(safetensors(stored, {"quant_type": "nvfp4", "group_size": "16"}), TENSOR, name))
    for name in ("model.norm.weight", "model.layers.0.mlp.up_proj.bias"):       # the bias of the module, not of its codes
        expected[name] = random(6)
        layers.append(store.blob(safetensors({name: expected[name]}), TENSOR, name))
    store.model("every-type", layers + store.files(config=CONFIG, tokenizer={"version": "1.0"}), all=expected)


def experts(store):
    """One blob for the stacked experts of a layer, with a type for each projection."""
    stored, expected, metadata = {}, {}, {"quant_type": "int4", "group_size": "64"}
    for projection, word in (("gate", "int4"), ("up", "int8"), ("down", "mxfp8")):
        name = "model.layers.0.mlp.switch_mlp.%s_proj.weight" % projection
        tensors, expected[name] = quantized(name, random(3, 4, 128), word)
        stored |= tensors
        metadata |= {name + ".quant_type": word, name + ".group_size": str(TYPES[word][1])}
    layers = [store.blob(safetensors(stored, metadata), TENSOR, "model.layers.0.mlp.switch_mlp")]
    store.model("experts", layers + store.files(config=CONFIG), all=expected)


def draft(store):
    layers, expected = [], {"main": {}, "draft": {}}
    for prefix, word in (("", "main"), ("draft.", "draft")):
        name = "model.layers.0.mlp.up_proj.weight"
        stored, expected[word][name] = quantized(prefix + name, random(4, 128), "int4")
        layers.append(store.blob(safetensors(stored, {"quant_type": "int4", "group_size": "64"}), TENSOR, prefix + name))
    files = store.files(config=CONFIG, draft__config=CONFIG | {"hidden_size": 64})
    store.model("draft", layers + files, **expected)


def components(store):
    """The form of image models: layers and files below the name of a component."""
    layers, expected = [], {}
    for word in ("text_encoder", "transformer"):
        expected[word] = {"proj.weight": random(4, 8)}
        layers.append(store.blob(safetensors(expected[word]), TENSOR, word + "/proj.weight"))
    store.model("components", layers + store.files(model_index={"_class_name": "Pipeline"}, transformer__config={"a": 1}), **expected)


def main():
    store = Store(sys.argv[1])
    mx.random.seed(0)
    for make in (every_type, experts, draft, components):
        make(store)


if __name__ == "__main__":
    main()
