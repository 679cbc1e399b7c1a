#!/usr/bin/env bats
# --exact, and the codes that amn-convert moves to GGUF: values stay, whatever the number of workers and the way the input comes;
# what is not held is refused before the first output byte, with a witness.
load helper

# values FILE: the F32 values, with -0 as 0.
values() {
    amn-convert -q --to safetensors --dtype f32 "$1" | python3 -c 'import sys
from modelfile import read_header
data = sys.stdin.buffer.read()
header, start = read_header(data)
for name in sorted(header):
    if name != "__metadata__":
        a, b = header[name]["data_offsets"]
        words = [data[start + i:start + i + 4] for i in range(a, b, 4)]
        print(name, b"".join(b"\0\0\0\0" if w == b"\0\0\0\x80" else w for w in words).hex())'
}

# holds FILE OPTION...: the output has the values of the input, from a file and from a pipe, with one worker and with four.
holds() {
    local file=$1
    shift
    both 0 "$file" amn-forget -q "$@" || return 1
    cmp out.file out.pipe || return 1
    try 0 amn-forget -q -j 4 "$@" "$file"
    cmp out out.file || return 1
    AMN_CPU=scalar try 0 amn-forget -q -j 1 "$@" "$file"
    cmp out out.file || return 1
    diff <(values "$file") <(values out) >/dev/null || { echo "other values: $*"; return 1; }
}

# refuses FILE CAUSE BLOCK OPTION...: status 69, no output, and a witness.
refuses() {
    local file=$1 cause=$2 block=$3
    shift 3
    try 69 amn-forget --json-errors -o never "$@" "$file" || return 1
    [ ! -e never ] || return 1
    jq -e --arg c "$cause" --argjson b "$block" '.kind == "inexact" and .witness.cause == $c and .witness.block == $b' err >/dev/null ||
        { cat err; return 1; }
}

@test "MXFP4 to every scheme that holds it" {
    "$helpers/codes" m.safetensors mxfp4 a.weight:64x256 b.weight:32x64
    for s in mxfp4 q5_0 q8_0 q5_1; do
        holds m.safetensors --exact --to gguf --scheme $s
    done
    for s in mxfp4 modelopt-mxfp4 mxfp8 nvfp4 modelopt-nvfp4 fp8-ue8m0 fp8 fp8-per-channel mlx-mxfp4 mlx-mxfp8 mlx-5bit deepseek-fp4 \
        bf16 f32; do
        holds m.safetensors --exact --to safetensors --scheme $s
    done
    refuses m.safetensors span '[0,0]' --exact --scheme q4_0
}

@test "groups divide those of the source and the rows" {
    # FP8 with tiles of 128 columns, of which 320 are no multiple: integers of 4 bits
    python3 -c 'import random, struct
from modelfile import write
rnd = random.Random(1)
e4m3 = b"\x00\x38\x40\x44\x48\x4a\x4c\x4e\xd0\xce\xcc\xca\xc8\xc4\xc0\xb8"        # 0 to 7, -8 to -1
write("t.safetensors", [("a.weight", "F8_E4M3", [128, 320], bytes(rnd.choice(e4m3) for _ in range(128 * 320))),
                        ("a.weight_scale_inv", "F32", [1, 3], struct.pack("<3f", 0.25, 0.5, 0.125))])'
    for s in mlx-4bit:scales mlx-5bit:scales int4-group:weight_scale; do
        holds t.safetensors --exact --to safetensors --scheme ${s%:*}
        [ "$(amn-parse out | jq --arg n a.${s#*:} 'select(.name == $n) | 320 / .shape[1]')" = 64 ]
    done
}

@test "a weight that has the scheme already stays as it is stored" {
    "$helpers/weights" d.safetensors a.weight=BF16:128x256 b.weight=BF16:128x256
    for s in fp8 fp8-per-channel int8-channel int4-group mxfp4 mlx-4bit; do
        try 0 amn-forget -q --to safetensors --scheme $s -o q.safetensors d.safetensors
        try 0 amn-forget --exact --to safetensors --scheme $s --report r.json -o e.safetensors q.safetensors
        cmp q.safetensors e.safetensors
        grep -q 'exact: 2 weights (2 unchanged)' err
        jq -s -e --arg s $s 'map([.to, .way]) == [[$s, "kept"], [$s, "kept"]]' r.json
    done
    try 0 amn-forget -q --to safetensors --scheme fp8 -o q.safetensors d.safetensors
    holds q.safetensors --exact --to safetensors --scheme fp8-per-channel,fp8
}

@test "a block that cannot be moved does not change the other ones" {
    "$helpers/codes" m.safetensors mxfp4 a.weight:64x256
    "$helpers/codes" l.safetensors lone a.weight:64x256
    for s in q5_0:22 q5_1:24 q8_0:34 mlx-5bit:24; do
        try 0 amn-forget -q --exact=real --scheme ${s%:*} m.safetensors
        mv out moved
        try 0 amn-forget -q --exact=real --scheme ${s%:*} l.safetensors
        [ "$(stat -c %s moved)" = "$(stat -c %s out)" ]
        changed=$(cmp -l moved out | wc -l)
        [ "$changed" -gt 0 ] && [ "$changed" -le ${s#*:} ] || { echo "$s: $changed bytes"; return 1; }
    done
}

@test "INT4: to Q4_0, to GPTQ and AWQ, to MLX at level real, with zero points to Q5_0" {
    "$helpers/codes" m.safetensors int4 a.weight:64x256
    for s in q4_0 q5_0 q8_0 q4_1; do
        holds m.safetensors --exact --scheme $s
    done
    holds m.safetensors --exact --scheme int4-group
    refuses m.safetensors span '[0,0]' --exact --scheme fp8
    refuses m.safetensors precision '[0,0]' --exact --scheme mlx-4bit
    grep -q 'levels":\["bf16' err || grep -q '"real"' err
    try 0 amn-forget -q --exact=real --scheme mlx-4bit m.safetensors
    "$helpers/codes" i.safetensors int8 a.weight:64x256
    for s in q8_0 int8-channel; do
        holds i.safetensors --exact --scheme $s
    done
    try 0 amn-forget -q --exact --scheme q8_0 --report r.json i.safetensors
    jq -e '.way == "hint"' r.json
    "$helpers/codes" z.safetensors int4-zeros a.weight:64x256
    holds z.safetensors --exact --scheme q5_0
    holds z.safetensors --exact --scheme int4-group
    refuses z.safetensors span '[0,0]' --exact --scheme q4_0
    refuses z.safetensors scale '[1,64]' --exact --scheme gptq
    jq -e '.message | test("scale: block \\[1,64\\] needs the zero point 0, which files of GPTQ cannot hold; int4-group holds it$")' err
}

@test "Quark, ModelSlim, Gemma, MiniMax and NVFP4-E5M3: to GGUF and back" {
    "$helpers/weights" dense.safetensors a.weight=BF16:64x256:ramp b.norm.weight=BF16:1x256
    for s in quark-int4=q4_0 modelslim-w4a8=q4_0 gemma-4bit=q4_0 modelslim-w8a8=q8_0 gemma-8bit=q8_0 minimax-mxfp8=q4_0; do
        rm -f m.safetensors
        amn-forget -q --exact --scheme "${s%=*}" -o m.safetensors dense.safetensors
        holds m.safetensors --exact --to gguf --scheme "${s#*=}"
        amn-parse m.safetensors | jq -es --arg s "${s%=*}" 'any(.[]; .scheme == $s)'
    done
    "$helpers/codes" m.safetensors mxfp4 a.weight:64x256 b.weight:32x64
    amn-forget -q --exact --to gguf --scheme mxfp4 -o m.gguf m.safetensors
    for s in minimax-mxfp8 nvfp4-e5m3; do
        holds m.gguf --exact --to safetensors --scheme $s
    done
    amn-forget -q --exact --to gguf --scheme q4_0 -o m.gguf dense.safetensors
    for s in quark-int4 modelslim-w4a8 modelslim-w8a8 gemma-4bit gemma-8bit; do
        holds m.gguf --exact --to safetensors --scheme $s
    done
}

@test "NVFP4: scales of the weight and of activations, for every reader" {
    "$helpers/codes" m.safetensors nvfp4 a.weight:64x256
    echo '{"quantization_config": {"quant_method": "modelopt"}}' >config.json
    holds m.safetensors --exact --config config.json --scheme modelopt-nvfp4
    [ "$(amn-parse out | jq -r 'select(.name == "a.input_scale") | .dtype')" = F32 ]
    holds m.safetensors --exact --config config.json --scheme comfy-nvfp4
    for s in 'mlx-nvfp4' 'nvfp4 --to safetensors'; do
        refuses m.safetensors scale '[0,0]' --exact --config config.json --scheme $s
        jq -e --arg s "${s%% *}" '.message | contains("scale: \($s) cannot hold the scale of the tensor (nearest")' err
    done
    for s in 'nvfp4 --to safetensors' mlx-nvfp4 'nvfp4 --to gguf'; do
        try 0 amn-forget -q --exact=bf16 --config config.json --scheme $s m.safetensors
        mv out "bf16-${s%% *}"
    done
    amn-parse bf16-mlx-nvfp4 | jq -s -e 'map(.name) == ["a.global_scale", "a.scales", "a.weight"]'
    try 0 amn-forget -q --exact=bf16 --config config.json --scheme nvfp4 --to safetensors m.safetensors
    amn-parse out | jq -s -e 'map(.name) | contains(["a.input_global_scale", "a.weight_global_scale"])'
    try 0 amn-forget -q --exact=real --config config.json --scheme nvfp4 --to gguf m.safetensors
    amn-parse out | jq -s -e 'map(.name) | contains(["a.input_scale", "a.scale"])'
    try 0 amn-forget -q --exact --scheme modelopt-nvfp4 bf16-mlx-nvfp4
    diff <(values bf16-mlx-nvfp4) <(values out)
}

@test "NVFP4 at level real: a block of zeros denotes the same whatever the scale of the weight" {
    "$helpers/codes" m.safetensors nvfp4-zero a.weight:16x64
    for s in nvfp4 mlx-nvfp4; do
        refuses m.safetensors scale '[0,16]' --exact=real --to safetensors --scheme $s
    done
    "$helpers/codes" z.safetensors nvfp4-zero a.weight:1x16
    holds z.safetensors --exact=real --to safetensors --scheme nvfp4
}

@test "NVFP4 of stacked experts, each with a scale of its own" {
    "$helpers/codes" m.safetensors nvfp4-stack m.experts.gate_up_proj:32x128
    holds m.safetensors --exact --scheme nvfp4 --to gguf
    amn-parse out | jq -es 'any(.dtype == "F32" and .shape == [3])' >/dev/null
    cp out k.gguf
    for i in 1 2 3; do amn-forget -q --exact --scheme nvfp4 --to gguf --part $i/3 m.safetensors; done | cmp - k.gguf
    holds k.gguf --exact --scheme nvfp4,f32 --to gguf
    holds m.safetensors --exact --scheme fp8,f32
    amn-forget -q --exact=real --scheme nvfp4 --report r.json -o r.gguf m.safetensors
    jq -e '.way == "moved"' r.json >/dev/null
    cmp r.gguf k.gguf
}

@test "scales of activations of stacked experts follow, or the weight is refused" {
    local s at
    for s in 'inputs:3e800000 3ec00000 3f000000' 'input:3e800000 3e800000 3e800000'; do
        "$helpers/codes" m.safetensors "nvfp4-stack-${s%:*}" m.experts.gate_up_proj:32x128
        holds m.safetensors --exact --scheme nvfp4 --to gguf
        at=$(amn-parse out | jq 'select(.name == "m.experts.gate_up_proj.input_scale" and .shape == [3]) | .offset')
        [ "$(tail -c +$((at + 1)) out | head -c 12 | od -An -tx4 --endian=little)" = " ${s#*:}" ]
    done
    "$helpers/codes" m.safetensors nvfp4-stack-odd m.experts.gate_up_proj:32x128
    try 69 amn-forget --exact --scheme nvfp4 --to gguf m.safetensors
    grep -q 'layout: its scale of activations is not F32, or neither one number nor one for each matrix' err
    holds m.safetensors --exact --scheme nvfp4,f32 --to gguf
    "$helpers/codes" m.safetensors nvfp4 a.weight:64x256
    echo '{"quantization_config": {"quant_method": "modelopt"}}' >config.json
    try 0 amn-forget --exact=bf16 --config config.json --scheme mlx-nvfp4 m.safetensors
    grep -q 'a.weight: its scale of activations is left out, since mlx-nvfp4 has none (1 weight)' err
}

@test "amn-convert: one scale for all stacked experts" {
    "$helpers/hf-model" "$corpus/hf-models/qwen3-moe-stacked" m config.hidden_size=64
    python3 -c 'from modelfile import read, write
import struct
old = read("m/model.safetensors")
name = "model.layers.0.mlp.experts.gate_up_proj"
dim = old.pop(name)[1]
codes = bytes(i * 37 & 255 for i in range(dim[0] * dim[1] * dim[2] // 2))
write("m/model.safetensors", [(k, *v) for k, v in old.items()] + [(name, "U8", [dim[0], dim[1], dim[2] // 2], codes),
    (name + "_weight_scale", "F8_E4M3", [dim[0], dim[1], dim[2] // 16], bytes([56]) * (len(codes) // 8)),
    (name + "_weight_scale_2", "F32", [], struct.pack("<f", 0.25)), (name + "_input_scale", "F32", [], struct.pack("<f", 0.5))])'
    try 0 amn-convert -q --to gguf -o moved.gguf m
    try 0 amn-convert -q --to gguf --dequantize -o dense.gguf m
    amn-parse moved.gguf | jq -es 'any(.name == "blk.0.ffn_up_exps.weight" and .dtype == "NVFP4")'
    amn diff moved.gguf dense.gguf | jq -es 'all(.differing == 0)'
}

@test "K-quants to MLX; E5M2; one FP8 scale for a weight" {
    "$helpers/weights" d.safetensors a.weight=BF16:64x512
    for s in q4_k q5_k; do
        try 0 amn-forget -q --pure --scheme $s -o k.gguf d.safetensors
        holds k.gguf --exact --scheme mlx-5bit
    done
    refuses k.gguf span '[0,0]' --exact --scheme mlx-4bit
    "$helpers/codes" m.safetensors mxfp4 a.weight:64x256 b.weight:130x160
    for s in fp8-per-tensor fp8-e5m2 fp8-per-channel-e5m2 fp8-per-tensor-e5m2 comfy-fp8; do
        holds m.safetensors --exact --scheme $s
    done
    "$helpers/codes" one.safetensors mxfp4 a.weight:64x256
    holds one.safetensors --exact --scheme comfy-mxfp8
    holds one.safetensors --exact --scheme comfy-nvfp4
    try 0 amn-forget -q --scheme fp8-per-tensor -o t.safetensors d.safetensors
    amn-remember -q -o copy.safetensors t.safetensors
    for s in fp8-per-tensor comfy-fp8 fp8-per-channel fp8; do
        try 0 amn-forget -q --exact=bf16 --scheme $s -o back.safetensors copy.safetensors
        amn-remember -q -o again.safetensors back.safetensors
        diff <(values copy.safetensors) <(values again.safetensors)
        amn-inspect back.safetensors | jq -e '.scheme_label != null'
    done
    refuses m.safetensors span '[0,0]' --exact --scheme comfy-int8
}

# scales FILE PART: how many different values the scales of the tensors have.
scales() {
    "$helpers/tensors" <"$1" | grep "$2 " | awk '{ print $NF }' | sort -u | wc -l
}

@test "weights that loaders concatenate have one scale, or take another name" {
    local attention="q.q_proj.weight:64x64 q.k_proj.weight:32x64:above q.v_proj.weight:32x64"
    "$helpers/codes" m.safetensors mxfp4 $attention
    for s in nvfp4:global_scale modelopt-nvfp4:scale_2 fp8-per-tensor:weight_scale; do
        holds m.safetensors --exact --to safetensors --scheme ${s%:*}
        [ "$(scales out ${s#*:})" = 1 ]
        cp out one
        try 0 amn-forget -q --exact --no-fuse --scheme ${s%:*} -o alone.safetensors m.safetensors
        [ "$(scales alone.safetensors ${s#*:})" -gt 1 ]
        for i in 1 2 3; do amn-forget -q --exact --to safetensors --scheme ${s%:*} --part $i/3 m.safetensors; done | cmp - one
    done
    for level in f32 bf16; do           # a dense copy gets the scale back that the weights share
        amn-remember -q -o copy.safetensors --dtype $level alone.safetensors
        holds copy.safetensors --exact=$level --to safetensors --scheme fp8-per-tensor
        [ "$(scales out weight_scale)" = 1 ]
    done
    "$helpers/codes" n.safetensors nvfp4 a.q_proj.weight:16x64 a.k_proj.weight:16x64:nvfp4-other a.o_proj.weight:16x64
    refuses n.safetensors scale '[0,0]' --exact --to safetensors --scheme modelopt-nvfp4
    grep -q 'loaders give it one scale with a.k_proj.weight' err
    holds n.safetensors --exact --no-fuse --to safetensors --scheme modelopt-nvfp4
    holds n.safetensors --exact --to safetensors --scheme mlx-nvfp4,f32
    "$helpers/codes" f.safetensors mxfp4 a.gate_proj.weight:16x64 a.up_proj.weight:16x64:low
    refuses f.safetensors scale '[0,0]' --exact --to safetensors --scheme nvfp4
    holds f.safetensors --exact --to safetensors --scheme nvfp4,mxfp8
    amn-forget -q --exact --to safetensors --scheme nvfp4,mxfp8 --report r.ndjson f.safetensors >/dev/null
    jq -es 'all(.to == "mxfp8" and .tried[0].scheme == "nvfp4" and .tried[0].cause == "scale")' r.ndjson >/dev/null
    amn-remember -q -o copy.safetensors --dtype f32 f.safetensors
    try 0 amn-forget -q --exact --to safetensors --scheme nvfp4 copy.safetensors
    [ "$("$helpers/tensors" <out | grep -c 'F32')" = 2 ]        # dense weights stay
    try 2 amn-forget --exact --no-fuse --scheme mxfp8 m.safetensors
}

@test "the first name that holds a weight; --inexact; --report; the note" {
    "$helpers/codes" m.safetensors int4-zeros a.weight:64x256
    try 0 amn-forget --exact --scheme q4_0,q5_0 --report r.json -o o.gguf m.safetensors
    grep -q "note: exact: 1 weight (1 with the source's scales)" err
    jq -e 'select(.name) | .to == "q5_0" and .way == "hint" and .tried[0].scheme == "q4_0" and .tried[0].cause == "span"' r.json
    try 0 amn-forget --exact --scheme q4_0 --inexact 'a.*' -o i.gguf m.safetensors
    amn-inspect i.gguf | jq -e '.schemes.q4_0.weights == 1 or .scheme_label == "GGUF Q4_0"'
    grep -q 'note: exact: 0 weights, 1 rounded to q4_0: SQNR [0-9.]* dB, mean error' err
    try 0 amn-forget --scheme q4_0 -o o.gguf m.safetensors              # the same error
    [ "$(sed -n 's/.*SQNR/SQNR/p' err | head -n 1)" = "$(amn-forget --exact --scheme q4_0 --inexact '*' --test m.safetensors 2>&1 |
        sed -n 's/.*SQNR/SQNR/p')" ]
    "$helpers/codes" two.safetensors int4 a.weight:64x256 b.weight:64x256:int4-zeros
    try 0 amn-forget --exact --scheme q4_0 --inexact 'b.*' --test two.safetensors       # the cost of that weight alone
    [ "$(sed -n 's/.*(1 with the source.s scales), 1 rounded to q4_0: //p' err)" = "$(amn-forget --scheme q4_0 --include 'b.*' --test \
        two.safetensors 2>&1 | sed -n 's/.*SQNR/SQNR/p')" ]
    try 2 amn-forget --exact --scheme q4_0 --inexact typo -o i.gguf m.safetensors
    grep -q -- "--inexact: no tensor matches 'typo'" err
}

@test "--report: levels, blocks and codes of 8; as a page" {
    "$helpers/codes" m.safetensors mxfp4 a.weight:64x256
    codes_8=$(python3 -c 'import sys
from modelfile import read_header
data = open(sys.argv[1], "rb").read()
header, start = read_header(data)
a, b = header["a.weight_packed"]["data_offsets"]
print(sum((c & 15 == 8) + (c >> 4 == 8) for c in data[start + a:start + b]))' m.safetensors)
    for job in 'gguf mxfp4 512' 'gguf q5_0 512' 'gguf nvfp4 1024' 'safetensors mxfp8 512' 'safetensors fp8-ue8m0 2' \
        'safetensors fp8-per-channel 64' 'safetensors mlx-5bit 512'; do
        set -- $job
        try 0 amn-forget -q --exact --to $1 --scheme $2 --report r.json m.safetensors
        jq -e --argjson n $3 --argjson c "$codes_8" '.levels == ["f32", "bf16", "f16", "real"] and .blocks == $n and .code_8 == $c' r.json ||
            { cat r.json; return 1; }
    done
    "$helpers/codes" i.safetensors int4 a.weight:64x256
    try 0 amn-forget -q --exact=real --scheme mlx-4bit --report r.json i.safetensors
    jq -e '.levels == ["real"] and .code_8 == null' r.json
    try 0 amn-forget -q --exact --scheme q4_0,bf16,f32 --to gguf --report r.html m.safetensors
    grep -q '<td class="name">a.weight</td><td class="text">mxfp4</td><td class="text">bf16</td>' r.html
    grep -q 'q4_0: span, block \[0,0\]' r.html
}

@test "--report of a refused job: what was tried" {
    "$helpers/codes" m.safetensors mxfp4 a.weight:64x256 b.weight:64x256:far
    try 69 amn-forget --exact --scheme fp8-ue8m0,int4-group --report r.json -o never.safetensors m.safetensors
    [ ! -e never.safetensors ]
    jq -s -e 'map([.name, .to, .exact, .way, (.tried | map(.scheme))]) == [["a.weight", "fp8-ue8m0", "f32", "hint", []],
        ["b.weight", null, null, "refused", ["fp8-ue8m0", "int4-group"]]]' r.json
    try 69 amn-forget --exact --scheme q4_0 --report r.html -o never.gguf m.safetensors
    grep -q 'A weight was refused, so nothing was written' r.html
    grep -q '<td class="name">a.weight</td><td class="text">mxfp4</td><td class="text">mxfp4</td><td class="text">refused</td>' r.html
    # weights that loaders give one scale, and NaN
    "$helpers/codes" n.safetensors nvfp4 a.q_proj.weight:16x64 a.k_proj.weight:16x64:nvfp4-other a.o_proj.weight:16x64
    try 69 amn-forget --exact --to safetensors --scheme modelopt-nvfp4 --report r.json -o never.safetensors n.safetensors
    jq -s -e 'map(select(.way == "refused") | .name) == ["a.q_proj.weight"]' r.json
    "$helpers/codes" x.safetensors nan a.weight:64x256
    try 65 amn-forget --exact --scheme q5_0 --report r.json -o never.gguf x.safetensors
    jq -e '.way == "refused" and .tried[0].cause == "nonfinite"' r.json
    # a report that cannot be written changes neither the status nor the reason
    try 69 amn-forget --exact --scheme q4_0 --report none/r.json -o never.gguf m.safetensors
    grep -q 'warning: the report none/r.json is not written' err
    grep -q 'inexact: tensor a.weight' err
    try 69 amn-forget --exact --scheme q4_0 --report m.safetensors -o never.gguf m.safetensors
    grep -q 'warning: the report m.safetensors is not written' err
    try 0 amn-forget -q --exact --scheme q4_0,f32 --to gguf --report r.json -o o.gguf m.safetensors
    [ ! -e never.gguf ] && [ ! -e never.safetensors ]
}

@test "a refusal says which weight, which value, why, and what would hold it" {
    "$helpers/codes" m.safetensors int4 a.weight:64x256
    try 69 amn-forget --exact --scheme mlx-4bit m.safetensors
    grep -qE '^amn-forget: m.safetensors: inexact: tensor a.weight: element \[0,3\] = -0x1.17p-4 \(-0.0681152\) is not held by mlx-4bit: precision: it has more significant bits than a code; block \[0,0\] \(nearest -0x1.18p-4\); --exact=real accepts it; int4-group holds it$' err
    "$helpers/codes" far.safetensors far a.weight:64x256
    try 69 amn-forget --json-errors --exact --scheme fp8-ue8m0 far.safetensors
    jq -e '.kind == "inexact" and .status == 69 and .witness.tensor == "a.weight" and .witness.cause == "span"
        and .witness.block == [0, 128] and .witness.index[0] == 63 and .witness.scheme == "fp8-ue8m0" and .witness.levels == []
        and .witness.holds == "mxfp4" and (.witness.value | startswith("-0x")) and (.witness.nearest | startswith("-0x"))' err
    try 69 amn-forget --exact --scheme bf16 m.safetensors
    grep -q 'is not held by bf16: precision: it is not a number of bf16 (nearest ' err
    for s in nf4:mxfp4 mlx-4bit:mxfp4 int8-channel:mxfp4 fp8-per-channel:far; do       # not an element that a code of 0 holds
        "$helpers/codes" f.safetensors ${s#*:} a.weight:64x256
        try 69 amn-forget --json-errors --exact --scheme ${s%:*} f.safetensors
        jq -e '.witness.cause == "span" and .witness.value != "0x0p+0" and .witness.value != "-0x0p+0"' err >/dev/null || { cat err; return 1; }
    done
    try 69 amn-forget --exact --scheme int4-group --asymmetric far.safetensors
    grep -q 'mxfp4 holds it' err
}

@test "a dequantized copy gets its codes back" {
    echo '{"quantization_config": {"quant_method": "modelopt"}}' >config.json
    for job in 'mxfp4 --scheme mxfp4' 'int4 --group-size 32 --scheme int4-group' 'nvfp4 --scheme modelopt-nvfp4'; do
        "$helpers/codes" m.safetensors ${job%% *} model.layers.0.mlp.up_proj.weight:64x256
        amn-remember -q --config config.json -o copy.safetensors m.safetensors
        try 0 amn-forget -q --exact=bf16 --to safetensors ${job#* } -o back.safetensors copy.safetensors
        amn-remember -q --config config.json -o again.safetensors back.safetensors
        diff <(values copy.safetensors) <(values again.safetensors)
        refute cmp -s copy.safetensors back.safetensors
    done
}

@test "a copy of NVFP4 gets its codes back without a scale for all blocks, and with other ranges than 448" {
    "$helpers/codes" int4.safetensors int4 model.layers.0.mlp.up_proj.weight:64x256
    amn-remember -q -o m.safetensors int4.safetensors
    amn-forget -q --pure --scheme nvfp4 --to gguf -o m.gguf m.safetensors
    amn-remember -q --to safetensors --dtype bf16 -o copy.safetensors m.gguf
    for s in 'modelopt-nvfp4 --to safetensors' 'nvfp4 --to gguf'; do
        try 0 amn-forget --exact=bf16 --scheme $s -o back copy.safetensors
        grep -q 'exact: 1 weight' err
        amn-remember -q --to safetensors --dtype bf16 -o again.safetensors back
        diff <(values copy.safetensors) <(values again.safetensors)
    done
}

@test "a copy of INT8 with zero points gets scales, codes and zero points back: several codes may denote a rounded value" {
    "$helpers/codes" m.safetensors int8-zeros a.weight:64x512
    for type in bf16 f16 f32; do
        amn-remember -q -o copy.safetensors --dtype $type m.safetensors
        try 0 amn-forget -q --exact=$type --scheme int8-channel -o back.safetensors copy.safetensors
        amn-parse back.safetensors | jq -es 'any(.name == "a.weight_zero_point")' >/dev/null
        amn-remember -q -o again.safetensors --dtype $type back.safetensors
        diff <(values copy.safetensors) <(values again.safetensors)
    done
}

@test "scales of a copy whose values were rounded to the smallest numbers" {
    "$helpers/weights" m.safetensors a.weight=BF16:32x128:least
    for s in fp8 fp8-per-channel fp8-per-tensor nf4; do
        try 0 amn-forget --exact=bf16 --scheme $s -o back.safetensors m.safetensors
        grep -q 'exact: 1 weight (1 with scales found by search)' err
        amn-remember -q --dtype bf16 -o again.safetensors back.safetensors
        diff <(values m.safetensors) <(values again.safetensors)
    done
    # all of them are 0 in F16
    for s in fp8 fp8-per-channel fp8-per-tensor fp8-e5m2 nf4 q8_0; do
        try 0 amn-forget --exact=f16 --scheme $s -o zeros m.safetensors
        grep -q 'exact: 1 weight' err
    done
}

@test "amn-inspect --grid names the scheme that a copy was made of" {
    for job in 'mxfp4 mxfp4 false' 'int4 int4-group false' 'int4-zeros int4-group true' 'int8 int8-channel false' \
        'int8-zeros int8-channel true'; do
        set -- $job
        "$helpers/codes" m.safetensors $1 a.weight:64x256
        amn-remember -q -o copy.safetensors m.safetensors
        both 0 copy.safetensors amn-inspect --grid
        cmp out.file out.pipe
        jq -e --arg g "$2" --argjson z $3 '.grid == $g and .level == "bf16" and .asymmetric == $z' out.file || { cat out.file; return 1; }
    done
    "$helpers/weights" d.safetensors a.weight=BF16:64x256
    try 0 amn-inspect --grid --human d.safetensors
    grep -qx 'a.weight  none' out
    try 2 amn-inspect --grid --arrays d.safetensors
}

@test "weights on no grid stay as they are" {
    "$helpers/weights" m.safetensors a.weight=BF16:64x256
    try 0 amn-forget --exact --scheme q4_0 -o o.gguf m.safetensors
    grep -q 'note: exact: 0 weights, 1 kept: no name of --scheme holds one; amn-inspect --grid finds' err
    amn-parse o.gguf | jq -e '.dtype == "BF16"'
}

@test "scales too far apart, and NaN" {
    "$helpers/codes" far.safetensors far a.weight:64x256
    refuses far.safetensors span '[0,128]' --exact --scheme fp8-ue8m0
    "$helpers/codes" nan.safetensors nan a.weight:64x256
    try 65 amn-forget --json-errors --exact --scheme mxfp4 --to gguf -o never nan.safetensors
    jq -e '.witness.cause == "nonfinite" and .witness.block == [63,224]' err
    [ ! -e never ]
}

@test "NaN: amn-convert dequantizes such a weight, --keep-quantized and --inexact refuse it" {
    "$helpers/codes" nan.safetensors nan a.weight:64x256
    try 0 amn-convert -o c.gguf nan.safetensors
    amn-parse c.gguf | jq -e '.dtype == "BF16"'
    try 65 amn-convert --keep-quantized -o never.gguf nan.safetensors
    try 65 amn-forget --exact --scheme q4_0 --inexact '*' -o never.gguf nan.safetensors
    "$helpers/weights" d.safetensors a.weight=BF16:64x256:nan
    try 65 amn-forget --exact --scheme q4_0 --inexact '*' -o never.gguf d.safetensors
    try 0 amn-forget -q --exact --scheme q4_0 -o kept.gguf d.safetensors
    [ ! -e never.gguf ]
}

@test "ranges, parts and sizes are those of the whole" {
    "$helpers/codes" m.safetensors mxfp4 a.weight:64x256
    try 0 amn-forget -q --exact --scheme q5_0 -o o.gguf m.safetensors
    [ "$(amn-forget --exact --scheme q5_0 --size m.safetensors)" = "$(wc -c <o.gguf)" ]
    try 0 amn-forget -q --exact --scheme q5_0 --range 777-1776 m.safetensors
    cmp out <(tail -c +778 o.gguf | head -c 1000)
    try 0 amn-forget --exact --scheme q4_0,q5_0 --dry-run m.safetensors
    grep -q 'note: tensor a.weight: not held by q4_0: span, block \[0,0\]' err
    xargs -a out amn-forget -q m.safetensors >again
    cmp again o.gguf
    "$helpers/codes" n.safetensors mxfp4 "b[it's].weight:64x256" a.weight:64x256:int4
    for o in '--to safetensors --scheme mxfp4,int4-group' '--to gguf --scheme bf16,f32' '--scheme q4_0 --inexact b*' \
        '--scheme nvfp4,f32 --to safetensors --no-fuse' '--scheme int4-group,bf16 --group-size 32'; do
        try 0 amn-forget -q --exact $o n.safetensors
        mv out whole
        try 0 amn-forget -q --exact $o --dry-run n.safetensors
        xargs -a out amn-forget -q n.safetensors >again || { cat out; return 1; }
        cmp whole again
    done
    try 0 amn-forget --exact --scheme q4_0,q5_0 --dry-run --json m.safetensors
    jq -s -e '.[0].encoder == "q5_0"' out
    try 0 amn-forget --exact --scheme q5_0 --test m.safetensors
}

@test "parts of every kind of target; sizes of lists; a survey of the whole for each part" {
    "$helpers/codes" m.safetensors mxfp4 a.weight:64x256 b.weight:130x192
    for s in fp8-ue8m0 fp8-per-tensor fp8-per-channel modelopt-nvfp4 comfy-mxfp8 'bf16,f32' 'nvfp4 --to gguf' 'q4_0,q8_0'; do
        try 0 amn-forget -q --exact --scheme $s m.safetensors
        mv out whole
        [ "$(amn-forget --exact --scheme $s --size m.safetensors)" = "$(wc -c <whole)" ]
        for i in 1 2 3; do
            try 0 amn-forget -q --exact --scheme $s --part $i/3 m.safetensors
            cat out
        done >parts
        cmp parts whole
        try 0 amn-forget -q --exact --scheme $s --range 5001- m.safetensors
        cmp out <(tail -c +5002 whole)
    done
    "$helpers/codes" far.safetensors far a.weight:64x256
    for o in --size '--range 0-9' '--part 1/2' --plan --dry-run --test; do
        try 69 amn-forget --exact --scheme fp8-ue8m0 $o far.safetensors
        is_empty out
    done
}

@test "--resume continues an exact job, and refuses another level" {
    mkdir in
    "$helpers/codes" in/model.safetensors int4 model.layers.{0,1,2}.mlp.up_proj.weight:64x256 model.layers.3.mlp.up_proj.weight:96x256
    echo '{"model_type": "llama"}' >in/config.json
    job='amn-forget -q --exact=bf16 --scheme gptq --shard-size 10K'
    $job -o whole/ in
    longest=$(stat -c '%s' whole/model-*.safetensors | sort -n | tail -n 1)
    (ulimit -f $(((longest - 1) / 1024)); try 74 $job -o part/ in)
    [ -e part/.amn-journal ]
    try 73 amn-forget -q --exact=real --scheme gptq --shard-size 10K --resume -o part/ in
    try 0 $job --resume -o part/ in
    diff -r part whole
    try 0 $job --resume -o part/ in
}

@test "infinite scales, NaN codes, infinite values: 65 with the block" {
    write() { python3 -c 'import struct, sys
from modelfile import write
exec(sys.argv[1])' "$1"; }
    write 'write("scale.safetensors", [("a.weight", "F8_E4M3", [128, 128], bytes(128 * 128)), ("a.weight_scale_inv", "F32", [1, 1], struct.pack("<f", float("inf")))])'
    write 'write("code.safetensors", [("a.weight", "F8_E4M3", [128, 128], bytes(129) + b"\x7f" + bytes(128 * 128 - 130)), ("a.weight_scale_inv", "F32", [1, 1], struct.pack("<f", 1))])'
    write 'write("large.safetensors", [("a.weight", "F8_E4M3", [128, 128], bytes(128) + b"\x7e" + bytes(128 * 128 - 129)), ("a.weight_scale_inv", "F32", [1, 1], struct.pack("<f", 1e38))])'
    for f in scale code large; do
        for s in fp8 fp8-ue8m0 fp8-per-tensor fp8-per-channel mxfp8 comfy-fp8 bf16 f32; do
            try 65 amn-forget --json-errors --exact --scheme $s -o never.safetensors $f.safetensors
            jq -e '.kind == "malformed" and .witness.cause == "nonfinite"' err >/dev/null || { cat err; echo "$f $s"; return 1; }
        done
    done
    "$helpers/weights" d.safetensors a.weight=BF16:64x256:nan
    try 65 amn-forget --exact --scheme q4_0 --inexact '*' -o never.gguf d.safetensors
    [ ! -e never.safetensors ] && [ ! -e never.gguf ]
}

@test "a finite value stays finite at levels bf16 and f16" {
    "$helpers/codes" m.safetensors int4-large a.weight:64x256       # beyond F16
    for s in q4_0 q5_0 q8_0 int8-channel fp8-ue8m0 f16; do
        try 69 amn-forget --json-errors --exact=f16 --scheme $s -o never m.safetensors
        jq -e '.kind == "inexact" and (.witness.levels | index("f16") | not)' err >/dev/null || { cat err; return 1; }
    done
    refuses m.safetensors scale '[0,0]' --exact --scheme q4_0
    refute grep -q 'exact=f16' err
    for s in f32 int4-group; do
        try 0 amn-forget -q --exact=f16 --scheme $s m.safetensors
        diff <(values m.safetensors) <(values out)
    done
}

@test "a value that rounds to F16 and then to another BF16: f16 holds its BF16 at level bf16" {
    # 1 + 2^-8 + 2^-13 is 1 + 2^-7 in BF16, and 1 + 2^-8 in F16, which is 1 in BF16
    python3 -c 'import struct
from modelfile import write
write("m.safetensors", [("a.weight", "F8_E4M3", [32, 32], b"\x38" * 1024), ("a.weight_scale", "F32", [], struct.pack("<f", 1 + 2**-8 + 2**-13))])'
    for o in '3f81 bf16' '3c08 f16' '3c08 f16 --to gguf'; do
        try 0 amn-forget --exact=bf16 --scheme ${o#* } m.safetensors
        grep -q 'exact: 1 weight (1 not quantized)' err
        amn-convert -q --to raw -o raw out
        [ "$(head -c 2 raw | od -An -tx2 | tr -d ' ')" = ${o%% *} ]
    done
    refuses m.safetensors precision '[0,0]' --exact --scheme f16
}

@test "a quantized weight that is not selected, or is no matrix, keeps its values" {
    "$helpers/codes" m.safetensors nvfp4 a.weight:64x256 b.weight:64x256
    echo '{"quantization_config": {"quant_method": "modelopt"}}' >config.json
    for o in '--exclude b.*' '--include a.*'; do
        holds m.safetensors --exact --config config.json --scheme modelopt-nvfp4 $o
        amn-parse out | jq -es 'any(.name == "b.weight" and .dtype == "U8")' >/dev/null     # as it is stored
        holds m.safetensors --exact --config config.json --scheme nvfp4 --to gguf $o
        amn-parse out | jq -es 'any(.name == "b.weight" and .dtype == "F32")' >/dev/null    # BF16 does not hold it
        try 69 amn-forget --exact=real --config config.json --scheme nvfp4 --to gguf $o -o never.gguf m.safetensors
    done
    try 0 amn-forget --exact --config config.json --scheme modelopt-nvfp4 --exclude 'b.*' m.safetensors
    grep -q 'exact: 1 weight (1 moved), 1 kept' err
    python3 -c 'import struct
from modelfile import write
write("v.safetensors", [("a.weight", "F8_E4M3", [64], bytes(range(64))), ("a.weight_scale", "F32", [], struct.pack("<f", 0.0123))])'
    for s in f32 fp8-per-tensor q8_0; do
        holds v.safetensors --exact --scheme $s
    done
    [ ! -e never.gguf ]
}

@test "unquantized experts of gpt-oss have the orientation of amn-remember" {
    "$helpers/codes" m.safetensors gptoss m.experts.down_proj:64x64     # square: no loader would notice
    amn-remember -q -o dense.safetensors m.safetensors
    for s in bf16 'modelopt-mxfp4,bf16'; do
        try 0 amn-forget -q --exact --scheme $s m.safetensors
        cmp out dense.safetensors
    done
    try 0 amn-forget -q --exact --scheme bf16 --inexact '*' m.safetensors
    cmp out dense.safetensors
}

@test "experts of gpt-oss keep the orientation in which they are stored: a warning, except for GGUF, MLX and gptoss-mxfp4" {
    mkdir in
    "$helpers/codes" in/model.safetensors gptoss model.layers.0.mlp.experts.down_proj:64x64 model.layers.1.mlp.experts.down_proj:64x64
    echo '{"model_type": "gpt_oss"}' >in/config.json
    for o in 'fp8-ue8m0 -o out8/' 'fp8 -o out.safetensors' 'mxfp8,fp8-ue8m0 --inexact * -o outx.safetensors'; do
        set -f
        try 0 amn-forget --exact --scheme $o in
        set +f
        grep -q 'layers.0.*: its matrices are \[out, in\], as they were stored, but transformers expects \[in, out\] .*(2 weights)' err
    done
    for o in 'gptoss-mxfp4 -o outg/' 'bf16 -o outb/' 'mxfp4 --config none -o out.gguf' 'mlx-mxfp4 -o outm/' 'mlx-mxfp8 -o m8.safetensors' \
        'mlx-nvfp4 -o mn.safetensors' 'mlx-5bit -o m5.safetensors'; do
        try 0 amn-forget --exact --scheme $o in
        ! grep -q 'transformers expects' err
    done
    jq -e '.quantization == {"group_size": 32, "bits": 4, "mode": "mxfp4"}' outm/config.json
    amn-parse outm | jq -es 'map(select(.name == "model.layers.0.mlp.experts.down_proj.weight"))[0] | .dtype == "U32" and .shape == [2, 64, 8]'
    for f in outm m8.safetensors mn.safetensors m5.safetensors; do
        diff <(values $f | cut -d ' ' -f 2) <(values out.gguf | cut -d ' ' -f 2) >/dev/null || { echo "other values: $f"; return 1; }
    done
    try 0 amn-forget -q --exact --scheme fp8-ue8m0 -o outq/ in
    [ ! -s err ]
}

@test "permuted columns are refused by name" {
    f=$corpus/safetensors-good/gptq-4bit-sym-shuffled.safetensors
    for s in q4_0 mlx-4bit mxfp4; do
        try 69 amn-forget --json-errors --exact --scheme $s -o never "$f"
        jq -e '.kind == "inexact" and (.witness.tensor | length) > 0' err
    done
    [ ! -e never ]
}

@test "a directory has the config of its loader" {
    mkdir in
    "$helpers/codes" in/model.safetensors mxfp4 model.layers.0.mlp.up_proj.weight:64x256
    echo '{"model_type": "llama"}' >in/config.json
    try 0 amn-forget -q --exact --scheme fp8-ue8m0 -o out8/ in
    jq -e '.quantization_config.quant_method == "fp8"' out8/config.json
    try 0 amn-forget -q --exact --scheme mlx-mxfp4 -o outm/ in
    jq -e '.quantization.mode == "mxfp4"' outm/config.json
    # DeepSeek's loaders read the type of experts at the top, transformers in quantization_config
    mkdir v4
    "$helpers/codes" v4/model.safetensors mxfp4 model.layers.0.mlp.experts.0.up_proj.weight:64x256 model.layers.0.mlp.gate_proj.weight:128x256
    echo '{"model_type": "deepseek_v4", "expert_dtype": "fp8", "quantization_config": {"a": 1}}' >v4/config.json
    try 0 amn-forget --exact --scheme deepseek-fp4 -o out4/ v4
    jq -e '.expert_dtype == "fp4" and .quantization_config.expert_dtype == "fp4" and .quantization_config.scale_fmt == "ue8m0"' out4/config.json
    grep -q 'mlp.gate_proj.weight: loaders of DeepSeek.s FP4 read only experts' err
    try 0 amn-forget -q --exact --scheme fp8-ue8m0 --tensor-type 'experts=deepseek-fp4' -o outx/ v4
    jq -e '.expert_dtype == "fp4" and .quantization_config.expert_dtype == "fp4"' outx/config.json
    try 0 amn-forget -q --exact --scheme fp8-ue8m0 -o out48/ out4
    jq -e '.expert_dtype == "fp8" and .quantization_config.expert_dtype == "fp8"' out48/config.json
    jq -e 'has("expert_dtype") | not' out8/config.json
    try 0 amn-remember -q -o dense/ out4
    jq -e 'has("expert_dtype") or has("quantization_config") | not' dense/config.json
    try 0 amn-forget -q --exact --scheme mlx-4bit,mlx-5bit -o list in
    jq -e '.quantization.bits == 5' list/config.json
    try 0 amn-forget -q --exact --scheme q4_0,q5_0 --output-dir all in/model.safetensors
    [ -f all/model.gguf ]
    try 69 amn-forget -q --exact --scheme int4-group -o none/ in
    [ ! -e none/model.safetensors ]
}

@test "NVFP4 whose activations have scales stays declared so" {
    mkdir in w
    "$helpers/codes" in/model.safetensors nvfp4 model.layers.0.mlp.up_proj.weight:64x256
    echo '{"model_type": "llama", "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}' >in/config.json
    try 0 amn-forget -q --exact --scheme modelopt-nvfp4 -o m/ in
    jq -e '.quantization_config | .quant_algo == "NVFP4" and .config_groups.group_0.input_activations.num_bits == 4' m/config.json
    try 0 amn-forget -q --exact=bf16 --scheme nvfp4 -o c/ in
    jq -e '.quantization_config.config_groups.group_0.input_activations | .strategy == "tensor_group" and .dynamic == "local"' c/config.json
    amn-parse c | jq -es 'any(.name == "model.layers.0.mlp.up_proj.input_global_scale")' >/dev/null
    "$helpers/codes" w/model.safetensors mxfp4 model.layers.0.mlp.up_proj.weight:64x256
    echo '{"model_type": "llama"}' >w/config.json
    try 0 amn-forget -q --exact --scheme modelopt-nvfp4 -o wm/ w
    jq -e '.quantization_config | .quant_algo == "W4A16_NVFP4" and (.config_groups.group_0 | has("input_activations") | not)' wm/config.json
}

@test "activations: declared as quantized only where the source has that, or no loader accepts less" {
    local up=model.layers.0.mlp.up_proj.weight expert=model.layers.0.mlp.experts.0.up_proj.weight
    inputs() { jq -c '[.quantization_config.config_groups[] | .input_activations | if . then [.num_bits, .strategy] else . end]' "$1"/config.json; }
    says_so() { grep 'round activations to 8 bits: the weights are exact, but the output of the model is not' err; }
    mkdir w i f
    echo '{"model_type": "llama"}' | tee w/config.json i/config.json >f/config.json
    "$helpers/codes" w/model.safetensors mxfp4 $up:64x256
    try 0 amn-forget --exact --scheme fp8-per-channel -o wf/ w
    [ "$(inputs wf)" = '[null]' ]
    ! says_so
    # no loader reads INT8 without quantized activations, nor experts in FP8
    "$helpers/codes" i/model.safetensors int8 $up:64x256
    amn-remember -q --dtype f32 -o i32/ i
    try 0 amn-forget --exact --scheme int8-channel -o ii/ i32
    [ "$(inputs ii)" = '[[8,"token"]]' ]
    says_so | grep -q "$up: loaders of compressed-tensors INT8 round"
    "$helpers/codes" w/model.safetensors mxfp4 $up:64x256 $expert:64x256 model.layers.1.mlp.up_proj.weight:64x256
    try 0 amn-forget --exact --scheme fp8-per-channel -o we/ w
    [ "$(inputs we)" = '[null,[8,"token"]]' ]
    jq -e '.quantization_config.config_groups.group_1.targets | length == 1 and (.[0] | contains("experts"))' we/config.json
    says_so | grep -q "$expert: loaders of FP8 E4M3 by rows round"
    # sources that declare it
    try 0 amn-forget -q --scheme fp8-per-tensor -o ft/ w
    try 0 amn-forget --exact --scheme fp8-per-channel -o fc/ ft
    [ "$(inputs fc)" = '[[8,"token"]]' ]
    ! says_so
    try 0 amn-forget --exact --scheme int8-channel -o same/ ii
    [ "$(inputs same)" = '[[8,"token"]]' ]
    ! says_so
}

@test "config.json has the group size and the zero points of each weight" {
    mkdir z g
    "$helpers/codes" z/model.safetensors int4 model.layers.0.mlp.up_proj.weight:64x256 model.layers.1.mlp.up_proj.weight:64x256 \
        model.layers.0.mlp.down_proj.weight:64x256:gptq
    for i in 32 64; do
        "$helpers/weights" d.safetensors model.layers.$i.mlp.up_proj.weight=BF16:64x256
        try 0 amn-forget -q --scheme int4-group --group-size $i -o $i.safetensors d.safetensors
    done
    try 0 amn-convert -q -o g/model.safetensors 32.safetensors 64.safetensors
    echo '{"model_type": "llama"}' | tee z/config.json >g/config.json
    try 0 amn-forget -q --exact=real --scheme int4-group -o zi/ z
    jq -e '.quantization_config | .format == "pack-quantized" and (.config_groups | [.[] | [.targets[0], .weights.symmetric]])
        == [["Linear", true], ["model.layers.0.mlp.down_proj", false]]' zi/config.json
    try 0 amn-forget --exact --scheme gptq -o gg/ g
    grep -q 'warning: weights have several group sizes' err
    jq -e '.quantization_config | .group_size == 32 and .sym and (.dynamic | to_entries | map(select(.key[0:1] == "+").value))
        == [{"group_size": 64}]' gg/config.json
    try 0 amn-forget --exact --scheme awq -o ga/ g
    grep -q 'warning: weights have several group sizes, which no AWQ loader supports; --group-size makes them alike' err
    try 0 amn-forget -q --exact=real --scheme mlx-4bit -o gm/ g
    jq -e '.quantization | .group_size == 32 and ."model.layers.64.mlp.up_proj" == {group_size: 64, bits: 4, mode: "affine"}' gm/config.json
    try 0 amn-forget -q --exact --scheme gptq --group-size 32 -o gg32/ g
    jq -e '.quantization_config | has("dynamic") | not' gg32/config.json
}

@test "amn-convert moves what GGUF holds; --keep-quantized requires it; --dequantize does not move" {
    "$helpers/codes" m.safetensors int4 a.weight:64x256
    try 0 amn-convert -o o.gguf m.safetensors
    grep -q 'note: exact: 1 weight' err
    amn-parse o.gguf | jq -e '.dtype == "Q4_0"'
    diff <(values m.safetensors) <(values o.gguf)
    cat m.safetensors | try 0 amn-convert -q --to gguf
    cmp out o.gguf
    try 0 amn-convert --dequantize -o d.gguf m.safetensors
    amn-parse d.gguf | jq -e '.dtype == "BF16"'
    try 0 amn-convert --keep-quantized -o k.gguf m.safetensors
    cmp k.gguf o.gguf
    "$helpers/codes" n.safetensors int4-large a.weight:64x256
    try 69 amn-convert --keep-quantized --json-errors -o never.gguf n.safetensors
    jq -e '.kind == "inexact" and .witness.tensor == "a.weight" and .witness.scheme == "q8_0"' err
    try 69 amn-convert --keep-quantized --json-errors -o never.gguf "$fx/good-fp8-row-f32.safetensors"
    jq -e '.kind == "unsupported"' err
    [ ! -e never.gguf ]
}

@test "options that cannot be exact are usage errors" {
    "$helpers/codes" m.safetensors int4 a.weight:64x256
    for o in '--dtype f16' '--imatrix x' '--convrot' '--target-size 1M' '--allow-nonfinite'; do
        try 2 amn-forget --exact --scheme q4_0 $o m.safetensors
    done
    try 2 amn-forget --exact m.safetensors
    try 2 amn-forget --exact --scheme q4_0,nf4 m.safetensors
    try 2 amn-forget --exact --scheme typo m.safetensors
    try 2 amn-forget --exact --scheme q4_0,mxfp-4 m.safetensors
    grep -q "unknown scheme 'mxfp-4'; did you mean mxfp4?" err
    try 2 amn-forget --exact --scheme q4_0,,q5_0 m.safetensors
    for s in deepseek-fp4 bf16 'a list of schemes:q4_0,q5_0'; do
        try 2 amn-forget --scheme ${s#*:} m.safetensors
        grep -q "${s%:*} requires --exact" err
    done
    try 2 amn-forget --exact bf16 --scheme q4_0 m.safetensors
    grep -q 'did you mean --exact=bf16?' err
    try 2 amn-forget --exact=f64 --scheme q4_0 m.safetensors
    try 2 amn-forget --exact --scheme fp8,mxfp8 --group-size 32 m.safetensors
    try 0 amn-forget -q --exact --scheme int4-group,fp8 --group-size 32 m.safetensors
    try 69 amn-forget -q --exact --scheme int4-group,fp8 --group-size 64 m.safetensors
    for o in '--scheme q4_0 --tensor-type a=fp8' '--scheme int4-group --tensor-type a=q4_0'; do
        try 2 amn-forget --exact $o m.safetensors
        grep -q 'is not a scheme that can share a file with' err
    done
    try 2 amn-forget --scheme q4_0 --inexact a m.safetensors
}

@test "GPTQ whose groups are not neighbours: to GPTQ and compressed-tensors, with the same g_idx" {
    local s f i
    holds "$corpus/safetensors-good/gptqmodel-asym-shuffled-g32.safetensors" --exact --scheme int4-group
    holds "$corpus/safetensors-good/gptq-2bit-asym-shuffled.safetensors" --exact --scheme gptq
    holds "$corpus/safetensors-good/gptq-4bit-sym-shuffled.safetensors" --exact --scheme gptq-8bit
    # more than one block, with the codes, scales and zero points of the source, and with scales that are found
    "$helpers/codes" o.safetensors gptq-ordered a.weight:512x2048
    "$helpers/codes" s.safetensors gptq-ordered-search a.weight:256x1024
    for f in o s; do
        for s in int4-group gptq; do
            holds $f.safetensors --exact --scheme $s --report r.json
            jq -e --arg w "$f.$s" '.way == (if $w == "s.gptq" then "search" else "hint" end)' r.json
            cp out $s.safetensors
            for i in 1 2 3 4 5; do amn-forget -q --exact --scheme $s --part $i/5 $f.safetensors; done | cmp - $s.safetensors
            amn-forget -q --exact --scheme $s --range 70001-90000 $f.safetensors | cmp - <(tail -c +70002 $s.safetensors | head -c 20000)
        done
        python3 -c 'from modelfile import read
import sys
source, ct, gptq = (read(name + ".safetensors") for name in (sys.argv[1], "int4-group", "gptq"))
assert ct["a.weight_g_idx"] == gptq["a.g_idx"] == source["a.g_idx"]
assert sys.argv[1] == "s" or all(gptq[k] == source[k] for k in source)' $f
        holds gptq.safetensors --exact --scheme int4-group
        holds int4-group.safetensors --exact --scheme int4-group
    done
    # other groups, and blocks of neighbours
    try 69 amn-forget --exact --scheme gptq --group-size 64 -o never o.safetensors
    refuses o.safetensors span '[0,0]' --exact --scheme q4_0
    refuses o.safetensors span '[0,0]' --exact --scheme awq
    # the witness is an element of the weight
    "$helpers/codes" l.safetensors gptq-ordered-large a.weight:64x256
    refuses l.safetensors scale "[3,$(python3 -c 'from modelfile import read
import struct
print(struct.unpack("<256i", read("l.safetensors")["a.g_idx"][2]).index(5))')]" --exact --scheme gptq
}

@test "a directory with groups that are not neighbours declares them" {
    mkdir in
    "$helpers/codes" in/model.safetensors gptq-ordered model.layers.0.mlp.up_proj.weight:64x256 model.layers.0.mlp.gate_proj.weight:64x256:gptq
    echo '{"model_type": "llama", "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": true, "sym": false,
        "checkpoint_format": "gptq"}}' >in/config.json
    try 0 amn-forget --exact --scheme int4-group -o ct/ in
    jq -e '.quantization_config | .format == "pack-quantized" and ([.config_groups[].weights.actorder] | sort) == [null, "group"]' ct/config.json
    grep -q 'up_proj.weight: groups consist of columns in another order' err
    try 0 amn-remember -q --dtype f32 -o dense/ ct
    amn diff dense in | jq -es 'length == 3 and all(.differing == 0)'
    try 0 amn-forget -q --exact --scheme gptq -o gptq/ ct
    jq -e '.quantization_config | .quant_method == "gptq" and .desc_act' gptq/config.json
    amn diff gptq in | jq -es 'length == 3 and all(.differing == 0)'
    # one weight without zero points, one with them
    "$helpers/codes" in/model.safetensors gptq-ordered-search model.layers.0.mlp.down_proj.weight:64x256 model.layers.0.mlp.up_proj.weight:64x256:gptq
    try 0 amn-forget -q --exact --scheme gptq -o both/ in
    jq -e '.quantization_config | .sym and [.dynamic[]] == [{"sym": false}]' both/config.json
    try 0 amn-forget -q --exact --scheme int4-group -o cts/ in
    jq -e '[.quantization_config.config_groups[].weights | [.symmetric, .group_size, .actorder]] == [[true, 32, "group"], [false, 32, null]]' \
        cts/config.json
}

@test "a pipe or compressed file is read twice, which --no-spool refuses" {
    "$helpers/codes" large.safetensors int4 a.weight:2048x2048
    try 0 amn-forget -q --exact --scheme q4_0 -o want.gguf large.safetensors
    cat large.safetensors | try 0 amn-forget -q --exact --scheme q4_0
    cmp out want.gguf
    cat large.safetensors | try 69 amn-forget -q --no-spool --json-errors --exact --scheme q4_0 -o never.gguf
    jq -e '.kind == "unsupported" and (.message | contains("--exact reads its input twice: give a file name instead of a pipe, or drop --no-spool"))' err
    gzip large.safetensors
    try 69 amn-forget -q --no-spool --json-errors --exact --scheme q4_0 -o never.gguf large.safetensors.gz
    jq -e '.kind == "unsupported" and (.message | contains("--exact reads its input twice: decompress it first, or drop --no-spool"))' err
    [ ! -e never.gguf ]
    gunzip large.safetensors.gz
    try 0 amn-forget -q --no-spool --exact --scheme q4_0 large.safetensors
    cmp out want.gguf
}
