#!/usr/bin/env bats
# Models that see or hear: the towers as a GGUF file of their own. check-hf compares the files with llama.cpp's converter.
load helper

# model CASE [CHANGE...]: makes a directory ./CASE of test/corpus/hf-towers.
model() {
    local case=$1
    shift
    rm -rf "$case"
    "$helpers/hf-model" "$corpus/hf-towers/$case" "$case" "$@"
}

key() { amn-inspect "$1" | jq -rc --arg k "$2" '.metadata[$k]'; }

@test "--mmproj writes the towers alone, to a file and to a pipe, whole and in ranges" {
    model qwen2.5-vl
    try 0 amn-convert --mmproj -o mmproj.gguf qwen2.5-vl
    [ "$(key mmproj.gguf general.type)" = mmproj ]
    [ "$(key mmproj.gguf clip.projector_type)" = qwen2.5vl_merger ]
    [ "$(amn-parse mmproj.gguf | jq -r .name | grep -cv -e '^v\.' -e '^mm\.')" = 0 ]
    [ "$(amn-parse mmproj.gguf | jq -c 'select(.name == "v.patch_embd.weight.1").shape')" = '[32,3,14,14]' ]
    [ "$(amn-inspect mmproj.gguf | jq -c '.towers[] | [.kind, .projector, .layers, .width, .heads, .image_size, .patch_size, .text_width]')" \
        = '["vision","qwen2.5vl_merger",4,32,4,560,14,64]' ]
    amn-inspect --human mmproj.gguf | grep -q '^Vision tower  qwen2.5vl_merger$'
    amn-convert --mmproj --to gguf qwen2.5-vl | cmp - mmproj.gguf
    amn-convert --mmproj --to gguf --range 1000-99999 qwen2.5-vl | cmp - <(tail -c +1001 mmproj.gguf | head -c 99000)
    amn-convert --mmproj --to gguf --part 2/3 qwen2.5-vl >part
    cmp part <(amn-convert --mmproj --to gguf qwen2.5-vl | tail -c +$(($(amn-convert --mmproj --to gguf --part 1/3 qwen2.5-vl | wc -c) + 1)) | head -c "$(wc -c <part)")
    [ "$(amn-convert --mmproj --to gguf --size qwen2.5-vl)" = "$(wc -c <mmproj.gguf)" ]
}

@test "a directory as output gets the model and its towers, which a scheme does not quantize" {
    model qwen2.5-vl
    try 0 amn-convert --mmproj -o mmproj.gguf qwen2.5-vl
    try 0 amn-convert --to gguf --no-tokenizer -o text.gguf qwen2.5-vl
    grep -q 'tensors of vision and audio towers are left out, .*; --mmproj writes them' err
    try 0 amn-convert --to gguf --no-tokenizer -o both/ qwen2.5-vl
    refute grep -q 'left out' err
    cmp both/qwen2.5-vl.gguf text.gguf
    cmp both/mmproj-qwen2.5-vl.gguf mmproj.gguf
    try 0 amn-forget -s q8_0 --no-tokenizer -o q8/ qwen2.5-vl
    amn-forget -s q8_0 --no-tokenizer qwen2.5-vl | cmp - q8/qwen2.5-vl.gguf
    cmp q8/mmproj-qwen2.5-vl.gguf mmproj.gguf
    try 0 amn-convert --to gguf --no-tokenizer --no-mmproj --output-dir one qwen2.5-vl
    [ "$(ls one)" = qwen2.5-vl.gguf ]
    try 0 amn-convert --to gguf --no-tokenizer --output-dir two qwen2.5-vl
    diff -r both two
}

@test "a model without towers is one file in a directory" {
    "$helpers/hf-model" "$corpus/hf-models/llama3" llama3
    try 0 amn-convert --to gguf -o both/ llama3
    [ "$(ls both)" = llama3.gguf ]
}

@test "quantize --mmproj keeps what llama.cpp needs" {
    model qwen2.5-vl
    try 0 amn-forget -s q8_0 --mmproj -o q8_0.gguf qwen2.5-vl
    [ "$(amn-parse q8_0.gguf | jq -r 'select(.name == "v.blk.0.attn_q.weight").dtype')" = Q8_0 ]
    [ "$(amn-parse q8_0.gguf | jq -r 'select(.name == "v.patch_embd.weight").dtype')" = F32 ]
}

@test "towers that cannot be written are named" {
    model qwen2.5-vl without=preprocessor_config.json
    try 66 amn-convert --mmproj --to gguf qwen2.5-vl
    grep -q 'preprocessor_config.json: no such file, nor processor_config.json' err
    "$helpers/hf-model" "$corpus/hf-models/llama3" llama3
    try 69 amn-convert --mmproj --to gguf llama3
    grep -q "no family has the towers of class 'LlamaForCausalLM'" err
    model qwen2.5-vl 'config.architectures=["Qwen99VLForConditionalGeneration"]'
    try 69 amn-convert --mmproj --to gguf qwen2.5-vl
    grep -q "unknown model class 'Qwen99VLForConditionalGeneration'" err
    model qwen2.5-vl drop=visual.blocks.1.norm1.weight
    try 65 amn-convert --mmproj --to gguf qwen2.5-vl
    grep -q 'tensor v.blk.1.ln1.weight: missing, but required by family mmproj_qwen2vl' err
    model qwen2.5-vl put=visual.blocks.1.extra.weight:BF16:4x4
    try 65 amn-convert --mmproj --to gguf qwen2.5-vl
    grep -q 'visual.blocks.1.extra.weight.*has no row for it' err
    model qwen2.5-vl
    sed -i 's/"out_hidden_size": *64/"out_hidden_size": 96/' qwen2.5-vl/config.json
    try 65 amn-convert --mmproj --to gguf qwen2.5-vl
    grep -q 'vision_config makes features of 96, but the text model is 64 wide' err
    model qwen2.5-vl
    try 2 amn-convert --mmproj --family llama --to gguf qwen2.5-vl
    grep -q 'describes no towers, which --mmproj writes' err
    try 2 amn-convert --family mmproj_qwen2vl --to gguf qwen2.5-vl
    grep -q 'describes towers; write them with --mmproj' err
    try 2 amn-convert --mmproj --no-tokenizer --to gguf qwen2.5-vl
    try 2 amn-convert --mmproj -o both/ --to safetensors qwen2.5-vl
}
