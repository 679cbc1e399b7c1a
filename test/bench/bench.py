#!/usr/bin/env python3
"""bench.py BIN [OBJ]: measure the time of the tools as a multiple of the floor, the seconds of all processors for a GB of output, the
memory, and how often the input is read. The floor is the least time for an output of that size: see bench_floor.c. Rows that write
weights show the multiple of `cat` of the output as well. With --base, each row also runs the tools of another build, in turn with
ours, and shows the ratios of the clock and of the processors. AMN_PEERS_VENV (see test/peers/run.sh) names the libraries that some
rows compare with.

Only ratios within one run are meaningful: see "how the clock is read" in bench_clock.py. A missed goal is
only marked; the status is not 0 only if a tool fails or its bytes differ.
"""
import argparse
import json
import os
import shutil
import signal
import sys
import tempfile

import bench_adapter
import bench_encode
import bench_exact
import bench_pairs
import bench_parts
from bench_clock import Command, Failed, Table
from bench_families import FAMILIES, tensors_of
from bench_inputs import (BLOCKS, FAST, FIRST, LAYER_OUT, MIB, make_fp8, make_gguf, make_gptq,
                          make_shards, recopy, write_safetensors)

SPARE = 300 * 1000 * 1000           # bytes touched before a run, more than its output


# ---- rows ----

class Bench:
    def __init__(self, opt, folder, layers, cpus):
        self.remember, self.inspect, self.convert, self.forget = (
            os.path.join(os.path.abspath(opt.bin), "amn-" + n) for n in ("remember", "inspect", "convert", "forget"))
        self.encoders, self.floor_tool = (os.path.join(os.path.abspath(opt.obj), "test", n) for n in ("bench-encoders", "bench-floor"))
        self.ncpus = len(cpus)
        self.input, self.out, self.new = (os.path.join(folder, n) for n in ("in", "out", "new"))
        self.folder = folder
        self.layers, self.only, self.all = layers, opt.only, opt.all
        self.types = opt.types or (BLOCKS if self.all else FIRST)
        self.touch = layers * LAYER_OUT + SPARE
        self.pinned = {cpus[min(1, len(cpus) - 1)]}
        self.table = Table(opt.rounds, os.path.abspath(opt.bin), opt.base and os.path.abspath(opt.base))

    def wants(self, *rows):
        return not self.only or any(r in self.only for r in rows)

    def ours(self, *options, env=None, **kwargs):
        return Command([self.remember, *options, self.input], env, **kwargs)

    def to_file(self, *options, env=None):
        return self.ours(*options, "-o", self.new, env=env, new=self.new)

    def against_floor(self, label, ours, goal):
        """A row for a command that must write the bytes of self.out to self.new."""
        floor = Command([self.floor_tool, str(os.path.getsize(self.out)), self.new], new=self.new)
        cat = Command(["cat", self.out], stdout=self.new, new=self.new)
        self.table.row(label, ours, floor, goal, self.touch, self.out, cat)

    def reference(self):
        """Makes the output with one scalar thread and copies it, like a user's file. Returns False if it is not supported yet."""
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
        if not self.wants("S1", "S2", "S5", "S6", "S9", "S10"):
            return
        header = make_fp8(self.input, self.layers)
        if not self.reference():
            raise Failed("FP8 is not supported")
        if self.wants("S1"):
            self.against_floor("S1  FP8 -> file", self.to_file(), 1.10)
        if self.wants("S2"):
            self.against_floor("S2  FP8 -> file, -j1", self.to_file("-j1"), 1.2)
        if self.wants("S5"):
            self.table.row("S5  FP8 -> /dev/null", self.ours(), Command(["cat", self.out]), 0.65, SPARE,
                           nbytes=os.path.getsize(self.out))
        if self.wants("S6"):
            pipe = {"pipe": True, "cpus": self.pinned}
            self.table.row("S6  FP8 | cat, on one CPU", self.ours(**pipe), Command(["cat", self.out], **pipe), 0.85, SPARE,
                           nbytes=os.path.getsize(self.out))
        if self.wants("S9"):
            self.header("S9  inspect FP8", header, 3)
        if self.wants("S10"):
            os.rename(self.out, self.input)             # BF16 is not changed
            os.link(self.input, self.out)
            self.against_floor("S10 BF16 -> file", self.to_file(), 1.15)
            os.unlink(self.out)

    def run_once(self, argv, env=None):
        made = Command(argv, env)
        made.check(os.waitpid(made.start(made.argv)[0], 0)[1])

    def gguf(self, dtype):
        row, goal = ("S1", 1.10) if dtype in FIRST else ("S3", 1.15) if dtype in FAST else ("S4", 1.6)
        if not self.wants(row):
            return
        make_gguf(self.input, dtype, self.layers)
        label = f"{row}  {dtype} -> file"
        if self.reference():
            self.against_floor(label, self.to_file(), goal)
        else:
            self.table.line(f"{label}: not supported")

    def gptq(self, out, in_):
        if not self.wants("S3"):
            return
        make_gptq(self.input, self.layers * LAYER_OUT, out, in_)
        self.reference()
        self.against_floor(f"S3  GPTQ 4-bit [{out}, {in_}] -> file", self.to_file(), 1.3)

    def family(self, row, name, goal, maker, config):
        """A scheme of safetensors, as a directory with its config.json."""
        if not self.wants(row):
            return
        self.input = os.path.join(self.folder, "model")
        os.makedirs(self.input, exist_ok=True)
        write_safetensors(os.path.join(self.input, "model.safetensors"), tensors_of(maker, self.layers * LAYER_OUT))
        with open(os.path.join(self.input, "config.json"), "w") as f:
            json.dump(config or {}, f)
        label = f"{row}  {name} -> file"
        if self.reference():
            self.against_floor(label, self.to_file(), goal)
        else:
            self.table.line(f"{label}: not supported")

    def brief(self, label, ours, other, goal):
        """Takes milliseconds, so ten times the rounds, without priming memory. The memory is that of the catalog."""
        kept = self.table.rounds, self.table.highest
        self.table.rounds *= 10
        self.table.row(label, ours, other, goal, 0)
        self.table.rounds, self.table.highest = kept

    def header(self, label, nbytes, goal):
        self.brief(f"{label}, and head -c", Command([self.inspect, self.input]),
                   Command(["head", "-c", str(nbytes), self.input]), goal)

    def shards(self):
        """A model of 1,000 shards and 100,000 tensors."""
        model = os.path.join(self.folder, "shards")
        index = make_shards(model, 1000, 100)
        if shutil.which("jq"):
            self.brief("S9  inspect 1,000 shards, and jq length", Command([self.inspect, model]), Command(["jq", "length", index]), 2)
        shutil.rmtree(model)

    def run(self):
        self.fp8()
        if self.wants("S10"):
            bench_pairs.run(self)
        for dtype in self.types:
            self.gguf(dtype)
        self.gptq(4096, 4096)
        self.gptq(4096, 11008)
        files = self.input, self.out, self.new
        self.out, self.new = self.out + ".safetensors", self.new + ".safetensors"       # of a directory, not another one
        for family in FAMILIES if self.all else ():
            self.family(*family)
        self.input, self.out, self.new = files
        if self.wants("S9"):
            self.header("S9  inspect 250,000 tokens", make_gguf(self.input, "Q4_K", 1, tokens=250000), 4)
            self.shards()
        bench_parts.run(self)
        bench_encode.run(self)
        bench_adapter.run(self)
        bench_exact.run(self)
        highest = self.table.highest
        self.table.line("S7  highest peak, goal 16 MiB + catalog", peak_MiB=f"{highest:.1f}", missed=highest > 16)


def available_memory():
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("MemAvailable"))


def fitting_layers(folder, wanted):
    """Returns the number of layers that fit: input, output and new output on the disk and in the page cache."""
    disk = os.statvfs(folder)
    room = min(disk.f_bavail * disk.f_frsize, available_memory() - 300 * MIB)
    layers = max(1, min(wanted, int(room // (3.5 * LAYER_OUT))))
    if layers < wanted:
        print(f"note: {room // MIB} MiB of disk and memory are free; outputs have {layers * LAYER_OUT // MIB} MiB,"
              f" not {wanted * LAYER_OUT // MIB}")
    return layers


def main():
    parser = argparse.ArgumentParser(description="Ratios to the least time for the output, and peak memory.")
    parser.add_argument("bin", help="folder of the tools")
    parser.add_argument("obj", nargs="?", default="obj", help="folder of the objects, for S14 (obj)")
    parser.add_argument("--base", help="folder of the tools of another build, to compare with")
    parser.add_argument("--rounds", type=int, default=7, help="A B B A rounds of each row (7)")
    parser.add_argument("--quick", action="store_true", help="two rounds")
    parser.add_argument("--all", action="store_true", help="every block type of GGUF and scheme of safetensors: S3, S4, S15")
    parser.add_argument("--only", type=lambda s: s.upper().split(","), help="these rows, such as S1,S3,TARGET")
    parser.add_argument("--types", type=lambda s: s.upper().split(","), help="these block types of GGUF, in S3 and S4")
    parser.add_argument("--cpus", type=int, default=2, help="CPUs to run on (2, as the goals are)")
    parser.add_argument("--layers", type=int, default=4, help="layers of the inputs; one makes 256 MiB of output (4)")
    opt = parser.parse_args()
    if opt.quick:
        opt.rounds = 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))        # so that the folder is removed

    allowed = sorted(os.sched_getaffinity(0))
    cpus = allowed[:opt.cpus]
    os.sched_setaffinity(0, cpus)
    with tempfile.TemporaryDirectory(prefix="amn-bench.") as folder:
        layers = fitting_layers(folder, opt.layers)
        if os.getloadavg()[0] > 0.5:
            print(f"note: the load is {os.getloadavg()[0]:.1f}; beside other work the figures mean little")
        print(f"on {len(cpus)} of {len(allowed)} CPUs, {opt.rounds} rounds, fastest runs;"
              f" outputs of {layers * LAYER_OUT // MIB} MiB")
        try:
            Bench(opt, folder, layers, cpus).run()
        except Failed as e:
            print(f"bench.py: {e}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
