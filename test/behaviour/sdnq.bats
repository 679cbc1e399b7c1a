#!/usr/bin/env bats
# SDNQ: all types, groups, rows and transposed weights; the contents of its configuration, and the places where it is found.
load helper

wide() { echo "$fx/sdnq-wide/model.safetensors"; }

# bats test_tags=full
@test "elements of every layout, in more than one block, match their formulas" {
    try 0 amn-remember --to f32 "$fx/sdnq-wide"
    "$helpers/sdnq" "$fx/sdnq-wide" out
    AMN_CPU=scalar try 0 amn-remember --to f32 -j 4 "$fx/sdnq-wide"
    "$helpers/sdnq" "$fx/sdnq-wide" out
}

# bats test_tags=full
@test "random ranges are slices of the whole: -j 1, -j 3, file and pipe" {
    "$helpers/ranges" "$(wide)" scalar
}

# bats test_tags=full
@test "random ranges with AVX2" {
    needs_cpu avx2
    "$helpers/ranges" "$(wide)" avx2
}

# bats test_tags=full
@test "every set of kernels, any number of workers, another shard: the same bytes" {
    rm -rf shards
    "$helpers/shards" "$(wide)" shards
    for to in bf16 f16 f32; do
        AMN_CPU=scalar amn-remember -q --to $to -j 1 "$fx/sdnq-wide" | "$helpers/tensors" >expected
        for jobs in 1 2 4; do
            amn-remember -q --to $to -j $jobs "$fx/sdnq-wide" | "$helpers/tensors" | cmp - expected
            amn-remember -q --to $to -j $jobs shards | "$helpers/tensors" | cmp - expected
        done
    done
}

@test "a shard alone is refused, asking for the directory, and can be described" {
    "$helpers/shards" "$(wide)" shards
    for f in shards/model-0000*.safetensors; do
        try 69 amn-remember "$f"
        grep -q 'give the directory or model.safetensors.index.json' err
        is_empty out
        try 0 amn-parse "$f"
        try 0 amn-inspect "$f"
    done
}

@test "without its configuration: 69, asking for it; a pipe gets it with --config" {
    model=$corpus/safetensors-good/sdnq-uint4
    try 0 amn-remember "$model"
    mv out expected
    both 69 "$model/model.safetensors" amn-remember --config none
    for err in err.file err.pipe; do
        grep -q 'SDNQ (without its configuration) cannot be decoded; .*give the directory, or .*--config' $err
    done
    is_empty out.file
    is_empty out.pipe
    both 0 "$model/model.safetensors" amn-remember --config "$model/config.json"
    cmp out.file expected
    cmp out.pipe expected
    try 0 amn-inspect --config none "$model"
    grep -q '"scheme":"sdnq"' out
}

@test "the label contains type and group" {
    label() { amn-parse "$fx/sdnq-wide" | grep -qF "\"scheme\":\"sdnq\",\"scheme_label\":\"SDNQ ($1)\""; }
    label 'uint4, groups of 40'
    label 'int7, per-channel scale'
    label 'uint8, per-tensor scale'
    label 'float8_e4m3fn, per-channel scale'
    amn-parse "$corpus/safetensors-good/peer-sdnq-shapes" | grep -qF 'SDNQ (float5_e2m2fn, groups of 7)'
    amn-inspect "$corpus/safetensors-good/sdnq-uint4" | grep -qF '"scheme_label":"SDNQ (uint4, groups of 64)"'
}

@test "a directory is written without quantization_config.json" {
    try 0 amn-remember -o new/ "$corpus/safetensors-good/peer-sdnq-shapes"
    [ ! -e new/quantization_config.json ]
    cat new/*.safetensors | "$helpers/tensors" >got
    amn-remember "$corpus/safetensors-good/peer-sdnq-shapes" | "$helpers/tensors" | cmp - got
    try 0 amn-remember --test new
}

@test "the golden bytes give back their input" {
    python3 - <<'PYTHON'
import json, os, struct
from modelfile import write
golden = {
    "int5": ("66b80b1dd0d92c7ed1a4", "3d866666", None, "bf28 3f06 bea8 3f5a 0000 bf5a 3ea8 bf06"),
    "uint3": ("79a642a68baf", "3e8b6db7", "bf7c0000", "bf36 3f26 bee1 3f6c 3dd7 bf7c 3ec1 bee1"),
    "int6": ("ccb09620c5e9", "3d021084", None, "bf23 3f02 bea3 3f53 0000 bf5b 3e92 bf0a"),
    "uint7": ("1764acf9c108d5", "3c75ebd8", "bf7c0000", "bf24 3f04 bea6 3f55 bc0f bf5d 3e95 bf0d"),
}
os.mkdir("golden")
tensors = []
for kind, (codes, scale, zero, values) in golden.items():
    word = lambda text: struct.pack("<I", int(text, 16))
    parts = [("scale", "F32", [1, 1], word(scale))] + ([("zero_point", "F32", [1, 1], word(zero))] if zero else [])
    raw = bytes.fromhex(codes)[:8 * int(kind[-1]) // 8]
    # Two rows: one scale of packed codes could be the tensor's.
    parts = [(n, d, [2, 1], v * 2) for n, d, s, v in parts] + [("weight", "U8", [2 * len(raw)], raw * 2)]
    tensors += [(kind + "." + name, *part) for name, *part in parts]
write("golden/model.safetensors", tensors)
json.dump({"quantization_config": {"quant_method": "sdnq", "weights_dtype": "int5", "modules_dtype_dict": {k: [k] for k in golden}}},
          open("golden/config.json", "w"))
json.dump({k: v[3].split() for k, v in golden.items()}, open("values", "w"))
PYTHON
    try 0 amn-remember golden
    python3 - <<'PYTHON'
import json, struct
data = open("out", "rb").read()
n = struct.unpack_from("<Q", data)[0]
top = json.loads(data[8:8 + n])
for kind, values in json.load(open("values")).items():
    t = top[kind + ".weight"]
    at = 8 + n + t["data_offsets"][0]
    assert t["shape"] == [2, 8], t
    got = ["%04x" % v for v in struct.unpack_from("<16H", data, at)]
    assert got == values * 2, (kind, got, values)
PYTHON
}

# bats test_tags=broken
@test "damaged configurations end with a message" {
    mkdir m
    cp "$corpus/safetensors-good/sdnq-uint4/model.safetensors" m
    for value in '"int4","modules_dtype_dict":[1]' '3' 'null' '"uint4","modules_quant_config":{"*":7}' '{}' '"uint44"' \
        '"uint4","modules_dtype_dict":{"minimum_":["*"]}' '"uint4","modules_dtype_dict":{"bit":["*"]}' \
        '"uint4","modules_dtype_dict":{"":["*"]}' '"float9_e4m4fn"' '"float4_e2m1"' '"float8_e4m3fnu_"' '"uint0"' '"int9"'; do
        printf '{"quantization_config":{"quant_method":"sdnq","weights_dtype":%s}}' "$value" >m/config.json
        got=0
        amn-remember m >out 2>err || got=$?
        case $got in 0) is_empty err ;; 65 | 69) is_empty out && grep -q 'blocks.0\|unknown weights_dtype' err ;; *) false ;; esac ||
            { echo "$got: $value"; cat err; return 1; }
    done
}
