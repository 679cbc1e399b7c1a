#!/usr/bin/env bats
# bats file_tags=full
# No input makes a tool slow: the time grows linearly with the input. The families are the rows of
# helpers/growth.
load helper

# Runs each family whose name matches one of the patterns.
grow() {
    without_sanitizer
    families=$("$helpers/growth" --list)
    n=0
    for name in $families; do
        for pattern in "$@"; do
            case $name in $pattern) "$helpers/growth" "$name" || return 1; n=$((n + 1)) ;; esac
        done
    done
    [ $n -ge 1 ]
}

@test "many tensors, in any order, by name, and weights with scales" {
    grow 'tensors*' fp8
}

@test "GGUF: many tensors, keys, strings and arrays" {
    grow gguf-tensors gguf-keys gguf-strings gguf-arrays
}

@test "GGUF: many unknown types whose labels collide in an unseeded hash" {
    grow gguf-types
}

@test "many metadata keys, in one file and in shards" {
    grow 'metadata*'
}

@test "many shards, many lines in the index" {
    grow shards index
}

@test "long names, names full of escapes, high ranks" {
    grow '*-names' ranks
}

@test "config.json: many modules, expressions, text around the block" {
    grow 'config-*'
}

@test "schemes: a name of dots, unknown codes, layers of markers, experts with one scale" {
    grow dots unknown-codes comfy-layers experts
}

@test "checkpoints: many chunks in many files, opened in at most twice the time that Python needs to write them" {
    grow chunks
    seconds() { python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print(round(1000 * (u.ru_utime + u.ru_stime)))' "$@"; }
    made=$(seconds python3 "$helpers/dcp" many 400 64)
    for i in 1 2 3; do
        opened=$(seconds amn-convert -q --to safetensors --size many)
        [ "$opened" -gt $((2 * made)) ] || return 0
    done
    echo "$opened ms, expected at most $((2 * made))"
    return 1
}
