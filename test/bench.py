#!/usr/bin/env python3
"""bench.py BIN: how long amn-remember takes, as a multiple of what `cat` takes for the same output.

The figures only mean something as ratios from one run: see "how the clock is read" below. A missed goal is
marked and nothing more; the status is not 0 only when a tool fails or its bytes differ.
"""
import argparse
import ctypes
import filecmp
import json
import mmap
import os
import random
import signal
import pickle
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import types
import zipfile

from bench_families import FAMILIES, tensors_of

MIB = 1 << 20
SPARE = 300 * 1000 * 1000           # bytes that are touched before a run, more than it makes


class Failed(Exception):
    pass


# ---- inputs: made from few random bytes, repeated, since making half a GiB of them takes longer than the bench ----
#
# What Python writes lies in smaller pieces of the page cache and is read at half the speed: inputs are copied by cp.

# Block types of GGUF: id, elements, bytes, offsets of the binary16 fields.
BLOCKS = {
    "Q4_0": (2, 32, 18, (0,)), "Q4_1": (3, 32, 20, (0, 2)), "Q5_0": (6, 32, 22, (0,)), "Q5_1": (7, 32, 24, (0, 2)),
    "Q8_0": (8, 32, 34, (0,)), "Q8_1": (9, 32, 36, (0, 2)), "Q2_K": (10, 256, 84, (80, 82)),
    "Q3_K": (11, 256, 110, (108,)), "Q4_K": (12, 256, 144, (0, 2)), "Q5_K": (13, 256, 176, (0, 2)),
    "Q6_K": (14, 256, 210, (208,)), "Q8_K": (15, 256, 292, ()), "IQ2_XXS": (16, 256, 66, (0,)),
    "IQ2_XS": (17, 256, 74, (0,)), "IQ3_XXS": (18, 256, 98, (0,)), "IQ1_S": (19, 256, 50, (0,)),
    "IQ4_NL": (20, 32, 18, (0,)), "IQ3_S": (21, 256, 110, (0,)), "IQ2_S": (22, 256, 82, (0,)),
    "IQ4_XS": (23, 256, 136, (0,)), "IQ1_M": (29, 256, 56, ()), "TQ1_0": (34, 256, 54, (52,)),
    "TQ2_0": (35, 256, 66, (64,)), "MXFP4": (39, 32, 17, ()), "NVFP4": (40, 64, 36, ()), "Q1_0": (41, 128, 18, (0,)),
    "Q2_0": (42, 64, 18, (0,)),
}
FIRST = ("Q4_K", "Q6_K", "Q8_0")                        # S3 of every run
FAST = FIRST + ("IQ4_XS", "MXFP4")                      # S3; the other types are S4

# The matrices of one layer of a 7 B model; their outputs are 256 MiB in BF16.
LAYER = {"attn_q": (4096, 4096), "ffn_up": (14336, 4096), "ffn_down": (4096, 14336)}
LAYER_OUT = 2 * sum(r * c for r, c in LAYER.values())
WIDTH = 4096


def sane_blocks(dtype, count=4096):
    """Random blocks whose scales are numbers as in a model, not infinity or NaN."""
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
    """Put a file into the page cache as a user's copy of it would be."""
    made = path + ".made"
    os.rename(path, made)
    pid = os.posix_spawnp("cp", ["cp", made, path], os.environ)
    if os.waitpid(pid, 0)[1] != 0:
        raise Failed(f"cp {made} {path} failed")
    os.unlink(made)
    os.sync()                                           # its writeback would run into the next row


def write_repeated(f, unit, n):
    for _ in range(n // len(unit)):
        f.write(unit)
    f.write(unit[:n % len(unit)])


def write_safetensors(path, tensors):
    """Tensors are (name, dtype, shape, unit, n): n bytes of `unit` over and over. Returns the bytes of the header."""
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
    """GPTQ, 4 bits in groups of 128, as many matrices as make an output of about nbytes."""
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


def write_archive(path, members):
    """A ZIP archive, nothing deflated; members are (name, head, unit, n): n bytes of `unit` behind the head."""
    with zipfile.ZipFile(path, "w", allowZip64=True) as z:
        for name, head, unit, n in members:
            with z.open(name, "w", force_zip64=True) as f:
                f.write(head)
                write_repeated(f, unit, n)
    recopy(path)


def make_pth(path, nbytes):
    """A checkpoint of F32 matrices of 64 MiB, as torch.save() makes it but for the padding."""
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

    class Pickler(pickle._Pickler):                     # the one in Python asks persistent_id() for arguments too
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
        Pickler(f, 2).dump({f"layers.{i}.weight": Tensor(str(i)) for i in range(count)})
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


def make_gguf(path, dtype, layers, tokens=0, copied=True):
    """One block type, norms in F32, and a vocabulary if wanted. Returns the bytes of the header."""
    type_id, elems, nbytes, _ = BLOCKS[dtype]
    unit = sane_blocks(dtype)
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
            add(f"blk.{i}.{name}.weight", (rows, cols), type_id, unit, rows * cols // elems * nbytes)
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


# ---- how the clock is read ----
#
# Memory that a hypervisor has taken back is ten times slower to touch, so a helper touches as much as the run
# needs, and exits. Hypervisors take it 2 MiB at a time: with huge pages the helper gets just those, in a tenth of
# the time. Runs go A B B A, so that a drift hits both. What is left of a run is removed off the clock.

def prime(nbytes):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)   # the folder is its parent's
        memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)
        except (AttributeError, OSError):
            pass                                        # a kernel without them
        memory[::mmap.PAGESIZE] = b"\1" * len(range(0, nbytes, mmap.PAGESIZE))
        os._exit(0)
    os.waitpid(pid, 0)


class Command:
    """A program, its environment on top of ours, and where its standard output goes."""

    def __init__(self, argv, env=None, stdout=os.devnull, new=None, pipe=False, cpus=None):
        self.argv, self.env, self.stdout = argv, {**os.environ, **(env or {})}, stdout
        self.new = new                                  # the file that it makes
        self.pipe = pipe                                # into `cat`, not into stdout
        self.cpus = cpus                                # where it runs, and its reader

    def spawn(self, argv, actions):
        return os.posix_spawnp(argv[0], argv, self.env, file_actions=actions)

    def start(self, argv):
        """The pids; the last is a pipe's reader."""
        if not self.pipe:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            return [self.spawn(argv, [(os.POSIX_SPAWN_OPEN, 1, self.stdout, flags, 0o644)])]
        r, w = os.pipe()
        null = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
        pids = [self.spawn(argv, [(os.POSIX_SPAWN_DUP2, w, 1)]),
                self.spawn(["cat"], [(os.POSIX_SPAWN_DUP2, r, 0), null])]
        os.close(r)
        os.close(w)
        return pids

    def pinned(self):
        before = os.sched_getaffinity(0)
        if self.cpus:
            os.sched_setaffinity(0, self.cpus)
        return before

    def clean(self):
        if self.new and os.path.exists(self.new):
            os.unlink(self.new)

    def check(self, status):
        if os.waitstatus_to_exitcode(status) != 0:
            raise Failed(f"{' '.join(self.argv)}: status {os.waitstatus_to_exitcode(status)}")

    def seconds(self, touch):
        if touch:
            prime(touch)
        before = self.pinned()
        start = time.perf_counter()
        pids = self.start(self.argv)
        statuses = [os.waitpid(pid, 0)[1] for pid in pids]
        taken = time.perf_counter() - start
        os.sched_setaffinity(0, before)
        self.clean()
        self.check(statuses[0])
        return taken

    def peak(self):
        """One run off the clock: the highest resident memory in MiB. What it makes stays."""
        return self.once()[1].ru_maxrss / 1024

    def once(self):
        """One run: its seconds, and its usage. What it makes stays.

        A process starts with the peak of the one that it was forked from, here Python's. So a shell, which is
        small, starts it and leaves; as its subreaper we get its usage.
        """
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)         # PR_SET_CHILD_SUBREAPER
        before = self.pinned()
        start = time.perf_counter()
        pids = self.start(["sh", "-c", '"$@" &', "sh", *self.argv])
        for pid in pids:
            os.waitpid(pid, 0)
        _, status, usage = os.wait4(-1, 0)
        taken = time.perf_counter() - start
        os.sched_setaffinity(0, before)
        self.check(status)
        return taken, usage


class Table:
    def __init__(self, rounds):
        self.rounds = rounds
        self.highest = 0.0
        print(f"{'':38}{'ours s':>9}{'other s':>9}{'ratio':>8}{'goal':>8}{'peak MiB':>10}", flush=True)

    def line(self, label, ours="", other="", ratio="", goal="", peak="", missed=False):
        print(f"{label:38}{ours:>9}{other:>9}{ratio:>8}{goal:>8}{peak:>10}{'  missed' if missed else ''}", flush=True)

    def row(self, label, ours, other, goal, touch, want=None):
        """`want`: the file that ours must make, byte by byte."""
        peak = ours.peak()
        if want and not filecmp.cmp(ours.new, want, shallow=False):
            raise Failed(f"{label}: the output differs from that of one scalar thread")
        ours.clean()
        other.seconds(0)
        times = {ours: [], other: []}
        for _ in range(self.rounds):
            for command in (ours, other, other, ours):
                times[command].append(command.seconds(touch))
        a, b = (statistics.median(times[c]) for c in (ours, other))
        self.highest = max(self.highest, peak)
        self.line(label, f"{a:.4f}", f"{b:.4f}", f"{a / b:.2f}", f"{goal:.2f}", f"{peak:.1f}", a / b > goal)


# ---- rows ----

class Bench:
    def __init__(self, opt, folder, layers, cpus):
        self.remember = os.path.join(os.path.abspath(opt.bin), "amn-remember")
        self.inspect = os.path.join(os.path.abspath(opt.bin), "amn-inspect")
        self.convert = os.path.join(os.path.abspath(opt.bin), "amn-convert")
        self.input, self.out, self.new = (os.path.join(folder, n) for n in ("in", "out", "new"))
        self.folder = folder
        self.layers, self.only, self.all = layers, opt.only, opt.all
        self.touch = layers * LAYER_OUT + SPARE
        self.pinned = {cpus[min(1, len(cpus) - 1)]}
        self.table = Table(opt.rounds)

    def wants(self, *rows):
        return not self.only or any(r in self.only for r in rows)

    def ours(self, *options, env=None, **kwargs):
        return Command([self.remember, *options, self.input], env, **kwargs)

    def to_file(self, *options, env=None):
        return self.ours(*options, "-o", self.new, env=env, new=self.new)

    def cat(self):
        return Command(["cat", self.out], stdout=self.new, new=self.new)

    def reference(self):
        """The output, made by one scalar thread and copied, as a user's file would be. False: not supported yet."""
        made = Command([self.remember, "-j1", "-o", self.out, self.input], {"AMN_CPU": "scalar"})
        pid = made.start(made.argv)[0]
        status = os.waitpid(pid, 0)[1]
        if os.waitstatus_to_exitcode(status) == 69:
            return False
        made.check(status)
        recopy(self.out)
        return True

    def has(self, cpu):
        pid = Command([self.remember, "--size", self.input], {"AMN_CPU": cpu})
        return os.waitpid(pid.start(pid.argv)[0], 0)[1] == 0

    def fp8(self):
        row, touch = self.table.row, self.touch
        if not self.wants("S1", "S2", "S5", "S6", "S9", "S10"):
            return
        header = make_fp8(self.input, self.layers)
        if not self.reference():
            raise Failed("FP8 is not supported")
        if self.wants("S1"):
            row("S1  FP8 -> file", self.to_file(), self.cat(), 0.70, touch, self.out)
        for cpu, goal in ("avx512", 0.90), ("avx2", 1.0), ("scalar", 2.5):
            if self.wants("S2") and self.has(cpu):
                row(f"S2  FP8 -> file, -j1, {cpu}", self.to_file("-j1", env={"AMN_CPU": cpu}), self.cat(), goal, touch,
                    self.out)
        if self.wants("S5"):
            row("S5  FP8 -> /dev/null", self.ours(), Command(["cat", self.out]), 0.65, SPARE)
        if self.wants("S6"):
            pipe = {"pipe": True, "cpus": self.pinned}
            row("S6  FP8 | cat, on one CPU", self.ours(**pipe), Command(["cat", self.out], **pipe), 0.85, SPARE)
        if self.wants("S9"):
            self.header("S9  inspect FP8", header)
        if self.wants("S10"):
            os.rename(self.out, self.input)             # what is BF16 stays as it is
            copy = Command(["cp", self.input, self.new], new=self.new)
            row("S10 BF16 -> file, and cp", self.to_file(), copy, 1.10, touch, self.input)
            self.to_npz()

    def to_npz(self):
        """safetensors to NPZ, and cp of that."""
        command = [self.convert, "--to", "npz", self.input]
        made = Command(command + ["-j1", "-o", self.out], {"AMN_CPU": "scalar"})
        made.check(os.waitpid(made.start(made.argv)[0], 0)[1])
        recopy(self.out)
        copy = Command(["cp", self.out, self.new], new=self.new)
        self.table.row("S10 BF16 -> NPZ, and cp", Command(command + ["-o", self.new], new=self.new), copy, 1.10, self.touch,
                       self.out)

    def archives(self):
        """Checkpoints and arrays, of which nothing is quantized, and cp of the output; then torch itself."""
        for name, make in (("NPZ", make_npz), (".pth", make_pth)) if self.wants("S10") else ():
            make(self.input, self.layers * LAYER_OUT)
            self.reference()
            copy = Command(["cp", self.out, self.new], new=self.new)
            self.table.row(f"S10 {name} -> file, and cp", self.to_file(), copy, 1.10, self.touch, self.out)
        if self.wants("S10"):
            self.torch()

    def torch(self):
        """Our whole process, with its output, and torch.load() alone, in a process that has imported torch."""
        python = os.path.join(os.environ.get("AMN_PEERS_VENV", ""), "bin", "python")
        python = python if os.path.exists(python) else sys.executable
        load = ("import statistics, sys, time, torch\ntimes = []\nfor _ in range(int(sys.argv[2])):\n"
                "    begin = time.perf_counter()\n    torch.load(sys.argv[1], weights_only=True)\n"
                "    times.append(time.perf_counter() - begin)\nprint(statistics.median(times))")
        done = subprocess.run([python, "-c", load, self.input, str(2 * self.table.rounds)], capture_output=True, check=False)
        if done.returncode != 0:
            self.table.line("    .pth, and torch.load: no torch here")
            return
        other = float(done.stdout)
        for label, command in ("inspect .pth", Command([self.inspect, self.input])), (".pth -> file", self.to_file()):
            ours = statistics.median(command.seconds(self.touch) for _ in range(2 * self.table.rounds))
            self.table.line(f"    {label}, and torch.load", f"{ours:.4f}", f"{other:.4f}", f"{ours / other:.2f}")

    def gguf(self, dtype, goal):
        row = "S3" if dtype in FAST else "S4"
        if not self.wants(row):
            return
        make_gguf(self.input, dtype, self.layers)
        label = f"{row}  {dtype} -> file"
        if self.reference():
            self.table.row(label, self.to_file(), self.cat(), goal, self.touch, self.out)
        else:
            self.table.line(f"{label}: not supported")

    def gptq(self, out, in_):
        if not self.wants("S3"):
            return
        make_gptq(self.input, self.layers * LAYER_OUT, out, in_)
        self.reference()
        self.table.row(f"S3  GPTQ 4-bit [{out}, {in_}] -> file", self.to_file(), self.cat(), 0.65, self.touch, self.out)

    def family(self, row, name, goal, maker, config):
        """A scheme of safetensors, as a directory with the config.json that it needs."""
        if not self.wants(row):
            return
        self.input = os.path.join(self.folder, "model")
        os.makedirs(self.input, exist_ok=True)
        write_safetensors(os.path.join(self.input, "model.safetensors"), tensors_of(maker, self.layers * LAYER_OUT))
        with open(os.path.join(self.input, "config.json"), "w") as f:
            json.dump(config or {}, f)
        label = f"{row}  {name} -> file"
        if self.reference():
            self.table.row(label, self.to_file(), self.cat(), goal, self.touch, self.out)
        else:
            self.table.line(f"{label}: not supported")

    def header(self, label, nbytes):
        """Milliseconds long, so ten times the rounds, and no memory to prime."""
        rounds, self.table.rounds = self.table.rounds, 10 * self.table.rounds
        self.table.row(f"{label}, and head -c {nbytes}", Command([self.inspect, self.input]),
                       Command(["head", "-c", str(nbytes), self.input]), 10, 0)
        self.table.rounds = rounds

    def run(self):
        self.fp8()
        self.archives()
        for dtype in BLOCKS if self.all else FIRST:
            self.gguf(dtype, 0.75 if dtype in FAST else 1.5)
        self.gptq(4096, 4096)
        self.gptq(4096, 11008)
        inputs = self.input
        for family in FAMILIES if self.all else ():
            self.family(*family)
        self.input = inputs
        if self.wants("S9"):
            self.header("S9  inspect Q4_K", make_gguf(self.input, "Q4_K", 1, tokens=150000))
        highest = self.table.highest
        self.table.line("S7  highest peak, goal 16 MiB + catalog", peak=f"{highest:.1f}", missed=highest > 16)


def available_memory():
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("MemAvailable"))


def fitting_layers(folder, wanted):
    """Layers for which there is room: input, output and new output on the disk and in the page cache."""
    disk = os.statvfs(folder)
    room = min(disk.f_bavail * disk.f_frsize, available_memory() - 300 * MIB)
    layers = max(1, min(wanted, int(room // (3.5 * LAYER_OUT))))
    if layers < wanted:
        print(f"note: {room // MIB} MiB of disk and memory are free; outputs have {layers * LAYER_OUT // MIB} MiB,"
              f" not {wanted * LAYER_OUT // MIB}")
    return layers


def main():
    parser = argparse.ArgumentParser(description="Ratios to cat, and peak memory.")
    parser.add_argument("bin", help="folder of the tools")
    parser.add_argument("--rounds", type=int, default=7, help="A B B A rounds of each row (7)")
    parser.add_argument("--quick", action="store_true", help="two rounds")
    parser.add_argument("--all", action="store_true", help="every block type of GGUF and scheme of safetensors: S3, S4, S15")
    parser.add_argument("--only", type=lambda s: s.upper().split(","), help="these rows, such as S1,S3")
    parser.add_argument("--cpus", type=int, default=2, help="CPUs to run on (2, as the goals are)")
    parser.add_argument("--layers", type=int, default=4, help="layers of the inputs; one makes 256 MiB of output (4)")
    opt = parser.parse_args()
    if opt.quick:
        opt.rounds = 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))        # so that the folder goes

    allowed = sorted(os.sched_getaffinity(0))
    cpus = allowed[:opt.cpus]
    os.sched_setaffinity(0, cpus)
    with tempfile.TemporaryDirectory(prefix="amn-bench.") as folder:
        layers = fitting_layers(folder, opt.layers)
        if os.getloadavg()[0] > 0.5:
            print(f"note: the load is {os.getloadavg()[0]:.1f}; beside other work the figures mean little")
        print(f"on {len(cpus)} of {len(allowed)} CPUs, {opt.rounds} rounds, medians;"
              f" outputs of {layers * LAYER_OUT // MIB} MiB")
        try:
            Bench(opt, folder, layers, cpus).run()
        except Failed as e:
            print(f"bench.py: {e}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
