"""Row S17 of bench.py: an adapter of rank 16 merged into a BF16 model, with and without measuring what becomes of it."""
import json
import os
import random
import struct

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


def run(bench):
    if not bench.wants("S17"):
        return
    bench.input = os.path.join(bench.folder, "in")
    lora = os.path.join(bench.folder, "lora")
    make_base(bench.input, bench.layers)
    make_adapter(lora, bench.layers)
    bench.run_once([bench.remember, "-q", "-j1", "--adapter", lora, "-o", bench.out, bench.input], {"AMN_CPU": "scalar"})
    bench.against_floor("S17 merge, rank 16 -> file", bench.to_file("--adapter", lora), 2.5)
    bench.against_floor("    the same with -q", bench.to_file("-q", "--adapter", lora), 2.5)
