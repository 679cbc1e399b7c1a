#!/usr/bin/env bats
# amn-inspect: one object for each model, from its header alone.
load helper

@test "a file and a pipe: the same JSON except for the name" {
    for f in good-plain.safetensors good-fp8-late.safetensors good-gguf.gguf good-gguf-k.gguf good-gguf-v2.gguf; do
        both 0 "$fx/$f" amn-inspect
        [ "$(wc -l <out.file)" -eq 1 ]
        jq -e --arg f "$fx/$f" '.file == $f' out.file
        diff <(jq -S 'del(.file)' out.file) <(jq -S 'del(.file)' out.pipe)
    done
}

@test "FP8: counts, sizes, space saved" {
    try 0 amn-inspect "$fx/good-fp8-late.safetensors"
    jq -e '.format == "safetensors" and .tensors == 5 and .quantized == 2 and .passthrough == 1 and .companions == 2
        and .parameters == 130*140 + 20*300 + 40
        and .bytes == 130*140 + 20*300 + 80 + 4*4 + 3*2
        and .remembered.dtype == "BF16" and .remembered.bytes == 2*(130*140 + 20*300 + 40)
        and .bytes_saved == .remembered.bytes - .bytes and .lethe_took == .bytes_saved
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
    jq -e '.format == "GGUF" and .version == 3 and .scheme == "mixed" and .detail == null
        and (.schemes | keys) == ["q4_0", "q8_0"] and ([.schemes[].labels[]] | map(.label) | sort) == ["GGUF Q4_0", "GGUF Q8_0"]
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
    "$tests/make/examples" .
    try 0 amn-inspect model.gguf
    jq -e '.metadata["tokenizer.ggml.tokens"] | .type == "str" and .length == 512 and (.head | length) < 100' out
    try 0 amn-inspect --arrays model.gguf
    jq -e '.metadata["tokenizer.ggml.tokens"] | length == 512' out
}

@test "bitsandbytes: the description of each form" {
    try 0 amn-inspect "$corpus/safetensors-good/bnb-int8.safetensors"
    jq -e '.detail == "per-row scale"' out
    try 0 amn-inspect "$corpus/safetensors-good/bnb-nf4-bs4096-float16.safetensors"
    jq -e '.detail | test("NF4")' out
}

# shows FILE WHAT...: --human shows this for Context, Embedding, Layers, Heads, KV heads, Tokenizer and Pre-tokenizer.
shows() {
    try 0 amn-inspect --human "$1"
    shift
    sed -nE 's/^(Context|Embedding|Layers|Heads|KV heads|Tokenizer|Pre-tokenizer) +/\1=/p' out >got
    printf '%s\n' "Context=$1" "Embedding=$2" "Layers=$3" "Heads=$4" "KV heads=$5" "Tokenizer=$6" "Pre-tokenizer=$7" |
        diff - got
}

@test "--human: facts of every type" {
    shows "$fx/good-gguf-values-1.gguf" '255 tokens' -128 65535 -32768 4294967295 -2147483648 18446744073709551615
    shows "$fx/good-gguf-values-2.gguf" -9223372036854775808 0.1 -1.5e+300 nan -inf true false
    shows "$fx/good-gguf-values-3.gguf" '[-1, 2]' '[]' '[true, false]' \
        '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, ...]' '["a", "\n"]' '\u{1b}[2J\u{202e}' '[[1], []]'
}

@test "--human: each line explains itself, in 80 columns" {
    "$tests/make/examples" .
    try 0 amn-inspect --human model.gguf
    diff out - <<'END'
Format        GGUF v3
Architecture  llama
Name          Mnemosyne 1M
File type     Q4_K - Medium
Context       2048 tokens
Embedding     256 dimensions
Layers        2
Heads         4
KV heads      4
Vocabulary    512 tokens
Tokenizer     llama
Scheme        GGUF Q4_K, GGUF Q6_K, GGUF Q8_0
Quantized     16 tensors
Kept as is    5 tensors (not quantized)
Stored as     Q4_K  12 tensors  720.00 KiB
              Q6_K   3 tensors  420.00 KiB
              Q8_0   1 tensor   136.00 KiB
              F32    5 tensors    5.00 KiB
Parameters    1.97 million, 5.3 bits each
Size now      1.25 MiB
In BF16       3.75 MiB (dequantized by amn-remember)
Space saved   2.50 MiB
END
    # Terms that only amn uses are in JSON only.
    for f in model.gguf model-fp8.safetensors model "$fx/unsupported-exl3.safetensors" "$fx/good-plain.safetensors"; do
        amn-inspect --human "$f"
    done >texts
    refute grep -niE 'pass-?through|companion|remembered|uncounted|claim' texts
    refute grep -nE '^.{81}' texts
}

@test "--human: sizes that quantization did not reduce, or that are unknown, and what to do then" {
    # ends FILE LINE...: the text ends with these lines.
    ends() {
        try 0 amn-inspect --human "$1"
        shift
        printf '%s\n' "$@" | diff - <(tail -n $# out)
    }
    ends "$fx/unsupported-exl3.safetensors" 'Parameters    unknown: packed weights do not declare their shape' \
        'Size now      384 bytes' 'In BF16       unknown: amn-remember does not support EXL3' \
        '              Use the software that made the model, or another version of it'
    f=$corpus/safetensors-good/bnb-nf4-bs4096-float16.safetensors
    ends "$f" 'Parameters    unknown: packed weights do not declare their shape' 'Size now      2.77 KiB' \
        'In BF16       known only after reading the packed weights: run amn-remember --size'
    try 0 amn-remember --size "$f"              # as announced
    ends "$fx/good-plain.safetensors" 'Space saved   none'
    grep -qx 'Scheme        none (nothing is quantized)' out
    refute grep -qE '^(In|Quantized|Kept)' out
    python3 - <<'PYTHON'
from modelfile import write
for name, rows, scales in ("gained", 2, 2), ("even", 4, 1):
    write(name, [("w.weight", "F8_E4M3", [rows, 1], rows), ("w.weight_scale", "F32", [scales, 1], 4 * scales)])
PYTHON
    ends gained 'Size now      10 bytes' 'In BF16       4 bytes (dequantized by amn-remember)' \
        'Space saved   none (6 bytes larger than dequantized)'
    ends even 'Size now      8 bytes' 'In BF16       8 bytes (dequantized by amn-remember)' \
        'Space saved   none'
    try 0 amn-inspect --human "$corpus/gguf-bad/fork-id-159.gguf"
    grep -qx 'Size now      32 bytes and tensors of unknown size' out
    grep -qE '^ +unknown\(159\)  1 tensor +\?$' out
    grep -q '^In BF16  *unknown: amn-remember does not support GGUF unknown(159)$' out
}

@test "--metadata: every key with its type, count and value; JSON does not change" {
    try 0 amn-inspect --human --metadata "$fx/good-gguf.gguf"
    sed -n '/^Metadata/,$p' out >shown
    amn-inspect --human "$fx/good-gguf.gguf" | diff - <(sed '/^Metadata/,$d' out)
    try 0 amn-inspect "$fx/good-gguf.gguf"
    head -n 1 shown | grep -qx "Metadata      $(jq '.metadata | length' out) keys: number, type, count, key = value"
    diff <(sed 1d shown | awk '{ print $2, $4 }') <(jq -r '.metadata_types | to_entries[] | .value + " " + .key' out)
    diff <(sed 1d shown | awk '{ print $1 }') <(seq "$(jq '.metadata | length' out)")
    grep -qx ' *[0-9]*  str  *1  general.name = "tiny é"' shown
    grep -qx ' *[0-9]*  u64  *1  x.u64 = 9223372036854775808' shown
    grep -qx ' *[0-9]*  bool  *1  x.bool = true' shown
    grep -qx ' *[0-9]*  f64  *1  x.f64 = 0.1' shown
    grep -qx ' *[0-9]*  \[str\]  *3  x.words = \["a", "bc", ""\]' shown
    grep -qx ' *[0-9]*  \[[a-z0-9]*\]  *0  x.empty = \[\]' shown
    cp out json
    try 0 amn-inspect --metadata "$fx/good-gguf.gguf"
    cmp json out
    try 0 "$helpers/pty" amn-inspect --metadata "$fx/good-gguf.gguf"
    tr -d '\r' <out | sed -n '/^Metadata/,$p' | diff - shown
    try 0 amn-inspect --human --metadata "$fx/good-fp8-late.safetensors"
    grep -qx '  [12]  str  1  note = "kept"' out
    try 0 amn-inspect --human --metadata "$fx/good-no-metadata.safetensors"
    [ "$(tail -n 1 out)" = 'Metadata      none' ]
}

# gguf_of [KEY JSON]...: makes model.gguf without tensors; JSON is a string, a list of strings or numbers, or of such lists.
gguf_of() {
    python3 - "$@" <<'PYTHON'
import json, sys
from modelfile import gguf
def value(v):
    if not isinstance(v, list):
        return "str" if isinstance(v, str) else "i32", v
    items = [value(e) for e in v]
    return "arr", (items[0][0] if items else "i32", [e for _, e in items])
keys = [(key, *value(json.loads(v))) for key, v in zip(sys.argv[1::2], sys.argv[2::2])]
open("model.gguf", "wb").write(gguf(keys))
PYTHON
}

@test "--metadata: long values are cut between characters and elements at column 80, except with --arrays" {
    x=$(printf 'x%.0s' $(seq 100))
    numbers=[$(seq -s, 1000 1100)]
    gguf_of s "\"$x\"" n "\"\n\n\n$x\"" u "\"éééééééééé$x\"" a "[\"$x\", \"b\"]" i "$numbers" i2 "[$numbers, [7]]" \
        "$x" "\"$x\"" y "\"${x:0:55}\"" z "\"${x:0:56}\""
    try 0 amn-inspect --human --metadata model.gguf
    sed -n '/^Metadata/,$p' out | sed 1d >shown
    # what KEY: prints how many columns its line has, and its value.
    what() {
        line=$(awk -v key="$1" '$4 == key' shown)
        echo "$(printf %s "$line" | LC_ALL=C tr -d '\200-\277' | wc -c) ${line#* = }"
    }
    [ "$(what s)" = "80 \"${x:0:52}\"..." ]
    [ "$(what n)" = "80 \"\\n\\n\\n${x:0:46}\"..." ]
    [ "$(what u)" = "80 \"éééééééééé${x:0:42}\"..." ]
    [ "$(what a)" = "80 [\"${x:0:51}...]" ]
    [ "$(what i)" = "76 [1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, ...]" ]
    [ "$(what i2)" = "78 [[1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, ...]" ]
    [ "$(what y)" = "80 \"${x:0:55}\"" ]
    [ "$(what z)" = "80 \"${x:0:52}\"..." ]
    grep -qE "^ +7  .* $x = \"x+\"\.\.\.$" shown
    try 0 amn-inspect --human --metadata --arrays model.gguf
    grep -qF "a = [\"$x\", \"b\"]" out
    grep -qE ' i = \[1000, 1001, .*, 1099, 1100\]$' out
    grep -qE ' i2 = \[\[1000, .*, 1100\], \[7\]\]$' out
    grep -qF "s = \"${x:0:52}\"..." out
}

# bats test_tags=full,broken
@test "--metadata: hostile keys and values" {
    for f in "$corpus"/gguf-good/*hostile* "$corpus"/safetensors-good/*hostile* "$fx"/good-*hostile* "$fx/good-gguf-values-3.gguf"; do
        for how in '' --arrays; do
            try 0 amn-inspect --human --metadata $how "$f"
            "$helpers/no-controls" out
            [ "$(sed -n '/^Metadata/,$p' out | sed 1d | wc -l)" -eq "$(amn-inspect "$f" | jq '.metadata | length')" ]
        done
    done
    gguf_of $'a = \x1b[2J"\nMetadata' '"\u001b]0;owned\u0007\r\nMetadata      none"' $'x\u202e\xff' '"\u202e\u200b\u009b"'
    try 0 amn-inspect --human --metadata model.gguf
    "$helpers/no-controls" out
    [ "$(grep -c '^Metadata' out)" -eq 1 ]
}

# bats test_tags=full
@test "--metadata: arrays of any length in the memory of the model" {
    without_sanitizer
    "$helpers/gguf-forms" .
    for how in '' --arrays; do
        least=$("$peak_memory" amn-inspect tokens.gguf)
        kib=$("$peak_memory" amn-inspect --human --metadata $how tokens.gguf)
        [ "$kib" -le $((least + 1024)) ] || { echo "$kib KiB, as JSON $least KiB"; return 1; }
    done
    try 0 amn-inspect --human --metadata --arrays tokens.gguf
    [ "$(grep -o '", "' out | wc -l)" -ge 299999 ]
}

@test "text on a terminal, JSON in a pipe, --json and --human force one" {
    f=$fx/good-fp8-block-f32.safetensors
    try 0 env NO_COLOR=1 "$helpers/pty" amn-inspect "$f"
    refute jq -e . out
    grep -q 'Space saved' out
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

@test "reads the header only: the rest of a pipe is not read" {
    for f in good-sparse.safetensors good-sparse.gguf; do
        for t in amn-inspect amn-parse; do
            n=$("$helpers/taken" "$fx/$f" $t -)         # bytes left in the pipe at the end count too
            [ "$n" -lt 1000000 ] || { echo "$t took $n bytes of $f"; false; }
        done
    done
}

@test "a model that cannot be decoded is described anyway" {
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

@test "a missing file type is guessed, and reported as a guess" {
    try 0 amn-inspect "$corpus/gguf-good/file-type-absent.gguf"
    jq -e '.gguf.file_type_guessed == true and (.gguf.file_type | contains("guess") | not)' out
    try 0 amn-inspect --human "$corpus/gguf-good/file-type-absent.gguf"
    grep -q '^File type .* (guessed from the tensors)$' out
    try 0 amn-inspect "$corpus/gguf-good/file-type-15.gguf"
    jq -e '.gguf.file_type_guessed == false and .gguf.file_type == "Q4_K - Medium"' out
}

@test "nothing quantized: the scheme is null, which is false to jq; several: mixed" {
    try 0 amn-inspect "$fx/good-plain.safetensors"
    refute jq -e .scheme out
    jq -e '.scheme == null and .scheme_label == null and .detail == null and .schemes == {} and .lethe_took == 0' out
    try 0 amn-inspect --human "$fx/good-plain.safetensors"
    grep -q '^Scheme *none (nothing is quantized)$' out
    "$helpers/two-schemes" both.safetensors
    try 0 amn-inspect both.safetensors
    jq -e '.scheme == "mixed" and (.schemes | keys) == ["fp8-per-tensor", "int8"] and .quantized == 2
        and (.schemes | map(.quantized) | add) == 2 and (.schemes.int8.bytes == 8*16 + 8*4)
        and (.scheme_label | startswith("mixed: ") and contains("FP8") and contains("bitsandbytes INT8"))' out
    amn-parse both.safetensors | jq -es 'map({key: .name, value: .scheme}) | from_entries ==
        {"a.weight": "int8", "a.SCB": "int8", "b.weight": "fp8-per-tensor", "b.weight_scale": "fp8-per-tensor"}'
}

# good_inputs: prints all models that must be readable, one a line.
good_inputs() {
    find "$fx" "$fx/schemes" "$corpus/safetensors-good" "$corpus/gguf-good" -maxdepth 1 -mindepth 1 \
        ! -name '*.bf16' ! -name '*.f16' ! -name '*.f32' ! -name '*.json' ! -name schemes ! -name told ! -name covered ! -name LIST ! -name EXPECT |
        sort
}

# bats test_tags=full
@test "the three tools agree: schemes, roles, bytes, names, and the exact size of the output" {
    every=1
    if is_sanitized; then every=3; fi
    good_inputs | awk -v every=$every 'NR % every == 0' | "$helpers/agree" >said || { cat said; false; }
    cat said
    [ "$(sed -n '$s/ agree.*//p' said)" -ge $((250 / every)) ]
    unknown=$(sed -n '$s/.*of \([0-9]*\) the size.*/\1/p' said)     # of bitsandbytes NF4 and FP4, HQQ, pack-quantized
    [ "$unknown" -ge $((5 / every)) ] && [ "$unknown" -le 120 ]
}

@test "--to: another type gives another size; an unknown one is a usage error" {
    for to in bf16 f32; do
        try 0 amn-inspect --to $to "$fx/good-fp8-late.safetensors"
        mv out $to
    done
    jq -es '.[0].remembered.bytes < .[1].remembered.bytes and .[0].lethe_took < .[1].lethe_took' bf16 f32
    try 0 amn-inspect --to f32 --human "$fx/good-fp8-late.safetensors"
    grep -q '^In F32 .* (dequantized by amn-remember)$' out
    try 2 amn-inspect --to f8 "$fx/good-plain.safetensors"
    try 0 amn-inspect "$fx/good-plain.safetensors"      # it is slow, so only on request
    jq -e '.remembered | .bytes != null and .size == null' out
}

# bats test_tags=full
@test "the members of all objects are documented in amn-json(5)" {
    for f in $(good_inputs); do
        amn-inspect --to f16 "$f" 2>/dev/null || [ $? -ne 70 ]
    done >objects
    "$helpers/gguf-forms" .
    amn-inspect split-00003-of-00003.gguf >>objects
    amn-inspect tokens.gguf >>objects
    amn-inspect "$corpus/gguf-bad/fork-id-159.gguf" >>objects
    amn-inspect "$tests/cases-image/sdxl/model.safetensors" >>objects
    amn-inspect "$tests/cases-image/refuse-sd3-diffusers/model.safetensors" >>objects
    "$helpers/hf-model" "$corpus/hf-towers/qwen2.5-vl" sees
    amn-convert -q --mmproj -o mmproj.gguf sees
    echo '{"clip.audio.block_count": 2, "clip.audio.num_mel_bins": 128}' >audio.json
    amn-convert -q --gguf-metadata audio.json --gguf-unset clip.projector_type -o hears.gguf mmproj.gguf
    amn-inspect mmproj.gguf >>objects
    amn-inspect hears.gguf >>objects
    "$helpers/json-keys" AMN-INSPECT <objects
}
