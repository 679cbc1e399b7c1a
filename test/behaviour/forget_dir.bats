#!/usr/bin/env bats
# bats file_tags=full
# config.json of a model directory of amn-forget: unquantized modules, and several schemes.
# test/peers/peer_loaders.py reads it with the loaders.
load helper

# model TYPE NAME=ROWSxCOLS...: makes a directory m with these weights in BF16, named NAME.weight, or NAME if it ends with '!'.
model() {
    mkdir -p m
    python3 - "$@" <<'PYTHON'
import json, math, random, struct, sys
from modelfile import write
rnd = random.Random(5)
tensors = []
for word in sys.argv[2:]:
    name, shape = word.split("=")
    shape = [int(n) for n in shape.split("x")]
    name = name[:-1] if name.endswith("!") else name + ".weight"
    raw = b"".join(struct.pack("<f", rnd.gauss(0, 0.05))[2:] for _ in range(math.prod(shape)))
    tensors.append((name, "BF16", shape, raw))
write("m/model.safetensors", tensors)
json.dump({"model_type": sys.argv[1], "a": 1}, open("m/config.json", "w"))
PYTHON
}

# A router, a head, a norm, columns that are not a multiple of 128, and a weight that is too small.
usual() {
    model llama embed_tokens=64x128 lm_head=64x128 l.0.q_proj=64x128 l.0.k_proj=64x128 l.0.mlp.gate=4x128 l.0.odd=64x72 \
        l.0.norm=128 l.0.small=8x128 l.1.q_proj=64x128 l.1.k_proj=64x128 l.1.mlp.gate=4x128
}

# forgets SCHEME [OPTION...]: makes the directory d from m.
forgets() {
    rm -rf d
    try 0 amn-forget --scheme "$@" -o d/ m/
}

# says FILTER JSON: compares quantization_config.
says() {
    jq -c ".quantization_config | $1" d/config.json >got
    diff got - <<<"$2"
}

# warns [TEXT]: one warning with this text, or none, besides those of weights that do not fit.
warns() {
    grep warning: err | grep -v 'weights not quantized' >warnings || true
    if [ -z "${1:-}" ]; then
        [ ! -s warnings ]
    else
        [ "$(wc -l <warnings)" -eq 1 ] && grep -qF -- "$1" warnings
    fi || { cat err; return 1; }
}

stay='"l.0.mlp.gate","l.0.small","l.1.mlp.gate","lm_head"'
odd='"l.0.mlp.gate","l.0.odd","l.0.small","l.1.mlp.gate","lm_head"'

# bats test_tags=full
@test "routers, heads, small weights and ragged columns are in the ignore list of each loader" {
    usual
    for s in fp8 fp8-division fp8-ue8m0; do
        forgets $s
        warns
        says .modules_to_not_convert "[$stay]"
    done
    for s in int8 nf4 fp4-double-quant; do
        forgets $s
        warns
        says .llm_int8_skip_modules "[$stay]"
    done
    for s in fp8-per-channel fp8-per-tensor int8-channel; do
        forgets $s
        says .ignore "[$stay]"
        says '.config_groups | map(.targets)' '[["Linear"]]'
    done
    for s in int4-group mxfp4 mxfp8 nvfp4 modelopt-mxfp4 modelopt-nvfp4; do
        forgets $s
        [ $s = modelopt-mxfp4 ] || warns
        says .ignore "[$odd]"
    done
    forgets awq
    says .modules_to_not_convert "[$odd]"
    forgets gptq
    warns
    says .modules_in_block_to_quantize '[["k_proj","q_proj"]]'
    says '.dynamic | keys_unsorted' '["-:lm_head$","-:l\\.\\d+\\.mlp\\.gate$","-:l\\.\\d+\\.odd$","-:l\\.\\d+\\.small$"]'
    forgets mlx-4bit
    says . '{"group_size":64,"bits":4,"mode":"affine"}'
}

@test "--exclude, --include and --tensor-type add to the list; a quantized head is removed from it" {
    usual
    forgets nf4 --exclude '*.1.k_proj.*'
    says .llm_int8_skip_modules '["l.0.mlp.gate","l.0.small","l.1.k_proj","l.1.mlp.gate","lm_head"]'
    forgets int8-channel --tensor-type 'q_proj=f16'
    says .ignore '["l.0.mlp.gate","l.0.q_proj","l.0.small","l.1.mlp.gate","l.1.q_proj","lm_head"]'
    forgets fp8 --tensor-type 'lm_head=fp8'
    says .modules_to_not_convert '["l.0.mlp.gate","l.0.small","l.1.mlp.gate"]'
    forgets gptq --exclude '*.1.q_proj.*'
    says .modules_in_block_to_quantize '[["l.0.k_proj","l.0.q_proj","l.1.k_proj"]]'
    says '.dynamic | has("-:l\\.1\\.q_proj$")' true
    forgets gptq --tensor-type 'lm_head=gptq'
    says .lm_head true
    warns 'the output head is quantized'
    forgets nf4 --tensor-type 'embed_tokens=nf4'
    warns 'cannot read quantized embeddings'
    forgets int8-channel --tensor-type 'embed_tokens=int8-channel'
    warns
    says .config_groups.group_0.targets '["Linear","embed_tokens"]'
}

@test "if only embeddings stay, the loader's default list applies, which excludes a tied head; else the head is listed" {
    model llama embed_tokens=64x128 l.0.q_proj=64x128
    forgets nf4
    says .llm_int8_skip_modules null
    forgets int8-channel
    says .ignore '["lm_head"]'
    model llama embed_tokens=64x128 l.0.q_proj=64x128 l.0.mlp.gate=4x128
    forgets nf4
    says '.llm_int8_skip_modules[0:2]' '["l.0.mlp.gate","lm_head"]'
}

@test "a name that is a prefix or suffix of another one is an expression for transformers" {
    model llama proj=8x128 l.0.q_proj=64x128 l.0.gate=4x128 l.0.gate.up=64x128 'a+b=8x128' lm_head=64x128
    forgets nf4 --tensor-type 'gate\.up=nf4'
    says .llm_int8_skip_modules '["a\\+b$","l\\.0\\.gate$","lm_head","proj$"]'
    forgets mxfp4 --tensor-type 'gate\.up=mxfp4'
    says .ignore '["a+b","l.0.gate","lm_head","proj"]'
}

@test "several schemes: one config if the loader supports it, else a warning" {
    usual
    forgets int8-channel --tensor-type '0.q_proj=nvfp4' --tensor-type '1.q_proj=fp8-per-tensor'
    warns
    says .format '"mixed-precision"'
    says '.config_groups | map([.targets, .format])' \
        '[[["Linear"],"int-quantized"],[["l.0.q_proj"],"nvfp4-pack-quantized"],[["l.1.q_proj"],"float-quantized"]]'
    forgets mlx-4bit --tensor-type '0.q_proj=mlx-8bit'
    warns
    says '.["l.0.q_proj"]' '{"group_size":64,"bits":8,"mode":"affine"}'
    jq -e '.quantization == .quantization_config' d/config.json
    forgets nf4 --tensor-type '0.q_proj=fp4-double-quant'
    warns
    forgets gptq --tensor-type 'q_proj=gptq-8bit'
    warns 'transformers reads all of them as 4 bits'
    says '.dynamic["+:l\\.\\d+\\.q_proj$"]' '{"bits":8}'
    forgets nf4 --tensor-type 'q_proj=int8'
    warns 'config.json can declare only bitsandbytes NF4, so its loader cannot read l.0.q_proj and 1 more (bitsandbytes INT8)'
    forgets fp8 --tensor-type 'q_proj=fp8-ue8m0'
    warns 'can declare only'
    forgets fp8 --tensor-type 'q_proj=fp8-division'
    warns
    try 0 amn-forget --scheme nf4 --tensor-type 'q_proj=int8' m/
    warns
}

@test "experts that transformers does not join: a warning before anything is written" {
    experts=
    for i in 0 1; do experts="$experts l.0.mlp.experts.$i.up_proj=64x128 l.1.mlp.experts.$i.up_proj=64x128"; done
    # shellcheck disable=SC2086
    model mixtral embed_tokens=64x128 lm_head=64x128 l.0.q_proj=64x128 $experts
    for s in fp8 fp8-per-channel int4-group mxfp4; do
        forgets $s
        warns
    done
    for s in nf4 int8 int8-channel mxfp8 nvfp4 gptq awq; do
        forgets $s
        warns 'l.0.mlp.experts.0.up_proj and 3 more: transformers 5 merges experts, and cannot read them as'
    done
    forgets int4-group --asymmetric
    grep -qF 'cannot read them as compressed-tensors INT4' err
    grep -qF 'reads zero points of groups only with "dequantize": true' err
    try 0 amn-forget --scheme nf4 --dry-run -o new/ m/
    warns 'merges experts'
    [ ! -e new ]
    forgets fp8 --exclude '*.0.*.experts.*'
    warns
    says '.modules_to_not_convert[-2:]' '["lm_head","l.0.mlp.experts"]'
    forgets fp8 --exclude '*.experts.1.*'
    warns 'l.0.mlp.experts and 1 more: only some of these experts are quantized'
    forgets nf4 --exclude '*.experts.*'
    warns
    forgets mxfp4 --exclude '*.experts.*'
    warns 'cannot read unquantized ones in a model with compressed-tensors MXFP4'
    forgets int8-channel --tensor-type 'experts=fp8-per-channel' --tensor-type 'q_proj=int8-channel'
    says '.config_groups | map(.targets[0])' '["Linear","l.0.q_proj"]'
}

@test "weights that transformers transposes or divides into other blocks: a warning" {
    model gpt2 h.0.c_attn=64x128
    for s in nf4 fp8 int8-channel gptq; do
        forgets $s
        warns 'are transposed'
    done
    forgets mlx-4bit
    warns
    model llama l.0.q_proj=160x128 l.0.k_proj=64x128
    forgets fp8
    warns 'l.0.q_proj.weight: dimensions are not multiples of 128'
    model llama l.0.q_proj=96x64
    forgets fp8
    warns
}

@test "schemes that vLLM refuses: a warning with the name, before anything is written" {
    model llama l.0.q_proj=64x512 l.1.q_proj=64x512
    while read -r how text; do
        # shellcheck disable=SC2086
        forgets ${how//+/ }
        grep -v transformers err >vllm
        mv vllm err
        warns "l.0.q_proj.weight and 1 more: vLLM 0.32 does not support $text"
    done <<'END'
modelopt-mxfp4 ModelOpt's MXFP4
int8-channel+--asymmetric INT8 with zero points
gptq+--asymmetric GPTQ with zero points
gptq-8bit+--asymmetric GPTQ with zero points
gptq+--group-size+256 groups of more than 128
awq+--group-size+512 groups of more than 128
int4-group+--group-size+256 groups of more than 128
END
    for how in int8-channel gptq 'gptq --group-size 64' 'awq --group-size 32' int4-group modelopt-nvfp4; do
        # shellcheck disable=SC2086
        forgets $how
        warns
    done
    forgets gptq --asymmetric --dry-run
    grep -q 'vLLM 0.32 does not support' err
}

@test "schemes that config.json cannot declare: a warning that names what reads them" {
    local s
    model llama l.0.q_proj=128x128 l.1.q_proj=128x128
    for s in 'fp8-e5m2=FP8 E5M2 by blocks' 'fp8-fine-grained-e5m2=FP8 E5M2 by blocks' 'fp8-per-channel-e5m2=FP8 E5M2 by rows' \
        'fp8-per-tensor-e5m2=FP8 E5M2 by tensors'; do
        forgets ${s%=*}
        warns "l.0.q_proj.weight and 1 more: config.json cannot declare ${s#*=}, so no loader can read the weights"
        jq -e 'has("quantization_config") | not' d/config.json
    done
    for s in fp8 int8 mxfp8 nvfp4; do
        forgets comfy-$s
        warns "l.0.q_proj.weight and 1 more: config.json cannot declare ComfyUI ${s^^}, so only ComfyUI can read the weights"
        jq -e 'has("quantization_config") | not' d/config.json
    done
    forgets fp8 --tensor-type l.1=comfy-fp8
    warns "l.1.q_proj.weight: config.json cannot declare ComfyUI FP8, so only ComfyUI can read the weights"
    rm m/config.json                    # a directory that is not for transformers
    forgets comfy-fp8
    warns
}

# bats test_tags=full
@test "thousands of unquantized experts take no noticeable time" {
    # shellcheck disable=SC2046
    model mixtral l.0.q_proj=64x128 $(for i in $(seq 1 12000); do echo "l.0.mlp.experts.$i.w=1x2"; done)
    for s in nf4 gptq int8-channel; do
        rm -rf d
        timeout 30 amn-forget -q --scheme $s -o d/ m/ 2>/dev/null
    done
    says '.ignore | length' 12001
    timeout 30 amn-forget -q --scheme nf4 -o e/ m/
    [ "$(jq '.quantization_config.llm_int8_skip_modules | length' e/config.json)" -eq 12004 ]
}

@test "ModelSlim, Quark, Gemma, MiniMax and AutoRound: what their loaders read, and the same scheme read back" {
    "$helpers/weights" model.safetensors m.a.weight=BF16:64x256 m.norm.weight=BF16:1x256
    mkdir in
    mv model.safetensors in
    echo '{"model_type": "qwen3"}' >in/config.json
    for s in modelslim-w8a8 modelslim-w4a8 quark-int4 gemma-8bit gemma-4bit minimax-mxfp8 nvfp4-e5m3; do
        amn-forget -q --scheme $s -o $s/ in
        [ "$(amn-inspect --json $s | jq -r '.. | .scheme? // empty' | grep -c "^$s$")" -ge 1 ]
        amn-remember -q --to f32 -o $s.safetensors $s
        amn-forget -q --exact=f32 --scheme $s -o again/ $s
        cmp $s/model.safetensors again/model.safetensors
        rm -r again
    done
    jq -e '.quant_method == "mxfp8" and .weight_block_size == [1, 32]' <(jq .quantization_config minimax-mxfp8/config.json)
    jq -e '.quant_method == "gemma" and .num_bits == 4' <(jq .quantization_config gemma-4bit/config.json)
    jq -e '.export.pack_method == "reorder" and .global_quant_config.weight.group_size == 128' <(jq .quantization_config quark-int4/config.json)
    jq -e '.quant_method == "auto-round" and .packing_format == "auto_round:llm_compressor_nvfp4_e5m3"' \
        <(jq .quantization_config nvfp4-e5m3/config.json)
    "$helpers/tensors" <quark-int4/model.safetensors | grep -q 'm.a.weight_zero_point I32 \[2, 8\]'
    for s in modelslim-w8a8=W8A8_DYNAMIC modelslim-w4a8=W4A8_DYNAMIC; do
        folder=${s%=*}
        jq -e 'has("quantization_config") | not' $folder/config.json
        jq -e --arg word "${s#*=}" '.model_quant_type == $word and ."m.a.weight" == $word and ."m.a.weight_scale" == $word
            and ."m.norm.weight" == "FLOAT"' $folder/quant_model_description.json
    done
    amn-remember -q -o back/ modelslim-w8a8
    [ ! -e back/quant_model_description.json ]
}
