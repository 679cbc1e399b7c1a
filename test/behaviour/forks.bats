#!/usr/bin/env bats
# GGUF types of forks: rows with a prefix, interleaved rows, ids with several claimants. The values are checked by the corpus
# and by test_fork_kernels; these are the ways in which rows are read.
load helper

# rows FILE TYPE ID ROWS COLS PREFIX UNIT BYTES TOGETHER: makes a GGUF file with an F32 tensor and one tensor of a fork's type.
rows() {
    python3 - "$@" <<'PYTHON'
import random, struct, sys
from modelfile import gguf
name, (number, rows, cols, prefix, unit, size, together) = sys.argv[1], map(int, sys.argv[2:])
random.seed(number)
factor = struct.pack("<f", 0.0125) if prefix == 4 else struct.pack("<e", 0.0125)
run = (lambda n: factor[:prefix] * together + random.randbytes(n))
data = b"".join(run(cols // unit * size * together) for _ in range(rows // together))
tensors = [("norm", 0, [64], struct.pack("<64f", *range(64))), ("w", number, [rows, cols], data)]
with open(name, "wb") as f:
    f.write(gguf([("general.architecture", "str", "llama")], tensors))
PYTHON
}

# agrees FILE [OPTION...]: a pipe, one and two workers, ranges and shards of the output all have the bytes of the file.
agrees() {
    local file=$1
    shift
    amn-remember -j1 "$@" "$file" >whole
    amn-remember -j2 "$@" "$file" | cmp - whole
    cat "$file" | amn-remember "$@" | cmp - whole
    size=$(wc -c <whole)
    for from in 0 1 701 $((size / 3)) $((size / 2 + 1)); do
        length=$((from + 5003 < size ? 5003 : size - from))
        amn-remember --range $from-$((from + length - 1)) "$@" "$file" | cmp - <(tail -c +$((from + 1)) whole | head -c $length)
    done
}

@test "rows with a prefix: file, pipe, workers and ranges agree, for short and long rows" {
    rows short 144 3000 512 4 256 136 1
    agrees short
    agrees short --to f32
    agrees short --to f16
    cat short | try 0 amn-remember --no-spool
    rows wide 144 100 40960 4 256 136 1
    agrees wide
    cat wide | try 0 amn-remember --no-spool
    rows wider 144 60 81920 4 256 136 1
    agrees wider
    cat wider | try 75 amn-remember --no-spool
    rows half 145 900 1024 2 256 70 1
    agrees half
}

@test "interleaved rows: file, pipe, workers and ranges agree" {
    rows four 344 1600 2048 4 256 136 4
    agrees four
    agrees four --to f32
    cat four | try 0 amn-remember --no-spool
    rows plain 339 400 4096 0 256 144 4
    agrees plain
    rows small 219 4000 512 2 32 6 4
    agrees small
}

@test "rows that no window holds: file, pipe, workers and ranges agree" {
    rows wide 144 3 1048576 4 256 136 1
    agrees wide
    rows wide 344 8 1048576 4 256 136 4
    agrees wide
    rows wide 337 8 524288 0 256 76 4
    agrees wide
}

@test "the values do not depend on where a row begins in the output" {
    rows a 152 64 768 4 256 168 1
    amn-remember --to f32 -o a.safetensors a
    AMN_CPU=scalar amn-remember --to f32 a | cmp - a.safetensors
    amn-convert --tensor w --to raw a.safetensors >values
    [ "$(wc -c <values)" -eq $((64 * 768 * 4)) ]
}

@test "types are listed with their fork, size and claimants" {
    try 0 amn-parse --json "$corpus/gguf-good/fork-iq4_ks.gguf"
    jq -se '.[1] | .dtype == "IQ4_KS" and .scheme == "iq4_ks" and .scheme_label == "GGUF IQ4_KS (ik_llama.cpp)"' out
    try 0 amn-parse --json "$corpus/gguf-bad/fork-id-134-iq1_bn.gguf"
    jq -se '.[0] | .dtype == "IQ1_BN" and .nbytes == 216 and .detail == "ik_llama.cpp"' out
    try 0 amn-parse --json "$corpus/gguf-bad/fork-id-36-i2_s.gguf"
    jq -se '.[0] | .dtype == "I2_S" and .nbytes == 288 and .detail == "bitnet.cpp"' out
    try 0 amn-parse --json "$corpus/gguf-bad/fork-id-46.gguf"
    jq -se '.[0] | .dtype == "unknown(46)" and .nbytes == null
        and .detail == "type 46: TQ3_4S, TQ3_1S, TQ4_1S, QJL1_256 of different forks"' out
    try 0 amn-inspect --human "$corpus/gguf-good/fork-q2_0-128.gguf"
    grep -q '^Scheme  *GGUF Q2_0 (128) (PrismML)$' out
    try 0 amn-inspect --human "$corpus/gguf-bad/fork-pq2_0-hadamard.gguf"
    grep -q '^Scheme  *GGUF PQ2_0 (PrismML)$' out
    grep -q '^In BF16  *unknown: .*prism\.hadamard\.' out
}

@test "undecodable types are refused by name" {
    for case in '43=type 43: F8_E4M3 (stable-diffusion.cpp), BPOSIT8, Q2_0_G128, ' '134-iq1_bn=type 134: IQ1_BN of ik_llama.cpp' \
        '36-i2_s=type 36: I2_S of bitnet.cpp' '210-q2_k_r4=type 210: Q2_K_R4 of ik_llama.cpp' '100-rocmfp4=type 100: Q4_0_ROCMFP4 of ROCmFPX' '159=ggml type 159'; do
        try 69 amn-remember "$corpus/gguf-bad/fork-id-${case%%=*}.gguf"
        grep -qF "GGUF (${case#*=}" err
        is_empty out
    done
    try 69 amn-remember "$corpus/gguf-bad/fork-iq4_k-big-endian.gguf"
    grep -q 'big-endian type 139: IQ4_K of ik_llama.cpp' err
    try 69 amn-remember "$corpus/gguf-bad/fork-pq2_0-hadamard.gguf"
    grep -q 'prism\.hadamard\.' err
}

@test "amn-convert --keep-quantized copies the blocks, also of types that are not decoded" {
    for file in good/fork-iq4_ks good/fork-iq4_ks_r4 good/fork-q2_0-128 bad/fork-id-36-i2_s bad/fork-id-134-iq1_bn; do
        try 0 amn-convert --keep-quantized --to gguf -f -o kept "$corpus/gguf-$file.gguf"
        amn-parse --json kept | jq -r '[.name, .dtype, .nbytes] | @tsv' | sed 's/PQ2_0/Q2_0 (128)/' >listed
        amn-parse --json "$corpus/gguf-$file.gguf" | jq -r '[.name, .dtype, .nbytes] | @tsv' | cmp - listed
        [ "${file%%/*}" = bad ] && continue
        amn-remember "$corpus/gguf-$file.gguf" | amn-parse --json | jq -c '[.name, .shape]' >a
        amn-remember kept | amn-parse --json | jq -c '[.name, .shape]' | cmp - a
        amn-remember --to f32 "$corpus/gguf-$file.gguf" | tail -c 4000 >a
        amn-remember --to f32 kept | tail -c 4000 | cmp - a
    done
}

@test "check-ggml-types: ids, sizes and prefixes of a header" {
    cat >same.h <<'END'
#define QK_K 256
#define QK4_0 32
enum ggml_type {
    GGML_TYPE_F32   = 0,
    GGML_TYPE_Q4_0  = 2, // GGML_TYPE_Q9_9 = 3
    GGML_TYPE_Q1_0_G128 = 41,
    GGML_TYPE_TURBO3_0 = 44,
    GGML_TYPE_IQ4_KS = 144,
    GGML_TYPE_COUNT = 99,
};
static_assert(sizeof(block_q4_0) == sizeof(ggml_half) + QK4_0 / 2, "wrong size");
static_assert(sizeof(block_iq4_ks) == QK_K/32 + QK_K/2, "wrong size");
static_assert(sizeof(block_iq4_ks_r4) == 4*sizeof(block_iq4_ks), "wrong size");
    [GGML_TYPE_IQ4_KS] = {
        .blck_size = QK_K,
        .row_meta_size = 4,
    },
END
    try 0 "$tests/check-ggml-types" same.h
    grep -qx '5 ids, 3 sizes and 1 rows compared, 0 differences' out
    try 1 "$tests/check-ggml-types" --fork PrismML same.h
    grep -qx 'id 142, PQ2_0, of the table is in no header' out
    sed 's/= 144/= 145/; s/TURBO3_0/TURBO9_0/; s/= 0,/= 300,/; s|QK4_0 / 2|QK4_0|; s/size = 4/size = 8/' same.h >other.h
    try 1 "$tests/check-ggml-types" other.h
    diff - out <<'END'
id 44 is TURBO9_0; the table has F8_E5M2 (stable-diffusion.cpp), TQ3_1S, TURBO3_0, TURBO4_0, TBQ4_0
id 145 is IQ4_KS; the table has IQ2_KS
id 300 is F32; the table does not have it
a block of Q4_0 has 34 bytes; the table has 18
a row of IQ4_KS begins with 8 bytes; the table has 4
5 ids, 3 sizes and 1 rows compared, 5 differences
END
    try 2 "$tests/check-ggml-types" /dev/null
    grep -q 'check-ggml-types' err
}
