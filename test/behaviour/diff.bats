#!/usr/bin/env bats
# amn diff: the values of two models. The figures are compared with those of numpy.
load helper

models() { "$helpers/diff-models"; }

# figures FILE: compares the JSON in FILE with what numpy computed, test/corpus/diff-figures.ndjson. Prints how many tensors.
figures() {
    python3 - "$1" "$corpus/diff-figures.ndjson" <<'PYTHON'
import json, math, sys
lines = {o["name"]: o for o in map(json.loads, open(sys.argv[1])) if "name" in o}
count = 0
for want in map(json.loads, open(sys.argv[2])):
    got = lines[want["name"]]
    for key, w in want.items():
        g = got[key]
        assert g == w or (isinstance(w, float) and isinstance(g, (int, float)) and math.isclose(g, w, rel_tol=1e-9, abs_tol=1e-12)), \
            (want["name"], key, g, w)
    count += 1
print(count)
PYTHON
}

@test "statuses and figures: every tensor, from files and a pipe, with any number of threads and both kernels" {
    models
    try 1 amn diff a.safetensors b.safetensors
    [ "$(figures out)" -eq 18 ]
    jq -r 'select(.name) | [.name, .status] | @tsv' out >statuses
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
    jq -c 'select(.name)' first | "$helpers/json-keys" 'AMN-INSPECT DIFF'
    jq -es 'last | .total == 23 and [.equal, .equal_values, .unequal, .only_a, .only_b, .shape, .dtype] == [2, 4, 13, 1, 1, 1, 1]' first
    jq -es '(map(select(.name).differing // 0) | add) == last.differing and (map(select(.name).max_abs // 0) | max) == last.max_abs' first
}

@test "a model is equal to itself in another container, and equal in values to its dequantized copy" {
    models
    amn-convert -q --drop complex --drop empty --drop 'bool' --drop scalar -o a.npz a.safetensors
    amn-convert -q -o again.safetensors a.npz
    try 0 amn diff a.npz again.safetensors
    jq -es 'all(.[] | select(.name); .status == "equal" and .max_abs == 0 and .first_index == null)' out
    for in in "$fx/good-sharded" "$fx/good-gguf-k.gguf" "$corpus/safetensors-good/awq-gemm.safetensors" \
        "$corpus/safetensors-good/gptq-4bit-asym-shuffled.safetensors"; do
        amn-remember -q --to f32 -o whole.safetensors "$in"
        try 0 amn diff -q "$in" whole.safetensors
        jq -es 'any(.[] | select(.name); .status == "equal-values") and all(.[] | select(.name); .status == "equal-values" or .status == "equal")' out
        try 0 amn diff -q "$in" "$in"
        jq -es 'all(.[] | select(.name); .status == "equal")' out
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
        <(jq -r 'select(.name) | [.name, .max_abs, (.mean_abs * 1e12 | round), (.sqnr_db * 1e9 | round), (.cosine * 1e12 | round)] | @tsv' out)
    jq -es 'all(.[] | select(.name); .dtype_a == "F32" and .dtype_b == "Q4_K")' out
}

@test "names: --rename changes those of A, patterns select from both" {
    models
    amn-convert -q --drop complex --rename 's/^big/large/' -o r.safetensors a.safetensors
    try 1 amn diff r.safetensors a.safetensors
    [ "$(jq -r 'select(.status == "only-a") | .name' out | wc -l)" -eq 5 ]
    try 1 amn diff --rename 's/^large/big/' r.safetensors a.safetensors
    [ "$(jq -r 'select(.name and .status != "equal") | .name' out)" = complex ]
    try 0 amn diff --rename 's/^large/big/' --drop complex r.safetensors a.safetensors
    try 0 amn diff --only 'odd.*' r.safetensors a.safetensors
    [ "$(jq -r 'select(.name).name' out | wc -l)" -eq 4 ]
    try 2 amn diff --only 'nothing*' a.safetensors r.safetensors
    amn-convert -q --add-prefix x. --only f64 -o x.safetensors a.safetensors
    try 1 amn diff x.safetensors a.safetensors
    grep -q 'no tensor has the same name in both models; --rename' err
    try 0 amn diff --strip-prefix x. --only f64 x.safetensors a.safetensors
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
    export SOURCE_DATE_EPOCH=1700000000
    try 1 amn diff --report page.html m.safetensors b.safetensors
    try 1 amn diff --report "a 'gain.html" -j 1 m.safetensors b.safetensors
    cmp <(grep -v '<code>' page.html) <(grep -v '<code>' "a 'gain.html")
    grep -qF "<code>amn diff --report &#39;a &#39;\\&#39;&#39;gain.html&#39; -j 1 m.safetensors b.safetensors</code>" "a 'gain.html"
    grep -qF 'on 2023-11-14 (UTC)' page.html
    "$helpers/report-page" page.html >shown
    jq -e '.title == "Comparison of two models" and (.cells | length) == 12 and (.worst | length) == 10' shown
    grep -q '<h2>Terms</h2>' page.html
    amn-forget -q --scheme q8_0 --include '*q_proj*' -o q.gguf m.safetensors
    try 1 amn diff --report page.html m.safetensors q.gguf
    "$helpers/report-page" page.html >shown
    jq -e '[.cells[][2]] | unique == ["=", "Q8_0"]' shown
    try 1 amn diff --report lines.json m.safetensors b.safetensors
    cmp out lines.json
    try 73 amn diff --report m.safetensors m.safetensors b.safetensors
    try 73 amn diff --report b.safetensors m.safetensors b.safetensors
    try 0 amn diff --report same.html m.safetensors m.safetensors
    "$helpers/report-page" same.html >shown
}

@test "a model directory and a GGUF file made from it are paired by the family, in either order" {
    "$tests/make/examples" ex
    amn-remember -q -o plain ex/model
    amn-convert -q -o same.gguf plain
    amn-forget -q --scheme q4_k_m -o q4.gguf plain
    for pair in "plain same.gguf" "same.gguf plain"; do
        try 0 amn diff $pair
        jq -es 'last | .total > 10 and .equal + .equal_values == .total' out
        grep -q 'compared with the names and rows that it has in GGUF' err || ! grep -q . err
    done
    amn-convert -q --dtype f32 -o f32.gguf plain
    amn diff f32.gguf q4.gguf | jq -c 'select(.name) | [.name, .status == "different", .sqnr_db, .max_abs]' >want
    amn diff plain q4.gguf | jq -c 'select(.name) | [.name, .status == "different", .sqnr_db, .max_abs]' >got
    cmp want got
    try 1 amn diff plain q4.gguf
    total=$(jq -s 'last.sqnr_db' out)
    jq -es 'map(select(.name and .status == "different").sqnr_db) | min < '"$total" out
}

@test "--min-sqnr decides the status" {
    "$helpers/weights" m.safetensors a.weight=F32:64x256 b.weight=F32:64x256
    amn-forget -q --scheme q4_0 -o q.gguf m.safetensors
    low=$(amn diff m.safetensors q.gguf | jq -s 'map(select(.name).sqnr_db) | min | floor')
    try 0 amn diff --min-sqnr $low m.safetensors q.gguf
    try 1 amn diff --min-sqnr $((low + 1)) m.safetensors q.gguf
    "$helpers/weights" n.safetensors a.weight=F32:64x256
    try 1 amn diff --min-sqnr 0 m.safetensors n.safetensors
    try 0 amn diff --min-sqnr 40 m.safetensors m.safetensors
    for wrong in x '' nan 3dB; do
        try 2 amn diff --min-sqnr "$wrong" m.safetensors q.gguf
    done
    try 2 amn-inspect --min-sqnr 3 m.safetensors
}

@test "a dequantized copy in BF16 or F16 is equal in values, but not with another element" {
    for in in "$fx/good-sharded" "$fx/good-gguf-k.gguf" "$corpus/safetensors-good/awq-gemm.safetensors"; do
        for type in bf16 f16; do
            amn-remember -q --to $type -o copy.safetensors "$in"
            try 0 amn diff -q "$in" copy.safetensors
            jq -es 'last.unequal == 0 and last.equal_values > 0' out
            try 0 amn diff -q copy.safetensors "$in"
        done
    done
    amn-remember -q --to f32 -o f32.safetensors "$in"
    amn-convert -q --dtype f16 -o once.safetensors f32.safetensors
    try 1 amn diff -q f32.safetensors once.safetensors
    read -r at < <(amn-parse copy.safetensors | jq 'select(.dtype == "F16").offset' | head -n 1)
    printf '\x01\x02' | dd of=copy.safetensors bs=1 seek=$at conv=notrunc status=none
    try 1 amn diff -q "$in" copy.safetensors
    jq -es 'last.unequal == 1' out
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
    grep -q '^amn diff: cut: ' err
    [ ! -s out ]
}
