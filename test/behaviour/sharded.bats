#!/usr/bin/env bats
# Checkpoints of training jobs, one file or more of each rank, read as one model: test/cases-shards has what torch, DeepSpeed and
# Megatron wrote, and what comes out. Here: other tools and outputs than its check uses, options, and messages.
# bats file_tags=fast
load helper

cases=$BATS_TEST_DIRNAME/../cases-shards

# whole CASE [ARG...]: converts a case to w.safetensors.
whole() {
    local case=$1
    shift
    try 0 amn-convert -q "$@" -o w.safetensors -f "$cases/$case/input"
}

@test "every tool reads a checkpoint of torch.distributed.checkpoint as the file that it becomes" {
    whole dcp-tp-fsdp
    amn-parse w.safetensors | jq -c '[.name, .dtype, .shape]' | sort >file
    amn-parse "$cases/dcp-tp-fsdp/input" | jq -c '[.name, .dtype, .shape]' | sort >dir
    cmp file dir
    [ "$(amn hash "$cases/dcp-tp-fsdp/input" | sed 's/.*= //')" = "$(amn hash w.safetensors | sed 's/.*= //')" ]
    try 0 amn diff "$cases/dcp-tp-fsdp/input" w.safetensors
    for bytes in 0-99 1000-4999 -77; do
        amn-convert -q --to safetensors --range=$bytes "$cases/dcp-tp-fsdp/input" >r
        amn-convert -q --to safetensors --range=$bytes w.safetensors | cmp - r
    done
    amn-convert -q -j 3 -o j.safetensors "$cases/dcp-tp-fsdp/input"
    cmp w.safetensors j.safetensors
}

@test "a checkpoint becomes other containers and quantized models in one step" {
    whole dcp-uneven
    for to in npz gguf; do
        try 0 amn-convert -q -o a.$to -f w.safetensors
        try 0 amn-convert -q -o b.$to -f "$cases/dcp-uneven/input"
        cmp a.$to b.$to
    done
    try 0 amn-forget -q --scheme fp8 --include '*weight' -o a.safetensors w.safetensors
    try 0 amn-forget -q --scheme fp8 --include '*weight' -o b.safetensors "$cases/dcp-uneven/input"
    cmp a.safetensors b.safetensors
    [ "$(amn-convert -q --to safetensors --size "$cases/dcp-uneven/input")" = "$(stat -c %s w.safetensors)" ]
}

@test "config.json beside a checkpoint is read and copied, also from huggingface/" {
    cp -r "$cases/dcp-fsdp2/input" c
    mkdir c/huggingface
    echo '{"model_type": "unheard", "tie_word_embeddings": false}' >c/huggingface/config.json
    try 0 amn-convert -q -o d/ c
    jq -e '.model_type == "unheard"' d/config.json
    mv c/huggingface/config.json c
    try 0 amn-convert -q -o e/ c
    cmp d/config.json e/config.json
}

@test "--state and --root choose, and are refused where they have no effect" {
    in=$cases/dcp-fsdp2/input
    all=$(amn-parse --state all "$in" | wc -l)
    model=$(amn-parse "$in" | wc -l)
    [ "$all" -gt "$model" ]
    try 0 amn-parse --root model "$in"
    [ "$(wc -l <out)" -eq "$model" ]
    try 2 amn-parse --root nowhere "$in"
    grep -qF "no tensor under 'nowhere'" err
    try 2 amn-parse --root model --state all "$in"
    try 69 amn-parse --state master "$in"
    grep -qF -- '--state master' err
    for option in '--state model' '--allow-global a.B'; do
        try 2 amn-parse $option "$fx/good-plain.safetensors"
        grep -qF 'applies to the checkpoint directory of a training job only' err
    done
    try 2 amn-parse --allow-global os.system "$in"
    grep -qF 'os.system cannot be allowed' err
    try 2 amn-parse --allow-global nodot "$in"
}

@test "several checkpoints in a directory are a usage error that lists them" {
    mkdir two
    cp -r "$cases/dcp-fsdp2/input" two/step-1
    cp -r "$cases/dcp-fsdp2/input" two/step-2
    try 2 amn-parse two
    grep -qF 'give one of step-1, step-2' err
    rm -r two/step-1
    try 0 amn-parse two
}

@test "a directory with a complete model is that model, whatever is beside it" {
    cp -r "$cases/dcp-fsdp2/input" c
    cp "$fx/good-plain.safetensors" c/model.safetensors
    amn-parse c | jq -r .name >a
    amn-parse "$fx/good-plain.safetensors" | jq -r .name | cmp - a
}

@test "what a checkpoint leaves out is said, and one file of it alone is refused" {
    try 0 amn-convert -o w.safetensors "$cases/dcp-fsdp2/input"
    grep -qE 'left out: [0-9]+ tensors of optim' err
    try 69 amn-parse "$cases/dcp-fsdp2/input/__0_0.distcp"
    grep -qF 'give its directory' err
}

@test "the weights of the optimizer, rounded, are those of the forward pass" {
    for case in ds-z1 ds-z2; do
        whole $case --state master --dtype bf16
        mv w.safetensors master.safetensors
        whole $case --dtype bf16
        amn diff --json master.safetensors w.safetensors | jq -es 'all(.[]; .status == null or .status == "equal")'
    done
    try 69 amn-convert --state master -o x.safetensors "$cases/ds-z0/input"
    grep -qF -- '--state master' err
    try 0 amn-convert -o z3.safetensors "$cases/ds-z3/input"
    grep -qF -- '--dtype bf16 gives those of the forward pass' err
}

@test "files that name the directory of a step are followed, and do not lead out of the directory" {
    cp -r "$cases/ds-z0/input" d
    try 0 amn-parse d
    for name in ../d/global_step3 .. . '' /etc; do
        printf '%s' "$name" >d/latest
        try 65 amn-parse d
    done
    printf 'global_step4\n' >d/latest
    try 66 amn-parse d
    grep -qF 'global_step4' err
}

@test "a file of one rank too many is malformed" {
    cp -r "$cases/ds-z2/input/global_step3" d
    cp d/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt d/bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt
    try 65 amn-convert --state master -o x.safetensors d
    grep -qF 'rank 2 of 2' err
    try 0 amn-convert -q -o x.safetensors d
}

@test "Meta's parts get the names and rows of Hugging Face with --to hf, and become a GGUF with config.json" {
    whole consolidated-hf --to hf
    amn-parse w.safetensors | jq -r .name | grep -qx model.layers.0.self_attn.q_proj.weight
    amn-parse "$cases/consolidated/input" | jq -r .name | grep -qx layers.0.attention.wq.weight
    cp -r "$cases/consolidated/input" c
    rm c/params.json
    try 69 amn-convert --to hf -o x.safetensors c
    grep -qF 'params.json' err
    try 0 amn-convert -q -o x.safetensors c
    rm c/consolidated.00.pth
    cp c/consolidated.01.pth c/consolidated.02.pth
    try 66 amn-convert -o y.safetensors c
    grep -qF 'consolidated.00.pth' err
}

@test "slices without the last rank are told by config.json" {
    mkdir s
    python3 - <<'PYTHON'
import json, struct
for n in 1, 2:
    name = "model.embed_tokens.weight"
    h = json.dumps({"__metadata__": {"DCP_SHARDING_INFO": json.dumps({name: {"saved_offsets": [2 * n - 2, 0]}})}, name: {"dtype": "F32",
        "shape": [2, 3], "data_offsets": [0, 24]}}).encode()
    with open("s/shard-0000%d-model-00001-of-00001.safetensors" % n, "wb") as f:
        f.write(struct.pack("<Q", len(h)) + h + bytes(24))
PYTHON
    try 0 amn-parse s
    grep -qF 'do not tell how many shards there are' err
    echo '{"vocab_size": 4, "hidden_size": 3}' >s/config.json
    try 0 amn-parse s
    echo '{"vocab_size": 5, "hidden_size": 3}' >s/config.json
    try 66 amn-parse s
    grep -qF 'a shard is missing' err
    rm s/shard-00001-model-00001-of-00001.safetensors
    try 66 amn-parse s
    grep -qF 'shard-00001-model-00001-of-00001.safetensors' err
}

@test "metadata that is no pickle, or is cut anywhere, is malformed" {
    mkdir c
    cp "$cases/dcp-tp-fsdp/input"/* c
    echo '{"a": 1}' >c/.metadata
    try 65 amn-parse c
    size=$(stat -c %s "$cases/dcp-tp-fsdp/input/.metadata")
    for n in 0 1 2 100 $((size / 3)) $((size - 1)); do
        head -c $n "$cases/dcp-tp-fsdp/input/.metadata" >c/.metadata
        try 65 amn-convert -o x.safetensors c
        [ ! -e x.safetensors ]
    done
}
