#!/usr/bin/env bats
# --range: every output byte is a pure function of its offset.
load helper

# ranges SET
ranges() {
    needs_cpu "$1"
    for f in good-fp8-wide.safetensors good-fp8-wide-late.safetensors good-gguf-k.gguf good-gguf.gguf \
        good-gptq-wide.safetensors good-groups-wide.safetensors good-fp4-wide.safetensors; do
        "$helpers/ranges" "$fx/$f" "$1"
    done
}

# bats test_tags=full
@test "random ranges are slices of the whole: -j 1, -j 3, file and pipe" {
    ranges scalar
}

# bats test_tags=full
@test "random ranges with AVX2" {
    ranges avx2
}

@test "a weight in several panels: its rows equal those of its columns decoded alone" {
    "$helpers/gptq-columns" "$fx/good-gptq-wide.safetensors"
}

@test "codes in planes equal the same codes in bytes" {
    try 0 amn-remember "$fx/good-groups-wide.safetensors"
    "$helpers/tensors" <out >list
    for w in h v; do
        [ "$(grep "^$w[48].weight " list | cut -d' ' -f2- | uniq | wc -l)" -eq 1 ]
        [ "$(grep -c "^$w[48].weight " list)" -eq 2 ]
    done
}

@test "the forms of a range" {
    amn-remember "$fx/good-plain.safetensors" >whole
    n=$(wc -c <whole)
    slice() { tail -c +$(($1 + 1)) whole | head -c "$2"; }
    for r in "0-0 0 1" "5-9 5 5" "$((n - 1))- $((n - 1)) 1" "0- 0 $n" "-1 $((n - 1)) 1" "-$n 0 $n" "-$((n + 50)) 0 $n" \
        "0-$((n + 50)) 0 $n" "$((n - 3))-$((n + 3)) $((n - 3)) 3"; do
        set -- $r
        try 0 amn-remember --range "$1" "$fx/good-plain.safetensors"
        slice "$2" "$3" | cmp - out || { echo "range $1"; return 1; }
    done
}

@test "a range past the end is refused, and nothing is written" {
    n=$(amn-remember --size "$fx/good-plain.safetensors")
    try 2 amn-remember --range "$((n + 1))-" "$fx/good-plain.safetensors"
    is_empty out
}

@test "resume after a dropped connection" {
    amn-remember "$fx/good-fp8-wide.safetensors" >whole
    head -c 700001 whole >partial
    amn-remember --range "$(wc -c <partial | tr -d ' ')-" "$fx/good-fp8-wide.safetensors" >>partial
    cmp partial whole
}

@test "a range with -o is a file of just those bytes" {
    amn-remember "$fx/good-gguf.gguf" | head -c 100 | tail -c +11 >expected
    try 0 amn-remember --range 10-99 -o part "$fx/good-gguf.gguf"
    cmp part expected
}
