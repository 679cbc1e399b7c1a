#!/usr/bin/env bats
# bats file_tags=full
# Peak resident memory does not depend on the size of a tensor or of the model.
load helper

# The documented 16 MiB for buffers; the program and its libraries are part of the measurement.
most=16384

peak() {
    kib=$("$peak_memory" "$@") || return 2
    [ "$kib" -le $most ] || { echo "$kib KiB, expected at most $most: $*"; return 1; }
}

@test "200 MiB of one FP8 tensor: at most 16 MiB, from a file" {
    without_sanitizer
    peak amn-remember "$fx/good-fp8-200mb.safetensors"
    peak amn-remember -j 4 --to f32 "$fx/good-fp8-200mb.safetensors"
    peak amn-remember "$fx/good-fp8-200mb-late.safetensors"
    peak amn-convert --to npz "$fx/good-fp8-200mb.safetensors"
}

@test "200 MiB of one FP8 tensor: at most 16 MiB, from a pipe" {
    without_sanitizer
    cat "$fx/good-fp8-200mb.safetensors" | peak amn-remember --no-spool
}

@test "200 MiB of one FP8 tensor: at most 16 MiB, spooled" {
    without_sanitizer
    cat "$fx/good-fp8-200mb-late.safetensors" | peak amn-remember
}

@test "200 MiB of one FP8 tensor, compressed: at most 16 MiB, from a file, a pipe, and spooled" {
    without_sanitizer
    for p in gzip 'zstd -q' xz; do          # xz -1 uses a window of 1 MiB
        $p -1 -c <"$fx/good-fp8-200mb.safetensors" >model
        peak amn-remember --no-spool model
        peak amn-remember --no-spool <model
        peak amn-inspect model
    done
    gzip -1 -c <"$fx/good-fp8-200mb-late.safetensors" >model
    peak amn-remember model
}

# models: m.safetensors of 65 MB of floats, a file three times as large, and conversions to other containers and to parts.
models() {
    python3 - "$tests/bench" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
from bench_inputs import make_pth
from modelfile import write_hole
for name, dtype, cols in ("m", "F32", 2560), ("half", "BF16", 5120):
    write_hole(name + ".safetensors", [("mlp.up_proj.weight", dtype, [6400, cols], 6400 * 2560 * 4)])
make_pth("m.pth", 192 << 20)          # three tensors
PYTHON
    for to in npz gguf; do amn-convert -q -o m.$to m.safetensors; done
    amn-convert -q -o shards/ --shard-size 50M m.pth
    amn-convert -q -o m.gguf --shard-size 50M m.pth
}

@test "65 MB from any container to any container, from a file and a pipe: at most 8 MiB" {
    without_sanitizer
    models
    most=8192
    for in in m.safetensors m.gguf m.npz m.pth shards m-00001-of-*.gguf; do
        for to in safetensors gguf npz; do
            peak amn-convert -q -o out.$to "$in"
            [ "$(stat -c %s out.$to)" -gt 64000000 ]
            case $in in shards | m-0*) continue ;; esac
            peak amn-convert -q --no-spool -o out.$to - <"$in"
            cat "$in" | peak amn-convert -q -o out.$to -
        done
    done
    peak amn-convert -q -o again/ --shard-size 50M m.pth
    peak amn-convert -q -o again.gguf --shard-size 50M m.npz
    peak amn-convert -q --to raw --tensor mlp.up_proj.weight m.npz
    peak amn-convert -q --dtype bf16 -o out.npz m.gguf
}

# Concurrent memory of threads varies by some 3 % between runs: the smallest of three runs counts.
from_file() { peak amn-forget --scheme $s -o out half.safetensors 2>err; }
from_pipe() { cat half.safetensors | peak amn-forget --scheme $s -o piped - 2>err; }
least() { "$1" || "$1" || "$1"; }

@test "65 MB of BF16 to any kind of scheme, with its error, from a file and a pipe: at most 8 MiB for two workers" {
    without_sanitizer
    models
    most=$((8192 + 1024 * ($(nproc) > 2 ? $(nproc) - 2 : 0)))
    for s in fp8 fp8-per-tensor int8 nf4 nf4-double-quant int4-group gptq awq mxfp8 nvfp4 mlx-4bit comfy-int8 \
        q8_0 q4_k iq4_nl; do
        least from_file
        [ "$(stat -c %s out)" -lt 42000000 ] && [ "$(stat -c %s out)" -gt 9000000 ]
        least from_pipe
        cmp out piped
    done
}

@test "65 MB: digests, checks and comparisons of any containers: at most 8 MiB for two threads, from a file and a pipe" {
    without_sanitizer
    models
    most=$((8192 + 1024 * ($(nproc) > 2 ? $(nproc) - 2 : 0)))
    for in in m.safetensors m.gguf m.npz shards m-00001-of-*.gguf half.safetensors "$fx/good-fp8-200mb.safetensors"; do
        peak amn-inspect --hash "$in"
        amn-parse -q --hash "$in" >lines
        peak amn-parse --hash "$in"
        peak amn-inspect --check lines "$in"
        peak amn-inspect --diff "$in" "$in"
        [ "$in" = shards ] || [ "$in" != "${in#m-0}" ] || cat "$in" | peak amn-inspect --hash
    done
    peak amn-inspect --diff m.safetensors m.npz
    cat m.gguf | peak amn-inspect --diff m.npz -
    amn-forget -q --scheme q4_k -o q.gguf half.safetensors
    kib=$("$peak_memory" amn-inspect --diff half.safetensors q.gguf) || [ $? -eq 1 ]
    [ "$kib" -le $most ]
    peak amn-inspect --hash q.gguf
    peak amn-remember -q --manifest lines -o out m.gguf
    peak amn-forget -q --scheme q4_k --manifest lines -o out.gguf half.safetensors
    most=16384                  # transposed matrices are read in panels
    amn-forget -q --scheme gptq -o g.safetensors half.safetensors
    peak amn-inspect --hash g.safetensors
    peak amn-inspect --diff g.safetensors g.safetensors
}

# The table of amn-memory(7): six windows, and what the job takes otherwise.
@test "fetched: six windows more than a file" {
    without_sanitizer
    models
    local='tail -c +$((AMN_FROM + 1)) "$AMN_FILE" | head -c $((AMN_TO - AMN_FROM + 1))'
    for in in m.safetensors m.gguf half.safetensors shards/ m-00001-of-*.gguf; do
        most=$((8192 + 6 * 1024 + 1024 * ($(nproc) > 2 ? $(nproc) - 2 : 0)))
        peak amn-remember -q --fetch "$local" --fetch-window 1M -o out.safetensors "$in"
        peak amn-inspect --hash --fetch "$local" --fetch-window 1M "$in"
        most=$((8192 + 6 * 16384 + 1024 * ($(nproc) > 2 ? $(nproc) - 2 : 0)))
        peak amn-remember -q --fetch "$local" -o out.safetensors "$in"
    done
    [ "$kib" -gt 32768 ]                # the windows are what is measured
    most=$((8192 + 12 * 1024 + 1024 * ($(nproc) > 2 ? $(nproc) - 2 : 0)))
    peak amn-inspect --diff --fetch "$local" --fetch-window 1M m.safetensors m.gguf
}

@test "a checkpoint of 44,800 chunks: at most 24 MiB, 64 bytes a chunk that is read, and none for another" {
    without_sanitizer
    "$helpers/dcp" few 700 16
    "$helpers/dcp" many 700 64
    "$helpers/dcp" adam 700 64 --adam
    most=24576
    peak amn-convert -q -o out.safetensors few
    less=$kib
    peak amn-convert -q -o out.safetensors many
    [ $((kib - less)) -le $((64 * 700 * 48 / 1024 + 256)) ]     # 256 KiB: 48 more files, and what measurements differ by
    less=$kib
    peak amn-convert -q -o again.safetensors adam
    [ $((kib - less)) -le 1024 ]        # the names of 1,400 tensors
    cmp out.safetensors again.safetensors
}

@test "the measurement sees the memory that a program uses, and returns its status" {
    without_sanitizer
    try 65 "$peak_memory" amn-remember "$fx/bad-text.txt"
    kib=$("$peak_memory" python3 -c 'x = bytearray(50 << 20)')
    [ "$kib" -ge 51200 ]
    for i in 1 2 3 4 5; do      # however short it runs
        kib=$("$peak_memory" amn-remember --version)
        [ "$kib" -ge 1024 ] && [ "$kib" -le $most ]
    done
}

# costs KIND N: prints how many bytes one more tensor adds to the peak of amn-remember, without its name and line of the header.
costs() {
    "$helpers/large" "$1" "$2" one
    "$helpers/large" "$1" $((2 * $2)) two
    header=$(($(lines two) - $(lines one)))
    kib=$(($("$peak_memory" amn-remember --size two) - $("$peak_memory" amn-remember --size one)))
    each=$(((kib * 1024 - header) / $2 - 27))
    echo "$1: $each bytes a tensor"
    [ $each -le 512 ]
}

# Bytes of the output's header.
lines() {
    amn-remember "$1" 2>/dev/null | head -c 8 | od -An -tu8
}

@test "a tensor costs at most 512 bytes and its name, at any rank" {
    without_sanitizer
    costs rank2 100000
    costs rank64 50000
}

@test "the headers of shards are not kept: 30 of 2 MiB" {
    without_sanitizer
    "$helpers/large" heads 30 model
    peak amn-parse model
    peak amn-inspect model
}

@test "200 000 KiB of address space are enough for small files and for hundreds of shards" {
    without_sanitizer
    little() { (ulimit -v 200000; exec "$@"); }
    "$helpers/large" shards 300 model
    for t in amn-parse amn-inspect "amn-remember --size"; do
        try 0 little $t "$fx/good-plain.safetensors"
        try 0 little $t "$fx/good-gguf.gguf"
        try 0 little $t model
        cat "$fx/good-gguf.gguf" | try 0 little $t
    done
    try 0 amn-remember "$fx/good-fp8-wide.safetensors"
    cp out whole
    try 0 little amn-remember "$fx/good-fp8-wide.safetensors"
    cmp out whole
}

@test "a worker that gets no memory leaves its work to the others" {
    without_sanitizer
    little() { (ulimit -v "$1"; shift; exec amn-remember --range=0-20000000 "$@" "$fx/good-fp8-200mb.safetensors"); }
    least=2000
    until little $least -j 1 >whole 2>err; do
        least=$((least + 500))
        [ $least -le 200000 ]
    done
    for more in $(seq 0 500 12000); do
        try 0 little $((least + more)) -j 8
        cmp out whole
    done
}

@test "metadata too long as text: 75, without memory for text that cannot be written" {
    without_sanitizer
    "$helpers/large" zeros 1 fits
    try 0 amn-remember --size fits
    [ "$(cat out)" -gt 32000000 ]
    "$helpers/large" zeros 6 large           # a header of 96 MB, 192 MB as text
    try 75 amn-remember large
    grep -q 'limit of 100000000' err && is_empty out
    kib=$("$peak_memory" amn-remember large 2>/dev/null || :)
    [ "$kib" -le $((320 << 10)) ] || { echo "$kib KiB"; return 1; }
}
