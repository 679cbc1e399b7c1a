#!/usr/bin/env bats
# amn-forget to FP8 and to bitsandbytes' schemes. test/peers/peer_forget.py compares the bytes with the libraries'.
load helper

fp8="fp8 fp8-e5m2 fp8-ue8m0 fp8-division fp8-per-channel fp8-per-tensor fp8-per-tensor-e5m2"
bnb="nf4 fp4 fp4-cpu nf4-double-quant fp4-double-quant int8"

# weights FILE [NAME:DTYPE:SHAPE[:INDEX=VALUE]]...: approximately normal values; by default 2 matrices, an expert, and others.
weights() {
    python3 - "$@" <<'PYTHON'
import math, random, struct, sys
from modelfile import write
path, words = sys.argv[1], sys.argv[2:]
words = words or ["a.up_proj.weight:BF16:256x640", "a.down_proj.weight:F16:200x333", "a.norm.weight:F32:640",
                  "embed_tokens.weight:BF16:64x64", "a.bias:F32:256", "b.proj.weight:F32:130x4099", "lm_head.weight:BF16:32x64"]
rnd = random.Random(11)
def code(v, dtype):
    if dtype == "BF16":
        return struct.pack("<f", v)[2:]
    return struct.pack({"F16": "<e", "F32": "<f", "F64": "<d", "I32": "<i"}[dtype], int(v * 1000) if dtype == "I32" else v)
tensors = []
for word in words:
    name, dtype, shape, *special = word.split(":")
    shape = [int(n) for n in shape.split("x")]
    values = [code(rnd.gauss(0, 0.05), dtype) for _ in range(math.prod(shape))]
    for s in special:
        index, value = s.split("=")
        values[int(index)] = code(float(value), dtype)
    tensors.append((name, dtype, shape, b"".join(values)))
write(path, tensors)
PYTHON
}

# lists FILE: prints name, dtype and shape of each tensor, one a line.
lists() {
    python3 - "$1" <<'PYTHON'
import sys
from modelfile import read
for name, (dtype, shape, _) in read(sys.argv[1]).items():
    print(name, dtype, "x".join(map(str, shape)))
PYTHON
}

# bats test_tags=full
@test "file and pipe, one worker and four, with every set of kernels: the same bytes" {
    weights w
    for s in $fp8 $bnb; do
        both 0 w amn-forget --scheme $s
        cmp out.file out.pipe
        try 0 amn-forget --scheme $s -j 1 w
        cmp out out.file
        try 0 amn-forget --scheme $s -j 4 w
        cmp out out.file
        AMN_CPU=scalar try 0 amn-forget --scheme $s w
        cmp out out.file
        amn-parse out.file >/dev/null
    done
}

@test "the tensors that weights become, and those that are kept" {
    weights w
    try 0 amn-forget --scheme fp8 w
    lists out | sort >got
    diff got - <<'EOF'
a.bias F32 256
a.down_proj.weight F8_E4M3 200x333
a.down_proj.weight_scale_inv F32 2x3
a.norm.weight F32 640
a.up_proj.weight F8_E4M3 256x640
a.up_proj.weight_scale_inv F32 2x5
b.proj.weight F8_E4M3 130x4099
b.proj.weight_scale_inv F32 2x33
embed_tokens.weight BF16 64x64
lm_head.weight BF16 32x64
EOF
    try 0 amn-forget --scheme fp8-per-channel w
    lists out | grep scale | sort >got
    diff got - <<'EOF'
a.down_proj.weight_scale F16 200x1
a.up_proj.weight_scale BF16 256x1
b.proj.weight_scale F32 130x1
EOF
    try 0 amn-forget --scheme fp8-per-tensor-e5m2 w
    lists out | grep up_proj | sort >got
    diff got - <<'EOF'
a.up_proj.weight F8_E5M2 256x640
a.up_proj.weight_scale BF16 1
EOF
    try 0 amn-forget --scheme fp8-ue8m0 w
    lists out | grep -q 'a.up_proj.weight_scale_inv F8_E8M0 2x5'
    try 0 amn-forget --scheme int8 w
    lists out | grep up_proj | sort >got
    diff got - <<'EOF'
a.up_proj.SCB F32 256
a.up_proj.weight I8 256x640
a.up_proj.weight_format U8 
EOF
    try 0 amn-forget --scheme nf4-double-quant --group-size 128 w
    lists out | grep down_proj | sort | sed 's/nf4 U8 .*/nf4 U8 N/' >got
    diff got - <<'EOF'
a.down_proj.weight U8 33300x1
a.down_proj.weight.absmax U8 521
a.down_proj.weight.nested_absmax F32 3
a.down_proj.weight.nested_quant_map F32 256
a.down_proj.weight.quant_map F32 16
a.down_proj.weight.quant_state.bitsandbytes__nf4 U8 N
EOF
    grep -aq '{"quant_type": "nf4", "blocksize": 128, "dtype": "float16", "shape": \[200, 333\], "nested_blocksize": 256,' out
}

@test "fp8 stores the scale that transformers computes, fp8-division the quotient" {
    weights w a.weight:F32:128x128:77=0.984375
    while read -r scheme scale; do
        try 0 amn-forget --scheme $scheme w
        lists out | tail -n 1 | grep -q '^a.weight_scale_inv F32 1x1$'
        [ "$(tail -c 4 out | od -An -tx4 --endian=little | tr -d ' ')" = $scale ]
    done <<'EOF'
fp8 3b0fffff
fp8-fine-grained 3b0fffff
fp8-division 3b100000
EOF
    try 2 amn-forget --scheme fp8-transformers w
    grep -q "unknown scheme 'fp8-transformers'" err
}

# bats test_tags=full
@test "aliases of schemes" {
    weights w
    while read -r a b; do
        try 0 amn-forget --scheme $a w
        mv out one
        try 0 amn-forget --scheme $b w
        cmp one out
    done <<'EOF'
fp8 fp8-fine-grained
fp8-e5m2 fp8-fine-grained-e5m2
nf4 bnb-nf4
fp4 bnb-fp4
int8 bnb-int8
nf4-double-quant bnb-nf4-double-quant
fp4-double-quant BNB-FP4-double-quant
EOF
}

# bats test_tags=full
@test "--size, and parts that make up the whole" {
    weights w
    for s in fp8 fp8-per-channel nf4-double-quant int8; do
        try 0 amn-forget --scheme $s w
        mv out whole
        [ "$(amn-forget --scheme $s --size w)" -eq "$(stat -c %s whole)" ]
        for i in 1 2 3 4 5 6 7; do amn-forget --scheme $s --part $i/7 w; done >parts
        cmp parts whole
        for at in 1000 70001 200003; do
            amn-forget --scheme $s --range $at-$((at + 33333)) w >out
            tail -c +$((at + 1)) whole | head -c 33334 | cmp - out
        done
    done
}

@test "decoded values are encoded to the same codes: NF4, FP4, INT8 by way of F16" {
    weights w a.weight:F16:96x200 b.weight:F16:33x35
    for s in nf4 fp4 int8; do
        try 0 amn-forget --scheme $s w
        mv out once.safetensors
        try 0 amn-remember --to f16 once.safetensors
        mv out values.safetensors
        try 0 amn-forget --scheme $s values.safetensors
        "$helpers/same-tensors" once.safetensors out
    done
    for s in nf4 fp4; do
        f=$tests/cases/bnb-llama-1b-$s/input.safetensors
        try 0 amn-remember "$f"
        mv out values.safetensors
        try 0 amn-forget --scheme $s values.safetensors
        "$helpers/same-tensors" "$f" out
    done
}

@test "bitsandbytes' double quantization: the codes are the same; the mean of decoded values differs" {
    f=$tests/cases/bnb-qwen2-5-1-5b-nf4-dq/input.safetensors
    try 0 amn-remember "$f"
    mv out values.safetensors
    try 0 amn-forget --scheme nf4-double-quant values.safetensors
    "$helpers/same-tensors" "$f" out >differ || true
    grep -q 'nested_absmax' differ
    refute grep -q 'weight ' differ
    refute grep -q 'weight$' differ
}

@test "NaN and infinity are refused with tensor and index, or encoded" {
    for bad in nan inf -inf; do
        weights w.safetensors a.weight:F32:40x70 "b.weight:BF16:64x64:70=$bad"
        for s in fp8 fp8-per-channel fp8-per-tensor int8 nf4 nf4-double-quant; do
            try 65 amn-forget --scheme $s -o o w.safetensors
            grep -q 'tensor b.weight: element 70 is ' err
            error_line amn-forget malformed
            refute [ -e o ]
            try 0 amn-forget --scheme $s --allow-nonfinite -o o w.safetensors
            try 0 amn-remember --test o
            rm o
        done
    done
}

@test "INT8 goes through F16: values too large for it are refused" {
    weights w.safetensors a.weight:F32:40x70:75=70000
    try 69 amn-forget --scheme int8 -o o w.safetensors
    grep -q 'tensor a.weight: 70000 in row 1 ' err
    refute [ -e o ]
    weights w.safetensors a.weight:F32:40x70:75=65500
    try 0 amn-forget --scheme int8 w.safetensors
}

# bats test_tags=full
@test "shapes of all kinds" {
    weights w a.weight:BF16:1x1 b.weight:F16:1x33 c.weight:F32:515x1 d.weight:F64:7x129 e.weight:BF16:129x1 \
        f.weight:BF16:3x5000 g.weight:BF16:130x127 h.weight:F32:0x7 i.weight:F32:9
    for s in $fp8 $bnb; do
        both 0 w amn-forget --scheme $s --include '*'
        cmp out.file out.pipe
        lists out.file >got
        grep -q '^h.weight F32 0x7$' got
        grep -q '^i.weight F32 9$' got
        try 0 amn-remember --to f32 out.file
        lists out | grep -v '^h\|^i' | cut -d' ' -f1,3 >got
        diff got - <<'EOF'
a.weight 1x1
b.weight 1x33
c.weight 515x1
d.weight 7x129
e.weight 129x1
f.weight 3x5000
g.weight 130x127
EOF
    done
}

@test "experts in one tensor: one grid each; other schemes keep them unquantized" {
    weights w experts.down_proj:BF16:3x130x200 a.weight:BF16:32x32
    try 0 amn-forget --scheme fp8 --include '*' w
    lists out | grep -q '^experts.down_proj_scale_inv F32 3x2x2$'
    cp out three
    try 0 amn-remember three
    for s in fp8-per-channel fp8-per-tensor nf4 int8; do
        try 0 amn-forget --scheme $s --include '*' w
        lists out | grep -q '^experts.down_proj BF16 3x130x200$'
    done
    weights one experts.down_proj:BF16:3x130x200
    try 2 amn-forget --scheme nf4 --include '*' one
}

@test "unsupported options, invalid block sizes, nothing to encode: 2" {
    weights w
    try 2 amn-forget --scheme fp8 --group-size 64 w
    try 2 amn-forget --scheme int8 --asymmetric w
    for n in 1 16 48 8192; do
        try 2 amn-forget --scheme nf4 --group-size $n w
        grep -q 'powers of two from 32 to 4096' err
    done
    try 2 amn-forget --scheme nf4 --to gguf w
    try 2 amn-forget --scheme nf5 w
    weights ints a.weight:I32:64x64
    for s in fp8 nf4 int8; do
        try 2 amn-forget --scheme $s ints
        is_empty out
    done
}

# bats test_tags=full
@test "an input that ends early, a reader that exits, a full disk" {
    weights w
    head -c 300000 w >cut
    python3 -c 'from modelfile import write
write("zeros", [("a.weight", "BF16", [4000, 4000], 32000000)])'        # more than fits in a pipe
    for s in fp8 nf4-double-quant int8; do
        both 65 cut amn-forget --scheme $s
        is_empty out.file
        { amn-forget --scheme $s zeros 2>err && echo 0 >status || echo $? >status; } | head -c 10 >/dev/null
        is_empty err
        [ "$(cat status)" -eq 141 ] || { echo "status $(cat status): $s"; return 1; }
    done
    need_full
    for s in fp8 nf4 int8; do
        out=/dev/full try 74 amn-forget --scheme $s w
    done
}
