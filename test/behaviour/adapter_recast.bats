#!/usr/bin/env bats
# Adapters that become other adapters. The cases are made by test/peers/make-recast-cases.py.
load helper

cases=$BATS_TEST_DIRNAME/../cases/recast

# expected CASE TYPE: prints the digest of the reference's file, or None.
expected() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]][sys.argv[3]])' "$cases/expected.json" "$1" "$2"
}

# tensors FILE: prints name, type, shape and digest of each tensor of a safetensors file, sorted.
tensors() {
    python3 - "$1" <<'END'
import hashlib, json, struct, sys
raw = open(sys.argv[1], "rb").read()
n, = struct.unpack("<Q", raw[:8])
for name, t in sorted(json.loads(raw[8:8 + n]).items()):
    if name != "__metadata__":
        a, b = t["data_offsets"]
        print(name, t["dtype"], t["shape"], hashlib.sha256(raw[8 + n + a:8 + n + b]).hexdigest())
END
}

# values FILE: prints name, type, shape and digest of each tensor.
values() { amn-parse --hash "$1" | jq -c '[.name, .dtype, .shape, .values_sha256]'; }

@test "the files of convert_lora_to_gguf.py" {
    local n=0 base lora name
    for base in "$cases"/*/base.json; do
        name=$(basename "$(dirname "$base")")
        lora=$(dirname "$(find "$(dirname "$base")" -name adapter_config.json)")
        [ "$(expected "$name" f32)" != None ] || continue
        for type in f32 f16 bf16; do
            try 0 amn-convert -q --base "$base" --dtype $type -o $type.gguf -f "$lora"
            [ "$(sha256sum <$type.gguf | cut -d' ' -f1)" = "$(expected "$name" $type)" ]
            n=$((n + 1))
        done
        try 0 amn-convert -q --base "$base" -o plain.gguf -f "$lora/"
        cmp plain.gguf f32.gguf
        try 0 amn-convert -q --base "$base" --to gguf -j 2 "$lora"
        cmp out f32.gguf
    done
    [ $n -eq 27 ]
}

@test "what a GGUF adapter cannot express is refused by name" {
    local case text
    while read -r case text; do
        [ "$(expected $case f32)" = None ]
        try 69 amn-convert --base "$cases/$case/base.json" -o out.gguf "$cases/$case/lora"
        grep -q "module .*: it $text.*: use --adapter with the base model" err
        [ ! -e out.gguf ]
    done <<'END'
llama-saved is saved whole (modules_to_save)
llama-dora has DoRA magnitudes
llama-bias has a bias of lora_B
END
    cp -R "$cases/llama" .
    jq '.alpha_pattern = {"q_proj": 9}' "$cases/llama/lora/adapter_config.json" >llama/lora/adapter_config.json
    try 69 amn-convert --base llama/base.json -o out.gguf llama/lora
    grep -q 'GGUF has one alpha for all, but their scales times their ranks are 4 and 9' err
    jq '.use_rslora = true' "$cases/llama/lora/adapter_config.json" >llama/lora/adapter_config.json
    try 0 amn-convert --base llama/base.json -o out.gguf llama/lora
    grep -q 'use_rslora: alpha is written as 5.65685' err
    amn inspect --metadata out.gguf | grep -q 'adapter.lora.alpha.*5.65685'
    jq '.num_hidden_layers = 0' llama/base.json >none.json
    try 65 amn-convert --base none.json -o new.gguf llama/lora
    jq '.architectures = ["Qwen3ForCausalLM"]' llama/base.json >other.json
    try 0 amn-convert -q --base other.json -o new.gguf llama/lora
    amn inspect --metadata new.gguf | grep -q 'general.architecture.*qwen3'
    try 65 amn-convert --base other.json --to peft -o peft/ out.gguf
    grep -q 'the adapter is for the architecture llama, but the base model is qwen3' err
}

@test "GGUF to PEFT and back" {
    local case
    for case in llama qwen2 phi3 qwen3_moe llama-ranks; do
        lora=$(dirname "$(find "$cases/$case" -name adapter_config.json)")
        try 0 amn-convert -q --base "$cases/$case/base.json" -o lora.gguf -f "$lora"
        rm -rf back
        try 0 amn-convert -q --base "$cases/$case/base.json" -o back/ lora.gguf
        diff <(tensors back/adapter_model.safetensors) <(tensors "$lora/adapter_model.safetensors")
        try 0 amn-convert -q --base "$cases/$case/base.json" --dtype f16 -o 1.gguf -f "$lora"
        try 0 amn-convert -q --base "$cases/$case/base.json" --dtype f16 -o 2.gguf -f back
        diff <(values 1.gguf) <(values 2.gguf)
    done
    jq -e '.peft_type == "LORA" and .r == 2 and .lora_alpha == 7 and .rank_pattern == {"model.layers.0.self_attn.q_proj": 3}
        and .target_modules == ["k_proj", "o_proj", "q_proj", "v_proj"]' back/adapter_config.json
    try 2 amn-convert -o away/ 1.gguf
    grep -q 'the base model.*: give the base model.s directory, or its config.json, with --base' err
}

@test "PEFT to MLX and back" {
    cp -R "$cases/llama" .
    try 0 amn-convert -q --to mlx -o mlx llama/lora
    try 0 amn-convert -q --to peft -o back mlx
    cmp back/adapter_model.safetensors llama/lora/adapter_model.safetensors
    jq -e '.fine_tune_type == "lora" and .lora_parameters.rank == 2 and .lora_parameters.scale == 2.0
        and .lora_parameters.keys[0] == "mlp.down_proj" and .model == "org/Tiny-Base-1B"' mlx/adapter_config.json
    jq -e '.lora_alpha == 4 and .base_model_name_or_path == "org/Tiny-Base-1B"' back/adapter_config.json
    try 0 amn-convert -q --base llama/base.json -o 1.gguf mlx
    try 0 amn-convert -q --base llama/base.json -o 2.gguf llama/lora
    diff <(values 1.gguf) <(values 2.gguf)
    try 69 amn-convert --to mlx -o no "$cases/llama-ranks/lora"
    grep -q 'MLX has one rank and one scale for all' err
    try 69 amn-convert --to mlx -o no "$cases/llama-norm/lora"
    grep -q 'an adapter of MLX does not replace tensors' err
    try 0 amn-convert --to mlx -o weights.safetensors llama/lora
    grep -q 'only weights written; -o DIR/ adds adapter_config.json' err
}

@test "the base model of an adapter" {
    cp -R "$cases/llama" .
    export HF_HUB_CACHE=$dir/hub
    try 2 amn-convert -o out.gguf llama/lora
    grep -q "the base model org/Tiny-Base-1B is not on this machine: give the base model's directory, or its config.json, with --base" err
    snapshot=hub/models--org--Tiny-Base-1B/snapshots/0123456789012345678901234567890123456789
    mkdir -p $snapshot hub/models--org--Tiny-Base-1B/refs
    printf 0123456789012345678901234567890123456789 >hub/models--org--Tiny-Base-1B/refs/main
    cp llama/base.json $snapshot/config.json
    try 0 amn-convert -q -o out.gguf llama/lora
    [ "$(sha256sum <out.gguf | cut -d' ' -f1)" = "$(expected llama f32)" ]
    try 0 amn-convert -q --base hf:org/Tiny-Base-1B -f -o out.gguf llama/lora
    mkdir model && cp llama/base.json model/config.json
    try 0 amn-convert -q --base model -f -o out.gguf llama/lora/adapter_model.safetensors
    [ "$(sha256sum <out.gguf | cut -d' ' -f1)" = "$(expected llama f32)" ]
    try 66 amn-convert --base nowhere -f -o out.gguf llama/lora
    try 2 amn-convert --base model --scheme q4_0 -f -o out.gguf llama/lora
    try 2 amn-convert --base model --no-tokenizer -f -o out.gguf llama/lora
    grep -q -- '--no-tokenizer has no effect: the input is an adapter' err
    python3 -c 'from modelfile import write; write("plain.safetensors", [("x.weight", "F32", [2], bytes(8))])'
    try 2 amn-convert --to peft -o peft plain.safetensors
    grep -q 'the input is not an adapter' err
    try 2 amn-convert --base model -o x.npz plain.safetensors
    grep -q -- '--base has no effect' err
}

@test "merging the converted adapter gives the converted merged model" {
    local case
    for case in llama3 phi3 qwen3_5 gemma2; do
        python3 "$helpers/hf-model" "$corpus/hf-models/$case" $case
        python3 - $case <<'END'
import glob, json, os, struct, sys
lora, made = {}, 0
for path in sorted(glob.glob(sys.argv[1] + "/*.safetensors")):
    raw = open(path, "rb").read(8)
    head = json.loads(open(path, "rb").read(8 + struct.unpack("<Q", raw)[0])[8:])
    for name, t in head.items():
        if name.endswith("_proj.weight") or name.endswith("in_proj_qkv.weight"):
            module, (rows, cols) = name[:-7], t["shape"]
            for end, shape in (("lora_A", [2, cols]), ("lora_B", [rows, 2])):
                values = [((i * 37 + made) % 23 - 11) / 64 for i in range(shape[0] * shape[1])]
                lora["base_model.model.%s.%s.weight" % (module, end)] = (shape, struct.pack("<%df" % len(values), *values))
                made += 1
os.makedirs("lora", exist_ok=True)
head, data = {}, b""
for name, (shape, raw) in lora.items():
    head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(head).encode()
open("lora/adapter_model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
json.dump({"peft_type": "LORA", "r": 2, "lora_alpha": 3}, open("lora/adapter_config.json", "w"))
END
        try 0 amn-convert -q --base $case -f -o lora.gguf lora
        try 0 amn-convert -q --dtype f32 --no-tokenizer -f -o base.gguf $case
        try 0 amn-convert -q --dtype f32 -f -o 1.gguf --adapter lora.gguf base.gguf
        try 0 amn-convert -q --dtype f32 --no-tokenizer -f -o 2.gguf --adapter lora $case
        cmp 1.gguf 2.gguf
        ! cmp -s 1.gguf base.gguf
    done
}
