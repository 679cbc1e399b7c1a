"""Writes models and adapters of small whole numbers, whose sums are exact in every order and type."""
import json, os, struct

def values(n, seed):
    x = seed * 7919 + 13
    out = []
    for _ in range(n):
        x = (x * 1103515245 + 12345) % 2147483648
        out.append(float((x >> 16) % 7 - 3))
    return out

def f32(v): return struct.pack("<%df" % len(v), *v)
def bf16(v): return b"".join(struct.pack("<f", x)[2:] for x in v)
PACK = {"F32": f32, "I64": lambda v: struct.pack("<%dq" % len(v), *map(int, v)), "BF16": bf16, "F16": lambda v: struct.pack("<%de" % len(v), *v)}

def write(path, tensors, metadata=None):
    """tensors: name -> (dtype, shape, list of floats)."""
    head, data = {}, b""
    if metadata:
        head["__metadata__"] = metadata
    for name, (dtype, shape, v) in tensors.items():
        raw = PACK[dtype](v)
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)

def product(up, down, rows, r, cols, s=1.0):
    return [s * sum(up[i * r + k] * down[k * cols + j] for k in range(r)) for i in range(rows) for j in range(cols)]

def add(a, b): return [x + y for x, y in zip(a, b)]
