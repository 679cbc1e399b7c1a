#!/usr/bin/env bats
# ollama:NAME of a model that is stored as one layer for each tensor. test/peers/make-ollama-corpus.py made the store with MLX, and
# what must come out.
# bats file_tags=fast
load helper

setup_file() { :; }
teardown_file() { :; }

setup() {
    begin
    export OLLAMA_MODELS=$corpus/stores/ollama-layers
    expected=$OLLAMA_MODELS/expected
}

# a_copy MODEL: makes a store that a test may change; $manifest is the model's.
a_copy() {
    cp -R "$OLLAMA_MODELS" store
    chmod -R u+w store
    export OLLAMA_MODELS=$dir/store
    manifest=store/manifests/registry.example/library/$1/latest
}

# hashes FILE: names, types, shapes and digests of its tensors, sorted.
hashes() {
    amn-parse --hash "$1" | jq -c '[.name, .dtype, .shape, .sha256]' | sort
}

# is_expected MODEL TREE [OPTION...]: its values are those of MLX.
is_expected() {
    local model=$1 tree=$2
    shift 2
    try 0 amn-remember -q --to bf16 "$@" "ollama:$model"
    mv out values.safetensors
    hashes values.safetensors >got
    hashes "$expected/$model-$tree.safetensors" | cmp - got
}

@test "every type, with companions that are named after the weight, and stacked experts of several types" {
    is_expected every-type all
    is_expected experts all
}

@test "the draft is read with --root draft, without its prefix and with its own config.json" {
    is_expected draft main
    is_expected draft draft --root draft
    try 0 amn-convert -q --root draft -o d/ ollama:draft
    jq -e '.hidden_size == 64 and .quantization.bits == 4' d/config.json
    try 2 amn-parse --root other ollama:draft
    grep -q 'expected one of draft' err
    try 2 amn-parse --root draft ollama:experts
}

@test "a model of several components asks for one" {
    try 2 amn-parse ollama:components
    grep -q 'text_encoder, transformer' err
    is_expected components transformer --root transformer
}

@test "a directory: kept as MLX's loaders read it, or dequantized, with the files of the model" {
    try 0 amn-convert -q -o kept/ ollama:every-type
    jq -e '.quantization | .bits == 4 and .group_size == 64 and .mode == "affine"
        and ."model.layers.1.mlp.up_proj".bits == 8 and ."model.layers.4.mlp.up_proj".mode == "mxfp8"' kept/config.json
    (cd kept && only config.json model.safetensors tokenizer.json)
    amn-parse kept | jq -r .name | grep -q '^model.layers.0.mlp.up_proj.scales$'
    try 0 amn-remember -q --to bf16 kept/model.safetensors
    hashes out >got
    hashes "$expected/every-type-all.safetensors" | cmp - got
    try 0 amn-remember -q -o plain/ ollama:every-type
    jq -e '.model_type == "llama" and (has("quantization") | not)' plain/config.json
    cmp plain/tokenizer.json kept/tokenizer.json
    hashes plain/model.safetensors | cmp - got
}

@test "ranges and parts, several threads" {
    try 0 amn-remember -q ollama:every-type
    mv out whole
    for i in 1 2 3; do amn-remember -q --part $i/3 ollama:every-type; done | cmp - whole
    amn-remember -q -j 3 --range 500-3000 ollama:every-type >r
    tail -c +501 whole | head -c 2501 | cmp - r
}

@test "amn check compares the blobs with their digests" {
    try 0 amn-inspect --check ollama:experts
    a_copy experts
    blob=store/blobs/$(jq -r '.layers[0].digest | sub(":"; "-")' "$manifest")
    printf X | dd of="$blob" bs=1 seek=500 conv=notrunc 2>/dev/null
    try 1 amn-inspect --check ollama:experts
}

# bats test_tags=broken
@test "blobs that are missing, of another size or damaged" {
    a_copy every-type
    blob=store/blobs/$(jq -r '.layers[3].digest | sub(":"; "-")' "$manifest")
    cp "$blob" was
    truncate -s -1 "$blob"
    try 65 amn-parse ollama:every-type
    grep -q 'manifest declares' err
    for at in 7 8 20 100 400; do
        head -c $at was >"$blob"
        jq -c ".layers[3].size = $at" "$corpus/stores/ollama-layers/${manifest#store/}" >"$manifest"
        try 65 amn-parse ollama:every-type
        error_line amn-parse malformed
    done
    rm "$blob"
    try 66 amn-parse ollama:every-type
    grep -q "${blob##*/}.*ollama pull every-type" err
}

# bats test_tags=broken
@test "manifests: layers without a name or size, names twice, unknown types, and groups that do not fit" {
    a_copy every-type
    cp "$manifest" was
    for edit in 'del(.layers[0].name)' '.layers[0].name = ""' 'del(.layers[0].size)' '.layers[0].size = -1' \
        '.layers[1].name = .layers[0].name' '.layers[0].digest = "sha256:../x"' '.layers[0].name = "a\u0000b"'; do
        jq -c "$edit" was >"$manifest"
        try 65 amn-parse ollama:every-type
        error_line amn-parse malformed
    done
    cp was "$manifest"
    # other FROM TO STATUS: the first blob with other metadata of the same length
    other() {
        blob=store/blobs/$(jq -r '.layers[0].digest | sub(":"; "-")' was)
        cp "$corpus/stores/ollama-layers/${blob#store/}" "$blob"
        sed -i "s/$1/$2/" "$blob"
        try "$3" amn-parse ollama:every-type
    }
    other '"int4"' '"int9"' 69
    grep -q 'quant_type int9' err
    other '"int4"' '"int8"' 65
    other '"64"' '"32"' 65
    other '"int4"' '"INT4"' 0
}
