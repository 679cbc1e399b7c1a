#!/usr/bin/env bats
# bats file_tags=full
# amn-convert with several operands to one output, and with packed tensors unchanged.
load helper

# tensors FILE NAME=VALUE...: makes a safetensors file of F32 tensors of 600 elements; KEY:TEXT is a key of its metadata.
tensors() {
    python3 - "$@" <<'PYTHON'
import struct, sys
from modelfile import write
tensors, meta = [], {}
for word in sys.argv[2:]:
    if ":" in word:
        key, text = word.split(":", 1)
        meta[key] = text
        continue
    name, value = word.split("=")
    tensors.append((name, "F32", [20, 30], struct.pack("<600f", *(float(value) + i for i in range(600)))))
write(sys.argv[1], tensors, meta or None)
PYTHON
}

# operands: makes one file of each container, with a tensor or two in each; all.safetensors is their union.
operands() {
    tensors a.safetensors a.one=1 a.two=2
    tensors b b=3
    tensors c c=4
    tensors d d=5
    amn-convert -o b.npz b
    amn-convert -o c.gguf c
    gzip -c d >d.safetensors.gz
    tensors all a.one=1 a.two=2 b=3 c=4 d=5
    amn-remember -o all.safetensors all
    rm b c d
}

# values FILE: prints names, types, shapes and a sum of the bytes of all tensors, in their order.
values() {
    amn-parse --json "$1" | jq -r '[.name, .dtype, (.shape | tostring)] | @tsv' | while IFS=$'\t' read -r name dtype shape; do
        echo "$name $dtype $shape $(amn-convert -q --tensor "$name" --to raw "$1" | cksum)"
    done
}

@test "operands of any container make one output of any container" {
    operands
    try 0 amn-convert -o merged.safetensors a.safetensors b.npz c.gguf d.safetensors.gz
    is_empty err
    cmp merged.safetensors all.safetensors
    for to in safetensors gguf npz; do
        amn-convert --to $to all >one."$to"
        amn-convert -o many."$to" a.safetensors b.npz c.gguf d.safetensors.gz
        cmp one."$to" many."$to"
        [ "$(amn-convert --to $to --size a.safetensors b.npz c.gguf d.safetensors.gz)" -eq "$(wc -c <many.$to)" ]
    done
    amn-convert --to raw --tensor c a.safetensors b.npz c.gguf >c
    amn-convert --to raw --tensor c c.gguf | cmp - c
}

@test "one operand may be a pipe, at any place" {
    operands
    cat a.safetensors | try 0 amn-convert --to safetensors - b.npz c.gguf d.safetensors.gz; cmp out all.safetensors
    cat b.npz | try 0 amn-convert --to safetensors a.safetensors - c.gguf d.safetensors.gz; cmp out all.safetensors
    cat c.gguf | try 0 amn-convert --to safetensors a.safetensors b.npz - d.safetensors.gz; cmp out all.safetensors
    cat d.safetensors.gz | try 0 amn-convert --to safetensors a.safetensors b.npz c.gguf -; cmp out all.safetensors
    try 2 amn-convert --to gguf - a.safetensors - </dev/null
    grep -q 'given 2 times' err
    is_empty out
    head -c 3000 a.safetensors | try 65 amn-convert --to gguf b.npz -
    error_line amn-convert malformed
    grep -q '(standard input)' err
    is_empty out
}

@test "a long pipe is spooled, unless that is refused" {
    { cat "$fx/good-fp8-200mb.safetensors" | try 75 amn-convert --no-spool --to safetensors -o x - "$fx/good-plain.safetensors"; } ||
        return 1
    error_line amn-convert limit
    only
}

@test "shards given by a glob are the model, with companions in another shard" {
    try 0 amn-convert --to safetensors "$fx"/good-sharded/*.safetensors
    amn-convert --to safetensors "$fx/good-sharded" | cmp - out
    cp -r "$corpus/safetensors-good/sharded-cross" in
    amn-convert -o whole.safetensors in
    try 0 amn-convert -o merged.safetensors in/*.safetensors
    cmp merged.safetensors whole.safetensors
    mv in/*-00002-of*.safetensors .
    try 0 amn-convert -o merged.safetensors in/*.safetensors *-00002-of*.safetensors
    cmp merged.safetensors whole.safetensors
    tensors more.safetensors more=1
    rm *-00002-of*.safetensors
    try 69 amn-convert -o x.safetensors in/*.safetensors more.safetensors
    grep -q 'index' err
    [ ! -e x.safetensors ]
}

@test "a directory and a file" {
    tensors more.safetensors more.weight=1
    try 0 amn-convert --dequantize -o out.safetensors "$fx/good-sharded" more.safetensors
    [ "$(amn-parse out.safetensors | wc -l)" -eq $(($(amn-remember "$fx/good-sharded" | amn-parse | wc -l) + 1)) ]
}

@test "a duplicate tensor is an error that names the tensor and both files" {
    tensors a.safetensors x=1 same=2
    tensors b y=1 same=2
    amn-convert -o b.npz b
    try 65 amn-convert -o all.safetensors a.safetensors b.npz
    error_line amn-convert malformed
    grep -q '^amn-convert: b.npz: .*tensor same: duplicate name, also in a.safetensors: ' err
    [ ! -e all.safetensors ]
    try 65 amn-convert --json-errors --to gguf a.safetensors a.safetensors
    jq -e '.tensor == "x" and .kind == "malformed"' err
    is_empty out
}

@test "an operand that cannot be opened, and an operand that is the output" {
    operands
    cp a.safetensors before
    try 66 amn-convert -o x.gguf a.safetensors none.npz
    grep -q '^amn-convert: none.npz: ' err
    for f in a.safetensors b.npz; do
        try 73 amn-convert -o "$f" a.safetensors b.npz
        grep -q "^amn-convert: $f: .*would overwrite this input" err
    done
    cmp a.safetensors before
    try 75 amn-convert --max-items 4 --to npz a.safetensors b.npz c.gguf d.safetensors.gz
    grep -q 'max-items' err
    is_empty out
}

# bats test_tags=broken
@test "a damaged operand is named" {
    operands
    python3 -c "
raw = bytearray(open('b.npz', 'rb').read()); raw[900] ^= 1; open('b.npz', 'wb').write(raw)"
    try 65 amn-convert -o x.safetensors a.safetensors b.npz
    grep -q '^amn-convert: b.npz: .*tensor b: CRC-32 mismatch' err
    [ ! -e x.safetensors ]
}

@test "metadata of all operands: each key once, and a warning if values differ" {
    tensors a.safetensors x=1 who:me same:1
    tensors b.safetensors y=1 same:1 more:2
    tensors c.safetensors z=1 who:you
    try 0 amn-convert --to safetensors a.safetensors b.safetensors
    is_empty err
    amn-inspect - <out | jq -e '.metadata == {"who": "me", "same": "1", "more": "2", "format": "pt"}'
    try 0 amn-convert --to safetensors a.safetensors b.safetensors c.safetensors
    [ "$(wc -l <err)" -eq 1 ]
    grep -q 'warning: c.safetensors: metadata keys that differ from earlier operands: 1 (first: who)' err
    amn-inspect - <out | jq -e '.metadata.who == "me"'
}

@test "configs: identical ones count once; different ones about quantization require a choice" {
    mkdir a b
    tensors a/model.safetensors x=1
    tensors b/model.safetensors y=1
    echo '{"hidden": 1}' >a/config.json
    echo '{"hidden": 2}' >b/config.json
    try 0 amn-convert -o d/ a b
    cmp a/config.json d/config.json
    echo '{"quantization_config": {"quant_method": "fp8"}}' >b/config.json
    try 69 amn-convert -o x.safetensors a b
    error_line amn-convert unsupported
    grep -q '^amn-convert: b: .*config.json differs.*--config' err
    try 0 amn-convert --config none -o x.safetensors a b
    try 0 amn-convert --config b/config.json -o y/ a b
    cmp b/config.json y/config.json
    cp b/config.json a/config.json
    try 0 amn-convert --to safetensors a b
}

@test "parts of a split model given by a glob; a part alone is refused" {
    for f in split split-first-empty; do
        amn-convert --keep-quantized -o one.gguf "$corpus/gguf-good/$f-00001-of-00003.gguf"
        try 0 amn-convert --keep-quantized -o many.gguf "$corpus"/gguf-good/$f-0000*-of-00003.gguf
        cmp one.gguf many.gguf
        amn-inspect many.gguf | jq -e '.metadata | keys | map(select(startswith("split."))) == []'
    done
    tensors more.safetensors more=1
    try 0 amn-convert --keep-quantized -o many.gguf "$corpus"/gguf-good/split-0000*-of-00003.gguf more.safetensors
    try 69 amn-convert -o x.gguf more.safetensors "$corpus"/gguf-good/split-0000[23]-of-00003.gguf
    grep -q 'part 2 of 3' err
    [ ! -e x.gguf ]
}

# keeps INPUT: with --keep-quantized it decodes to the same values as before.
keeps() {
    rm -rf kept kept.*
    if [ -d "$1" ]; then
        amn-convert -q --keep-quantized -o kept/ --shard-size 1K "$1" || return 1
        set -- "$1" kept
    else
        amn-convert -q --keep-quantized -o kept."$2" "$1" || return 1
        set -- "$1" kept."$2"
    fi
    local got=0 want=0
    amn-remember -q --order name "$1" >plain 2>/dev/null || want=$?
    amn-remember -q --order name "$2" >remembered 2>/dev/null || got=$?
    [ $got -eq $want ] && cmp plain remembered || { echo "$1: $got, expected $want"; return 1; }
}

# bats test_tags=full
@test "--keep-quantized: packed tensors of every scheme decode to the same values afterwards" {
    n=0
    for f in "$corpus"/safetensors-good/{autoawq-gemv-g64,awq-gemm,bnb-fp4-bs64-float32-dq,bnb-int8,comfy-w4a8-codebook}.safetensors \
        "$corpus"/safetensors-good/{ct-pack-w4-asym-bf16-g32,fp4-ct,fp8-block,fp8-row,gptq-3bit-asym,hqq-4bit-axis1}.safetensors \
        "$corpus"/safetensors-good/{gptqmodel-v2-asym,mlx-4bit-g64-bf16,peer-exl2-head,quark-mxfp6-e2m3,sdnq-uint4,sharded-cross}; do
        keeps "$f" safetensors
        n=$((n + 1))
    done
    for f in "$corpus"/pth-quantized/*.pt; do
        keeps "$f" safetensors
        n=$((n + 1))
    done
    for f in "$corpus"/gguf-good/{type-*,nvfp4-scale,align-64,ranks,split-00001-of-00003}.gguf "$fx/good-gguf.gguf"; do
        keeps "$f" gguf
        n=$((n + 1))
    done
    [ $n -ge 50 ]
}

@test "--keep-quantized: a pipe, and every tensor byte-identical" {
    f=$corpus/safetensors-good/gptq-4bit-asym.safetensors
    both 0 "$f" amn-convert --keep-quantized --to safetensors
    cmp out.file out.pipe
    values "$f" | sort >want
    values out.file | sort | cmp - want
    amn-convert --keep-quantized -o k.gguf "$fx/good-gguf.gguf"
    cmp k.gguf "$fx/good-gguf.gguf"
    amn-convert --keep-quantized --to gguf <"$fx/good-gguf.gguf" | cmp - k.gguf
}

@test "--keep-quantized: schemes that readers of the target do not support are refused" {
    fp8=$fx/good-fp8-row-f32.safetensors
    for to in gguf npz; do
        try 69 amn-convert --keep-quantized --to $to "$fp8"
        error_line amn-convert unsupported
        grep -qE 'tensor [^ ]+: quantized as FP8' err
        is_empty out
    done
    for to in safetensors npz; do
        try 69 amn-convert --keep-quantized --to $to "$fx/good-gguf.gguf"
        grep -qE 'tensor [^ ]+: quantized as Q' err
        is_empty out
    done
    try 69 amn-convert --keep-quantized --to safetensors "$fp8" "$fx/good-gguf.gguf"
    try 69 amn-convert --keep-quantized --to gguf "$corpus/gguf-good/v3-big-endian.gguf"
    grep -q 'big-endian' err
    try 69 amn-convert --keep-quantized --to gguf "$corpus/gguf-bad/fork-id-159.gguf"
    grep -q 'ggml type 159' err
    for to in safetensors gguf npz; do
        amn-convert --keep-quantized --drop z --to $to "$fx/good-plain.safetensors" >kept
        amn-convert --drop z --to $to "$fx/good-plain.safetensors" | cmp - kept
    done
    try 2 amn-convert --keep-quantized --dtype f16 --to safetensors "$fp8"
    grep -q -- '--keep-quantized copies tensors unchanged; it cannot be combined with --dtype' err
}

@test "--keep-quantized: an unsupported scheme is kept too" {
    f=$fx/unsupported-exl3.safetensors
    try 69 amn-convert --dequantize --to safetensors "$f"
    try 69 amn-convert --to npz "$f"
    try 0 amn-convert --to safetensors "$f"
    amn-parse out | jq -r '[.name, .dtype, .nbytes] | @tsv' | sort >got
    amn-parse "$f" | jq -r '[.name, .dtype, .nbytes] | @tsv' | sort | cmp - got
}

@test "--keep-quantized: weights and companions stay together" {
    f=$corpus/pth-quantized/awq-gemm.pt
    try 2 amn-convert --drop '*scales' --to safetensors "$f"
    try 2 amn-convert --only '*qzeros' --to safetensors "$f"
    is_empty out
    for pattern in '*up_proj*' '*up_proj.weight'; do
        try 0 amn-convert --only "$pattern" --to safetensors "$f"
        [ "$(amn-parse out | wc -l)" -eq 3 ]
    done
}

@test "--keep-quantized -o DIR/: config.json and other quantization configs are copied" {
    mkdir in
    cp "$fx"/good-sharded/* in/
    echo '{"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}' >in/config.json
    echo '{}' >in/hf_quant_config.json
    try 0 amn-convert --keep-quantized -o d/ in
    cmp in/config.json d/config.json
    cmp in/hf_quant_config.json d/hf_quant_config.json
    amn-remember --order name -o a.safetensors in
    amn-remember --order name -o b.safetensors d
    cmp a.safetensors b.safetensors
    try 0 amn-convert --dequantize -o e/ in
    [ ! -e e/hf_quant_config.json ]
    refute grep -q quantization e/config.json
}

@test "--dry-run describes the output and writes nothing" {
    f=$fx/good-fp8-block-f32.safetensors
    try 0 amn-convert --dequantize --dry-run --add-prefix x. -o out.safetensors "$f" "$fx/good-plain.safetensors"
    [ ! -e out.safetensors ]
    cp out lines
    amn-convert -q --dequantize --add-prefix x. -o out.safetensors "$f" "$fx/good-plain.safetensors"
    amn-parse out.safetensors | jq -c '[.name, .dtype, .shape, .nbytes]' >want
    jq -c 'select(.name) | [.name, .dtype, .shape, .nbytes]' lines | cmp - want
    jq -es '.[-1] == {report: 1, tensors: (length - 1), nbytes: (map(.nbytes)[:-1] | add), files: 1, size: '"$(wc -c <out.safetensors)"'}' lines
    jq -es 'map(select(.becomes == "decoded") | .scheme == "fp8") | length > 0 and all' lines
    jq -es 'map(select(.becomes == "kept") | .scheme == null) | length > 0 and all' lines
    jq -es '.[:-1] | all("x." + .input == .name)' lines
    try 0 amn-remember --dry-run "$f"
    jq -es '.[:-1] | all(.input == null and .file == null)' out
    cat "$f" | amn-remember -q --dry-run | cmp - out
}

@test "--dry-run: the files of a directory and of a split model" {
    try 0 amn-convert -q --dry-run --names gguf -o d/ --shard-size 1K "$fx/good-gguf.gguf"
    cp out lines
    amn-convert -q --names gguf -o d/ --shard-size 1K "$fx/good-gguf.gguf"
    jq -s 'map(select(.name) | {(.name): .file}) | add' lines >got
    jq -e --slurpfile got got '.weight_map == $got[0]' d/model.safetensors.index.json
    [ "$(cat d/*.safetensors | wc -c)" -eq "$(jq -s '.[-1].size' lines)" ]
    [ "$(ls d/*.safetensors | wc -l)" -eq "$(jq -s '.[-1].files' lines)" ]
    try 0 amn-convert -q --dry-run -o s.gguf --shard-size 100 "$fx/good-gguf.gguf"
    cp out lines
    amn-convert -q -o s.gguf --shard-size 100 "$fx/good-gguf.gguf"
    for f in s-*.gguf; do
        jq -r --arg f "$f" 'select(.file == $f) | .name' lines >want
        cp "$f" alone.gguf      # the first file is a model only with its own name
        amn-parse alone.gguf | jq -r .name | cmp - want
    done
    [ "$(cat s-*.gguf | wc -c)" -eq "$(jq -s '.[-1].size' lines)" ]
}

@test "--dry-run: a table for people, and tensors that the format cannot hold" {
    try 0 amn-convert --dequantize --dry-run --human --rename 's/^/x./' --to gguf "$fx/good-gguf.gguf"
    head -n 1 out | grep -qE '^Tensor +Type +Shape +Size +Becomes$'
    grep -qE '^x.token_embd.weight +BF16 +\[4, 64\] .*dequantized from GGUF Q8_0, was token_embd.weight$' out
    grep -qE '^4 tensors .*with headers$' out
    "$helpers/pty" amn-convert --dry-run --to gguf "$fx/good-gguf.gguf" </dev/null >shown
    grep -q Becomes shown
    try 69 amn-convert --dry-run --add-prefix "$(printf '%080d' 0)" --to gguf "$fx/good-gguf.gguf"
    is_empty out
    for bad in --json --human "--dry-run --part 1/2" "--dry-run --range 0-5" "--dry-run --size" "--dry-run --plan"; do
        try 2 amn-convert $bad --to gguf "$fx/good-gguf.gguf"
        is_empty out
    done
}

@test "the members of a dry run are documented in amn-json(5)" {
    {
        amn-convert -q --dry-run --rename 's/^t/x/' --to gguf "$fx/good-gguf.gguf"
        amn-convert -q --dry-run -o d/ "$fx/good-plain.safetensors"
        amn-forget -q --dry-run --scheme q4_0 --include '*' "$fx/good-gguf.gguf"
    } >lines
    jq -c 'select(has("name"))' lines | "$helpers/json-keys" "DRY RUN"
    jq -c 'select(has("name") | not)' lines | "$helpers/json-keys" "END OF A DRY RUN"
}
