#!/usr/bin/env bats
# amn-inspect: one object about a model, from its header alone.
load helper

@test "a file, a pipe: the same JSON but for the name" {
    for f in good-plain.safetensors good-fp8-late.safetensors good-gguf.gguf good-gguf-k.gguf good-gguf-v2.gguf; do
        both 0 "$fx/$f" amn-inspect
        [ "$(wc -l <out.file)" -eq 1 ]
        jq -e --arg f "$fx/$f" '.file == $f' out.file
        diff <(jq -S 'del(.file)' out.file) <(jq -S 'del(.file)' out.pipe)
    done
}

@test "FP8: counts, sizes, what Lethe took" {
    try 0 amn-inspect "$fx/good-fp8-late.safetensors"
    jq -e '.format == "safetensors" and .tensors == 5 and .quantized == 2 and .passthrough == 1 and .companions == 2
        and .parameters == 130*140 + 20*300 + 40
        and .bytes == 130*140 + 20*300 + 80 + 4*4 + 3*2
        and .remembered.dtype == "BF16" and .remembered.bytes == 2*(130*140 + 20*300 + 40)
        and .lethe_took == .remembered.bytes - .bytes
        and .scheme == "fp8" and (.scheme_label | startswith("FP8 (E4M3, ")) and .scheme_label == "FP8 (" + .detail + ")"
        and .roles == {plain: 1, weight: 2, scale: 2, zero_point: 0, g_idx: 0, codebook: 0, state: 0, shape: 0,
            activation: 0}
        and (.schemes | keys) == ["fp8"] and .schemes.fp8.quantized == 2 and .schemes.fp8.companions == 2
        and .schemes.fp8.bytes == .bytes - 80 and (.schemes.fp8.labels | map(.quantized) | add) == 2
        and .gguf == null and .version == null and .files == 1
        and .metadata.note == "kept" and .metadata_types.note == "str"' out
}

@test "GGUF: the model's facts, dtypes, metadata of every type" {
    try 0 amn-inspect "$fx/good-gguf.gguf"
    jq -e '.format == "GGUF" and .version == 3 and .scheme == "gguf" and .detail == null
        and (.schemes | keys) == ["gguf"] and (.schemes.gguf.labels | map(.label) | sort) == ["GGUF Q4_0", "GGUF Q8_0"]
        and (.gguf | .architecture == "llama" and .name == "tiny é" and .byte_order == "little" and .split == null
            and .block_count == 1 and .head_count == 2 and .head_count_kv == 1 and .context_length == 128)
        and .tensors == 4 and .quantized == 2 and .dtypes.Q8_0.tensors == 1 and .dtypes.Q4_0.bytes == 6*18
        and .metadata["x.u8"] == 200 and .metadata["x.i8"] == -5 and .metadata["x.i32"] == -70000
        and .metadata["x.f32"] == 0.5 and .metadata["x.bool"] == true and .metadata["x.f64"] == 0.1
        and (.metadata | keys) == (.metadata_types | keys)
        and ([.metadata_types | .["x.u8", "x.i8", "x.u64", "x.f32", "x.f64", "x.bool", "general.name", "x.words"]]
            == ["u8", "i8", "u64", "f32", "f64", "bool", "str", "[str]"])' out
    try 0 amn-inspect "$fx/good-gguf-v2.gguf"
    jq -e '.version == 2' out
}

@test "JSON: integers beyond 2^53 are strings; long arrays are elided unless --arrays" {
    try 0 amn-inspect "$fx/good-gguf.gguf"
    jq -e '.metadata["x.u64"] == "9223372036854775808" and .metadata["x.i64"] == "-1152921504606846976"' out
    try 0 amn-inspect --arrays "$fx/good-gguf.gguf"
    jq -e '.metadata["x.numbers"] == [-3,-2,-1,0,1,2,3] and .metadata["x.words"] == ["a","bc",""]
        and .metadata["x.empty"] == []' out
    "$tests/make-examples" .
    try 0 amn-inspect model.gguf
    jq -e '.metadata["tokenizer.ggml.tokens"] | .type == "str" and .length == 512 and (.head | length) < 100' out
    try 0 amn-inspect --arrays model.gguf
    jq -e '.metadata["tokenizer.ggml.tokens"] | length == 512' out
}

# shows FILE WHAT...: --human says this of Context, Embedding, Blocks, Heads, KV heads and Vocabulary.
shows() {
    try 0 amn-inspect --human "$1"
    shift
    sed -nE 's/^(Context|Embedding|Blocks|Heads|KV heads|Vocabulary) +/\1=/p' out >got
    printf '%s\n' "Context=$1" "Embedding=$2" "Blocks=$3" "Heads=$4" "KV heads=$5" "Vocabulary=$6" | diff - got
}

@test "bitsandbytes: what each form is, in words" {
    try 0 amn-inspect "$corpus/safetensors-good/bnb-int8.safetensors"
    jq -e '.detail == "per-row scale"' out
    try 0 amn-inspect "$corpus/safetensors-good/bnb-nf4-bs4096-float16.safetensors"
    jq -e '.detail | test("NF4")' out
}

@test "--human: metadata of every type" {
    shows "$fx/good-gguf-values-1.gguf" 255 -128 65535 -32768 4294967295 '-2147483648, 18446744073709551615'
    shows "$fx/good-gguf-values-2.gguf" -9223372036854775808 0.1 -1.5e+300 nan -inf 'true, false'
    shows "$fx/good-gguf-values-3.gguf" '-1, 2' '' 'true, false' '0, 1, 2, 3, 4, 5, 6, 7 ... (100)' 'a, \u{a}' \
        '\u{1b}[2J\u{202e}, 1, '
}

@test "text on a terminal, JSON in a pipe, --json and --human force one" {
    f=$fx/good-fp8-block-f32.safetensors
    try 0 "$helpers/pty" amn-inspect "$f"
    refute jq -e . out
    grep -qi 'lethe took' out
    grep -qi 'format' out
    grep -qi 'scheme' out
    tr -d '\r' <out >terminal
    try 0 amn-inspect --human "$f"
    diff out terminal
    try 0 "$helpers/pty" amn-inspect --json "$f"
    jq -e '.format' out
    try 0 "$helpers/pty" amn-inspect --human --json "$f"
    jq -e '.format' out
    try 0 amn-inspect "$f"
    jq -e '.format' out
}

@test "reads the header only: a file of 100 GiB" {
    for f in good-sparse.safetensors good-sparse.gguf; do
        for t in amn-inspect amn-parse; do
            n=$("$helpers/taken" - $t "$fx/$f")
            [ "$n" -lt 1000000 ] || { echo "$t read $n bytes of $f"; false; }
        done
    done
}

@test "reads the header only: a pipe is left after it" {
    for f in good-sparse.safetensors good-sparse.gguf; do
        for t in amn-inspect amn-parse; do
            n=$("$helpers/taken" "$fx/$f" $t -)         # what stands in the pipe at the end counts too
            [ "$n" -lt 1000000 ] || { echo "$t took $n bytes of $f"; false; }
        done
    done
}

@test "what cannot be decoded is described all the same" {
    try 0 amn-inspect "$fx/unsupported-exl3.safetensors"
    jq -e '.scheme == "exl3" and .scheme_label == "EXL3" and .detail == null
        and (.schemes | keys) == [.scheme] and .remembered == {dtype: "BF16", bytes: null, size: null}
        and .lethe_took == null and .parameters == null' out
}

@test "a model directory and its index are one model" {
    try 0 amn-inspect "$fx/good-sharded"
    cp out by-directory
    jq -e '.files == 2 and .quantized == 2 and .companions == 2' out
    try 0 amn-inspect "$fx/good-sharded/model.safetensors.index.json"
    diff <(jq -S 'del(.file)' out) <(jq -S 'del(.file)' by-directory)
}

@test "no tensors, no metadata" {
    try 0 amn-inspect "$fx/good-no-tensors.safetensors"
    jq -e '.tensors == 0 and .bytes == 0' out
    try 0 amn-inspect "$fx/good-no-metadata.safetensors"
    jq -e '.metadata == {} and .lethe_took == 0' out
}

@test "a file type that the file does not say is guessed, and said to be" {
    try 0 amn-inspect "$corpus/gguf-good/file-type-absent.gguf"
    jq -e '.gguf.file_type_guessed == true and (.gguf.file_type | contains("guess") | not)' out
    try 0 amn-inspect --human "$corpus/gguf-good/file-type-absent.gguf"
    grep -q '^File type *(guessed) ' out
    try 0 amn-inspect "$corpus/gguf-good/file-type-15.gguf"
    jq -e '.gguf.file_type_guessed == false and .gguf.file_type == "Q4_K - Medium"' out
}

@test "nothing quantized: no scheme, which is false to jq; several: mixed" {
    try 0 amn-inspect "$fx/good-plain.safetensors"
    refute jq -e .scheme out
    jq -e '.scheme == null and .scheme_label == null and .detail == null and .schemes == {} and .lethe_took == 0' out
    try 0 amn-inspect --human "$fx/good-plain.safetensors"
    grep -q '^Scheme *none$' out
    "$helpers/two-schemes" both.safetensors
    try 0 amn-inspect both.safetensors
    jq -e '.scheme == "mixed" and (.schemes | keys) == ["bnb-int8", "fp8"] and .quantized == 2
        and (.schemes | map(.quantized) | add) == 2 and (.schemes["bnb-int8"].bytes == 8*16 + 8*4)
        and (.scheme_label | startswith("mixed: ") and contains("FP8") and contains("bitsandbytes INT8"))' out
    amn-parse both.safetensors | jq -es 'map({key: .name, value: .scheme}) | from_entries ==
        {"a.weight": "bnb-int8", "a.SCB": "bnb-int8", "b.weight": "fp8", "b.weight_scale": "fp8"}'
}

# good_inputs: all that should be read: models, one a line.
good_inputs() {
    find "$fx" "$fx/schemes" "$corpus/safetensors-good" "$corpus/gguf-good" -maxdepth 1 -mindepth 1 \
        ! -name '*.bf16' ! -name '*.f16' ! -name '*.f32' ! -name '*.json' ! -name schemes ! -name told ! -name covered ! -name LIST ! -name EXPECT |
        sort
}

@test "the three tools agree: schemes, roles, bytes, names, and the size that is written, to a byte" {
    good_inputs | "$helpers/agree" >said || { cat said; false; }
    cat said
    [ "$(sed -n '$s/ agree.*//p' said)" -ge 250 ]
    unknown=$(sed -n '$s/.*of \([0-9]*\) the size.*/\1/p' said)     # of bitsandbytes 4 bits and of packed rows
    [ "$unknown" -ge 5 ] && [ "$unknown" -le 80 ]
}

@test "--to: another type is another size; what is none is usage" {
    for to in bf16 f32; do
        try 0 amn-inspect --to $to "$fx/good-fp8-late.safetensors"
        mv out $to
    done
    jq -es '.[0].remembered.bytes < .[1].remembered.bytes and .[0].lethe_took < .[1].lethe_took' bf16 f32
    try 0 amn-inspect --to f32 --human "$fx/good-fp8-late.safetensors"
    grep -q '^In F32 ' out
    try 2 amn-inspect --to f8 "$fx/good-plain.safetensors"
    try 0 amn-inspect "$fx/good-plain.safetensors"      # it takes time to make: only when it is asked for
    jq -e '.remembered | .bytes != null and .size == null' out
}

@test "the members of all objects are those of amn-json(5)" {
    for f in $(good_inputs); do
        amn-inspect --to f16 "$f" 2>/dev/null || [ $? -ne 70 ]
    done >objects
    "$helpers/gguf-forms" .
    amn-inspect split-00003-of-00003.gguf >>objects
    amn-inspect tokens.gguf >>objects
    "$helpers/json-keys" AMN-INSPECT <objects
}
