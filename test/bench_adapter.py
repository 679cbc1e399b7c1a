"""Row S17 of bench.py: an adapter of rank 16 merged into a BF16 model, against the floor.

The floor is what the system needs to take as many ready bytes: fallocate of the whole file, then writes of 512 KiB from one buffer,
which stays in the cache. It is written by this process, so no start of a program counts. The row shows minima, because noise only
adds; medians are below it.
"""
import json
import os
import random
import statistics
import struct
import time

from bench_clock import Command, prime
from bench_inputs import LAYER, MIB, write_safetensors

RANK = 16


def make_base(path, layers):
    rng = random.Random(17)
    unit = b"".join(struct.pack("<H", rng.randrange(0x3C00, 0x3D80) | rng.randrange(2) << 15) for _ in range(MIB // 2))
    return write_safetensors(path, [(f"layers.{i}.{name}.weight", "BF16", [r, c], unit, 2 * r * c) for i in range(layers)
                                    for name, (r, c) in LAYER.items()])


def make_adapter(folder, layers, dtype="BF16"):
    rng = random.Random(16)
    size = {"BF16": 2, "F32": 4}[dtype]
    def unit():
        x = b"".join(struct.pack("<f", rng.uniform(-0.01, 0.01)) for _ in range(4096))
        return x if size == 4 else b"".join(x[i + 2:i + 4] for i in range(0, len(x), 4))
    tensors = []
    for i in range(layers):
        for name, (rows, cols) in LAYER.items():
            m = f"base_model.model.layers.{i}.{name}"
            tensors.append((m + ".lora_A.weight", dtype, [RANK, cols], unit(), size * RANK * cols))
            tensors.append((m + ".lora_B.weight", dtype, [rows, RANK], unit(), size * RANK * rows))
    os.makedirs(folder, exist_ok=True)
    write_safetensors(os.path.join(folder, "adapter_model.safetensors"), tensors)
    with open(os.path.join(folder, "adapter_config.json"), "w") as f:
        json.dump({"peft_type": "LORA", "r": RANK, "lora_alpha": 2 * RANK}, f)


class Floor(Command):
    def __init__(self, nbytes, new):
        super().__init__(["floor"], new=new)
        self.nbytes, self.buffer = nbytes, os.urandom(512 << 10)

    def seconds(self, touch):
        if touch:
            prime(touch)
        start = time.perf_counter()
        fd = os.open(self.new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.posix_fallocate(fd, 0, self.nbytes)
        left = self.nbytes
        while left:
            left -= os.write(fd, self.buffer if left >= len(self.buffer) else self.buffer[:left])
        os.close(fd)
        taken = time.perf_counter() - start
        self.clean()
        return taken


def run(bench):
    if not bench.wants("S17"):
        return
    base, lora = os.path.join(bench.folder, "in"), os.path.join(bench.folder, "lora")
    make_base(base, bench.layers)
    make_adapter(lora, bench.layers)
    os.path.exists(bench.out) and os.unlink(bench.out)
    bench.run_once([bench.remember, "-q", "-j1", "--adapter", lora, "-o", bench.out, base], {"AMN_CPU": "scalar"})
    nbytes = os.path.getsize(bench.out)
    floor, cat = Floor(nbytes, bench.new), bench.cat()
    rows = [("S17 merge, rank 16 -> file, and floor", ["--adapter", lora], 2.5), ("    the same with -q", ["-q", "--adapter", lora], 2.5),

            ("    no adapter, and floor", ["-q"], 1.15)]
    commands = [(label, Command([bench.remember, *options, "-o", bench.new, base], new=bench.new), goal)
                for label, options, goal in rows]
    for label, command, _ in commands:
        peak = command.peak()
        bench.table.highest = max(bench.table.highest, peak)
        command.clean()
    times = {c: [] for c in [floor, cat] + [c for _, c, _ in commands]}
    for i in range(bench.table.rounds):
        order = list(times)
        for c in order if i % 2 == 0 else reversed(order):
            times[c].append(c.seconds(bench.touch))
    f = min(times[floor])
    bench.table.line("    floor, median / minimum", f"{statistics.median(times[floor]):.4f}", f"{f:.4f}")
    bench.table.line("    cat, and floor", f"{min(times[cat]):.4f}", f"{f:.4f}", f"{min(times[cat]) / f:.2f}")
    for label, command, goal in commands:
        a = min(times[command])
        bench.table.line(label, f"{a:.4f}", f"{f:.4f}", f"{a / f:.2f}", f"{goal:.2f}", f"{statistics.median(times[command]) / f:.2f}m",
                         missed=a / f > goal)
