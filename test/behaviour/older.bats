#!/usr/bin/env bats
# Other layouts of the same models: GGUF files of older converters and of Ollama, directories of other versions. helpers/older-gguf
# makes the files from those whose bytes agree with llama.cpp's converter (check-hf). What comes back must be what comes back from
# the usual layout, and the weights those of the directory.
load helper

# Makes ./CASE, CASE.gguf, and CASE-back/ from that.
usual() {
    "$helpers/hf-model" "$corpus/hf-models/$1" "$1"
    try 0 amn-convert -q --to gguf -o "$1.gguf" "$1"
    try 0 amn-convert -q --to hf -o "$1-back/" "$1.gguf"
}

# older CASE CHANGE...: CASE comes back the same in another layout.
older() {
    case=$1
    shift
    [ -e "$case" ] || usual "$case"
    [ -e "$case-back" ] || try 0 amn-convert -q --to hf -o "$case-back/" "$case.gguf"
    rm -rf other.gguf other
    "$helpers/older-gguf" "$case.gguf" other.gguf "$@"
    refute cmp -s "$case.gguf" other.gguf
    try 0 amn-convert --to hf -o other/ other.gguf
    diff -r "$case-back" other || { echo "$case: $*"; return 1; }
}

# same_weights A B: every tensor of A is in B with the same type, shape and bytes, and no other.
same_weights() {
    amn-parse --hash "$1" | jq -S -c 'select(.name) | [.name, .dtype, .shape, .sha256]' | sort >weights.a
    amn-parse --hash "$2" | jq -S -c 'select(.name) | [.name, .dtype, .shape, .sha256]' | sort >weights.b
    cmp weights.a weights.b
}

member() {
    got=$(jq -c "$2" "$1")
    [ "$got" = "$3" ] || { echo "$1: $2 is $got, expected $3"; return 1; }
}

@test "queries, keys and values in one tensor, in every family that llama.cpp joins" {
    for path in "$corpus"/hf-models/*; do
        case=${path##*/}
        case $case in deepseek_v3* | glm4_moe_lite | kimi* | mamba* | youtu | modernbert | neobert | nomic_bert* | plamo* | rwkv* | phi3* | phi4 | t5*) continue ;; esac
        older "$case" fuse-qkv
        refute grep -q attn_qkv err
        rm -r "$case" "$case-back" "$case.gguf"
    done
}

@test "joined tensors: the weights of the directory, from a pipe, and of quantized blocks" {
    for case in llama3 qwen2 qwen3_next; do
        older $case fuse-qkv
        same_weights $case other
    done
    "$helpers/older-gguf" qwen2.gguf fused.gguf fuse-qkv
    cat fused.gguf | try 0 amn-convert -q --to hf -o piped/ -
    diff -r qwen2-back piped
    usual llama-wide
    "$helpers/older-gguf" llama-wide.gguf fused.gguf fuse-qkv
    for file in llama-wide fused; do
        try 0 amn-forget -q --scheme q8_0 -o q8-$file.gguf $file.gguf
        try 0 amn-convert -q --to hf -o q8-$file/ q8-$file.gguf
    done
    diff -r q8-llama-wide q8-fused
}

# bats test_tags=broken
@test "a joined tensor that the keys contradict is malformed" {
    usual qwen2
    "$helpers/older-gguf" qwen2.gguf bad.gguf fuse-qkv set=attention.head_count_kv:1
    try 65 amn-convert --to hf -o x/ bad.gguf
    grep -q 'blk.0.attn_qkv.weight: it has [0-9]* rows, but .* are [0-9]* by the keys' err
    [ ! -e x ]
    "$helpers/older-gguf" qwen2.gguf bad.gguf fuse-qkv set=attention.head_count_kv:0
    try 65 amn-convert --to hf -o x/ bad.gguf
}

@test "DeepSeek before April 2025: attn_kv_b" {
    for case in deepseek_v3 deepseek_v3-lite; do
        older $case kv-b
        same_weights $case other
    done
}

@test "Qwen3-Next and Qwen3.5: ssm_in, no attention.recurrent_layers, names of Ollama" {
    older qwen3_next ssm-in
    same_weights qwen3_next other
    for case in qwen3_next qwen3_5 qwen3_5_moe; do
        older $case drop=attention.recurrent_layers
        older $case drop=attention.recurrent_layers drop=full_attention_interval
        older $case name=ssm_dt.bias:ssm_dt
    done
    layers=$(jq -c '[.layer_types[] | if . == "full_attention" then 2 else 0 end]' qwen3_5-back/config.json)
    kv=$(jq .num_key_value_heads qwen3_5-back/config.json)
    older qwen3_5 drop=attention.recurrent_layers drop=full_attention_interval "set=attention.head_count_kv:${layers//2/$kv}"
    older qwen3_5 fuse-qkv drop=attention.recurrent_layers name=ssm_dt.bias:ssm_dt
}

@test "an interval between layers of full attention" {
    usual qwen3_5
    moved qwen3_5 two "
kept = {n: t for n, t in tensors.items() if '.layers.' not in n or n.startswith('mtp.')}
for i in range(2):
    kept.update((n.replace('.layers.%d.' % (i + 2), '.layers.%d.' % i), t) for n, t in tensors.items() if '.layers.%d.' % (i + 2) in n)
tensors = kept
text = config.get('text_config', config)
text.update(num_hidden_layers=2, layer_types=['linear_attention', 'full_attention'], full_attention_interval=2)"
    try 0 amn-convert -q --to gguf -o two.gguf two
    older two drop=attention.recurrent_layers
    member other/config.json .layer_types '["linear_attention","full_attention"]'
    "$helpers/older-gguf" qwen3_5.gguf bad.gguf drop=attention.recurrent_layers set=full_attention_interval:2
    try 65 amn-convert --to hf -o x/ bad.gguf
    grep -q blk.1. err
}

@test "architectures, tensors and keys of Ollama" {
    older gpt_oss arch=gptoss name=.attn_output:.attn_out name=.attn_sinks.weight:.attn_sinks name=.post_attention_norm:.ffn_norm \
        drop=expert_feed_forward_length
    older olmo2-window arch=olmo3
    older qwen2 arch=qwen25vl
    older lfm2 name=token_embd_norm:output_norm set=feed_forward_length:12288
    older mistral3 key=rope.scaling.yarn_beta_fast:rope.scaling.beta_fast key=rope.scaling.yarn_beta_slow:rope.scaling.beta_slow \
        key=rope.scaling.yarn_log_multiplier:rope.scaling.mscale_all_dim key=attention.temperature_scale:rope.scaling_beta
    older gemma3 key=rope.freq_base:rope.global.freq_base key=rope.freq_base_swa:rope.local.freq_base
}

@test "GLM-4.7-Flash of Ollama: lengths of heads, and the class" {
    usual glm4_moe_lite
    "$helpers/older-gguf" glm4_moe_lite.gguf other.gguf key=attention.key_length:old key=attention.key_length_mla:attention.key_length key=old:attention.key_length_mla \
        key=attention.value_length:old key=attention.value_length_mla:attention.value_length key=old:attention.value_length_mla \
        arch=glm4moelite
    try 0 amn-convert -q --to hf -o other/ other.gguf
    same_weights glm4_moe_lite-back other
    for name in qk_nope_head_dim qk_rope_head_dim v_head_dim kv_lora_rank num_key_value_heads; do
        member other/config.json ".$name" "$(jq ".$name" glm4_moe_lite/config.json)"
    done
    member other/config.json .model_type '"glm4_moe_lite"'
}

@test "a number for each layer where config.json has one for all" {
    usual qwen3
    n=$(jq .num_hidden_layers qwen3-back/config.json)
    kv=$(jq .num_key_value_heads qwen3-back/config.json)
    older qwen3 "set=attention.head_count_kv:$(jq -nc "[range($n) | $kv]")"
    "$helpers/older-gguf" qwen3.gguf bad.gguf "set=attention.head_count_kv:$(jq -nc "[range($n) | . + 1]")"
    try 69 amn-convert --to hf -o x/ bad.gguf
    grep -q 'attention.head_count_kv differs between layers' err
}

@test "Gemma 3 of Ollama with pictures: keys that the file lacks" {
    usual gemma3
    "$helpers/older-gguf" gemma3.gguf bare.gguf drop=rope.freq_base drop=rope.freq_base_swa drop=attention.layer_norm_rms_epsilon \
        set=context_length:131072
    try 0 amn-convert -q --to hf -o bare/ bare.gguf
    member bare/config.json '.rope_parameters.full_attention | [.rope_theta, .rope_type, .factor]' '[1000000,"linear",8]'
    member bare/config.json .rope_parameters.sliding_attention.rope_theta 10000
    grep -q '"rms_norm_eps": 1e-06' bare/config.json
}

@test "windows: a flag for each layer, or another period" {
    usual gemma3
    n=$(jq .num_hidden_layers gemma3-back/config.json)
    "$helpers/older-gguf" gemma3.gguf two.gguf set=attention.sliding_window_pattern:2
    try 0 amn-convert -q --to hf -o two/ two.gguf
    member two/config.json '.layer_types[:4]' '["sliding_attention","full_attention","sliding_attention","full_attention"]'
    member two/config.json .sliding_window_pattern 2
    member gemma3-back/config.json .sliding_window_pattern 6
}

@test "towers in the file: the text model comes out, with one warning" {
    usual gemma3
    "$helpers/older-gguf" gemma3.gguf tower.gguf tensor=v.patch_embedding.weight tensor=v.blk.0.attn_q.weight tensor=mm.mm_soft_emb_norm.weight \
        set=vision.block_count:1 set=mm.tokens_per_image:16
    try 0 amn-convert --to hf -o other/ tower.gguf
    diff -r gemma3-back other
    grep -q 'warning: 3 tensors of a vision .*(v\.\*, mm\.\*) are left out' err
    [ "$(grep -c warning err)" = 1 ]
    "$helpers/older-gguf" gemma3.gguf more.gguf tensor=vision.weight
    try 65 amn-convert --to hf -o x/ more.gguf
    grep -q vision.weight err
}

@test "BERT is lower case unless the file says otherwise, in both files of the tokenizer" {
    usual bert
    for flag in true false; do
        amn-convert -q -f --gguf-kv tokenizer.ggml.normalizer.lowercase=$flag -o case.gguf bert.gguf
        try 0 amn-convert -q -f --to hf -o case/ case.gguf
        member case/tokenizer.json .normalizer.lowercase $flag
        member case/tokenizer_config.json .do_lower_case $flag
    done
    "$helpers/older-gguf" case.gguf none.gguf drop=tokenizer.ggml.normalizer.lowercase
    try 0 amn-convert -q --to hf -o none/ none.gguf
    member none/tokenizer.json .normalizer.lowercase true
    member none/tokenizer_config.json .do_lower_case true
    amn-convert -q -f --gguf-kv tokenizer.ggml.pre=whitespace -o white.gguf none.gguf
    try 0 amn-convert -q --to hf -o white/ white.gguf
    member white/tokenizer.json .normalizer.lowercase false
}

@test "embedding models: how sentence-transformers pools" {
    usual qwen3
    [ ! -e qwen3-back/modules.json ]
    i=0
    for mode in pooling_mode_mean_tokens pooling_mode_cls_token pooling_mode_lasttoken; do
        i=$((i + 1))
        "$helpers/older-gguf" qwen3.gguf pool.gguf set=pooling_type:$i
        try 0 amn-convert -q -f --to hf -o pool/ pool.gguf
        member pool/1_Pooling/config.json "[.[] | select(. == true)]" '[true]'
        member pool/1_Pooling/config.json .$mode true
        member pool/1_Pooling/config.json .word_embedding_dimension "$(jq .hidden_size qwen3-back/config.json)"
        member pool/modules.json '.[1].path' '"1_Pooling"'
        try 0 amn-convert -q -f --to gguf -o again.gguf pool
        [ "$(amn-inspect again.gguf | jq -c '.metadata["qwen3.pooling_type"]')" = $i ]
    done
    "$helpers/older-gguf" qwen3.gguf pool.gguf set=pooling_type:0
    try 0 amn-convert -q --to hf -o none/ pool.gguf
    [ ! -e none/modules.json ]
}

@test "numbers of F32 are the shortest decimals, in lists, too" {
    usual phi3-longrope
    python3 -c "
import json, struct
def f32(x): return struct.unpack('<f', struct.pack('<f', x))[0]
lists = [json.load(open('phi3-longrope%s/config.json' % s))['rope_scaling']['long_factor'] for s in ('', '-back')]
for said, got in zip(*lists):
    digits = next(n for n in range(1, 10) if f32(float('%.*g' % (n, f32(said)))) == f32(said))
    assert repr(got) == repr(float('%.*g' % (digits, f32(said)))) or got == int(got), (said, got)
assert len(lists[0]) == len(lists[1])"
    usual deepseek_v3
    "$helpers/older-gguf" deepseek_v3.gguf x.gguf set=rope.scaling.type:'"yarn"' set=rope.scaling.factor:1.05 \
        set=rope.scaling.yarn_log_multiplier:0.0003
    try 0 amn-convert -q --to hf -o x/ x.gguf
    member x/config.json .rope_parameters.mscale_all_dim 0.003
    member x/config.json .rope_parameters.factor 1.05
}

@test "the tokenizer of a file whose converter did not know it is that of the family" {
    usual gpt_oss
    amn-convert -q --gguf-kv tokenizer.ggml.pre=default -o default.gguf gpt_oss.gguf
    try 0 amn-convert --to hf -o default/ default.gguf
    grep -q "tokenizer.ggml.pre is 'default'.*'gpt-4o'" err
    cmp gpt_oss-back/tokenizer.json default/tokenizer.json
    usual qwen3
    amn-convert -q -f --gguf-kv tokenizer.ggml.pre=default -o default.gguf qwen3.gguf
    try 69 amn-convert --to hf -o x/ default.gguf
    grep -q "unknown pre-tokenizer 'default'" err
}

@test "general.file_type 4 of Ollama's gpt-oss is MXFP4" {
    for type in 39:17 3:20; do
        python3 -c "
import sys
sys.path.insert(0, '$helpers')
from modelfile import gguf
sys.stdout.buffer.write(gguf([('general.architecture', 'str', 'gptoss'), ('general.file_type', 'u32', 4)],
    [('blk.0.ffn_gate_exps.weight', ${type%:*}, (1, 32), bytes(${type#*:}))]))" >file.gguf
        amn-inspect file.gguf | jq -r .gguf.file_type
    done >types
    [ "$(head -1 types)" = 'MXFP4 MoE' ]
    [ "$(tail -1 types)" != 'MXFP4 MoE' ]
}

# moved CASE FROM TO CHANGES: a directory TO with the tensors of FROM that CHANGES, Python code, moves; `config` are its members.
moved() {
    cp -r "$1" "$2"
    rm "$2"/*.safetensors*
    PYTHONPATH=$helpers python3 -c "
import glob, json, sys
from modelfile import read, write
tensors = {}
for path in sorted(glob.glob('$1/*.safetensors')):
    tensors.update(read(path))
config = json.load(open('$1/config.json'))
def rows(t): return len(t[2]) // t[1][0]
def join(a, b): return (a[0], [a[1][0] + b[1][0]] + a[1][1:], a[2] + b[2])
def one(t, i): return (t[0], t[1][1:], t[2][i * rows(t):(i + 1) * rows(t)])
def some(t, which):
    n = rows(t)
    return (t[0], [len(which)] + t[1][1:], b''.join(t[2][i * n:(i + 1) * n] for i in which))
def transposed(t):
    r, c = t[1]
    size = len(t[2]) // (r * c)
    return (t[0], [c, r], b''.join(t[2][(i * c + j) * size:(i * c + j + 1) * size] for j in range(c) for i in range(r)))
$3
write('$2/model.safetensors', [(n,) + tuple(t) for n, t in sorted(tensors.items())])
json.dump(config, open('$2/config.json', 'w'))"
}

# same_file A B: GGUF files with the same tensors and keys, but for names.
same_file() {
    for file in "$1" "$2"; do
        amn-parse --hash "$file" | jq -S -c 'select(.name) | [.name, .dtype, .shape, .sha256]' | sort >"$file.tensors"
        amn-inspect --arrays "$file" | jq -S '.metadata | with_entries(select(.key | test("^general.(name|basename|finetune|size_label|version|organization)") | not))' >"$file.keys"
    done
    cmp "$1.tensors" "$2.tensors" && diff "$1.keys" "$2.keys"
}

@test "Granite 4 without experts" {
    usual granite
    moved granite four "
for n in [n for n in tensors if n.endswith('.mlp.gate_proj.weight')]:
    p = n[:-len('mlp.gate_proj.weight')]
    tensors[p + 'shared_mlp.input_linear.weight'] = join(tensors.pop(n), tensors.pop(p + 'mlp.up_proj.weight'))
    tensors[p + 'shared_mlp.output_linear.weight'] = tensors.pop(p + 'mlp.down_proj.weight')
config.update(architectures=['GraniteMoeHybridForCausalLM'], model_type='granitemoehybrid', num_local_experts=0, num_experts_per_tok=0,
    layer_types=['attention'] * config['num_hidden_layers'], position_embedding_type='rope',
    shared_intermediate_size=config['intermediate_size'])"
    try 0 amn-convert --to gguf -o four.gguf four
    same_file granite.gguf four.gguf
    # Experts and Mamba layers need tensors that the model lacks.
    for change in 65:'.num_local_experts = 4' 65:'.layer_types[0] = "mamba"' 65:'.layer_types = null' 69:'.position_embedding_type = null'; do
        jq "${change#*:}" four/config.json >c.json
        cp four/config.json keep.json
        cp c.json four/config.json
        try "${change%%:*}" amn-convert --to gguf -o x.gguf four
        refute grep -q 'did you mean' err
        cp keep.json four/config.json
    done
}

@test "experts of Granite: names of transformers 5, and one by one" {
    usual granitemoe
    moved granitemoe five "
for old, new in (('input_linear.weight', 'experts.gate_up_proj'), ('output_linear.weight', 'experts.down_proj'), ('router.layer', 'router')):
    tensors = {n.replace('block_sparse_moe.' + old, 'block_sparse_moe.' + new): t for n, t in tensors.items()}"
    try 0 amn-convert -q --to gguf -o five.gguf five
    same_file granitemoe.gguf five.gguf
    moved granitemoe single "
for n in [n for n in tensors if n.endswith('moe.input_linear.weight')]:
    p = n[:-len('input_linear.weight')]
    both, down = tensors.pop(n), tensors.pop(p + 'output_linear.weight')
    for e in range(both[1][0]):
        t = one(both, e)
        half = t[1][0] // 2
        tensors[p + 'experts.%d.gate_proj.weight' % e] = some(t, range(half))
        tensors[p + 'experts.%d.up_proj.weight' % e] = some(t, range(half, 2 * half))
        tensors[p + 'experts.%d.down_proj.weight' % e] = one(down, e)"
    try 0 amn-convert -q --to gguf -o single.gguf single
    same_file granitemoe.gguf single.gguf
}

@test "experts of gpt-oss one by one" {
    usual gpt_oss
    moved gpt_oss single "
for n in [n for n in tensors if n.endswith('.experts.gate_up_proj')]:
    p = n[:-len('gate_up_proj')]
    both, bias, down, down_bias = (tensors.pop(p + s) for s in ('gate_up_proj', 'gate_up_proj_bias', 'down_proj', 'down_proj_bias'))
    for e in range(both[1][0]):
        t, b = transposed(one(both, e)), one(bias, e)
        for i, name in enumerate(('gate_proj', 'up_proj')):
            tensors[p + '%d.%s.weight' % (e, name)] = some(t, range(i, t[1][0], 2))
            tensors[p + '%d.%s.bias' % (e, name)] = some(b, range(i, b[1][0], 2))
        tensors[p + '%d.down_proj.weight' % e] = transposed(one(down, e))
        tensors[p + '%d.down_proj.bias' % e] = one(down_bias, e)"
    try 0 amn-convert -q --to gguf -o single.gguf single
    same_file gpt_oss.gguf single.gguf
}

@test "a GGUF file and a directory are compared by the family; of an unknown class, a warning says how" {
    usual llama3
    try 0 amn-inspect --diff llama3.gguf llama3
    try 0 amn-inspect --diff llama3 llama3.gguf
    cp -r llama3 unknown
    jq '.architectures = ["Nobody"]' llama3/config.json >unknown/config.json
    try 1 amn-inspect --diff llama3.gguf unknown
    grep -q 'names are not those of GGUF: .*Nobody' err
    grep -q 'amn convert --to gguf --dtype f32 -o - unknown | amn diff llama3.gguf -' err
    amn-convert -q --to gguf --dtype f32 llama3 >f32.gguf
    amn-inspect --diff llama3.gguf f32.gguf | jq -r 'select(.name).status' | sort -u >status
    refute grep -qE 'different|only' status
}

# bats test_tags=broken
@test "statements of a family about names in GGUF files" {
    cp "$tests/../families/llama.family" ok.family
    usual llama-wide
    for line in 'alias blk.{b}.x.* blk.{b}.attn_q.weight' 'alias x.*.y z' 'alias blk.{c}.x y' 'split x a 1 b' 'split x a 1 *b 2' \
        'split x a )' 'alias x' 'fallback x' 'fallback x (' 'split x a 1'; do
        { cat ok.family; echo "$line"; } >bad.family
        try 65 amn-convert --to hf --family bad.family -o x/ llama-wide.gguf
        grep -q 'bad.family:[0-9]*: found' err || { cat err; return 1; }
    done
    printf 'alias blk.{b}.ffn_gate.weight blk.{b}.ffn_up.weight\n' >>ok.family
    try 65 amn-convert --to hf --family ok.family -o x/ llama-wide.gguf
    [ ! -e x ]
}
