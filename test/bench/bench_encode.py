"""S12 to S14: amn-forget against the floor of its output, against torch and bitsandbytes, and its kernels against ggml's. TARGET: the
best mix for a size against one run of each candidate."""
import glob
import os
import random
import struct
import subprocess

from bench_clock import Command, Failed
from bench_inputs import LAYER, MIB, recopy, write_safetensors
from bench_pairs import python

# Scheme, goal of S12 as a multiple of the floor, goal of S13 as a multiple of the library's rate, the library.
SCHEMES = [("fp8", 2.8, 10, "torch"), ("int8", 3.0, 10, "bitsandbytes"), ("nf4", 6.5, 40, "bitsandbytes")]
CANDIDATES = "q3_k,q4_k,q6_k"           # of TARGET

# Type and goal of S14; the others without one.
TYPES = [("Q4_K", 4), ("Q5_K", 4), ("Q6_K", 4), ("Q2_K", 4), ("Q3_K", 4),
         ("IQ4_NL", 3), ("IQ4_XS", 3), ("IQ3_S", 3), ("IQ3_XXS", 3), ("IQ2_S", 3), ("IQ2_XS", 3), ("IQ2_XXS", 3),
         ("IQ1_M", 3), ("IQ1_S", 3), ("Q4_0", 5), ("Q5_0", 5), ("Q8_0", 5), ("MXFP4", 5),
         ("Q4_1", 0), ("Q5_1", 0), ("TQ1_0", 0), ("TQ2_0", 0), ("NVFP4", 0), ("Q1_0", 0), ("Q2_0", 0)]

# Seconds that a library takes for a matrix of the first operand's rows and columns, with all processors.
LIBRARY = """
import statistics, sys, time, torch
scheme, rows, cols, rounds, threads = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
x = (torch.randn(rows, cols) * 0.05).to(torch.bfloat16)
if scheme == "fp8":
    def encode():
        blocks = x.float().view(rows // 128, 128, cols // 128, 128)
        scale = blocks.abs().amax((1, 3), keepdim=True) / 448
        return (blocks / scale).to(torch.float8_e4m3fn), scale
else:
    import bitsandbytes.functional as F
    def encode():
        if scheme == "nf4": return F.quantize_4bit(x, blocksize=64, quant_type="nf4")
        return F.int8_vectorwise_quant(x.half())
encode()
times = []
for _ in range(rounds):
    begin = time.perf_counter()
    encode()
    times.append(time.perf_counter() - begin)
print(min(times))
"""


def make_bf16(path, layers, matrices=LAYER):
    """Writes matrices of approximately normal values. Returns the number of values."""
    rng = random.Random(12)
    unit = b"".join(struct.pack("<f", rng.gauss(0, 0.05))[2:] for _ in range(MIB // 2))
    write_safetensors(path, [(f"layers.{i}.{name}.weight", "BF16", list(shape), unit, 2 * shape[0] * shape[1])
                             for i in range(layers) for name, shape in matrices.items()])
    return layers * sum(rows * cols for rows, cols in matrices.values())


def known(bench, scheme):
    """Returns true if amn-forget has the scheme; a failure other than an unknown name ends the bench."""
    command = [bench.forget, "-q", "--scheme", scheme, "--size", bench.input]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 2 and "unknown scheme" in done.stderr:
        return False
    if done.returncode != 0:
        raise Failed(f"amn-forget --scheme {scheme}: {done.stderr.strip()}")
    return True


def library(bench, scheme):
    """Returns the seconds for a matrix of 64 Mi elements, or None if the library is not installed."""
    rows, cols = 8192, 8192
    numbers = [str(n) for n in (rows, cols, bench.table.rounds, bench.ncpus)]
    done = subprocess.run([python(), "-c", LIBRARY, scheme, *numbers], capture_output=True, text=True, check=False)
    return float(done.stdout) / (rows * cols) if done.returncode == 0 else None


def schemes(bench):
    elements = make_bf16(bench.input, bench.layers)
    for scheme, goal, times, name in SCHEMES:
        label = f"BF16 -> {scheme}"
        if not known(bench, scheme):
            bench.table.line(f"S12 {label}: MISSING, amn-forget does not know this scheme", missed=True)
            continue
        command = [bench.forget, "-q", "--scheme", scheme]
        if bench.wants("S12"):
            bench.run_once(command + ["-j1", "-o", bench.out, bench.input], {"AMN_CPU": "scalar"})
            recopy(bench.out)
            ours = Command(command + ["-o", bench.new, bench.input], new=bench.new)
            bench.against_floor(f"S12 {label} -> file", ours, goal)
        if bench.wants("S13"):
            ours = Command(command + [bench.input])
            mine = elements / min(ours.seconds(0) for _ in range(2 * bench.table.rounds)) / 1e9
            other = library(bench, scheme)
            if other is None:
                bench.table.line(f"S13 {label}, G elements/s, and {name}: not here", f"{mine:.3f}")
                continue
            rate(bench, f"S13 {label}, G/s, and {name}", mine, 1e-9 / other, times)


def rate(bench, label, mine, other, goal):
    """A row whose ratio should be high."""
    bench.table.line(label, f"{mine:.3f}", f"{other:.3f}", f"{mine / other:.2f}", goal=f">={goal}" if goal else "",
                     missed=bool(goal) and mine < goal * other)


def ggml():
    venv = os.environ.get("AMN_PEERS_VENV", "none") + "-llama"
    return glob.glob(venv + "/lib/python3*/site-packages/llama_cpp/lib/libggml-base.so")[:1]


def kernels(bench):
    """One thread, in memory: the best of a few tries each, with the same values."""
    if not bench.encoders or not os.path.exists(bench.encoders):
        bench.table.line("S14: no bench-encoders here: make bench makes it", missed=True)
        return
    if not ggml():
        bench.table.line("S14: no llama.cpp here (AMN_PEERS_VENV)")
    for dtype, goal in TYPES:
        done = subprocess.run([bench.encoders, dtype, *ggml()], capture_output=True, text=True, check=False)
        if done.returncode == 1 and "there is no encoder" in done.stderr:
            bench.table.line(f"S14 {dtype}: MISSING, there is no encoder", missed=True)
            continue
        if done.returncode != 0:
            raise Failed(done.stderr.strip() or f"bench-encoders {dtype}: status {done.returncode}")
        mine, scalar, other, same = done.stdout.split()
        bytes_ = {"same": "", "-": ""}.get(same, f", {same} bytes differ")
        if other == "-":
            ratio = float(mine) / float(scalar)
            bench.table.line(f"S14 {dtype}, M elements/s, and scalar", mine, scalar, f"{ratio:.2f}")
        else:
            rate(bench, f"S14 {dtype}, M/s, and ggml{bytes_}", float(mine), float(other), goal)


def target(bench):
    """Encodes each weight with all candidates, and then once more."""
    make_bf16(bench.input, 1, {f"up.{i}": (1024, 4096) for i in range(4)})
    ours = Command([bench.forget, "-q", "--target-bpw", "5", "--candidates", CANDIDATES, "-o", bench.new, bench.input], new=bench.new)
    each = f'for s in {CANDIDATES.replace(",", " ")}; do "$0" -q --scheme $s -o "$1" "$2" || exit 1; rm "$1"; done'
    other = Command(["sh", "-c", each, bench.forget, bench.new, bench.input], new=bench.new)
    bench.table.row("TARGET 5 bits, and a run of each type", ours, other, 0, bench.touch, nbytes=os.path.getsize(bench.input))


def run(bench):
    if bench.wants("TARGET"):
        target(bench)
    if bench.wants("S12", "S13"):
        schemes(bench)
    if bench.wants("S14"):
        kernels(bench)
