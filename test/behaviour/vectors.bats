#!/usr/bin/env bats
# EXL2, AQLM and VPTQ: groups of several bits, sums of codebooks, columns of vectors.
load helper

@test "elements of every layout, in more than one block, match their formulas" {
    f=$fx/good-vectors-wide
    both 0 "$f/model.safetensors" amn-remember --to f32 --config "$f/config.json"
    cmp out.file out.pipe
    "$helpers/vectors" "$f/model.safetensors" out.file "$f/config.json"
}

# ranges SET
ranges() {
    needs_cpu "$1"
    "$helpers/ranges" "$fx/good-vectors-wide/model.safetensors" "$1"
}

# bats test_tags=full
@test "random ranges are slices of the whole: -j 1, -j 3, file and pipe" {
    ranges scalar
}

# bats test_tags=full
@test "random ranges with AVX2" {
    ranges avx2
}

@test "EXL2 in several panels: with one worker, elements by their formula, and the last rows alone" {
    f=$fx/good-exl2-wide.safetensors
    try 0 amn-remember --to f32 -j 1 "$f"
    mv out one
    remembers "$f" --to f32 -j 3
    cmp out.file one
    "$helpers/vectors" "$f" one
    try 0 amn-remember --to f32 --range -70001 "$f"
    cmp out <(tail -c 70001 one)
}

@test "the values that the libraries decode, with each set of kernels, and in parts" {
    for f in "$corpus"/safetensors-good/peer-{exl2,aqlm,vptq}-*; do
        try 0 amn-remember --to f16 "$f"
        mv out whole
        AMN_CPU=scalar try 0 amn-remember --to f16 -j 4 "$f"
        cmp out whole
        for i in 1 2 3; do
            try 0 amn-remember --to f16 --part $i/3 "$f"
            cat out
        done >parts
        cmp parts whole
    done
}

# bats test_tags=broken
@test "wrong shapes, types, companions and contents, and shapes without elements" {
    cases vq- 100
}

@test "companions in another shard; a shard alone is refused, naming the index" {
    g=$corpus/safetensors-good
    for case in "peer-exl2-mixed.safetensors .q_scale .q_invperm" "peer-exl2-wide-codes.safetensors .q_groups" \
        "peer-aqlm-two-8.safetensors .codebooks" "peer-aqlm-tiles.safetensors .scales" \
        "peer-vptq-residual/model.safetensors .perm .weight_bias"; do
        set -- $case
        rm -rf model
        "$helpers/shards" "$g/$1" model "${@:2}"
        [ ! -e "$g/${1%/*}/config.json" ] || cp "$g/${1%/*}/config.json" model
        try 0 amn-remember --order name "$g/$1"
        mv out whole
        try 0 amn-remember --order name model
        cmp out whole
        amn-inspect model >report
        [ "${2#.codebooks}" ] || continue           # codes alone are data
        try 69 amn-remember model/model-00001-of-00002.safetensors
        grep -q model.safetensors.index.json err
    done
}

@test "lm_head has vocab_size rows; only it requires config.json" {
    model=$corpus/safetensors-good/peer-exl2-head
    both 0 "$model/model.safetensors" amn-remember --config "$model/config.json"
    cmp out.file out.pipe
    mv out.file whole
    try 69 amn-remember --config none "$model/model.safetensors"
    grep -q 'tensor lm_head.weight: EXL2 (padding of rows unknown without vocab_size of config.json' err || {
        cat err; return 1; }
    echo '{"text_config": {"vocab_size": 43}}' >config
    try 0 amn-remember --config config "$model/model.safetensors"
    cmp out whole
    for size in 32 64 65 4300; do                   # not a multiple of 64, or padded to one
        echo "{\"vocab_size\": $size}" >config
        try 0 amn-remember --config config --plan "$model/model.safetensors"
        grep -q '"lm_head.weight".*\[64,64\]' out || { cat out; return 1; }
    done
    for size in '"43"' -43 4.3e1 null true 99999999999999999999; do
        echo "{\"vocab_size\": $size}" >config
        try 69 amn-remember --config config "$model/model.safetensors"
    done
    try 0 amn-remember --plan "$fx/schemes/vq-exl2-head-bias.safetensors"
    grep -q '"lm_head.weight".*\[30,32\]' out
    try 0 amn-remember --plan "$fx/schemes/vq-exl2-bias.safetensors"
    grep -q '"p.weight".*\[27,64\]' out
}

@test "reports have scheme, bits and groups, and the size in BF16" {
    said() {
        try 0 amn-inspect --json --to bf16 "$1"
        jq -e --arg code "$2" --arg name "$3" --argjson n "$4" \
            '.scheme == $code and ([.schemes[$code].labels[].label] | index($name)) and .parameters == $n' out >/dev/null || {
            cat out; return 1; }
        [ "$(jq .remembered.size out)" -eq "$(amn-remember --size "$1")" ]
    }
    g=$corpus/safetensors-good
    said "$g/peer-exl2-mixed.safetensors" exl2 'EXL2 (4.5-bit, 2 groups)' 48144
    said "$g/peer-exl2-head" exl2 'EXL2 (6-bit, 2 groups)' 2768
    said "$g/peer-aqlm-two-8.safetensors" aqlm 'AQLM (2-bit, 2 codebooks of 256, vectors of 1x8)' 20256
    said "$g/peer-aqlm-tiles.safetensors" aqlm 'AQLM (0.25-bit, 1 codebook of 8, vectors of 4x3)' 3308
    said "$g/peer-vptq-residual" vptq 'VPTQ (1.75-bit, vectors of 8)' 3868
    try 0 amn-inspect --json "$fx/schemes/vq-exl2-head.safetensors"
    jq -e '.parameters == null' out
}
