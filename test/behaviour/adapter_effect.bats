#!/usr/bin/env bats
# What the change of an adapter becomes in the output: notes, warnings, reports. All figures are compared with sums over the values of
# the outputs with and without the adapter.
load helper

# make_base SIZE: base.safetensors with two weights in BF16, and lora/ that changes them by about SIZE.
make_base() {
    python3 - "$1" <<'END'
import json, random, sys
from adapters import *
rng = random.Random(3)
rows, cols, r = 32, 256, 4
base, lora = {}, {}
for m in "a", "b":
    base[m + ".weight"] = ("BF16", [rows, cols], [rng.gauss(0, 0.03) for _ in range(rows * cols)])
    lora["base_model.model.%s.lora_A.weight" % m] = ("F32", [r, cols], [rng.gauss(0, 1) for _ in range(r * cols)])
    lora["base_model.model.%s.lora_B.weight" % m] = ("F32", [rows, r], [rng.gauss(0, 0.015 * float(sys.argv[1])) for _ in range(rows * r)])
base["norm.weight"] = ("BF16", [cols], [1.0] * cols)
write("base.safetensors", base)
write("lora/adapter_model.safetensors", lora)
json.dump({"peft_type": "LORA", "r": r, "lora_alpha": r}, open("lora/adapter_config.json", "w"))
END
}

# figures BASE EXTENSION COMMAND...: checks the report of the command.
figures() {
    local base=$1 x=$2
    shift 2
    "$@" -q --adapter lora --report report -o with.$x $base
    "$@" -q -o without.$x $base
    amn-convert -q --dtype f32 --adapter lora -o v.safetensors $base
    for f in $base with.$x without.$x; do amn-convert -q --dtype f32 -o $f.values.safetensors $f; done
    python3 - $base.values.safetensors with.$x.values.safetensors without.$x.values.safetensors <<'END'
import json, math, struct, sys
def read(path):
    b = open(path, "rb").read()
    n = struct.unpack("<Q", b[:8])[0]
    h = json.loads(b[8:8 + n])
    return {k: struct.unpack("<%df" % ((t["data_offsets"][1] - t["data_offsets"][0]) // 4), b[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]])
            for k, t in h.items() if k != "__metadata__"}
base, with_, without = map(read, sys.argv[1:])
v = read("v.safetensors")
lines = {x["adapted"]: x for x in map(json.loads, open("report")) if "adapted" in x}
total = [x for x in map(json.loads, open("report")) if "all_adapted" in x]
assert sorted(lines) == ["a.weight", "b.weight"] and len(total) == 1 and total[0]["all_adapted"] == 2
def figures(names):
    w = [x for n in names for x in base[n]]
    d = [x - y for n in names for x, y in zip(v[n], base[n])]
    r = [x - y for n in names for x, y in zip(with_[n], without[n])]
    dd = math.fsum(x * x for x in d)
    return {"elements": len(d), "relative": math.sqrt(dd / math.fsum(x * x for x in w)), "kept": math.fsum(x * y for x, y in zip(r, d)) / dd,
        "noise": math.sqrt(math.fsum((x - y) ** 2 for x, y in zip(r, d)) / dd), "changed": sum(x != 0 for x in r) / len(r)}
for names, line in [([n], lines[n]) for n in lines] + [(sorted(lines), total[0])]:
    for k, want in figures(names).items():
        assert math.isclose(line[k], want, rel_tol=1e-12, abs_tol=1e-12), (names, k, line[k], want)
END
}

@test "the figures of the report are those of the outputs" {
    make_base 0.03
    figures base.safetensors safetensors amn-remember
    figures base.safetensors safetensors amn-remember --to f16
    figures base.safetensors safetensors amn-convert --dtype f16
    figures base.safetensors safetensors amn-forget -s fp8-per-tensor
    figures base.safetensors safetensors amn-forget -s int8
    figures base.safetensors safetensors amn-forget -s nf4
    figures base.safetensors gguf amn-forget -s q8_0 --pure
    amn-forget -q -s q4_0 --pure -o q4.gguf base.safetensors
    figures q4.gguf safetensors amn-remember
    figures q4.gguf gguf amn-forget -s q5_k --pure
}

@test "the figures do not depend on threads, kernels or a pipe" {
    make_base 0.01
    for job in 'amn-remember' 'amn-forget -s int8'; do
        $job -q --adapter lora --report one -o x base.safetensors
        AMN_CPU=scalar $job -q -j 4 --adapter lora --report two -o x base.safetensors
        cmp one two
        $job -q --adapter lora --report two -o x <base.safetensors
        cmp one two
    done
    "$helpers/json-keys" 'ADAPTED WEIGHTS' < <(grep '"adapted"' two; amn-remember -q --adapter lora:0.0000000000000001 --report three -o x base.safetensors; grep '"adapted"' three)
    "$helpers/json-keys" 'ALL ADAPTED WEIGHTS' < <(grep '"all_adapted"' two; grep '"all_adapted"' three)
}

@test "one note tells the size of the change and how much of it is kept" {
    make_base 0.01
    try 0 amn-remember --adapter lora -o x base.safetensors
    grep -Eq 'note: 2 weights changed by 1 adapter: the change is [0-9.]+ % of the weights, and [0-9.]+ % of it is kept; least kept: [0-9.]+ % of [ab].weight$' err
    ! grep -q warning err
    try 0 amn-remember -q --adapter lora -o x base.safetensors
    is_empty err
    try 0 amn-forget -s int8 --adapter lora -o x base.safetensors
    grep -q 'compared with the weights before quantization' err
    try 0 amn-forget -s int8 --adapter lora --report r -o x base.safetensors
    ! grep -q 'compared with' err
    try 0 amn-remember --size --adapter lora base.safetensors
    ! grep -q kept err
    try 0 amn-remember --test --adapter lora base.safetensors
    grep -q 'kept' err
}

@test "a warning if the grid of the base swallows the change" {
    make_base 0.01
    amn-forget -q -s q4_0 --pure -o q4.gguf base.safetensors
    try 0 amn-forget -s q4_0 --pure --adapter lora -o x.gguf q4.gguf
    grep -q "warning: less than half of the adapters' change is kept in this output: merge into the 16-bit base, write BF16, and quantize that" err
    try 0 amn-remember --adapter lora -o x.safetensors q4.gguf
    ! grep -q 'less than half' err
    try 0 amn-forget -s q4_0 --pure --adapter lora -o x.gguf base.safetensors
    ! grep -q 'less than half' err
}

@test "the page of the report draws it, with and without quantization" {
    make_base 0.01
    amn-remember -q --adapter lora --report page.html -o x base.safetensors
    "$helpers/report-page" page.html >shown
    jq -e '.title == "Adapters in base.safetensors" and (.tiles | keys) == ["Kept", "Moved", "Noise", "Size of the change"]' shown
    grep -q '<h2>Adapters: 2 changed weights</h2>' page.html
    [ "$(grep -o 'aria-label="kept"' page.html | wc -l)" = 3 ]
    amn-forget -q -s int8 --adapter lora --report page.html -o x base.safetensors
    "$helpers/report-page" page.html >shown
    grep -q '<h2>Adapters: 2 changed weights</h2>' page.html
}

@test "--report requires a scheme or an adapter" {
    make_base 0.01
    try 2 amn-remember --report r -o x base.safetensors
    grep -q 'requires a scheme or --adapter' err
    try 2 amn-remember --report r --range 0-7 --adapter lora base.safetensors
    try 0 amn-convert -q --to npz --report r --adapter lora -o x.npz base.safetensors
    [ "$(wc -l <r)" = 3 ]
}
