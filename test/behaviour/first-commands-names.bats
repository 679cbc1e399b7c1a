#!/usr/bin/env bats
# What people type first, about names: which tensors are changed, which are written, and how patterns find them.
load helper

# A small Llama: a directory in FP8, `fp8`, in BF16, `in`, and a GGUF file in Q4_K, `model.gguf`; 15 matrices and 5 norms.
llama() {
    "$tests/make/examples" .
    mv model fp8
    amn dequantize -q -o in/ fp8
}

# types FILE: how many tensors of each type it has.
types() { amn parse "$1" | jq -r '.dtype // empty' | LC_ALL=C sort | uniq -c | awk '{ print $2 ":" $1 }' | paste -sd ' '; }

# typed TYPE FILE: the names of the tensors of this type.
typed() { amn parse "$2" | jq -r --arg t "$1" 'select(.dtype == $t) | .name' | LC_ALL=C sort; }

# same FILE FILE NAME...: these tensors, at least one, have the same bytes in both.
same() {
    local a=$1 b=$2 name
    shift 2
    [ $# -gt 0 ]
    for name; do
        amn parse "$b" | jq -c --arg n "$name" 'select(.name == $n) | [.dtype, .shape]' >right
        amn parse "$a" | jq -c --arg n "$name" 'select(.name == $n) | [.dtype, .shape]' | cmp - right || return 1
        amn convert -q --tensor "$name" --to raw "$a" >left
        amn convert -q --tensor "$name" --to raw "$b" | cmp - left || return 1
    done
}

@test "--include and --exclude choose what is changed, and all else stays as it is" {
    llama
    for tool in convert quantize; do
        try 0 amn $tool -q --scheme q8_0 --exclude '*attn*' -o $tool.gguf in
        [ "$(types $tool.gguf)" = 'BF16:8 F16:2 F32:5 Q8_0:5' ]      # rows of 688 become F16
        typed Q8_0 $tool.gguf | refute grep -q attn
    done
    cmp convert.gguf quantize.gguf
    try 0 amn convert --dtype f16 --exclude '*norm*' -o x.safetensors in
    [ "$(types x.safetensors)" = 'BF16:5 F16:15' ]
    same in x.safetensors $(typed BF16 x.safetensors)
    typed F16 x.safetensors | refute grep -q norm
    amn convert -q -o all.gguf in
    try 0 amn convert --dtype f16 --include '*q_proj*' -o y.gguf in
    [ "$(typed F16 y.gguf | paste -sd ' ')" = 'blk.0.attn_q.weight blk.1.attn_q.weight' ]
    same all.gguf y.gguf $(typed BF16 y.gguf)
    try 0 amn convert --dequantize --include '*attn_q*' -o z.gguf model.gguf
    [ "$(typed BF16 z.gguf | paste -sd ' ')" = 'blk.0.attn_q.weight blk.1.attn_q.weight' ]
    same model.gguf z.gguf $(typed Q4_K z.gguf)
    grep -q 'note: 14 quantized weights written as stored, because of --include; --only GLOB writes fewer tensors' err
}

@test "dequantizing a part leaves the other weights as they are stored, with their scales" {
    llama
    try 0 amn dequantize --include '*q_proj*' -o part/ fp8
    [ "$(types part)" = 'BF16:8 F32:12 F8_E4M3:12' ]
    grep -q 'note: 12 quantized weights written as stored, because of --include' err
    jq -e '.quantization_config.modules_to_not_convert == ["lm_head", "model.layers.0.self_attn.q_proj", "model.layers.1.self_attn.q_proj"]' \
        part/config.json
    python3 - fp8/model*.safetensors part/model.safetensors <<'PYTHON'
import sys
from modelfile import read
a = {name: t for p in sys.argv[1:-1] for name, t in read(p).items()}
b = read(sys.argv[-1])
kept = [name for name in b if b[name][0] != "BF16"]
assert len(kept) == 24 and all(a[name] == b[name] for name in kept)
PYTHON
    same in part $(typed BF16 part)
    amn dequantize -q -o all/ part
    amn diff all in >/dev/null
    try 2 amn dequantize --include '*attn_q*' model.gguf
    grep -qF 'tensor token_embd.weight: the output cannot hold it as it is stored; select it, too, or leave it out with --drop' err
    try 0 amn dequantize --include '*attn_q*' --only '*attn_q*' -o q.safetensors model.gguf
    [ "$(types q.safetensors)" = BF16:2 ]
}

@test "config.json lists the modules of a partly dequantized model in the words of its method" {
    llama
    while read -r scheme query; do
        amn quantize -q -s $scheme -o out.$scheme/ in
        try 0 amn dequantize --include '*.1.*v_proj*' -o $scheme.part/ out.$scheme
        jq -e "$query" $scheme.part/config.json
        refute grep -q 'still declares' err
        amn dequantize -q -o $scheme.all/ out.$scheme
        amn dequantize -q -o $scheme.again/ $scheme.part
        amn diff $scheme.all $scheme.again >/dev/null
    done <<'END'
nf4 .quantization_config.llm_int8_skip_modules | index("model.layers.1.self_attn.v_proj")
awq .quantization_config.modules_to_not_convert | index("model.layers.1.self_attn.v_proj")
fp8-per-channel .quantization_config.ignore | index("model.layers.1.self_attn.v_proj")
nvfp4 .quantization_config.ignore | index("model.layers.1.self_attn.v_proj")
mlx-4bit .quantization["model.layers.1.self_attn.v_proj"] == false and .quantization == .quantization_config
END
    amn quantize -q -s gptq -o out.gptq/ in
    try 0 amn dequantize --include '*.1.*v_proj*' -o gptq.part/ out.gptq
    grep -q 'warning: config.json still declares that all weights are quantized' err
    diff <(jq -S . out.gptq/config.json) <(jq -S . gptq.part/config.json)
}

@test "a directory without the tower that its config.json declares is refused, with the way to the text model" {
    "$helpers/hf-model" "$corpus/hf-models/qwen3_vl" vl
    try 69 amn convert --drop '*visual*' -o text/ vl
    grep -qF 'for the text model, write a GGUF file (amn convert -o FILE.gguf), then amn convert --to hf -o DIR/ FILE.gguf' err
    [ ! -e text ]
    amn convert -q -o text.gguf vl
    amn convert -q --to hf -o text/ text.gguf
    jq -e '.architectures == ["Qwen3ForCausalLM"] and .vision_config == null' text/config.json
    try 0 amn convert --drop '*visual*' -o text.safetensors vl
    try 0 amn convert --drop '*visual.blocks.0*' -o most/ vl
    grep -q 'config.json declares the whole model' err
}

@test "where nothing is changed, --include and --exclude name --only and --drop" {
    llama
    for o in --include --exclude; do
        try 2 amn convert $o '*norm*' -o x.gguf in
        grep -qF 'use --only GLOB or --drop GLOB to choose the tensors that are written' err
    done
    try 2 amn dequantize --include '*norm*' fp8
    grep -qF -- "--include '*norm*' has no effect: no tensor that matches is dequantized; use --only GLOB" err
    try 2 amn dequantize --exclude '*q_proj*' in
    grep -qF -- "--exclude '*q_proj*' has no effect: no tensor that matches is dequantized; use --drop GLOB" err
    try 2 amn convert --to hf --exclude '*norm*' -o x/ model.gguf
    [ ! -e x.gguf ] && [ ! -e x ]
    try 0 amn diff --include '*norm*' in in
    grep -qx 'amn diff: note: --include is now called --only' err
    [ "$(jq -s 'map(select(.name)) | length' out)" -eq 5 ]
    amn diff --drop '*proj*' in in | jq -s 'map(select(.name)) | length' | grep -qx 6
}

@test "--only and --drop choose what is written, also of quantized models, and a model that lacks a tensor is warned of" {
    llama
    for tool in "convert" "quantize --scheme q8_0" "dequantize"; do
        out=o.${tool:0:1}
        try 0 amn $tool -q --drop '*norm*' -f -o $out.safetensors fp8 || try 0 amn $tool -q --drop '*norm*' -o $out.gguf fp8
        amn parse $out.* | refute grep -q norm
    done
    [ "$(amn convert -q --only '*q_proj*' --to safetensors fp8 | amn parse | jq -r .name | grep -c scale)" -eq 2 ]
    for how in "--size" "--dry-run" "--plan"; do
        amn convert $how --to gguf --drop 'blk.1.*' in >full
        [ -s full ] && refute grep -q 'blk\.1' full
    done
    [ "$(amn convert --size --to gguf --drop 'blk.1.*' in)" = "$(amn convert -q --to gguf --drop 'blk.1.*' in | wc -c)" ]
    amn convert -q --to gguf --drop 'blk.1.*' in | tail -c +1001 | head -c 5000 >want
    amn convert -q --to gguf --drop 'blk.1.*' --range 1000-5999 in | cmp - want
    "$helpers/hf-model" "$corpus/hf-models/llama3" head
    try 0 amn convert --drop 'lm_head*' -o h.gguf head
    grep -qF 'warning: left out: output.weight; llama.cpp takes token_embd.weight in place of output.weight' err
    try 0 amn convert --drop '*norm*' -o n.gguf in
    grep -qE 'warning: left out: blk\.0\.attn_norm\.weight and 4 other tensors; llama.cpp cannot load the model without' err
    try 0 amn convert --drop 'lm_head*' -o h/ head
    grep -qF 'warning: left out: lm_head.weight; config.json declares the whole model' err
    try 0 amn convert --drop '*norm*' -o n.safetensors in
    refute grep -q 'left out' err
    try 0 amn convert --tensor output_norm.weight -o n.npy model.gguf
    refute grep -q 'left out' err
}

@test "--dtype GLOB=DTYPE and --keep-f32 set the type of some tensors" {
    llama
    for how in "--keep-f32 *norm*" "--dtype *norm*=f32" "--dtype *norm*=float32 --dtype *=f16"; do
        set -f
        try 0 amn convert --dtype f16 $how -o x.safetensors in
        set +f
        [ "$(types x.safetensors)" = 'F16:15 F32:5' ]
        typed F16 x.safetensors | refute grep -q norm
    done
    python3 - in/model.safetensors x.safetensors <<'PYTHON'
import sys
from modelfile import read
a, b = (read(p) for p in sys.argv[1:])
for name, (dtype, shape, data) in b.items():
    if dtype == "F32":
        half = bytes(a[name][2])
        assert b"".join(b"\0\0" + half[i:i + 2] for i in range(0, len(half), 2)) == bytes(data), name
PYTHON
    # in a family, by its names of both sides; and weights of a scheme are not quantized
    for glob in '*self_attn*' '*attn_[qkvo]*'; do
        try 0 amn quantize -q --scheme q8_0 --keep-f32 "$glob" -o q.gguf in
        [ "$(types q.gguf)" = 'F16:2 F32:13 Q8_0:5' ]
    done
    # a quantized weight is dequantized for it
    try 0 amn convert -q --dtype '*attn_q*=f16' -o k.gguf model.gguf
    [ "$(typed F16 k.gguf | paste -sd ' ')" = 'blk.0.attn_q.weight blk.1.attn_q.weight' ]
    same model.gguf k.gguf $(typed Q4_K k.gguf)
    # the type that config.json declares is the one of most values
    for way in "--dtype f32 --exclude *norm*:float32" "--dtype *norm*=f32:bfloat16" "--dtype f16 --keep-f32 *norm*:float16"; do
        rm -rf d
        set -f
        amn convert -q ${way%:*} -o d/ in
        set +f
        [ "$(jq -r '.dtype // .torch_dtype' d/config.json)" = "${way##*:}" ]
    done
    try 2 amn convert --dtype 'typo=f16' -o x.gguf in
    grep -qF "no tensor matches 'typo=f16'" err
    try 2 amn convert --dtype '*=f33' -o x.gguf in
    for o in '--keep-f32 x' '--dtype x=f32'; do
        try 2 amn quantize --exact --scheme q8_0 $o in
        try 2 amn convert --keep-quantized $o -o x.gguf in
        try 2 amn convert --to hf $o -o x/ model.gguf
    done
}

@test "an adapter changes only the weights that --include and --exclude select, and says so" {
    llama
    try 0 amn dequantize --adapter lora -o all/ fp8
    try 0 amn dequantize --adapter lora --exclude '*v_proj*' -o some/ fp8
    grep -qF 'warning: 2 weights that the adapter changes are left as they are, because of --include or --exclude (first: model.layers.0.self_attn.v_proj.weight)' err
    q='model.layers.0.self_attn.q_proj.weight model.layers.1.self_attn.q_proj.weight'
    same all some $q
    same in some ${q//q_proj/v_proj}
    try 2 amn dequantize --adapter lora --include '*mlp*' -o none/ fp8
    grep -qF 'select no weight that the adapter changes' err
}

@test "patterns find the names of both sides, and a message shows them" {
    llama
    for glob in '*self_attn*' 'model.layers.*.self_attn.?_proj.weight' 'blk.*.attn_[qkvo]*'; do
        try 0 amn quantize -q --scheme q8_0 --exclude "$glob" -o x.gguf in
        [ "$(types x.gguf)" = 'BF16:8 F16:2 F32:5 Q8_0:5' ]
    done
    try 0 amn quantize -q --scheme q8_0 --tensor-type 'v_proj=f16' -o y.gguf in
    [ "$(typed F16 y.gguf | grep attn | paste -sd ' ')" = 'blk.0.attn_v.weight blk.1.attn_v.weight' ]
    try 2 amn quantize --scheme q8_0 --exclude '*self_atn*' in
    grep -qF "no tensor matches '*self_atn*'; there are names like blk.0" err
    grep -qE '\(model\.layers\.0\.[a-z._]*weight in the input\)' err
    try 2 amn quantize --scheme q8_0 --tensor-type 'v_prj=f16' in
    grep -qE "'v_prj=f16': no tensor matches; there are names like blk\.0\..* \(model\.layers\.0\..* in the input\)" err
}

@test "an option without effect is a usage error: --rename, --strip-prefix, --tensor-type" {
    llama
    for o in '--rename s/nomatch/x/' '--strip-prefix foo.'; do
        for tool in "convert -o x.gguf" "quantize --scheme q8_0" "dequantize"; do
            try 2 amn $tool $o in
            grep -qF "no tensor has such a name; there are names like " err
        done
        try 2 amn diff $o in in
        amn parse --hash in >manifest
        try 2 amn check $o manifest in
    done
    [ ! -e x.gguf ]
    try 0 amn convert --add-prefix x. -o x.safetensors in
    for rule in 'norm=f16' 'ffn_up=q6_k --tensor-type ffn_up=q8_0'; do
        try 2 amn quantize --scheme q4_k_m --tensor-type $rule in
        grep -qF 'has no effect: blk.0.' err
    done
    try 2 amn quantize --scheme q4_k_m --include '*attn*' --tensor-type ffn=q8_0 in
    grep -qF 'has no effect: blk.0.' err
}

@test "the name of a built-in family, general.tags as a list, the type of most weights, -t of llama-quantize" {
    llama
    jq '.architectures = ["FooForCausalLM"] | .model_type = "foo"' in/config.json >c
    mv c in/config.json
    try 69 amn convert -o x.gguf in
    try 0 amn convert -q --family llama --gguf-kv 'general.tags=["a","b"]' -o x.gguf in
    [ "$(amn inspect --metadata x.gguf | jq -c '.metadata["general.tags"], .metadata["general.architecture"]' | paste -sd ' ')" = '["a","b"] "llama"' ]
    amn convert --family-template in >foo.family
    grep -q '^# drafted from llama.family' foo.family
    amn convert -q --family foo.family -o f.gguf in
    try 2 amn convert --family llama --gguf-kv 'general.tags=a' -o y.gguf in
    grep -q 'general.tags: value is not of type \[str\]' err
    try 2 amn quantize --scheme q8_0 -t 4 x.gguf
    grep -qF 'threads are given with -j 4' err
    # few tensors with most of the elements, as experts have
    "$helpers/weights" big.safetensors a.weight=BF16:512x512 b.weight=BF16:32x32 c.weight=BF16:32x32
    try 0 amn quantize -q --scheme q8_0 --include 'a.*' -o big.gguf big.safetensors
    [ "$(amn inspect big.gguf | jq '.metadata["general.file_type"]')" = 7 ]
}
