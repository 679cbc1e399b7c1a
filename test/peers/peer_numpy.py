"""peer_numpy.py BIN FOLDER: compare arrays and archives written by numpy with numpy's own reading of them."""
import itertools
import os
import subprocess
import sys

import ml_dtypes
import numpy
from safetensors.numpy import load_file

from peers import Tally, Tools

KINDS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8"]
SHAPES = [(), (0,), (7,), (3, 5), (1, 4), (4, 1), (2, 3, 4), (5, 0, 2), (2, 1, 3, 2), (300, 400)]


def array(rng, kind, order, shape):
    dtype = numpy.dtype(order + kind)
    return numpy.frombuffer(rng.bytes(max(1, int(numpy.prod(shape))) * dtype.itemsize), dtype)[:int(numpy.prod(shape))] \
        .reshape(shape).copy() if kind != "?" else rng.integers(0, 2, shape).astype("?")


def arrays(rng):
    for kind, order, shape in itertools.product(KINDS, "<>", SHAPES):
        a = array(rng, kind, order, shape)
        name = f"{kind.replace('?', 'b1')}.{'be' if order == '>' else 'le'}.{'x'.join(map(str, shape)) or '0d'}"
        yield name, a
        if len(shape) > 1:
            yield name + ".fortran", numpy.asfortranarray(a)
            yield name + ".strided", numpy.repeat(a, 2, axis=0)[::2]
    yield "bf16", rng.standard_normal((6, 7)).astype(ml_dtypes.bfloat16)


def same(got, want):
    want = numpy.ascontiguousarray(want).reshape(want.shape)
    if want.dtype.byteorder == ">":
        want = want.astype(want.dtype.newbyteorder("<"))
    return got.shape == want.shape and got.dtype == want.dtype and got.tobytes() == want.tobytes()


def check(tally, tools, path, want):
    for how, out in tools.remember(path):
        what = f"{os.path.basename(path)}, {how}"
        if not tally.check(out is not None, f"{what}: status 0"):
            continue
        got = load_file(out)
        tally.check(set(got) == set(want), f"{what}: names")
        for name in want:
            tally.check(name in got and same(got[name], want[name]), f"{what}: {name}")


def main():
    tally, tools = Tally(), Tools()
    rng = numpy.random.default_rng(11)
    all_ = dict(arrays(rng))
    for save in numpy.savez, numpy.savez_compressed:
        path = tools.path(save.__name__ + ".npz")
        save(path, **all_)
        check(tally, tools, path, all_)
    path = tools.path("piped.npz")      # to a stream that is not seekable: lengths follow the data
    with open(path, "wb") as f, subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=f) as cat:
        numpy.savez(cat.stdin, **{k: all_[k] for k in list(all_)[::7]})
        cat.stdin.close()
    check(tally, tools, path, {k: all_[k] for k in list(all_)[::7]})
    for name in list(all_)[::5]:
        path = tools.path("one.npy")
        numpy.save(path, all_[name])
        check(tally, tools, path, {"arr_0": all_[name]})
    for name, a in ("object", numpy.array([None, 1])), ("text", numpy.array(["a"])), ("date", numpy.array(["2020"], "M8[Y]")), \
            ("record", numpy.zeros(3, [("a", "f4")])), ("c16", numpy.zeros(2, "c16")):
        path = tools.path("odd.npy")
        numpy.save(path, a)
        done = subprocess.run([os.path.join(tools.bin, "amn-remember"), path], capture_output=True, check=False)
        tally.check(done.returncode == (77 if name == "object" else 69) and not done.stdout, f"{name} is refused")
    tally.finish()


sys.exit(main())
