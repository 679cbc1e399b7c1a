#!/usr/bin/env bats
# GGUF files to model directories in one pass: amn-remember, amn-forget and amn-convert with -o DIR/, and --names. The expected side is
# the way of two steps: amn-convert --to hf, then the same command on that directory.
load helper

# made CASE: makes CASE.gguf, CASE.q8.gguf, and CASE-hf/ and CASE.q8-hf/ from these.
made() {
    "$helpers/hf-model" "$corpus/hf-models/$1" "$1"
    try 0 amn-convert -q --to gguf -o "$1.gguf" "$1"
    try 0 amn-forget -q --scheme q8_0 -o "$1.q8.gguf" "$1"
    try 0 amn-convert -q --to hf -o "$1-hf/" "$1.gguf"
    try 0 amn-convert -q --to hf -o "$1.q8-hf/" "$1.q8.gguf"
}

# same_in_two GGUF DIR COMMAND...: the command writes the same directory from the GGUF file and from its directory.
same_in_two() {
    gguf=$1 dir=$2
    shift 2
    rm -rf one two
    try 0 "$@" -q -o one/ "$gguf"
    try 0 "$@" -q -o two/ "$dir"
    diff -r one two
}

@test "dequantize -o DIR/ writes what convert --to hf writes: names, config.json, tokenizer" {
    made qwen3
    try 0 amn-dequantize -o plain/ qwen3.q8.gguf
    grep -q 'GGUF does not store everything' err
    diff -r plain qwen3.q8-hf
    try 0 amn-convert -q -o converted/ qwen3.q8.gguf
    diff -r converted plain
    try 0 amn-dequantize -q --to f32 -o f32/ qwen3.q8.gguf
    try 0 amn-convert -q --to hf --dtype f32 -o cast/ qwen3.q8.gguf
    diff -r f32 cast
    try 0 amn-dequantize --to f32 -o same/ qwen3.gguf
    grep -q 'no weight is quantized' err
    diff -r same qwen3-hf
}

@test "quantize -o DIR/: the bytes of two steps, for rows that are permuted, joined, split, stacked and transposed" {
    # q and k are permuted; qkv and gate_up are split; experts are unstacked, joined or transposed
    for case in llama-wide phi4 qwen3-moe-stacked mixtral llama4 gpt_oss qwen3_next falcon_h1; do
        made $case
        for file in $case $case.q8; do
            for scheme in fp8 nvfp4 mlx-4bit nf4; do
                # gpt_oss has no matrix that NVFP4 and NF4 divide
                rm -rf two
                amn-forget -q --scheme $scheme -o two/ $file-hf 2>err || { grep -q usage: err; continue; }
                same_in_two $file.gguf $file-hf amn-forget --scheme $scheme
                echo "$file $scheme" >>done
            done
        done
        rm -r $case $case-hf $case.q8-hf
    done
    [ "$(grep -c fp8 done)" -eq 16 ]
    [ "$(grep -c mlx-4bit done)" -ge 14 ]
    [ "$(wc -l <done)" -ge 50 ]
}

@test "every scheme with a loader, its options, and types for some tensors under new and old names" {
    made llama-wide
    for scheme in fp8 fp8-per-channel fp8-per-tensor int4-group int8-channel gptq awq nf4 int8 mxfp4 mxfp8 modelopt-nvfp4 mlx-8bit \
        comfy-fp8; do
        same_in_two llama-wide.q8.gguf llama-wide.q8-hf amn-forget --scheme $scheme
    done
    same_in_two llama-wide.q8.gguf llama-wide.q8-hf amn-forget --scheme int4-group --group-size 32 --asymmetric
    same_in_two llama-wide.q8.gguf llama-wide.q8-hf amn-forget --scheme mlx-4bit --tensor-type 'v_proj=mlx-8bit' --exclude '*.mlp.*'
    jq -e '.quantization["model.layers.0.self_attn.v_proj"].bits == 8' one/config.json
    same_in_two llama-wide.q8.gguf llama-wide.q8-hf amn-convert --scheme fp8
    same_in_two llama-wide.q8.gguf llama-wide.q8-hf amn-forget --scheme mlx-4bit --metadata a=b
    amn-forget -q --scheme mlx-4bit --tensor-type 'v_proj=mlx-8bit' -o new/ llama-wide.q8.gguf
    amn-forget -q --scheme mlx-4bit --tensor-type 'attn_v=mlx-8bit' -o old/ llama-wide.q8.gguf
    diff -r new old
    try 2 amn-forget --scheme mlx-4bit --tensor-type 'nothing=mlx-8bit' -o x/ llama-wide.q8.gguf
    grep -q 'no tensor matches' err
}

@test "--exact moves the codes of a GGUF file into a directory" {
    made llama-wide
    try 0 amn-forget --exact=real --scheme int4-group -o exact/ "$(
        amn-forget -q --scheme q4_0 --pure -o q4.gguf llama-wide && echo q4.gguf)"
    try 0 amn-convert -q --to hf --dtype f32 -o f32/ q4.gguf
    try 0 amn-dequantize -q --to f32 -o values/ exact
    amn-parse --hash f32 | jq -S -c 'select(.name | test("proj"))? | [.name, .sha256]' | sort >a
    amn-parse --hash values | jq -S -c 'select(.name | test("proj"))? | [.name, .sha256]' | sort >b
    [ -s a ]
    cmp a b
}

@test "shards, --resume, --manifest, --report, --dry-run, a pipe, parts of a split model" {
    made llama-wide
    f=llama-wide.q8.gguf
    try 0 amn-forget -q --scheme fp8 --shard-size 100K --manifest sums --report report.json -o d/ $f
    [ "$(ls d/*.safetensors | wc -l)" -gt 2 ]
    try 0 amn-forget -q --scheme fp8 --shard-size 100K -o two/ llama-wide.q8-hf
    diff -r d two
    try 0 amn check sums d
    jq -e 'select(.total or .report) | .' report.json >/dev/null
    jq -s -e 'map(select(.name == "model.layers.0.self_attn.q_proj.weight")) | length == 1' report.json
    cat $f | try 0 amn-forget -q --scheme fp8 --shard-size 100K -o piped/ -
    diff -r d piped
    try 0 amn-convert -q --shard-size 100K -o split.gguf $f
    try 0 amn-forget -q --scheme fp8 --shard-size 100K -o joined/ split-00001-of-*.gguf
    diff -r d joined
    try 0 amn-forget --scheme fp8 --shard-size 100K --resume -o d/ $f
    grep -q 'already complete' err
    amn-forget -q --scheme fp8 --dry-run -o new/ $f | jq -r 'select(.name).name' | sort >planned
    amn-parse d | jq -r 'select(.name).name' | sort | cmp - planned
    [ ! -e new ]
}

@test "--names hf: one file under these names, with ranges and parts; --names gguf: a directory under those of the file" {
    made llama-wide
    f=llama-wide.q8.gguf
    try 0 amn-forget -q --scheme int4-group -o d/ $f
    try 0 amn-forget --scheme int4-group --names hf $f
    cmp out d/model.safetensors
    grep -q 'only weights written; -o DIR/ adds config.json and the tokenizer' err
    [ "$(amn-forget --scheme int4-group --names hf --size $f)" -eq "$(wc -c <out)" ]
    for i in 1 2 3; do amn-forget -q --scheme int4-group --names hf --part $i/3 $f; done | cmp - out
    amn-forget -q --scheme int4-group --names hf --range 5000-77777 $f | cmp - <(tail -c +5001 out | head -c 72778)
    try 0 amn-dequantize -q --names hf $f
    cmp out llama-wide.q8-hf/model.safetensors
    try 0 amn-dequantize -q --names gguf -o stored/ $f
    [ "$(ls stored)" = model.safetensors ]
    try 0 amn-dequantize -q -o file.safetensors $f
    cmp file.safetensors stored/model.safetensors
}

@test "an adapter on a GGUF base: the bytes of two steps" {
    made llama-wide
    PYTHONPATH=$helpers python3 - <<'PY'
import json
from adapters import values, write
config = json.load(open("llama-wide/config.json"))
rows, h, r = config["num_attention_heads"] * config["head_dim"], config["hidden_size"], 4
tensors = {}
for layer in range(config["num_hidden_layers"]):
    base = f"base_model.model.model.layers.{layer}.self_attn.q_proj."
    tensors[base + "lora_A.weight"] = "F32", [r, h], [v / 64 for v in values(r * h, 1)]
    tensors[base + "lora_B.weight"] = "F32", [rows, r], [v / 64 for v in values(rows * r, 2)]
write("lora/adapter_model.safetensors", tensors)
json.dump({"peft_type": "LORA", "r": r, "lora_alpha": 8, "target_modules": ["q_proj"]}, open("lora/adapter_config.json", "w"))
PY
    f=llama-wide.q8.gguf
    try 0 amn-convert -q --to hf --adapter lora -o merged/ $f
    try 0 amn-dequantize -q --adapter lora -o deq/ $f
    diff -r merged deq
    refute cmp -s merged/model.safetensors llama-wide.q8-hf/model.safetensors
    try 0 amn-forget -q --scheme fp8 --adapter lora -o one/ $f
    try 0 amn-forget -q --scheme fp8 -o two/ merged
    diff -r one two
}

@test "what has no way back is refused or keeps its names, and --names gguf writes it" {
    made qwen3
    amn-convert -q --gguf-kv general.architecture=clip -o clip.gguf qwen3.gguf
    amn-convert -q --gguf-unset general.architecture -o none.gguf qwen3.gguf
    for command in "amn-dequantize" "amn-forget --scheme fp8" "amn-convert"; do
        try 69 $command -o x/ clip.gguf
        grep -q -- '--names gguf writes the tensors under the names of the file' err
        [ ! -e x ]
        try 0 $command -o x/ none.gguf
        grep -q 'has no general.architecture, so the tensors keep their names' err
        rm -r x
    done
    for file in clip none; do
        try 0 amn-forget -q --scheme fp8 --names gguf -o kept/ $file.gguf
        amn-parse kept | grep -q '"blk.0.attn_q.weight"'
        rm -r kept
        try 0 amn-dequantize -q -o file.safetensors $file.gguf
    done
}

@test "usage errors; options of the family" {
    made qwen3
    try 2 amn-dequantize --names hf qwen3
    grep -q 'names requires GGUF input' err
    try 2 amn-dequantize --names gguf -o x/ qwen3
    try 2 amn-forget --scheme q8_0 --names hf -o x.gguf qwen3.gguf
    grep -q 'names requires safetensors output' err
    try 2 amn-convert --to hf --names gguf -o x/ qwen3.gguf
    grep -q 'mutually exclusive' err
    try 2 amn-forget --scheme q8_0 -o x/ qwen3.gguf
    try 2 amn-dequantize --no-tokenizer -o x/ qwen3
    grep -q 'no-tokenizer requires GGUF' err
    try 2 amn-dequantize --no-tokenizer --names gguf -o x/ qwen3.gguf
    try 2 amn-dequantize --no-tokenizer -o x.safetensors qwen3.gguf
    [ ! -e x ]
    try 0 amn-dequantize -q --no-tokenizer -o y/ qwen3.gguf
    [ "$(ls y)" = "$(printf 'config.json\nmodel.safetensors')" ]
    cp "$tests/../families/qwen3.family" .
    sed -i 's/hidden_act "silu"/hidden_act "mish"/' qwen3.family
    try 0 amn-forget -q --scheme fp8 --family qwen3.family -o own/ qwen3.gguf
    jq -e '.hidden_act == "mish"' own/config.json
}
