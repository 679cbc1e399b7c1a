#!/usr/bin/env bats
# Peak resident memory does not follow the size of a tensor or of the model.
load helper

# 16 MiB of the contract for buffers; the program and its libraries are part of what is measured.
most=16384

peak() {
    kib=$("$peak_memory" "$@") || return 2
    [ "$kib" -le $most ] || { echo "$kib KiB, expected at most $most: $*"; return 1; }
}

without_sanitizer() {
    if is_sanitized; then skip "a sanitizer's own memory is in the way"; fi
}

@test "200 MiB of one FP8 tensor: at most 16 MiB, from a file" {
    without_sanitizer
    peak amn-remember "$fx/good-fp8-200mb.safetensors"
    peak amn-remember -j 4 --to f32 "$fx/good-fp8-200mb.safetensors"
    peak amn-remember "$fx/good-fp8-200mb-late.safetensors"
}

@test "200 MiB of one FP8 tensor: at most 16 MiB, from a pipe" {
    without_sanitizer
    cat "$fx/good-fp8-200mb.safetensors" | peak amn-remember --no-spool
}

@test "200 MiB of one FP8 tensor: at most 16 MiB, spooled" {
    without_sanitizer
    cat "$fx/good-fp8-200mb-late.safetensors" | peak amn-remember
}

@test "the measurement sees memory: it counts what a program takes, and tells its status" {
    without_sanitizer
    try 65 "$peak_memory" amn-remember "$fx/bad-text.txt"
    kib=$("$peak_memory" python3 -c 'x = bytearray(50 << 20)')
    [ "$kib" -ge 51200 ]
    for i in 1 2 3 4 5; do      # however short its life
        kib=$("$peak_memory" amn-remember --version)
        [ "$kib" -ge 1024 ] && [ "$kib" -le $most ]
    done
}
