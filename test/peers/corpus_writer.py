"""Shared by the make-*-corpus.py scripts: models in CORPUS/safetensors-good, and a manifest of the expected values.

    models = Models(corpus, "mlx", "MLX 0.32.4")
    models.add("groups", stored, expected, note="...", config={...})
    models.done()

`stored` are torch tensors, or a function that writes the file it is given. `expected` are torch tensors: a BF16, F16 or F32 one
is a weight, whose BF16 value is expected; the others, and plain ones, are expected unchanged.
"""
import hashlib
import json
import os
import shutil

import torch
from safetensors.torch import save_file

NAMES = {torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.int64: "I64", torch.uint8: "U8"}


def expectation(name, tensor):
    data = tensor.contiguous()
    entry = {"name": name, "dtype": NAMES[tensor.dtype], "shape": list(tensor.shape)}
    raw = data.view(torch.uint8) if data.dim() else data.reshape(1).view(torch.uint8)
    if tensor.dtype == torch.bfloat16 and tensor.isnan().any():
        entry["nan"] = int(tensor.isnan().sum())
        canonical = torch.where(tensor.isnan(), torch.tensor(0x7FC0, dtype=torch.int16), data.view(torch.int16))
        entry["sha256_nan_7fc0"] = hashlib.sha256(canonical.numpy().tobytes()).hexdigest()
    entry["sha256"] = hashlib.sha256(raw.numpy().tobytes()).hexdigest()
    return entry


class Models:
    def __init__(self, corpus, family, by):
        self.corpus, self.family, self.by, self.entries = corpus, family, by, []
        good = os.path.join(corpus, "safetensors-good")
        for name in os.listdir(good):
            if name.startswith("peer-" + family + "-"):
                path = os.path.join(good, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

    def add(self, name, stored, expected, note, config=None, metadata=None, plain=()):
        """Adds a file, or with `config` a folder with it. Tensors named in `plain` are expected unchanged."""
        path = os.path.join("safetensors-good", "peer-%s-%s" % (self.family, name))
        if config is None:
            path += ".safetensors"
            file = os.path.join(self.corpus, path)
        else:
            os.mkdir(os.path.join(self.corpus, path))
            file = os.path.join(self.corpus, path, "model.safetensors")
            with open(os.path.join(self.corpus, path, "config.json"), "w", encoding="utf-8") as f:
                json.dump(config, f, indent=1)
                f.write("\n")
        if callable(stored):
            stored(file)
        else:
            save_file(stored, file, metadata=metadata or {"format": "pt"})
        tensors = [expectation(k, v if k in plain else v.to(torch.bfloat16)) for k, v in expected.items()]
        self.entries.append({"file": path, "tensors": tensors, "by": self.by, "note": note, "check": "decoded"})
        print(path, os.path.getsize(file))

    def done(self):
        with open(os.path.join(self.corpus, "manifest-%s.ndjson" % self.family), "w", encoding="utf-8") as f:
            f.writelines(json.dumps(entry) + "\n" for entry in self.entries)
