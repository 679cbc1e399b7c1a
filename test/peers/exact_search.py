"""exact_search: decides by trying all scales whether a block of values has an encoding. Shares nothing with the solvers of amn, which
compute the scale: here every scale of a type is tried, or every one around each quotient of a value and a code."""
import math
from fractions import Fraction

import ml_dtypes
import numpy as np

TYPES = {"F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32}
E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
E4M3 = np.unique(np.abs(np.arange(127, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)))


def both_signs(magnitudes):
    return np.unique(np.concatenate([-magnitudes, magnitudes]))


def rounded(x, level):
    """Products as a decoder of F32 returns them, at a level."""
    with np.errstate(over="ignore"):
        if level == "real":
            return x
        x = x.astype(np.float32)
        return (x.astype(TYPES[level.upper()]) if level in ("bf16", "f16") else x).astype(np.float64)


def positive(kind):
    """All positive finite numbers of a type of 16 bits."""
    with np.errstate(invalid="ignore"):
        values = np.arange(1, 1 << 15, dtype=np.uint16).view(TYPES[kind]).astype(np.float64)
    return values[np.isfinite(values)]


POSITIVE = {kind: positive(kind) for kind in ("F16", "BF16")}


def around(v, code, level):
    """The F32 numbers near v / code: all for which the product may round to v."""
    centre = abs(v / code)
    spread = {"f32": 2.0 ** -22, "real": 2.0 ** -22, "bf16": 2.0 ** -7, "f16": 2.0 ** -9}[level]
    if level != "f32" and abs(v) < 2.0 ** -13:          # subnormal results have fewer bits
        spread = max(spread, {"bf16": 2.0 ** -134, "f16": 2.0 ** -25, "real": 0}[level] / abs(v))
    if level == "f32":
        spread = max(spread, 2.0 ** -150 / abs(v))
    with np.errstate(over="ignore"):
        ends = np.array([centre * max(1 - spread, 0), centre * (1 + spread)]).astype(np.float32)
    if not np.isfinite(ends[0]) or ends[1] == 0:
        return np.zeros(0)
    lo, hi = (int(x) for x in ends.view(np.uint32))
    bits = np.arange(max(lo - 2, 1), min(hi + 2, 0x7F7FFFFF) + 1, dtype=np.uint32)
    return bits.view(np.float32).astype(np.float64)


class Scaled:
    """Codes times a scale. table: codes, ascending; signed: negative scales too; zeros: with an integer zero point, which shifts the
    table by 0 to its length - 1; steps: the codes are integers, and a refusal says whether the type of the scale is in the way."""

    def __init__(self, table, kind, signed=False, zeros=False, steps=False):
        self.table, self.kind, self.zeros, self.steps = np.asarray(table, dtype=np.float64), kind, zeros, steps
        self.signed = signed
        top = len(self.table) - 1
        self.codes = np.arange(-top, top + 1.0) if zeros else self.table

    def scales(self, v, level):
        """Lists of scales that cover all with which a code may be v: those of 16 bits together, those of F32 by the code."""
        if self.kind in POSITIVE:
            yield from (POSITIVE[self.kind] * sign for sign in ((1, -1) if self.signed else (1,)))
            return
        for code in self.codes[self.codes != 0]:
            if self.signed or v / code > 0:
                yield around(v, code, level) * np.sign(v / code)

    def fits(self, d, v, level):
        """For each of some scales in rising or falling order: the smallest code that denotes v with it, or NaN."""
        found = np.full(len(d), np.nan)
        with np.errstate(over="ignore"):
            at = np.searchsorted(self.codes, np.sort(v / d[[0, -1]])) + [-1, 1]
            near = self.codes[max(at[0], 0):at[1] + 1]
            if len(near) <= 8:
                for code in near[np.argsort(-np.abs(near))]:
                    found[rounded(code * d, level) == v] = code
                return found
            at = np.searchsorted(self.codes, v / d)
            for shift in (1, 0, -1) if v > 0 else (-1, 0, 1):
                code = self.codes[np.clip(at + shift, 0, len(self.codes) - 1)]
                found = np.where(rounded(code * d, level) == v, code, found)
        return found

    def holds(self, values, level):
        values = np.unique(values.astype(np.float64))
        values = values[np.argsort(-np.abs(values))]
        return values[0] == 0 or any(self.holds_with(d, values, level) for d in self.scales(values[0], level) if len(d) != 0)

    def holds_with(self, d, values, level):
        low, high = np.zeros(len(d)), np.zeros(len(d))
        for v in values:
            code = self.fits(d, v, level)
            low, high = np.minimum(low, code), np.maximum(high, code)
            keep = ~np.isnan(code)
            if self.zeros:
                keep &= high - low <= len(self.table) - 1
            d, low, high = d[keep], low[keep], high[keep]
            if len(d) == 0:
                return False
        return True

    def cause(self, values, level):
        """`scale` if some real number would do as the scale."""
        if not self.steps or self.kind not in POSITIVE or level in ("bf16", "f16"):
            return "span"
        values = [Fraction(v) for v in np.unique(values.astype(np.float64)) if v]
        most = max(values, key=abs)
        codes = {Fraction(c) for c in self.codes}
        for c in codes - {0}:
            d = most / c
            if d < 0 and not self.signed:
                continue
            needed = [v / d for v in values]
            if all(n in codes for n in needed) and (not self.zeros or max(needed + [0]) - min(needed + [0]) < len(self.table)):
                return "scale"
        return "span"


class Power:
    """A power of two from 2^least to 2^most times a float code."""

    def __init__(self, magnitudes, least=-127, most=127):
        self.magnitudes, self.least, self.most = magnitudes, least, most

    def holds_at(self, values, level, t):
        return np.isin(values, rounded(self.magnitudes * 2.0 ** t, level)).all()

    def holds(self, values, level):
        values = np.unique(np.abs(values.astype(np.float64)))
        if values[-1] == 0:
            return True
        # the largest value is between the smallest and the largest code, with room for its rounding
        most = math.frexp(values[-1])[1]
        return any(self.holds_at(values, level, t) for t in range(max(self.least, most - 12), min(self.most, most + 12) + 1))

    def cause(self, values, level):
        values = np.unique(np.abs(values.astype(np.float64)))
        if not np.isin(np.frexp(values)[0], np.frexp(self.magnitudes)[0]).all():
            return "precision"
        return "scale" if Power(self.magnitudes, -400, 400).holds(values, "real") else "span"


class Steps:
    """code * d + m, where the sum is exact; narrow: the decoder returns numbers of `kind`. A sum that is rounded can give a value that
    no exact one does, so for such decoders only what does hold is found."""

    def __init__(self, bits, kind, narrow=False):
        self.top, self.kind, self.narrow = (1 << bits) - 1, kind, narrow

    def is_of(self, x):
        with np.errstate(over="ignore"):
            return x.astype(TYPES[self.kind]).astype(np.float64) == x

    def holds(self, values, level):
        values = np.unique(values.astype(np.float64))
        if self.narrow and level == "f32" and not self.is_of(values).all():
            return False
        least = values[0]
        if len(values) == 1:
            return bool(self.is_of(values)[0]) or self.one(least)
        if self.kind in POSITIVE:
            d = POSITIVE[self.kind]
        else:
            d = np.unique(np.concatenate([around(values[-1] - least, c, "real") for c in range(1, self.top + 1)]))
        for v in values[::-1]:
            n = (v - least) / d
            d = d[(n == np.floor(n)) & (n <= self.top)]
        most = (values[-1] - least) / d
        for a in range(self.top + 1):
            ok = most + a <= self.top
            # from below, and turned around
            for m, steps in ((least - a * d, values - least), (values[-1] + a * d, values[-1] - values)):
                if (ok & self.is_of(m) & self.adds(d, a, steps, level)).any():
                    return True
        return False

    def adds(self, d, a, steps, level):
        """For each scale: no product is rounded by a decoder that returns numbers of `kind`."""
        if not self.narrow or level == "real":
            return True
        return self.is_of(steps[:, None] + a * d).all(axis=0)

    def one(self, v):
        """One value: the nearest minimum, and the rest as the scale. There may be other encodings, which are not asked for."""
        with np.errstate(over="ignore"):
            m = np.array([v]).astype(TYPES[self.kind]).astype(np.float64)
        return bool(np.isfinite(m[0]) and self.is_of(v - m)[0])

    def cause(self, values, level):
        values = np.unique(values.astype(np.float64))
        if self.narrow and level == "f32" and not self.is_of(values).all():
            return "precision"
        if len(values) == 1:
            return "scale"
        steps = [Fraction(v) - Fraction(values[0]) for v in values]
        unit = Fraction(0)
        for s in steps:
            unit = Fraction(math.gcd(unit.numerator * s.denominator, s.numerator * unit.denominator), unit.denominator * s.denominator)
        return "span" if steps[-1] / unit > self.top else "scale"


class Dense:
    """Numbers of a type: those nearest to the values or, where the level makes another number of that, to the values at the level. What the
    level would make infinite is not rounded."""

    def __init__(self, kind):
        self.kind = kind

    @staticmethod
    def at(level, values):
        near = rounded(values, level)
        return np.where(np.isfinite(near), near, values)

    def near(self, values, level):
        """The numbers, and whether they are right."""
        wanted = self.at(level, values)
        with np.errstate(over="ignore"):
            first, second = (v.astype(TYPES[self.kind]).astype(np.float64) for v in (values, wanted))
        near = np.where(self.at(level, first) == wanted, first, second)
        return near, self.at(level, near) == wanted

    def holds(self, values, level):
        return bool(self.near(values, level)[1].all())

    def cause(self, values, level):
        near, right = self.near(values, level)
        return "precision" if np.isfinite(near[~right][0]) else "span"


# --- NVFP4: one scale for the weight, and one for each block

def stored_power(reader, m):
    """What a reader stores for a factor of 2^m, as F32; None if that is not a finite number, or 0."""
    number = 2688 * 2.0 ** m if reader == "mlx" else 2.0 ** (-m if reader == "ct" else m)
    with np.errstate(over="ignore"):
        second = np.float32(number)
    return second if np.isfinite(second) and second != 0 and float(second) == number else None


def read_nvfp4(reader, c, s, second):
    """What a library makes of codes and scales of blocks, and the scale of the weight, all arrays of F32."""
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        if reader == "gguf":
            return c * s * second
        return c * (s / second if reader == "ct" else s * (second / np.float32(2688)) if reader == "mlx" else s * second)


class Nvfp4Powers:
    """From values with powers of two: every power of two as the scale of the weight, and for each of them every scale of a block, or
    those that are powers of two."""
    steps = np.unique(E4M3[1:])

    def __init__(self, reader, every=True):
        self.reader, self.tables = reader, {}
        self.of_block = self.steps if every else self.steps[np.frexp(self.steps)[0] == 0.5]
        self.known = {}

    def table(self, m, level):
        """Values by the scale of a block and the code, in rising order, or None."""
        if (m, level) not in self.tables:
            second, c, s = stored_power(self.reader, m), E2M1[1:].astype(np.float32), self.of_block.astype(np.float32)[:, None]
            self.tables[m, level] = None if second is None else E2M1[1:] * self.of_block[:, None] * 2.0 ** m if level == "real" else rounded(
                read_nvfp4(self.reader, c, s, second).astype(np.float64), level)
        return self.tables[m, level]

    def powers(self, values, level):
        """The powers of two for the weight that leave a block an encoding; None: all do."""
        values = np.unique(np.abs(values.astype(np.float64)))
        values = values[values != 0]
        if len(values) == 0:
            return None
        key = level, values.tobytes()
        if key not in self.known:
            top = math.frexp(values[-1])[1]                     # the largest product is 2688 * 2^m, the smallest 2^(m - 10)
            self.known[key] = frozenset(m for m in range(top - 14, top + 13) if self.holds_at(values, level, m))
        return self.known[key]

    def holds_at(self, values, level, m):
        table = self.table(m, level)
        return table is not None and bool((table[:, :, None] == values).any(axis=1).all(axis=1).any())

    def witness(self, source, i, level):
        """None if the weight has an encoding; else the first block that has none by itself, or the first one that leaves no scale for
        all; and the cause."""
        values = source.real[i] if level == "real" else rounded(source.values[i].astype(np.float64), level)
        left, conflict = None, None
        for r, c in ((r, c) for r in range(values.shape[0]) for c in range(0, values.shape[1], 16)):
            some = self.powers(values[r, c:c + 16], level)
            if some is None:
                continue
            if not some:
                return [[r, c]], Power(E2M1).cause(values[r, c:c + 16], "real")
            left = some if left is None else left & some
            conflict = conflict or (None if left else ([[r, c]], "span"))
        return conflict


class Nvfp4Pairs:
    """From another NVFP4: scales of blocks and codes stay, and each element is compared. There is one scale of the weight to try: the same
    factor, or the nearest one. Its neighbours can do where a weight has few scales of blocks; amn does not try them, and `lucky` counts
    these weights."""

    def __init__(self, reader):
        self.reader, self.lucky = reader, 0

    def candidates(self, parts, i):
        factor = np.float32(float(parts.fraction(i)))
        if self.reader != "mlx":
            return [np.float32(1) / factor if self.reader == "ct" else factor]
        nearest = np.float32(2688) * factor
        same = [g for g in self.around(nearest, 1) if g / np.float32(2688) == factor]
        return same or [nearest]

    @staticmethod
    def around(number, ulps):
        bits = int(number.view(np.uint32)) + np.arange(-ulps, ulps + 1)
        return bits[(bits > 0) & (bits < 0x7F800000)].astype(np.uint32).view(np.float32)

    def same(self, source, i, level, second):
        parts = source.parts
        if level != "real":
            got = read_nvfp4(self.reader, parts.c[i].astype(np.float32), parts.s[i].astype(np.float32), second)
            return rounded(got.astype(np.float64), level) == rounded(source.values[i].astype(np.float64), level)
        to = Fraction(float(second))
        to = 1 / to if self.reader == "ct" else to / 2688 if self.reader == "mlx" else to
        return (parts.c[i] * parts.s[i] == 0) | (parts.fraction(i) == to)

    def witness(self, source, i, level):
        """None if a candidate holds all; else the blocks at which one fails first."""
        blocks, tried = [], self.candidates(source.parts, i)
        for second in tried:
            wrong = np.flatnonzero(~self.same(source, i, level, second))
            if len(wrong) == 0:
                return None
            r, c = divmod(int(wrong[0]), source.values.shape[2])
            blocks.append([r, c // 16 * 16])
        self.lucky += any(self.same(source, i, level, second).all() for second in self.around(tried[0], 4))
        return blocks, "scale"


class Nvfp4Copy:
    """From rounded values: powers of two, and each scale of the weight with which its largest value is the largest code and the largest
    scale of a block, as quantizers choose it. For each of them, every scale of a block."""
    spread = {"bf16": 2.0 ** -7, "f16": 2.0 ** -9, "f32": 2.0 ** -21}

    def __init__(self, reader):
        self.reader, self.powers = reader, Nvfp4Powers(reader, False)

    def read(self, c, s, second, level):
        return rounded(read_nvfp4(self.reader, np.float32(c), np.float32(s), second).astype(np.float64), level)

    def candidates(self, most, level):
        factor, spread = most / 2688, self.spread[level]
        number = most if self.reader == "mlx" else 1 / factor if self.reader == "ct" else factor
        lo, hi = (int(x) for x in np.array([number * (1 - spread), number * (1 + spread)]).astype(np.float32).view(np.uint32))
        second = np.arange(max(lo - 2, 1), hi + 3, dtype=np.uint32).view(np.float32)
        return second[self.read(6, 448, second, level) == most]

    def keep(self, second, values, level):
        """Those scales that leave a block an encoding."""
        values = np.unique(np.abs(values))[::-1]
        values = values[values != 0]
        held = np.zeros(len(second), dtype=bool)
        for s in E4M3[1:]:
            left = np.flatnonzero(~held)
            for v in values:
                fits = np.zeros(len(left), dtype=bool)
                for c in E2M1[1:]:
                    fits |= self.read(c, s, second[left], level) == v
                left = left[fits]
                if len(left) == 0:
                    break
            held[left] = True
        return second[held]

    def witness(self, source, i, level):
        found = self.powers.witness(source, i, level)
        values = rounded(source.values[i].astype(np.float64), level)
        if found is None or found[1] != "precision":
            return found
        second = self.candidates(np.abs(values).max(), level)
        for r, c in ((r, c) for r in range(values.shape[0]) for c in range(0, values.shape[1], 16)):
            second = self.keep(second, values[r, c:c + 16], level)
            if len(second) == 0 and values[r, c:c + 16].any():          # zeros fit any scale, even if there is none to try
                return [[r, c]], "span"
        return None
