#!/usr/bin/env python3
"""bench-huge.py BIN: S16, an output of 1.3 times the memory: amn-remember with default options against `cat` of the same
output.

Takes minutes, and space on the disk for the input and two outputs. No other test runs it, and its files are removed
however the bench ends. The input is Q4_K, the smallest for its output, and not in the page cache; neither is the file
that cat reads. A missed goal is only marked; the status is not 0 only if a tool fails, its bytes differ, or there is not
enough space. TMPDIR sets the folder.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile

import bench
from bench_clock import prime

TIMES = 1.3                     # size of the output in multiples of the memory
WALL, CPU, PEAK = 0.4, 0.3, 16
ROOM = 2 << 30                  # of disk and memory to leave free
SLICES, SLICE = 24, 1 << 20     # compared with those of one scalar thread


def total_memory():
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def input_bytes(layers):
    _, elems, nbytes, _ = bench.BLOCKS["Q4_K"]
    return layers * bench.LAYER_OUT // 2 // elems * nbytes


def cool(path):
    """Drops files from the page cache."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def measured(label, command, *cold):
    """Returns wall time, CPU time, and the peak in MiB of one run, and prints them."""
    os.sync()
    for path in cold:
        cool(path)
    prime(bench.available_memory() - ROOM)        # other processes may be running
    usage = command.once()
    print(f"{label}: {usage.wall:.1f} s, CPU {usage.cpu:.1f} s, peak {usage.peak:.1f} MiB, load {os.getloadavg()[0]:.1f}", flush=True)
    return usage.wall, usage.cpu, usage.peak


class Huge:
    def __init__(self, opt, folder, layers):
        self.remember = os.path.join(os.path.abspath(opt.bin), "amn-remember")
        self.input, self.out, self.new = (os.path.join(folder, n) for n in ("in", "out", "new"))
        self.layers, self.never = layers, opt.never

    def ours(self, *options):
        return bench.Command([self.remember, *options, "-o", self.out, self.input], new=self.out)

    def check(self):
        size = os.path.getsize(self.out)
        rng = random.Random(16)
        with open(self.out, "rb") as f:
            for at in [0, size - SLICE, *(rng.randrange(size - SLICE) for _ in range(SLICES))]:
                argv = [self.remember, f"--range={at}-{at + SLICE - 1}", "-j1", self.input]
                scalar = {**os.environ, "AMN_CPU": "scalar"}
                want = subprocess.run(argv, env=scalar, stdout=subprocess.PIPE, check=True).stdout
                f.seek(at)
                if f.read(SLICE) != want:
                    raise bench.Failed(f"other bytes at {at}")

    def run(self):
        bench.make_gguf(self.input, "Q4_K", self.layers, copied=False)
        runs = {}
        if self.never:
            runs["--direct=never"] = measured("--direct=never", self.ours("--direct=never"), self.input)
            os.unlink(self.out)
        runs["auto"] = measured("auto", self.ours(), self.input)
        self.check()
        cat = measured("cat", bench.Command(["cat", self.out], stdout=self.new), self.input, self.out)
        table = bench.Table(1)
        for label, (wall, cpu, peak) in runs.items():
            for what, a, b, goal in ("wall", wall, cat[0], WALL), ("CPU", cpu, cat[1], CPU):
                table.line(f"S16 Q4_K -> file, {label}, {what}", f"{a:.1f}", f"{b:.1f}", f"{a / b:.2f}", goal=f"{goal:.2f}",
                           peak_MiB=f"{peak:.1f}", missed=a / b > goal or peak > PEAK)


def end(*_):
    """On a signal, ends the running command too, because it would continue to write in a folder that is removed."""
    me = os.getpid()
    with open(f"/proc/{me}/task/{me}/children") as f:
        for pid in f.read().split():
            os.kill(int(pid), signal.SIGTERM)
    sys.exit(143)


def main():
    parser = argparse.ArgumentParser(description="An output larger than memory, and cat of it.")
    parser.add_argument("bin", help="folder of the tools")
    parser.add_argument("--never", action="store_true", help="a run through the page cache as well")
    parser.add_argument("--cpus", type=int, default=2, help="CPUs to run on (2, as the goals are)")
    opt = parser.parse_args()
    signal.signal(signal.SIGTERM, end)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:opt.cpus])
    layers = -(-int(TIMES * total_memory()) // bench.LAYER_OUT)
    size = layers * bench.LAYER_OUT
    need = input_bytes(layers) + 2 * size + ROOM
    with tempfile.TemporaryDirectory(prefix="amn-huge.") as folder:
        disk = os.statvfs(folder)
        room = disk.f_bavail * disk.f_frsize
        print(f"{size / 1e9:.1f} GB of output, {total_memory() / 1e9:.1f} GB of memory;"
              f" {need / 1e9:.1f} GB of disk needed, {room / 1e9:.1f} free in {folder}", flush=True)
        if room < need:
            print("bench-huge.py: not enough room; TMPDIR says where to make the files", file=sys.stderr)
            return 1
        if os.getloadavg()[0] > 0.5:
            print(f"note: the load is {os.getloadavg()[0]:.1f}; beside other work the figures mean little")
        try:
            Huge(opt, folder, layers).run()
        except (bench.Failed, OSError, subprocess.SubprocessError) as e:
            print(f"bench-huge.py: {e}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
