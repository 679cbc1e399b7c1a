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
        if self.kind in POSITIVE:
            found = POSITIVE[self.kind]
        else:
            found = np.unique(np.concatenate([around(v, c, level) for c in np.unique(np.abs(self.codes)) if c]))
        return np.concatenate([found, -found]) if self.signed else found

    def fits(self, d, v, level):
        """For each scale: the code that it needs for v, or NaN."""
        with np.errstate(over="ignore"):
            at = np.searchsorted(self.codes, v / d)
        found = np.full(len(d), np.nan)
        for shift in (-1, 0, 1):
            code = self.codes[np.clip(at + shift, 0, len(self.codes) - 1)]
            with np.errstate(over="ignore"):
                found = np.where(rounded(code * d, level) == v, code, found)
        return found

    def holds(self, values, level):
        values = np.unique(values.astype(np.float64))
        values = values[np.argsort(-np.abs(values))]
        if values[0] == 0:
            return True
        d = self.scales(values[0], level)
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
        if not self.steps or self.kind not in POSITIVE:
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
        wide = Power(self.magnitudes, -400, 400)
        if not all(wide.holds(values[i:i + 1], "real") for i in range(len(values))):
            return "precision"
        return "scale" if wide.holds(values, "real") else "span"


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
        if not self.narrow or level != "f32":
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
    """Numbers of a type."""

    def __init__(self, kind):
        self.kind = kind

    def holds(self, values, level):
        with np.errstate(over="ignore"):
            return bool((values.astype(TYPES[self.kind]).astype(np.float64) == values).all())

    def cause(self, values, level):
        with np.errstate(over="ignore"):
            back = values.astype(TYPES[self.kind]).astype(np.float64)
        return "precision" if np.isfinite(back[back != values][0]) else "span"
