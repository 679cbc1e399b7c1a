#!/usr/bin/env bats
# --fetch: a model is read through a command, one range of bytes at a time.
load helper

setup() {
    begin
    mkdir srv
    # reads a range of srv/$AMN_FILE and lists the request in the file log
    local='echo "$AMN_FILE $AMN_FROM $AMN_TO" >>log
        tail -c +$((AMN_FROM + 1)) "srv/$AMN_FILE" 2>/dev/null | head -c $((AMN_TO - AMN_FROM + 1))'
}

teardown() {
    [ -z "${server:-}" ] || kill "$server"
    cd /
    rm -rf "$dir"
}

# models: the same values in all containers that srv offers.
models() {
    python3 - <<'PYTHON'
import random
from modelfile import write
rnd = random.Random(4)
write("srv/m.safetensors", [("l.%d.weight" % i, "BF16", [300, 500], rnd.randbytes(300000)) for i in range(8)] +
      [("norm", "F32", [500], rnd.randbytes(2000))])
PYTHON
    amn-convert -q -o srv/m.gguf srv/m.safetensors
    amn-convert -q -o srv/m.npz srv/m.safetensors
    amn-convert -q -o srv/shards/ --shard-size 700K srv/m.safetensors
    gzip -c srv/m.gguf >srv/m.gguf.gz
    cp -r "$fx/good-sharded" srv/fp8
}

# serve: starts the server; $url is where it is.
serve() {
    command -v curl >/dev/null || skip 'curl is not installed'
    "$helpers/range-server" srv port >/dev/null 2>&1 3>&- &
    server=$!
    for _ in $(seq 100); do [ -e port ] || sleep 0.1; done
    url=http://127.0.0.1:$(cat port)
}

# bats test_tags=full
@test "every container, index and shards, with windows of any size: the output is that of the files" {
    models
    for in in m.safetensors m.gguf m.npz m.gguf.gz shards/model.safetensors.index.json fp8/model.safetensors.index.json; do
        amn-remember -q srv/$in >want
        for window in 10000 300K 16M; do
            rm -f log
            amn-remember -q --fetch "$local" --fetch-window $window $in | cmp - want
        done
        amn-parse --hash --fetch "$local" $in | jq -r 'select(.name) | [.name, .sha256, .values_sha256] | @tsv' >got
        amn-parse --hash srv/$in | jq -r 'select(.name) | [.name, .sha256, .values_sha256] | @tsv' | cmp - got
    done
    try 0 amn diff --fetch "$local" m.gguf shards/model.safetensors.index.json
    try 0 amn-inspect --fetch "$local" m.gguf
}

@test "requests are whole windows, each once, clipped to what the header promises" {
    models
    amn-remember -q --fetch "$local" --fetch-window 500K m.safetensors >out
    # the first one may be fetched again, after those of config.json
    [ "$(grep '^m.safetensors [1-9]' log | sort | uniq -d | wc -l)" -eq 0 ]
    size=$(stat -c %s srv/m.safetensors)
    [ "$(grep '^m.safetensors ' log | sort -k 2n | tail -n 1)" = "m.safetensors 2048000 $((size - 1))" ]
    # a range needs its windows and the header's only
    rm log
    amn-remember -q --fetch "$local" --fetch-window 500K --range 1500000-1500099 m.safetensors >out
    [ "$(grep -c '^m.safetensors ' log)" -le 3 ]
}

@test "config.json is fetched, and decides what the tensors leave open" {
    cp -r "$fx/config-48" srv/ 2>/dev/null || skip 'no such fixture'
    in=$(cd srv && ls config-48/*.safetensors | head -n 1)
    amn-remember -q "srv/$in" >want
    amn-remember -q --fetch "$local" "$in" | cmp - want
    grep -q '^config-48/config.json ' log
}

@test "values reach the command in its environment only, whatever the name is" {
    models
    name='a $(touch hit) `touch hit` "b" ;touch hit.gguf'
    cp srv/m.gguf "srv/$name"
    amn-remember -q srv/m.gguf >want
    amn-remember -q --fetch "$local" "$name" | cmp - want
    [ ! -e hit ]
}

# bats test_tags=full
@test "a command that fails: its status and its standard error, 74" {
    models
    try 74 amn-inspect --fetch 'echo "no such $AMN_FILE" >&2; exit 3' x.gguf
    grep -q 'the fetch command failed with status 3 after 0 bytes: no such x.gguf' err
    try 74 amn-inspect --fetch 'kill -9 $$' x.gguf
    grep -q 'ended by signal 9' err
    try 74 amn-inspect --fetch 'cat srv/m.gguf' --fetch-window 1000 m.gguf
    grep -q 'more than the 1000 bytes' err
    try 65 amn-inspect --fetch : x.gguf
    try 74 amn-remember --fetch "{ $local; } | head -c 1000000" --fetch-window 2M m.gguf
    grep -q 'the fetch command returned 1000000 of 2[0-9]* bytes that the header promises' err
    try 2 amn-inspect --fetch '' m.gguf
    try 2 amn-inspect --fetch-window 0 m.gguf
    try 2 amn-remember --fetch "$local" --resume -o out/ m.gguf
}

# bats test_tags=full
@test "a failure is retried three times" {
    models
    amn-remember -q srv/m.gguf >want
    # every window fails twice
    flaky='n=$(cat "count.$AMN_FROM" 2>/dev/null || echo 0); echo $((n + 1)) >"count.$AMN_FROM"; [ "$n" -ge 2 ] || exit 22; '$local
    amn-remember -q --fetch "$flaky" --fetch-window 2M m.gguf | cmp - want
}

# bats test_tags=full
@test "an HTTP server that is slow, or cuts connections" {
    models
    serve
    amn-remember -q srv/shards >want
    for mode in plain slow cut; do
        try 0 amn-remember -q --fetch 'curl -fsS -r $AMN_FROM-$AMN_TO "'$url/$mode'/$AMN_FILE"' --fetch-window 1M -o out.safetensors \
            shards/model.safetensors.index.json
        cmp out.safetensors want
    done
}

# bats test_tags=full
@test "an HTTP server that ignores ranges, lies about lengths, or has no such file" {
    models
    serve
    curl_of() { printf 'curl -fsS -r $AMN_FROM-$AMN_TO "%s/%s/$AMN_FILE"' "$url" "$1"; }
    try 74 amn-remember -q --fetch "$(curl_of whole)" --fetch-window 1M m.gguf
    grep -q 'support ranges' err
    try 74 amn-inspect -q --fetch "$(curl_of lies)" --fetch-window 1M m.gguf
    grep -q 'the fetch command failed with status 18' err
    try 74 amn-remember -q --fetch "$(curl_of short)" --fetch-window 4M m.gguf
    grep -q 'that the header promises' err
    try 74 amn-inspect -q --fetch "$(curl_of plain)" nothing.gguf
    grep -q 'failed with status 22 .*404' err
}

# bats test_tags=full
@test "1000 random ranges and parts over --fetch are those of the file" {
    models
    amn-remember -q srv/shards >want
    size=$(stat -c %s want)
    python3 - "$size" >jobs <<'PYTHON'
import random, sys
rnd, size = random.Random(30), int(sys.argv[1])
for i in range(1000):
    if i % 2:
        a = rnd.randrange(size)
        print("--range=%d-%d" % (a, rnd.randrange(a, size)))
    else:
        n = rnd.randint(1, 50)
        print("--part=%d/%d" % (rnd.randint(1, n), n))
PYTHON
    while read -r job; do
        amn-remember -q "$job" srv/shards >a
        amn-remember -q "$job" --fetch "$local" --fetch-window 300K shards/model.safetensors.index.json | cmp - a
    done <jobs
}
