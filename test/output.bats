#!/usr/bin/env bats
# Where the output goes: -o, standard output, a terminal; and that it is never the input.
load helper

@test "-o: the same bytes as on stdout, nothing else is left, - is stdout" {
    for f in good-fp8-wide.safetensors good-gguf.gguf; do
        try 0 amn-remember "$fx/$f"
        cp out expected
        try 0 amn-remember -o new "$fx/$f"
        is_empty out
        cmp new expected
        cat "$fx/$f" | try 0 amn-remember --output=new
        cmp new expected
        try 0 amn-remember --sync -o new "$fx/$f"
        cmp new expected
        only new expected
        try 0 amn-remember -o - "$fx/$f"
        cmp out expected
    done
}

@test "-o: a new file has the permissions of the umask, a replaced one keeps its own" {
    (umask 022; amn-remember -o new "$fx/good-plain.safetensors")
    [ "$(mode_of new)" = -rw-r--r-- ]
    (umask 027; amn-remember -o other "$fx/good-plain.safetensors")
    [ "$(mode_of other)" = -rw-r----- ]
    printf old >kept
    chmod 604 kept
    amn-remember -o kept "$fx/good-plain.safetensors"
    [ "$(mode_of kept)" = -rw----r-- ]
}

@test "-o: a failure leaves the old file and nothing else" {
    printf old >old
    try 65 amn-remember -o old "$fx/bad-hole.safetensors"
    try 65 amn-remember -o old - <"$fx/bad-scale-missing.safetensors"
    # Faults that only the end of a pipe shows, when much is written already.
    head -c 1500000 "$fx/good-fp8-wide.safetensors" | try 65 amn-remember -o old
    cat "$fx/bad-tail.safetensors" | try 65 amn-remember -o old
    try 69 amn-remember -o old "$fx/unsupported-exl3.safetensors"
    [ "$(cat old)" = old ]
    only old
    rm old
    head -c 1500000 "$fx/good-fp8-wide.safetensors" | try 65 amn-remember -o old
    only
}

@test "-o: SIGTERM, SIGINT and SIGHUP leave the old file and nothing else" {
    printf old >old
    for s in "TERM 143" "INT 130" "HUP 129"; do
        set -- $s
        for f in good-fp8-wide.safetensors good-fp8-wide-late.safetensors good-gguf-k.gguf; do
            try "$2" "$helpers/stall" "$1" "$fx/$f" amn-remember -o old
            [ "$(cat old)" = old ]
            only old
        done
    done
}

@test "-o: the file does not show under its name before it is complete" {
    mkfifo slow
    amn-remember -o new slow &
    exec 8>slow
    head -c 1500000 "$fx/good-fp8-wide.safetensors" >&8
    [ ! -e new ]
    tail -c +1500001 "$fx/good-fp8-wide.safetensors" >&8
    exec 8>&-
    wait $!
    amn-remember "$fx/good-fp8-wide.safetensors" | cmp - new
}

@test "-o: with standard error closed, what is said there does not get into the file" {
    amn-remember "$fx/good-fp8-wide.safetensors" >expected
    "$helpers/stall" 0 "$fx/good-fp8-wide.safetensors" sh -c 'exec amn-remember -v --progress=always -o new 2>&-'
    cmp new expected
    "$helpers/stall" USR1 "$fx/good-fp8-wide.safetensors" sh -c 'exec amn-remember -o new 2>&-'
    cmp new expected
}

@test "-o through a symbolic link replaces what it points to" {
    printf old >target
    ln -s target link
    try 0 amn-remember -o link "$fx/good-plain.safetensors"
    [ -L link ]
    cmp target "$fx/good-plain.safetensors"
    ln -s nothing dangling
    try 73 amn-remember -o dangling "$fx/good-plain.safetensors"
    [ -L dangling ]
    only target link dangling
}

@test "-o: folders that are not there, or are no place for a file: 73" {
    mkdir folder
    try 73 amn-remember -o folder "$fx/good-plain.safetensors"
    try 73 amn-remember -o folder/ "$fx/good-plain.safetensors"
    try 73 amn-remember -o none/file "$fx/good-plain.safetensors"
    touch plain
    try 73 amn-remember -o plain/file "$fx/good-plain.safetensors"
    error_line amn-remember 'cannot create'
    [ -z "$(ls -A folder)" ]
}

@test "an output that is an input is refused: 73, the input stays" {
    cp "$fx/good-fp8-row-f32.safetensors" input
    cp input copy
    ln input hard
    ln -s input soft
    mkdir sub
    for o in input hard soft ./input sub/../input; do
        try 73 amn-remember -o "$o" input
        error_line amn-remember 'cannot create'
        cmp input copy
        try 73 amn-remember -o "$o" - <input
        cmp input copy
    done
    try 73 amn-remember -o input soft
    cmp input copy
    out=/dev/null
    only input copy hard soft sub
}

@test "a redirected output that is an input is refused: 73, the input stays" {
    cp "$fx/good-fp8-row-f32.safetensors" input
    cp input copy
    ln input hard
    for o in input hard; do
        got=0
        amn-remember input >>"$o" 2>err || got=$?
        [ $got -eq 73 ]
        error_line amn-remember 'cannot create'
        cmp input copy
        got=0
        amn-remember - <input 1<>"$o" 2>err || got=$?
        [ $got -eq 73 ]
        cmp input copy
    done
}

# is_input FILE JOB...: FILE, by whatever name, is no output for the job amn-remember JOB...; it stays as it is.
is_input() {
    local file=$1 name got
    shift
    rm -f hard soft saved
    cp -p "$file" saved
    ln "$file" hard
    ln -s "$file" soft
    for name in "$file" hard soft; do
        try 73 amn-remember -o "$name" "$@"
        error_line amn-remember 'cannot create'
        grep -q 'the output is this input' err
        cmp "$file" saved
        got=0
        amn-remember "$@" >>"$name" 2>err || got=$?
        [ $got -eq 73 ] || { echo "status $got: $name"; return 1; }
        grep -q 'the output is this input' err
        cmp "$file" saved
    done
    rm hard soft saved
}

@test "an output that is any file of the input is refused: shards, index, config.json" {
    cp -r "$fx/good-sharded" model
    echo '{}' >model/config.json
    for f in model-00001-of-00002.safetensors model-00002-of-00002.safetensors model.safetensors.index.json config.json; do
        is_input model/$f model
        is_input model/$f model/model.safetensors.index.json
    done
    mkdir single
    cp "$fx/good-plain.safetensors" single/model.safetensors
    echo '{}' >single/config.json
    is_input "$PWD/single/config.json" single
    cp "$corpus"/gguf-good/split-0000* .
    is_input split-00003-of-00003.gguf split-00001-of-00003.gguf
    only model single split-0000{1,2,3}-of-00003.gguf
}

@test "an output that is a file of a local store is refused: manifest, ref, blob" {
    cp -RP "$corpus/stores/ollama" models
    chmod -R u+w models
    export OLLAMA_MODELS=$dir/models
    is_input "$(find models/manifests -path '*/library/tiny/latest')" ollama:tiny
    mkdir -p hub/models--a--b/refs hub/models--a--b/snapshots/0123456789abcdef0123456789abcdef01234567
    echo 0123456789abcdef0123456789abcdef01234567 >hub/models--a--b/refs/main
    cp "$fx/good-plain.safetensors" hub/models--a--b/snapshots/0123456789abcdef0123456789abcdef01234567/model.safetensors
    export HF_HUB_CACHE=$dir/hub
    is_input hub/models--a--b/refs/main hf:a/b
    is_input hub/models--a--b/snapshots/*/model.safetensors hf:a/b
}

@test "an output that is standard input read from another offset is refused" {
    { printf 'before'; cat "$fx/good-plain.safetensors"; } >input
    cp input copy
    remember_rest() { (head -c 6 >/dev/null; exec amn-remember "$@"); }
    try 73 remember_rest -o input <input
    cmp input copy
}

@test "appending to another file appends" {
    printf 'before' >file
    amn-remember "$fx/good-plain.safetensors" >>file
    [ "$(head -c 6 file)" = before ]
    tail -c +7 file | cmp - "$fx/good-plain.safetensors"
    (printf 'before'; amn-remember "$fx/good-plain.safetensors") >again
    cmp file again
}

@test "no binary data to a terminal, unless -f" {
    try 2 "$helpers/pty" amn-remember "$fx/good-plain.safetensors"
    grep -q 'terminal' out
    refute grep -q 'data_offsets' out
    for o in -f --force; do
        try 0 "$helpers/pty" amn-remember $o "$fx/good-plain.safetensors"
        grep -aq 'data_offsets' out
    done
    try 0 "$helpers/pty" amn-remember --size "$fx/good-plain.safetensors"
    try 0 "$helpers/pty" amn-remember -o file "$fx/good-plain.safetensors"
    cmp file "$fx/good-plain.safetensors"
}
