#!/usr/bin/env bats
# GGUF files to Hugging Face model directories: amn-convert --to hf. back_quantized.bats has the ways that quantize.
load helper

# Makes ./CASE of test/corpus/hf-models, CASE.gguf, and CASE-back/ from that.
there_and_back() {
    "$helpers/hf-model" "$corpus/hf-models/$1" "$1"
    try 0 amn-convert -q --to gguf -o "$1.gguf" "$1"
    try 0 amn-convert -q --to hf -o "$1-back/" "$1.gguf"
}

# same_weights A B: every tensor of A is in B with the same type, shape and bytes, and no other.
same_weights() {
    amn-parse --hash "$1" | jq -S -c 'select(.name) | [.name, .dtype, .shape, .sha256]' | sort >weights.a
    amn-parse --hash "$2" | jq -S -c 'select(.name) | [.name, .dtype, .shape, .sha256]' | sort >weights.b
    cmp weights.a weights.b
}

# member FILE PATH VALUE: a member of a JSON file.
member() {
    got=$(jq -c "$2" "$1")
    [ "$got" = "$3" ] || { echo "$1: $2 is $got, expected $3"; return 1; }
}

@test "weights come back bit for bit, sorted by name, in one file" {
    for case in llama3 mistral mixtral phi3 qwen2 qwen3 qwen3-moe gemma3-head; do
        there_and_back $case
        same_weights $case $case-back
        amn-parse $case-back/model.safetensors | jq -r 'select(.name).name' >names
        LC_ALL=C sort -c names
        rm -r $case $case-back
    done
}

@test "config.json of a Llama with rope_type llama3" {
    there_and_back llama3
    c=llama3-back/config.json
    for name in hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads vocab_size rms_norm_eps \
        max_position_embeddings tie_word_embeddings model_type architectures head_dim; do
        member $c ".$name" "$(jq -c ".$name" llama3/config.json)"
    done
    member $c .rope_parameters.rope_type '"llama3"'
    member $c .rope_scaling.rope_type '"llama3"'
    member $c .torch_dtype '"bfloat16"'
    member $c '(.|keys) == (.|keys_unsorted)' true
    grep -q '^  "rms_norm_eps": 1e-05,$' $c
}

@test "a sliding window of 0 is none" {
    there_and_back phi4
    member phi4-back/config.json .sliding_window null
    there_and_back phi3
    member phi3-back/config.json .sliding_window "$(jq -c .sliding_window phi3/config.json)"
}

@test "tokenizer.json: vocabulary, merges, regex and added tokens" {
    for case in llama3 qwen2 qwen3 phi4; do
        there_and_back $case
        for path in .model.vocab '[.pre_tokenizer | .. | .Regex? // empty]' '[.added_tokens[] | [.id, .content, .special]]' .normalizer; do
            jq -S -c "$path" $case/tokenizer.json >a
            jq -S -c "$path" $case-back/tokenizer.json >b
            cmp a b || { echo "$case: $path"; return 1; }
        done
        jq -c '[.model.merges[] | if type == "string" then . else join(" ") end]' $case/tokenizer.json >a
        jq -c .model.merges $case-back/tokenizer.json >b
        cmp a b
        rm -r $case $case-back
    done
}

@test "the files of the way back give the same GGUF file again" {
    for case in llama3 mistral qwen2 qwen3-moe; do
        there_and_back $case
        try 0 amn-convert -q --to gguf -o again.gguf -f $case-back
        for file in $case.gguf again.gguf; do
            amn-inspect --arrays $file | jq -S '.metadata | with_entries(select(.key | test("^general.(name|basename|finetune|size_label|version|organization|tags|license|sampling)") | not))' >$file.keys
        done
        diff $case.gguf.keys again.gguf.keys
        rm -r $case $case-back
    done
}

@test "SentencePiece: tokenizer.model, and the added tokens by id" {
    there_and_back mistral
    [ -s mistral-back/tokenizer.model ]
    [ ! -e mistral-back/tokenizer.json ]
    t=mistral-back/tokenizer_config.json
    member $t .tokenizer_class '"LlamaTokenizer"'
    member $t '.added_tokens_decoder["1"].content' '"<s>"'
    member $t .bos_token '"<s>"'
}

@test "chat templates: one, and several by name" {
    there_and_back qwen2
    [ "$(jq -r .chat_template qwen2-back/tokenizer_config.json)" = "$(cat qwen2/chat_template.jinja)" ]
    echo '{"tokenizer.chat_templates": ["rag", "tool_use"], "tokenizer.chat_template.rag": "a \"b\"",
        "tokenizer.chat_template.tool_use": "c"}' >templates.json
    amn-convert -q -o named.gguf --gguf-metadata templates.json qwen2.gguf
    try 0 amn-convert -q --to hf -o named/ named.gguf
    member named/tokenizer_config.json '[.chat_template[] | [.name, .template]][1:]' '[["rag","a \"b\""],["tool_use","c"]]'
    member named/tokenizer_config.json '.chat_template[0].name' '"default"'
}

@test "generation_config.json only if the file has sampling keys" {
    there_and_back qwen2
    member qwen2-back/generation_config.json .do_sample true
    member qwen2-back/generation_config.json .top_p "$(jq -c .top_p qwen2/generation_config.json)"
    there_and_back qwen3
    [ ! -e qwen3-back/generation_config.json ]
}

@test "shards, resumed after an interruption; a pipe; nothing twice" {
    there_and_back llama3
    try 0 amn-convert -q --to hf --shard-size 40K -o parts/ llama3.gguf
    [ "$(ls parts/*.safetensors | wc -l)" -gt 2 ]
    same_weights llama3 parts
    cat llama3.gguf | try 0 amn-convert -q --to hf --shard-size 40K -o piped -
    diff -r parts piped
    rm piped/model.safetensors.index.json
    try 73 amn-convert -q --to hf --shard-size 40K -o piped/ llama3.gguf
    try 0 amn-convert --to hf --shard-size 40K --resume -o parts/ llama3.gguf
    grep -q 'already complete' err
    try 73 amn-convert --to hf -o parts/ llama3.gguf
}

@test "quantized weights are dequantized; --dtype sets the type" {
    there_and_back llama-wide
    try 0 amn-forget -q --scheme q8_0 -o q8.gguf llama-wide
    try 0 amn-convert --to hf -o q8/ q8.gguf
    grep -q 'dequantized' err
    amn-parse q8 | jq -r 'select(.name).dtype' | sort -u >types
    [ "$(cat types)" = BF16 ]
    try 0 amn-convert -q --to hf --dtype f32 -o f32/ q8.gguf
    amn-parse f32 | jq -r 'select(.name).dtype' | sort -u >types
    [ "$(cat types)" = F32 ]
    member f32/config.json .torch_dtype '"float32"'
}

@test "without -o DIR/ only the weights, as one file that has parts and ranges" {
    there_and_back qwen3
    try 0 amn-convert --to hf qwen3.gguf
    cmp out qwen3-back/model.safetensors
    grep -q 'only weights written' err
    [ "$(amn-convert --to hf --size qwen3.gguf)" -eq "$(wc -c <out)" ]
    for i in 1 2 3; do amn-convert -q --to hf --part $i/3 qwen3.gguf; done | cmp - out
    try 0 amn-convert --to hf --dry-run -o dir/ qwen3.gguf
    [ ! -e dir ]
    grep -q model.layers.0 out
}

@test "usage errors" {
    there_and_back qwen3
    try 2 amn-convert --to hf -o x.gguf qwen3.gguf
    try 2 amn-convert --to hf --scheme q8_0 -o x/ qwen3.gguf
    try 2 amn-convert --to hf --keep-quantized -o x/ qwen3.gguf
    try 2 amn-convert --to hf --size -o x/ qwen3.gguf
    try 2 amn-convert --to hf --gguf-kv a=b -o x/ qwen3.gguf
    [ ! -e x ]
}

@test "what has no way back is refused by name" {
    there_and_back qwen3
    try 69 amn-convert --to hf -o x/ qwen3
    grep -q 'reads GGUF files, but the input is safetensors' err
    amn-convert -q --gguf-kv general.architecture=qwen33 -o near.gguf qwen3.gguf
    try 69 amn-convert --to hf -o x/ near.gguf
    grep -q "architecture 'qwen33'; did you mean .*qwen3.*; --family FILE .*amn list families" err
    amn-convert -q --gguf-unset general.architecture -o none.gguf qwen3.gguf
    try 69 amn-convert --to hf -o x/ none.gguf
    amn-convert -q --gguf-kv tokenizer.ggml.pre=poro-chat -o pre.gguf qwen3.gguf
    try 69 amn-convert --to hf -o x/ pre.gguf
    grep -q "pre-tokenizer 'poro-chat'.*--pre, or --no-tokenizer" err
    try 0 amn-convert -q --to hf --pre qwen2 -o x/ pre.gguf
    cmp x/tokenizer.json qwen3-back/tokenizer.json
    try 0 amn-convert -q --to hf --no-tokenizer -o y/ pre.gguf
    [ "$(ls y)" = "$(printf 'config.json\nmodel.safetensors')" ]
    amn-convert -q --gguf-kv tokenizer.ggml.model=none -o none.gguf qwen3.gguf
    try 69 amn-convert --to hf -o z/ none.gguf
    [ ! -e z ]
}

# bats test_tags=broken
@test "tokenizers that contradict themselves are malformed" {
    there_and_back qwen3
    for kv in '"tokenizer.ggml.tokens": ["a", "a"]' '"tokenizer.ggml.token_type": [1]' '"tokenizer.ggml.merges": ["ab"]' \
        '"tokenizer.ggml.merges": ["a "]' '"tokenizer.ggml.tokens": [1]' '"tokenizer.ggml.tokens": "a"'; do
        echo "{$kv}" >bad.json
        amn-convert -q -f --gguf-metadata bad.json -o bad.gguf qwen3.gguf
        try 65 amn-convert --to hf -o x/ bad.gguf
        error_line amn-convert malformed
        [ ! -e x ]
    done
    LC_ALL=C sed 's/<|im_end|>/\xff|im_end|>/g' qwen3.gguf >bad.gguf
    refute cmp -s bad.gguf qwen3.gguf
    try 65 amn-convert --to hf -o x/ bad.gguf
    grep -q 'not UTF-8' err
}

@test "--family FILE: a family of the same architecture, and one of another" {
    there_and_back qwen3
    cp "$tests/../families/qwen3.family" "$tests/../families/llama.family" .
    sed -i 's/hidden_act "silu"/hidden_act "mish"/' qwen3.family
    try 0 amn-convert -q --to hf --family qwen3.family -o own/ qwen3.gguf
    member own/config.json .hidden_act '"mish"'
    same_weights qwen3-back own
    try 69 amn-convert --to hf --family llama.family -o other/ qwen3.gguf
    grep -q "for architecture llama, but the file has 'qwen3'" err
}

# without FILE NAME OUT: a copy of a GGUF file without a tensor or key; with NAME=OTHER renamed.
without() {
    python3 - "$corpus/../check-families" "$@" <<'EOF'
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.SourceFileLoader("families", sys.argv[1])
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("families", loader))
loader.exec_module(module)
file = module.File(sys.argv[2])
name, _, other = sys.argv[3].partition("=")
if other:
    file.tensors = {other if key == name else key: value for key, value in file.tensors.items()}
file.write(sys.argv[4], without=name)
EOF
}

@test "a tensor or a key that llama.cpp requires is missing: refused by name, and a key only warned about with --allow-missing" {
    there_and_back llama3
    without llama3.gguf blk.1.ffn_down.weight out.gguf
    try 65 amn-convert --to hf -f -o made/ out.gguf
    grep -q 'tensor blk.1.ffn_down.weight: missing.*model.layers.1.mlp.down_proj.weight.*--allow-missing' err
    without llama3.gguf llama.attention.layer_norm_rms_epsilon out.gguf
    try 65 amn-convert --to hf -f -o made/ out.gguf
    grep -q 'key llama.attention.layer_norm_rms_epsilon: missing.*rms_norm_eps' err
    try 0 amn-convert --to hf --allow-missing -f -o made/ out.gguf
    grep -q 'warning: key llama.attention.layer_norm_rms_epsilon: missing' err
}

@test "an unknown tensor beside a missing one: both and the layout, without the options that would leave them out" {
    there_and_back qwen3
    without qwen3.gguf blk.1.attn_q.weight=blk.1.W_pack.weight out.gguf
    try 65 amn-convert --to hf -f -o made/ out.gguf
    grep -q 'blk.1.attn_q.weight: missing.*no row for blk.1.W_pack.weight.*queries, keys and values' err
    refute grep -q -e --skip-unknown -e --allow-missing err
    without qwen3.gguf blk.1.attn_q.weight=blk.1.other.weight out.gguf
    try 65 amn-convert --to hf -f -o made/ out.gguf
    grep -q 'blk.1.attn_q.weight: missing.*no row for blk.1.other.weight.*another layout' err
    without qwen3.gguf blk.1.attn_q.weight=blk.0.other.weight out.gguf
    try 65 amn-convert --to hf -f -o made/ out.gguf
    grep -q 'blk.1.attn_q.weight: missing.*--allow-missing' err
}

@test "a file without keys that llama.cpp has a value for: that value, not the default of the class" {
    there_and_back qwen3
    without qwen3.gguf qwen3.rope.freq_base out.gguf
    try 0 amn-convert --to hf -f -o made/ out.gguf
    member made/config.json .rope_theta 10000
}
