#!/usr/bin/env bats
# PyTorch checkpoints as stacked pickles, the form before 1.6, and as tar archives, before 0.1.10.
load helper

made() { "$helpers/legacy-checkpoint" . ; }

@test "a checkpoint gives its tensors, from a file, a pipe, and byte by byte" {
    made
    for f in good-*.pt; do
        remembers $f
        "$helpers/tensors" <out.file | diff - ${f%.pt}.expect
        cat $f | amn-remember --no-spool >out.forward || [ $f = good-order.pt ]
        case $f in good-several.pt) continue ;; esac
        "$helpers/trickle" $f | try 0 amn-remember
        cmp out out.file
    done
    "$helpers/trickle" good-several.pt 4099 | try 0 amn-remember --no-spool
    "$helpers/tensors" <out | diff - good-several.expect
}

# bats test_tags=broken
@test "errors are reported, and nothing is written" {
    made
    for f in bad-*.pt; do
        read -r status words <${f%.pt}.err
        try "$status" amn-remember $f
        grep -qF -e "$words" err || { echo "no '$words' of $f in:"; cat err; return 1; }
        is_empty out
        error_line amn-remember "$(case $status in 65) echo malformed ;; 69) echo unsupported ;; 77) echo 'unsafe pickle' ;; esac)"
        cat $f | try "$status" amn-remember -
        grep -qF -e "$words" err || { echo "no '$words' of $f from a pipe in:"; cat err; return 1; }
        [ $f = bad-late-count.pt ] || is_empty out
    done
}

# bats test_tags=broken
@test "a wrong count after the first megabytes of a pipe leaves no file" {
    made
    cat bad-late-count.pt | try 65 amn-remember -o late.safetensors
    [ ! -e late.safetensors ] && grep -q 'at byte' err
}

# bats test_tags=full,broken
@test "a checkpoint truncated at every byte of its pickles and at the edges of its storages" {
    made
    "$helpers/cut-everywhere" good-one.pt
    step=1
    if is_sanitized; then step=17; fi
    "$helpers/cut-each" good-order.pt $step
}

# bats test_tags=full,broken
@test "the tar form truncated at every block, and within each" {
    made
    for n in $(seq 511 128 8190); do
        head -c $((n + 1)) good-tar.pt >cut
        cmp -s cut good-tar.pt && break
        got=0
        amn-remember cut >out 2>err || got=$?
        [ $got -eq 65 ] || [ "$(tail -c +$((n + 2)) good-tar.pt | tr -d '\0' | wc -c)" -eq 0 ]
        [ $got -eq 0 ] || is_empty out
    done
}

@test "inspect and parse name the format and the tensors" {
    made
    [ "$(amn-inspect good-order.pt | jq -c '[.format, .tensors]')" = '["PyTorch",2]' ]
    [ "$(amn-parse good-order.pt | jq -r .name | tr '\n' ' ')" = 'l.0 a.t ' ]
}

@test "--root selects what is under a path, and removes the path from names" {
    made
    [ "$(amn-parse --root a good-order.pt | jq -r .name)" = t ]
    [ "$(amn-parse --root a.t good-order.pt | jq -r .name)" = tensor ]
    try 2 amn-parse --root nowhere good-order.pt
    grep -q "no tensor under 'nowhere'" err
    [ "$(amn-parse --root auto good-order.pt | wc -l)" -eq 2 ]
}
