#!/usr/bin/env bats
# One model in every form that a GGUF can have.
load helper

forms() { "$helpers/gguf-forms" . ; }

@test "big-endian equals little-endian, for every block and scalar type" {
    forms
    for to in bf16 f32; do
        amn-remember --to $to little.gguf >little
        for form in big fugg; do
            both 0 $form.gguf amn-remember --to $to
            cmp out.file little && cmp out.pipe little
        done
    done
    [ "$(amn-inspect big.gguf | jq -r .gguf.byte_order)" = big ]
    refute cmp -s big.gguf little.gguf
}

@test "another alignment gives the same bytes" {
    forms
    amn-remember little.gguf >little
    remembers align64.gguf && cmp out.file little
    [ "$(amn-inspect align64.gguf | jq .gguf.alignment)" = 64 ]
}

@test "a split model equals the merged one, by its first part and by its folder" {
    forms
    amn-remember little.gguf >merged
    mkdir folder && mv split-* folder
    amn-remember folder/split-00001-of-00003.gguf | cmp - merged
    amn-remember folder | cmp - merged
    [ "$(amn-parse folder | wc -l)" -eq "$(amn-parse little.gguf | wc -l)" ]
}

@test "one part alone: inspect reports which, a conversion refuses it by name" {
    forms
    [ "$(amn-inspect split-00003-of-00003.gguf | jq -c '[.gguf.split, .remembered.size, .remembered.bytes != null]')" \
        = '[{"no":2,"count":3},null,true]' ]
    both 69 split-00003-of-00003.gguf amn-remember
    grep -q 'part 3 of 3' err.file && is_empty out.file && is_empty out.pipe
}

# bats test_tags=broken
@test "a part that is missing or foreign is named" {
    forms
    mv split-00002-of-00003.gguf kept
    try 66 amn-remember split-00001-of-00003.gguf
    grep -q 'split-00002-of-00003.gguf' err && is_empty out
    cp split-00003-of-00003.gguf split-00002-of-00003.gguf
    try 65 amn-remember split-00001-of-00003.gguf
    grep -q 'split-00002-of-00003.gguf: malformed: the file declares part 3 of 3, expected part 2 of 3' err
    cp little.gguf split-00002-of-00003.gguf
    try 65 amn-remember split-00001-of-00003.gguf
    grep -q 'split-00002-of-00003.gguf' err && is_empty out
}

# bats test_tags=broken
@test "parts of a split model that contradict their names or each other" {
    forms
    mkdir parts
    for i in 1 2; do cp split-0000$i-of-00003.gguf parts/m-0000$i-of-00002.gguf; done
    try 65 amn-remember parts/m-00001-of-00002.gguf
    grep -q 'the file name indicates 2 parts, but split.count is 3' err
    rm parts/*
    cp split-*.gguf parts
    cp split-00002-of-00003.gguf parts/split-00003-of-00003.gguf
    try 65 amn-remember parts/split-00001-of-00003.gguf
    grep -q 'the file declares part 2 of 3, expected part 3 of 3' err
    cp split-00003-of-00003.gguf parts
    python3 - parts/split-00001-of-00003.gguf <<'END'
import sys
data = open(sys.argv[1], "rb").read()
at = data.index(b"split.tensors.count") + len("split.tensors.count") + 4
open(sys.argv[1], "wb").write(data[:at] + b"\1\0\0\0" + data[at + 4:])
END
    try 65 amn-remember parts/split-00001-of-00003.gguf
    grep -q 'split.tensors.count is 1' err
}

# bats test_tags=full
@test "a header of 300 000 tokens: the vocabulary is counted, in the memory of the header" {
    forms
    [ "$(amn-inspect tokens.gguf | jq -c '[.gguf.tokenizer.model, .gguf.tokenizer.vocabulary]')" = '["gpt2",300000]' ]
    [ "$(amn-inspect --arrays tokens.gguf | jq '.metadata["tokenizer.ggml.tokens"] | length')" -eq 300000 ]
    if is_sanitized; then skip "a sanitizer's own memory is in the way"; fi
    kib=$("$peak_memory" amn-inspect tokens.gguf)
    echo "$kib KiB"
    [ "$kib" -le 65536 ]
}

# Four values of each type, by hand: 1, -2, 448, 2^-9 in E4M3; 1, -2, 57344, 2^-16 in E5M2.
@test "float8 of stable-diffusion.cpp, with and without scales, where the layout shows it" {
    python3 - <<'EOF'
import struct
E4M3, E5M2 = b"\x38\xc0\x7e\x01" * 16, b"\x3c\xc0\x7b\x01" * 16
def gguf(path, *tensors):
    info = data = b""
    for name, kind, ne, raw in tensors:
        info += struct.pack("<Q", len(name)) + name + struct.pack("<I%dQIQ" % len(ne), len(ne), *ne, kind, len(data))
        data += raw + bytes(-len(raw) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 0) + info
    open(path, "wb").write(head + bytes(-len(head) % 32) + data)
one, rows = struct.pack("<f", 0.5), struct.pack("<2f", 0.5, 4)
gguf("plain.gguf", (b"a.weight", 43, (32, 2), E4M3), (b"b.weight", 44, (32, 2), E5M2), (b"n", 0, (1,), one))
gguf("scaled.gguf", (b"a.weight", 43, (32, 2), E4M3), (b"a.weight_scale", 0, (2,), rows), (b"b.weight", 44, (32, 2), E5M2),
     (b"b.weight_scale", 0, (1,), one))
gguf("blocks.gguf", (b"a.weight", 43, (32, 2), bytes(36)), (b"b.weight", 43, (64, 2), bytes(72)), (b"n", 0, (1,), one))
gguf("one.gguf", (b"n", 0, (1,), one), (b"a.weight", 43, (32, 2), E4M3))
for name, values in (("plain", ([1, -2, 448, 2**-9] * 16, [1, -2, 57344, 2**-16] * 16)),
                     ("scaled", ([.5, -1, 224, 2**-10] * 8 + [4, -8, 1792, 2**-7] * 8, [.5, -1, 28672, 2**-17] * 16))):
    open(name, "wb").write(b"".join(struct.pack("<64f", *v) for v in values))
EOF
    for name in plain scaled; do
        try 0 amn-remember --dtype f32 $name.gguf
        cp out whole
        tail -c +$((9 + $(head -c 8 out | od -An -tu8))) out | head -c 512 | cmp - $name
        try 0 amn-parse $name.gguf
        jq -se '.[0].dtype == "F8_E4M3" and any(.dtype == "F8_E5M2")' out
        cat $name.gguf | try 0 amn-remember --dtype f32
        cmp out whole
    done
    try 69 amn-remember blocks.gguf
    grep -qF 'type 43: F8_E4M3 (stable-diffusion.cpp), BPOSIT8' err
    try 0 amn-remember one.gguf
    cat one.gguf | try 69 amn-remember          # the end of a stream does not show where the tensor ends
}
