#!/usr/bin/env bats
# --fetch: a model is read through a command, one range of bytes at a time.
load helper

setup() {
    begin
    mkdir srv
    # unlogged reads a range of srv/$AMN_FILE; local also lists the request in the file log
    unlogged='tail -c +$((AMN_FROM + 1)) "srv/$AMN_FILE" 2>/dev/null | head -c $((AMN_TO - AMN_FROM + 1))'
    local='echo "$AMN_FILE $AMN_FROM $AMN_TO" >>log; '$unlogged
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
    for _ in $(seq 600); do [ -e port ] || sleep 0.1; done
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

@test "two windows are fetched at a time while one is read" {
    models
    timed='echo + >>count; sleep 0.2; '"$local"'; echo - >>count'
    amn-remember -q --config none --fetch "$timed" --fetch-window 200K m.safetensors | cmp - <(amn-remember -q srv/m.safetensors)
    [ "$(awk '{ n += $0 == "+" ? 1 : -1; most = n > most ? n : most } END { print most }' count)" -eq 2 ]
    # the twelve windows but the first in pairs
    [ "$(awk '{ n += $0 == "+" ? 1 : -1; pairs += $0 == "+" && n == 2 } END { print pairs }' count)" -ge 4 ]
}

@test "config.json is fetched, and decides what the tensors leave open" {
    cp -r "$fx/config-48" srv/ 2>/dev/null || skip 'no such fixture'
    in=$(cd srv && ls config-48/*.safetensors | head -n 1)
    amn-remember -q "srv/$in" >want
    amn-remember -q --fetch "$local" "$in" | cmp - want
    grep -q '^config-48/config.json ' log
}

@test "a directory: its usual names are tried, and config.json, tokenizer and other files are fetched" {
    models
    "$helpers/hf-model" "$corpus/hf-models/qwen2" srv/hf
    amn-convert -q --to gguf srv/hf >want.gguf
    amn-convert -q --to gguf --fetch "$local" hf/ | cmp - want.gguf
    amn-convert -q --to gguf --fetch "$local" hf/model.safetensors.index.json | cmp - want.gguf
    amn-convert -q --shard-size 100K -o want/ srv/hf
    mkdir hf                            # a directory of this name that is not the input
    try 0 amn-convert --shard-size 100K -o hf/ --fetch "$local" hf/
    grep -q 'copied are [0-9]* files with usual names' err || { cat err; return 1; }
    diff -r want hf
    # names have no ./ in front, which an object store would not know
    rm log
    (cd srv/hf && amn-inspect --fetch "echo \"\$AMN_FILE\" >>'$dir/log'; tail -c +\$((AMN_FROM + 1)) \"\$AMN_FILE\"" .) | jq -e '.tensors == 38'
    [ "$(grep -c / log)" -eq 0 ]
    grep -qx config.json log
    mkdir srv/other && cp srv/hf/model-00001-of-00004.safetensors srv/other/model.safetensors
    [ "$(amn hash --fetch "$local" other/ | sed 's/.* = //')" = "$(amn hash srv/other/model.safetensors | sed 's/.* = //')" ]
    try 66 amn-inspect --fetch "$local" none/
    grep -q 'no model in the directory under a usual name' err
    amn-convert -q -o want.npz srv/m.gguf srv/hf/model-00001-of-00004.safetensors
    amn-convert -q --to npz --fetch "$local" m.gguf hf/model-00001-of-00004.safetensors | cmp - want.npz
    # files that options name are not fetched
    mkdir here && mv srv/hf/config.json here
    amn-convert -q --to gguf --config here/config.json --fetch "$local" hf/ | cmp - want.gguf
}

# bats test_tags=full
@test "--resume: a directory that was cut off is continued, unless the input changed" {
    models
    amn-remember -q --to f32 --shard-size 700K -o want/ srv/m.safetensors
    # The last windows take so long that the job is killed before it ends. The commands that it leaves behind write no file,
    # which could appear while the folder is removed.
    slow='[ $AMN_FROM -lt 1800000 ] || sleep 5; '$unlogged
    amn-remember -q --to f32 --shard-size 700K -o new/ --fetch "$slow" --fetch-window 100K m.safetensors 3>&- &
    pid=$!
    while kill -0 $pid && ! compgen -G 'new/model-00002-of-*.safetensors' >list; do sleep 0.05; done
    kill -9 $pid
    wait $pid || :
    [ -e new/.amn-journal ]
    cp -r new changed
    inode=$(stat -c %i new/model-00001-of-*.safetensors)
    amn-remember -q --to f32 --shard-size 700K --resume -o new/ --fetch "$local" m.safetensors
    diff -r want new
    [ "$(stat -c %i new/model-00001-of-*.safetensors)" -eq "$inode" ]
    try 0 amn-remember --to f32 --shard-size 700K --resume -o new/ --fetch "$local" m.safetensors
    grep -q 'already complete' err
    python3 - <<'PYTHON'
data = bytearray(open("srv/m.safetensors", "rb").read())
data[3000] ^= 1
open("srv/m.safetensors", "wb").write(data)
PYTHON
    try 73 amn-remember -q --to f32 --shard-size 700K --resume -o changed/ --fetch "$local" m.safetensors
    grep -q 'cannot resume' err
}

@test "--scan: a file, and the shards of an index" {
    mkdir bad
    "$helpers/hostile-pickles" bad
    cp bad/global.pkl srv/bad.pt
    python3 -c '
import json
json.dump({"weight_map": {"a": "bad.pt", "b": "bad2.pt"}}, open("srv/pytorch_model.bin.index.json", "w"))'
    cp srv/bad.pt srv/bad2.pt
    status=0
    amn-inspect --scan srv/bad.pt >want || status=$?
    [ $status -eq 1 ] || [ $status -eq 77 ]
    for window in 100 16M; do
        try $status amn-inspect --scan --fetch "$local" --fetch-window $window bad.pt
        diff <(jq -S 'del(.file)' out) <(jq -S 'del(.file)' want)
    done
    try $status amn-inspect --scan --fetch "$local" pytorch_model.bin.index.json
    [ "$(jq -r .file out | tr '\n' ' ')" = 'bad.pt bad2.pt ' ]
    try 2 amn-inspect --scan --fetch "$local" ./
}

@test "values reach the command in its environment only, whatever the name is" {
    models
    name='a $(touch hit) `touch hit` "b" ;touch hit.gguf'
    cp srv/m.gguf "srv/$name"
    amn-remember -q srv/m.gguf >want
    amn-remember -q --fetch "$local" "$name" | cmp - want
    [ ! -e hit ]
}

@test "a file whose size is a multiple of the window, from a server that refuses ranges after the end" {
    models
    strict='[ "$AMN_FROM" -lt "$(wc -c <"srv/$AMN_FILE")" ] || exit 22; '"$local"
    python3 - <<'PYTHON'
for name in "config.json", "model.safetensors.index.json":
    text = b"{}" if name == "config.json" else open("srv/shards/" + name, "rb").read()
    open("srv/shards/" + name, "wb").write(text + b" " * (-len(text) % 1000 or 1000))
PYTHON
    amn-remember -q srv/shards >want
    amn-remember -q --fetch "$strict" --fetch-window 1000 --range 0-99999 shards/ | cmp - <(head -c 100000 want)
    size=$(stat -c %s srv/m.gguf.gz)
    for window in $size $((size / 2 + size % 2)) $((size / 3 + 1)); do
        truncate -s $((window * ((size + window - 1) / window))) srv/m.gguf.gz          # gzip may be followed by zeros
        amn hash --fetch "$strict" --fetch-window $window m.gguf.gz | cmp - <(cd srv && amn hash m.gguf.gz)
    done
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
}

# bats test_tags=full
@test "a failure is retried three times" {
    models
    amn-remember -q srv/m.gguf >want
    # every window fails twice
    flaky='n=$(cat "count.$AMN_FROM" 2>/dev/null || echo 0); echo $((n + 1)) >"count.$AMN_FROM"; [ "$n" -ge 2 ] || exit 22; '$local
    amn-remember -q --fetch "$flaky" --fetch-window 2M m.gguf | cmp - want
    # after 0.5, 1 and 2 seconds, and not again
    try 74 amn-inspect --fetch 'python3 -c "import time; print(time.monotonic())" >>tries; exit 22' m.gguf
    awk 'NR > 1 && $1 - last < 2 ^ (NR - 3) { bad = 1 } { last = $1 } END { exit bad || NR != 4 }' tries
}

# manual PROGRAM: the command of amn(7) with this program.
manual() {
    python3 - "$1" "$tests/../man/amn.7" <<'PYTHON'
import re, sys
page = open(sys.argv[2]).read()
found = re.search(r"--fetch \\\(aq(%s .*?)\\\(aq" % sys.argv[1], page, re.S)[1]
print(found.replace("\\e\n", "").replace("\\-", "-"))
PYTHON
}

# The aws command is tested by make check-engines.
# bats test_tags=full
@test "the commands of amn(7): curl from a server; ssh with dd, and gsutil, by stand-ins with the same arguments" {
    models
    serve
    mkdir programs
    printf '#!/bin/sh\n[ "$1" = host ] && shift && cd %s/srv && exec sh -c "$*"\n' "$dir" >programs/ssh
    cat >programs/gsutil <<'SCRIPT'
#!/bin/sh
[ "$1 $2" = "cat -r" ] && [ $# -eq 4 ] || exit 2
from=${3%-*} to=${3#*-}
[ "${4%%/m.*}" = gs://bucket ] || exit 1
tail -c +$((from + 1)) "srv/${4#gs://bucket/}" | head -c $((to - from + 1))
SCRIPT
    chmod +x programs/*
    export URL=$url/plain BUCKET=bucket PATH=$dir/programs:$PATH
    amn-remember -q srv/m.gguf >want
    for program in curl ssh gsutil; do
        amn-remember -q --config none --fetch "$(manual $program)" --fetch-window 300K m.gguf | cmp - want
    done
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
