#!/usr/bin/env python3
"""make-checkpoints.py FOLDER: write PyTorch checkpoints, each with the tensors that torch reads from it in NAME.expected,
one JSON object a tensor: name, dtype, shape, SHA-256 of its bytes. Any torch from 1.13 on; needs nothing else."""
import collections
import ctypes
import hashlib
import io
import json
import os
import sys

import torch

TAGS = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32", "int16": "I16",
        "int8": "I8", "uint8": "U8", "bool": "BOOL", "complex64": "C64", "uint16": "U16", "uint32": "U32", "uint64": "U64",
        "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
        "float8_e8m0fnu": "F8_E8M0"}


def raw(t):
    t = t.detach().cpu()
    for resolve in ("resolve_conj", "resolve_neg"):
        t = getattr(t, resolve)()
    t = t.contiguous().clone()
    return ctypes.string_at(t.data_ptr(), t.numel() * t.element_size()) if t.numel() else b""


def walk(value, path):
    """Returns names as paths of keys, by amn's rule, from the result of torch.load."""
    if isinstance(value, torch.Tensor):
        yield ".".join(path) if path else "tensor", value
    elif isinstance(value, dict):
        for k, v in value.items():
            yield from walk(v, path + [str(k)])
    elif isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        for i, v in enumerate(value):
            yield from walk(v, path + [str(i)])


def load(file):
    try:
        return torch.load(file, map_location="cpu", weights_only=False)     # our own files; old readers of weights lack opcodes
    except TypeError:
        return torch.load(file, map_location="cpu")


def filled(shape, dtype):
    n = 1
    for d in shape:
        n *= d
    if dtype == torch.bool:
        return torch.randint(0, 2, shape).bool()
    if dtype.is_complex:
        return torch.randn(shape, dtype=torch.complex64).to(dtype)
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(0, 100, shape).to(dtype)


def views():
    a, b = torch.arange(8 * 9 * 10, dtype=torch.float32).reshape(8, 9, 10), torch.randn(700, 333)
    return {"whole": a, "slice": a[2:5], "step": a[:, ::2, 1::3], "t": b.t(), "part_t": b[100:300].t(), "column": b[:, 7],
            "permuted": a.permute(2, 0, 1), "reversed": a.permute(2, 1, 0), "batch": a.transpose(1, 2), "row": a[3],
            "expanded": torch.randn(1, 50).expand(40, 50), "again": a, "channels": torch.randn(2, 3, 4, 5).contiguous(
                memory_format=torch.channels_last), "nothing": a[:0], "scalar": a[1, 2, 3], "diagonal": b.diagonal(),
            "window": torch.arange(100.0).as_strided((20, 10), (4, 1))}


def models():
    torch.manual_seed(1)
    dtypes = [getattr(torch, n) for n in TAGS if hasattr(torch, n)]
    yield "dtypes", {str(d)[6:]: filled((3, 5), d) for d in dtypes}
    yield "empty", {}
    yield "views", views()
    yield "bare", torch.randn(4, 5)
    yield "list", [torch.ones(2), (torch.zeros(3), {"k": torch.randn(2, 2)})]
    yield "many", {f"layer.{i}.weight": torch.randn(i % 7 + 1, 3) for i in range(137)}
    yield "large", {f"w{i}": torch.randn(300 + i, 999) for i in range(13)}
    yield "transposed", {"w": torch.randn(2000, 1500).half().t(), "v": torch.randn(3, 700, 800).transpose(1, 2)}
    yield "parameter", {"p": torch.nn.Parameter(torch.randn(3, 3)), "q": torch.nn.Parameter(torch.randn(2), requires_grad=False)}
    yield "signs", {"conj": torch.randn(4, 3, dtype=torch.complex64).conj(), "imag": torch.randn(5, dtype=torch.complex64).conj().imag,
                    "neg": torch._neg_view(torch.randn(6, 2)), "both": torch._neg_view(torch.randn(4, dtype=torch.complex64).conj())}
    net = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.BatchNorm1d(30), torch.nn.Linear(30, 4))
    adam = torch.optim.Adam(net.parameters())
    net(torch.randn(8, 20)).sum().backward()
    adam.step()
    yield "state_dict", net.state_dict()
    yield "training", {"model": net.state_dict(), "optimizer": adam.state_dict(), "epoch": 3, "loss": 0.25, "name": "a\u00e9"}
    tied = torch.randn(100, 64)
    yield "tied", collections.OrderedDict(embed=tied, head=tied, half=tied[:50])


def main():
    folder = sys.argv[1]
    for name, value in models():
        for form, new in (("zip", True), ("legacy", False)):
            path = os.path.join(folder, f"{name}.{form}.pt")
            try:
                torch.save(value, path, _use_new_zipfile_serialization=new)
                loaded = load(path)
            except Exception as error:
                print(f"skip {name} {form}: {str(error).splitlines()[0][:80]}", file=sys.stderr)
                os.path.exists(path) and os.remove(path)
                continue
            with open(path[:-3] + ".expected", "w", encoding="utf-8") as out:
                for key, t in walk(loaded, []):
                    digest = hashlib.sha256(raw(t)).hexdigest()
                    print(json.dumps([key, TAGS[str(t.dtype)[6:]], list(t.shape), digest]), file=out)
    buffer = io.BytesIO()               # a name that is not that of the file
    torch.save({"w": torch.ones(3)}, buffer)
    with open(os.path.join(folder, "buffer.zip.pt"), "wb") as out:
        out.write(buffer.getvalue())
    with open(os.path.join(folder, "buffer.zip.expected"), "w", encoding="utf-8") as out:
        print(json.dumps(["w", "F32", [3], hashlib.sha256(raw(torch.ones(3))).hexdigest()]), file=out)


main()
