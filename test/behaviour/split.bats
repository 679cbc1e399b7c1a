#!/usr/bin/env bats
# bats file_tags=full
# --shard-size: a GGUF model in several files; and -o DIR/ of amn-convert. test/peers tests the files with gguf-split.
load helper

# keys FILE: the metadata of a GGUF file.
keys() {
    amn-inspect "$1" 2>/dev/null | jq -c .metadata
}

# bulk FILE: five F32 tensors of 4000, 4000, 4000, 40 and 12000 bytes.
bulk() {
    python3 - "$1" <<'PYTHON'
import struct, sys
from modelfile import write
write(sys.argv[1], [("t%d" % i, "F32", [n], struct.pack("<%df" % n, *(float(j * (i + 1)) for j in range(n))))
                    for i, n in enumerate((1000, 1000, 1000, 10, 3000))], {"who": "me"})
PYTHON
}

@test "files of a given size, their names and their keys; merged they are the model again" {
    bulk in
    try 0 amn-convert -o m.gguf --shard-size 8000 in
    [ "$(grep -vc 'llama.cpp cannot run the output' err)" -eq 0 ]
    only in m-00001-of-00003.gguf m-00002-of-00003.gguf m-00003-of-00003.gguf
    # 4000 bytes are 4000 of data, a multiple of 32; 40 are 64; a tensor longer than the size has its own file
    mkdir alone             # the first file is the model only with its own name
    for i in 1 2 3; do
        cp m-0000$i-of-00003.gguf alone/x.gguf
        amn-parse alone/x.gguf | jq -r .name | paste -sd ' '
    done >names
    printf '%s\n' 't0 t1' 't2 t3' t4 | cmp - names
    keys m-00001-of-00003.gguf | jq -e '.who == "me"'
    amn-convert -o one.gguf in
    try 0 amn-convert -o back.gguf m-00001-of-00003.gguf
    cmp one.gguf back.gguf
    try 0 amn-convert -o back.gguf m-*.gguf
    cmp one.gguf back.gguf
    cat in | try 0 amn-convert -o p.gguf --to gguf --shard-size 8000
    for i in 1 2 3; do cmp m-0000$i-of-00003.gguf p-0000$i-of-00003.gguf; done
    try 0 amn-convert -o q.gguf --shard-size 8000 -j 4 --direct=always --sync m-00001-of-00003.gguf
    for i in 1 2 3; do cmp m-0000$i-of-00003.gguf q-0000$i-of-00003.gguf; done
}

@test "the split keys have gguf-split's types, and the later files have no other key" {
    bulk in
    amn-convert -o m.gguf --shard-size 8000 in
    python3 - <<'PYTHON'
import struct
from modelfile import gguf_key
for no in range(3):
    raw = open("m-%05d-of-00003.gguf" % (no + 1), "rb").read()
    split = gguf_key("split.no", "u16", no) + gguf_key("split.count", "u16", 3) + gguf_key("split.tensors.count", "i32", 5)
    tensors, keys = struct.unpack("<QQ", raw[8:24])
    assert tensors == (2, 2, 1)[no]
    if no:
        assert keys == 3 and raw[24:24 + len(split)] == split, raw[:200]
    else:
        assert keys > 3 and split in raw
PYTHON
}

@test "packed tensors are split and merged unchanged" {
    f=$fx/good-gguf.gguf
    try 0 amn-convert --keep-quantized -o m.gguf --shard-size 100 "$f"
    n=$(ls m-*.gguf | wc -l)
    [ "$n" -eq 4 ]
    amn-convert --keep-quantized -o back.gguf m-*.gguf
    cmp "$f" back.gguf
    amn-convert --keep-quantized -o again.gguf --shard-size 100 m-00001-of-0000$n.gguf
    for i in 1 2 3 4; do cmp m-0000$i-of-0000$n.gguf again-0000$i-of-0000$n.gguf; done
    amn-remember --order name -o a "$f"
    amn-remember --order name -o b m-00001-of-0000$n.gguf
    cmp a b
}

@test "a model that fits in one file, and one without tensors" {
    bulk in
    try 0 amn-convert -o m.gguf --shard-size 1G in
    only in m-00001-of-00001.gguf
    amn-convert -o one.gguf in
    amn-convert -o back.gguf m-00001-of-00001.gguf
    cmp one.gguf back.gguf
    try 0 amn-convert -o n.gguf --shard-size 1G "$fx/good-no-tensors.safetensors"
    [ -e n-00001-of-00001.gguf ]
}

@test "a failure in the middle leaves nothing" {
    bulk in
    limited() { (ulimit -f 9; exec "$@"); }         # the third file is longer
    try 74 limited amn-convert -o m.gguf --shard-size 8000 in
    error_line amn-convert input/output
    grep -q '^amn-convert: m-00003-of-00003.gguf: ' err
    only in
    python3 -c "
raw = open('in', 'rb').read(); open('cut', 'wb').write(raw[:-100])"
    cat cut | try 65 amn-convert --to gguf -o m.gguf --shard-size 8000
    rm cut
    only in
}

@test "a signal in the middle leaves nothing" {
    command -v strace >/dev/null && strace -o trace true 2>/dev/null || skip "no strace here"
    rm -f trace
    ! is_sanitized || skip "the sanitizer does not bear strace"
    bulk in
    for sig in TERM INT HUP; do
        got=0
        env --default-signal strace -f -o /dev/null -e inject=fallocate:signal=$sig:when=3 amn-convert -o m.gguf --shard-size 8000 in 2>err || got=$?
        [ $got -gt 128 ]
        only in
        got=0           # while the files are renamed: the first one is renamed last
        env --default-signal strace -f -o /dev/null -e inject=fchmod:signal=$sig:when=2 amn-convert -o m.gguf --shard-size 8000 in 2>err || got=$?
        [ $got -gt 128 ]
        only in m-00003-of-00003.gguf
        rm m-00003-of-00003.gguf
    done
}

@test "existing files are not overwritten" {
    bulk in
    for i in 1 2 3; do
        echo old >m-0000$i-of-00003.gguf
        try 73 amn-convert -o m.gguf --shard-size 8000 in
        error_line amn-convert 'cannot create'
        grep -q "^amn-convert: m-0000$i-of-00003.gguf: .*file exists, and files" err
        rm m-0000$i-of-00003.gguf
    done
    only in
    echo other >m.gguf
    try 0 amn-convert -n -o m.gguf --shard-size 8000 in
    [ "$(cat m.gguf)" = other ]
}

@test "options that conflict with --shard-size" {
    f=$fx/good-plain.safetensors
    for bad in "--to gguf" "-o m.npz" "-o m.safetensors" "-o m.bin --to gguf" "-o d/ --to gguf" "-o m.gguf --size" \
        "-o m.gguf --plan" "-o m.gguf --part 1/2" "-o m.gguf --range 0-5"; do
        try 2 amn-convert --shard-size 1K $bad "$f"
        is_empty out
    done
    try 2 amn-convert --shard-size 0 -o m.gguf "$f"
    try 2 amn-convert -o d/ --to gguf "$f"
    grep -q -- '--shard-size' err
    try 2 amn-convert -o d/ --to npz "$f"
    try 2 amn-convert --shard-size 1K -o m.safetensors "$f"
    try 2 amn-convert --resume --to safetensors "$f"
    try 2 amn-remember --shard-size 1K -o m.gguf "$f"
    only
    try 75 amn-convert --shard-size 1 -o m.gguf "$corpus/safetensors-good/5000-tensors.safetensors" --max-items 10
}

@test "-o DIR/ of amn-convert equals that of amn-remember" {
    for f in "$fx/good-sharded" "$fx/good-gguf.gguf" "$fx/good-fp8-late.safetensors"; do
        rm -rf a b c
        names=()
        case $f in *.gguf) names=(--names gguf) ;; esac
        amn-remember "${names[@]}" -o a/ --shard-size 1K "$f"
        try 0 amn-convert --dequantize "${names[@]}" -o b/ --shard-size 1K "$f"
        diff -r a b
        [ -d "$f" ] || { cat "$f" | amn-convert --dequantize "${names[@]}" -o c/ --shard-size 1K && diff -r a c; }
    done
    bulk in
    amn-convert -o in.npz in
    try 0 amn-convert -o d/ --shard-size 8000 in.npz
    [ "$(ls d/*.safetensors | wc -l)" -eq 3 ]
    amn-convert -o back.npz d
    cmp in.npz back.npz
    try 0 amn-convert --to safetensors d/*.safetensors
    amn-convert --to safetensors in.npz | cmp - out
}

@test "--resume of amn-convert continues after finished files, also of several operands" {
    bulk in
    amn-convert -o more.npz --rename 's/^/more./' in
    limited() { (ulimit -f 8; exec "$@"); }
    cat in | try 74 limited amn-convert -o d/ --shard-size 8000 - more.npz
    [ -e d/.amn-journal ] && [ -e d/model-00001-of-00006.safetensors ]
    [ ! -e d/model.safetensors.index.json ]
    cat in | try 73 amn-convert -o d/ --shard-size 8000 - more.npz
    cat in | try 0 amn-convert -v -o d/ --shard-size 8000 --resume - more.npz
    grep -qE 'files already complete: [1-9]' err
    amn-convert -o e/ --shard-size 8000 in more.npz
    diff -r d e
    rm -rf d
    cat in | try 74 limited amn-convert -o d/ --shard-size 8000 - more.npz
    amn-convert -o more.npz --rename 's/^/more./' --drop t0 in
    cat in | try 73 amn-convert -o d/ --shard-size 8000 --resume - more.npz
}
