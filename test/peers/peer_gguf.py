"""peer_gguf.py BIN FOLDER: decode GGUF files written by gguf with its own code, and with amn-remember."""
import json
import os
import sys

import gguf
import numpy
import torch
from gguf import GGMLQuantizationType as Type, GGUFValueType as Value
from gguf.quants import _type_traits, dequantize, quantize

from peers import Tally, Tools, load, same_bits

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from bench import BLOCKS  # noqa: E402: the offsets of the scales are listed once

ROWS, WIDTH = 1024, 1024                                # one million elements

# binary16: zeros, subnormals, one, largest, infinities, NaN, a negative.
AWKWARD = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E01, 0xFDFF, 0xA155]

# ---- blocks ----


def random_blocks(rng, dtype):
    """Random bytes."""
    elems, nbytes = gguf.GGML_QUANT_SIZES[dtype]
    return rng.integers(0, 256, (ROWS, WIDTH // elems * nbytes), dtype=numpy.uint8)


def scaled_blocks(rng, dtype, pick):
    """Random codes with the scales that pick(count) returns; with random ones if no scale is binary16."""
    data = random_blocks(rng, dtype)
    nbytes = gguf.GGML_QUANT_SIZES[dtype][1]
    blocks = data.reshape(-1, nbytes)
    for at in BLOCKS[dtype.name][3] if dtype.name in BLOCKS else ():
        blocks[:, at:at + 2] = pick(len(blocks)).astype("<u2").view(numpy.uint8).reshape(-1, 2)
    return data


def write(path, fill, **options):
    writer = gguf.GGUFWriter(path, "llama", **options)
    fill(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def expected(blocks, dtype, to):
    with numpy.errstate(all="ignore"):
        values = dequantize(blocks, dtype).astype(numpy.float32, copy=False)
    if to == "f32":
        return torch.from_numpy(values)
    return torch.from_numpy(quantize(values, Type.BF16).view(numpy.int16)).view(torch.bfloat16)


def check_type(tally, tools, rng, dtype):
    tensors = {
        "random.weight": random_blocks(rng, dtype),
        "usual.weight": scaled_blocks(rng, dtype, lambda n: rng.integers(0x1C00, 0x2800, n)),
        "awkward.weight": scaled_blocks(rng, dtype, lambda n: rng.choice(AWKWARD, n)),
    }
    source = tools.path("type.gguf")
    write(source, lambda w: [w.add_tensor(name, data, raw_dtype=dtype) for name, data in tensors.items()])
    for to in "f32", "bf16":
        for how, path in tools.remember(source, "--to", to):
            what = f"{dtype.name}, {to}, {how}"
            if not tally.check(path, f"{what}: the tool failed"):
                continue
            got = load(path)[0]
            for name, data in tensors.items():
                tally.check(same_bits(got.get(name), expected(data, dtype, to)), f"{what}: {name}")


# ---- unquantized tensors ----

def plain_tensors(rng):
    """Name: (array for the writer, its type, expected values)."""
    any_bytes = {name: rng.integers(0, 256, (6, 40 * size), dtype=numpy.uint8).view(dtype) for name, dtype, size in (
        ("F32", "f4", 4), ("F16", "f2", 2), ("F64", "f8", 8), ("I8", "i1", 1), ("I16", "i2", 2), ("I32", "i4", 4),
        ("I64", "i8", 8))}
    tensors = {f"{name.lower()}.weight": (a, None, torch.from_numpy(a.copy())) for name, a in any_bytes.items()}
    b = rng.integers(0, 256, (6, 80), dtype=numpy.uint8)
    tensors["bf16.weight"] = b, Type.BF16, torch.from_numpy(b.copy()).view(torch.bfloat16)
    one = numpy.array([2.5], dtype=numpy.float32)
    tensors["one"] = one, None, torch.from_numpy(one.copy())
    cube = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4)
    tensors["cube"] = cube, None, torch.from_numpy(cube.copy())
    return tensors


def exact_bits(got, want):
    """Bytes that are not changed: NaN keep their payload."""
    return got is not None and got.dtype == want.dtype and got.shape == want.shape \
        and torch.equal(got.reshape(-1).view(torch.uint8), want.reshape(-1).view(torch.uint8))


def check_plain(tally, tools, rng, **options):
    tensors = plain_tensors(rng)
    source = tools.path("plain.gguf")
    kind = ", ".join(f"{k} {v}" for k, v in options.items()) or "plain"
    big = options.get("endianess") == gguf.GGUFEndian.BIG
    if big:
        del tensors["bf16.weight"]                      # the writer does not swap bytes of a given type
    alignment = options.pop("alignment", None)

    def fill(w):
        if alignment:
            w.add_custom_alignment(alignment)
        for name, (array, dtype, _) in tensors.items():
            w.add_tensor(name, array.copy(), raw_dtype=dtype)

    write(source, fill, **options)
    for how, path in tools.remember(source):
        if tally.check(path, f"{kind}, {how}: the tool failed"):
            got = load(path)[0]
            tally.check(got.keys() == tensors.keys(), f"{kind}, {how}: names")
            for name, (_, _, want) in tensors.items():
                tally.check(exact_bits(got.get(name), want), f"{kind}, {how}: {name} passes unchanged")
    check_list(tally, tools, kind, source)


# ---- metadata and the list of tensors ----

METADATA = {
    "t.u8": (Value.UINT8, [0, 255]), "t.i8": (Value.INT8, [-128, 127]),
    "t.u16": (Value.UINT16, [0, 65535]), "t.i16": (Value.INT16, [-32768, 32767]),
    "t.u32": (Value.UINT32, [0, 2**32 - 1]), "t.i32": (Value.INT32, [-2**31, 2**31 - 1]),
    "t.u64": (Value.UINT64, [0, 2**53, 2**53 + 1, 2**64 - 1]), "t.i64": (Value.INT64, [-2**63, -2**53, 2**53 - 1, 7]),
    "t.f32": (Value.FLOAT32, [0.1, -0.0, 1e-45, 3.4028235e38, float("inf"), float("nan"), 16777216.0]),
    "t.f64": (Value.FLOAT64, [0.1, -1e-300, 5e-324, 1.7976931348623157e308, float("-inf"), 1 / 3]),
    "t.bool": (Value.BOOL, [True, False]),
    "t.str": (Value.STRING, ["a", "naïve Ω 日本 🙂", 'quote " back \\ slash',
                             "line\nbreak\ttab \x1b[31m \x7f", " "]),
}


def same_value(got, want, dtype):
    """Our JSON: integers beyond 2^53 are strings, infinity and NaN null."""
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) \
            and all(same_value(g, w, dtype) for g, w in zip(got, want))
    if dtype in (Value.FLOAT32, Value.FLOAT64):
        if not numpy.isfinite(want):
            return got is None
        width = numpy.float32 if dtype == Value.FLOAT32 else numpy.float64
        return isinstance(got, (int, float)) and width(got).tobytes() == width(want).tobytes()
    if dtype == Value.BOOL:
        return got is bool(want)
    if dtype != Value.STRING and abs(want) > 2**53:
        return got == str(want)
    return type(got) is type(want) and got == want


def check_metadata(tally, tools, **options):
    source = tools.path("metadata.gguf")

    def fill(w):
        for key, (dtype, values) in METADATA.items():
            for i, value in enumerate(values):
                w.add_key_value(f"{key}.{i}", value, dtype)
            w.add_key_value(f"{key}.array", values, Value.ARRAY, dtype)
            w.add_key_value(f"{key}.long", values * 40, Value.ARRAY, dtype)
        w.add_tensor("t", numpy.zeros(8, dtype=numpy.float32))

    write(source, fill, **options)
    text = tools.read("amn-inspect", "--json", "--arrays", source)
    kind = f"metadata {options or ''}"
    if not tally.check(text is not None, f"{kind}: the tool failed"):
        return
    got = json.loads(text, parse_int=lambda s: -0.0 if s == "-0" else int(s))["metadata"]
    fields = {k: f for k, f in gguf.GGUFReader(source).fields.items() if not k.startswith("GGUF.")}
    tally.check(list(got) == list(fields), f"{kind}: keys in the order of the file")
    for key, field in fields.items():
        tally.check(same_value(got.get(key), field.contents(), field.types[-1]),
                    f"{kind}: {key}: {got.get(key)!r} for {field.contents()!r}"[:300])


def check_list(tally, tools, kind, source):
    text = tools.read("amn-parse", "--json", source)
    if not tally.check(text is not None, f"{kind}: amn-parse failed"):
        return
    rows = [json.loads(line) for line in text.splitlines()]
    reader = gguf.GGUFReader(source)
    tally.check(len(rows) == len(reader.tensors), f"{kind}: tensors listed")
    for row, t in zip(rows, reader.tensors):
        ne = [int(n) for n in t.shape]
        got = [row[k] for k in ("name", "dtype", "ne", "shape", "offset", "nbytes")]
        want = [t.name, t.tensor_type.name, ne, ne[::-1], int(t.data_offset), int(t.n_bytes)]
        tally.check(got == want, f"{kind}: listed {got}, not {want}")


def check_list_of_types(tally, tools, rng, types):
    source = tools.path("types.gguf")

    def fill(w):
        for dtype in types:
            w.add_tensor(f"blk.{dtype.value}.weight", random_blocks(rng, dtype)[:3], raw_dtype=dtype)

    write(source, fill)
    check_list(tally, tools, "all types in one file", source)


def main():
    tally, tools, rng = Tally(), Tools(), numpy.random.default_rng(3)
    types = [t for t in _type_traits if t != Type.BF16]
    for dtype in types:
        check_type(tally, tools, rng, dtype)
    check_list_of_types(tally, tools, rng, types)
    check_plain(tally, tools, rng)
    check_plain(tally, tools, rng, alignment=128)
    check_plain(tally, tools, rng, endianess=gguf.GGUFEndian.BIG)
    check_metadata(tally, tools)
    check_metadata(tally, tools, endianess=gguf.GGUFEndian.BIG)
    tally.finish()


if __name__ == "__main__":
    main()
