#!/usr/bin/env bats
# contrib/two-shards: a model of many shards becomes one file, and at most two of the shards are on disk.
load helper

setup() {
    begin
    mkdir srv
    contrib=$tests/../contrib
    # lists how many whole shards are here, with the one that is fetched
    fetch='if [ "$AMN_TO" -gt 1000000000000 ]; then echo $(($(ls "$shards"/*.safetensors 2>/dev/null | wc -l) + 1)) >>held; fi
        tail -c +$((AMN_FROM + 1)) "srv/$AMN_FILE" 2>/dev/null | head -c $((AMN_TO - AMN_FROM + 1))'
}

# shards N: srv has a model of N tensors in shards of 1 MB.
shards() {
    python3 - "$1" <<'PYTHON'
import random, sys
from modelfile import write
rnd = random.Random(5)
write("m.safetensors", [("l.%02d.weight" % i, "BF16", [300, 500], rnd.randbytes(300000)) for i in range(int(sys.argv[1]))])
PYTHON
    amn-convert -q -o srv/ --shard-size 1M m.safetensors
}

@test "contrib/two-shards: the file is that of the whole model, and never more than two shards are here" {
    shards 20
    amn-remember -q --to f32 srv >want
    "$contrib/two-shards" "$fetch" model.safetensors.index.json made.safetensors --to f32
    cmp want made.safetensors
    [ ! -e made.safetensors.shards ]
    [ "$(sort -n held | tail -n 1)" -le 2 ]
    [ "$(wc -l <held)" -eq "$(ls srv/*.safetensors | wc -l)" ]          # each is fetched once
    rm held
    try 74 "$contrib/two-shards" 'exit 3' model.safetensors.index.json none.safetensors
    grep -q 'failed with status 3' err
}

# bats test_tags=full
@test "contrib/two-shards, killed at any time and started again: the same file" {
    shards 20
    amn-remember -q --to f32 srv >want
    slow="sleep 0.02; $fetch"
    for i in 3 5 8 12 4 7 20 6 9 11; do
        setsid "$contrib/two-shards" "$slow" model.safetensors.index.json made.safetensors --to f32 3>&- &
        pid=$!
        sleep 0.$((i * 9))
        kill -9 -- -$pid 2>/dev/null || :
        wait $pid || :
        [ ! -e made.safetensors ] || cmp -n "$(stat -c %s made.safetensors)" want made.safetensors
    done
    "$contrib/two-shards" "$fetch" model.safetensors.index.json made.safetensors --to f32
    cmp want made.safetensors
    [ "$(sort -n held | tail -n 1)" -le 2 ]
}
