"""S10 of each pair of containers: amn-convert of unquantized F32 matrices, against `cp` of the output; and the time of
Python for the same if AMN_PEERS_VENV has the libraries: loading and writing only, in a process that has imported them."""
import os
import shutil
import statistics
import subprocess
import sys

from bench_clock import Command
from bench_inputs import LAYER_OUT, MIB, WIDTH, make_npz, make_pth, make_ranks, recopy, write_safetensors

TARGETS = ("safetensors", "gguf", "npz")
UNIT = bytes(range(256)) * (MIB // 256)

PYTHON = """
import os, statistics, sys, time
source, target, to, rounds = sys.argv[1:4] + [int(sys.argv[4])]
kind = sys.argv[5]
import gguf, numpy, torch
from safetensors.numpy import load_file, save_file
def load():
    if kind == ".pth": return {n: t.numpy() for n, t in torch.load(source, weights_only=True).items()}
    if kind == "GGUF": return {t.name: t.data for t in gguf.GGUFReader(source).tensors}
    if kind == "NPZ": return dict(numpy.load(source))
    return load_file(source)
def save(tensors):
    if to == "safetensors": return save_file(tensors, target)
    if to == "npz":
        with open(target, "wb") as f: return numpy.savez(f, **tensors)
    writer = gguf.GGUFWriter(target, "llama")
    for name, array in tensors.items(): writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
times = []
for _ in range(rounds):
    begin = time.perf_counter()
    save(load())
    times.append(time.perf_counter() - begin)
    os.unlink(target)
print(statistics.median(times))
"""


def python():
    here = os.path.join(os.environ.get("AMN_PEERS_VENV", ""), "bin", "python")
    return here if os.path.exists(here) else sys.executable


def count(nbytes):
    return max(1, nbytes // (4 * WIDTH * WIDTH))


def make_safetensors(path, nbytes):
    write_safetensors(path, [(f"layers.{i}.weight", "F32", [WIDTH, WIDTH], UNIT, 4 * WIDTH * WIDTH)
                             for i in range(count(nbytes))])


def source(bench, name):
    nbytes = bench.layers * LAYER_OUT
    if name == "GGUF":
        make_safetensors(bench.out, nbytes)
        bench.run_once([bench.convert, "-q", "--to", "gguf", "-o", bench.input, bench.out])
        recopy(bench.input)
    else:
        {"safetensors": make_safetensors, ".pth": make_pth, "NPZ": make_npz}[name](bench.input, nbytes)


def pair(bench, name, to):
    command = [bench.convert, "-q", "--to", to]
    bench.run_once(command + ["-j1", "-o", bench.out, bench.input], {"AMN_CPU": "scalar"})
    recopy(bench.out)
    ours = Command(command + ["-o", bench.new, bench.input], new=bench.new)
    bench.against_floor(f"S10 {name} -> {to}", ours, 1.15)
    done = subprocess.run([python(), "-c", PYTHON, bench.input, bench.new, to, str(bench.table.rounds), name],
                          capture_output=True, check=False)
    if done.returncode != 0:
        return bench.table.line(f"    {name} -> {to}, and Python: no libraries here")
    other = float(done.stdout)
    mine = statistics.median(ours.seconds(bench.touch) for _ in range(bench.table.rounds))
    return bench.table.line(f"    {name} -> {to}, and Python", f"{mine:.4f}", f"{other:.4f}", f"{mine / other:.2f}")


def ranks(bench):
    """A directory with the parts of four ranks, whose rows are put together."""
    folder = bench.input + ".ranks"
    make_ranks(folder, bench.layers * LAYER_OUT)
    command = [bench.convert, "-q", "--to", "safetensors"]
    bench.run_once(command + ["-j1", "-o", bench.out, folder], {"AMN_CPU": "scalar"})
    recopy(bench.out)
    bench.against_floor("S10 files of four ranks -> safetensors", Command(command + ["-o", bench.new, folder], new=bench.new), 1.3)
    shutil.rmtree(folder)


def torch_load(bench):
    """Our whole process, and only torch.load() in a process that has imported torch."""
    load = ("import statistics, sys, time, torch\ntimes = []\nfor _ in range(int(sys.argv[2])):\n"
            "    begin = time.perf_counter()\n    torch.load(sys.argv[1], weights_only=True)\n"
            "    times.append(time.perf_counter() - begin)\nprint(statistics.median(times))")
    command = [python(), "-c", load, bench.input, str(2 * bench.table.rounds)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        bench.table.line("    inspect .pth, and torch.load: no torch here")
        return
    other = float(done.stdout)
    ours = statistics.median(Command([bench.inspect, bench.input]).seconds(0) for _ in range(2 * bench.table.rounds))
    bench.table.line("    inspect .pth, and torch.load", f"{ours:.4f}", f"{other:.4f}", f"{ours / other:.2f}")


def run(bench):
    for name in "safetensors", "NPZ", "GGUF", ".pth":
        source(bench, name)
        for to in TARGETS:
            pair(bench, name, to)
    torch_load(bench)
    ranks(bench)
