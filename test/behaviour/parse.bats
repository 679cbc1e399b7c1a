#!/usr/bin/env bats
# amn-parse: one object for each tensor.
load helper

@test "one JSON object for each tensor; file and pipe alike" {
    for f in good-plain.safetensors good-fp8-wide.safetensors good-gguf.gguf good-gguf-k.gguf; do
        both 0 "$fx/$f" amn-parse
        cmp out.file out.pipe
        jq -es 'all(.[]; .name and .dtype and (.shape | type) == "array" and (.nbytes | type) == "number")' out.file
    done
    both 0 "$corpus/safetensors-good/5000-tensors.safetensors" amn-parse
    cmp out.file out.pipe
    [ "$(wc -l <out.file)" -eq 5000 ]
    jq -es 'map(.name) | unique | length == 5000' out.file
}

@test "roles, shapes, offsets" {
    try 0 amn-parse "$fx/good-fp8-late.safetensors"
    jq -es 'map({key: .name, value: .}) | from_entries
        | .["l.0.weight"].role == "weight" and .["l.0.weight"].shape == [130, 140]
        and .["l.0.weight"].weight == "l.0.weight" and .["l.0.weight"].scheme == "fp8"
        and (.["l.0.weight_scale_inv"] | .role == "scale" and .weight == "l.0.weight" and .scheme == "fp8")
        and .["l.0.weight_scale_inv"].scheme_label == .["l.0.weight"].scheme_label
        and (.["l.0.weight"] | .scheme_label == "FP8 (" + .detail + ")")
        and (.["model.norm.weight"] | .role == "plain" and .weight == null and .scheme == null and .detail == null)
        and .["l.1.weight"].offset == .["l.0.weight"].offset + 130*140' out
    try 0 amn-parse "$fx/good-gguf.gguf"
    jq -es '.[0].name == "token_embd.weight" and .[0].shape == [4, 64] and .[0].ne == [64, 4]
        and .[0].dtype == "Q8_0" and .[0].nbytes == 8*34 and .[0].scheme == "q8_0" and .[0].scheme_label == "GGUF Q8_0"
        and .[0].detail == null' out
}

@test "the offset is the position of the bytes" {
    try 0 amn-parse "$fx/good-plain.safetensors"
    at=$(jq -r 'select(.name == "b") | .offset' out)
    try 0 amn-remember "$fx/good-plain.safetensors"
    dd if="$fx/good-plain.safetensors" bs=1 skip="$at" count=24 of=there 2>/dev/null
    amn-remember "$fx/good-plain.safetensors" | "$helpers/tensors" >list
    grep -q "^b F32 \[2, 3\] $(python3 -c 'import hashlib; print(hashlib.sha256(open("there", "rb").read()).hexdigest())')$" list
}

@test "text on a terminal, JSON in a pipe" {
    try 0 "$helpers/pty" amn-parse "$fx/good-plain.safetensors"
    refute jq -e . out
    grep -q 'F32' out
    try 0 "$helpers/pty" amn-parse --json "$fx/good-plain.safetensors"
    [ "$(jq -s length out)" -eq 6 ]
}

@test "a file without tensors: no output, status 0; a message for people" {
    try 0 amn-parse "$fx/good-no-tensors.safetensors"
    is_empty out
    try 0 amn-parse --human "$fx/good-no-tensors.safetensors"
    [ "$(cat out)" = '0 tensors' ]
}

@test "a sharded model: each tensor names its file" {
    try 0 amn-parse "$fx/good-sharded"
    jq -es 'length == 4 and ([.[].file | sub(".*/"; "")] | unique | length == 2)' out
}

# roles FILE: prints "NAME ROLE WEIGHT" for each tensor.
roles() {
    try 0 amn-parse "$1"
    jq -r '[.name, .role, .weight // "-"] | join(" ")' out
}

@test "every companion belongs to a weight" {
    roles "$corpus/safetensors-good/bnb-int8.safetensors" >list
    grep -qE '^(.*)\.weight weight \1\.weight$' list
    grep -qE '^(.*)\.SCB scale \1\.weight$' list
    roles "$corpus/safetensors-good/bnb-nf4-bs64-bfloat16-dq.safetensors" >list
    grep -qE '^(.*)\.weight weight \1\.weight$' list
    grep -qE '^(.*)\.weight\.absmax scale \1\.weight$' list
    grep -qE '^(.*)\.weight\.nested_absmax scale \1\.weight$' list
    grep -qE '^(.*)\.weight\.quant_map codebook \1\.weight$' list
    grep -qE '^(.*)\.weight\.quant_state\.bitsandbytes__nf4 state \1\.weight$' list
    roles "$corpus/safetensors-good/gptq-4bit-asym-shuffled.safetensors" >list
    grep -qE '^(.*)\.qweight weight \1\.weight$' list
    grep -qE '^(.*)\.scales scale \1\.weight$' list
    grep -qE '^(.*)\.qzeros zero_point \1\.weight$' list
    grep -qE '^(.*)\.g_idx g_idx \1\.weight$' list
    grep -qE '^(.*)\.bias plain -$' list
    roles "$fx/good-fp8-input-scale.safetensors" >list
    grep -qE '^(.*)\.input_scale activation \1\.weight$' list
    roles "$corpus/safetensors-good/ct-pack-w8-sym-f16-g64.safetensors" >list
    grep -qE '^(.*)\.weight_shape shape \1\.weight$' list
}

@test "on a terminal a companion shows its role" {
    try 0 amn-parse --human "$fx/good-fp8-late.safetensors"
    grep -qE '^l\.0\.weight .* FP8 \(E4M3, ' out
    grep -qE '^l\.0\.weight_scale_inv .* scale$' out
    grep -qE '^model\.norm\.weight .* bytes$' out
}

@test "a table: titles, sizes right-aligned, totals; no trailing blanks" {
    "$tests/make/examples" .
    try 0 amn-parse --human model.gguf
    sed -n '1,3p;$p' out | diff - <(cat <<'END'
Tensor                    Type  Shape             Size  Quantization
token_embd.weight         Q6_K  [512, 256]  105.00 KiB  GGUF Q6_K
blk.0.attn_norm.weight    F32   [256]         1.00 KiB
21 tensors                                    1.25 MiB  1.97 million parameters
END
)
    [ "$(wc -l <out)" -eq 23 ]
    refute grep -n ' $' out
    # The widest total determines the columns too; an unknown size is not a number.
    try 0 amn-parse --human "$corpus/gguf-bad/fork-id-159.gguf"
    sed -n '$p' out | grep -qE '^[0-9]+ tensors? .* \+ \?'
    try 0 amn-parse --human "$corpus/safetensors-good/bnb-nf4-bs4096-float16.safetensors"
    sed -n '$p' out | grep -qE '^[0-9]+ tensors +[0-9.]+ [KM]iB$'
    try 0 env NO_COLOR=1 "$helpers/pty" amn-parse model.gguf
    tr -d '\r' <out >terminal
    try 0 amn-parse --human model.gguf
    cmp out terminal
}

@test "a table with names longer than its columns, and names that would break it" {
    for f in "$corpus"/safetensors-good/names-*.safetensors "$fx/good-name-hostile.safetensors"; do
        try 0 amn-parse --human "$f"
        amn-parse "$f" | wc -l >n
        [ "$(wc -l <out)" -eq $(($(cat n) + 2)) ]
        "$helpers/no-controls" out
    done
}

# bats test_tags=full
@test "the members of all lines are documented in amn-json(5)" {
    for f in "$fx"/good-* "$fx"/unsupported-* "$fx"/schemes/* "$corpus"/*-good/*; do
        amn-parse "$f" 2>/dev/null || [ $? -ne 70 ]
    done >lines
    amn-parse "$fx/good-plain.safetensors" "$fx/good-gguf.gguf" >>lines
    "$helpers/json-keys" AMN-PARSE <lines
}
