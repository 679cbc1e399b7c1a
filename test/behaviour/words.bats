#!/usr/bin/env bats
# Words by which a config declares a format: known ones decide what the tensors leave open, unknown ones are refused.
load helper

@test "words that declare a format decide how the same tensors are decoded" {
    run "$helpers/declared" "$AMN_BIN" decoded
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "unknown words, and formats that are not decoded, are refused by name" {
    run "$helpers/declared" "$AMN_BIN" refused
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "layouts of late 2026 in the forms that the corpus lacks" {
    run "$helpers/layouts" "$AMN_BIN" decoded
    echo "$output"
    [ "$status" -eq 0 ]
    run "$helpers/layouts" "$AMN_BIN" refused
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "the models of the corpus: each unknown word in their configs is refused" {
    run "$helpers/corpus-words" "$AMN_BIN"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "every scheme that is written: each unknown word in its config is refused with its place" {
    run "$helpers/unknown-words" "$AMN_BIN"
    echo "$output"
    [ "$status" -eq 0 ]
}

# model WORD: an FP8 model in the folder m whose quant_method is WORD.
model() {
    mkdir -p m
    python3 -c 'import modelfile
modelfile.write("m/model.safetensors", [("a.weight", "F8_E4M3", [4, 4], bytes(range(16))), ("a.weight_scale_inv", "F32", [1, 1], bytes(4))])'
    echo "{\"model_type\": \"llama\", \"quantization_config\": {\"quant_method\": \"$1\"}}" >m/config.json
}

@test "an unknown word: copies and reports warn, --config and --input-scheme override it, a pipe has none" {
    model foo4
    try 69 amn-remember m
    grep -q "unknown quant_method 'foo4'" err
    is_empty out
    amn-convert --to safetensors m 2>err >out
    grep -q "warning: config.json: quantization_config.quant_method: unknown quant_method 'foo4'" err
    "$helpers/tensors" <out | grep -q "^a.weight F8_E4M3 \[4, 4\] "
    amn-inspect m | grep -q "unknown quant_method 'foo4'"
    try 0 amn-remember --config none m
    try 0 amn-remember --input-scheme fp8 m
    try 0 amn-remember - <m/model.safetensors
    try 69 amn-remember --config m/config.json - <m/model.safetensors
    try 69 amn-forget --scheme nf4 m
}

@test "a word in the metadata, and case, '-' and '_' in words" {
    model FP8
    try 0 amn-remember m
    model compressed_tensors
    try 0 amn-remember m
    python3 -c 'import json, modelfile
modelfile.write("one.safetensors", [("a.weight", "F8_E4M3", [4, 4], bytes(16)), ("a.weight_scale", "F32", [1], bytes(4))],
    {"quantization_config": json.dumps({"bits": 4, "mode": "spiral"})})'
    try 69 amn-remember one.safetensors
    grep -q "the metadata: quantization_config.mode: unknown mode 'spiral'" err
}

@test "keys of a GGUF file that declare a quantization" {
    python3 -c 'import modelfile
for name, keys in (("good", [("general.quantization_version", "u32", 2), ("general.quantized_by", "str", "me"), ("general.quantization_type", "str", "q4_k")]),
        ("version", [("general.quantization_version", "u32", 3)]), ("type", [("general.quant_method", "str", "foo4")])):
    tensors = [("a.weight", 8, [1, 32], bytes(34))]
    open(name + ".gguf", "wb").write(modelfile.gguf([("general.architecture", "str", "llama")] + keys, tensors))'
    try 0 amn-remember good.gguf
    try 69 amn-remember version.gguf
    grep -q "general.quantization_version: unknown version 3" err
    try 69 amn-remember type.gguf
    grep -q "general.quant_method: unknown quantization 'foo4'" err
}
