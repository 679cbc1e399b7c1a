#!/usr/bin/env bats
# Files next to a model: config.json decides what the tensors leave open, and a shard alone names the model it belongs to.
load helper

# values NAME: checks that the file out has the values listed in NAME.bf16.
values() {
    diff <("$helpers/tensors" <out) "$fx/$1.bf16"
}

@test "config.json next to a file is read, as in a directory" {
    for m in config-48 config-48/model.safetensors; do
        try 0 amn-remember "$fx/$m"
        values config-48
    done
    cp -r "$fx/config-48" here
    cd here
    out=$dir/out try 0 amn-remember model.safetensors
    cd "$dir"
    values config-48
}

@test "--config gives one to a pipe, overrides the one next to a file, and none reads none" {
    m=$fx/config-48/model.safetensors
    try 69 amn-remember - <"$m"
    grep -q -- '--config' err
    is_empty out
    cat "$m" | try 69 amn-remember
    try 69 amn-remember --config none "$m"
    try 69 amn-remember --config none "$fx/config-48"
    for size in 48 64; do
        cat "$m" | try 0 amn-remember --config "$fx/config-$size.json"
        values config-$size
        try 0 amn-remember --config="$fx/config-$size.json" "$m"
        values config-$size
    done
    try 66 amn-remember --config missing.json "$m"
    try 2 amn-remember --config '' "$m"
    grep -q '^amn-remember: usage: --config: ' err
    # The reports accept it too.
    amn-inspect "$m" | grep -q '48x128'
    amn-inspect --config "$fx/config-64.json" "$m" | grep -q '64x128'
    amn-inspect --config none "$m" | grep -q 'block size unknown'
    amn-parse --config "$fx/config-64.json" - <"$m" | grep -q '64x128'
}

# bats test_tags=full,broken
@test "config.json: not JSON, a duplicate block, too deep, too large" {
    mkdir m
    cp "$fx/config-48/model.safetensors" m
    for bad in '{' '[]' '' '{"a":1}x' '{"quantization_config":{},"quantization_config":{}}' '{"a":nan}' \
        '{"quantization_config":{"quant_method":1,"quant_method":2}}' '{"quantization_config":{"a":NaN}}'; do
        printf %s "$bad" >m/config.json
        try 65 amn-remember m
        grep -q 'config.json' err
        try 65 amn-remember m/model.safetensors
        try 69 amn-remember --config none m
    done
    python3 -c 'print("[" * 200000)' >m/config.json
    try 65 amn-remember m
    truncate -s 17M m/config.json
    try 75 amn-remember m
    printf '{"quantization_config":{"a":[%s{}]}}' "$(python3 -c 'print("{}," * 3000000, end="")')" >m/config.json
    try 75 amn-remember m
    # Text around the block costs nothing.
    { printf '{"quantization_config":{"weight_block_size":[48,128]},"a":['; python3 -c 'print("{}," * 3000000, end="")'; printf '{}]}'; } >m/config.json
    try 0 amn-remember m
    values config-48
    if is_sanitized; then return; fi
    kib=$("$peak_memory" amn-remember m)
    [ "$kib" -le 40960 ]
}

# bats test_tags=full,broken
@test "config.json: unquantized modules by name, glob and expression" {
    cp -r "$fx/config-ignore" m
    # lm_head and m.mlp.gate have no scale: each must be listed, in any of the forms that tools write.
    row() {
        printf '{"quantization_config":{"quant_method":"compressed-tensors","weight_block_size":[48,128],"ignore":%s}}' "$2" >m/config.json
        try "$1" amn-remember m || { echo "$2"; return 1; }
    }
    row 0 '["lm_head","m.mlp.gate"]'
    row 0 '["lm_head","mlp"]'
    row 0 '["lm_head","gate"]'
    row 0 '["lm_head.","m.mlp*"]'
    row 0 '["*head","*.gate"]'
    row 0 '["?m_head","m.mlp.[f-h]ate"]'
    row 0 '["re:lm_head","re:.*gate$"]'
    row 0 '["re:.*lm_head","re:.*mlp\\.(gate|router)"]'
    row 0 '["re:lm_(?:head|tail)$","re:m\\.\\w+\\.[a-z]+?"]'
    row 0 '["re:l","re:^m[.]mlp.ga?te$"]'
    row 65 '["lm_head"]'
    row 65 '["lm_head","ate"]'
    row 65 '["lm_head","m.mlp.gat"]'
    row 65 '["lm_head","*.gat"]'
    row 65 '["lm_head","re:gate"]'
    row 65 '["lm_head","re:.*gat$"]'
    row 65 '["lm_head","re:.*mlp\\.\\d"]'
    row 65 '[]'
    # An unsupported expression is ignored.
    row 69 '["lm_head","re:(?!x).*gate"]'
    grep -q '(?!x)' err
    row 69 '["lm_head","re:.{3}lp"]'
    row 0 '["lm_head","re:(?!x).*gate","m.mlp.gate"]'
    row 75 "[$(python3 -c 'print(",".join("\"*%d*%s\"" % (i, "x" * 60) for i in range(100)))')]"
    # Many groups share the limit, and so do very long names.
    python3 - <<'PY' >m/config.json
import json
groups = {"g%d" % i: {"targets": ["re:(.*)*%d" % i] * 60, "weights": {"block_structure": [1, 1]}} for i in range(64)}
print(json.dumps({"quantization_config": {"quant_method": "compressed-tensors", "config_groups": groups}}))
PY
    try 75 amn-remember m
    "$helpers/large" long_name 3000000 long
    printf '{"quantization_config":{"quant_method":"fp8","ignore":[%s"re:.*a"]}}' \
        "$(python3 -c 'print("\"re:.*.*.*.*.*.*.*.*.*.*.*.*.*.*.*.*.*.*.*b\"," * 50, end="")')" >long.json
    try 75 amn-remember --config long.json long
    grep -q 'steps' err
}

# bats test_tags=full
@test "the patterns of SDNQ have the same limit as the other lists" {
    mkdir m
    sdnq() { # [patterns]
        python3 - "$1" <<'PY'
import json, sys
from modelfile import write
write("m/model.safetensors", [t for i in range(4000) for t in (("b.%d.q.weight" % i, "I8", [1, 1], 1),
                                                               ("b.%d.q.scale" % i, "F32", [1, 1], 4))])
patterns = ["x.%d.*" % i for i in range(int(sys.argv[1]))]
for key, value in (("dict", {"modules_dtype_dict": {"uint4": patterns}}),
                   ("own", {"modules_quant_config": {p: {"weights_dtype": "uint4"} for p in patterns}})):
    block = {"quant_method": "sdnq", "weights_dtype": "int8", **value}
    json.dump({"quantization_config": block}, open(key + ".json", "w"))
PY
    }
    sdnq 200
    try 0 amn-inspect --config dict.json m
    try 0 amn-inspect --config own.json m
    sdnq 20000
    try 75 amn-inspect --config dict.json m
    grep -q 'steps' err
    try 75 amn-inspect --config own.json m
    grep -q 'steps' err
}

@test "a shard alone whose companions are elsewhere: 69, and the message says what to give" {
    cp -r "$fx/good-sharded" m
    for f in model-00001-of-00002.safetensors model-00002-of-00002.safetensors; do
        try 69 amn-remember m/$f
        grep -q 'one of 2 shards of a model; give the directory or model.safetensors.index.json' err
        is_empty out
        try 0 amn-inspect m/$f
        try 0 amn-parse m/$f
    done
    # Recognized by its name alone, or by the index alone.
    rm m/model.safetensors.index.json m/config.json
    try 69 amn-remember m/model-00001-of-00002.safetensors
    grep -q 'one of 2 shards of a model; give the directory or the index' err
    cp -r "$fx/good-sharded" n
    rm n/config.json
    mv n/model-00001-of-00002.safetensors n/one.safetensors
    sed -i 's/model-00001-of-00002/one/' n/model.safetensors.index.json
    try 69 amn-remember n/one.safetensors
    grep -q 'one of 2 shards of a model' err
    # A folder with one of them and no index is not a model.
    mkdir half
    cp "$fx/good-fp8-row-f32.safetensors" half/model-00002-of-00003.safetensors
    try 66 amn-remember half
    grep -q '1 of the 3 shards of a model, missing: model-00001-of-00003.safetensors' err
    # A shard with all companions is converted; one of one is not a shard.
    cp "$fx/good-fp8-row-f32.safetensors" m/x-00002-of-00003.safetensors
    try 0 amn-remember m/x-00002-of-00003.safetensors
    cp "$corpus/safetensors-good/dtype-f8_e4m3.safetensors" m/y-00001-of-00001.safetensors
    try 0 amn-remember m/y-00001-of-00001.safetensors
    cp m/y-00001-of-00001.safetensors m/y-00001-of-00002.safetensors
    try 69 amn-remember m/y-00001-of-00002.safetensors
}

@test "codes of an unknown scheme never pass raw; integers that are data do" {
    for f in "$fx"/unsupported-unknown-*; do
        both 69 "$f" amn-remember
        grep -q 'scheme is not recognised' err.file
        try 0 amn-inspect "$f"
        grep -q '"scheme":"unknown"' out
    done
    for f in "$fx"/unsupported-fp8-other-*; do
        both 69 "$f" amn-remember
        grep -q 'is stored beside weight' err.file
        try 0 amn-inspect "$f"
    done
    try 69 amn-remember "$fx/unsupported-fp8-plain-siblings.safetensors"
    grep -q 'upscale.lut: is stored beside weight upscale.weight' err
    try 0 amn-remember --allow-unclaimed upscale.lut "$fx/unsupported-fp8-plain-siblings.safetensors"
    remembers "$fx/good-integers.safetensors"
    cmp out.file "$fx/good-integers.safetensors"
    cp -r "$fx/covered" m
    try 0 amn-remember m
    cmp out m/model.safetensors
    printf '{"quantization_config":{"quant_method":"newest","modules_to_not_convert":["bins","free"]}}' >m/config.json
    try 69 amn-remember m
    grep -q "unknown quant_method 'newest'" err
    printf '{"quantization_config":{"quant_method":"gptq","modules_to_not_convert":["m.free"]}}' >m/config.json
    try 69 amn-remember m
    grep -q 'm\.bins\.weight' err
    printf '{"quantization_config":{"quant_method":"gptq","modules_to_not_convert":["bins","free"]}}' >m/config.json
    try 0 amn-remember m
}

@test "a folded pre_quant_scale and blocks chosen by config.json are reported; not with -q" {
    try 0 amn-remember "$fx/good-fp8-smooth-block.safetensors"
    grep -q 'pre_quant_scale' err
    try 0 amn-remember -q "$fx/good-fp8-smooth-block.safetensors"
    is_empty err
    cat "$corpus/safetensors-good/fp8-grid-192x2-is-128.safetensors" | try 0 amn-remember
    grep -q 'blocks of 128' err
    try 0 amn-remember "$corpus/safetensors-good/fp8-block-bf16.safetensors"
    is_empty err
}

# bats test_tags=broken
@test "sums of sizes do not wrap" {
    python3 - <<'PY' >huge
import sys
from modelfile import header, laid_out
sizes = [(1 << 58) - 2 * (i == 15) for i in range(16)]
sys.stdout.buffer.write(header(laid_out([("m.t%d" % i, "F8_E4M3", [n], n) for i, n in enumerate(sizes)])) + bytes(3 << 20))
PY
    cat huge | try 75 amn-remember --size --to f32
    is_empty out
    try 65 amn-remember --size huge
}

# bats test_tags=full
@test "an existing config.json that cannot be read is an error (66), with every tool" {
    mkdir in
    "$helpers/weights" in/model.safetensors a.weight=BF16:64x128
    for name in config.json quantize_config.json hf_quant_config.json; do
        for harm in 'ln -s nowhere' "ln -s $name" mkfifo mkdir; do
            $harm in/$name
            for operand in in in/model.safetensors; do
                for tool in amn-parse amn-inspect 'amn-remember --size' 'amn-forget --scheme int8 --size' 'amn-convert --to npz --size'; do
                    try 66 $tool $operand
                    error_line "${tool%% *}" 'cannot open'
                    grep -q "in/$name" err || grep -q " $name: " err
                done
                try 0 amn-remember --config none --size $operand
            done
            rm -r in/$name
        done
    done
}

@test "amn-parse and amn-inspect warn about files that they do not need and cannot read" {
    mkdir in
    "$helpers/weights" in/model.safetensors a.weight=BF16:64x128
    ln -s nowhere in/tokenizer.json
    ln -s nowhere in/.hidden
    mkdir in/folder
    for tool in amn-parse amn-inspect; do
        try 0 $tool in
        grep -q 'cannot read tokenizer.json: dangling symbolic link' out err
        mkfifo in/vocab.json
        try 0 $tool in
        grep -q '2 unreadable files, first tokenizer.json: ' out err
        rm in/vocab.json
    done
    rm in/tokenizer.json
    try 0 amn-parse in
    is_empty err
}
