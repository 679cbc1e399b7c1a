"""corpus: writes files of test/corpus: small models, with their values according to the library."""
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import shutil
import sys
import types

import torch
from safetensors.torch import save_file

NAMES = {torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32"}


def without_init(*names):
    """Makes packages importable whose __init__ has other requirements: they contain their modules and nothing else."""
    for name in names:
        parent, _, last = name.rpartition(".")
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        module.__path__ = ([os.path.join(path, last) for path in sys.modules[parent].__path__] if parent
                           else list(importlib.util.find_spec(name).submodule_search_locations))
        sys.modules[name] = module


def expectation(name, tensor):
    """Returns an entry of `tensors` in a manifest."""
    data = tensor.contiguous().view(torch.int16 if tensor.element_size() == 2 else torch.int32)
    entry = {"name": name, "dtype": NAMES[tensor.dtype], "shape": list(tensor.shape)}
    if tensor.isnan().any():
        entry["nan"] = int(tensor.isnan().sum())
        canonical = torch.where(tensor.isnan(), torch.tensor(0x7FC0, dtype=torch.int16), data)
        entry["sha256_nan_7fc0"] = hashlib.sha256(canonical.numpy().tobytes()).hexdigest()
    entry["sha256"] = hashlib.sha256(data.numpy().tobytes()).hexdigest()
    return entry


class Corpus:
    """The files of one generator, which all start with one of its prefixes, and its manifest."""

    def __init__(self, root, manifest, *prefixes):
        self.root, self.manifest, self.entries = root, manifest, []
        good = os.path.join(root, "safetensors-good")
        for name in os.listdir(good):
            path = os.path.join(good, name)
            if name.startswith(prefixes):
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

    def add(self, name, stored, tensors, by, note, config=None, config_name="config.json"):
        """Adds a file; with a config, the text of its JSON file, a folder."""
        path = os.path.join("safetensors-good", name)
        whole = os.path.join(self.root, path)
        if config is not None:
            os.mkdir(whole)
            with open(os.path.join(whole, config_name), "w", encoding="utf-8") as f:
                json.dump(config, f, indent=1)
                f.write("\n")
            save_file(stored, os.path.join(whole, "model.safetensors"), metadata={"format": "pt"})
        else:
            path += ".safetensors"
            save_file(stored, os.path.join(self.root, path), metadata={"format": "pt"})
        self.entries.append({"file": path, "tensors": tensors, "by": by, "note": note, "check": "decoded"})

    def finish(self):
        with open(os.path.join(self.root, self.manifest), "w", encoding="utf-8") as f:
            f.writelines(json.dumps(entry) + "\n" for entry in self.entries)
        for entry in self.entries:
            path = os.path.join(self.root, entry["file"])
            size = os.path.getsize(os.path.join(path, "model.safetensors") if os.path.isdir(path) else path)
            print(entry["file"], size, file=sys.stderr)
