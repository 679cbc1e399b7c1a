#!/usr/bin/env python3
"""Write test/corpus/hf-towers: tiny models that see or hear (towers.py), and what llama.cpp's converter makes of their towers.

usage: make-tower-cases.py OUTPUT [CASE...]

LLAMA_CPP: see hf_reference.py. Names, shapes and texts are those of transformers' own classes; for the weights, a case keeps names, types
and shapes (weights.json), and test/helpers/hf-model fills them. Of the text model, two tensors are kept, which the towers leave out, or all of them ("text").
expected.json is as make-hf-cases.py has it, without tokens and logits."""
import json
import shutil
import sys
import tempfile
from pathlib import Path

from safetensors import safe_open

import hf_models
import hf_reference
import peer_towers
import towers

MEDIA = ("visual.", "vision", "audio", "projector", "mlp1", "merge", "connector", "aligner", "vpm.", "resampler.", "speech", "embed_vision")


def weights_of(folder, most):
    """Returns the towers' tensors of a directory, and some of its text."""
    out, texts = [], 0
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "pt") as f:
            for name in f.keys():
                tower = any(m in name for m in MEDIA) and "language_model" not in name
                texts += not tower
                if tower or texts <= most:
                    shape = list(f.get_slice(name).get_shape())
                    out.append([name, f.get_slice(name).get_dtype(), shape, "norm" if len(shape) == 1 and "norm" in name else ""])
    return {"model.safetensors": out}


def expected(model):
    tensors, numbers, keys = {}, {}, []
    with tempfile.TemporaryDirectory() as work:
        for kind in ("auto", "f16"):       # the others: peer_towers.py
            path = Path(work) / (kind + ".gguf")
            peer_towers.reference(model, kind, path)
            reader = hf_reference.gguf.GGUFReader(path)
            for t in reader.tensors:
                tensors.setdefault(t.name, {"name": t.name, "ne": [int(d) for d in t.shape]})[kind] = [
                    t.tensor_type.name, hf_reference.sha(t.data.tobytes())]
            numbers[kind] = int(reader.fields["general.file_type"].contents())
            keys = keys or list(hf_reference.keys_of(reader))
    return {"file_type": numbers, "kv": keys, "tensors": list(tensors.values())}


def main():
    output = Path(sys.argv[1])
    for name in sys.argv[2:] or towers.CASES:
        case, folder = towers.CASES[name], output / name
        if "more" in case or "loader" in case:          # our file is not the reference's: peer_towers.py
            continue
        shutil.rmtree(folder, ignore_errors=True)
        with tempfile.TemporaryDirectory() as work:
            made, model = Path(work) / "made", Path(work) / name
            peer_towers.make(name, made)
            if "published" in case:
                made = peer_towers.publish(made, case["published"])
            shutil.copytree(made, folder, ignore=shutil.ignore_patterns("*.safetensors", "generation_config.json"))
            (folder / "weights.json").write_text("{\"model.safetensors\": [\n " + ",\n ".join(
                json.dumps(t) for t in weights_of(made, 999 if case.get("text") else 2)["model.safetensors"]) + "\n]}\n")
            hf_models.hf_model.make(str(folder), str(model))
            hf_reference.write_expected(folder / "expected.json", expected(model))
        print(name, sum(p.stat().st_size for p in folder.iterdir()), flush=True)


main()
