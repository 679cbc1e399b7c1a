"""make-diff-figures.py: print test/corpus/diff-figures.ndjson, the figures of two models for test/behaviour/diff.bats, by numpy:
one JSON line for each tensor of a.safetensors that b.safetensors has in the same shape. Values of 32 bits and less are subtracted
in float32, others in float64; sums are of float64. NaN equals NaN. Elements that are not finite in both count only as nonfinite.

usage: cd FOLDER && test/helpers/diff-models && make-diff-figures.py >test/corpus/diff-figures.ndjson
"""
import json
import math

import numpy

TYPES = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "I64": "<i8", "I32": "<i4", "I8": "i1", "U8": "u1", "BOOL": "u1"}
SINGLE = ("F32", "F16", "BF16")


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    n = int.from_bytes(data[:8], "little")
    for name, t in json.loads(data[8:8 + n]).items():
        if name == "__metadata__" or t["dtype"] not in (*TYPES, "BF16"):
            continue
        a, b = (8 + n + x for x in t["data_offsets"])
        if t["dtype"] == "BF16":
            values = (numpy.frombuffer(data[a:b], "<u2").astype("<u4") << 16).view("<f4")
        else:
            values = numpy.frombuffer(data[a:b], TYPES[t["dtype"]])
        yield name, (t["dtype"], t["shape"], values)


def figures(name, a, b):
    (kind_a, _, x), (kind_b, _, y) = a, b
    differ = (x != y) & ~((x != x) & (y != y))
    finite = numpy.isfinite(x) & numpy.isfinite(y)
    width = numpy.float32 if kind_a in SINGLE and kind_b in SINGLE else numpy.float64
    if x.dtype.kind in "iu" and y.dtype.kind in "iu":
        d = numpy.abs(x.astype(numpy.int64) - y.astype(numpy.int64)).astype(numpy.float64)     # exact, as none overflows
    else:
        d = numpy.abs(x[finite].astype(width) - y[finite].astype(width)).astype(numpy.float64)
    p, q = x[finite].astype(numpy.float64), y[finite].astype(numpy.float64)
    noise, signal, length = numpy.dot(d, d), numpy.dot(p, p), numpy.linalg.norm(p) * numpy.linalg.norm(q)
    return {"name": name, "differing": int(differ.sum()), "nonfinite": int((~finite).sum()), "max_abs": float(d.max(initial=0)),
            "mean_abs": float(d.mean()) if d.size else 0.0,
            "sqnr_db": float(10 * math.log10(signal / noise)) if noise and signal else None,
            "cosine": 1.0 if not differ.any() else float(numpy.dot(p, q) / length) if length else float(noise == 0),
            "first_index": int(differ.argmax()) if differ.any() else None}


def main():
    a, b = (dict(read(name + ".safetensors")) for name in "ab")
    for name in sorted(a):
        if name in b and a[name][1] == b[name][1] and name != "kind":          # floats and integers, which are not compared
            print(json.dumps(figures(name, a[name], b[name])))


main()
