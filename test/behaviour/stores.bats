#!/usr/bin/env bats
# ollama:NAME and hf:NAME: models in the local stores. First the corpus, then cases that it cannot contain.
load helper

setup_file() { :; }
teardown_file() { :; }

# Unsets the variables of both stores; makes a writable copy of the Ollama store as ./models.
one_store() {
    unset OLLAMA_MODELS HF_HUB_CACHE HUGGINGFACE_HUB_CACHE HF_HOME XDG_CACHE_HOME
    cp -RP "$corpus/stores/ollama" models
    chmod -R u+w models
    export OLLAMA_MODELS=$dir/models
    library=$OLLAMA_MODELS/manifests/library.example/library
}

# hub REPO NAME...: makes a repository in ./hub whose main has these files, each a good model.
hub() {
    local to=$dir/hub/models--$1 commit=0123456789abcdef0123456789abcdef01234567 name
    shift
    export HF_HUB_CACHE=$dir/hub
    snapshot=$to/snapshots/$commit
    mkdir -p "$to/refs" "$snapshot"
    echo "$commit" >"$to/refs/main"
    for name; do
        mkdir -p "$(dirname "$snapshot/$name")"
        cp "$corpus/safetensors-good/plain-lookalikes.safetensors" "$snapshot/$name"
    done
}

@test "every row of corpus/stores/README.md" {
    "$tests/check-stores" "$AMN_BIN"
}

@test "ollama: a projector and an adapter are reported with -v only" {
    one_store
    try 0 amn-remember ollama:seeing
    is_empty err
    try 0 amn-remember -v ollama:seeing
    grep -q 'a projector.*blobs/sha256-83ec2e' err
    grep -q 'an adapter.*blobs/sha256-2b5e12' err
}

@test "ollama: layers that are not models are named in one note, with -v only" {
    one_store
    try 0 amn-remember ollama:tiny
    is_empty err
    try 0 amn-remember -v ollama:tiny
    [ "$(grep -c 'manifest has other layers' err)" -eq 1 ]
    grep -q 'other layers that are not part of the output: template, license$' err
    sed 's/image.license/image.x\\u001b[2J/' "$corpus/stores/ollama/manifests/library.example/library/tiny/latest" >"$library/tiny/latest"
    try 0 amn-remember -v ollama:tiny
    refute grep -q "$(printf '\033')" err
}

@test "ollama: the tools agree on a name" {
    one_store
    try 0 amn-parse ollama:tiny
    try 0 amn-inspect ollama:tiny
}

@test "ollama: two names that differ only in case" {
    one_store
    mkdir "$library/TINY"
    [ "$(ls "$library" | grep -ci '^tiny$')" -eq 2 ] || skip "this file system has no case"
    cp "$library/tiny/latest" "$library/TINY/latest"
    try 0 amn-remember ollama:TINY
    try 2 amn-remember ollama:Tiny
    grep -q '/TINY/latest.*/tiny/latest\|/tiny/latest.*/TINY/latest' err
    is_empty out
    try 0 amn-remember ollama:Tiny:experts      # only one of them has it
}

@test "ollama: a blob that is a pipe is not waited for" {
    one_store
    rm "$OLLAMA_MODELS"/blobs/sha256-cf8b*
    mkfifo "$OLLAMA_MODELS/blobs/sha256-cf8b2a3d7d8df68aa2a85cd675ec2c1ec80eec33731bec39496aca20c34179ae"
    try 66 timeout 20 amn-remember ollama:tiny
    is_empty out
}

# bats test_tags=broken
@test "ollama: invalid sizes, and a one-line message whatever the manifest contains" {
    one_store
    for size in '"3520"' 3520.0 -1 null 99999999999999999999; do
        sed "s/\"size\": 3520/\"size\": $size/" "$corpus/stores/ollama/manifests/library.example/library/upper-digest/latest" \
            >"$library/tiny/latest"
        try 65 amn-remember ollama:tiny
        is_empty out
    done
    printf '{"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "\\n\\u001b[2Jx", "size": 1}]}' \
        >"$library/tiny/latest"
    try 65 amn-remember ollama:tiny
    error_line amn-remember malformed
    refute grep -q "$(printf '\033')" err
}

@test "without any environment variable" {
    one_store
    for name in ollama:tiny hf:acme/tiny; do
        try 66 env -u HOME -u OLLAMA_MODELS amn-remember $name
        error_line amn-remember 'cannot open'
    done
}

@test "a file with a store's name is given as ./NAME" {
    cp "$corpus/safetensors-good/plain-lookalikes.safetensors" ollama:tiny
    try 0 amn-remember ./ollama:tiny
}

@test "hf: one file of a repository, also in a folder" {
    hub acme--x a.safetensors z.safetensors sub/b.safetensors
    try 2 amn-remember hf:acme/x
    for name in hf:acme/x/a.safetensors hf:acme/x/sub/b.safetensors hf:acme/x/a.safetensors@main hf:acme/x/sub; do
        try 0 amn-remember $name
        cp out first
        try 0 amn-remember "$corpus/safetensors-good/plain-lookalikes.safetensors"
        cmp out first
    done
    try 66 amn-remember hf:acme/x/c.safetensors
    grep -q 'snapshots/0123.*/c.safetensors.*hf download acme/x c.safetensors' err
    for name in hf:acme/x/ hf:acme/x/../x hf:acme/x//a.safetensors hf:acme/x/./a.safetensors 'hf:acme/x/a\b' hf:acme/x/a:b; do
        try 2 amn-remember "$name"
        is_empty out
    done
}

@test "hf: a file, a ref or a commit that is a pipe is not waited for" {
    hub acme--x
    mkfifo "$snapshot/model.safetensors"
    try 66 timeout 20 amn-remember hf:acme/x
    try 66 timeout 20 amn-remember hf:acme/x/model.safetensors
    mkfifo hub/models--acme--x/refs/slow
    try 66 timeout 20 amn-remember hf:acme/x@slow
    grep -q 'refs/slow: not a regular file' err
}

@test "hf: a ref of megabytes is not read" {
    hub acme--x model.safetensors
    head -c 5000000 /dev/zero | tr '\0' a >hub/models--acme--x/refs/main
    try 65 amn-remember hf:acme/x
}

@test "a directory: the file that is read" {
    good=$corpus/safetensors-good/plain-lookalikes.safetensors
    mkdir m
    try 66 amn-remember m
    cp "$good" m/.hidden.safetensors
    try 66 amn-remember m
    cp "$good" m/only.npz
    try 0 amn-remember m
    cp "$good" m/other.pt
    try 2 amn-remember m                # the only other model file
    grep -q 'several models (only.npz, other.pt): give one of them, such as m/only.npz' err
    cp "$good" m/a.gguf
    try 0 amn-remember m
    echo broken >m/pytorch_model.bin
    try 65 amn-remember m
    cp "$good" m/b.safetensors
    try 0 amn-remember m
    cp "$good" m/c.safetensors
    try 2 amn-remember m
    grep -q 'several models (b.safetensors, c.safetensors): give one of them, such as m/b.safetensors' err
    cp "$good" m/model.safetensors
    try 0 amn-remember m
    rm m/model.safetensors
    ln -s nothing m/model.safetensors
    try 66 amn-remember m               # not the others instead
    grep -q 'm/model.safetensors' err
    rm m/model.safetensors
    mkdir m/model.safetensors
    try 66 amn-remember m
}

# named_hub: ./hub with acme/m: a large file by its SHA-256, and small ones by the digest of git, as the Hub names them.
named_hub() {
    unset OLLAMA_MODELS HUGGINGFACE_HUB_CACHE HF_HOME XDG_CACHE_HOME
    export HF_HUB_CACHE=$dir/hub
    repo=hub/models--acme--m
    snapshot=$repo/snapshots/0123456789abcdef0123456789abcdef01234567
    mkdir -p $repo/blobs $repo/refs $snapshot/sub
    basename $snapshot >$repo/refs/main
    echo '{}' >config.json
    : >empty
    cp "$corpus/safetensors-good/plain-lookalikes.safetensors" model.safetensors
    for name in config.json empty model.safetensors sub/config.json; do
        file=$(basename $name)
        case $name in
        *.safetensors) digest=$(sha256sum <$file | cut -d ' ' -f 1) ;;
        *) digest=$(git hash-object $file) ;;
        esac
        cp $file $repo/blobs/$digest
        ln -sr $repo/blobs/$digest $snapshot/$name
    done
}

@test "amn check compares the files of the hub cache with their names" {
    named_hub
    for model in hf:acme/m hf:acme/m@0123456789abcdef0123456789abcdef01234567 $snapshot $snapshot/; do
        try 0 amn check $model
        grep -qx "$model: 4 files OK" out
        is_empty err
    done
    try 0 amn check $repo
    grep -qx "$repo: 3 files OK" out
    try 0 amn check -v hf:acme/m/model.safetensors
    [ "$(cat out)" = "$(printf '%s\n' 'model.safetensors: OK' 'hf:acme/m/model.safetensors: 1 file OK')" ]
    blob=$(readlink -f $snapshot/model.safetensors)
    printf x | dd of="$blob" bs=1 seek=100 conv=notrunc status=none
    try 1 amn check hf:acme/m
    [ "$(head -n 1 out)" = "model.safetensors: FAILED" ]
    try 1 amn check $repo
    rm "$blob"
    cp config.json $snapshot/plain.json
    try 1 amn check --json hf:acme/m
    jq -se 'map([.name, .result]) == [["config.json", "ok"], ["empty", "ok"], ["model.safetensors", "missing"], ["sub/config.json", "ok"]]' out
    grep -qF '1 file without a known digest not checked, such as plain.json' err
    "$helpers/json-keys" 'AMN-INSPECT CHECK OF FILES' <out
    try 2 amn check --stored hf:acme/m
    try 2 amn check --include '*' hf:acme/m
    try 66 amn check hf:acme/none
}

@test "amn check compares a folder of hf download --local-dir with its metadata" {
    mkdir -p d/sub d/.cache/huggingface/download/sub
    echo '{}' >d/sub/config.json
    cp "$corpus/safetensors-good/plain-lookalikes.safetensors" d/model.safetensors
    printf '%s\n' 0123456789abcdef0123456789abcdef01234567 "$(sha256sum <d/model.safetensors | cut -d ' ' -f 1)" 1700000000.5 \
        >d/.cache/huggingface/download/model.safetensors.metadata
    printf '%s\n' 0123456789abcdef0123456789abcdef01234567 "$(git hash-object d/sub/config.json)" 1700000000.5 \
        >d/.cache/huggingface/download/sub/config.json.metadata
    touch d/.cache/huggingface/download/model.safetensors.lock
    try 0 amn check d
    grep -qx 'd: 2 files OK' out
    (cd d; try 0 amn check .)
    echo >>d/sub/config.json
    try 1 amn check d/
    [ "$(head -n 1 out)" = "sub/config.json: FAILED" ]
}

@test "amn check compares the layers of a model of Ollama, and its whole store" {
    one_store
    try 0 amn check ollama:tiny
    grep -qE '^ollama:tiny: [0-9]+ files OK$' out
    try 0 amn check -v ollama:tiny
    grep -qE '^model [0-9a-f]{12}: OK$' out
    amn check "$OLLAMA_MODELS" >out || true
    grep -q 'files OK' out
    blob=$(ls "$OLLAMA_MODELS"/blobs/sha256-cf8b*)
    printf x >>"$blob"
    try 1 amn check ollama:tiny
    grep -qx 'model cf8b2a3d7d8d: FAILED' out
    rm "$blob"
    try 1 amn check ollama:tiny
    grep -qx 'model cf8b2a3d7d8d: FAILED (missing)' out
}
