#!/usr/bin/env bats
# amn diff: the values of two models. The figures are compared with test/helpers/diff-figures.
load helper

# models: a.safetensors and b.safetensors, whose tensors differ in various ways: "big.*" have several blocks, "odd.*" have NaN,
# infinities and zeros of both signs.
models() {
    python3 - <<'PYTHON'
import math, random, struct
from modelfile import write
rnd = random.Random(7)
def floats(n, scale=1.0):
    return [rnd.gauss(0, scale) for _ in range(n)]
def f32(v): return struct.pack("<%df" % len(v), *v)
def f16(v): return struct.pack("<%de" % len(v), *v)
def f64(v): return struct.pack("<%dd" % len(v), *v)
def bf16(v): return b"".join(struct.pack("<f", x)[2:] for x in v)
a, b = [], []
def both(name, dtype, shape, data, other, other_dtype=None, other_shape=None):
    a.append((name, dtype, shape, data))
    b.append((name, other_dtype or dtype, other_shape or shape, other))
x = floats(100000)
noisy = [v + 0.01 * w for v, w in zip(x, floats(100000))]
both("big.same", "F32", [250, 400], f32(x), f32(x))
both("big.noisy", "F32", [250, 400], f32(x), f32(noisy))
last = x[:-1] + [x[-1] + 1]
both("big.last", "F32", [100000], f32(x), f32(last))
both("big.bf16", "BF16", [400, 250], bf16(x), bf16(noisy))
both("big.f16", "F16", [400, 250], f16(x), bf16(noisy), "BF16")
h = bf16(floats(600))
wide = b"".join(b"\0\0" + h[i:i + 2] for i in range(0, len(h), 2))
both("values", "BF16", [600], h, wide, "F32")
both("odd.zero", "F32", [3], f32([0.0, -0.0, 1]), f32([-0.0, 0.0, 1]))
both("odd.nan", "F32", [4], f32([math.nan, math.inf, -math.inf, 2]), struct.pack("<4I", 0xFFC00001, 0x7F800000, 0xFF800000,
                                                                                    0x40000000))
both("odd.mixed", "F32", [6], f32([math.nan, math.inf, 1, 2, 3, 4]), f32([1, 2, math.nan, 2, 3.5, -math.inf]))
both("odd.zeros", "F32", [3], f32([0, 0, 0]), f32([1, 0, 0]))
both("f64", "F64", [5], f64([0.1, 1e-300, 5, -7, 1e100]), f64([0.1, 2e-300, 5.5, -7, 1e100]))
both("f64.f32", "F64", [100], f64(x[:100]), f32(x[:100]), "F32")
both("i64", "I64", [3], struct.pack("<3q", 2**62, -5, 0), struct.pack("<3q", 2**62 + 1, -5, 9))
both("i8.i64", "I8", [3], struct.pack("<3b", 1, -5, 127), struct.pack("<3q", 1, -5, 127), "I64")
both("u8", "U8", [4], bytes([1, 2, 3, 255]), bytes([1, 2, 3, 0]))
both("bool", "BOOL", [2], b"\0\1", b"\1\1")
both("complex", "C64", [2], f32([1, 2, 3, 4]), f32([1, 2, 3, 5]))
both("empty", "F32", [0, 3], b"", b"")
both("scalar", "F32", [], f32([1]), f32([2]))
both("shape", "F32", [2, 3], f32(x[:6]), f32(x[:6]), None, [3, 2])
both("kind", "F32", [2], f32([1, 2]), struct.pack("<2i", 1, 2), "I32")
a.append(("gone", "F32", [2], f32([1, 2])))
b.append(("new", "F32", [2], f32([1, 2])))
rnd.shuffle(b)
write("a.safetensors", a)
write("b.safetensors", b)
PYTHON
}

# figures FILE: compares the JSON in FILE with the helper's figures of a.safetensors and b.safetensors.
figures() {
    "$helpers/diff-figures" a.safetensors b2.safetensors >figures
    python3 - "$1" <<'PYTHON'
import json, math, sys
lines = {o["name"]: o for o in map(json.loads, open(sys.argv[1]))}
count = 0
for name, differ, nonfinite, most, mean, sqnr, cosine, first in map(json.loads, open("figures")):
    o = lines[name]
    got = [o["differing"], o["nonfinite"], o["max_abs"], o["mean_abs"], o["sqnr_db"], o["cosine"], o["first_index"]]
    want = [differ, nonfinite, most, mean, sqnr, cosine, first]
    for g, w in zip(got, want):
        assert g == w or (g is not None and w is not None and math.isclose(g, w, rel_tol=1e-9, abs_tol=1e-12)), (name, got, want)
    count += 1
print(count)
PYTHON
}

# known: b2.safetensors is b.safetensors without tensors that have no figures.
known() {
    python3 - <<'PYTHON'
from modelfile import read, write
write("b2.safetensors", [(k, *t) for k, t in read("b.safetensors").items() if k not in ("complex", "kind")])
PYTHON
}

@test "statuses and figures: every tensor, from files and a pipe, with any number of threads and both kernels" {
    models
    known
    try 1 amn diff a.safetensors b.safetensors
    [ "$(figures out)" -eq 18 ]
    jq -r '[.name, .status] | @tsv' out >statuses
    cat >want <<'EOF'
big.same	equal
big.noisy	different
big.last	different
big.bf16	different
big.f16	different
values	equal-values
odd.zero	equal-values
odd.nan	equal-values
odd.mixed	different
odd.zeros	different
f64	different
f64.f32	different
i64	different
i8.i64	equal-values
u8	different
bool	different
complex	different
empty	equal
scalar	different
shape	shape
kind	dtype
gone	only-a
new	only-b
EOF
    diff want statuses
    mv out first
    try 1 amn diff -j 1 a.safetensors b.safetensors
    cmp first out
    try 1 amn diff -j 5 - b.safetensors < <(cat a.safetensors)
    cmp first out
    try 1 env AMN_CPU=scalar amn-inspect --diff a.safetensors b.safetensors
    cmp first out
    "$helpers/json-keys" 'AMN-INSPECT DIFF' <first
}

@test "a model is equal to itself in another container, and equal in values to its dequantized copy" {
    models
    amn-convert -q --exclude complex --exclude empty --exclude 'bool' --exclude scalar -o a.npz a.safetensors
    amn-convert -q -o again.safetensors a.npz
    try 0 amn diff a.npz again.safetensors
    jq -es 'all(.[]; .status == "equal" and .max_abs == 0 and .first_index == null)' out
    for in in "$fx/good-sharded" "$fx/good-gguf-k.gguf" "$corpus/safetensors-good/awq-gemm.safetensors" \
        "$corpus/safetensors-good/gptq-4bit-asym-shuffled.safetensors"; do
        amn-remember -q --to f32 -o whole.safetensors "$in"
        try 0 amn diff -q "$in" whole.safetensors
        jq -es 'any(.[]; .status == "equal-values") and all(.[]; .status == "equal-values" or .status == "equal")' out
        try 0 amn diff -q "$in" "$in"
        jq -es 'all(.[]; .status == "equal")' out
    done
}

@test "the figures of a quantized copy are those of amn-forget --report" {
    python3 -c '
import random, struct
from modelfile import write
r = random.Random(3)
write("m.safetensors", [("l.%d.weight" % i, "F32", [64, 512], struct.pack("<32768f", *[r.gauss(0, 1) for _ in range(32768)]))
      for i in range(3)])'
    amn-forget -q --scheme q4_k --pure --report errors.json -o q.gguf m.safetensors
    try 1 amn diff m.safetensors q.gguf
    diff <(jq -r 'select(.name) | [.name, .max_error, (.mean_absolute_error * 1e12 | round), (.sqnr_db * 1e9 | round), (.cosine * 1e12 | round)] | @tsv' errors.json) \
        <(jq -r '[.name, .max_abs, (.mean_abs * 1e12 | round), (.sqnr_db * 1e9 | round), (.cosine * 1e12 | round)] | @tsv' out)
    jq -es 'all(.[]; .dtype_a == "F32" and .dtype_b == "q4_k")' out
}

@test "names: --rename changes those of A, patterns select from both" {
    models
    amn-convert -q --exclude complex --rename 's/^big/large/' -o r.safetensors a.safetensors
    try 1 amn diff r.safetensors a.safetensors
    [ "$(jq -r 'select(.status == "only-a") | .name' out | wc -l)" -eq 5 ]
    try 1 amn diff --rename 's/^large/big/' r.safetensors a.safetensors
    [ "$(jq -r 'select(.status != "equal") | .name' out)" = complex ]
    try 0 amn diff --rename 's/^large/big/' --exclude complex r.safetensors a.safetensors
    try 0 amn diff --include 'odd.*' r.safetensors a.safetensors
    [ "$(jq -r .name out | wc -l)" -eq 4 ]
    try 2 amn diff --include 'nothing*' a.safetensors r.safetensors
    amn-convert -q --add-prefix x. --include f64 -o x.safetensors a.safetensors
    try 1 amn diff x.safetensors a.safetensors
    grep -q 'no tensor has the same name in both models; --rename' err
    try 0 amn diff --strip-prefix x. --include f64 x.safetensors a.safetensors
}

@test "text: counts, the worst ten, and names; -v lists all" {
    models
    try 1 amn diff --human a.safetensors b.safetensors
    grep -qx 'Equal         2 tensors' out
    grep -qx 'Equal values  4 tensors' out
    grep -qx 'Different     13 tensors' out
    grep -q 'Worst tensors' out
    [ "$(sed -n '/Worst/,/^$/p' out | grep -c .)" -eq 11 ]
    grep -qx '  gone' out
    grep -qx '  new' out
    try 1 amn diff -v --human a.safetensors b.safetensors
    [ "$(sed -n '/SQNR, dB/,/^$/p' out | grep -c .)" -eq 14 ]
    "$helpers/no-controls" <out
    COLUMNS=70 TERM=xterm "$helpers/pty" amn diff a.safetensors b.safetensors >out || :
    grep -q 'Worst tensors' out
}

@test "--report: JSON lines, or a page with the same figures" {
    python3 -c '
import random, struct
from modelfile import write
r = random.Random(3)
write("m.safetensors", [("model.layers.%d.%s.weight" % (i, k), "F32", [16, 32], struct.pack("<512f", *[r.gauss(0, 1) for _ in range(512)]))
      for i in range(4) for k in ("q_proj", "k_proj", "o_proj")])'
    amn-convert -q --dtype bf16 -o b.safetensors m.safetensors
    try 1 amn diff --report page.html m.safetensors b.safetensors
    try 1 amn diff --report again.html -j 1 m.safetensors b.safetensors
    cmp page.html again.html
    "$helpers/report-page" page.html >shown
    jq -e '.title == "Comparison of two models" and (.cells | length) == 12 and (.worst | length) == 10' shown
    try 1 amn diff --report lines.json m.safetensors b.safetensors
    cmp out lines.json
    try 73 amn diff --report m.safetensors m.safetensors b.safetensors
    try 73 amn diff --report b.safetensors m.safetensors b.safetensors
    try 0 amn diff --report same.html m.safetensors m.safetensors
    "$helpers/report-page" same.html >shown
}

@test "usage and bad input" {
    models
    try 2 amn diff a.safetensors
    try 2 amn diff a.safetensors b.safetensors a.safetensors
    try 2 amn diff - -
    try 2 amn diff --stored a.safetensors b.safetensors
    try 2 amn-inspect --report r.json a.safetensors
    try 66 amn diff a.safetensors nothing
    head -c 100 a.safetensors >cut
    try 65 amn diff a.safetensors cut
    grep -q '^amn-inspect: cut: ' err
    [ ! -s out ]
}
