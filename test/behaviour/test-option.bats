#!/usr/bin/env bats
# amn-remember --test: everything is read and decoded, nothing written; and the last line of -v.
load helper

# counts FILE WANT [OPTION...]: --test -v of FILE, by name and through a pipe, has the warnings about tensors in WANT.
counts() {
    local file=$1 want=$2
    shift 2
    both 0 "$file" amn-remember --test -v "$@" || return 1
    is_empty out.file && is_empty out.pipe || return 1
    for way in file pipe; do
        sed -n 's/^amn-remember: .*: warning: \(tensor .*\)/\1/p' err.$way | diff "$want" - ||
            { echo "$way, $*"; return 1; }
    done
}

@test "--test: no output and status 0 for a good model, as a file and from a pipe" {
    for f in good-plain.safetensors good-fp8-e5m2.safetensors good-gguf.gguf good-gguf-k.gguf; do
        both 0 "$fx/$f" amn-remember --test
        for output in out.file out.pipe err.file err.pipe; do
            is_empty $output
        done
    done
    rm ./*
    try 0 "$helpers/pty" amn-remember --test "$fx/good-plain.safetensors"       # no binary data to refuse on a terminal
    is_empty out
    try 0 amn-remember --test --to f16 -j2 --order name "$fx/good-gguf.gguf" >&-
    only
}

# bats test_tags=full
@test "--test: a model that cannot be dequantized fails as usual" {
    for f in "$fx"/bad-*.safetensors "$fx"/bad-*.gguf "$fx"/unsupported-*; do
        got=0
        amn-remember -o made "$f" 2>expected </dev/null || got=$?
        try $got amn-remember --test "$f"
        cmp err expected
        is_empty out
    done
    for f in good-fp8-wide.safetensors good-fp8-wide-late.safetensors good-gguf-k.gguf; do
        for n in 100 100000 $(($(wc -c <"$fx/$f") - 3000)); do
            head -c "$n" "$fx/$f" >cut
            both 65 cut amn-remember --test
            head -c "$n" "$fx/$f" | gzip >cut.gz
            try 65 amn-remember --test cut.gz
        done
    done
    { cat "$fx/good-fp8-wide.safetensors"; echo; } | try 65 amn-remember --test
    cat "$fx/good-fp8-wide-late.safetensors" | try 75 amn-remember --test --no-spool
    try 66 amn-remember --test nowhere
}

@test "--test writes nothing, so it conflicts with outputs and other queries" {
    for o in '-o out2' '-o out2/' '--size' '--plan' '--parts --part-size 1M'; do
        try 2 amn-remember --test $o "$fx/good-plain.safetensors"
        try 2 amn-remember $o --test "$fx/good-plain.safetensors"
        is_empty out
    done
    only
    try 0 amn-remember --test -o - "$fx/good-plain.safetensors"
    try 2 amn-remember --test --range 99999999999- "$fx/good-plain.safetensors"
}

# bats test_tags=full
@test "--test counts NaN and infinite values of every float tensor, exactly, with all kernels" {
    "$helpers/odd-values" make odd
    for to in bf16 f16 f32; do
        amn-remember --to $to -o made odd
        "$helpers/odd-values" count made >want
        [ "$(wc -l <want)" -eq 6 ]
        for j in 1 2 5; do
            counts odd want --to $to -j$j
        done
    done
    amn-remember --order name -o made odd
    "$helpers/odd-values" count made >want
    counts odd want --order name
    # and of a range, whose first and last values may be incomplete
    size=$(amn-remember --size odd)
    amn-remember -o made odd
    for range in 0-2 1001-1400006 524288-1048575 600001-600002 2000000-$((size - 2)) 17-$((size - 1)); do
        "$helpers/odd-values" count made ${range%-*} ${range#*-} >want
        counts odd want --range $range -j2
    done
    first=0
    for part in 1/3 2/3 3/3; do
        next=$((first + $(amn-remember --size --part $part odd)))
        "$helpers/odd-values" count made $first $((next - 1)) >want
        counts odd want --part $part
        first=$next
    done
}

@test "--test names a few tensors, -v all, -q none; JSON has the name" {
    "$helpers/odd-values" make odd
    try 0 amn-remember --test odd
    [ "$(grep -c '^amn-remember: odd: warning: tensor ' err)" -eq 5 ]
    [ "$(wc -l <err)" -eq 6 ]
    tail -n 1 err | grep -qE '^amn-remember: odd: warning: [0-9]+ NaN and [0-9]+ infinite values in 6 tensors; -v lists them all$'
    cp err short
    try 0 amn-remember --test -v odd
    [ "$(grep -c ': warning: tensor ' err)" -eq 6 ]
    sed 's/; -v lists .*//' short | tail -n 1 | grep -qxFf - err
    try 0 amn-remember --test -q odd
    is_empty err
    try 0 amn-remember --test --json-errors odd
    jq -r 'select(.kind == "warning" and .tensor != null) | .tensor' err >names
    printf '%s\n' t0.F32 t1.F64 t2.BF16 t3.F16 t4.C64 | diff - names
    jq -es 'map(select(.tensor == null)) | length == 1 and .[0].status == null' err
    # one tensor alone needs no sum
    amn-remember --plan odd | jq -r 'select(.name == "t0.F32") | "\(.offset)-\(.offset + .nbytes - 1)"' >range
    try 0 amn-remember --test --range "$(cat range)" odd
    [ "$(wc -l <err)" -eq 1 ]
}

@test "--test: values that overflow F16 are reported as in an output" {
    try 0 amn-remember --to f16 -o made "$fx/good-fp8-wide.safetensors"
    cp err expected
    try 0 amn-remember --to f16 --test "$fx/good-fp8-wide.safetensors"
    grep 'overflow F16 (maximum 65504)' err | diff expected -
}

@test "-v ends with one line: tensors, bytes, seconds, rate, CRC-32, and the part" {
    rest='in [0-9.]+ s \([0-9.]+ [KMG]iB/s\), CRC-32 '
    f=$fx/good-fp8-wide.safetensors
    try 0 amn-remember -o made "$f"
    crc=$(python3 -c 'import zlib; print("%08x" % zlib.crc32(open("made", "rb").read()))')
    try 0 amn-remember -v "$f"
    tail -n 1 err | grep -qxE "amn-remember: $f: note: 4 tensors: 2 dequantized; 3135797 bytes \(2\.99 MiB\) written $rest$crc"
    try 0 amn-remember -v --test "$f"
    tail -n 1 err | grep -qxE "amn-remember: $f: note: 4 tensors: 2 dequantized; 3135797 bytes \(2\.99 MiB\) tested $rest$crc"
    amn-remember --part 2/3 "$f" >made
    crc=$(python3 -c 'import zlib; print("%08x" % zlib.crc32(open("made", "rb").read()))')
    for o in '' --test; do
        try 0 amn-remember -v --part 2/3 $o "$f"
        tail -n 1 err | grep -qxE "amn-remember: $f: note: 1 tensor: 1 dequantized; 1048576 of 3135797 bytes \(1\.00 MiB\) (written|tested) $rest$crc"
    done
    try 0 amn-remember -v --range 3135797- "$f"
    tail -n 1 err | grep -q '0 tensors: 0 dequantized; 0 of 3135797 bytes (0 bytes) written in '
}
