"""peer_matrix.py BIN FOLDER: convert files written by the libraries with amn-convert to every container, and read them again
with the libraries: values equal bit for bit. safetensors (one file and several), checkpoints of torch (zip and legacy),
archives and arrays of numpy, files of gguf (plain, quantized, split); by name, through a pipe and compressed; all floats
as torch casts them; several operands to one output."""
import gzip
import json
import os
import subprocess
import sys

import gguf
import ml_dtypes
import numpy
import safetensors.numpy
import safetensors.torch
import torch

from peers import TARGETS, Tally, Tools, same_bits

BFLOAT16 = numpy.dtype(ml_dtypes.bfloat16)
Q = gguf.GGMLQuantizationType
PACKED = (Q.Q8_0, Q.Q4_0, Q.Q5_1)
EVEN = {torch.int8: 5, torch.int16: 4, torch.int32: 7, torch.int64: 3, torch.float16: 9, torch.bfloat16: 11,
        torch.float32: 6, torch.float64: 2}          # types that all containers support, and a number for their shapes


def tensors():
    """Random bits: NaN of all payloads, infinities and subnormals among the floats."""
    generator = torch.Generator().manual_seed(12)
    found = {}
    for dtype, n in EVEN.items():
        for shape in (n,), (3, n), (2, 3, n), (2, 1, n, 5):
            size = torch.empty((), dtype=dtype).element_size()
            bits = torch.randint(0, 256, (*shape, size), dtype=torch.uint8, generator=generator)
            found[f"é.{str(dtype)[6:]}.{len(shape)}"] = bits.view(dtype).reshape(shape)
    found["large"] = torch.randn(700, 900, generator=generator)
    return found


def to_numpy(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(BFLOAT16)
    return tensor.numpy()


def to_torch(array):
    array = numpy.array(array, order="C")
    if array.dtype == BFLOAT16 or array.dtype.kind == "V":
        return torch.from_numpy(array.view("<i2")).view(torch.bfloat16)
    return torch.from_numpy(array)


# ---- written by the libraries ----

def write_gguf(path, arrays, **split):
    writer = gguf.GGUFWriter(path, "llama", **split)
    for name, (array, kind) in arrays.items():
        writer.add_tensor(name, array, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def plain_gguf(tensors):
    """gguf's writer does not accept numpy's bfloat16: passes its bytes, and the type."""
    return {name: (t.view(torch.uint8).numpy(), Q.BF16) if t.dtype == torch.bfloat16 else (t.numpy(), None)
            for name, t in tensors.items()}


def sources(tools, want):
    """(label, operands, contents)"""
    path = tools.path("m.safetensors")
    safetensors.torch.save_file(want, path)
    yield "safetensors", [path], want
    folder = tools.path("shards/")
    os.makedirs(folder, exist_ok=True)
    names, index = list(want), {}
    for i, part in enumerate((names[::2], names[1::2])):
        file = f"model-{i + 1:05}-of-00002.safetensors"
        safetensors.torch.save_file({n: want[n] for n in part}, folder + file)
        index.update({n: file for n in part})
    with open(folder + "model.safetensors.index.json", "w", encoding="utf-8") as f:
        json.dump({"metadata": {}, "weight_map": index}, f)
    yield "shards", [folder], want
    yield "two operands", [folder + f for f in sorted(set(index.values()))], want
    for zipped in True, False:
        path = tools.path("m.pth" if zipped else "legacy.pth")
        torch.save(want, path, _use_new_zipfile_serialization=zipped)
        yield "torch " + ("zip" if zipped else "legacy"), [path], want
    for save in numpy.savez, numpy.savez_compressed:
        path = tools.path(save.__name__ + ".npz")
        save(path, **{n: to_numpy(t) if t.dtype != torch.bfloat16 else to_numpy(t).view("V2") for n, t in want.items()})
        yield save.__name__, [path], want
    path = tools.path("m.npy")
    numpy.save(path, want["large"].numpy())
    yield "npy", [path], {"arr_0": want["large"]}
    path = tools.path("m.gguf")
    write_gguf(path, plain_gguf(want))
    yield "gguf", [path], want
    stem = tools.path("s")
    write_gguf(stem + ".gguf", plain_gguf(want), split_max_tensors=7)
    parts = sorted(p for p in os.listdir(tools.folder) if p.startswith("s-0") and p.endswith(".gguf"))
    yield "gguf, split", [tools.path(parts[0])], want
    packed = {}
    for kind in PACKED:
        packed[kind.name] = gguf.quants.quantize(want["large"].numpy()[:256, :256], kind), kind
    path = tools.path("q.gguf")
    write_gguf(path, packed)
    decoded = {n: to_torch(gguf.quants.dequantize(a, kind)).to(torch.bfloat16) for n, (a, kind) in packed.items()}
    yield "gguf, quantized", [path], decoded


# ---- read by the libraries ----

def read_gguf(path):
    found = {}
    for t in gguf.GGUFReader(path).tensors:
        shape = tuple(int(n) for n in reversed(t.shape))
        data = numpy.asarray(t.data)
        data = data.view("<u2").view(BFLOAT16) if t.tensor_type == Q.BF16 else data
        found[t.name] = to_torch(data.reshape(shape))
    return found


def read_npz(path):
    with numpy.load(path) as f:
        return {n: to_torch(f[n]) for n in f}


READERS = {"safetensors": safetensors.torch.load_file, "gguf": read_gguf, "npz": read_npz}


def convert(tools, target, operands, *options, stdin=None):
    command = [os.path.join(tools.bin, "amn-convert"), "-q", "--dequantize", *options, "-o", target, *operands]
    return subprocess.run(command, stdin=stdin, check=False).returncode == 0


def content(path):
    with open(path, "rb") as f:
        return f.read()


def raw(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def equal(got, want):
    """Bits, including those of NaN: nothing is computed here."""
    return got.keys() == want.keys() and all(
        got[n].dtype == want[n].dtype and got[n].shape == want[n].shape and raw(got[n]) == raw(want[n]) for n in want)


def others(tools, operands):
    """The same model through a pipe, and compressed; None for several files."""
    if len(operands) > 1 or os.path.isdir(operands[0]) or "-of-" in operands[0]:
        return
    yield "a pipe", ["-"], operands[0]
    path = tools.path("packed.gz")
    with gzip.open(path, "wb", 1) as f:
        f.write(content(operands[0]))
    yield "gzip", [path], None
    yield "gzip, a pipe", ["-"], path


def check_containers(tally, tools, label, operands, want):
    for end, read in READERS.items():
        target, again = tools.path("to." + end), tools.path("again." + end)
        what = f"{label} to {end}"
        if not tally.check(convert(tools, target, operands), what):
            continue
        tally.check(equal(read(target), want), f"{what}: values")
        for way, operand, file in others(tools, operands):
            with open(file or os.devnull, "rb") as f:
                ok = convert(tools, again, operand, stdin=f)
            tally.check(ok and content(again) == content(target), f"{what}, {way}: the same file")
    reference = tools.path("reference.safetensors")
    safetensors.torch.save_file({n: t.contiguous() for n, t in want.items()}, reference)
    ordered = tools.path("ordered.safetensors")
    ok = convert(tools, ordered, operands, "--order", "name", "--no-metadata")
    if tally.check(ok, f"{label}: --order name"):
        a, b = content(ordered), content(reference)
        tally.check(a[8 + int.from_bytes(a[:8], "little"):] == b[8 + int.from_bytes(b[:8], "little"):],
                    f"{label}: --order name: the data of the reference writer")
    name = max(want, key=lambda n: want[n].numel())
    target = tools.path("one.npy")
    if tally.check(convert(tools, target, operands, "--tensor", name), f"{label}: one tensor to npy"):
        tally.check(equal({name: to_torch(numpy.load(target))}, {name: want[name]}), f"{label}: one tensor to npy: values")
    target = tools.path("one.raw")
    tally.check(convert(tools, target, operands, "--tensor", name) and content(target) == raw(want[name]),
                f"{label}: one tensor to raw")


def check_casts(tally, tools, label, operands, want):
    for to, dtype in TARGETS.items():
        cast = {n: t.to(dtype) if t.is_floating_point() else t for n, t in want.items()}
        for end, read in READERS.items():
            target, what = tools.path("cast." + end), f"{label} to {end} in {to}"
            if tally.check(convert(tools, target, operands, "--dtype", to), what):
                got = read(target)
                wrong = [n for n in cast if not same_bits(got.get(n), cast[n])]
                tally.check(not wrong and len(got) == len(cast), f"{what}: values of {wrong[:3]}")


def check_merge(tally, tools):
    """Merges one tensor of each container into one of each, and several into several files."""
    made = {name: torch.randn(4, 32) for name in "abcd"}
    safetensors.torch.save_file({"a": made["a"]}, tools.path("a.safetensors"))
    numpy.savez(tools.path("b.npz"), b=made["b"].numpy())
    write_gguf(tools.path("c.gguf"), plain_gguf({"c": made["c"]}))
    torch.save({"d": made["d"]}, tools.path("d.pth"))
    operands = [tools.path(n) for n in ("a.safetensors", "b.npz", "c.gguf", "d.pth")]
    for end, read in READERS.items():
        target = tools.path("merged." + end)
        tally.check(convert(tools, target, operands) and equal(read(target), made), f"merged into {end}")
    folder = tools.path("cut/")
    if tally.check(convert(tools, folder, operands, "--shard-size", "600"), "merged and cut"):
        files = sorted(f for f in os.listdir(folder) if f.endswith(".safetensors"))
        got = {}
        for file in files:
            got.update(safetensors.torch.load_file(folder + file))
        tally.check(len(files) > 1 and equal(got, made), "merged and cut: values")
    tally.check(convert(tools, tools.path("cut.gguf"), operands, "--shard-size", "600"), "merged and split")
    got = {}
    for file in sorted(os.listdir(tools.folder)):
        if file.startswith("cut-0"):
            got.update(read_gguf(tools.path(file)))
    tally.check(equal(got, made), "merged and split: values")


def main():
    tally, tools = Tally(), Tools()
    tools.folder = os.path.join(tools.folder, "matrix")
    os.makedirs(tools.folder)
    for label, operands, want in sources(tools, tensors()):
        check_containers(tally, tools, label, operands, want)
        if "quantized" not in label:                    # there --dtype is the target of the decoding
            check_casts(tally, tools, label, operands, want)
    check_merge(tally, tools)
    tally.finish()


sys.exit(main())
