"""peer_convert.py BIN FOLDER: read the output of amn-convert with numpy, with gguf's own reader and with safetensors; and
compare NPZ with numpy's own output to a pipe."""
import io
import itertools
import json
import os
import subprocess
import sys

import gguf
import ml_dtypes
import numpy
from safetensors.numpy import load_file, save_file

from peers import Tally, Tools

KINDS = ["?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8"]
SHAPES = [(), (0,), (7,), (3, 5), (2, 3, 4), (5, 0, 2), (300, 400), (1,) * 33]
HELD_BY_GGUF = {"i1", "<i2", "<i4", "<i8", "<f2", "<f4", "<f8"}


class Pipe(io.RawIOBase):
    """A stream that is not seekable."""

    def __init__(self):
        super().__init__()
        self.written = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.written += bytes(data)
        return len(bytes(data))


def random_array(rng, kind, shape):
    dtype = numpy.dtype(kind)
    count = int(numpy.prod(shape))
    if kind == "?":
        return rng.integers(0, 2, shape).astype("?")
    return numpy.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(shape).copy()


def arrays(rng):
    for kind, shape in itertools.product(KINDS, SHAPES):
        yield f"{kind.strip('<')}.é/{'x'.join(map(str, shape))}", random_array(rng, kind, shape)
    yield "bf16", rng.standard_normal((6, 7)).astype(ml_dtypes.bfloat16)
    yield "large", rng.standard_normal((1500, 700)).astype("<f4")


def same(got, want):
    return got.shape == want.shape and got.dtype == want.dtype and got.tobytes() == want.tobytes()


def convert(tools, source, target, *options):
    """Converts to a file, and through two pipes. Returns whether both are the same."""
    tool = os.path.join(tools.bin, "amn-convert")
    done = subprocess.run([tool, "-q", *options, "-o", target, source], check=False)
    with open(source, "rb") as f:
        piped = subprocess.run([tool, "-q", *options], stdin=f, stdout=subprocess.PIPE, check=False)
    with open(target, "rb") as f:
        return done.returncode == 0 and piped.returncode == 0 and f.read() == piped.stdout


def later_python(raw, members):
    """Rewrites the headers of an archive like Python from 3.11.4 on."""
    raw = bytearray(raw)
    at = raw.rfind(b"PK\5\6")
    at = int.from_bytes(raw[at + 16:at + 20], "little")
    for _ in range(members):
        local = int.from_bytes(raw[at + 42:at + 46], "little")
        raw[local + 4] = raw[at + 4] = raw[at + 6] = 45
        raw[local + 18:local + 26] = b"\xff" * 8
        at += 46 + int.from_bytes(raw[at + 28:at + 30], "little") + int.from_bytes(raw[at + 30:at + 32], "little")
    return bytes(raw)


def check_npz(tally, tools, source, want):
    target = tools.path("to.npz")
    if not tally.check(convert(tools, source, target, "--to", "npz"), "npz: file and pipe"):
        return
    with numpy.load(target) as got:
        tally.check(list(got) == list(want), "npz: names, in order")
        for name, array in want.items():
            back = got[name].view(ml_dtypes.bfloat16) if got[name].dtype.kind == "V" else got[name]
            tally.check(same(back, array), f"npz: {name}")
    pipe = Pipe()
    numpy.savez(pipe, **want)
    with open(target, "rb") as f:
        tally.check(f.read() == later_python(pipe.written, len(want)), "npz: the bytes of np.savez")


def check_npy(tally, tools, source, want):
    for name in list(want)[::5] + ["bf16"]:
        target, saved = tools.path("to.npy"), io.BytesIO()
        numpy.save(saved, want[name])
        tally.check(convert(tools, source, target, "--to", "npy", "--tensor", name), f"npy: {name}: file and pipe")
        with open(target, "rb") as f:
            tally.check(f.read() == saved.getvalue(), f"npy: {name}: the bytes of np.save")


def check_gguf(tally, tools, rng):
    want = {f"{kind.strip('<')}.{len(shape)}": random_array(rng, kind, shape)
            for kind, shape in itertools.product(sorted(HELD_BY_GGUF), [(7,), (3, 5), (2, 3, 4), (2, 1, 3, 32)])}
    source, target = tools.path("held.safetensors"), tools.path("to.gguf")
    save_file(want, source)
    tally.check(convert(tools, source, target, "--to", "gguf"), "gguf: file and pipe")
    got = {t.name: t for t in gguf.GGUFReader(target).tensors}
    tally.check(set(got) == set(want), "gguf: names")
    for name, array in want.items():
        tally.check(name in got and [int(n) for n in got[name].shape] == list(array.shape[::-1])
                    and same(numpy.asarray(got[name].data), array), f"gguf: {name}")
    back = tools.path("back.safetensors")
    tally.check(convert(tools, target, back, "--to", "safetensors"), "gguf to safetensors")
    got = load_file(back)
    tally.check(set(got) == set(want) and all(same(got[n], want[n]) for n in want), "gguf to safetensors: values")


def check_keys(tally, tools):
    """A GGUF file with all types of keys keeps them."""
    source, target = tools.path("keys.gguf"), tools.path("kept.gguf")
    writer = gguf.GGUFWriter(source, "llama")
    for name, value in ("uint8", 200), ("int8", -3), ("uint16", 60000), ("int16", -3), ("uint32", 1 << 31), ("int32", -9), \
            ("uint64", 1 << 63), ("int64", -1 << 60), ("float32", 0.1), ("float64", 0.1), ("bool", True):
        getattr(writer, "add_" + name)("key." + name, value)
    writer.add_string("key.string", "é")
    writer.add_array("key.strings", ["a", "", "é"])
    writer.add_array("key.numbers", [1, 2, -3])
    writer.add_tensor("w", numpy.arange(64, dtype="<f4"))
    writer.add_tensor("q", numpy.arange(34, dtype="u1").reshape(1, 34), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tally.check(convert(tools, source, target, "--to", "gguf", "--dtype", "f32"), "keys: file and pipe")
    was, is_ = gguf.GGUFReader(source).fields, gguf.GGUFReader(target).fields
    for name, field in was.items():
        if not name.startswith("GGUF."):
            tally.check(name in is_ and is_[name].types == field.types and is_[name].contents() == field.contents(),
                        f"keys: {name}")
    tally.check([n for n in was if n[:5] != "GGUF."] + ["general.file_type"] == [n for n in is_ if n[:5] != "GGUF."],
                "keys: no other but the types that are new")
    got = {t.name: t for t in gguf.GGUFReader(target).tensors}
    want = gguf.quants.dequantize(numpy.arange(34, dtype="u1").reshape(1, 34), gguf.GGMLQuantizationType.Q8_0)
    tally.check(same(numpy.asarray(got["q"].data).reshape(1, 32), want.astype("<f4")), "keys: a decoded tensor")


def main():
    tally, tools = Tally(), Tools()
    rng = numpy.random.default_rng(12)
    source = tools.path("from.safetensors")
    made = dict(arrays(rng))
    save_file(made, source)
    listed = [json.loads(line)["name"] for line in tools.read("amn-parse", source).splitlines()]
    want = {name: made[name] for name in listed}
    check_npz(tally, tools, source, want)
    check_npy(tally, tools, source, want)
    check_gguf(tally, tools, rng)
    check_keys(tally, tools)
    tally.finish()


sys.exit(main())
