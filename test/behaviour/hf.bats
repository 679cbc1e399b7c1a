#!/usr/bin/env bats
# bats file_tags=full
# Hugging Face model directories to GGUF: cases that the corpus of check-hf does not cover.
load helper

# model CASE [CHANGE...]: makes a directory ./CASE of test/corpus/hf-models.
model() {
    local case=$1
    shift
    rm -rf "$case"
    "$helpers/hf-model" "$corpus/hf-models/$case" "$case" "$@"
}

# refuses STATUS KIND TEXT: ./CASE, with both tools, in one line with this text, and nothing on stdout.
refuses() {
    local status=$1 kind=$2 text=$3 case=$4
    shift 4
    try "$status" amn-convert --to gguf "$@" "$case" || return 1
    is_empty out || return 1
    error_line amn-convert "$kind" || return 1
    grep -qF -e "$text" err || { echo "no '$text' in:"; cat err; return 1; }
    try "$status" amn-forget --scheme q8_0 "$@" "$case" || return 1
    is_empty out
}

names() {
    amn-parse "$1" | jq -r .name
}

key() {
    amn-inspect "$1" | jq -r --arg k "$2" '.metadata[$k]'
}

@test "an unknown class is named" {
    model llama3 'config.architectures=["NoSuchForCausalLM"]'
    refuses 69 unsupported NoSuchForCausalLM llama3
    model llama3 'config.architectures=["Qwen9ForCausalLM"]'
    refuses 69 unsupported "'Qwen9ForCausalLM'; all its tensors have names of family llama" llama3
    grep -q -e '--family FILE' err
    for bad in '[]' '{}' '[3]' '"LlamaForCausalLM"'; do
        model llama3 "config.architectures=$bad"
        got=0
        amn-convert --to gguf llama3 >out 2>err || got=$?
        case $got in 0 | 65 | 69) ;; *) echo "$bad: status $got"; cat err; return 1 ;; esac
    done
}

@test "config.json without architectures is refused by name, except that of diffusers" {
    for none in null '[]'; do
        model llama3 "config.architectures=$none"
        refuses 65 malformed 'config.json: architectures, the model class, is missing' llama3
        grep -q -e '--config none' err
    done
    model llama3
    jq 'del(.architectures)' llama3/config.json >config.json
    mv config.json llama3
    refuses 65 malformed 'config.json: architectures, the model class, is missing' llama3
    try 65 amn-convert --to gguf --size llama3
    try 65 amn-convert --to gguf --plan llama3
    is_empty out
    try 0 amn-convert --to gguf --config none -o own.gguf llama3
    names own.gguf | diff - <(names llama3/model.safetensors)
    try 0 amn-convert --to safetensors llama3
    echo '{"_class_name": "FluxTransformer2DModel"}' >llama3/config.json
    try 0 amn-convert --to gguf -o other.gguf llama3
    cmp own.gguf other.gguf
}

@test "without a config, tensors keep their names" {
    model llama3
    try 0 amn-convert --to gguf --config none -o out.gguf llama3
    names out.gguf >got
    names llama3/model.safetensors | diff - got
    [ "$(key out.gguf general.architecture)" = null ]
    model llama3 without=config.json
    try 0 amn-convert --to gguf -o other.gguf llama3
    cmp out.gguf other.gguf
    mv llama3/model.safetensors .
    try 0 amn-convert --to gguf -o other.gguf model.safetensors
    cmp out.gguf other.gguf
}

# bats test_tags=broken
@test "an expert that is missing, duplicate, beyond their number, of another shape" {
    expert=model.layers.1.block_sparse_moe.experts
    model mixtral drop=$expert.2.w3.weight
    refuses 65 malformed "blk.1.ffn_up_exps.weight" mixtral
    model mixtral twice=$expert.2.w3.weight:language_model.$expert.2.w3.weight
    refuses 65 malformed "$expert.2.w3.weight" mixtral
    model mixtral twice=$expert.2.w3.weight:$expert.4.w3.weight
    refuses 65 malformed "$expert.4.w3.weight" mixtral
    model mixtral put=$expert.2.w3.weight:BF16:255x256
    refuses 65 malformed "$expert.2.w3.weight" mixtral
    model mixtral twice=$expert.2.w3.weight:$expert.2.w3.bias drop=$expert.2.w3.weight
    refuses 65 malformed "$expert.2.w3.bias" mixtral
}

# bats test_tags=broken
@test "shapes and numbers that contradict config.json: the tensor is named" {
    q=model.layers.1.self_attn.q_proj
    model llama3 put=$q.weight:BF16:66x64
    refuses 65 malformed "$q.weight" llama3
    model llama3 put=$q.bias:BF16:32
    refuses 65 malformed "$q.bias" llama3
    model llama3 config.num_key_value_heads=4
    refuses 65 malformed self_attn.k_proj.weight llama3
    model llama3 config.num_hidden_layers=10
    refuses 65 malformed "model.layers.10." llama3
    model llama3 config.vocab_size=310
    refuses 65 malformed 'vocab_size is 310, but model.embed_tokens.weight has' llama3
    model llama3 config.hidden_size=null
    refuses 65 malformed hidden_size llama3
    model qwen3-moe-stacked config.num_local_experts=5
    refuses 65 malformed model.layers.0.mlp.experts. qwen3-moe-stacked
}

# bats test_tags=broken
@test "a tensor without a name in llama.cpp, and one of integers" {
    model llama3 put=model.layers.0.self_attn.sinks:BF16:4
    refuses 65 malformed model.layers.0.self_attn.sinks llama3
    model qwen3 put=model.layers.0.mlp.gate.weight:BF16:4x64
    refuses 65 malformed model.layers.0.mlp.gate.weight qwen3
    model llama3 put=model.layers.0.self_attn.rotary_emb.inv_freq:F32:8
    try 0 amn-convert --to gguf -o a.gguf llama3
    model llama3
    try 0 amn-convert --to gguf -o b.gguf llama3
    cmp a.gguf b.gguf
}

@test "tensors that are unknown or missing: named, and the options that go on" {
    model llama3 put=model.layers.0.self_attn.sinks:BF16:4
    refuses 65 malformed --skip-unknown llama3
    try 0 amn-convert --to gguf --skip-unknown -f -o out.gguf llama3
    grep -q 'warning: tensor model.layers.0.self_attn.sinks is left out' err
    model llama3 drop=model.layers.1.self_attn.v_proj.weight
    refuses 65 malformed 'tensor blk.1.attn_v.weight' llama3
    grep -q 'model.layers.[0-9]*.self_attn.v_proj.weight.*--allow-missing' err
    try 0 amn-convert --to gguf --allow-missing -f -o out.gguf llama3
    names out.gguf >got
    refute grep -qx blk.1.attn_v.weight got
    model mixtral drop=model.layers.1.block_sparse_moe.experts.2.w3.weight
    refuses 65 malformed 'tensor blk.1.ffn_up_exps.weight' mixtral
    try 0 amn-convert --to gguf --allow-missing -f -o out.gguf mixtral
    grep -q 'warning: tensor blk.1.ffn_up_exps.weight' err
    model llama3
    try 0 amn-convert --to gguf --no-mtp -f -o out.gguf llama3
    grep -q 'note: --no-mtp has no effect' err
    try 2 amn-convert --to gguf --mtp --no-mtp -f -o out.gguf llama3
    try 2 amn-convert --to safetensors --mtp -f -o out.safetensors llama3
    try 2 amn-convert --to gguf --skip-unknown -f -o new.gguf out.gguf
}

@test "two tensors with the same GGUF name are refused" {
    model llama3 twice=model.norm.weight:language_model.model.norm.weight
    refuses 65 malformed output_norm.weight llama3
}

@test "no tokenizer: a warning, and the file" {
    model llama-wide without=tokenizer.model without=tokenizer_config.json
    try 0 amn-convert --to gguf -o out.gguf llama-wide
    grep -q 'tokenizer' err
    [ "$(key out.gguf general.architecture)" = llama ]
    [ "$(key out.gguf tokenizer.ggml.model)" = null ]
}

@test "--no-tokenizer: a tokenizer that cannot be converted, and no warning" {
    model llama3
    jq '.model.type = "Unigram"' llama3/tokenizer.json >new && mv new llama3/tokenizer.json
    try 69 amn-convert --to gguf -o out.gguf llama3
    grep -q 'Unigram.*--no-tokenizer' err
    for tool in 'amn-convert --to gguf' 'amn-forget -s q8_0 -q'; do
        try 0 $tool --no-tokenizer -f -o out.gguf llama3
        ! grep -q warning err
        [ "$(key out.gguf tokenizer.ggml.model)" = none ]
        [ "$(key out.gguf tokenizer.ggml.tokens)" = null ]
    done
    try 2 amn-convert --to gguf --no-tokenizer --pre qwen2 -o out.gguf llama3
    try 2 amn-convert --to safetensors --no-tokenizer -f -o out.safetensors llama3
    try 2 amn-convert --to gguf --no-tokenizer -f -o new.gguf out.gguf
}

@test "named chat templates: keys of GGUF, and files of a directory" {
    model qwen2
    mkdir qwen2/additional_chat_templates
    printf 'T\r\n' >qwen2/additional_chat_templates/tool-use.jinja
    printf 'R' >qwen2/additional_chat_templates/rag.jinja
    printf 'no template' >qwen2/additional_chat_templates/notes.txt
    mkdir qwen2/more
    try 0 amn-convert --to gguf -o out.gguf qwen2
    [ "$(key out.gguf tokenizer.chat_template.rag)" = R ]
    [ "$(key out.gguf tokenizer.chat_template.tool_use)" = T ]
    amn-inspect --arrays out.gguf | jq -ce '.metadata["tokenizer.chat_templates"] == ["rag", "tool_use"]'
    [ "$(key out.gguf tokenizer.chat_template)" = "$(cat qwen2/chat_template.jinja)" ]
    for tool in 'amn-convert' 'amn-remember -q' 'amn-forget -q --scheme fp8'; do
        rm -rf copy
        try 0 $tool -o copy/ qwen2
        diff -r -x notes.txt qwen2/additional_chat_templates copy/additional_chat_templates
        refute test -e copy/additional_chat_templates/notes.txt
        refute test -e copy/more
    done
    printf '\377' >qwen2/additional_chat_templates/rag.jinja
    refuses 65 malformed 'rag.jinja is not UTF-8' qwen2
    rm qwen2/additional_chat_templates/*
    for i in $(seq 257); do
        : >qwen2/additional_chat_templates/$i.jinja
    done
    try 75 amn-convert --to gguf qwen2
    grep -q 'more than 256 templates' err
}

@test "no BOS if the model does not request one, though llama.cpp would add it" {
    model llama3
    jq '.post_processor = null' llama3/tokenizer.json >new && mv new llama3/tokenizer.json
    try 0 amn-convert --to gguf -o out.gguf llama3
    [ "$(key out.gguf tokenizer.ggml.pre)" = llama-bpe ]
    [ "$(key out.gguf tokenizer.ggml.add_bos_token)" = false ]
    try 0 amn-convert -f --to gguf --pre qwen2 -o out.gguf llama3
    [ "$(key out.gguf tokenizer.ggml.add_bos_token)" = null ]
    try 0 amn-convert -f --to gguf --pre lfm2 -o out.gguf llama3
    [ "$(key out.gguf tokenizer.ggml.add_bos_token)" = false ]
    jq '.model.ignore_merges = false' llama3/tokenizer.json >new && mv new llama3/tokenizer.json
    try 0 amn-convert -f --to gguf -o out.gguf llama3
    [ "$(key out.gguf tokenizer.ggml.pre)" = dbrx ]
    [ "$(key out.gguf tokenizer.ggml.add_bos_token)" = null ]
}

# change FILTER: edits tokenizer.json of ./llama-json with jq, and makes out.gguf.
change() {
    jq "$1" "$corpus/hf-models/llama-json/tokenizer.json" >llama-json/tokenizer.json
    try 0 amn-convert -f --to gguf -o out.gguf llama-json
}

@test "merges of a tokenizer.json over characters: scores, and the leading space" {
    model llama-json
    try 0 amn-convert --to gguf -o out.gguf llama-json
    is_empty err
    amn-inspect --arrays out.gguf | jq -c '[.metadata | .["tokenizer.ggml.tokens"], .["tokenizer.ggml.scores"]] | transpose' >made
    first=$(jq -r '.model.merges[0] | if type == "array" then add else gsub(" "; "") end' llama-json/tokenizer.json)
    jq -e --arg first "$first" 'any(.[]; .[0] == $first and .[1] == 0)' made
    jq -e 'all(.[] | select(.[0] | test("^<|^.$")); .[1] == -1000)' made
    [ "$(key out.gguf tokenizer.ggml.add_space_prefix)" = null ]
    change 'del(.model.merges[0])'
    grep -q 'warning: tokenizer.json: llama.cpp may merge pairs that are not in its list of merges' err
    change '.normalizer = null'
    is_empty err
    [ "$(key out.gguf tokenizer.ggml.add_space_prefix)" = false ]
    for scheme in first always; do
        change '.normalizer = null | .pre_tokenizer = {type: "Metaspace", replacement: "\u2581", prepend_scheme: "'$scheme'", split: false}'
        grep -q 'warning: tokenizer.json: llama.cpp adds a space even to text that starts with one' err
        [ "$(key out.gguf tokenizer.ggml.add_space_prefix)" = null ]
    done
    change '.normalizer = null | .pre_tokenizer = {type: "Metaspace", replacement: "\u2581", prepend_scheme: "never", split: false}'
    is_empty err
    [ "$(key out.gguf tokenizer.ggml.add_space_prefix)" = false ]
}

@test "Gemma 3 with only tokenizer.json" {
    model llama-json
    n=$(jq '.model.vocab | length' llama-json/tokenizer.json)
    model gemma3 without=tokenizer.model without=tokenizer_config.json without=added_tokens.json
    size=$(jq .vocab_size gemma3/config.json)
    jq '.normalizer = {type: "Replace", pattern: {String: " "}, content: "\u2581"} | .post_processor = null
        | .added_tokens += [{id: 300, content: (.model.vocab | to_entries[] | select(.value == 300) | .key), single_word: false,
            lstrip: false, rstrip: false, normalized: false, special: false}] | .added_tokens |= sort_by(.id)' \
        llama-json/tokenizer.json >gemma3/tokenizer.json
    try 0 amn-convert --to gguf -o out.gguf gemma3
    [ "$(key out.gguf tokenizer.ggml.model)" = llama ]
    [ "$(key out.gguf tokenizer.ggml.add_space_prefix)" = false ]
    amn-inspect --arrays out.gguf | jq -ce --argjson n "$size" '.metadata | .["tokenizer.ggml.token_type"]
        | length == $n and .[300] == 4 and .[1] == 3 and .[299] == 1'
    amn-inspect --arrays out.gguf | jq -ce '.metadata["tokenizer.ggml.scores"] | max == 0'
}

# warns TEXT CASE [CHANGE...]: one warning with this text, from each of the tools that write GGUF.
warns() {
    local text=$1
    shift
    model "$@"
    try 0 amn-convert --to gguf -f -o out.gguf "$1" || return 1
    [ "$(wc -l <err)" -eq 1 ] && grep -qF "warning: config.json: $text" err || { echo "no '$text' in:"; cat err; return 1; }
    try 0 amn-forget -q --scheme q8_0 --size "$1"
}

# silent CASE [CHANGE...]: no warning.
silent() {
    model "$@"
    try 0 amn-convert --to gguf -f -o out.gguf "$1" || return 1
    is_empty err
}

# bats test_tags=full
@test "rope scaling that llama.cpp ignores or applies differently: a warning" {
    llama3='"factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":64'
    yarn='"type":"yarn","factor":4.0,"original_max_position_embeddings":64'
    for case in qwen2 qwen2-moe qwen3 gemma2; do
        new=$(jq 'has("rope_parameters")' "$corpus/hf-models/$case/config.json")
        key=rope_scaling
        [ "$new" = false ] || key=rope_parameters
        warns "llama.cpp ignores rope_type llama3 for architecture ${case%-*}" $case \
            "config.$key={\"rope_type\":\"llama3\",$llama3,\"rope_theta\":10000.0}"
        warns 'llama.cpp ignores rope_type dynamic' $case "config.$key={\"rope_type\":\"dynamic\",\"factor\":2.0,\"rope_theta\":10000.0}"
    done
    silent llama3
    warns 'llama.cpp ignores rope_type linear for architecture gemma2' gemma2 \
        'config.rope_parameters={"rope_type":"linear","factor":2.0,"rope_theta":10000.0}'
    for case in llama-wide mistral; do
        silent $case "config.rope_scaling={$yarn}"
        silent $case "config.rope_scaling={$yarn,\"attention_factor\":1.1386,\"beta_fast\":32,\"beta_slow\":1.0}"
        silent $case "config.rope_scaling={\"type\":\"linear\",\"factor\":2.0}"
        warns 'attention_factor is 0.707, but llama.cpp uses 1.139' $case \
            "config.rope_scaling={$yarn,\"attention_factor\":0.707}"
        warns 'mscale gives an attention factor of 1, but llama.cpp uses 1.139' $case \
            "config.rope_scaling={$yarn,\"mscale\":1.0,\"mscale_all_dim\":1.0}"
        warns 'llama.cpp ignores beta_fast and beta_slow and uses 32 and 1' $case "config.rope_scaling={$yarn,\"beta_fast\":16}"
        warns 'llama.cpp ignores "truncate": false' $case "config.rope_scaling={$yarn,\"truncate\":false}"
    done
    warns 'attention_factor is 1, but' phi3-longrope "config.rope_scaling=$(
        jq -c '.rope_scaling + {attention_factor: 1.0}' "$corpus/hf-models/phi3-longrope/config.json")"
}

# bats test_tags=full
@test "activations that llama.cpp does not compute: a warning" {
    for case in llama3 qwen3 phi3 mixtral qwen2-moe; do
        warns 'hidden_act is gelu, but llama.cpp uses silu for architecture' $case 'config.hidden_act="gelu"'
        silent $case 'config.hidden_act="swish"'
    done
    for case in gemma2 gemma3; do
        warns 'hidden_activation is gelu, but llama.cpp uses gelu_pytorch_tanh' $case 'config.hidden_activation="gelu"'
        silent $case 'config.hidden_act="gelu"'         # ignored by transformers in this class
    done
}

@test "experts that llama.cpp weights differently: a warning" {
    warns 'norm_topk_prob is not true' qwen3-moe config.norm_topk_prob=false
    silent qwen3-moe config.norm_topk_prob=true
    warns 'norm_topk_prob is true' qwen2-moe config.norm_topk_prob=true
    silent qwen2-moe config.norm_topk_prob=false
}

# bats test_tags=full
@test "sliding windows that llama.cpp does not support: a warning" {
    for case in mistral mixtral phi3; do
        warns 'llama.cpp ignores sliding_window 64 for architecture' $case config.sliding_window=64
        silent $case config.sliding_window=null
        silent $case config.sliding_window=512          # as long as the context
    done
    silent llama-wide config.sliding_window=64          # ignored by transformers in this class
    on='config.sliding_window=64 config.use_sliding_window=true config.layer_types=null'
    warns 'llama.cpp ignores sliding_window 64' qwen2 $on config.max_window_layers=1
    silent qwen2 $on config.max_window_layers=28
    silent qwen2 $on config.max_window_layers=1 config.use_sliding_window=false
    warns 'llama.cpp ignores sliding_window 64' qwen3 $on 'config.layer_types=["full_attention","sliding_attention"]'
    silent qwen3 $on 'config.layer_types=["full_attention","full_attention"]'
    warns 'llama.cpp ignores sliding_window 64' qwen2-moe $on config.max_window_layers=1
    warns 'llama.cpp ignores sliding_window 64' qwen3-moe $on
}

@test "Gemma: a different scale of queries, different layers with a window: a warning" {
    for case in gemma2 gemma3; do
        warns 'query_pre_attn_scalar is 64, but llama.cpp uses 32' $case config.query_pre_attn_scalar=64
    done
    warns 'layer_types or sliding_window_pattern differ from llama.cpp, where all layers except every 2nd' gemma2 \
        'config.layer_types=["full_attention","sliding_attention"]'
    silent gemma2 'config.layer_types=["sliding_attention","full_attention"]'
    warns 'layer_types or sliding_window_pattern differ from llama.cpp, where all layers except every 6th' gemma3 config.layer_types=null config.sliding_window_pattern=3
    silent gemma3 config.layer_types=null config.sliding_window_pattern=6
}

# bats test_tags=broken
@test "models that libllama would not load are refused before any byte" {
    for case in qwen2-moe qwen3-moe; do
        for change in 'config.mlp_only_layers=[1]' config.decoder_sparse_step=2; do
            model $case "$change"
            member=${change#config.}
            refuses 69 unsupported "config.json: ${member%%=*} declares layers without experts" $case
            try 69 amn-convert --to gguf --size $case
        done
        silent $case 'config.mlp_only_layers=[7]'       # a layer that does not exist
    done
    model qwen3-moe put=model.layers.0.mlp.up_proj.weight:BF16:96x64
    refuses 69 unsupported model.layers.0.mlp.up_proj.weight qwen3-moe
    for case in qwen3 qwen3-moe; do
        model $case config.attention_bias=true
        refuses 69 unsupported 'config.json: attention_bias is true' $case
    done
    model qwen2-moe drop=lm_head.weight
    refuses 69 unsupported 'no lm_head.weight' qwen2-moe
}

# bats test_tags=full
@test "a bias that libllama would not load is refused, a loadable one is kept" {
    o=model.layers.0.self_attn.o_proj.bias q=model.layers.0.self_attn.q_proj.bias up=model.layers.0.mlp.up_proj.bias
    for case in qwen2 qwen3 gemma2 gemma3 phi3; do
        model $case put=$o:F32:64
        status=69 kind=unsupported
        [ $case != phi3 ] || status=65 kind=malformed   # no row; the others have one that their fragments share
        refuses $status $kind $o $case
        model $case put=model.norm.bias:F32:64
        refuses 69 unsupported model.norm.bias $case
    done
    model qwen2 put=$up:F32:96
    refuses 69 unsupported $up qwen2
    model qwen3 put=$q:F32:128
    try 0 amn-convert --to gguf -o out.gguf qwen3
    names out.gguf | grep -qx blk.0.attn_q.bias
    model llama3 put=$o:F32:64 put=$up:F32:96
    try 0 amn-convert --to gguf -f -o out.gguf llama3
    names out.gguf | grep -qx blk.0.attn_output.bias
    names out.gguf | grep -qx blk.0.ffn_up.bias
}

@test "the head of a Gemma 2: omitted if equal to the embeddings, else the model is refused" {
    model gemma2
    try 0 amn-convert --to gguf -o tied.gguf gemma2
    embed=model.embed_tokens.weight
    shape=$(amn-parse gemma2 | jq -r --arg n $embed 'select(.name == $n) | .shape | join("x")')
    model gemma2 twice=$embed:lm_head.weight            # the values differ: each name is a seed
    refuses 69 unsupported 'tensor lm_head.weight' gemma2
    grep -q 'differs from model.embed_tokens.weight' err
    try 69 amn-convert --to gguf --size gemma2
    try 69 amn-convert --to gguf --plan gemma2
    is_empty out
    try 0 amn-convert --to gguf --config none -o own.gguf gemma2
    python3 - gemma2/model.safetensors $embed <<'END'
import json, struct, sys
path, embed = sys.argv[1:]
raw = bytearray(open(path, "rb").read())
n = struct.unpack("<Q", raw[:8])[0]
head = json.loads(raw[8:8 + n])
(a, b), (c, d) = (head[k]["data_offsets"] for k in (embed, "lm_head.weight"))
raw[8 + n + c:8 + n + d] = raw[8 + n + a:8 + n + b]
open(path, "wb").write(raw)
END
    try 0 amn-convert --to gguf -o equal.gguf gemma2
    is_empty err
    cmp tied.gguf equal.gguf
    gzip gemma2/model.safetensors
    try 0 amn-convert --to gguf -f -o equal.gguf gemma2
    cmp tied.gguf equal.gguf
    gunzip gemma2/model.safetensors.gz                  # the last byte belongs to the head
    printf '\1' | dd of=gemma2/model.safetensors bs=1 seek=$(($(stat -c %s gemma2/model.safetensors) - 1)) conv=notrunc 2>/dev/null
    refuses 69 unsupported 'tensor lm_head.weight' gemma2
    model gemma2 put=lm_head.weight:F32:$shape:zeros
    refuses 69 unsupported 'tensor lm_head.weight' gemma2
}

@test "options that select and rename tensors use the names of GGUF" {
    model llama-wide
    try 0 amn-convert --to gguf --only 'blk.1.*' -o out.gguf llama-wide
    names out.gguf >got
    grep -q '^blk.1.attn_q.weight$' got
    refute grep -qv '^blk.1.' got
    try 0 amn-convert --to gguf --drop 'blk.*' -o out.gguf llama-wide
    names out.gguf | sort | tr '\n' ' ' | grep -qx 'output.weight output_norm.weight token_embd.weight '
    try 0 amn-convert --to gguf --rename 's/^blk\.2\./layer2./' -o out.gguf llama-wide
    names out.gguf | grep -q '^layer2.ffn_up.weight$'
    try 0 amn-convert --to raw --tensor model.layers.0.self_attn.q_proj.weight llama-wide
    try 0 amn-forget -q --scheme q4_k_m --exclude '*ffn*' -o out.gguf llama-wide
    amn-parse out.gguf | jq -se 'map({(.name): .dtype}) | add
        | .["blk.0.ffn_up.weight"] == "BF16" and .["blk.0.attn_q.weight"] == "Q4_K" and .["blk.0.attn_norm.weight"] == "F32"'
}

@test "given keys override those of the directory" {
    model llama3
    echo '{"llama.context_length": 99, "general.name": "file", "tokenizer.ggml.pre": "gpt-2"}' >keys.json
    for tool in 'amn-convert --to gguf' 'amn-forget -q --scheme q8_0'; do
        try 0 $tool --gguf-metadata keys.json --gguf-kv general.name=given --gguf-kv mine=1 -o out.gguf llama3
        [ "$(key out.gguf llama.context_length)" = 99 ]
        [ "$(key out.gguf general.name)" = given ]
        [ "$(key out.gguf tokenizer.ggml.pre)" = gpt-2 ]
        [ "$(key out.gguf mine)" = 1 ]
        [ "$(key out.gguf llama.embedding_length)" = 64 ]
        rm out.gguf
    done
    try 0 amn-convert --to gguf --pre qwen2 -o out.gguf llama3
    [ "$(key out.gguf tokenizer.ggml.pre)" = qwen2 ]
    try 2 amn-convert --to safetensors --pre qwen2 llama3
}

@test "files of a given size; merged they are the model" {
    model mixtral
    try 0 amn-convert -o m.gguf --shard-size 1M mixtral
    [ "$(ls m-*.gguf | wc -l)" -gt 2 ]
    try 0 amn-convert --to gguf -o whole.gguf mixtral
    try 0 amn-convert --to gguf -o merged.gguf m-00001-of-*.gguf
    cmp whole.gguf merged.gguf
}

# bats test_tags=full
@test "size, ranges and parts match the whole, with any number of threads and any kernels" {
    for case in mixtral qwen2 gemma2 llama-wide qwen3-moe-stacked phi3-longrope; do
        model $case
        for tool in 'amn-convert --to gguf' 'amn-convert --to gguf --dtype f16' 'amn-forget -q --scheme q8_0'; do
            try 0 $tool $case
            mv out whole
            try 0 $tool --size $case
            [ "$(cat out)" -eq "$(stat -c %s whole)" ]
            for j in 1 4; do
                try 0 $tool -j $j $case
                cmp out whole
            done
            AMN_CPU=scalar try 0 $tool $case
            cmp out whole
            for i in 1 2 3 4 5; do
                try 0 $tool --part $i/5 $case
                mv out part.$i
            done
            cat part.? | cmp - whole
            n=$(stat -c %s whole)
            for a in 0 7 4099 $((n / 3)) $((n / 2 + 1)) $((n - 70001)); do
                for len in 1 33 70000; do
                    try 0 $tool --range $a-$((a + len - 1)) $case
                    tail -c +$((a + 1)) whole | head -c $len | cmp - out
                done
            done
        done
    done
}

@test "the plan has the places of the tensors and the input they need" {
    for case in mixtral gemma2 qwen3-moe-stacked; do
        model $case
        amn-convert --to gguf -o whole.gguf $case
        try 0 amn-convert --to gguf --plan $case
        jq -s '[.[] | select(.name) | {name, at: .offset, n: .nbytes}]' out >plan
        amn-parse whole.gguf | jq -s '[.[] | {name, at: .offset, n: .nbytes}]' | diff - plan
    done
    jq -se 'map(select(.name == "blk.0.ffn_gate_exps.weight")) | .[0].inputs | length > 0' out
}

# bats test_tags=full
@test "quantized weights are dequantized first" {
    model llama-wide
    model mixtral
    for case in llama-wide mixtral; do
        for scheme in fp8 nf4 int8; do
            rm -rf packed plain
            try 0 amn-forget -q --scheme $scheme -o packed/ $case
            try 0 amn-remember -q -o plain/ packed
            try 0 amn-convert --to gguf -o a.gguf packed
            try 0 amn-convert --to gguf -o b.gguf plain
            cmp a.gguf b.gguf
            rm a.gguf b.gguf plain/*
            try 0 amn-remember -q --to f32 -o plain/ packed
            try 0 amn-forget -q --scheme q4_k_m -o a.gguf packed
            try 0 amn-forget -q --scheme q4_k_m -o b.gguf plain
            cmp a.gguf b.gguf
            rm a.gguf b.gguf
        done
    done
}

@test "pytorch_model.bin instead of safetensors" {
    for case in llama-wide qwen3-moe gemma2; do
        model $case
        try 0 amn-convert --to gguf -o a.gguf $case
        model $case bin
        try 0 amn-convert --to gguf -o b.gguf $case
        amn-convert --to safetensors --order name --no-metadata a.gguf >a
        amn-convert --to safetensors --order name --no-metadata b.gguf >b
        cmp a b
        rm a.gguf b.gguf
    done
}

# bats test_tags=full
@test "to GGUF and then quantized, or quantized directly: the same bytes" {
    for case in llama-wide mixtral qwen2-moe llama-json gemma3; do
        model $case
        for scheme in q4_k_m q8_0 'q4_k_m --pure'; do
            try 0 amn-forget -q --scheme $scheme -o at-once.gguf $case
            amn-convert --to gguf $case | amn-forget -q --scheme $scheme >two-steps.gguf
            cmp at-once.gguf two-steps.gguf
            rm at-once.gguf
        done
    done
}

@test "F32 is quantized directly, without rounding first" {
    model llama-f32
    try 0 amn-forget -q --scheme q8_0 -o at-once.gguf llama-f32
    amn-convert --to gguf --dtype f32 llama-f32 | amn-forget -q --scheme q8_0 >two-steps.gguf
    cmp at-once.gguf two-steps.gguf
}

@test "a budget of bits" {
    model llama-wide
    try 0 amn-forget -q --target-bpw 5 -o out.gguf llama-wide
    names out.gguf | grep -q '^blk.2.attn_v.weight$'
    [ "$(key out.gguf general.architecture)" = llama ]
}

@test "safetensors of a directory keep their names" {
    model llama-wide
    try 0 amn-forget -q --scheme fp8 -o a/ llama-wide
    names a/model.safetensors | grep -q '^model.layers.0.self_attn.q_proj.weight$'
    amn-convert --to safetensors llama-wide >b
    cmp b llama-wide/model.safetensors || { names b >got; names llama-wide/model.safetensors | diff - got; }
}

@test "a reader that exits, and a full disk" {
    need_full
    model mixtral
    (amn-convert --to gguf mixtral 2>err; echo $? >status) | head -c 100 >/dev/null
    is_empty err
    out=/dev/full try 74 amn-convert --to gguf mixtral
}

# bats test_tags=full
@test "200 MB of permuted rows, and of a stack of experts: at most 16 MiB" {
    without_sanitizer
    changes=()
    for layer in 0 1 2; do
        changes+=("put=model.layers.$layer.self_attn.q_proj.weight:BF16:131072x256:zeros")
    done
    model llama-wide config.num_attention_heads=2048 config.num_key_value_heads=2 "${changes[@]}"
    changes=()
    for layer in 0 1; do
        for expert in 0 1 2 3; do
            for w in 1 2 3; do
                changes+=("put=model.layers.$layer.block_sparse_moe.experts.$expert.w$w.weight:BF16:16384x256:zeros")
            done
        done
    done
    model mixtral "${changes[@]}"
    for case in llama-wide mixtral; do
        for tool in 'amn-convert --to gguf' 'amn-convert --to gguf --dtype f32 -j 4' 'amn-forget -q --scheme q4_k_m' \
            'amn-forget -q --scheme q8_0 -j 2'; do
            kib=$("$peak_memory" $tool -f -o out.gguf $case)
            [ "$kib" -le 16384 ] || { echo "$kib KiB: $tool $case"; return 1; }
            [ "$(stat -c %s out.gguf)" -gt 50000000 ]
        done
    done
}

@test "a tokenizer file that exists and cannot be read: 66, with its name" {
    model llama3
    for name in generation_config.json added_tokens.json chat_template.jinja tekken.json; do
        [ ! -e llama3/$name ] || mv llama3/$name kept
        ln -s nowhere llama3/$name
        refuses 66 'cannot open' 'dangling symbolic link' llama3
        grep -q "llama3/$name" err
        rm llama3/$name
        [ ! -e kept ] || mv kept llama3/$name
    done
}

@test "NVFP4 weights become blocks, in both directions with the values of the directory" {
    model llama-wide
    try 0 amn-forget -q --scheme modelopt-nvfp4 -o quantized/ llama-wide
    try 0 amn-convert --to gguf -o out.gguf quantized
    amn-parse out.gguf | jq -se 'map({(.name): .dtype}) | add | .["blk.0.attn_q.weight"] == "NVFP4" and .["blk.0.attn_q.scale"] == "F32"'
    [ "$(key out.gguf general.file_type)" = 39 ]
    try 0 amn-convert --to gguf --dequantize -o plain.gguf quantized
    amn-parse plain.gguf | jq -se 'map(.dtype) | unique == ["BF16", "F32"]'
    try 0 amn-remember -q -o decoded/ quantized
    try 0 amn-convert -q --to hf -o back/ out.gguf
    for t in model.layers.0.self_attn.q_proj.weight model.layers.1.mlp.down_proj.weight; do
        cmp <(amn-convert -q --to raw --tensor $t decoded) <(amn-convert -q --to raw --tensor $t back)
    done
}

@test "MXFP4 experts one by one become blocks, and come back as the values of the directory" {
    "$helpers/hf-model" "$corpus/hf-text/kimi_k3-mxfp4" k3
    try 0 amn-convert --to gguf -o out.gguf k3
    [ "$(amn-parse out.gguf | jq -r 'select(.dtype == "MXFP4").name' | sort)" = "$(printf 'blk.%s.weight\n' \
        {1,2}.ffn_{down,gate,up}_exps)" ]
    try 0 amn-remember -q -o decoded/ k3
    try 0 amn-convert -q --to hf -o back/ out.gguf
    for t in 1.block_sparse_moe.experts.3.w1 2.block_sparse_moe.experts.0.w2; do
        # The blocks of GGUF have no -0.
        cmp <(amn-convert -q --to raw --tensor language_model.model.layers.$t.weight decoded | od -An -v -tx2 -w2 | sed 's/8000/0000/') \
            <(amn-convert -q --to raw --tensor model.layers.$t.weight back | od -An -v -tx2 -w2)
    done
}

@test "--family: a family file for an unknown class, its errors, and a draft of one" {
    model llama3
    try 0 amn-convert --to gguf -o built-in.gguf llama3
    model llama3 'config.architectures=["LlamaaForCausalLM"]'
    refuses 69 unsupported "unknown model class 'LlamaaForCausalLM'" llama3
    try 0 amn-convert --family-template llama3
    mv out mine.family
    [ "$(head -n 5 mine.family)" = "$(printf '%s\n' '# unverified' 'family  llama' 'class   LlamaaForCausalLM' \
        'hf      LlamaaForCausalLM llama' 'arch    llama')" ]
    refute grep -q '^# tensors without a row' mine.family
    grep -q '^# rows without a tensor' mine.family
    try 0 amn-convert --family mine.family --to gguf -o own.gguf llama3
    names own.gguf | diff - <(names built-in.gguf)
    [ "$(key own.gguf llama.block_count)" = "$(key built-in.gguf llama.block_count)" ]
    try 0 amn-forget -q --family mine.family --scheme q8_0 --size llama3
    sed -i 's/^arch .*/include _mine/' mine.family
    refuses 65 malformed "mine.family:5: found '_mine', expected the name of a fragment that exists" llama3 --family mine.family
    printf 'arch llama\n' >_mine.family         # next to the family
    try 0 amn-convert --family mine.family --to gguf -o next.gguf llama3
    cmp own.gguf next.gguf
    try 2 amn-convert --family mine.family --to gguf llama3/model.safetensors
    printf 'arch llama\nturn\n' >_mine.family
    refuses 65 malformed "_mine.family:2: found 'turn', expected a statement" llama3 --family mine.family
    refuses 66 'cannot open' none.family llama3 --family none.family
    try 2 amn-convert --family mine.family --to safetensors llama3
    try 65 amn-convert --family-template llama3/tokenizer.json
    sed -i 's/^class .*//' mine.family
    printf 'arch llama\n' >_mine.family
    refuses 65 malformed "expected the statement 'class'" llama3 --family mine.family
}

@test "by: two small tensors are one product in GGUF, and a product and ones on the way back" {
    k3() { rm -rf k3 && "$helpers/hf-model" "$corpus/hf-text/kimi_k3" k3 "$@"; }
    k3
    try 0 amn-convert --to gguf --dtype f32 -o out.gguf k3
    try 0 amn-convert -q --to hf -o back/ out.gguf
    cmp <(amn-convert -q --to raw --tensor blk.1.ffn_res_score.weight out.gguf) \
        <(amn-convert -q --to raw --tensor model.layers.1.mlp_res_proj.weight back)
    [ "$(amn-convert -q --to raw --tensor model.layers.1.mlp_res_norm.weight back | od -An -f -v | tr -s ' \n' '\n' | sort -u)" = "
1" ]
    try 0 amn-convert --to gguf --dtype f32 -o again.gguf back
    diff <(amn-parse --hash out.gguf | jq -c 'select(.name) | [.name, .sha256]') <(amn-parse --hash again.gguf | jq -c 'select(.name) | [.name, .sha256]')
    k3 drop=language_model.model.layers.1.mlp_res_norm.weight
    refuses 65 malformed 'the model lacks model.layers.1.mlp_res_norm.weight, which is multiplied by it' k3
    k3 put=language_model.model.output_attn_res_norm.weight:BF16:65
    refuses 65 malformed 'output_attn_res_norm.weight: shape [65]: its elements are not as many' k3
}

@test "check-classes: what another converter has that the families lack" {
    mkdir c f
    echo 'TEXT_MODEL_MAP: dict[str, str] = {"AForCausalLM": "a", "BForCausalLM": "b"}' >c/__init__.py
    echo 'MMPROJ_MODEL_MAP: dict[str, str] = {"AForCausalLM": "a"}' >>c/__init__.py
    printf 'family x\nclass CForCausalLM AForCausalLM # BForCausalLM\n' >f/x.family
    # A tower of a class is no text family of it, nor is the text a tower.
    printf 'family y\nkind  tower\nclass BForCausalLM\n' >f/y.family
    mkdir -p t/corpus && cp "$tests/check-classes" t/
    t/check-classes c --record f >out && false
    [ "$(cat out)" = "missing BForCausalLM b
additional CForCausalLM x
missing tower AForCausalLM a
additional tower BForCausalLM y
2 text classes, 1 missing; 1 tower classes, 1 missing; 0 modules changed" ]
    echo >c/b.py
    echo "# changed" >>c/__init__.py
    t/check-classes c f >out && false
    grep -q '^changed __init__$' out
    grep -q '^new b$' out
    echo 'class BForCausalLM' >>f/x.family
    t/check-classes c f --record >out && false
    sed -i 's/^class B/class AForCausalLM B/' f/y.family
    t/check-classes c f >out
    [ "$(tail -n 1 out)" = "2 text classes, 0 missing; 1 tower classes, 0 missing; 0 modules changed" ]
}
