#!/usr/bin/env python3
"""make-torch-files.py CORPUS: write what torch 2.15, NumPy 2.4 and ml_dtypes 0.6 write today to CORPUS/pth-good, pth-bad and npz-good,
and the rows of these files in manifest-pth.ndjson and manifest-npz.ndjson. The expected bytes are those of the libraries:

    python test/peers/make-torch-files.py test/corpus
"""
import argparse, hashlib, json, os, pickle, shutil, struct, sys, tempfile, warnings, zlib

import ml_dtypes
import numpy as np
import safetensors.torch
import torch

warnings.simplefilter("ignore")
top = sys.argv[1]
rows = {"pth": [], "npz": []}
TAGS = {"torch.float32": "F32", "torch.uint8": "U8", "torch.uint16": "U16", "torch.float8_e4m3fn": "F8_E4M3", "float32": "F32",
        "float8_e5m2": "F8_E5M2"}
TORCH, NUMPY = "torch " + torch.__version__.split("+")[0], "numpy %s, ml_dtypes %s" % (np.__version__, ml_dtypes.__version__)


def row(kind, folder, name, by, note, tensors):
    rows[kind].append({"file": "%s/%s" % (folder, name), "by": by, "note": note, "tensors": tensors})


def tensor(name, t):
    if t.dtype == torch.float4_e2m1fn_x2:               # as safetensors writes it
        header = safetensors.torch.save({"t": t})
        said = json.loads(header[8:8 + int.from_bytes(header[:8], "little")])["t"]
        dtype, shape = said["dtype"], said["shape"]
    else:
        dtype, shape = TAGS[str(t.dtype)], list(t.shape)
    return {"name": name, "dtype": dtype, "shape": shape, "sha256": hashlib.sha256(t.view(torch.uint8).numpy().tobytes()).hexdigest()}


def checkpoint(name, note, tensors, others={}, odd=()):
    """Saves tensors and other values; `odd` has rows of tensors that safetensors does not hold."""
    for new in True, False:
        file = "%s%s.215.pt" % (name, "" if new else ".legacy")
        if not new and any(t.dtype not in (torch.float32, torch.uint8) for t in tensors.values()):
            continue
        torch.save({**others, **tensors}, os.path.join(top, "pth-good", file), _use_new_zipfile_serialization=new)
        row("pth", "pth-good", file, TORCH, note, list(odd) + [tensor(k, t) for k, t in tensors.items()])


bytes16 = torch.arange(16, dtype=torch.uint8)
plain = {"bias": torch.tensor([1.5, -2.0])}
checkpoint("two_types", "uint8, FP8, uint16 and pairs of FP4 in one storage", {
    "u8": bytes16, "f8": bytes16.view(torch.float8_e4m3fn), "u16": bytes16.view(torch.uint16), "f4": bytes16.view(torch.float4_e2m1fn_x2)})
checkpoint("fp4", "float4_e2m1fn_x2 counts pairs", {"w": torch.arange(8, dtype=torch.uint8).reshape(2, 4).view(torch.float4_e2m1fn_x2)})
embed = torch.quantize_per_channel(torch.ones(2, 3), torch.tensor([0.1, 0.2]), torch.tensor([0.0, 0.0]), 0, torch.quint4x2)
checkpoint("quint4x2", "an embedding of 4 bits beside a tensor", plain, {"embed": embed}, [
    {"name": "embed", "dtype": "quint4x2", "shape": [2, 3], "expect": "unsupported"}])
checkpoint("beside_tensors", "values of NumPy, a Namespace and Python's own beside the tensors", {"w": torch.ones(2, 3), **plain}, {
    "epoch": 3, "best": np.float64(0.31), "scores": np.array([0.5, 0.75]), "rng": ("MT19937", np.arange(4, dtype="u4"), 3),
    "args": argparse.Namespace(lr=0.1, epochs=10)})


def arrays(name, note, odd=(), **values):
    np.savez(os.path.join(top, "npz-good", name), **values)
    row("npz", "npz-good", name, NUMPY, note, [
        {"name": k, "dtype": TAGS[str(a.dtype)], "shape": list(a.shape), "sha256": hashlib.sha256(a.tobytes()).hexdigest()}
        if k not in odd else {"name": k, "dtype": "<W4", "shape": list(a.shape), "expect": "unsupported"} for k, a in values.items()])


arrays("e5m2.npz", "float8_e5m2 is <f1", w=np.array([1, 2, 3, -1], ml_dtypes.float8_e5m2), b=np.array([1.5], "f4"))
arrays("complex32.npz", "complex32 is <W4", odd=("c",), c=np.zeros(3, ml_dtypes.complex32), b=np.array([1.5], "f4"))


def pnnx():
    """Writes an archive as pnnx does: all fields of its end record are in the ZIP64 record."""
    array = np.array([1, 2, 3], "f4")
    path = os.path.join(top, "npz-good", "all_ones.npz")
    np.save(path + ".npy", array)
    with open(path + ".npy", "rb") as f:
        data = f.read()
    os.remove(path + ".npy")
    name, crc, big, n = b"a.npy", zlib.crc32(data), 0xFFFFFFFF, len(data)
    local = struct.pack("<IHHHHHIIIHHHHQQ", 0x04034B50, 45, 0, 0, 0, 0x21, crc, big, big, len(name), 20, 0, 0, 0, 0)[:30] + name \
        + struct.pack("<HHQQ", 1, 16, n, n) + data
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 0x21, crc, big, big, len(name), 32, 0, 0xFFFF, 0, 0, big) + name \
        + struct.pack("<HHQQQI", 1, 28, n, n, 0, 0)
    record = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 1, 1, len(entry), len(local))
    locator = struct.pack("<IIQI", 0x07064B50, 0, len(local) + len(entry), 1)
    with open(path, "wb") as f:
        f.write(local + entry + record + locator + struct.pack("<IHHHHIIH", 0x06054B50, *[0xFFFF] * 4, big, big, 0))
    assert (np.load(path)["a"] == array).all()
    row("npz", "npz-good", "all_ones.npz", "hand-made", "disk numbers and counts are in the ZIP64 record (pnnx), read by NumPy", [
        {"name": "a", "dtype": "F32", "shape": [3], "sha256": hashlib.sha256(array.tobytes()).hexdigest()}])


def programs():
    """Writes the archives of torch that are not checkpoints."""
    class Linear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)

        def forward(self, x):
            return self.linear(x)
    bad = os.path.join(top, "pth-bad")
    torch.export.save(torch.export.export(Linear(), (torch.ones(1, 3),)), os.path.join(bad, "export.215.pt2"))
    with torch.package.PackageExporter(os.path.join(bad, "package.215.pt")) as e:
        e.extern("**")
        e.save_pickle("model", "model.pkl", {"w": torch.ones(1, 3)})
    for name, what in (("export.215.pt2", "torch.export"), ("package.215.pt", "torch.package")):
        rows["pth"].append({"file": "pth-bad/" + name, "by": TORCH, "class": "unsupported", "why": "an archive of " + what})


import torch.package
pnnx()
programs()
for kind, mine in rows.items():
    path = os.path.join(top, "manifest-%s.ndjson" % kind)
    names = {r["file"] for r in mine}
    with open(path) as f:
        kept = [line for line in f if json.loads(line)["file"] not in names]
    with open(path, "w") as f:
        f.writelines(kept + [json.dumps(r) + "\n" for r in mine])
