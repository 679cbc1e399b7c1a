# How often the input is read where the output is a file: each element of a weight once for all its tensors, in long reads.
load helper

# Rows of more and of less than 4 KiB, and numbers of rows that end within a tile and within a panel.
model() {
    "$helpers/weights" model.safetensors a.weight=BF16:1056x2304:positive b.weight=BF16:416x1024:ramp norm.weight=BF16:1x256
}

# reads COMMAND...: sets `bytes`, the bytes that the command reads of model.safetensors in percent of its size, and `short`, the number of
# its reads of less than $least bytes. A header takes two short reads, and the end of each of three tensors may take one. With one
# thread, whose calls strace does not split.
reads() {
    strace -f -y -o trace -e trace=read,pread64 "$@"
    read -r bytes short < <(awk -v least="$least" -v size="$(wc -c <model.safetensors)" '
        /model\.safetensors>/ && $NF > 0 { n += $NF; short += $NF < least }
        END { print int(100 * n / size), short + 0 }' trace)
}

# once PERCENT SCHEME [OPTION...]: as much is read, in long reads, and the bytes are those of a pipe.
once() {
    most=$1
    shift
    reads amn-forget -q -j 1 -o new.safetensors --scheme "$@" model.safetensors
    echo "$* reads $bytes %, $short short reads"
    [ "$bytes" -ge 100 ] && [ "$bytes" -le "$most" ] && [ "$short" -le 5 ]
    amn-forget -q --to safetensors --scheme "$@" model.safetensors >piped
    cmp new.safetensors piped
    rm new.safetensors
}

@test "one reading makes all tensors of a weight" {
    need_strace
    model
    least=16384
    for s in fp8 fp8-ue8m0 fp8-per-channel int8 nf4 fp4 int4-group int8-channel mxfp4 mxfp8 mlx-2bit mlx-4bit mlx-8bit comfy-int8 \
        comfy-mxfp8 modelopt-mxfp4; do
        once 105 $s
    done
    once 105 int4-group --asymmetric
    once 105 int8-channel --asymmetric
    once 105 comfy-int8 --convrot
}

@test "one reading makes all tensors of a weight that is stored by columns" {
    need_strace
    model
    least=2048              # rows of 1024 elements
    once 105 gptq
    once 105 gptq --asymmetric --group-size 32
    once 105 gptq-8bit
    once 105 awq
    once 105 awq --group-size 256
    least=4096
    reads amn-forget -q -j 1 -o new.safetensors --scheme awq --exclude b.weight model.safetensors
    [ "$short" -le 5 ]
}

@test "a fact about the whole weight takes one more reading" {
    need_strace
    model
    least=16384
    for s in nf4-double-quant fp4-double-quant fp8-per-tensor nvfp4 modelopt-nvfp4 comfy-fp8 comfy-nvfp4; do
        once 205 $s
    done
}

@test "the CRC-32 of an output that is not made in order" {
    model
    for s in fp8 nf4 gptq awq; do
        amn-forget -v -o new.safetensors --scheme $s model.safetensors 2>err
        grep -F "$(python3 -c 'import sys, zlib; print("%08x" % zlib.crc32(open(sys.argv[1], "rb").read()))' new.safetensors)" err
        rm new.safetensors
    done
}
