"""peer_blocks.py BIN FOLDER [TYPE...]: compare blocks of amn-forget with ggml_quantize_chunk of llama.cpp's library, byte
for byte: every type, with many kinds of values and importance, including sparse importance; data that
ggml_validate_row_data rejects must be refused. Needs libggml-base, as llama-cpp-python installs it."""
import ctypes
import os
import subprocess
import sys

import llama_cpp
import numpy

from peer_quantize import read, write_dat
from tools import Tally, Tools

GGML = ctypes.CDLL(os.path.join(os.path.dirname(llama_cpp.__file__), "lib", "libggml-base.so"))
GGML.ggml_quantize_chunk.restype = ctypes.c_size_t
GGML.ggml_quantize_chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
GGML.ggml_validate_row_data.restype = ctypes.c_bool
GGML.ggml_validate_row_data.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]

TYPES = {"q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "q2_k": 10, "q3_k": 11, "q4_k": 12, "q5_k": 13, "q6_k": 14,
         "iq2_xxs": 16, "iq2_xs": 17, "iq3_xxs": 18, "iq1_s": 19, "iq4_nl": 20, "iq3_s": 21, "iq2_s": 22, "iq4_xs": 23,
         "iq1_m": 29, "tq1_0": 34, "tq2_0": 35, "mxfp4": 39, "nvfp4": 40, "q1_0": 41, "q2_0": 42}
NEED = {"iq2_xxs", "iq2_xs", "iq1_s"}
COLS = 512


def values(rng):
    rows = 16
    yield "normal", (0.05 * rng.standard_normal((rows, COLS))).astype("<f4")
    yield "heavy", (rng.standard_normal((rows, COLS)) ** 5).astype("<f4")
    yield "small integers", rng.integers(-4, 5, (rows, COLS)).astype("<f4")
    yield "halves", (rng.integers(-16, 17, (rows, COLS)) * 0.5).astype("<f4")
    yield "mostly zero", (rng.standard_normal((rows, COLS)) * (rng.random((rows, COLS)) < 0.1)).astype("<f4")
    yield "gaps", (rng.standard_normal((rows, COLS)) * (numpy.arange(COLS) // 16 % 3 != 1)).astype("<f4")
    yield "half precision", (0.05 * rng.standard_normal((rows, COLS))).astype("<f2").astype("<f4")


def importances(rng):
    yield "dense", rng.random(COLS) ** 4 + 1e-3
    for share in 0.5, 0.2, 0.05, 0.01:
        yield f"{share} of the columns", rng.random(COLS) * (rng.random(COLS) < share)
    yield "half of the groups", rng.random(COLS) * (numpy.arange(COLS) // 32 % 2)
    yield "every second", rng.random(COLS) * (numpy.arange(COLS) % 2)
    yield "one in 32", 3.0 * (numpy.arange(COLS) % 32 == 5)
    yield "none at all", numpy.zeros(COLS)


def large(rng):
    """Returns values whose scales overflow binary16, or nearly."""
    for size in 1e3, 5e4, 1e6, 1e9, 1e15:
        x = rng.standard_normal((3, COLS)).astype("<f4")
        x[1] *= size
        yield f"of {size:g}", x


def theirs(kind, x, weights):
    """Returns the blocks, and whether they are valid."""
    x, y = numpy.ascontiguousarray(x), numpy.zeros(x.size * 2, "u1")
    where = weights.ctypes.data if weights is not None else None
    n = GGML.ggml_quantize_chunk(kind, x.ctypes.data, y.ctypes.data, 0, x.shape[0], x.shape[1], where)
    return y[:n].tobytes(), GGML.ggml_validate_row_data(kind, y.ctypes.data, n)


def theirs_apart(kind, x, weights):
    """Does the same in a separate process. Returns None if the library ends it."""
    r, w = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        blocks, ok = theirs(kind, x, weights)
        with os.fdopen(w, "wb") as f:
            f.write(bytes([ok]) + blocks)
        os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as f:
        got = f.read()
    os.waitpid(child, 0)
    return (got[1:], bool(got[0])) if got else None


def write_safetensors(path, arrays):
    at, entries = 0, []
    for name, x in arrays:
        entries.append(f'"{name}":{{"dtype":"F32","shape":[{x.shape[0]},{x.shape[1]}],"data_offsets":[{at},{at + x.nbytes}]}}')
        at += x.nbytes
    header = ("{" + ",".join(entries) + "}").encode()
    with open(path, "wb") as f:
        f.write(len(header).to_bytes(8, "little") + header)
        for _, x in arrays:
            f.write(x.tobytes())


def mine(tools, name, arrays, weights):
    source, target, dat = tools.path("in.safetensors"), tools.path("mine.gguf"), tools.path("imatrix.dat")
    write_safetensors(source, arrays)
    command = [os.path.join(tools.bin, "amn-forget"), "-q", "--pure", "--to", "gguf", "--scheme", name, "-o", target, source]
    if weights:
        write_dat(dat, weights)
        command += ["--imatrix", dat]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE)
    return done.returncode, done.stderr.decode(), read(target)[0] if done.returncode == 0 else {}


def check_bytes(tally, tools, name):
    rng = numpy.random.default_rng(23)
    cases = [(f"{v}, {i}", x, w.astype("<f4")) for v, x in values(rng) for i, w in importances(rng)]
    for given in (True,) if name in NEED else (True, False):
        todo = cases if given else cases[::9]
        arrays = [(f"w{i}.weight", x) for i, (_, x, _) in enumerate(todo)]
        status, text, got = mine(tools, name, arrays, [(f"w{i}.weight", w) for i, (_, _, w) in enumerate(todo)] if given else None)
        if not tally.check(status == 0, f"{name}: status {status}: {text}"):
            continue
        for i, (what, x, w) in enumerate(todo):
            other = theirs(TYPES[name], x, w if given else None)
            blocks = got[f"w{i}.weight"][1]
            tally.check(other and blocks.ljust(len(other[0]), b"\0") == other[0], f"{name}: {what}{'' if given else ', alone'}")


def check_large(tally, tools, name):
    rng = numpy.random.default_rng(7)
    for what, x in large(rng):
        w = rng.random(COLS).astype("<f4") + 0.1
        for given in (True,) if name in NEED else (True, False):
            other = theirs_apart(TYPES[name], x, w if given else None)
            status, text, got = mine(tools, name, [("w.weight", x)], [("w.weight", w)] if given else None)
            if other and other[1]:
                tally.check(status == 0 and got["w.weight"][1].ljust(len(other[0]), b"\0") == other[0], f"{name} {what}: {status} {text}")
            else:
                tally.check(status == 69 and "row 1" in text and "w.weight" in text, f"{name} {what}: not refused: {status} {text}")


def main():
    tally, tools = Tally(), Tools()
    os.environ["GGML_NO_BACKTRACE"] = "1"
    for name in sys.argv[3:] or TYPES:
        check_bytes(tally, tools, name)
        check_large(tally, tools, name)
    tally.finish()


if __name__ == "__main__":
    main()
