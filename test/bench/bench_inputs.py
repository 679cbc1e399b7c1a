"""The inputs of bench.py: files of each container, made of a few random bytes."""
import functools
import json
import os
import pickle
import random
import struct
import sys
import tempfile
import types
import zipfile

from bench_clock import Failed

MIB = 1 << 20

# ---- inputs: made from a few random bytes, repeated, because random bytes for half a GiB take longer than the bench ----
#
# Files written by Python have smaller pieces in the page cache and are read at half the speed, so inputs are copied by cp.

# Block types of GGUF: id, elements, bytes, offsets of the binary16 fields. Interleaved blocks count together.
BLOCKS = {
    "Q4_0": (2, 32, 18, (0,)), "Q4_1": (3, 32, 20, (0, 2)), "Q5_0": (6, 32, 22, (0,)), "Q5_1": (7, 32, 24, (0, 2)),
    "Q8_0": (8, 32, 34, (0,)), "Q8_1": (9, 32, 36, (0, 2)), "Q2_K": (10, 256, 84, (80, 82)),
    "Q3_K": (11, 256, 110, (108,)), "Q4_K": (12, 256, 144, (0, 2)), "Q5_K": (13, 256, 176, (0, 2)),
    "Q6_K": (14, 256, 210, (208,)), "Q8_K": (15, 256, 292, ()), "IQ2_XXS": (16, 256, 66, (0,)),
    "IQ2_XS": (17, 256, 74, (0,)), "IQ3_XXS": (18, 256, 98, (0,)), "IQ1_S": (19, 256, 50, (0,)),
    "IQ4_NL": (20, 32, 18, (0,)), "IQ3_S": (21, 256, 110, (0,)), "IQ2_S": (22, 256, 82, (0,)),
    "IQ4_XS": (23, 256, 136, (0,)), "IQ1_M": (29, 256, 56, ()), "TQ1_0": (34, 256, 54, (52,)),
    "TQ2_0": (35, 256, 66, (64,)), "MXFP4": (39, 32, 17, ()), "NVFP4": (40, 64, 36, ()), "Q1_0": (41, 128, 18, (0,)),
    "Q2_0": (42, 64, 18, (0,)), "F8_E4M3": (43, 1, 1, ()), "F8_E5M2": (44, 1, 1, ()),
    # of forks
    "Q6_0": (133, 32, 26, (0,)), "IQ2_K": (137, 256, 76, (0,)), "IQ3_K": (138, 256, 110, (0,)), "IQ4_K": (139, 256, 144, (0,)),
    "IQ5_K": (140, 256, 176, (0,)), "IQ6_K": (141, 256, 212, (0,)), "PQ2_0": (142, 128, 34, (0,)),
    "PTQ1_0": (143, 128, 28, (26,)), "IQ4_KS": (144, 256, 136, ()), "IQ2_KS": (145, 256, 70, ()), "IQ4_KSS": (146, 256, 128, ()),
    "IQ5_KS": (152, 256, 168, ()), "IQ2_KT": (153, 256, 68, ()), "IQ3_KT": (154, 256, 100, ()), "IQ4_KT": (155, 256, 128, ()),
    "IQ3_KS": (156, 256, 102, ()), "IQ2_KL": (157, 256, 86, ()), "IQ1_KT": (158, 256, 56, ()),
    "IQ1_S_R4": (219, 128, 24, ()), "IQ1_M_R4": (229, 128, 28, ()), "IQ2_K_R4": (337, 1024, 304, (0, 2, 4, 6)),
    "IQ3_K_R4": (338, 1024, 440, (0, 2, 4, 6)), "IQ4_K_R4": (339, 1024, 576, (0, 2, 4, 6)),
    "IQ5_K_R4": (340, 1024, 704, (0, 2, 4, 6)), "IQ4_KS_R4": (344, 1024, 544, ()), "IQ5_KS_R4": (352, 1024, 672, ()),
}
# The factors before each row: all of those that are interleaved
PREFIXES = {
    **{t: struct.pack("<f", 1e-4) for t in ("IQ4_KS", "IQ4_KSS", "IQ5_KS", "IQ1_KT", "IQ2_KT", "IQ3_KT", "IQ4_KT")},
    **{t: struct.pack("<e", 1e-3) for t in ("IQ2_KS", "IQ3_KS", "IQ2_KL")},
    **{t: 4 * struct.pack("<f", 1e-4) for t in ("IQ4_KS_R4", "IQ5_KS_R4")},
    **{t: 4 * struct.pack("<e", 1e-3) for t in ("IQ1_S_R4", "IQ1_M_R4")},
}
FIRST = ("Q4_K", "Q6_K", "Q8_0", "IQ4_XS")              # S1; in every run
FAST = ("MXFP4", "NVFP4", "Q6_0", "IQ4_K", "IQ4_KS", "IQ5_K", "PQ2_0")    # S3; the other types are S4

# The matrices of one layer of a 7 B model; their outputs are 256 MiB in BF16.
LAYER = {"attn_q": (4096, 4096), "ffn_up": (14336, 4096), "ffn_down": (4096, 14336)}
LAYER_OUT = 2 * sum(r * c for r, c in LAYER.values())
WIDTH = 4096


def sane_blocks(dtype, count=4096):
    """Returns random blocks whose scales have realistic values, not infinity or NaN."""
    _, _, nbytes, halves = BLOCKS[dtype]
    rng = random.Random(dtype)
    data = bytearray(rng.randbytes(count * nbytes))
    for block in range(0, len(data), nbytes):
        for at in halves:
            struct.pack_into("<H", data, block + at, rng.randrange(0x1C00, 0x2800))
        if dtype == "Q8_K":
            struct.pack_into("<f", data, block, rng.uniform(0.001, 0.01))
        elif dtype == "IQ1_M":                          # the scale is in the top nibbles of four words
            data[block + 55] = 0x20 | data[block + 55] & 15
        elif dtype == "MXFP4":
            data[block] = rng.randrange(110, 125)
        elif dtype == "NVFP4":
            for at in range(4):
                data[block + at] = rng.randrange(0x20, 0x60)
    return bytes(data)


def recopy(path):
    """Puts a file into the page cache like a user's copy of it."""
    made = path + ".made"
    os.rename(path, made)
    pid = os.posix_spawnp("cp", ["cp", made, path], os.environ)
    if os.waitpid(pid, 0)[1] != 0:
        raise Failed(f"cp {made} {path} failed")
    os.unlink(made)
    os.sync()                                           # its writeback would disturb the next row


def write_repeated(f, unit, n):
    for _ in range(n // len(unit)):
        f.write(unit)
    f.write(unit[:n % len(unit)])


def write_safetensors(path, tensors):
    """Tensors are (name, dtype, shape, unit, n): `unit` repeated to n bytes. Returns the bytes of the header."""
    header, at = {}, 0
    for name, dtype, shape, _, n in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, _, _, unit, n in tensors:
            write_repeated(f, unit, n)
    recopy(path)
    return 8 + len(text)


def make_fp8(path, layers):
    """Fine-grained FP8: E4M3 codes, one F32 scale for 128 x 128 of them. Returns the bytes of the header."""
    tensors = []
    rng = random.Random(8)
    codes = rng.randbytes(MIB).translate(bytes(c - 1 if c & 0x7F == 0x7F else c for c in range(256)))   # no NaN
    scales = struct.pack("<4096f", *(rng.uniform(1e-4, 1e-3) for _ in range(4096)))
    norm = struct.pack("<H", 0x3F80)

    for i in range(layers):
        tensors.append((f"layers.{i}.norm.weight", "BF16", [WIDTH], norm, 2 * WIDTH))
        for name, (rows, cols) in LAYER.items():
            grid = [rows // 128, cols // 128]
            tensors.append((f"layers.{i}.{name}.weight", "F8_E4M3", [rows, cols], codes, rows * cols))
            tensors.append((f"layers.{i}.{name}.weight_scale_inv", "F32", grid, scales, 4 * grid[0] * grid[1]))
    return write_safetensors(path, tensors)


def make_gptq(path, nbytes, out, in_):
    """GPTQ, 4 bits in groups of 128, with enough matrices for an output of about nbytes."""
    rng = random.Random(4)
    codes, group = rng.randbytes(MIB + 4), 128
    scales = struct.pack("<4099e", *(rng.uniform(1e-3, 1e-2) for _ in range(4099)))
    zeros = struct.pack("<I", 0x77777777) * 1024
    tensors = []
    for i in range(max(1, nbytes // (2 * out * in_))):
        groups = in_ // group
        tensors += [(f"layers.{i}.qweight", "I32", [in_ // 8, out], codes, in_ * out // 2),
                    (f"layers.{i}.qzeros", "I32", [groups, out // 8], zeros, groups * out // 2),
                    (f"layers.{i}.scales", "F16", [groups, out], scales, groups * out * 2)]
    return write_safetensors(path, tensors)


def make_shards(folder, shards, each):
    """A model of tiny tensors. Returns the path of its index."""
    os.makedirs(folder)
    listed = {}
    for i in range(shards):
        name = f"model-{i + 1:05}-of-{shards:05}.safetensors"
        names = [f"model.layers.{i}.mlp.experts.{k // 2}.{('gate_proj', 'up_proj')[k % 2]}.weight" for k in range(each)]
        header = {n: {"dtype": "BF16", "shape": [2, 4], "data_offsets": [16 * k, 16 * k + 16]} for k, n in enumerate(names)}
        text = json.dumps(header, separators=(",", ":")).encode()
        with open(os.path.join(folder, name), "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text + bytes(16 * each))
        listed.update(dict.fromkeys(names, name))
    index = os.path.join(folder, "model.safetensors.index.json")
    with open(index, "w") as f:
        json.dump({"metadata": {}, "weight_map": listed}, f, indent=2)
    return index


def write_archive(path, members):
    """A ZIP archive, nothing deflated; members are (name, head, unit, n): the head, then `unit` repeated to n bytes."""
    with zipfile.ZipFile(path, "w", allowZip64=True) as z:
        for name, head, unit, n in members:
            with z.open(name, "w", force_zip64=True) as f:
                f.write(head)
                write_repeated(f, unit, n)
    recopy(path)


def make_ranks(folder, nbytes):
    """The parts of four ranks of Meta's Llama, each with a quarter of the rows of every matrix."""
    os.makedirs(folder)
    for rank in range(4):
        make_pth(os.path.join(folder, f"consolidated.{rank:02}.pth"), nbytes // 4, "layers.{}.feed_forward.w1.weight")
    with open(os.path.join(folder, "params.json"), "w") as f:
        json.dump({"dim": WIDTH, "n_heads": 32}, f)


def make_pth(path, nbytes, name="layers.{}.weight"):
    """A checkpoint of F32 matrices of 64 MiB, as torch.save() makes it except for the padding."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    storage = type("FloatStorage", (), {"__module__": "torch"})
    rebuild = types.FunctionType((lambda *args: None).__code__, {}, "_rebuild_tensor_v2")
    rebuild.__module__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    torch.FloatStorage, torch._utils, utils._rebuild_tensor_v2 = storage, utils, rebuild
    count = max(1, nbytes // (4 * WIDTH * WIDTH))

    class Tensor:
        def __init__(self, key):
            self.key = key

        def __reduce__(self):
            return rebuild, (self, 0, (WIDTH, WIDTH), (WIDTH, 1), False, {})

    class Pickler(pickle._Pickler):                     # Python's implementation calls persistent_id() for arguments too
        def persistent_id(self, obj):
            if isinstance(obj, Tensor) and self.inside:
                return "storage", storage, obj.key, "cpu", WIDTH * WIDTH
            return None

        def save_reduce(self, *args, **more):
            self.inside = True
            super().save_reduce(*args, **more)
            self.inside = False
        inside = False

    sys.modules.update({"torch": torch, "torch._utils": utils})
    with tempfile.TemporaryFile() as f:
        Pickler(f, 2).dump({name.format(i): Tensor(str(i)) for i in range(count)})
        f.seek(0)
        object_ = f.read()
    for name in "torch", "torch._utils":
        del sys.modules[name]
    unit = random.Random(10).randbytes(MIB)
    write_archive(path, [("m/data.pkl", object_, b"x", 0), ("m/byteorder", b"little", b"x", 0)]
                  + [(f"m/data/{i}", b"", unit, 4 * WIDTH * WIDTH) for i in range(count)] + [("m/version", b"3\n", b"x", 0)])


def make_npz(path, nbytes):
    """An archive of F32 matrices of 64 MiB."""
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (WIDTH, WIDTH)
    text = text.ljust(117) + "\n"
    head = b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode()
    unit = random.Random(11).randbytes(MIB)
    write_archive(path, [(f"layers.{i}.weight.npy", head, unit, 4 * WIDTH * WIDTH)
                         for i in range(max(1, nbytes // (4 * WIDTH * WIDTH)))])


def gguf_string(text):
    return struct.pack("<Q", len(text)) + text.encode()


@functools.cache
def rows_of(dtype, rows, cols):
    """Returns bytes to repeat, and the size of a matrix that is made of them."""
    _, elems, nbytes, _ = BLOCKS[dtype]
    blocks, n = sane_blocks(dtype), rows * cols // elems * nbytes
    prefix = PREFIXES.get(dtype)
    if not prefix:
        return blocks, n
    together = 4 if dtype.endswith("_R4") else 1
    row = together * cols // elems * nbytes
    unit = b"".join(prefix + blocks[at:at + row] for at in range(0, len(blocks) - row + 1, row))
    return unit, n + rows // together * len(prefix)


def make_gguf(path, dtype, layers, tokens=0, copied=True):
    """One block type, norms in F32, and optionally a vocabulary. Returns the bytes of the header."""
    type_id = BLOCKS[dtype][0]
    infos, at, parts = b"", 0, []

    def add(name, shape, id_, unit, n):
        nonlocal infos, at
        infos += gguf_string(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape[::-1])
        infos += struct.pack("<IQ", id_, at)
        parts.append((unit, n))
        at += n                                         # every size is a multiple of the alignment

    for i in range(layers):
        add(f"blk.{i}.attn_norm.weight", (WIDTH,), 0, struct.pack("<f", 1), 4 * WIDTH)
        for name, (rows, cols) in LAYER.items():
            add(f"blk.{i}.{name}.weight", (rows, cols), type_id, *rows_of(dtype, rows, cols))
    pairs = [gguf_string("general.architecture") + struct.pack("<I", 8) + gguf_string("llama")]
    if tokens:
        pairs.append(gguf_string("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, tokens)
                     + b"".join(gguf_string(f"token{i}") for i in range(tokens)))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(parts), len(pairs)) + b"".join(pairs) + infos
    head += bytes(-len(head) % 32)
    with open(path, "wb") as f:
        f.write(head)
        for unit, n in parts:
            write_repeated(f, unit, n)
    if copied:
        recopy(path)
    return len(head)
