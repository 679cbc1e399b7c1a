#!/usr/bin/env bats
# Tensors beside quantized weights, and sizes that config.json declares: what is read is understood, or refused by name.
load helper

@test "beside a weight of any scheme: unknown tensors are refused by name, known ones change nothing; contradicted sizes are refused" {
    "$helpers/siblings" s
}

# bats test_tags=full
@test "the same with every invented name" {
    "$helpers/siblings" s -a
}

@test "a stacked weight has siblings X_x and X.x; an unscaled float8 weight those that are called scales" {
    python3 - <<'PY'
from modelfile import write
import struct
x = "m.experts.gate_up_proj"
one = struct.pack("<f", 1)
codes = (x, "F8_E4M3", [2, 4, 8], bytes(64))
scale = (x + "_scale_inv", "F32", [2, 1, 1], one * 2)
for name in ("_rot", ".rot", "_scale_inv_2"):
    write("bad" + name, [codes, scale, (x + name, "F32", [4], one * 4)])
write("bias", [codes, scale, (x + "_bias", "F32", [2, 4], one * 8), ("m.experts.gate.weight", "F32", [4], one * 4)])
cast = ("m.table", "F8_E4M3", [4], bytes(4))
write("cast", [cast, ("m.table_more", "F32", [4], one * 4)])
write("scaled", [cast, ("m.table_more_scale", "F32", [4], one * 4)])
PY
    for f in bad_rot bad.rot bad_scale_inv_2; do
        try 69 amn-remember $f
        grep -qF "m.experts.gate_up_proj${f#bad}: is stored beside weight m.experts.gate_up_proj" err
        try 0 amn-remember -q --allow-unclaimed "*${f#bad}" $f
        try 0 amn-convert --to safetensors $f
        python3 -c 'import sys; from modelfile import read; sys.exit(read("out") != read(sys.argv[1]))' $f
        is_empty err
    done
    try 0 amn-remember bias
    is_empty err
    try 0 amn-remember cast
    try 69 amn-remember scaled
}

@test "offsets of zero are dropped, others refused; reports do not read them" {
    python3 - <<'PY'
from modelfile import write
import struct
for name, value in (("zero", 0), ("one", 1)):
    write(name, [("p.weight", "I8", [2, 4], bytes(range(8))), ("p.weight_scale", "F32", [2, 1], struct.pack("<2f", 1, 2)),
                 ("p.weight_offset", "F32", [2, 1], struct.pack("<2f", 0, value))])
PY
    try 0 amn-remember zero
    refute grep -q weight_offset out
    try 69 amn-remember one
    grep -q 'p.weight_offset' err
    try 0 amn-inspect one
    is_empty err
    cat one | try 69 amn-remember
}

@test "--allow-unclaimed: globs that match nothing or are none, and too many" {
    try 0 amn-remember "$corpus/safetensors-good/fp8-block-bf16.safetensors"
    try 2 amn-remember --allow-unclaimed '*.rot' "$corpus/safetensors-good/fp8-block-bf16.safetensors"
    grep -q 'allow-unclaimed \*.rot' err
    try 2 amn-remember --allow-unclaimed '[' "$corpus/safetensors-good/fp8-block-bf16.safetensors"
    many=$(printf -- '--allow-unclaimed x%.0s ' $(seq 17))
    # shellcheck disable=SC2086
    try 2 amn-remember $many "$corpus/safetensors-good/fp8-block-bf16.safetensors"
    grep -q 'at most 16' err
}

@test "scales of fused experts that all stayed float are left over, not malformed" {
    python3 - <<'PY'
from modelfile import write
import struct
e = "m.experts."
floats = [(e + "%d.%s.weight" % (i, k), "BF16", [2, 2], bytes(8)) for i in range(2) for k in ("gate_proj", "up_proj", "down_proj")]
scales = [(e + "gate_up_proj_scale_inv", "F32", [2, 1, 1], bytes(8)), (e + "down_proj_scale_inv", "F32", [2, 1, 1], bytes(8))]
write("float", floats + scales)
write("lost", floats[1:] + scales)
PY
    try 0 amn-remember float
    grep -q 'scales or zero points of unquantized weights, copied unchanged: 2' err
    try 65 amn-remember lost
    grep -q 'gate_up_proj_scale_inv' err
}
