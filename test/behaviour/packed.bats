#!/usr/bin/env bats
# Compressed input: recognized by content, bounded, and never mistaken for something else.
load helper

packings='gzip zstd xz'

# packed PACKING FILE: compresses FILE to stdout.
packed() {
    case $1 in zstd) set -- "$1 -q" "$2" ;; esac
    $1 -c <"$2"
}

# reads FILE PACKED: every tool has the same output for both, PACKED by name and through a pipe. Reports name FILE.
reads() {
    local t
    for t in amn-remember amn-parse amn-inspect; do
        try 0 $t "$1"
        unnamed out >expected
        both 0 "$2" $t
        unnamed out.file | cmp - expected || return 1
        unnamed out.pipe | cmp - expected || return 1
    done
}

unnamed() {
    LC_ALL=C sed 's/"file":"[^"]*"//' "$1"
}

# bats test_tags=full
@test "gzip, zstd and xz are read by content, whatever the name: file and pipe, all tools" {
    for f in good-plain.safetensors good-fp8-block-bf16.safetensors good-gguf.gguf good-gguf-k.gguf \
        good-fp8-wide.safetensors good-fp8-wide-late.safetensors; do
        for p in $packings; do
            packed $p "$fx/$f" >model
            reads "$fx/$f" model
        done
    done
}

# bats test_tags=full
@test "compressed input that arrives byte by byte, and in odd pieces" {
    for p in $packings; do
        for f in good-fp8-row-f32.safetensors good-gguf.gguf; do
            packed $p "$fx/$f" >model
            try 0 amn-remember "$fx/$f"
            cp out whole
            "$helpers/trickle" model | try 0 amn-remember
            cmp out whole
            try 0 amn-parse "$fx/$f"
            unnamed out >whole
            "$helpers/trickle" model | try 0 amn-parse
            unnamed out | cmp - whole
        done
        packed $p "$fx/good-fp8-wide-late.safetensors" >model
        try 0 amn-remember "$fx/good-fp8-wide-late.safetensors"
        cp out whole
        for n in 4093 65537; do
            "$helpers/trickle" model $n | try 0 amn-remember
            cmp out whole
        done
    done
}

# bats test_tags=full
@test "several members, frames or streams are one input, empty ones and padding too" {
    f=$fx/good-gguf.gguf
    head -c 700 "$f" >a
    tail -c +701 "$f" >b
    : >none
    for p in $packings; do
        { packed $p none; packed $p a; packed $p none; packed $p b; packed $p none; } >model
        $p -dc <model | cmp - "$f"
        reads "$f" model
    done
    { gzip -c <"$f"; head -c 70000 /dev/zero; } >model          # padding as on tapes
    reads "$f" model
    { xz -c <a; head -c 64 /dev/zero; xz -c <b; head -c 4 /dev/zero; } >model
    reads "$f" model
    { "$helpers/pack" zstd-skip 100000; zstd -qc <a; "$helpers/pack" zstd-skip 0; zstd -qc <b; } >model
    zstd -dqc <model | cmp - "$f"
    reads "$f" model
    xz -T2 --block-size=300 -c <"$f" >model
    reads "$f" model
    xz --x86 --delta=dist=2 --lzma2=preset=0,lc=4,lp=0,pb=0 -C none -c <"$f" >model
    reads "$f" model
}

# bats test_tags=broken
@test "compressed empty input: malformed like an empty file" {
    : >none
    for p in $packings; do
        packed $p none >model
        for t in amn-remember amn-parse amn-inspect; do
            both 65 model $t
            is_empty out.file
            grep -q 'file is empty' err.file && grep -q 'input is empty' err.pipe
        done
    done
}

# bats test_tags=full,broken
@test "compressed input truncated anywhere, or with a bit changed, small" {
    for p in $packings; do
        packed $p "$fx/good-gguf.gguf" >model
        "$helpers/harm-packed" "$fx/good-gguf.gguf" model 43
    done
}

# bats test_tags=full,broken
@test "compressed input truncated anywhere, or with a bit changed, streamed and spooled" {
    for p in $packings; do
        for f in good-fp8-wide.safetensors good-fp8-wide-late.safetensors; do
            packed $p "$fx/$f" >model
            "$helpers/harm-packed" "$fx/$f" model 300000
        done
    done
}

# bats test_tags=broken
@test "messages for truncated, broken and trailing data" {
    for p in $packings; do
        packed $p "$fx/good-gguf.gguf" >model
        head -c 500 model >cut
        try 65 amn-remember cut
        grep -q "malformed: the $p stream is truncated after 500 bytes (incomplete download or copy?) \[at byte 500\]" err
        { cat model; echo junk; } >tail
        try 65 amn-remember tail
        grep -q "malformed: trailing data after the $p stream \[at byte $(wc -c <model)\]" err
        try 65 amn-remember -o new tail
        [ ! -e new ]
        try 65 $p -tq tail || try 1 $p -tq tail || try 2 $p -tq tail    # the original program rejects it too
        python3 -c 'd = bytearray(open("model", "rb").read()); d[600] ^= 8; open("broken", "wb").write(d)'
        both 65 broken amn-remember
        grep -q "malformed: corrupt $p stream" err.file && grep -q "malformed: corrupt $p stream" err.pipe
    done
    # gzip's checksum and length are verified
    gzip -nc <"$fx/good-plain.safetensors" >model
    for at in 8 4; do
        python3 -c 'import sys; d = bytearray(open("model", "rb").read()); d[-int(sys.argv[1])] ^= 1; open("broken", "wb").write(d)' $at
        both 65 broken amn-remember
        is_empty out.file
    done
    { gzip -c <"$fx/good-plain.safetensors"; head -c 100 /dev/zero; printf x; } >model
    both 65 model amn-remember
}

# bats test_tags=full
@test "reports decompress no more than the header needs" {
    for p in $packings; do
        packed $p "$fx/good-fp8-wide.safetensors" >model
        head -c 400000 model >cut
        for t in amn-parse amn-inspect; do
            try 0 $t model
            unnamed out >whole
            both 0 cut $t
            unnamed out.file | cmp - whole
            # the rest never arrives, and is not waited for
            try 0 timeout 25 $t < <(cat cut; exec sleep 30 3>&-)
            unnamed out | cmp - whole
        done
    done
}

@test "config.json next to a compressed file; a directory with only a compressed file" {
    for p in gzip:gz zstd:zst xz:xz; do
        mkdir m
        cp "$fx/config-48/config.json" m/
        packed ${p%:*} "$fx/config-48/model.safetensors" >m/model.safetensors.${p#*:}
        try 0 amn-remember "$fx/config-48"
        cp out expected
        try 0 amn-remember m/model.safetensors.${p#*:}
        cmp out expected
        try 0 amn-remember m
        cmp out expected
        mv m/model.safetensors.${p#*:} m/other.safetensors.${p#*:}
        try 0 amn-remember m
        cmp out expected
        packed ${p%:*} "$fx/good-gguf.gguf" >m/b.gguf.${p#*:}
        try 0 amn-remember m                        # safetensors before GGUF
        cmp out expected
        cp m/other.safetensors.${p#*:} m/second.safetensors.${p#*:}
        try 2 amn-remember m
        cp "$fx/good-plain.safetensors" m/plain.safetensors
        try 0 amn-remember m                        # plain files come first
        mv out got
        try 0 amn-remember "$fx/good-plain.safetensors"
        cmp out got
        rm -r m
    done
}

@test "several files of a model, one of them compressed: refused by name" {
    cp -r "$fx/good-sharded" model
    for shard in model-00001-of-00002 model-00002-of-00002; do
        gzip -c <"$fx/good-sharded/$shard.safetensors" >model/$shard.safetensors
        for t in amn-remember amn-parse; do
            try 69 $t model
            grep -q "$shard.safetensors: unsupported: compressed shards are not supported" err
        done
        cp "$fx/good-sharded/$shard.safetensors" model/
    done
    cp "$corpus"/gguf-good/split-0000* .
    gzip -c <"$corpus/gguf-good/split-00001-of-00003.gguf" >split-00001-of-00003.gguf
    try 69 amn-remember split-00001-of-00003.gguf
    gzip -c <"$corpus/gguf-good/split-00001-of-00003.gguf" >split-00001-of-00003.gguf.gz
    try 69 amn-remember split-00001-of-00003.gguf.gz
    grep -q 'part 1 of 3' err
}

@test "a compressed shard alone whose companion is elsewhere: refused, naming the index" {
    shard=$(ls "$corpus/safetensors-good/sharded-cross" | grep 00001-of)
    cp -r "$corpus/safetensors-good/sharded-cross" m
    try 69 amn-remember "m/$shard"
    said=$(sed 's/.*: unsupported: //' err)
    for p in gzip:gz zstd:zst xz:xz; do
        packed ${p%:*} "m/$shard" >"m/$shard.${p#*:}"
        try 69 amn-remember "m/$shard.${p#*:}"
        [ "$(sed 's/.*: unsupported: //' err)" = "$said" ]
    done
}

@test "other and nested compressions: refused by name, with what to do" {
    for f in 'bzip2 BZh91AY&SY' 'lz4 \004\042\115\030' 'lzip LZIP\001' 'lzop \211LZO\000\r\n\032\n' 'compress \037\235\220' \
        '7-Zip 7z\274\257\047\034'; do
        { printf "${f#* }"; head -c 100 "$fx/good-plain.safetensors"; } >model
        for t in amn-remember amn-parse amn-inspect; do
            both 69 model $t
            grep -q "compressed with ${f%% *}, which is not supported: .* FILE | amn-inspect" err.file
            grep -q "compressed with ${f%% *}" err.pipe
        done
    done
    for inner in $packings; do
        packed $inner "$fx/good-plain.safetensors" >once
        for outer in $packings; do
            packed $outer once >twice
            both 69 twice amn-remember
            for e in err.file err.pipe; do
                [ "$(wc -l <$e)" -eq 1 ]
                grep -q "compressed twice, with $inner and then with $outer, .*: $outer -dc FILE | amn-inspect" $e
            done
        done
    done
    packed gzip "$fx/unsupported-ggjt.bin" >model
    both 69 model amn-inspect
    grep -q GGML err.pipe
    packed xz "$fx/bad-text.txt" >model
    both 65 model amn-inspect
}

@test "a header length that looks like gzip or compress is a header length" {
    python3 - <<'PYTHON'
import struct
for name, magic in (("gz", b"\x1f\x8b\x08\0"), ("z", b"\x1f\x9d\x01\0")):
    n = struct.unpack("<I", magic)[0]
    text = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    open(name, "wb").write(struct.pack("<Q", n) + text.ljust(n) + b"1234")
PYTHON
    for f in gz z; do
        both 0 $f amn-parse
        cmp out.file out.pipe || [ "$(unnamed out.file)" = "$(unnamed out.pipe)" ]
        both 0 $f amn-remember
    done
}

# bats test_tags=full,broken
@test "windows: at most 128 MiB, and at most --max-alloc" {
    f=$fx/good-gguf.gguf
    "$helpers/pack" zstd 27 <"$f" >model
    reads "$f" model
    try 75 amn-inspect --max-alloc 64M model
    grep -q 'limit: zstd window bytes: 134217728 exceeds the limit of 67108864' err
    "$helpers/pack" zstd 28 <"$f" >model
    both 75 model amn-inspect
    grep -q 'window of the zstd stream' err.file && grep -q 'window of the zstd stream' err.pipe
    "$helpers/pack" zstd-single 3000000000 <"$f" >model
    both 75 model amn-remember
    { zstd -qc <"$f"; "$helpers/pack" zstd 31 <"$f"; } >model   # not only in the first frame
    both 75 model amn-remember
    "$helpers/trickle" model | try 75 amn-remember
    "$helpers/pack" zstd-dictionary 77 <"$f" >model
    both 69 model amn-remember
    grep -q 'dictionary 77' err.file
    xz -c <"$f" >plain.xz
    "$helpers/pack" xz 30 <plain.xz >model                      # 128 MiB
    xz -tq model
    reads "$f" model
    "$helpers/pack" xz 31 <plain.xz >model                      # 192
    xz -tq model
    both 75 model amn-inspect
    grep -q 'xz dictionary bytes: 201326592 exceeds the limit of 134217728' err.file
    try 75 amn-inspect --max-alloc 4M plain.xz
    { cat plain.xz; "$helpers/pack" xz 40 <plain.xz; } >model
    both 75 model amn-remember
    "$helpers/trickle" model | try 75 amn-remember
    xz --block-size=500 -c <"$f" >blocks                         # a later block
    python3 - <<'PYTHON'
import struct, zlib
d = bytearray(open("blocks", "rb").read())
at = d.index(b"\x21\x01", d.index(b"\x21\x01") + 2)
start = at - 2 if d[at - 1] & 0xC0 == 0 else max(i for i in range(at - 12, at) if d[i + 1] & 0xC0 == 0xC0 and i % 4 == 0)
size = 4 * (d[start] + 1)
d[at + 2] = 40
d[start + size - 4:start + size] = struct.pack("<I", zlib.crc32(d[start:start + size - 4]))
open("model", "wb").write(d)
PYTHON
    both 75 model amn-remember
}

# bats test_tags=full,broken
@test "a bomb in a header: a limit error, quickly and in little memory" {
    without_sanitizer
    little() { (ulimit -v 400000; exec timeout 30 "$@"); }
    printf '\200\360\372\2\0\0\0\0{"a":' >start                  # a header of 50 MB, continued with spaces
    "$helpers/pack" zstd-then 32 50000000 <start >spaces.zst
    { cat start; head -c 50000000 /dev/zero | tr '\0' ' '; } | xz -0c >spaces.xz
    { cat start; head -c 50000000 /dev/zero | tr '\0' ' '; } | gzip -c >spaces.gz
    python3 -c 'import struct, sys; s = b"general.architecture"; sys.stdout.buffer.write(b"GGUF" + struct.pack("<IQQQ", 3, 0, 2, len(s)) + s
        + struct.pack("<IIQ", 9, 0, 15000000))' >start
    "$helpers/pack" zstd-then 0 60000000 <start >array.zst
    for f in spaces.zst spaces.xz spaces.gz array.zst; do
        for t in amn-inspect amn-parse amn-remember; do
            try 75 little $t $f
            grep -q 'limit: ratio: .* exceeds the limit of 200 to 1' err
            is_empty out
            try 75 little $t <$f
        done
        kib=$("$peak_memory" amn-inspect $f 2>err || :)
        [ "$kib" -le 16384 ] || { echo "$kib KiB: $f"; return 1; }
    done
}

# bats test_tags=broken
@test "a bomb after the tensors: malformed, without reading to its end" {
    "$helpers/pack" zstd-then 0 400000000000 <"$fx/good-plain.safetensors" >model
    for t in amn-parse amn-inspect; do
        try 0 timeout 30 $t model
    done
    try 65 timeout 30 amn-remember model
    grep -q 'at least [0-9]* bytes of trailing data after the last tensor' err
    try 65 timeout 30 amn-remember <model
    # it is not spooled to a temporary file either
    "$helpers/pack" zstd-then 0 400000000000 <"$fx/good-fp8-wide-late.safetensors" >model
    spools_little() { (ulimit -f 20000; exec timeout 60 amn-remember -v model); }
    try 65 spools_little
    grep -q 'at least [0-9]* bytes of trailing data after the last tensor' err
}

# bats test_tags=full
@test "tensors of zeros are not a bomb; --max-ratio lowers the limit" {
    f=$fx/good-fp8-200mb.safetensors
    zstd -qc <"$f" >model
    [ "$(wc -c <model)" -le 20000 ]
    try 0 amn-remember -o expected "$f"
    both 0 model amn-remember -o got
    cmp got expected
    both 75 model amn-remember --max-ratio 1000 -o new
    grep -q 'ratio: .* exceeds the limit of 1000 to 1' err.file
    [ ! -e new ]
    try 75 amn-remember --max-ratio 0 -o new model
    try 0 amn-inspect --max-ratio 1000 model
    zstd -qc <"$fx/good-fp8-wide.safetensors" >model            # hardly smaller
    try 0 amn-remember --max-ratio 2 model
    try 75 amn-remember --max-ratio 0 model
}

# bats test_tags=full
@test "a compressed file that must be read twice is spooled; --no-spool refuses it" {
    f=$fx/good-fp8-wide-late.safetensors
    try 0 amn-remember "$f"
    cp out expected
    for p in $packings; do
        packed $p "$f" >model
        try 0 amn-remember -v model
        grep -qE 'note: spooling [0-9]+ bytes to a temporary file' err
        cmp out expected
        both 75 model amn-remember --no-spool
        is_empty out.file
        TMPDIR=/nonexistent/folder try 74 amn-remember model
        packed $p "$fx/good-fp8-wide.safetensors" >streams
        TMPDIR=/nonexistent/folder try 0 amn-remember --no-spool -v streams
    done
}

@test "a range of a compressed file equals that of the plain one" {
    f=$fx/good-fp8-wide.safetensors
    zstd -qc <"$f" >model
    for range in 0-99 1000-900000 2000001-; do
        try 0 amn-remember --range $range "$f"
        cp out expected
        both 0 model amn-remember --range $range
        cmp out.file expected && cmp out.pipe expected
    done
    try 0 amn-remember --size "$f"
    cp out expected
    both 0 model amn-remember --size
    cmp out.file expected && cmp out.pipe expected
}

# bats test_tags=full
@test "a compressed file counts as an input: it may not be overwritten or change" {
    for p in $packings; do
        packed $p "$fx/good-fp8-wide.safetensors" >model
        cp model expected
        try 73 amn-remember -o model model
        cmp model expected
        try 73 amn-remember -o model - <model
        cmp model expected
        packed $p "$corpus/gguf-good/data-order-permuted.gguf" >model      # worth a note
        try 74 "$helpers/held" 'printf x >>model' amn-remember -v -o new model
        grep -q 'file changed while being read' err
        [ ! -e new ]
    done
}

# bats test_tags=full
@test "compressed input: a reader that exits, and a writer that is not cut off" {
    for p in $packings; do
        packed $p "$fx/good-fp8-wide.safetensors" >model
        { amn-remember model 2>err && echo 0 >status || echo $? >status; } | head -c 10 >/dev/null
        [ "$(cat status)" -eq 141 ] && is_empty err
        { "$helpers/trickle" model 4096 && echo all >written; } | try 0 amn-remember
        [ "$(cat written)" = all ]
        rm written
    done
    { gzip -c <"$fx/good-gguf.gguf"; head -c 1000000 /dev/zero; } >model
    { "$helpers/trickle" model 4096 && echo all >written; } | try 0 amn-remember
    [ "$(cat written)" = all ]
}

@test "without libarchive, zstd and xz are refused, and everything else works" {
    [ "$(uname)" = Linux ] || skip "the library is called otherwise here"
    grep -q 'libarchive\.so\.13' "$AMN_BIN/amn-inspect" || skip "these tools are linked with libarchive"
    without_sanitizer
    mkdir lib
    : >lib/libarchive.so.13
    export LD_LIBRARY_PATH=$PWD/lib
    for p in zstd xz; do
        packed $p "$fx/good-plain.safetensors" >model
        both 69 model amn-inspect
        grep -q "unsupported: compressed with $p, but libarchive cannot be loaded (.*); install it, or use: $p -dc FILE | amn-inspect" err.file
    done
    gzip -c <"$fx/good-plain.safetensors" >model
    reads "$fx/good-plain.safetensors" model
}

@test "a small quant_state near the header of a pipe is read in memory, without a spool" {
    for f in bnb-nf4-bs64-bfloat16-dq bnb-fp4-bs64-float32-dq bnb-nf4-bs4096-float16; do
        f=$corpus/safetensors-good/$f.safetensors
        try 0 amn-remember "$f"
        cp out expected
        cat "$f" | TMPDIR=/nonexistent/folder try 0 amn-remember --no-spool -v
        cmp out expected
        refute grep -q 'temporary file' err
        gzip -c <"$f" | TMPDIR=/nonexistent/folder try 0 amn-remember --no-spool
        cmp out expected
        "$helpers/trickle" "$f" | try 0 amn-remember --no-spool -j 3
        cmp out expected
    done
}
