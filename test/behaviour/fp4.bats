#!/usr/bin/env bats
# 4- and 6-bit floats with block scales, and ternary weights. test/check-corpus tests the values; this file tests that they
# do not depend on workers, pipes, ranges or kernels.
load helper

# values NAME: prints the first eight values of a tensor of the file out, as BF16 codes.
values() {
    python3 - "$1" <<'PY'
import struct, sys
from modelfile import read
print(" ".join("%04x" % v for v in struct.unpack_from("<8H", read("out")[sys.argv[1]][2])))
PY
}

@test "golden vectors: code 8 is -0, and +0 in ModelOpt's NVFP4" {
    try 0 amn-remember "$fx/good-fp4-golden.safetensors"
    [ "$(values ct.weight)" = "bf1c 3eea be9c 3f6a 8000 bf6a 3e9c bf1c" ]
    [ "$(values modelopt.weight)" = "bf1c 3eea be9c 3f6a 0000 bf6a 3e9c bf1c" ]
    [ "$(values comfy.weight)" = "bf1c 3eea be9c 3f6a 8000 bf6a 3e9c bf1c" ]
    [ "$(values mxfp4.weight)" = "bf40 3f00 bec0 3f40 8000 bf40 3e80 bf00" ]
    [ "$(values nan.weight)" = "7fc0 7fc0 7fc0 7fc0 7fc0 7fc0 7fc0 7fc0" ]
    [ "$(values comfy8.weight)" = "bf20 3f00 bea0 3f50 bc80 bf60 3ea0 bf10" ]
}

@test "gpt-oss: a matrix in several panels equals its parts decoded alone" {
    "$helpers/gptoss-slices" "$fx/good-fp4-wide.safetensors"
}

# same FILE: one output for any number of workers, from a file, from a pipe, and with the scalar kernels; in each type.
same() {
    local to n
    for to in bf16 f16 f32; do
        AMN_CPU=scalar try 0 amn-remember -q -j 1 --to $to "$1" || return 1
        mv out expected
        for n in 1 2 4; do
            try 0 amn-remember -q -j $n --to $to "$1" && cmp out expected || return 1
        done
        [ -d "$1" ] || { cat "$1" | try 0 amn-remember -q --to $to - && cmp out expected; } || return 1
    done
}

# bats test_tags=full
@test "workers, pipes and kernels do not change the output, in any type" {
    same "$fx/good-fp4-wide.safetensors"
    same "$fx/good-bitnet-wide"
    for f in "$corpus"/safetensors-good/fp4-*; do
        same "$f"
    done
}

@test "shards: a scale in another file than its weight" {
    mixed=$corpus/safetensors-good/fp4-mixed
    try 0 amn-remember "$mixed"
    "$helpers/tensors" <out >expected
    python3 - "$mixed" <<'PY' >whole.safetensors
import glob, sys
from modelfile import read, safetensors
files = sorted(glob.glob(sys.argv[1] + "/*.safetensors"))
sys.stdout.buffer.write(safetensors([(k, *t) for name in files for k, t in read(name).items()][::-1]))
PY
    try 0 amn-remember --config "$mixed/config.json" whole.safetensors
    "$helpers/tensors" <out | cmp - expected
    for f in "$mixed"/model-0000*; do
        try 69 amn-remember "$f"
        is_empty out
    done
}

@test "weights with two or four rows in a byte are spooled from a pipe, and refused with --no-spool" {
    cat "$fx/good-fp4-wide.safetensors" | try 75 amn-remember --no-spool -
    is_empty out
    cat "$fx/good-bitnet-wide/model.safetensors" | try 0 amn-remember --config "$fx/good-bitnet-wide/config.json" -
    mv out piped
    try 0 amn-remember "$fx/good-bitnet-wide"
    cmp out piped
}

@test "labels contain types and group sizes" {
    label() { amn-inspect "$@" | jq -r '[.schemes[].labels[].label] | sort | unique | join("; ")'; }
    [ "$(label "$corpus/safetensors-good/fp4-gpt-oss.safetensors")" = "gpt-oss MXFP4 (E2M1, groups of 32)" ]
    [ "$(label "$fx/told/nvfp4-marked.safetensors")" = "ComfyUI nvfp4 (E2M1, groups of 16, scales in tiles)" ]
    [ "$(label "$corpus/safetensors-good/fp4-quark-mxfp6")" = \
        "Quark MXFP6 (E2M3, groups of 32); Quark MXFP6 (E3M2, groups of 32)" ]
    [ "$(label "$corpus/safetensors-good/fp4-bitnet-divides")" = "BitNet (ternary, one scale, which divides)" ]
    [ "$(label "$corpus/safetensors-good/fp4-bitnet-multiplies")" = "BitNet (ternary, one scale, which multiplies)" ]
}
