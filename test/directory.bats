#!/usr/bin/env bats
# -o DIR/: a model directory, file by file, and what goes on after an interruption.
load helper

# model: a directory ./in with two shards, an index, a config and small files.
model() {
    mkdir in
    cp "$fx"/good-sharded/* in/
    cat >in/config.json <<'END'
{
  "architectures": ["X"], "rms_norm_eps": 1e-06,
  "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
  "text_config": {"quantization_config": {"a": [{}, "}"]}, "hidden_size": 8}
}
END
    echo tokens >in/tokenizer.json
    echo code >in/modeling_x.py
    echo '{}' >in/hf_quant_config.json
    echo hidden >in/.hidden
    echo weights >in/other.bin
    mkdir in/folder
}

# same A B: the models hold the same tensors and metadata.
same() {
    amn-remember --order name -o same.a "$1"
    amn-remember --order name -o same.b "$2"
    cmp same.a same.b
}

@test "files, index, config.json without quantization, and the small files" {
    model
    try 0 amn-remember -o d/ --shard-size 4K in
    is_empty err
    same in d
    n=$(ls d/model-*.safetensors | wc -l)
    [ "$n" -gt 1 ]
    [ -e "d/model-00001-of-0000$n.safetensors" ]
    jq -e --argjson n "$n" '(.weight_map | [.[]] | unique | length) == $n' d/model.safetensors.index.json
    [ "$(jq .metadata.total_size d/model.safetensors.index.json)" -eq "$(amn-inspect d | jq .bytes)" ]
    (cd d && ls -A | grep -v '^model[-.]') >files
    printf '%s\n' config.json modeling_x.py tokenizer.json | diff - files
    cmp in/tokenizer.json d/tokenizer.json
    jq -e '[paths(strings, arrays, objects, numbers) | .[-1]] | index("quantization_config") == null' d/config.json
    jq -e '.architectures == ["X"] and .text_config.hidden_size == 8' d/config.json
    grep -q '"rms_norm_eps": 1e-06' d/config.json
}

@test "one file is model.safetensors, without an index" {
    try 0 amn-remember -o d/ "$fx/good-fp8-block-f32.safetensors"
    (cd d && only model.safetensors)
    amn-remember -o whole "$fx/good-fp8-block-f32.safetensors"
    cmp whole d/model.safetensors
}

@test "a pipe, a GGUF and a shuffled input give the same directory as the file" {
    for f in good-gguf.gguf good-fp8-late.safetensors good-fp8-wide-late.safetensors; do
        rm -rf a b
        try 0 amn-remember -o a/ --shard-size 1K "$fx/$f"
        cat "$fx/$f" | try 0 amn-remember -o b/ --shard-size 1K
        diff -r a b
        try 0 amn-remember -o c/ -j 1 --shard-size 1K --direct always "$fx/$f"
        diff -r a c
        rm -rf c
    done
}

@test "a directory that holds a model, or is the input's, is refused and stays as it is" {
    model
    mkdir d
    echo old >d/model.safetensors
    try 73 amn-remember -o d/ in
    grep -q '^amn-remember: d/: cannot create: the directory holds model.safetensors' err
    (cd d && only model.safetensors)
    cp -R in copy
    try 73 amn-remember -o in/ in
    diff -r in copy
    try 73 amn-remember -o ./in/../in/ in/model.safetensors.index.json
    diff -r in copy
    echo file >file
    try 73 amn-remember -o file/ in
    try 73 amn-remember -o nowhere/d/ in
}

@test "usage: what does not go with a directory" {
    model
    for o in --size --plan --test --range=0-1 --part=1/2 --part-size=4K; do
        try 2 amn-remember -o d/ $o in
        [ ! -e d ]
    done
    try 2 amn-remember --shard-size 1M in
    try 2 amn-remember --resume -o x in
    try 2 amn-remember -o d/ --shard-size 0 in
}

# lengths: ./in/m.safetensors, whose last tensor is the longest.
lengths() {
    mkdir in
    python3 - <<'END'
import json
head, at = {}, 0
for i, n in enumerate((1000, 1500, 1200, 9000)):
    head["t%d" % i] = {"dtype": "U8", "shape": [n], "data_offsets": [at, at + n]}
    at += n
text = json.dumps(head).encode()
open("in/m.safetensors", "wb").write(len(text).to_bytes(8, "little") + text + bytes(i % 251 for i in range(at)))
END
}

@test "--resume goes on behind what is finished, and looks at it" {
    lengths
    amn-remember -o whole/ --shard-size 2K in
    # The longest file may not be written: those before it are finished, it is not.
    longest=$(stat -c '%s' whole/model-*.safetensors | sort -n | tail -n 1)
    (ulimit -f $(((longest - 1) / 1024)); try 74 amn-remember -o part/ --shard-size 2K in)
    [ -e part/.amn-journal ]
    ls part/model-*.safetensors
    [ ! -e part/model.safetensors.index.json ]
    [ "$(ls -A part | grep -vc 'safetensors$')" -eq 1 ]
    try 73 amn-remember -o part/ --shard-size 2K in
    grep -q -- '--resume' err
    try 73 amn-remember -o part/ --shard-size 3K --resume in           # another job
    cp -R part again
    try 0 amn-remember -v -o part/ --shard-size 2K --resume in
    diff -r whole part
    kept=$(grep -o 'finished before: [0-9]*' err | grep -o '[0-9]*$')
    # A finished file that was changed since is made anew.
    first=$(ls again/model-*.safetensors | head -n 1)
    printf X | dd of="$first" bs=1 seek=100 conv=notrunc 2>/dev/null
    try 0 amn-remember -v -o again/ --shard-size 2K --resume in
    diff -r whole again
    [ "$(grep -o 'finished before: [0-9]*' err | grep -o '[0-9]*$')" -eq $((kept - 1)) ]
    try 0 amn-remember -o new/ --shard-size 2K --resume in      # from the beginning
    diff -r whole new
    try 73 amn-remember -o new/ --shard-size 2K --resume in     # it is finished
}

@test "--resume of an input that was changed meanwhile is another job" {
    model
    mkdir part
    printf 'amn 1 00000000 2\n' >part/.amn-journal
    try 73 amn-remember -o part/ --resume in
    grep -q 'another job' err
}

@test "config.json: members at any place, and what is no JSON" {
    cp "$fx/good-fp8-block-f32.safetensors" m.safetensors
    check() {
        printf '%s' "$1" >config.json
        rm -rf d
        try 0 amn-remember -o d/ --config config.json m.safetensors
        printf '%s' "$2" | cmp - d/config.json || { cat d/config.json; return 1; }
    }
    check '{}' '{}'
    check '{"quantization_config":{}}' '{}'
    check '{"quantization_config":{},"a":1}' '{"a":1}'
    check '{"a":1,"quantization_config":{}}' '{"a":1}'
    check '{"a":1 , "quantization": {"group_size": 32}, "quantization_config":{} ,"b":2}' '{"a":1  ,"b":2}'
    check '{"a":{"compression_config":{"x":[1,{"y":"]"}]}},"b":[{"quantization_config":1,"c":1}]}' '{"a":{},"b":[{"c":1}]}'
    check $'{\n  "quantization_config": null,\n  "a": NaN\n}\n' $'{\n  \n  "a": NaN\n}\n'
    check '{"a":"quantization_config","quant\u0069zation":1}' '{"a":"quantization_config","quant\u0069zation":1}'
    try 65 amn-remember -o bad/ --config "$fx/bad-text.txt" m.safetensors
}
