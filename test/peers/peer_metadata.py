"""peer_metadata.py BIN FOLDER: compare keys of GGUF files made by gguf's writer, before and after amn-convert, byte for byte as
gguf's reader returns them; through safetensors, as the library reads and writes its metadata again; and keys from the command
line."""
import json
import os
import subprocess
import sys

import gguf
import numpy
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from peers import Tally, Tools

T = gguf.GGUFValueType
SCALARS = [(T.UINT8, [0, 255]), (T.INT8, [-128, 127]), (T.UINT16, [65535]), (T.INT16, [-32768]), (T.UINT32, [2 ** 32 - 1]),
           (T.INT32, [-2 ** 31]), (T.UINT64, [2 ** 64 - 1, 2 ** 53 + 1]), (T.INT64, [-2 ** 63, 2 ** 63 - 1]),
           (T.FLOAT32, [0.1, -0.0, 1e-45, float("inf"), float("-inf"), float("nan")]),
           (T.FLOAT64, [0.1, 5e-324, 1e308, float("inf"), float("nan")]), (T.BOOL, [True, False])]


def write_gguf(path, keys, arrays):
    """keys: (name, value, type) in order."""
    writer = gguf.GGUFWriter(path, "llama")
    for name, value, kind in keys:
        if kind == T.ARRAY:
            writer.add_array(name, value)
        else:
            writer.add_key_value(name, value, kind)
    for name, array in arrays.items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def fields(path):
    """Returns name, types and bytes of all keys, in order."""
    return [(name, [int(t) for t in f.types], b"".join(numpy.asarray(p).tobytes() for p in f.parts[2:]))
            for name, f in gguf.GGUFReader(path).fields.items() if not name.startswith("GGUF.")]


def convert(tools, source, target, *options):
    """Converts to a file, and through two pipes. Returns whether both are the same."""
    tool = os.path.join(tools.bin, "amn-convert")
    done = subprocess.run([tool, "-q", *options, "-o", target, source], check=False)
    with open(source, "rb") as f:
        to = os.path.splitext(target)[1][1:]
        piped = subprocess.run([tool, "-q", *options, "--to", to], stdin=f, stdout=subprocess.PIPE, check=False)
    with open(target, "rb") as f:
        return done.returncode == 0 and piped.returncode == 0 and f.read() == piped.stdout


def same(path, want):
    with open(path, "rb") as a, open(want, "rb") as b:
        return a.read() == b.read()


def random_keys(rng):
    """Every type, random bits in arrays, strings of all kinds."""
    keys = [(f"{kind.name.lower()}.{i}", value, kind) for kind, values in SCALARS for i, value in enumerate(values)]
    keys += [(f"text.{i}", text, T.STRING) for i, text in enumerate(["é\n\"\\", "\0", "12", "NaN", "\U00010348", " x "])]
    for name, dtype in ("f4", "<f4"), ("f8", "<f8"), ("i4", "<i4"), ("u8", "<u8"):
        bits = rng.integers(0, 256, (3000, numpy.dtype(dtype).itemsize), dtype="u1")
        keys.append((f"random.{name}", bits.view(dtype).reshape(-1), None))
    keys += [("strings", [f"tok{i} é" for i in range(500)], T.ARRAY), ("numbers", [1, -2, 3], T.ARRAY),
             ("reals", [0.5, 1e-7], T.ARRAY), ("flags", [True, False], T.ARRAY)]
    return keys


def with_bits(path, keys):
    """Arrays of random bits bypass the writer: Python's floats would lose those of NaN."""
    ids = {"<f4": T.FLOAT32, "<f8": T.FLOAT64, "<i4": T.INT32, "<u8": T.UINT64}
    plain = [k for k in keys if k[2] is not None]
    write_gguf(path, plain, {"w": numpy.arange(64, dtype="<f4")})
    with open(path, "rb") as f:
        raw = f.read()
    end = max(int(f.offset) + sum(numpy.asarray(p).nbytes for p in f.parts) for f in gguf.GGUFReader(path).fields.values())
    data = gguf.GGUFReader(path).data_offset
    more = b""
    for name, array, _ in (k for k in keys if k[2] is None):
        more += len(name).to_bytes(8, "little") + name.encode() + int(T.ARRAY).to_bytes(4, "little")
        more += int(ids[array.dtype.str]).to_bytes(4, "little") + len(array).to_bytes(8, "little") + array.tobytes()
    count = int.from_bytes(raw[16:24], "little") + sum(k[2] is None for k in keys)
    infos = raw[end:end + 8 + 1 + 4 + 8 + 4 + 8]
    head = raw[:16] + count.to_bytes(8, "little") + raw[24:end] + more + infos
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + raw[data:])


def check_keys(tally, tools, rng):
    source, to, mid, back = (tools.path(n) for n in ("keys.gguf", "to.gguf", "mid.safetensors", "back.gguf"))
    keys = random_keys(rng)
    with_bits(source, keys)
    want = fields(source)
    tally.check(len(want) == 1 + len(keys), "keys: all are read")
    tally.check(convert(tools, source, to) and same(to, source), "keys: GGUF to GGUF")
    tally.check(convert(tools, source, mid), "keys: GGUF to safetensors")
    tally.check(convert(tools, mid, back) and same(back, source) and fields(back) == want, "keys: and back")
    with safe_open(mid, framework="np") as f:
        metadata = f.metadata()
    for _ in range(5):      # the library writes them in an order that changes
        save_file(load_file(mid), tools.path("again.safetensors"), metadata)
        tally.check(convert(tools, tools.path("again.safetensors"), back) and sorted(fields(back)) == sorted(want),
                    "keys: the library has written them again")


def check_given(tally, tools):
    """The types that --gguf-metadata infers are those that llama.cpp's converters pass to the writer of gguf."""
    given = {"str": "é", "bool": True, "int": 7, "neg": -7, "real": 1e-5, "strs": ["a", "b"], "ints": [1, 2, -3],
             "reals": [0.5, 1.5], "bools": [True, False]}
    kinds = {"str": T.STRING, "bool": T.BOOL, "int": T.UINT32, "neg": T.INT32, "real": T.FLOAT32}
    source, target, want, file = (tools.path(n) for n in ("given.gguf", "got.gguf", "want.gguf", "keys.json"))
    array = {"w": numpy.arange(64, dtype="<f4")}
    write_gguf(source, [], array)
    write_gguf(want, [(k, v, kinds.get(k, T.ARRAY)) for k, v in given.items()] + [("kv", "x=y", T.STRING)], array)
    with open(file, "w", encoding="utf-8") as f:
        json.dump(given, f)
    tally.check(convert(tools, source, target, "--gguf-metadata", file, "--gguf-kv", "kv=x=y"), "given: file and pipe")
    tally.check(same(target, want), "given: the file of gguf's writer")
    for kind, values in SCALARS:
        name = "bool" if kind == T.BOOL else kind.name[0].lower() + kind.name.lstrip("UINTFLOA")
        finite = [v for v in values if v == v and abs(v) != float("inf")]
        with open(file, "w", encoding="utf-8") as f:
            json.dump({f"k{i}": {"type": name, "value": v} for i, v in enumerate(finite)}, f)
        write_gguf(want, [(f"k{i}", v, kind) for i, v in enumerate(finite)], array)
        tally.check(convert(tools, source, target, "--gguf-metadata", file) and same(target, want), f"given: {name}")
    with open(file, "w", encoding="utf-8") as f:
        json.dump({"general.alignment": 128}, f)
    tally.check(convert(tools, source, target, "--gguf-metadata", file), "alignment: file and pipe")
    got = gguf.GGUFReader(target)
    tally.check(got.alignment == 128 and got.data_offset % 128 == 0 and got.tensors[0].data.tobytes() == array["w"].tobytes(),
                "alignment: read")


def check_safetensors(tally, tools, rng):
    """With one key the file equals the library's; with more of them its reader returns the same."""
    source, target, want = (tools.path(n) for n in ("plain.safetensors", "to.safetensors", "want.safetensors"))
    tensors = {f"t{i}.{d}": rng.integers(0, 99, (3, i + 1)).astype(d) for i in range(4)
               for d in ("f4", "f2", "i8", "i1", "u2")}
    save_file(tensors, source, {"who": "me"})
    save_file(tensors, want, {"format": "pt"})
    tally.check(convert(tools, source, target, "--order", "name", "--no-metadata") and same(target, want),
                "order: the library's file")
    tally.check(convert(tools, source, target, "--metadata", "a=b=c", "--metadata", "who=é"), "metadata: file and pipe")
    with safe_open(target, framework="np") as f:
        tally.check(f.metadata() == {"who": "é", "format": "pt", "a": "b=c"}, "metadata: read")


def main():
    tally, tools = Tally(), Tools()
    rng = numpy.random.default_rng(12)
    check_keys(tally, tools, rng)
    check_given(tally, tools)
    check_safetensors(tally, tools, rng)
    tally.finish()


sys.exit(main())
