#!/usr/bin/env bats
# bats file_tags=broken
# Truncated, wrong, hostile or foreign input. The corpus has hundreds more: test/check-corpus.
load helper

# bats test_tags=full
@test "safetensors truncated at every byte of the header and at the edges of its data" {
    "$helpers/cut-everywhere" "$fx/good-plain.safetensors"
    "$helpers/cut-everywhere" "$fx/good-fp8-input-scale.safetensors"
}

# bats test_tags=full
@test "GGUF truncated at every byte of the header and at the edges of its data" {
    "$helpers/cut-everywhere" "$fx/good-gguf.gguf"
}

# bats test_tags=full
@test "truncated in the data of several blocks, streamed and spooled" {
    "$helpers/cut-everywhere" "$fx/good-fp8-wide.safetensors"
    "$helpers/cut-everywhere" "$fx/good-fp8-wide-late.safetensors"
    "$helpers/cut-everywhere" "$fx/good-gguf-k.gguf"
}

# promises LENGTH WHOLE FILE: every tool reports that the FILE has LENGTH bytes and its header declares WHOLE.
promises() {
    local length=$1 whole=$2 file=$3 tool
    for tool in amn-parse amn-inspect amn-remember; do
        try 65 $tool "$file" || return 1
        grep -q "truncated: $length of $whole bytes (incomplete download or copy?)" err || { cat err; return 1; }
        is_empty out || return 1
    done
    cat "$file" | try 65 amn-remember || return 1
    grep -q "truncated: $length of $whole bytes (incomplete download or copy?)" err || { cat err; return 1; }
}

# bats test_tags=full
@test "a truncated file: the message has its length and the length that its header declares" {
    for f in good-fp8-wide.safetensors good-fp8-wide-late.safetensors good-plain.safetensors; do
        size=$(wc -c <"$fx/$f")
        header=$((8 + $(od -An -tu4 -N4 "$fx/$f")))
        for length in $((size - 1)) $((header + (size - header) / 2)) $header; do
            head -c $length "$fx/$f" >cut
            promises $length $size cut
        done
        for length in 8 9 $((header - 1)); do
            head -c $length "$fx/$f" >cut
            promises $length $header cut
        done
    done
    for f in good-gguf-k.gguf good-gguf.gguf; do
        size=$(amn-parse "$fx/$f" | jq -s 'map(.offset + .nbytes) | max')      # padding may be missing
        for length in $((size - 1)) $((size - 100)); do
            head -c $length "$fx/$f" >cut
            promises $length $size cut
        done
    done
    try 65 amn-inspect --json-errors cut                # tensor data are missing
    jq -e '.tensor != null' err
    head -c 100 "$fx/good-gguf-k.gguf" >cut
    both 65 cut amn-inspect
    grep -q '\(incomplete\|truncated or damaged\)' err.file
    sed 's/^[^:]*: [^:]*: //' err.file >said
    sed 's/^[^:]*: [^:]*: //' err.pipe | cmp - said
}

# bats test_tags=full
@test "compressed and truncated: the message has the decompressed length and the length that the header declares" {
    f=$fx/good-fp8-wide.safetensors
    size=$(wc -c <"$f")
    for p in 'gzip -c' 'zstd -qc' 'xz -0 -c'; do
        $p <"$f" >model
        head -c 1200000 model >cut
        both 65 cut amn-remember
        for e in err.file err.pipe; do
            grep -qE "the ${p%% *} stream ends after 1200000 bytes; its contents are truncated: [0-9]+ of $size bytes " $e
        done
        head -c 1400000 "$f" | $p >whole                # the stream is complete, its contents are not
        both 65 whole amn-remember
        for e in err.file err.pipe; do
            grep -q "truncated: 1400000 of $size bytes (incomplete download or copy?)" $e
        done
    done
}

@test "every bad- fixture: 65 (a limit: 75), one line, nothing on stdout; file and pipe" {
    n=0
    for f in "$fx"/bad-*; do
        want=65
        case $f in *bad-huge-header*) want=75 ;; esac
        both $want "$f" amn-remember
        is_empty out.file
        case $f in *bad-tail*) ;; *) is_empty out.pipe ;; esac
        for e in err.file err.pipe; do
            [ "$(wc -l <$e)" -eq 1 ]
            [ "$(wc -c <$e)" -le 2049 ]
        done
        n=$((n + 1))
    done
    [ $n -ge 15 ]
}

@test "every unsupported- fixture: 69, with its name, nothing on stdout" {
    for f in "$fx"/unsupported-*; do
        both 69 "$f" amn-remember
        is_empty out.file
        is_empty out.pipe
    done
    try 69 amn-remember "$fx/unsupported-exl3.safetensors"
    grep -q 'EXL3' err
    try 69 amn-remember "$fx/unsupported-ggjt.bin"
    grep -q 'GGML' err
    try 69 amn-parse "$fx/unsupported-gguf-v1.gguf"
    grep -q 'version 1' err
}

@test "missing companions: malformed, naming them, never raw codes" {
    try 65 amn-remember "$fx/bad-scale-missing.safetensors"
    grep -q 'l\.1\.weight' err
    try 65 amn-remember "$fx/bad-scale-shape.safetensors"
    grep -q 'l\.0\.weight' err
    try 65 amn-remember "$fx/bad-scale-orphan.safetensors"
    grep -q 'l\.0\.weight_scale_inv' err
    try 65 amn-remember "$fx/bad-two-scales.safetensors"
    grep -q 'l\.0\.weight_scale' err
    cp -r "$fx/good-sharded" model
    try 69 amn-remember model/model-00001-of-00002.safetensors
    rm model/model-00002-of-00002.safetensors
    try 66 amn-remember model
    grep -q 'model-00002-of-00002' err
}

# index_of TEXT: makes a model of two shards with this index.
index_of() {
    mkdir -p model
    cp "$fx/good-no-metadata.safetensors" model/a.safetensors
    cp "$fx/good-gguf.gguf" model/b.safetensors
    printf '%s' "$1" >model/model.safetensors.index.json
}

@test "an index that lists nothing, or too much" {
    for text in '{}' '{"weight_map":{}}' '{"weight_map":[]}' '{"weight_map":{"a":"a.safetensors"},"weight_map":{}}' \
        '{"weight_map":{"a":"a.safetensors"}' '{"weight_map":{"a":"a.safetensors"}} x' '[]' \
        '{"weight_map":{"a":"a.safetensors","nowhere":"a.safetensors"}}'; do
        index_of "$text"
        try 65 amn-remember model
        error_line amn-remember malformed || { echo "$text"; return 1; }
        is_empty out
    done
}

@test "an index that lists fewer tensors than its shards contain, of safetensors and of PyTorch" {
    index_of '{"weight_map":{"a":"a.safetensors"}}'
    for t in amn-parse amn-inspect amn-remember 'amn-convert --to npz'; do
        try 0 $t model
        cat out err | grep -aq 'not in the index: 5 (first: [^ ]* in a.safetensors); they are read'
        try 65 $t --strict model
        error_line ${t%% *} malformed
        grep -q 'tensor [^ ]*: in a.safetensors, but not in the index (5 such tensors)' err
        is_empty out
    done
    amn-parse -q model/a.safetensors | jq -n '{weight_map: [inputs | {(.name): "a.safetensors"}] | add}' >index
    index_of "$(cat index)"
    try 0 amn-remember model
    "$helpers/hf-model" "$corpus/hf-models/llama-wide" bin bin
    amn-parse -q bin/pytorch_model.bin | jq -n '{weight_map: [inputs | {(.name): "pytorch_model.bin"}] | add}' \
        >bin/pytorch_model.bin.index.json
    try 0 amn-remember bin
    jq 'del(.weight_map["model.norm.weight"])' bin/pytorch_model.bin.index.json >index
    mv index bin/pytorch_model.bin.index.json
    try 0 amn-remember bin
    grep -q 'not in the index: 1 (first: model.norm.weight in pytorch_model.bin)' err
    try 65 amn-remember --strict bin
    grep -q 'tensor model.norm.weight: in pytorch_model.bin, but not in the index (1 such' err
}

@test "shards of two formats" {
    index_of '{"weight_map":{"a":"a.safetensors","output.weight":"b.safetensors"}}'
    try 65 amn-remember model
    grep -q 'this file is GGUF, the first file of the model is safetensors' err
}

@test "GGUF version 1 is reported before anything that is missing" {
    printf 'GGUF\1\0\0\0' >v1.gguf
    for tool in amn-parse amn-inspect amn-remember; do
        both 69 v1.gguf $tool
        grep -q 'version 1' err.file && is_empty out.file
    done
}

@test "an empty input, a directory without a model, a text file" {
    both 65 /dev/null amn-remember
    try 65 amn-remember </dev/null
    error_line amn-remember malformed
    mkdir folder
    try 66 amn-remember folder
    try 65 amn-inspect "$fx/bad-text.txt"
    is_empty out
}

@test "a header that declares terabytes fails at once without allocating memory" {
    [ -z "$(is_sanitized && echo yes)" ] || skip "the sanitizer maps terabytes itself"
    small() { (ulimit -v 1000000; exec amn-inspect "$@"); }
    try 75 small "$fx/bad-huge-header.safetensors"
    printf 'GGUF\3\0\0\0\377\377\377\377\377\0\0\0\377\377\377\377\377\0\0\0' >huge.gguf
    try 65 small huge.gguf || try 75 small huge.gguf
    is_empty out
}

@test "names that would rewrite the terminal are escaped on stdout and stderr, by every tool" {
    mkdir said
    n=0
    for f in "$fx"/*-hostile.safetensors "$corpus"/safetensors-good/*names-hostile* "$corpus"/safetensors-bad/index-name-* "$corpus"/gguf-good/*hostile* \
        "$corpus"/safetensors-bad/name-*.safetensors "$corpus"/safetensors-good/names-*.safetensors; do
        [ -e "$f" ] || continue
        for c in amn-parse amn-inspect "amn-parse --human" "amn-inspect --human" "amn-inspect --arrays" \
            "amn-remember -v -o /dev/null" "amn-remember --json-errors -v -o /dev/null"; do
            n=$((n + 1))
            said="said/$n ${c//[ \/]/_} ${f##*/}"
            $c "$f" >"$said.out" 2>"$said.err" || :
        done
    done
    [ $n -ge 50 ]
    "$helpers/no-controls" said/*
}

@test "file names that would rewrite the terminal are escaped" {
    evil=$'x\x1b[2K\rOK\nforged'
    cp "$fx/bad-hole.safetensors" "$evil"
    said() {
        try "$@"
        cat out >>said.out
        cat err >>said.err
    }
    for t in amn-parse amn-inspect amn-remember; do
        said 65 $t "$evil"
        [ "$(wc -l <err)" -eq 1 ]
        said 65 $t --json-errors "$evil"
        jq -e .file err
        said 66 $t "nowhere$evil"
    done
    cp "$fx/good-plain.safetensors" "$evil"
    said 0 amn-inspect "$evil"
    said 0 amn-inspect --human "$evil"
    said 2 amn-remember "--$evil"
    said 73 amn-remember -o "none/$evil" "$evil"
    said 2 amn-remember --to "$evil" "$evil"
    said 2 amn-remember --range "$evil" "$evil"
    "$helpers/no-controls" said.out said.err
}

@test "a file that shrinks while it is read never exits with 0" {
    cp "$fx/good-fp8-wide.safetensors" f
    mkfifo slow
    { amn-remember f >slow 2>err && echo 0 >status || echo $? >status; } &
    exec 8<slow
    head -c 1000 <&8 >/dev/null
    : >f
    cat <&8 >/dev/null
    exec 8<&-
    wait $!
    [ "$(cat status)" -eq 74 ]
}

# bats test_tags=full
@test "a file that changes while it is read: 74, and no output" {
    printf old >old
    cp "$corpus/gguf-good/trailing-bytes.gguf" input
    for change in 'printf x >>input' 'touch -d "2001-01-01" input' 'printf y | dd of=input conv=notrunc 2>/dev/null'; do
        for job in "input" "- <input" "--range 0-99 input"; do
            try 74 "$helpers/held" "$change" sh -c "exec amn-remember -v -o old $job"
            grep -q 'input/output: file changed while being read' err
            [ "$(cat old)" = old ]
            cp "$corpus/gguf-good/trailing-bytes.gguf" input
        done
    done
    only old input
}

@test "a shard that changes while it is read: 74, with its name" {
    cp "$corpus"/gguf-good/split-0000* .
    printf x >>split-00001-of-00003.gguf        # trailing data are worth a note
    try 74 "$helpers/held" 'printf x >>split-00003-of-00003.gguf' amn-remember -v -o new split-00001-of-00003.gguf
    grep -q 'split-00003-of-00003.gguf: input/output: file changed' err
    [ ! -e new ]
}

# bats test_tags=full
@test "a safetensors file whose length starts like another container, truncated anywhere, is truncated safetensors" {
    for length in 640 1920 2654848 67324752; do             # 80 02, 80 07, 80 82 28 and PK 03 04 as bytes
        python3 - $length <<'PYTHON'
import struct, sys
text = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
n = int(sys.argv[1])
open("f", "wb").write(struct.pack("<Q", n) + text.ljust(min(n, 5000)) + b"1234")
PYTHON
        for n in 9 10 20 200 500; do
            head -c $n f >cut
            [ $n -ge 10 ] || [ $length -ne 67324752 ] || continue
            both 65 cut amn-parse
            grep -q 'InvalidHeaderLength' err.file
        done
        for n in 1 2 3 5 8; do
            head -c $n f >cut
            [ $n -le 3 ] || [ $length -ne 67324752 ] || continue
            both 65 cut amn-inspect
        done
    done
    printf '\200\002}q\000.' >dict.pt                        # an empty dict, pickled
    both 69 dict.pt amn-parse
    printf '\200\002\212\012l\374\234F\371 j\250P\031.' >magic.pt    # the start of torch.save's output
    both 65 magic.pt amn-parse
    grep -q 'truncated in the pickles, after 15 bytes' err.file
}

@test "a duplicate metadata key in one shard that is known from an earlier shard" {
    "$helpers/large" shards 2 model
    python3 - <<'PYTHON'
import struct
def write(n, keys):
    text = '{"__metadata__":{%s},"model.layers.%07d.weight":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}' % (keys, n)
    with open("model/model-%05d-of-00002.safetensors" % (n + 1), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text.encode() + b"1")
write(0, '"k":"first","a\\u0062":"x"')
write(1, '"ab":"y","k":"second"')
PYTHON
    try 0 amn-inspect model
    jq -e '.metadata == {"k": "first", "ab": "x"}' out
    sed -i 's/"ab":"y"/"k" :"y"/' model/model-00002-of-00002.safetensors
    try 65 amn-inspect model
    grep -q 'duplicate key k' err
}
