#!/usr/bin/env bats
# amn-remember: the values and bytes of the output.
load helper

@test "FP8: every form and scale dtype, to bf16, f16 and f32" {
    pairs=()
    for f in "$fx"/good-fp8-*.safetensors; do
        [ -e "$f.bf16" ] || continue
        for to in bf16 f16 f32; do
            remembers "$f" --to $to
            mv out.file ${#pairs[@]}
            pairs+=(${#pairs[@]} "$f.$to")
        done
        remembers "$f"
        mv out.file ${#pairs[@]}
        pairs+=(${#pairs[@]} "$f.bf16")
    done
    "$helpers/tensors" "${pairs[@]}"
    [ ${#pairs[@]} -ge 80 ]
}

@test "GGUF: versions 2 and 3, with and without the last padding, to bf16, f16 and f32" {
    for f in good-gguf.gguf good-gguf-v2.gguf good-gguf-no-tail.gguf; do
        for to in bf16 f16 f32; do
            remembers "$fx/$f" --to $to
            diff <("$helpers/tensors" <out.file) "$fx/$f.$to" || { echo "$f $to"; return 1; }
        done
    done
}

@test "a sharded model whose scales are in the other shard; the index too" {
    for f in good-sharded good-sharded/model.safetensors.index.json; do
        try 0 amn-remember "$fx/$f"
        diff <("$helpers/tensors" <out) "$fx/good-sharded.bf16"
    done
}

@test "a model of more shards than the soft limit allows open files" {
    cat >shards.py <<'PYTHON'
import json, struct
from modelfile import write
place = {}
for i in range(100):
    name = f"model-{i + 1:05}-of-00100.safetensors"
    place[f"t{i}"] = name
    write(name, [(f"t{i}", "F32", [1], struct.pack("<f", i))])
with open("model.safetensors.index.json", "w") as f:
    json.dump({"weight_map": place}, f)
PYTHON
    python3 shards.py
    [ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 200 ] || skip "no more than $(ulimit -Hn) files can be open here"
    few() { (ulimit -Sn 64; exec "$@"); }
    for t in amn-remember amn-inspect amn-parse; do
        try 0 few $t .
    done
    [ "$(jq -s length out)" -eq 100 ]
}

# gives_the_bytes_of_scalar SET
gives_the_bytes_of_scalar() {
    needs_cpu "$1"
    for f in good-fp8-wide.safetensors good-fp8-row-bf16.safetensors good-gguf.gguf good-gguf-k.gguf; do
        for to in bf16 f16 f32; do
            AMN_CPU=scalar try 0 amn-remember --to $to "$fx/$f"
            cp out scalar
            AMN_CPU=$1 try 0 amn-remember --to $to "$fx/$f"
            cmp out scalar
        done
    done
}

@test "the AVX2 kernels give the same bytes as the scalar ones" {
    gives_the_bytes_of_scalar avx2
}

@test "scales that are NaN or infinite, values that are infinite in F16: decoded and reported" {
    f=$fx/good-fp8-odd-scales.safetensors
    try 0 amn-remember --to f16 -v "$f"
    grep -q 'warning: 16 values overflow F16' err
    grep -q 'note: 1 NaN and 1 infinite scales' err
    try 0 amn-remember --to f16 "$f"
    [ "$(wc -l <err)" -eq 1 ]
    try 0 amn-remember --to f16 -q "$f"
    is_empty err
    try 0 amn-remember "$f"
    is_empty err
    tail -c 48 out | od -An -v -tx1 | tr -d ' \n' >got
    printf '%s' "$(printf 'c07f%.0s' 1 2 3 4 5 6 7 8)$(printf '807f%.0s' 1 2 3 4 5 6 7 8)" | diff - <(head -c 64 got)
}

@test "unquantized tensors pass unchanged" {
    remembers "$fx/good-plain.safetensors"
    cmp out.file "$fx/good-plain.safetensors"
}

@test "--order name: byte-identical to the reference library" {
    remembers "$fx/good-plain.safetensors" --order name
    cmp out.file "$fx/good-plain-sorted.safetensors"
    remembers "$fx/good-no-metadata.safetensors" --order name
    cmp out.file "$fx/good-plain-sorted.safetensors"
}

@test "--order input: the order of the input's weights; name: the same tensors" {
    remembers "$fx/good-fp8-wide.safetensors"
    amn-parse out.file | jq -r .name >order
    printf '%s\n' odd big.weight row.weight plain | diff - order
    "$helpers/tensors" <out.file >tensors.input
    remembers "$fx/good-fp8-wide.safetensors" --order name
    amn-parse out.file | jq -r .name >order
    printf '%s\n' big.weight row.weight plain odd | diff - order
    "$helpers/tensors" <out.file | diff - tensors.input
}

@test "metadata are kept, and format pt is always present" {
    amn-remember "$fx/good-fp8-late.safetensors" | amn-inspect | jq -e '.metadata == {format: "pt", note: "kept"}'
    amn-remember "$fx/good-no-metadata.safetensors" | amn-inspect | jq -e '.metadata.format == "pt"'
    amn-remember "$fx/good-no-tensors.safetensors" | amn-inspect | jq -e '.metadata.format == "pt" and .tensors == 0'
    amn-remember "$fx/good-gguf.gguf" | amn-inspect | jq -e '.metadata["general.architecture"] == "llama"'
}

@test "dequantizing twice changes nothing" {
    amn-remember "$fx/good-fp8-wide.safetensors" >once
    amn-remember <once | cmp - once
}

# bats test_tags=full
@test "--size prints the number of bytes, and writes nothing" {
    for f in good-plain.safetensors good-fp8-wide.safetensors good-fp8-late.safetensors good-gguf.gguf good-no-tensors.safetensors; do
        for o in --to=bf16 --to=f32 --order=name --range=3-99 --range=-7; do
            try 0 amn-remember "$o" "$fx/$f"
            n=$(wc -c <out)
            both 0 "$fx/$f" amn-remember --size "$o"
            [ "$(cat out.file)" -eq "$n" ]
            [ "$(cat out.pipe)" -eq "$n" ]
            try 0 amn-remember --size "$o" -o never "$fx/$f"
            [ ! -e never ]
        done
    done
}

@test "--size of 200 GiB reads the header only" {
    n=$("$helpers/taken" - amn-remember --size "$fx/good-sparse.safetensors")
    [ "$n" -lt 1000000 ]
}
