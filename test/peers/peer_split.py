"""peer_split.py BIN FOLDER: split and merged models. GGUF parts are compared with those of the gguf package, byte for byte;
directories of safetensors are read by their index; and packed tensors that were moved."""
import json
import os
import subprocess
import sys

import gguf
import numpy
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from peers import Tally, Tools

SIZE = 40000        # bytes of a file; the tensors below have multiples of 32, which the gguf package does not round


def write(path, tensors, packed, **split):
    writer = gguf.GGUFWriter(path, "llama", **split)
    writer.add_string("general.name", "é")
    writer.add_array("some.list", [1, 2, 3])
    for name, array in tensors.items():
        writer.add_tensor(name, array)
    for name, array in packed.items():
        writer.add_tensor(name, array, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def run(tools, *args):
    done = subprocess.run([os.path.join(tools.bin, "amn-convert"), "-q", *args], check=False)
    return done.returncode == 0


def content(path):
    with open(path, "rb") as f:
        return f.read()


def files(tools, stem):
    return sorted(tools.path(n) for n in os.listdir(tools.folder) if n.startswith(stem + "-0") and n.endswith(".gguf"))


def check_gguf(tally, tools, rng):
    tensors = {f"blk.{i}.w": rng.standard_normal((8, 16 * (i % 5 + 1) * 12)).astype("<f4") for i in range(12)}
    tensors["large"] = rng.standard_normal((256, 64)).astype("<f4")
    packed = {f"q.{i}": rng.integers(0, 255, (16, 34 * 4), "u1") for i in range(4)}
    whole, theirs, ours = tools.path("whole.gguf"), tools.path("theirs.gguf"), tools.path("ours.gguf")
    write(whole, tensors, packed)
    write(theirs, tensors, packed, split_max_size=SIZE)
    tally.check(run(tools, "--keep-quantized", "--shard-size", str(SIZE), "-o", ours, whole), "gguf: split")
    want, got = files(tools, "theirs"), files(tools, "ours")
    tally.check(len(want) > 3 and [p[-20:] for p in want] == [p[-20:] for p in got], "gguf: names of files")
    for theirs_i, ours_i in zip(want, got):
        tally.check(content(theirs_i) == content(ours_i), f"gguf: bytes of {os.path.basename(ours_i)}")
        reader = gguf.GGUFReader(ours_i)
        tally.check(all(t.data.tobytes() == {**tensors, **packed}[t.name].tobytes() for t in reader.tensors),
                    f"gguf: tensors of {os.path.basename(ours_i)}")
    one = tools.path("one.gguf")
    for operands in got, got[:1], want, want[:1]:
        tally.check(run(tools, "--keep-quantized", "-o", one, *operands) and content(one) == content(whole), "gguf: merged")


def check_safetensors(tally, tools, rng):
    want = {f"model.{i}.weight": rng.standard_normal((10, 10 * (i + 1))).astype("<f2") for i in range(9)}
    source, folder = tools.path("one.safetensors"), tools.path("many/")
    save_file(want, source)
    tally.check(run(tools, "-o", folder, "--shard-size", "2K", source), "safetensors: a directory")
    with open(folder + "model.safetensors.index.json", encoding="utf-8") as f:
        index = json.load(f)
    tally.check(index["metadata"]["total_size"] == sum(a.nbytes for a in want.values()), "safetensors: total_size")
    tally.check(set(index["weight_map"]) == set(want), "safetensors: names of the index")
    for name, file in index["weight_map"].items():
        with safe_open(folder + file, framework="np") as f:
            tally.check(name in f.keys() and numpy.array_equal(f.get_tensor(name), want[name]), f"safetensors: {name}")
    back = tools.path("back.safetensors")
    shards = sorted(set(folder + file for file in index["weight_map"].values()))
    tally.check(run(tools, "-o", back, *shards), "safetensors: merged")
    got = load_file(back)
    tally.check(list(got) and all(numpy.array_equal(got[n], want[n]) for n in want), "safetensors: values")


def check_mixed(tally, tools, rng):
    """Merges one tensor of each container into one of each, and reads them with the libraries."""
    a, b, c = (rng.standard_normal((4, 32)).astype("<f4") for _ in range(3))
    save_file({"a": a}, tools.path("a.safetensors"))
    numpy.savez(tools.path("b.npz"), b=b)
    write(tools.path("c.gguf"), {"c": c}, {})
    operands = [tools.path(n) for n in ("a.safetensors", "b.npz", "c.gguf")]
    want = {"a": a, "b": b, "c": c}
    for end, read in ("safetensors", load_file), ("npz", numpy.load), \
            ("gguf", lambda p: {t.name: t.data for t in gguf.GGUFReader(p).tensors}):
        out = tools.path("mixed." + end)
        got = read(out) if run(tools, "-o", out, *operands) else {}
        tally.check(list(got) == list(want) and all(numpy.array_equal(got[n], want[n]) for n in want), f"mixed: {end}")


def main():
    tally, tools = Tally(), Tools()
    rng = numpy.random.default_rng(13)
    check_gguf(tally, tools, rng)
    check_safetensors(tally, tools, rng)
    check_mixed(tally, tools, rng)
    tally.finish()


sys.exit(main())
