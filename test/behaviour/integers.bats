#!/usr/bin/env bats
# bats file_tags=full
# AWQ, compressed-tensors, INT8 and INT4: integer codes with scales and zero points, in all their layouts.
load helper

@test "elements of every layout, in more than one block, match their formulas" {
    remembers "$fx/good-integers-wide.safetensors" --to f32
    "$helpers/integers" "$fx/good-integers-wide.safetensors" out.file
    grep -q 'pre_quant_scale folded into the weights of 2 modules' err.file
}

# ranges SET
ranges() {
    needs_cpu "$1"
    for f in good-integers-wide.safetensors good-awq-wide.safetensors; do
        "$helpers/ranges" "$fx/$f" "$1"
    done
}

# bats test_tags=full
@test "random ranges are slices of the whole: -j 1, -j 3, file and pipe" {
    ranges scalar
}

# bats test_tags=full
@test "random ranges with AVX2" {
    ranges avx2
}

@test "AWQ in several panels: its rows equal those of its columns decoded alone" {
    "$helpers/gptq-columns" "$fx/good-awq-wide.safetensors"
}

@test "codes stored by rows go through a pipe as they arrive, if all companions come first" {
    f=$fx/good-integers-first.safetensors
    amn-remember "$f" >whole
    both 0 "$f" amn-remember --no-spool
    cmp out.pipe whole
    cat "$f" | try 0 amn-remember -v
    refute grep -q 'temporary file' err
    "$helpers/trickle" "$f" 70001 | try 0 amn-remember --no-spool
    cmp out whole
}

@test "weights that are read twice, or by columns, are spooled; --no-spool refuses them" {
    for f in "$corpus"/safetensors-good/{autoawq-gemm-g32,autoawq-fast-g64,modelopt-int4-g32}.safetensors \
        "$fx/good-awq-wide.safetensors"; do
        both 0 "$f" amn-remember
        cmp out.file out.pipe
    done
    cat "$fx/good-awq-wide.safetensors" | try 75 amn-remember --no-spool
}

@test "the golden words of W4 give back their input" {
    python3 - <<'PYTHON'
import struct
from modelfile import write

words = lambda text: b"".join(struct.pack("<I", int(w, 16)) for w in text.split())
shape = ("p.weight_shape", "I64", [2], struct.pack("<2q", 2, 32))
scales = lambda *s: ("p.weight_scale", "BF16", [2, 1], struct.pack("<2H", *s))
write("sym", [("p.weight_packed", "I32", [2, 4], words("4a18e6c3 d5b29f6d 8e5c3907 28f6c4a1 b39f7d4b 6c3a17e5 f6d4a28f a17e5b29")),
      shape, scales(0x3E06, 0x3E06)])
write("asym", [("p.weight_packed", "I32", [2, 4], words("4a18f5c3 e4b29f6d 8e5c3907 28f6d3a1 b28f6c3a 5b2906d4 e5c3a17e 906d4a18")),
      shape, scales(0x3E02, 0x3E04), ("p.weight_zero_point", "I32", [1, 1], struct.pack("<I", 0x78))])
write("gptq", [("p.qweight", "I32", [4, 2], words("4a18e6c3 b39f7d4b d5b29f6d 6c3a17e5 8e5c3907 f6d4a28f 28f6c4a1 a17e5b29")),
      ("p.scales", "F16", [1, 2], struct.pack("<2H", 0x3033, 0x3033))])
PYTHON
    echo '{"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": true}}' >config
    for name in sym asym gptq; do
        try 0 amn-remember --to f32 --config config $name
        mv out $name.dense
    done
    python3 - <<'PYTHON'
import struct
v = [((37 * i + 11) % 64 - 31.5) / 32 for i in range(64)]
steps = {"sym": (0x3E060000,) * 2, "asym": (0x3E020000, 0x3E040000), "gptq": (0x3E066000,) * 2}
for name, bits in steps.items():
    got = struct.unpack("<64f", open(name + ".dense", "rb").read()[-256:])
    for i, (x, y) in enumerate(zip(v, got)):
        step = struct.unpack("<f", struct.pack("<I", bits[i // 32]))[0]
        top = (7 + (name == "asym" and i >= 32)) * step         # larger values were clamped; quotients were rounded to BF16
        assert (y / step).is_integer() and abs(min(x, top) - y) <= 0.51 * step, (name, i, x, y)
PYTHON
}

# bats test_tags=broken
@test "wrong shapes, types, companions and contents, and shapes without elements" {
    cases ints- 59
}

@test "each part of a weight, missing, of another shape or of another type, is refused and named" {
    "$helpers/companions" 'peer-ascend-*' 'peer-2026-*'
}

@test "scales and zero points in another shard; a shard alone is refused, naming the index" {
    g=$corpus/safetensors-good
    for case in "autoawq-gemm-g32 .scales .qzeros" "autoawq-gemv-g64 .scales" "autoawq-fast-g64 .qzeros" \
        "ct-stream-w3-asym .weight_scale .weight_shape" "ct-codes-group-asym .weight_scale" "modelopt-int4-smooth .weight_scale"; do
        set -- $case
        rm -rf model
        "$helpers/shards" "$g/$1.safetensors" model "${@:2}"
        try 0 amn-remember --order name "$g/$1.safetensors"
        mv out whole
        try 0 amn-remember --order name model
        cmp out whole
        amn-inspect model >report
        case $1 in modelopt*) continue ;; esac      # bytes alone are data
        try 69 amn-remember model/model-00001-of-00002.safetensors
        grep -q model.safetensors.index.json err
    done
}

@test "reports have scheme, bits and group, and the size in BF16 if the shapes determine it" {
    said() {
        try 0 amn-inspect --json "$1"
        jq -e --arg code "$2" --arg name "$3" \
            '.scheme == $code and (.schemes[$code].labels | map(.label)) == [$name]' out >/dev/null || { cat out; return 1; }
    }
    g=$corpus/safetensors-good
    said "$g/autoawq-gemm-g32.safetensors" awq 'AWQ GEMM (4-bit, groups of 32)'
    said "$g/autoawq-gemv-g64.safetensors" awq-gemv 'AWQ GEMV (4-bit, groups of 64)'
    said "$g/autoawq-fast-g64.safetensors" awq-gemv-fast 'AWQ GEMV_FAST (4-bit, groups of 64)'
    said "$g/autoround-awq-6bit" awq 'AWQ GEMM (6-bit, groups of 32)'
    said "$g/autoround-gptq-5bit" gptq 'GPTQ (5-bit, groups of 32)'
    said "$g/modelopt-int4-g32.safetensors" int4-modelopt 'ModelOpt INT4 (groups of 32)'
    said "$g/ct-codes-channel.safetensors" int8-channel 'INT8 (per-channel scale)'
    said "$g/ct-codes-block" int8-block 'INT8 (blocks of 16x24)'
    said "$g/quark-int8-group" int8-quark 'Quark INT8 (groups of 16)'
    # Columns of a packed row, if groups allow only one number of them.
    echo '{"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"a": {"targets": ["Linear"],
        "weights": {"num_bits": 4, "group_size": 32}}}}}' >config
    try 0 amn-inspect --json --to bf16 --config config "$g/ct-stream-w4-asym.safetensors"
    jq -e '.schemes["int4-group"].labels[0].label == "compressed-tensors pack-quantized (4-bit, groups of 32)"
        and .parameters == 24 * 96 + 8' out
    [ "$(jq .remembered.size out)" -eq "$(amn-remember --size "$g/ct-stream-w4-asym.safetensors")" ]
    try 0 amn-inspect --json --to bf16 "$g/ct-stream-w4-channel-asym.safetensors"
    jq -e '.parameters == null and .remembered.size == null' out
}

@test "GPTQ: quantize_config.json works like config.json" {
    for case in asym-no-g-idx-short v2-asym planar-5bit; do
        rm -rf model
        cp -r "$corpus/safetensors-good/gptqmodel-$case" model
        try 0 amn-remember model
        mv out whole
        jq .quantization_config model/config.json >model/quantize_config.json
        echo '{"model_type": "llama"}' >model/config.json
        try 0 amn-remember model
        cmp out whole
        rm model/*.json
        try 0 amn-remember model || try 69 amn-remember model
        refute cmp -s out whole
    done
}

@test "--input-scheme selects GPTQ or AWQ GEMV, and Quark's groups" {
    f=$corpus/safetensors-good/autoawq-gemv-like-gptq
    try 0 amn-remember "$f"
    mv out whole
    try 69 amn-remember --config none "$f"
    grep -qF 'GPTQ (4-bit, or AWQ GEMV' err
    try 0 amn-remember --config none --input-scheme awq-gemv "$f"
    cmp out whole
    try 0 amn-remember --config none --input-scheme gptq "$f"
    refute cmp -s out whole
    f=$corpus/safetensors-good/quark-int8-group
    try 0 amn-remember "$f"
    mv out whole
    try 69 amn-remember --config none "$f"
    try 0 amn-remember --config none --input-scheme int8-quark "$f"
    cmp out whole
}
