#!/usr/bin/env bats
# bats file_tags=full
# Threads with small stacks: jobs that use the most stack, and every decoder with every kind of survey, where each thread
# has 128 KiB, including main's. Helper threads always have that much (base/thread.h).
load helper

# small COMMAND...: runs it with 128 KiB for main's thread, and for each thread that sets no size.
small() {
    (ulimit -s 128 && exec "$@")
}

skip_sanitized() {
    ! grep -q __asan_init "$AMN_BIN/amn-forget" || skip "a sanitizer takes more"
}

@test "rotations in groups of 65536, decoded by a survey, a worker and main's thread" {
    skip_sanitized
    for scheme in nf4-double-quant fp4-double-quant fp4-cpu-double-quant comfy-int8; do
        try 0 small amn-forget -j 2 --scheme $scheme -o small.safetensors "$fx/good-comfy-far.safetensors"
        try 0 amn-forget -j 1 --scheme $scheme -o large.safetensors "$fx/good-comfy-far.safetensors"
        cmp small.safetensors large.safetensors
    done
    for dtype in bf16 f16 f32; do
        try 0 small amn-remember -j 3 --to $dtype -o small.safetensors "$fx/good-comfy-far.safetensors"
        try 0 amn-remember -j 1 --to $dtype -o large.safetensors "$fx/good-comfy-far.safetensors"
        cmp small.safetensors large.safetensors
    done
}

# Unsupported combinations are refused; a crash has a status above 128.
@test "every decoder with every kind of survey" {
    skip_sanitized
    jobs=0
    for f in "$corpus"/safetensors-good/* "$corpus"/gguf-good/*.gguf "$corpus"/pth-quantized/*.pt "$fx"/good-comfy-*; do
        case $f in *.expected) continue ;; esac
        for scheme in nf4-double-quant modelopt-nvfp4; do
            status=0
            small amn-forget -q -j 2 --scheme $scheme "$f" >out 2>err || status=$?
            [ $status -lt 128 ] || { echo "status $status: $scheme $f"; return 1; }
            [ $status -ne 0 ] || jobs=$((jobs + 1))
        done
    done
    echo "$jobs jobs"
    [ $jobs -ge 250 ]
}

@test "every thread is started by base/thread.c" {
    cd "$tests/.."
    [ "$(grep -rlE 'pthread_create|pthread_attr_' lib amn-*)" = lib/common/base/thread.c ]
}
