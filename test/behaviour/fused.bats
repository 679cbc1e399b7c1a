#!/usr/bin/env bats
# Weights that vLLM fuses share one scale of the tensor: NVFP4, and FP8 with a scale for each tensor.
load helper

plain=$tests/corpus/fused/plain.safetensors

# forgets SCHEME [OPTION...]: prints the encoded file.
forgets() {
    amn-forget -q --to safetensors --scheme "$@"
}

@test "one scale for each group, byte-identical to compressed-tensors" {
    for s in nvfp4 fp8-per-tensor; do
        forgets $s "$plain" | "$helpers/tensors" >got
        "$helpers/tensors" <"$corpus/fused/$s.safetensors" | diff - got
    done
}

@test "vLLM's arithmetic: at most 1.1 times the error of separate scales, where these differ much" {
    for s in nvfp4 modelopt-nvfp4 fp8-per-tensor; do
        forgets $s "$plain" >shared
        forgets $s --no-fuse "$plain" >alone
        "$helpers/fused" "$plain" shared alone >got
        awk '{ exit !($1 <= 1.1 && $2 > 1.5) }' got || { echo "$s: $(cat got)"; return 1; }
    done
}

@test "file, pipe, threads, parts and shards: the same scales" {
    for s in nvfp4 modelopt-nvfp4 fp8-per-tensor; do
        forgets $s "$plain" >want
        forgets $s -j 4 "$plain" | cmp - want
        forgets $s - <"$plain" | cmp - want
        for i in 1 2 3 4 5; do forgets $s -j 2 --part $i/5 "$plain"; done | cmp - want
        forgets $s --range 9000-12000 "$plain" | cmp - <(tail -c +9001 want | head -c 3001)
        rm -rf d
        forgets $s -o d/ --shard-size 20K "$plain"
        [ "$(ls d/*.safetensors | wc -l)" -gt 1 ]
        amn-convert -q --to safetensors --keep-quantized d/ | "$helpers/tensors" | diff <("$helpers/tensors" <want) -
    done
}

@test "a group whose weights are in several shards of the input" {
    amn-convert -q -o s/ --shard-size 8K "$plain"
    [ "$(ls s/*.safetensors | wc -l)" -gt 3 ]
    forgets nvfp4 s/ | "$helpers/tensors" | diff <("$helpers/tensors" <"$corpus/fused/nvfp4.safetensors") -
}

@test "--plan names the weights that share a scale" {
    forgets nvfp4 --plan "$plain" >plan
    jq -c 'select(.name // "" | test("k_proj.weight_global_scale")) | [.inputs[].tensor] | sort' plan >got
    diff got - <<<'["l.0.self_attn.k_proj.weight","l.0.self_attn.q_proj.weight","l.0.self_attn.v_proj.weight"]'
    [ "$(jq -c 'select(.name // "" | test("o_proj")) | .inputs | length' plan | sort -u)" = 1 ]
}

@test "a weight encoded alone is not in a group, nor are siblings with other columns" {
    forgets nvfp4 --exclude '*q_proj*' --exclude '*v_proj*' "$plain" >one
    forgets nvfp4 --no-fuse --exclude '*q_proj*' --exclude '*v_proj*' "$plain" | "$helpers/tensors" | grep k_proj >want
    "$helpers/tensors" <one | grep k_proj | diff want -
    "$helpers/weights" w a.q_proj.weight=BF16:32x64 a.k_proj.weight=BF16:32x128
    forgets nvfp4 w >got
    forgets nvfp4 --no-fuse w | cmp - got
}

@test "--no-fuse is refused for a scheme whose scales are not fused" {
    for s in mxfp4 fp8 comfy-nvfp4 fp8-per-channel; do
        try 2 amn-forget --to safetensors --scheme $s --no-fuse "$plain"
        grep -q 'no-fuse has no effect' err
    done
    try 2 amn-convert --to npz --no-fuse "$plain"
}
