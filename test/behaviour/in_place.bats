#!/usr/bin/env bats
# amn convert --in-place: a new header in a file whose tensors stay where they are.
load helper

# same_tensors A B: the files differ only before the first tensor.
same_tensors() {
    local from
    from=$(amn parse "$1" | jq -s 'map(.offset) | min')
    cmp <(tail -c "+$((from + 1))" "$1") <(tail -c "+$((from + 1))" "$2")
}

@test "numbers and texts of the same length change in a GGUF file, and nothing else" {
    "$helpers/all-keys" a.gguf type=F16 file_type=1
    cp a.gguf b.gguf
    ln b.gguf c.gguf
    try 0 amn convert --in-place --gguf-kv general.file_type=7 b.gguf
    is_empty out
    [ b.gguf -ef c.gguf ]
    [ "$(cmp -l a.gguf b.gguf | wc -l)" -eq 1 ]
    try 0 amn convert --gguf-kv general.file_type=7 -o want.gguf a.gguf
    cmp b.gguf want.gguf
    try 0 amn convert --in-place --gguf-kv general.file_type=7 b.gguf
    grep -q 'nothing to change' err
    cmp b.gguf want.gguf
    try 0 amn convert --in-place --gguf-kv general.file_type=1 b.gguf
    cmp a.gguf b.gguf
    [ "$(echo *)" = "a.gguf b.gguf c.gguf err out want.gguf" ]
}

@test "a header that does not fit is refused, and the file is untouched" {
    "$helpers/all-keys" a.gguf type=F16 file_type=1
    cp a.gguf b.gguf
    long=$(printf '%0200d' 0)
    try 69 amn convert --in-place --gguf-kv "general.description=$long" b.gguf
    grep -q 'the new header does not fit before the tensors: it has [0-9]* bytes more than there is room for; write another file with -o FILE' err
    try 0 amn convert --gguf-kv "general.description=$long" -o long.gguf a.gguf
    cp long.gguf b2.gguf
    try 69 amn convert --in-place --gguf-unset general.description b2.gguf
    grep -q 'the new header is shorter, and the tensors of GGUF follow it directly' err
    cmp a.gguf b.gguf
    cmp long.gguf b2.gguf
    [ ! -e b.gguf.amn-undo ]
}

@test "a safetensors header can become shorter, and names change" {
    python3 - <<'PYTHON'
from modelfile import write
write("a.safetensors", [("x.weight", "F16", [2, 2], bytes(range(8))), ("y.weight", "F32", [3], bytes(12))],
      {"format": "pt", "note": "a long text that is replaced"})
PYTHON
    cp a.safetensors b.safetensors
    try 0 amn convert --in-place --metadata note=short b.safetensors
    [ "$(stat -c %s a.safetensors)" -eq "$(stat -c %s b.safetensors)" ]
    amn inspect b.safetensors | jq -e '.metadata.note == "short" and .metadata.format == "pt"'
    same_tensors a.safetensors b.safetensors
    try 0 amn convert --in-place --rename 's/weight/w/' b.safetensors
    amn parse b.safetensors | jq -rs 'map(.name) | join(" ")' | grep -qx 'x.w y.w'
    same_tensors a.safetensors b.safetensors
    try 0 amn convert --in-place --rename 's/w$/weight/' --metadata 'note=a long text that is replaced' b.safetensors
    cmp a.safetensors b.safetensors
    try 69 amn convert --in-place --add-prefix "$(printf '%0300d' 0)." b.safetensors
    try 69 amn convert --in-place --add-prefix x. --dtype f16 b.safetensors
    grep -q 'y.weight: --in-place changes metadata and names only, but the output has it in another form' err
    try 69 amn convert --in-place --drop 'x*' --add-prefix a. b.safetensors
    grep -q 'leaves out no tensors' err
    cmp a.safetensors b.safetensors
}

@test "an interrupted change is undone by the next one" {
    "$helpers/all-keys" a.gguf type=F16 file_type=1
    cp a.gguf b.gguf
    python3 - <<'PYTHON'
import struct
raw = bytearray(open("b.gguf", "rb").read())
old = bytes(raw[8:40])
raw[8:40] = b'\xff' * 32           # half of a header, as a crash leaves it
open("b.gguf", "wb").write(raw)
open("b.gguf.amn-undo", "wb").write(b"AMN-UNDO" + struct.pack("<QQQ", 8, 32, len(raw)) + old)
PYTHON
    cp b.gguf.amn-undo undo
    try 65 amn inspect b.gguf
    try 0 amn convert --in-place --gguf-kv general.file_type=7 b.gguf
    grep -q 'an interrupted change of its header was undone' err
    [ ! -e b.gguf.amn-undo ]
    try 0 amn convert --in-place -q --gguf-kv general.file_type=1 b.gguf
    cmp a.gguf b.gguf
    head -c 60 undo >b.gguf.amn-undo
    try 65 amn convert --in-place --gguf-kv general.file_type=7 b.gguf
    grep -q 'b.gguf.amn-undo: .*if that is intact, remove this one' err
    cmp a.gguf b.gguf
}

@test "killed at any moment, the file is old, new, or as the next one undoes it" {
    "$helpers/all-keys" a.gguf type=F16 file_type=1
    try 0 amn convert --gguf-kv general.file_type=7 -o want.gguf a.gguf
    for call in pwrite64 fsync unlink; do
        command -v strace >/dev/null || skip "strace is not installed"
        cp a.gguf b.gguf
        strace -f -qq -o trace -e trace=$call -e inject=$call:signal=KILL:when=1 amn convert --in-place --gguf-kv general.file_type=7 b.gguf || :
        try 0 amn convert --in-place --gguf-kv general.file_type=7 b.gguf
        cmp b.gguf want.gguf
        [ ! -e b.gguf.amn-undo ]
    done
}

@test "a write that fails gives the old bytes back" {
    command -v strace >/dev/null || skip "strace is not installed"
    "$helpers/all-keys" a.gguf type=F16 file_type=1
    cp a.gguf b.gguf
    try 74 strace -f -qq -o trace -e trace=pwrite64 -e inject=pwrite64:error=EIO:when=1 amn convert --in-place --gguf-kv general.file_type=7 b.gguf
    grep -q 'b.gguf: input.output: cannot write' err
    cmp a.gguf b.gguf
    [ ! -e b.gguf.amn-undo ]
}

@test "what --in-place needs, and what it does not go with" {
    "$helpers/all-keys" a.gguf type=F16 file_type=1
    "$helpers/all-keys" b.gguf type=F16 file_type=1
    ln -s a.gguf link.gguf
    mkdir dir
    cp a.gguf dir
    set -- --in-place --gguf-kv general.file_type=7
    try 2 amn convert --in-place a.gguf
    grep -q -- '--in-place requires a change: --gguf-kv KEY=VALUE' err
    try 2 amn convert "$@" -o x.gguf a.gguf
    grep -q -- '--in-place writes to the input itself; it cannot be combined with --output' err
    for option in --to=gguf --size --dry-run --test --part=1/2 --report=x --manifest=x --output-dir=d; do
        try 2 amn convert "$@" $option a.gguf
    done
    try 2 amn convert "$@" a.gguf b.gguf
    try 2 amn convert "$@" - <a.gguf
    try 2 amn convert "$@" link.gguf
    grep -q 'does not follow links' err
    try 66 amn convert "$@" dir
    try 66 amn convert "$@" none.gguf
    gzip -k b.gguf
    try 2 amn convert "$@" b.gguf.gz
    try 73 flock a.gguf amn convert "$@" a.gguf
    grep -q 'a.gguf: cannot create: cannot lock' err
    try 73 amn convert -o a.gguf a.gguf
    grep -q 'would overwrite this input: choose another file, or give --in-place instead of -o to change keys' err
    cmp a.gguf b.gguf
}
