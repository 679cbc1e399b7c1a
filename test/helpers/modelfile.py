"""Model files, written and read by hand: all builders of the tests use this.

In Python code of a bats file or helper: `from modelfile import safetensors, read`. A tensor is (name, dtype, shape, data); if
data is a number, there are that many zero bytes.
"""
import json, math, os, struct

BITS = {"U8": 8, "I8": 8, "BOOL": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F16": 16, "BF16": 16, "I16": 16, "U16": 16, "F32": 32,
        "I32": 32, "U32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64, "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}


def header(entries, metadata=None):
    """Returns the header of a safetensors file. entries: (name, dtype, shape, begin, end)."""
    top = {"__metadata__": metadata} if metadata is not None else {}
    top.update({name: {"dtype": d, "shape": s, "data_offsets": [a, b]} for name, d, s, a, b in entries})
    text = json.dumps(top, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def laid_out(tensors):
    """Returns the entries of contiguous tensors."""
    at = 0
    for name, dtype, shape, data in tensors:
        end = at + (data if isinstance(data, int) else len(data))
        assert dtype not in BITS or end - at == math.prod(shape) * BITS[dtype] // 8, name
        yield name, dtype, list(shape), at, end
        at = end


def safetensors(tensors, metadata=None):
    return header(laid_out(tensors), metadata) + b"".join(bytes(t[3]) for t in tensors)


def write(path, tensors, metadata=None):
    with open(path, "wb") as f:
        f.write(safetensors(tensors, metadata))


def write_hole(path, tensors, metadata=None):
    """Writes tensors whose data are numbers, as a hole in the file."""
    with open(path, "wb") as f:
        f.write(header(laid_out(tensors), metadata))
        f.truncate(f.tell() + sum(t[3] for t in tensors))


def write_shards(folder, shards):
    """Writes a folder of shards, each with the arguments of write_hole() after the path, and their index."""
    os.makedirs(folder)
    names = ["model-%05d-of-%05d.safetensors" % (i + 1, len(shards)) for i in range(len(shards))]
    for name, shard in zip(names, shards):
        write_hole(os.path.join(folder, name), *shard)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
        json.dump({"weight_map": {t[0]: name for name, shard in zip(names, shards) for t in shard[0]}}, f)


def read_header(data):
    """Returns the header of a safetensors file, and the offset of its data."""
    start = 8 + struct.unpack_from("<Q", data)[0]
    return json.loads(data[8:start]), start


def read(file):
    """Returns the tensors of a safetensors file, a path or its bytes: {name: (dtype, shape, bytes)}, in the order of the
    header."""
    if not isinstance(file, bytes):
        with open(file, "rb") as f:
            file = f.read()
    top, start = read_header(file)
    return {k: (t["dtype"], t["shape"], file[start + t["data_offsets"][0]:start + t["data_offsets"][1]])
            for k, t in top.items() if k != "__metadata__"}


def floats(tensor):
    """Returns the values of a tensor of F32, F16 or BF16."""
    dtype, _, data = tensor
    if dtype == "BF16":
        data = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
    form, size = ("e", 2) if dtype == "F16" else ("f", 4)
    return struct.unpack("<%d%s" % (len(data) // size, form), data)


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


# GGUF types: number, elements of a block, its bytes.
GGUF_TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144),
              "Q6_K": (14, 256, 210), "BF16": (30, 1, 2)}
GGUF_VALUES = {"u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"), "i32": (5, "i"),
               "f32": (6, "f"), "bool": (7, "?"), "str": (8, None), "arr": (9, None), "u64": (10, "Q"), "i64": (11, "q"),
               "f64": (12, "d")}


def gguf_string(s, order="<"):
    b = s if isinstance(s, bytes) else s.encode("utf-8", "surrogateescape")
    return struct.pack(order + "Q", len(b)) + b


def gguf_value(kind, v, order="<"):
    """kind: a key of GGUF_VALUES; for an array, v is (kind of its elements, elements). Bytes are written unchanged."""
    if kind == "str":
        return gguf_string(v, order)
    if isinstance(v, bytes):
        return v
    if kind == "arr":
        of, items = v
        return struct.pack(order + "IQ", GGUF_VALUES[of][0], len(items)) + b"".join(gguf_value(of, i, order) for i in items)
    return struct.pack(order + GGUF_VALUES[kind][1], v)


def gguf_key(key, kind, v, order="<"):
    return gguf_string(key, order) + struct.pack(order + "I", GGUF_VALUES[kind][0]) + gguf_value(kind, v, order)


def gguf_info(name, number, shape, at, order="<"):
    """Returns one tensor of the header: the number of its type, its shape in row-major order, its offset in the data."""
    return gguf_string(name, order) + struct.pack(order + "I%dQIQ" % len(shape), len(shape), *shape[::-1], number, at)


def gguf(keys, tensors=(), version=3, align=32, tail=True, order="<", magic=b"GGUF"):
    """keys: (key, kind, value), as for gguf_value(); tensors: type is a key of GGUF_TYPES, or a number. tail: the last
    tensor is padded too."""
    infos, data = b"", b""
    for i, (name, kind, shape, raw) in enumerate(tensors):
        number = kind
        if kind in GGUF_TYPES:
            number, elems, nbytes = GGUF_TYPES[kind]
            assert len(raw) == math.prod(shape) // elems * nbytes, name
        infos += gguf_info(name, number, shape, len(data), order)
        data += raw + (b"\0" * (-len(raw) % align) if tail or i + 1 < len(tensors) else b"")
    out = magic + struct.pack(order + "IQQ", version, len(tensors), len(keys))
    out += b"".join(gguf_key(*key, order) for key in keys) + infos
    return out + b"\0" * (-len(out) % align) + data


def npy(descr, shape, data=b"", fortran=False):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, tuple(shape))
    text += " " * (-(11 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + data
