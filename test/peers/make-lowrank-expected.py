"""make-lowrank-expected.py: prints test/unit/lowrank_expected.h: sums of a weight and a low-rank product, exact and then rounded to
F32 once, with Python's fractions. The kernels, which round each sum to F64, yield the same floats."""
import random
import struct
from fractions import Fraction

ROWS, RANK, COLS, SCALE = 4, 17, 21, 0.3


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def nearest(x):
    """Returns the F32 nearest to a fraction, ties to even."""
    y = f32(float(x))
    bits = struct.unpack("<i", struct.pack("<f", y))[0]
    near = [struct.unpack("<f", struct.pack("<i", bits + d))[0] for d in (-1, 0, 1)]
    best = min(abs(Fraction(n) - x) for n in near)
    found = [n for n in near if abs(Fraction(n) - x) == best]
    return found[0] if len(found) == 1 else next(n for n in found if struct.unpack("<i", struct.pack("<f", n))[0] % 2 == 0)


def show(name, values):
    print(f"\nstatic const float {name}[] = {{")
    for i in range(0, len(values), 6):
        print("    " + ", ".join(float(v).hex() + "f" for v in values[i:i + 6]) + ",")
    print("};")


random.seed(29)
w = [f32(random.gauss(0, .03)) for _ in range(ROWS * COLS)]
l = [f32(random.gauss(0, .1)) for _ in range(ROWS * RANK)]
r = [f32(random.gauss(0, .1)) for _ in range(RANK * COLS)]
for i in range(0, len(w), 5):       # sums of a thousandth of their terms
    k, j = divmod(i, COLS)
    w[i] = f32(-0.999 * SCALE * sum(l[k * RANK + n] * r[n * COLS + j] for n in range(RANK)))
want = [nearest(Fraction(w[i * COLS + j]) + Fraction(SCALE) * sum(Fraction(l[i * RANK + k]) * Fraction(r[k * COLS + j]) for k in range(RANK)))
        for i in range(ROWS) for j in range(COLS)]
print("/* lowrank_expected: a weight plus a low-rank product, rounded once. Made by test/peers/make-lowrank-expected.py. */")
print("#ifndef LOWRANK_EXPECTED_H\n#define LOWRANK_EXPECTED_H\n")
print(f"enum {{ EXPECTED_ROWS = {ROWS}, EXPECTED_RANK = {RANK}, EXPECTED_COLS = {COLS} }};")
print(f"#define EXPECTED_SCALE {SCALE}")
for name, values in ("expected_w", w), ("expected_l", l), ("expected_r", r), ("expected_sum", want):
    show(name, values)
print("\n#endif")
