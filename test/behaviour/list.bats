#!/usr/bin/env bats
# bats file_tags=full
# amn list: the models of the local stores.
load helper

setup() {
    begin
    unset OLLAMA_MODELS HF_HUB_CACHE HUGGINGFACE_HUB_CACHE HF_HOME XDG_CACHE_HOME
    export HOME=$dir/home
    hub=$HOME/.cache/huggingface/hub
    good=$corpus/safetensors-good/plain-lookalikes.safetensors
    fp8=$corpus/safetensors-good/plain-beside-fp8.safetensors
    gguf=$corpus/gguf-good/nvfp4-scale.gguf
    first=$(printf 'a%.0s' $(seq 40)) second=$(printf 'b%.0s' $(seq 40))
}

# put REPO COMMIT NAME [FILE]: adds a file to a revision as the Hub's library does: a link to a blob. Its contents are those of
# FILE, or nothing.
put() {
    local top=$hub/models--$1 snapshot=$hub/models--$1/snapshots/$2 blob up
    blob=$(cksum <"${4:-/dev/null}" | tr ' ' -)
    mkdir -p "$top/blobs" "$(dirname "$snapshot/$3")"
    cp "${4:-/dev/null}" "$top/blobs/$blob"
    up=$(dirname "$3" | sed 's/^\.$//; s,[^/][^/]*,..,g')
    ln -s "../../${up:+$up/}blobs/$blob" "$snapshot/$3"
}

# ref REPO REV COMMIT
ref() {
    mkdir -p "$(dirname "$hub/models--$1/refs/$2")"
    printf %s "$3" >"$hub/models--$1/refs/$2"
}

# manifest HOST/NAMESPACE/MODEL/TAG [FILE]: adds a model to the Ollama store.
manifest() {
    local root=$HOME/.ollama/models file=${2:-$gguf} hex
    hex=$(cksum <"$file" | awk '{ printf "%064x", $1 }')
    mkdir -p "$root/blobs" "$(dirname "$root/manifests/$1")"
    cp "$file" "$root/blobs/sha256-$hex"
    printf '{"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:%s", "size": %d}]}' $hex \
        "$(wc -c <"$file")" >"$root/manifests/$1"
}

# names NAME...: the list has these names, in this order, and there are no messages.
names() {
    try 0 amn list || return 1
    diff <([ $# -eq 0 ] || printf '%s\n' "$@") <(jq -r .name out)
    [ $# -eq 0 ] || is_empty err
}

# --- entries -----------------------------------------------------------------------------------------------------------

# bats test_tags=full
@test "every name in the corpus's stores is an operand, and its description is true" {
    cp -RP "$corpus/stores/ollama" models
    export OLLAMA_MODELS=$dir/models HF_HUB_CACHE=$corpus/stores/hf-cache
    try 0 amn list
    is_empty err
    cp out all
    [ "$(wc -l <all)" -gt 45 ]
    jq -r .name all | LC_ALL=C sort -c
    [ "$(jq -r .name all | sort -u | wc -l)" -eq "$(wc -l <all)" ]
    while read -r line; do
        name=$(printf %s "$line" | jq -r .name)
        if [ "$(printf %s "$line" | jq -r .error)" = null ]; then
            try 0 amn-inspect "$name"
            diff <(printf %s "$line" | jq -c '[.format, .scheme, .scheme_label, .files]') \
                <(jq -c '[.format, .scheme, .scheme_label, .files]' out)
            [ -e "$(printf %s "$line" | jq -r .path)" ]
        else
            amn-inspect --json-errors "$name" 2>err >out && { echo "$name can be read"; return 1; }
            diff <(printf %s "$line" | jq -r .error) <(tail -n 1 err | jq -r .kind)
        fi
    done <all
}

@test "amn-json(5) has every member and its types" {
    put o--x $first model.safetensors "$fx/good-fp8-block-f32.safetensors"
    put o--plain $first model.safetensors "$good"
    put o--gone $first model.safetensors
    rm -r "$hub/models--o--gone/blobs"
    ref o--x main $first
    ref o--plain main $first
    manifest h/library/m/t
    echo '{' >"$HOME/.ollama/models/manifests/h/library/m/broken"
    try 0 amn list
    "$helpers/json-keys" "AMN LIST" <out
}

@test "hf: a revision has one name: none for main, else the first ref, else the commit" {
    put o--x $first model.safetensors "$good"
    ref o--x main $first
    ref o--x v1 $first
    names hf:o/x
    put o--x $second model.safetensors "$fp8"
    names hf:o/x hf:o/x@$second
    ref o--x v3 $second
    ref o--x v2 $second
    names hf:o/x hf:o/x@v2
    ref o--x refs/pr/7 $second
    names hf:o/x hf:o/x@refs/pr/7
    rm "$hub/models--o--x/refs/main"
    names hf:o/x@refs/pr/7 hf:o/x@v1
    ref o--x odd@name $second
    rm -r "$hub/models--o--x"/refs/refs "$hub/models--o--x"/refs/v[23]
    names hf:o/x@$second hf:o/x@v1                      # the last @ of an operand starts the revision
    put gpt2 $first model.safetensors "$good"
    ref gpt2 main "$first
"
    names hf:gpt2 hf:o/x@$second hf:o/x@v1
}

@test "hf: broken refs are ignored" {
    put o--x $first model.safetensors "$good"
    for text in nonsense ../../etc "" $second; do
        ref o--x main "$text"
        names hf:o/x@$first
    done
    head -c 5000000 /dev/zero | tr '\0' a >"$hub/models--o--x/refs/main"
    names hf:o/x@$first
    rm "$hub/models--o--x/refs/main"
    mkfifo "$hub/models--o--x/refs/main" "$hub/models--o--x/refs/slow"
    names hf:o/x@$first
}

@test "hf: other repositories are left out: datasets, spaces, tokenizers, other folders" {
    mkdir -p "$hub/.locks/models--o--x" "$hub/version" "$hub/models--" "$hub/models--o--" "$hub/models--o--x--y" \
        "$hub/models--o--x@y" "$hub/models---o--x" "$hub/models--o--empty/snapshots/$first"
    for kind in datasets spaces; do
        put o--x $first model.safetensors "$good"
        mv "$hub/models--o--x" "$hub/$kind--o--x"
    done
    for file in tokenizer.json config.json README.md model.safetensors.part .hidden.safetensors; do
        put o--words $first $file "$good"
    done
    ref o--words main $first
    mkdir -p "$hub/models--o--words/.no_exist/$first"
    : >"$hub/models--o--words/.no_exist/$first/model.safetensors"
    for odd in short ${first}a "$(echo $first | tr a A)"; do
        put o--odd $odd model.safetensors "$good"
    done
    try 0 amn list
    is_empty out
}

@test "hf: several files: a directory by its own name, further files by their names" {
    put o--both $first model.safetensors "$good"
    put o--both $first pytorch_model.bin "$good"
    put o--both $first training_args.bin "$good"
    names hf:o/both@$first
    put o--both $first other.safetensors "$fp8"
    put o--both $first b.gguf "$gguf"
    put o--both $first a.gguf "$gguf"
    names hf:o/both/a.gguf@$first hf:o/both/b.gguf@$first hf:o/both/other.safetensors@$first hf:o/both@$first
    ref o--both main $first
    names hf:o/both hf:o/both/a.gguf hf:o/both/b.gguf hf:o/both/other.safetensors
    rm -r "$hub/models--o--both"
    put o--gguf $first a.gguf "$gguf"
    ref o--gguf main $first
    names hf:o/gguf
    put o--gguf $first b.gguf "$gguf"
    names hf:o/gguf/a.gguf hf:o/gguf/b.gguf
    for name in $(jq -r .name out); do try 0 amn-inspect $name; done
}

@test "hf: folders in a snapshot" {
    for name in transformer/model.safetensors vae/a.safetensors vae/b.safetensors Q4/deep/x.gguf text/config.json; do
        put o--x $first $name "$good"
    done
    ref o--x main $first
    names hf:o/x/Q4/deep hf:o/x/transformer hf:o/x/vae/a.safetensors hf:o/x/vae/b.safetensors
    for name in $(jq -r .name out); do try 0 amn-inspect $name; done
    ln -s . "$hub/models--o--x/snapshots/$first/loop"
    ln -s ../../.. "$hub/models--o--x/snapshots/$first/up"
    names hf:o/x/Q4/deep hf:o/x/transformer hf:o/x/vae/a.safetensors hf:o/x/vae/b.safetensors
    rm -r "$hub/models--o--x"
    put o--x $first $(printf 'd/%.0s' $(seq 8))model.safetensors "$good"
    put o--y $first $(printf 'd/%.0s' $(seq 9))model.safetensors "$good"
    names hf:o/x/d/d/d/d/d/d/d/d@$first
}

@test "hf: shards and parts of a split model are one line, with their total size" {
    cp -R "$corpus/safetensors-good/index-names-hostile" s 2>/dev/null || cp -R "$fx/good-sharded" s
    for file in "$fx"/good-sharded/*; do put o--sharded $first "$(basename "$file")" "$file"; done
    for file in "$corpus"/gguf-good/nvfp4-scale-split-0000*; do put o--split $first "$(basename "$file")" "$file"; done
    names hf:o/sharded@$first hf:o/split@$first
    [ "$(jq -s '.[0].size' out)" -eq "$(cat "$fx"/good-sharded/*.safetensors | wc -c)" ]
    [ "$(jq -s '.[1].size' out)" -eq "$(cat "$corpus"/gguf-good/nvfp4-scale-split-0000* | wc -c)" ]
    jq -s -e 'map(.files > 1 and .error == null) | all' out
    rm "$hub/models--o--sharded/snapshots/$first"/*index.json
    names hf:o/sharded@$first hf:o/split@$first         # complete by their names
    jq -s -e 'map(.files > 1 and .error == null) | all' out
    rm "$hub/models--o--sharded/snapshots/$first"/*-00001-of-*
    rm "$(ls "$hub/models--o--split/snapshots/$first"/*-00002-of-* | head -n 1)"
    names hf:o/sharded@$first hf:o/split@$first
    jq -s -e 'map(.size == null and .files == null) == [true, true] and map(.error) == ["open", "open"]' out
}

@test "hf: an incomplete download" {
    put o--x $first tokenizer.json
    ref o--x main $first
    names
    : >"$hub/models--o--x/blobs/0123.incomplete"
    names hf:o/x
    jq -e '.error == "open" and .size == null' out
    put o--x $first model.safetensors "$good"
    names hf:o/x
    jq -e '.error == null' out
    rm "$hub/models--o--x"/snapshots/*/*
    names hf:o/x
    put o--y $second model.safetensors "$good"          # its blob is missing
    rm -r "$hub/models--o--y/blobs"
    names hf:o/x hf:o/y@$second
    jq -s -e 'map(.error) == ["open", "open"]' out
}

@test "hf: file names that must be quoted, or cannot be an operand" {
    put o--x $first "a@b.safetensors" "$good"
    put o--x $first "two words.safetensors" "$good"
    put o--x $first "naïve.safetensors" "$good"
    put o--x $first "co:lon.safetensors" "$good"
    put o--x $first $'evil\x1b[2J.safetensors' "$good"
    ref o--x main $first
    names hf:o/x/a@b.safetensors@main "hf:o/x/naïve.safetensors" "hf:o/x/two words.safetensors"
    jq -r .name out | while read -r name; do try 0 amn-inspect "$name"; done
    try 0 amn list --human
    "$helpers/no-controls" out
}

@test "ollama: optional parts of a name are left out" {
    manifest h.example/library/tiny/latest
    manifest h.example/library/tiny/Q4_K
    manifest h.example/alice/Tiny_2.0-x/latest
    manifest other.example/bob/m/latest
    names ollama:alice/Tiny_2.0-x:latest ollama:other.example/bob/m:latest ollama:tiny:Q4_K ollama:tiny:latest
    for name in $(jq -r .name out); do try 0 amn-inspect $name; done
    manifest h.example/library/TINY/latest
    [ "$(ls "$HOME/.ollama/models/manifests/h.example/library" | wc -l)" -eq 1 ] || {       # this file system is case-sensitive
        names ollama:TINY:latest ollama:alice/Tiny_2.0-x:latest ollama:other.example/bob/m:latest ollama:tiny:Q4_K \
            ollama:tiny:latest
        for name in $(jq -r .name out); do try 0 amn-inspect $name; done
    }
    rm -r "$HOME/.ollama/models/manifests/h.example/library/TINY"
    manifest other.example/library/tiny/latest          # now two hosts have library/
    names ollama:h.example/alice/Tiny_2.0-x:latest ollama:h.example/library/tiny:Q4_K ollama:h.example/library/tiny:latest \
        ollama:other.example/bob/m:latest ollama:other.example/library/tiny:latest
    for name in $(jq -r .name out); do try 0 amn-inspect $name; done
}

@test "ollama: files that are not manifests" {
    manifest h/library/m/latest
    root=$HOME/.ollama/models/manifests
    mkdir -p "$root/h/library/m/folder" "$root/h/al.ice/m" "$root/h/library/.hidden"
    : >"$root/.DS_Store"
    : >"$root/h/library/m/.DS_Store"
    : >"$root/h/library/file"
    cp "$root/h/library/m/latest" "$root/h/al.ice/m/latest"
    cp "$root/h/library/m/latest" "$root/h/library/.hidden/latest"
    cp "$root/h/library/m/latest" "$root/h/library/m/odd name"
    names ollama:m:latest
    echo '{' >"$root/h/library/m/broken"
    mkfifo "$root/h/library/m/slow"
    ln -s nowhere "$root/h/library/m/dangling"
    names ollama:m:broken ollama:m:dangling ollama:m:latest ollama:m:slow
    jq -s -e 'map(.error) == ["malformed", "open", null, "open"]' out
}

@test "a pipe or a device in place of a file is not waited for" {
    put o--x $first model.safetensors "$good"
    rm "$hub/models--o--x/snapshots/$first/model.safetensors"
    mkfifo "$hub/models--o--x/snapshots/$first/model.safetensors"
    put o--y $first model.safetensors "$good"
    ln -sf /dev/zero "$hub/models--o--y/snapshots/$first/model.safetensors"
    manifest h/library/m/latest
    rm "$HOME"/.ollama/models/blobs/*
    mkfifo "$HOME/.ollama/models/blobs/sha256-$(cksum <"$gguf" | awk '{ printf "%064x", $1 }')"
    try 0 timeout 20 amn list
    jq -s -e 'map(.error) == ["open", "open", "open"]' out
}

@test "sizes are those of the files, even if compressed; only headers are read" {
    put o--x $first model.safetensors "$good"
    gzip -c "$good" >packed
    put o--y $first model.safetensors.gz packed
    python3 - <<'PY'
from modelfile import write_hole
try:
    write_hole("sparse", [("w", "BF16", [1 << 39], 1 << 40)])
except OSError:
    pass
PY
    put o--z $first README.md
    ln -s "$dir/sparse" "$hub/models--o--z/snapshots/$first/model.safetensors"
    try 0 timeout 60 amn list
    diff <(wc -c <"$good"; wc -c <packed; wc -c <sparse) <(jq .size out)
    jq -s -e 'map(.format == "safetensors") | all' out
}

@test "links to blobs as the Hub's library makes them, blobs shared by revisions: each has its own size" {
    put o--x $first model.safetensors "$good"
    put o--x $second model.safetensors "$good"
    [ "$(ls "$hub/models--o--x/blobs" | wc -l)" -eq 1 ]
    names hf:o/x@$first hf:o/x@$second
    [ "$(jq -s 'map(.size) | add' out)" -eq $((2 * $(wc -c <"$good"))) ]
    jq -r .path out | while read -r path; do [ -d "$path" ]; done
}

# --- format ------------------------------------------------------------------------------------------------------------

@test "a pipe gets JSON, a terminal a table; --json and --human force one" {
    put o--x $first model.safetensors "$fp8"
    ref o--x main $first
    manifest h/library/m/latest
    echo '{' >"$HOME/.ollama/models/manifests/h/library/m/broken"
    try 0 amn list --human
    [ "$(wc -l <out)" -eq 4 ]                           # one line for each model, of any length
    head -n 1 out | grep -qE '^Model +Size  Format +Scheme +Path$'
    grep -qE "^hf:o/x +3\.97 KiB  safetensors  FP8 +$hub/models--o--x/snapshots/$first\$" out
    grep -qE '^ollama:m:broken +-  - +malformed +-$' out
    [ "$(awk '{ print length($0) - length($NF) }' out | sort -u | wc -l)" -eq 1 ]      # the start of the paths
    cp out text
    try 0 env NO_COLOR=1 "$helpers/pty" sh -c 'stty cols 400; exec amn list'
    tr -d '\r' <out | cmp - text
    for width in 80 30 0; do                            # 0: the terminal does not report it
        try 0 "$helpers/pty" sh -c "stty cols $width; exec amn list"        # the paths are below
        [ "$(wc -l <out)" -eq 8 ]
        tr -d '\r' <out | sed -n 2p | grep -qx '    Path'
        tr -d '\r' <out | grep -v '^    ' | awk 'length > 80 { exit 1 } / $/ { exit 1 }'
        tr -d '\r' <out | grep -qx "    $hub/models--o--x/snapshots/$first"
    done
    try 0 "$helpers/pty" amn list --json
    tr -d '\r' <out | jq -s -e length
    diff <(tr -d '\r' <out) <(amn list)
}

@test "problems of a model are reported only with -v" {
    put o--x $first model.safetensors "$fx/bad-hole.safetensors"
    manifest h/library/m/latest
    rm "$HOME"/.ollama/models/blobs/*
    try 0 amn list
    is_empty err
    try 0 amn list -v
    [ "$(wc -l <err)" -eq 2 ]
    grep -qE "^amn list: hf:o/x@$first: note: .*model.safetensors: malformed: tensor b: " err
    grep -qE '^amn list: ollama:m:latest: note: cannot open: .*; download the model with: ollama pull m:latest$' err
    try 0 amn list -qv
    is_empty err
    try 0 amn list -v --json-errors
    jq -s -e 'map(.kind == "note" and .status == null and .tool == "amn list") | all' err
}

@test "limits hold for each model" {
    put o--x $first model.safetensors "$good"
    manifest h/library/m/latest
    try 0 amn list --max-items=1
    jq -s -e 'map(.error) == ["limit", "limit"]' out
    try 0 amn list --max-alloc=1K --human
    grep -q '^hf:.* limit ' out
}

# bats test_tags=full
@test "memory does not grow with the number of models" {
    without_sanitizer
    "$helpers/large" heads 1 model                      # a header of 2 MiB
    peak() {
        kib=$("$peak_memory" amn list --human)
    }
    put o--x $first model.safetensors "$(ls "$dir"/model/*.safetensors)"
    peak
    one=$kib
    for i in $(seq 60); do
        mkdir -p "$hub/models--o--x$i/snapshots/$first"
        ln "$hub"/models--o--x/blobs/* "$hub/models--o--x$i/snapshots/$first/model.safetensors"
    done
    peak
    [ "$(amn list | wc -l)" -eq 61 ]
    [ "$kib" -le $((one + 1024)) ] || { echo "$one KiB for one, $kib KiB for 61"; return 1; }
}

# --- stores and their places -------------------------------------------------------------------------------------------

@test "one store alone, or both by name" {
    put o--x $first model.safetensors "$good"
    manifest h/library/m/latest
    for stores in "hf" "ollama" "ollama hf" "hf hf"; do
        try 0 amn list $stores
        [ "$(jq -r .store out | sort -u | tr '\n' ' ')" = "$(printf '%s\n' $stores | sort -u | tr '\n' ' ')" ]
        is_empty err
    done
    try 2 amn list olama
    grep -q "unknown argument 'olama'; did you mean ollama?" err
    try 2 amn list hf elsewhere
    grep -q "unknown argument 'elsewhere': expected hf, ollama, lmstudio, llama.cpp, comfyui, docker, schemes, dtypes, formats, families or classes, or a directory" err
    try 2 amn list $'\x1b'
    "$helpers/no-controls" err
    try 2 amn list --to f32
    grep -q -- 'amn list has no option --to; it belongs to ' err
}

@test "classes: whether one is known, and the nearest" {
    amn list classes LlamaForCausalLM Qwen3ForCausalLM >out
    jq -se '[.[] | [.name, .like]] == [["LlamaForCausalLM", "llama"], ["Qwen3ForCausalLM", "qwen3"]]' out
    try 69 amn list classes LlamaForCausalML
    grep -q "no built-in family has the class 'LlamaForCausalML'; did you mean .*LlamaForCausalLM" err
    [ "$(amn list classes | jq -r .name | sort)" = "$(amn list families | jq -r .name | sort)" ]
    amn list families --human >out
    grep -Eq '^t5 +[0-9]+ classes +llama.cpp' out
    grep -Eq '^flux +ComfyUI-GGUF' out
    [ "$(awk '$3 ~ /^class/ && !/beside/ { n += $2 } END { print n }' out)" -eq "$(amn list classes | jq -r 'select(.readers | test("llama.cpp,")) | .name' | wc -l)" ]
}

@test "the environment variables, in their order" {
    put o--x $first model.safetensors "$good"
    for at in HF_HUB_CACHE=a HUGGINGFACE_HUB_CACHE=b HF_HOME=c XDG_CACHE_HOME=d; do
        to=$dir/${at#*=}
        case $at in HF_HOME=*) sub=/hub ;; XDG*) sub=/huggingface/hub ;; *) sub= ;; esac
        mkdir -p "$to$sub"
        cp -R "$hub/models--o--x" "$to$sub/models--o--from-${at#*=}"
        try 0 env "${at%=*}=$to" amn list
        jq -r .name out | grep -qx "hf:o/from-${at#*=}@$first"
    done
    try 0 env HF_HUB_CACHE= HF_HOME="$dir/c" XDG_CACHE_HOME="$dir/d" amn list
    grep -q from-c out
    manifest h/library/m/latest
    mv "$HOME/.ollama/models" elsewhere
    try 0 env OLLAMA_MODELS=elsewhere amn list ollama
    jq -e '.name == "ollama:m:latest" and (.path | startswith("elsewhere/blobs/"))' out
}

@test "no models: the message says where they were searched, status 0; a store given by name must exist" {
    try 0 amn list
    is_empty out
    grep -qxF "amn list: warning: no models found (no $hub, no $HOME/.ollama/models)" err
    try 0 amn list -q
    is_empty err
    try 66 amn list hf
    is_empty out
    error_line 'amn list' 'cannot open'
    grep -qF "$hub: " err
    mkdir -p "$hub"
    try 0 amn list
    grep -qxF "amn list: warning: no models found (none in $hub, no $HOME/.ollama/models)" err
    try 0 amn list hf --human
    is_empty out
    grep -qxF "amn list: warning: no models found (none in $hub)" err
    put o--x $first model.safetensors "$good"
    names hf:o/x@$first
    try 66 amn list hf ollama                           # existing models are listed anyway
    jq -e '.name' out
    error_line 'amn list' 'cannot open'
    try 66 env -u HOME amn list ollama
    grep -q 'unknown location of ollama:' err
    try 0 env -u HOME amn list --json-errors
    jq -e '.kind == "warning" and .status == null' err
    mkdir -p "$HOME/.ollama/models"                     # Ollama was installed, and has pulled nothing
    names hf:o/x@$first
}

@test "a folder that cannot be read: the others are listed, then 66" {
    put o--x $first model.safetensors "$good"
    put o--y $first model.safetensors "$good"
    manifest h/library/m/latest
    manifest h/alice/m/latest
    chmod 000 "$hub/models--o--y/snapshots/$first" "$HOME/.ollama/models/manifests/h/alice"
    try 66 bound amn list
    error_line 'amn list' 'cannot open'
    [ "$(jq -r .name out | tr '\n' ' ')" = "hf:o/x@$first hf:o/y@$first ollama:m:latest " ]
    chmod 755 "$HOME/.ollama/models/manifests/h/alice"
    chmod 000 "$hub"
    try 66 bound amn list
    [ "$(jq -r .store out | sort -u)" = ollama ]
}

@test "the store is a file" {
    mkdir -p "$(dirname "$hub")"
    : >"$hub"
    try 66 amn list
    error_line 'amn list' 'cannot open'
}

# --- common behaviour --------------------------------------------------------------------------------------------------

@test "--help, --version, and every option in a page" {
    for o in -h --help; do
        try 0 amn list $o
        grep -q '^Usage: amn list ' out
        refute awk 'length > 80 { print; wide = 1 } END { exit !wide }' out
    done
    try 0 "$helpers/pty" amn list --help=all
    sed -n 's/^  -., --\([a-z-]*\).*/\1/p; s/^      --\([a-z-]*\).*/\1/p' out | sort -u >has
    try 0 amn list --version
    diff <(amn --version | sed 's/^amn/amn list/') out
    for option in $(cat has); do
        grep -qE "Fl (.*, )?-$option( |\$)" "$tests/../man/amn.1" || grep -qE "^\.It .*Fl -$option" "$tests/../man/amn.7"
    done
    [ "$(wc -l <has)" -gt 8 ]
}

@test "an output that fails: 74; a file of a model: 73; a reader that exits" {
    put o--x $first model.safetensors "$good"
    try 74 sh -c 'exec amn list >&-'
    error_line 'amn list' input/output
    cp "$good" before
    try 73 sh -c "exec amn list >>'$(ls "$hub"/models--o--x/blobs/*)'"
    error_line 'amn list' 'cannot create'
    cmp before "$hub"/models--o--x/blobs/*
    { sleep 0.2; amn list 2>err && echo 0 >status || echo $? >status; } | true
    [ "$(cat status)" -eq 141 ]
    is_empty err
    need_full
    for form in --json --human; do
        out=/dev/full try 74 amn list $form
        error_line 'amn list' input/output
    done
    out=/dev/full try 74 amn list --json-errors
    jq -e '.tool == "amn list" and .kind == "io"' err
}

@test "folders of LM Studio, llama.cpp, ComfyUI and Docker Model Runner, and of a directory" {
    unset LLAMA_CACHE COMFYUI_PATH
    local blob
    blob=$HOME/.docker/models/blobs/sha256
    mkdir -p $HOME/.lmstudio/models/pub/repo $HOME/.cache/llama.cpp $HOME/ComfyUI/models/unet $blob own/dir
    cp "$gguf" $HOME/.lmstudio/models/pub/repo/a.gguf
    cp "$gguf" $HOME/.cache/llama.cpp/b.gguf
    cp "$good" $HOME/ComfyUI/models/unet/c.safetensors
    echo readme >$HOME/ComfyUI/models/unet/put_models_here
    cp "$gguf" $blob/$(printf 'a%.0s' {1..64})
    echo '{}' >$blob/$(printf 'b%.0s' {1..64})
    echo '{}' >own/dir/config.json
    cp "$good" own/dir/model.safetensors
    cp "$good" own/single.safetensors
    ln -s .. own/dir/up
    [ "$(amn list | jq -r .store | paste -sd ' ')" = 'lmstudio llama.cpp comfyui docker' ]
    [ "$(amn list comfyui docker | jq -r .path | sed 's,.*/,,' | cut -c1-5 | paste -sd ' ')" = 'c.saf aaaaa' ]
    [ "$(amn list own | jq -c '[.name, .store]' | paste -sd ' ')" = '["own/dir","dir"] ["own/single.safetensors","dir"]' ]
    [ "$(LLAMA_CACHE=$HOME/none amn list llama.cpp 2>&1)" = 'amn list: cannot open: no folder of llama.cpp; its places are listed under ENVIRONMENT in amn(7)' ]
    amn list --human lmstudio | grep -qE '^pub/repo/a.gguf +[0-9.]+ KiB|^pub/repo/a.gguf +[0-9]+ bytes'
    try 2 amn list lmstudio none/
    while read -r name; do amn inspect "$name" >/dev/null; done < <(amn list | jq -r .name)
}
