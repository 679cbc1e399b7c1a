#!/usr/bin/env bats
# The front: amn VERB, as git does.
load helper

@test "amn VERB is amn-VERB: same bytes, same status" {
    for f in good-fp8-block-f32.safetensors good-gguf.gguf; do
        for verb in parse inspect remember; do
            try 0 amn-$verb "$fx/$f"
            cp out expected
            try 0 amn $verb "$fx/$f"
            cmp out expected
        done
    done
    try 65 amn parse "$fx/bad-hole.safetensors"
    error_line amn-parse malformed
    cat "$fx/good-gguf.gguf" | try 0 amn remember --size
    try 2 amn remember --nonsense
}

@test "the other names: amn-info, amn-dequantize" {
    try 0 amn-inspect "$fx/good-gguf.gguf"
    cp out expected
    try 0 amn-info "$fx/good-gguf.gguf"
    cmp out expected
    try 0 amn info "$fx/good-gguf.gguf"
    cmp out expected
    try 0 amn-remember "$fx/good-gguf.gguf"
    cp out expected
    try 0 amn-dequantize "$fx/good-gguf.gguf"
    cmp out expected
}

@test "amn alone, help, --help: the verbs" {
    for words in '' help -h --help; do
        try 0 amn $words
        for verb in parse inspect remember; do grep -qE "^  amn $verb[ ,]" out; done
        is_empty err
    done
}

@test "amn --version" {
    for o in -V --version; do
        try 0 amn $o
        grep -qE '^amn [0-9]+\.[0-9]+\.[0-9]+$' out
    done
}

@test "an unknown verb: status 2, named, without its control characters" {
    try 2 amn frobnicate
    is_empty out
    grep -q "'frobnicate'" err
    try 2 amn $'evil\x1b[2Jverb'
    "$helpers/no-controls" err
    try 2 amn ../bin/amn-parse
    try 2 amn help frobnicate
}

@test "amn help VERB shows the manual page of that tool" {
    mkdir fake
    printf '#!/bin/sh\nprintf "%%s\\n" "$@"\n' >fake/man
    chmod +x fake/man
    PATH=$PWD/fake:$PATH try 0 amn help inspect
    grep -qE 'amn-inspect(\.1)?$' out
}

@test "amn finds its tools when it is called through links, from elsewhere" {
    mkdir -p a/b
    ln -s "$AMN_BIN/amn" a/first
    ln -s ../first a/b/second
    PATH=/usr/bin:/bin try 0 a/b/second inspect "$fx/good-plain.safetensors"
    jq -e '.format == "safetensors"' out
    cd a/b
    PATH=/usr/bin:/bin try 0 ./second --version
}
