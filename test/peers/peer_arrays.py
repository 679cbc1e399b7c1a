"""peer_arrays.py BIN FOLDER [CASES]: compare random arrays and archives of numpy, and broken copies of them, with
numpy.load(allow_pickle=False). If both read a broken copy its arrays must be equal, and in any case: no crash, at most one
line of error, nothing written on refusal. The seed is fixed."""
import collections
import io
import json
import os
import random
import re
import subprocess
import sys
import warnings
import zlib

import ml_dtypes
import numpy

from peers import Tally, Tools

KINDS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8"]
STATUSES = {0, 65, 69, 75, 77}


def array(rng):
    shape = [rng.choice((0, 1, 2, 7)) if rng.random() < 0.3 else rng.randint(1, 6) for _ in range(rng.randint(0, 5))]
    dtype = numpy.dtype(rng.choice("<>") + rng.choice(KINDS))
    n = int(numpy.prod(shape))
    data = bytes(b & 1 for b in rng.randbytes(n)) if dtype.kind == "b" else rng.randbytes(n * dtype.itemsize)
    a = numpy.frombuffer(data, dtype).reshape(shape)
    if rng.random() < 0.1:
        a = numpy.frombuffer(rng.randbytes(n * 2), ml_dtypes.bfloat16).reshape(shape)
    return numpy.asfortranarray(a) if rng.random() < 0.4 else a.transpose(rng.sample(range(a.ndim), a.ndim)) if a.ndim else a


def name(rng):
    return rng.choice(["a", "é", "日本", "a.b", "/x", "..", "x.npy", "a/b", " ", "\x1b[0m", "w" * 300]) + str(rng.randint(0, 999))


def little(a):
    """Returns (type, shape, bytes) in order of rows, from the lowest byte."""
    kind = "bf16" if a.dtype == ml_dtypes.bfloat16 or a.dtype.str[1:] == "V2" else a.dtype.newbyteorder("<").str
    turned = a.astype(a.dtype.newbyteorder("<")) if a.dtype.byteorder == ">" else a
    return kind, a.shape, turned.tobytes()


TAGS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "bf16", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U64": "<u8",
        "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1", "C64": "<c8"}


def load(data):
    """Returns the same for a safetensors file."""
    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + n])
    header.pop("__metadata__", None)
    return {k: (TAGS[t["dtype"]], tuple(t["shape"]), data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]])
            for k, t in header.items()}


def run(tools, path, pipe):
    argv = [os.path.join(tools.bin, "amn-remember"), "-q"] + ([] if pipe else [path])
    with open(path if pipe else os.devnull, "rb") as f, subprocess.Popen(["cat"], stdin=f, stdout=subprocess.PIPE,
                                                                           stderr=subprocess.DEVNULL) as cat:
        return subprocess.run(argv, stdin=cat.stdout, capture_output=True, check=False, timeout=60)


def behaves(tally, done, what):
    error = done.stderr.decode("utf-8", "backslashreplace")
    tally.check(done.returncode in STATUSES, f"{what}: status {done.returncode} {error[:300]}")
    tally.check(error.count("\n") == (done.returncode != 0) and not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", error),
                f"{what}: error line {error[:300]!r}")
    tally.check(done.returncode == 0 or not done.stdout or re.search("CRC|deflate|compressed|inflate|end", error),
                f"{what}: output of {len(done.stdout)} bytes, then {error[:200]}")


def save(rng, arrays, alone=False):
    """Returns the bytes of one array or an archive, and whether it is an archive."""
    f = io.BytesIO()
    kind = 0 if alone else rng.randrange(4)
    if kind == 0:
        first = next(iter(arrays))
        numpy.lib.format.write_array(f, arrays[first], version=rng.choice([(1, 0), (2, 0), (3, 0), None]))
        return f.getvalue(), {"arr_0": arrays[first]}, False
    if kind == 3:                       # a stream that is not seekable
        f.seekable = lambda: False
        f.tell = f.seek = None

        class Stream(io.RawIOBase):
            def writable(self):
                return True

            def write(self, b):
                return f.write(b)
        numpy.savez(Stream(), **arrays)
    else:
        (numpy.savez, numpy.savez_compressed)[kind - 1](f, **arrays)
    return f.getvalue(), arrays, True


def good(tally, tools, cases):
    path = tools.path("array.npz")
    for seed in range(cases):
        rng = random.Random(seed)
        arrays = {name(rng): array(rng) for _ in range(rng.randint(1, 6))}
        if seed % 8 == 1:
            arrays["pad"] = numpy.zeros(1_300_000, "u1")
        data, arrays, _ = save(rng, arrays)
        with open(path, "wb") as f:
            f.write(data)
        for pipe in False, True:
            done = run(tools, path, pipe)
            what = f"arrays {seed}, {'pipe' if pipe else 'file'}"
            behaves(tally, done, what)
            if tally.check(done.returncode == 0, f"{what}: {done.stderr[:300]}"):
                got = load(done.stdout)
                want = {k: little(v) for k, v in arrays.items()}
                tally.check(got == want, f"{what}: other arrays {[k for k in {**got, **want} if got.get(k) != want.get(k)][:3]}")


def theirs(path):
    """Returns numpy's result: name -> array, or a text if it refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            a = numpy.load(path, allow_pickle=False)
            return {"arr_0": a} if isinstance(a, numpy.ndarray) else {k: a[k] for k in a.files}
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def broken(tally, tools, cases):
    path = tools.path("broken.npz")
    for seed in range(cases):
        rng = random.Random(10**6 + seed)
        arrays = {"a": numpy.arange(12, dtype="<f4").reshape(3, 4), "b": numpy.asfortranarray(numpy.arange(24, dtype=">i2")
                  .reshape(2, 3, 4)), "c": numpy.array(7.5)}
        if seed % 9 == 1:
            arrays["pad"] = numpy.zeros(1_300_000, "u1")
        data, _, archive = save(rng, arrays, rng.random() < 0.5)
        out = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(out) if len(out) < 10**5 else 1000)
            if rng.random() < 0.7:      # more often in bytes that are read
                at = min(len(out) - 1, rng.choice([0, max(0, len(out) - 400)] if archive else [0]) + rng.randrange(400 if archive else 128))
            how = rng.randrange(3)
            out[at] = (out[at] ^ 1 << rng.randrange(8), rng.choice(b"0123456789()<>|=',: {}#LTFfui\n"), rng.randrange(256))[how]
        with open(path, "wb") as f:
            f.write(out)
        what = f"broken {seed}"
        want = theirs(path)
        one, two = (run(tools, path, pipe) for pipe in (False, True))
        for done, way in (one, "file"), (two, "pipe"):
            behaves(tally, done, f"{what}, {way}")
        tally.check(one.returncode == two.returncode and (one.returncode or one.stdout == two.stdout),
                    f"{what}: file {one.returncode} {one.stderr[:200]}, pipe {two.returncode} {two.stderr[:200]}")
        judge(tally, what, want, one)


def judge(tally, what, want, done):
    if done.returncode == 0 and isinstance(want, dict):
        tally.both += 1
        got = load(done.stdout)
        want = {k: little(v) for k, v in want.items() if isinstance(v, numpy.ndarray)}
        tally.check(got == want, f"{what}: other arrays: {got} and {want}"[:600])
    elif done.returncode == 0:
        tally.check(False, f"{what}: numpy refuses it: {want[:200]}")
    elif isinstance(want, dict):
        text = re.sub(r"\d+", "N", re.sub(r".*?: ", "", done.stderr.decode("utf-8", "replace").strip(), count=2))[:110]
        tally.less[text] += 1
        tally.shown.setdefault(text, what)


def main():
    tally, tools = Tally(), Tools()
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    tally.both, tally.less, tally.shown = 0, collections.Counter(), {}
    good(tally, tools, cases)
    broken(tally, tools, cases)
    print(f"broken copies that both read: {tally.both}")
    for text, n in tally.less.most_common():
        print(f"only numpy reads: {n} x {text} [{tally.shown[text]}]")
    tally.finish()


main()
