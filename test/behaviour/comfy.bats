#!/usr/bin/env bats
# ComfyUI's integers. test/check-corpus tests that the values are the library's; this file tests that they follow the
# formulas in large weights, and do not depend on workers, pipes, ranges or kernels.
load helper

models="first far awq"

# bats test_tags=full
@test "rows of every format, in more than one block, match the formulas" {
    for m in $models; do
        try 0 amn-remember -q --to f32 "$fx/good-comfy-$m.safetensors"
        "$helpers/comfy" "$fx/good-comfy-$m.safetensors" out
    done
}

# ranges SET
ranges() {
    needs_cpu "$1"
    for m in $models; do
        "$helpers/ranges" "$fx/good-comfy-$m.safetensors" "$1"
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

# bats test_tags=full
@test "F16, and the other types with other workers and kernels" {
    for f in "$fx"/good-comfy-first.safetensors "$fx"/good-comfy-far.safetensors \
        "$corpus"/safetensors-good/{peer-,}comfy-*.safetensors; do
        for to in bf16 f16 f32; do
            AMN_CPU=scalar try 0 amn-remember -q -j 1 --to $to "$f"
            mv out expected
            for n in 2 4; do
                try 0 amn-remember -q -j $n --to $to "$f"
                cmp out expected
            done
        done
        cat "$f" | try 0 amn-remember -q --to f32
        cmp out expected
    done
}

@test "a pipe is decoded as it arrives if all companions come first and groups are short" {
    f=$fx/good-comfy-first.safetensors
    amn-remember "$f" >whole
    both 0 "$f" amn-remember --no-spool
    cmp out.pipe whole
    "$helpers/trickle" "$f" 70001 | try 0 amn-remember --no-spool
    cmp out whole
}

@test "long groups, 6 bits and scales by columns are spooled; --no-spool refuses them" {
    for m in far awq; do
        cat "$fx/good-comfy-$m.safetensors" | try 75 amn-remember --no-spool
        is_empty out
    done
    python3 - "$fx/good-comfy-far.safetensors" <<'PYTHON'
import json, sys
from modelfile import read, read_header, write
data = open(sys.argv[1], "rb").read()
layers = json.loads(read_header(data)[0]["__metadata__"]["_quantization_metadata"])["layers"]
for name, marker in layers.items():     # each alone, after more than a pipe's lookahead
    parts = [("first", "U8", [3 << 20], 3 << 20)] + [(k, *t) for k, t in read(data).items() if k.startswith(name + ".weight")]
    write("alone-" + name, parts, {"_quantization_metadata": json.dumps({"layers": {name: marker}})})
PYTHON
    for f in alone-*; do                # a pipe keeps 32 KiB
        case $f in *g16384* | *nibbles65536*) status=0 ;; *) status=75 ;; esac
        cat "$f" | try $status amn-remember --no-spool
        both 0 "$f" amn-remember
        cmp out.file out.pipe
    done
}

@test "direct I/O gives the same bytes" {
    for m in $models; do
        amn-remember -q "$fx/good-comfy-$m.safetensors" >whole
        amn-remember -q --direct always -o past "$fx/good-comfy-$m.safetensors"
        cmp past whole
    done
}

@test "shards: scales in another file than their weight" {
    for m in $models; do
        rm -rf shards
        "$helpers/shards" "$fx/good-comfy-$m.safetensors" shards
        amn-remember -q "$fx/good-comfy-$m.safetensors" | "$helpers/tensors" >expected
        amn-remember -q -j 2 shards | "$helpers/tensors" | cmp - expected
        try 69 amn-remember shards/model-00001-of-00002.safetensors
        is_empty out
    done
}

@test "the golden vectors: 4 and 6 bits, rotated in groups of 64" {
    python3 - <<'PYTHON'
import json
from modelfile import write
hexes = {
    "d.weight": ("I8", [1, 32], "f1e2a1f3ef7c120fce052f1b5dfee02113007a1002f3e0d11e0024c5b2ae302c"),
    "d.weight_scale": ("F32", [1], "b76d4b3e"),
    "e.weight": ("I8", [1, 48], "b27995ab6dbf3afca42cc863fcb650e96e2ef35108cf8037762ea3bb691710ce6662c55ab1895ca69aac"
                 "6a66993b128e"),
    "e.weight_s_rel": ("F8_E4M3", [1, 4], "49444846"), "e.weight_s_channel": ("F32", [1], "c40f333c")}
layers = {"d": {"format": "convrot_w4a4", "convrot_groupsize": 64},
          "e": {"format": "asym_w4a8_int8", "params": {"convrot_groupsize": 64}}}
write("golden", [(name, dtype, shape, bytes.fromhex(text)) for name, (dtype, shape, text) in hexes.items()],
      {"_quantization_metadata": json.dumps({"layers": layers})})
PYTHON
    try 0 amn-remember --to f32 golden
    "$helpers/comfy" golden out
    try 0 amn-remember golden
    python3 - <<'PYTHON'
import struct
b = open("out", "rb").read()
got = ["%04x" % v for v in struct.unpack("<128H", b[-256:])]
assert got[:8] == "bf1f 3f06 be8c 3f52 bccb bf5e 3ea5 bf12".split(), got[:8]
PYTHON
}

@test "labels contain bits, groups and rotations" {
    label() { amn-inspect "$1" | jq -r '[.schemes[].labels[].label] | sort | unique | join("; ")'; }
    good=$corpus/safetensors-good
    [ "$(label "$good/peer-comfy-int8.safetensors")" = "ComfyUI int8_tensorwise (8-bit, per-channel scale); \
ComfyUI int8_tensorwise (8-bit, per-expert scale); ComfyUI int8_tensorwise (8-bit, per-tensor scale)" ]
    [ "$(label "$fx/good-comfy-far.safetensors")" = "\
ComfyUI asym_w4a8_int8 (6-bit, groups of 16, ConvRot in groups of 256); \
ComfyUI asym_w4a8_int8 (6-bit, groups of 32, ConvRot in groups of 4); \
ComfyUI convrot_w4a4 (4-bit, per-channel scale, ConvRot in groups of 65536); \
ComfyUI int8_tensorwise (8-bit, per-channel scale, ConvRot in groups of 16384); \
ComfyUI int8_tensorwise (8-bit, per-channel scale, ConvRot in groups of 65536)" ]
    [ "$(label "$fx/good-comfy-awq.safetensors")" = \
        "ComfyUI awq_w4a16 (4-bit, groups of 2); ComfyUI awq_w4a16 (4-bit, groups of 64)" ]
    # A tensor that marks a weight is not read.
    [ "$(label "$good/peer-comfy-w4a4.safetensors")" = "\
ComfyUI convrot_w4a4 (4-bit, per-channel scale, ConvRot in groups of 64); ComfyUI convrot_w4a4 (4-bit, per-channel scale, ConvRot)" ]
    label "$good/peer-comfy-w4a8.safetensors" | grep -q '(6-bit, groups of 48, ConvRot)'
    label "$good/peer-comfy-w4a8.safetensors" | grep -q '(4- or 6-bit, ConvRot)'        # groups of 48, or of 32
    label "$good/peer-comfy-others.safetensors" | grep -q '(4-bit, groups of 70)'
    amn-inspect "$good/peer-comfy-others.safetensors" | grep -q 'ComfyUI nf4 (NF4, blocks of 64)'
    [ "$(amn-inspect "$fx/good-comfy-far.safetensors" | jq -c '.schemes | keys')" = \
        '["comfy-int8","comfy-w4a4","comfy-w4a8"]' ]
}

@test "a marker and its metadata are not in the output" {
    try 0 amn-remember "$corpus/safetensors-good/peer-comfy-w4a8.safetensors"
    refute grep -qE 'comfy_quant|weight_s_|codebook' out
    try 0 amn-remember "$fx/good-comfy-first.safetensors"
    refute grep -q _quantization_metadata out
}
