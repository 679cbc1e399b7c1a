#!/usr/bin/env bats
# Outputs: -o, standard output, a terminal; and an output is never the input.
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
    # Faults at the end of a pipe, when much is written already.
    head -c 1500000 "$fx/good-fp8-wide.safetensors" | try 65 amn-remember -o old
    cat "$fx/bad-tail.safetensors" | try 65 amn-remember -o old
    try 69 amn-remember -o old "$fx/unsupported-exl3.safetensors"
    [ "$(cat old)" = old ]
    only old
    rm old
    head -c 1500000 "$fx/good-fp8-wide.safetensors" | try 65 amn-remember -o old
    only
}

# bats test_tags=full
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

@test "-o: the file does not appear under its name until it is complete" {
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

@test "-o: if standard error is closed, messages do not get into the file" {
    amn-remember "$fx/good-fp8-wide.safetensors" >expected
    "$helpers/stall" 0 "$fx/good-fp8-wide.safetensors" sh -c 'exec amn-remember -v --progress=always -o new 2>&-'
    cmp new expected
    "$helpers/stall" USR1 "$fx/good-fp8-wide.safetensors" sh -c 'exec amn-remember -o new 2>&-'
    cmp new expected
}

@test "-o through a symbolic link replaces its target" {
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

@test "-o: missing folders, or paths through files: 73" {
    try 73 amn-remember -o none/file "$fx/good-plain.safetensors"
    touch plain
    try 73 amn-remember -o plain/file "$fx/good-plain.safetensors"
    error_line amn-remember 'cannot create'
}

@test "an output that is an input is refused: 73, the input is unchanged" {
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

@test "a redirected output that is an input is refused: 73, the input is unchanged" {
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

@test "a report that would go into a file of the input is refused: 73, the input is unchanged" {
    cp -r "$fx/good-sharded" model
    cp "$fx/good-fp8-row-f32.safetensors" input
    for report in amn-parse amn-inspect 'amn-remember --size'; do
        for o in input model/model.safetensors.index.json model/*-00002-of-*; do
            cp "$o" copy
            got=0
            $report "$([ "$o" = input ] && echo input || echo model)" >>"$o" 2>err || got=$?
            [ $got -eq 73 ] || { echo "status $got: $report >>$o"; return 1; }
            grep -q 'the output would overwrite this input' err
            cmp "$o" copy
        done
        $report input >>other
    done
}

# is_input FILE JOB...: FILE, by any name, is refused as an output of the job amn-remember JOB... and is unchanged.
is_input() {
    local file=$1 name got tool=${tool:-amn-remember}
    shift
    rm -f hard soft saved
    cp -p "$file" saved
    ln "$file" hard
    ln -s "$file" soft
    for name in "$file" hard soft; do
        try 73 $tool -o "$name" "$@"
        error_line "${tool%% *}" 'cannot create'
        grep -Eq 'the output would overwrite this input|Not a directory' err
        cmp "$file" saved
        got=0
        $tool "$@" >>"$name" 2>err || got=$?
        [ $got -eq 73 ] || { echo "status $got: $name"; return 1; }
        grep -q 'the output would overwrite this input' err
        cmp "$file" saved
    done
    rm hard soft saved
}

# bats test_tags=full
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
    tool="amn-convert --to gguf" is_input split-00003-of-00003.gguf split-00001-of-00003.gguf
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
    is_input hub/models--a--b/refs/main hf:a/b/model.safetensors
    is_input hub/models--a--b/snapshots/*/model.safetensors hf:a/b/model.safetensors
}

@test "an output that is standard input at another offset is refused" {
    { printf 'before'; cat "$fx/good-plain.safetensors"; } >input
    cp input copy
    remember_rest() { (head -c 6 >/dev/null; exec amn-remember "$@"); }
    try 73 remember_rest -o input <input
    cmp input copy
}

@test "-o: an empty name is a usage error" {
    try 2 amn-remember -o '' "$fx/good-plain.safetensors"
    grep -q '^amn-remember: usage: ' err
    is_empty out
    only
}

@test "-o: setuid, setgid and sticky bits of a file are not passed to its replacement" {
    for mode in 4755 2755 1644 7777; do
        printf old >old
        chmod $mode old
        try 0 amn-remember -o old "$fx/good-plain.safetensors"
        [ "$(stat -c %a old)" = ${mode#?} ]
    done
}

@test "-o: /dev/stdout and other names of a descriptor are written in place" {
    for name in /dev/stdout /dev/fd/1 /proc/self/fd/1; do
        [ -e $name ] || skip "no $name here"
        printf 'before' >file
        ln -f file hard
        amn-remember -o $name "$fx/good-plain.safetensors" >>file
        [ "$(head -c 6 file)" = before ]
        tail -c +7 file | cmp - "$fx/good-plain.safetensors"
        cmp file hard
        (printf 'before'; amn-remember -o $name "$fx/good-plain.safetensors"; printf after) >again
        [ "$(tail -c 5 again)" = after ]
        head -c -5 again | cmp - file
        amn-remember -n -o $name "$fx/good-plain.safetensors" | cmp - "$fx/good-plain.safetensors"
        cp "$fx/good-plain.safetensors" input
        got=0
        amn-remember -o $name input >>input 2>err || got=$?
        [ $got -eq 73 ]
        cmp input "$fx/good-plain.safetensors"
        rm file hard again
    done
    (printf 'before'; amn-remember -o /dev/stderr "$fx/good-plain.safetensors" 2>&1) >file
    tail -c +7 file | cmp - "$fx/good-plain.safetensors"
    ln -s /dev/fd/5 link
    amn-remember -o link "$fx/good-plain.safetensors" 5>third
    cmp third "$fx/good-plain.safetensors"
    [ -L link ]
    try 73 amn-remember -o /dev/fd/7 "$fx/good-plain.safetensors" 7<&-
    try 73 amn-remember -o /dev/stdin "$fx/good-plain.safetensors" <file
    try 73 amn-remember -o /dev/fd/3 "$fx/good-plain.safetensors" 3<&-      # a new file by then
    amn-remember -o >(cat >through) "$fx/good-plain.safetensors"
    wait $!
    cmp through "$fx/good-plain.safetensors"
}

@test "-o: the name of a closed descriptor is refused: 73" {
    for o in /dev/stdin /dev/fd/0 /dev/stdout /dev/stderr; do
        closed() { amn-remember -o "$o" "$fx/good-plain.safetensors" <&- >&- 2>&-; }
        got=0
        closed || got=$?
        [ $got -eq 73 ] || { echo "status $got: $o"; return 1; }
    done
}

@test "-n: an existing file is not overwritten, and the input is not even opened" {
    printf old >old
    ln -s old link
    mkfifo nobody
    for name in old link; do
        for o in -n --no-clobber; do
            try 73 timeout 20 amn-remember $o -o $name nobody
            error_line amn-remember 'cannot create'
        done
    done
    [ "$(cat old)" = old ]
    try 0 amn-remember -n -o new "$fx/good-plain.safetensors"
    cmp new "$fx/good-plain.safetensors"
    try 0 amn-remember -n "$fx/good-plain.safetensors"
    try 0 amn-remember -n -o - "$fx/good-plain.safetensors"
    cmp out new
    try 0 amn-remember -n -o /dev/null "$fx/good-plain.safetensors"        # nothing is overwritten
    try 0 amn-remember -n -o old --size "$fx/good-plain.safetensors"
    only old link nobody new
}

@test "-n: a file that appears during the job is not overwritten either" {
    mkfifo slow
    amn-remember -n -o new slow 2>err &
    exec 8>slow
    head -c 1500000 "$fx/good-fp8-wide.safetensors" >&8
    printf other >new
    tail -c +1500001 "$fx/good-fp8-wide.safetensors" >&8
    exec 8>&-
    got=0
    wait $! || got=$?
    [ $got -eq 73 ]
    error_line amn-remember 'cannot create'
    [ "$(cat new)" = other ]
    only new slow
}

# blames STATUS NAME TEXT JOB...: the one error line is about NAME, whatever the input is called.
blames() {
    local status=$1 name=$2 text=$3
    shift 3
    try "$status" "$@" || return 1
    [ "$(wc -l <err)" -eq 1 ] && grep -qF -e ": $name: $text" err || { echo "no '$name: $text' in:"; cat err; return 1; }
}

@test "an error of the output names the output, not the input" {
    f=$fx/good-plain.safetensors
    ln -s nothing dangling
    touch old
    blames 73 none/new "cannot create: No such file" amn-remember -o none/new "$f"
    blames 73 dangling "cannot create: dangling symbolic link" amn-remember -o dangling "$f"
    blames 73 old/new "cannot create: Not a directory" amn-remember -o old/new "$f"
    blames 73 old "cannot create: not overwritten (-n): File exists" amn-remember -n -o old "$f"
    blames 73 /dev/fd/7 "cannot create: not open for writing" amn-remember -o /dev/fd/7 "$f"
    limited() { (ulimit -f 100; exec "$@"); }
    blames 74 new "input/output: " limited amn-remember -o new "$fx/good-fp8-wide.safetensors"
    grep -q 'File too large' err
    cat "$fx/good-fp8-wide.safetensors" | blames 74 old "input/output: " limited amn-remember -o old
    [ ! -s old ]
    try 74 limited amn-remember --json-errors -o new "$fx/good-fp8-wide.safetensors"
    jq -e '.file == "new" and .kind == "io"' err
    evil=$(printf 'x\033[2K\ny')
    try 73 amn-remember -o "none/$evil" "$f"
    [ "$(wc -l <err)" -eq 1 ]
    "$helpers/no-controls" err
}

@test "an error of standard output names standard output" {
    need_full
    f=$fx/good-plain.safetensors
    out=/dev/full
    for job in amn-remember amn-inspect amn-parse 'amn-inspect --human' 'amn-parse --human' 'amn-remember --size' \
        'amn-remember --plan' 'amn-remember --parts --part-size 100' 'amn-parse --version' 'amn-inspect --help'; do
        blames 74 '(standard output)' 'input/output: write failed: No space left on device' $job "$f"
    done
    blames 74 /dev/full 'input/output: write failed: No space left on device' amn-remember -o /dev/full "$f"
    cat "$f" | blames 74 '(standard output)' 'input/output: write failed' amn-remember
    closed() { "$@" >&-; }
    unset out
    blames 73 '(standard output)' 'cannot create: not open for writing' closed amn-remember "$f"
}

@test "--sync: the file is flushed before it is renamed, the folder afterwards" {
    need_strace
    mkdir sub
    for name in new sub/new "$PWD/sub/new"; do
        try 0 strace -y -o trace amn-remember --sync -o $name "$fx/good-plain.safetensors"
        folder=$(cd "$(dirname $name)" && pwd)
        grep -oE '^(fsync|rename).*' trace >calls
        [ "$(wc -l <calls)" -eq 3 ]
        sed -n 1p calls | grep -q "^fsync.*/\.new\.amn-......>"
        sed -n 2p calls | grep -q '^rename'
        sed -n 3p calls | grep -qF "<$folder>"
    done
}

# bats test_tags=full
@test "a storm of signals: the old file or the complete new one, and nothing else is left" {
    "$tests/signals.py" "$AMN_BIN" "$fx" 100
}

@test "-v never fails a job that is complete" {
    for f in "$corpus"/gguf-good/nvfp4-scale-values.gguf; do
        cp $f input
        try 0 "$helpers/held" 'test -e new && : >input' amn-remember -v --to f16 -o new input
        grep -q 'overflow F16' err
        grep -q 'note: cannot check the scales' err
        try 0 amn-remember --to f16 -o again $f
        cmp new again
    done
}

@test "appending to another file appends" {
    printf 'before' >file
    amn-remember "$fx/good-plain.safetensors" >>file
    [ "$(head -c 6 file)" = before ]
    tail -c +7 file | cmp - "$fx/good-plain.safetensors"
    (printf 'before'; amn-remember "$fx/good-plain.safetensors") >again
    cmp file again
}

# bats test_tags=full
@test "no binary data to a terminal, unless -f" {
    try 2 "$helpers/pty" amn-remember "$fx/good-plain.safetensors"
    grep -q 'terminal' out
    refute grep -q 'data_offsets' out
    for o in -f --force; do
        try 0 "$helpers/pty" amn-remember $o "$fx/good-plain.safetensors"
        grep -aq 'data_offsets' out
    done
    for o in /dev/tty /dev/stdout /dev/stderr /dev/fd/1 /proc/self/fd/1; do
        try 2 "$helpers/pty" amn-remember -o $o "$fx/good-plain.safetensors"
        grep -q 'terminal' out
        refute grep -q 'data_offsets' out
        try 0 "$helpers/pty" amn-remember -f -o $o "$fx/good-plain.safetensors"
        grep -aq 'data_offsets' out
    done
    try 2 "$helpers/pty" sh -c 'amn-remember -o /dev/tty "$0" >/dev/null' "$fx/good-plain.safetensors"
    try 0 "$helpers/pty" sh -c 'amn-remember -o /dev/stdout "$0" >file' "$fx/good-plain.safetensors"
    cmp file "$fx/good-plain.safetensors"
    try 0 "$helpers/pty" amn-remember --size "$fx/good-plain.safetensors"
    try 0 "$helpers/pty" amn-remember -o file "$fx/good-plain.safetensors"
    cmp file "$fx/good-plain.safetensors"
}

@test "-v reports the length and the CRC-32 of the output, whatever wrote it" {
    for options in '-j1' '-j3' '--direct=always' '--range 1000-1500000' '--part 2/3'; do
        try 0 amn-remember -v $options -o made "$fx/good-fp8-wide.safetensors"
        crc=$(python3 -c 'import sys, zlib; print("%08x" % zlib.crc32(open("made", "rb").read()))')
        grep -q " dequantized; $(wc -c <made | tr -d ' ')\( of 3135797\)* bytes (.*) written in .*, CRC-32 $crc$" err || { cat err; echo "$options: $crc"; return 1; }
    done
    refute grep -q CRC made
}

@test "--report: no file of the report is the output or an input, by any name" {
    "$helpers/weights" in.safetensors a.weight=BF16:64x128
    "$helpers/weights" saved a.weight=BF16:64x128
    echo '{"a": "b"}' >keys.json
    forget() { amn-forget -q --scheme q8_0 "$@"; }
    ln -s out.gguf soft
    for o in out.gguf "$PWD/out.gguf" ./out.gguf; do
        try 73 forget --report $o -o out.gguf in.safetensors
        error_line amn-forget 'cannot create'
        only in.safetensors saved soft keys.json
    done
    printf old >out.gguf
    ln out.gguf hard
    for o in out.gguf soft hard ../"$(basename "$PWD")"/out.gguf; do
        try 73 forget --report $o -o out.gguf in.safetensors
        try 73 forget --report out.gguf -o $o in.safetensors
        [ "$(cat out.gguf)" = old ]
    done
    for o in in.safetensors keys.json; do
        try 73 forget --report $o --gguf-metadata keys.json -o new.gguf in.safetensors
        grep -q 'this input' err
        cmp in.safetensors saved
    done
    try 73 amn-convert -q --scheme q8_0 --report out-00001-of-00001.gguf --shard-size 1M -o out.gguf in.safetensors
    got=0
    amn-forget -q --scheme q8_0 --report hard in.safetensors >out.gguf 2>err || got=$?
    [ $got -eq 73 ]
    got=0
    amn-forget -q --scheme q8_0 --report /dev/stdout in.safetensors 2>err | wc -c >n || got=$?
    grep -q 'the same file' err
    [ "$(cat n)" -eq 0 ]
    try 0 forget --report /dev/null -o /dev/null in.safetensors
    only in.safetensors saved soft hard out.gguf keys.json n
}

# bats test_tags=full
@test "a file of the input that gets the name of an output during the job is not overwritten" {
    "$helpers/weights" in.safetensors a.weight=BF16:1024x1024
    mkfifo slow
    for name in report out.gguf; do
        rm -f report out.gguf
        echo '{"a": "b"}' >keys.json
        amn-forget -q --scheme q8_0 --gguf-metadata keys.json --report report -o out.gguf slow 2>err &
        exec 8>slow
        head -c 1500000 in.safetensors >&8
        for i in $(seq 100); do ls -A | grep -q '[.]out.gguf[.]amn-' && break; sleep 0.1; done
        mv keys.json $name
        tail -c +1500001 in.safetensors >&8
        exec 8>&-
        got=0
        wait $! || got=$?
        [ $got -eq $([ $name = report ] && echo 74 || echo 73) ]
        grep -q 'this input' err
        [ "$(cat $name)" = '{"a": "b"}' ]
        [ $name = report ] || [ ! -e report ]
    done
    only in.safetensors slow out.gguf
}

@test "--report: if only the report fails, the status is 74, and the output is complete" {
    need_full
    "$helpers/weights" in.safetensors a.weight=BF16:64x128
    amn-forget -q --scheme q8_0 -o whole.gguf in.safetensors
    try 74 amn-forget -q --scheme q8_0 --report /dev/full -o out.gguf in.safetensors
    error_line amn-forget 'input/output'
    grep -q 'the output is complete, but the report is not' err
    cmp whole.gguf out.gguf
    try 74 amn-forget -q --scheme q8_0 --report /dev/full --test in.safetensors
    refute grep -q 'complete' err
    try 74 amn-convert -q --scheme q8_0 --report /dev/full --shard-size 1M -o s.gguf in.safetensors
    cmp whole.gguf s-00001-of-00001.gguf || [ -s s-00001-of-00001.gguf ]
    try 73 amn-forget -q --scheme q8_0 --report no/such -o new.gguf in.safetensors
    [ ! -e new.gguf ]
}

# killed_at FIFO COMMAND...: kills it once its temporary file exists.
killed_at() {
    local fifo=$1 pid
    shift
    rm -f "$fifo"
    mkfifo "$fifo"
    "$@" <"$fifo" &
    pid=$!
    exec 8>"$fifo"
    head -c 1500000 "$fx/good-fp8-wide.safetensors" >&8
    for i in $(seq 100); do ls -A | grep -q '[.]amn-' && break; sleep 0.1; done
    kill -KILL $pid
    wait $pid || :
    exec 8>&-
    rm "$fifo"
}

@test "temporary files of a killed job are removed by the next one, and nothing else" {
    killed_at slow amn-remember -o new
    [ "$(ls -A | grep -c '^[.]new[.]amn-......$')" -eq 1 ]
    touch .new.backup .new.aB3dE6 .new.amn-backups .new.amn- .new2.amn-aB3dE6 .other.amn-aB3dE6 new.amn-aB3dE6 .new.amn-aB3d.6
    mkdir .new.amn-folder
    ln -s .new.backup .new.amn-symlnk
    cp "$fx/good-plain.safetensors" in
    ls -A | grep -vE '^[.]new[.]amn-[A-Za-z0-9]{6}$' >before
    ls -Ad .new.amn-folder .new.amn-symlnk >>before
    try 0 amn-remember -o new in
    rm err out
    ls -A | sort | diff <(printf 'new\nbefore\n' | cat - before | grep -vx 'out\|err' | sort -u) -
    cmp new in
}

@test "two jobs with one output: neither removes the file of the other" {
    mkfifo slow
    amn-remember -o new <slow &
    exec 8>slow
    head -c 1500000 "$fx/good-fp8-wide.safetensors" >&8
    for i in $(seq 100); do ls -A | grep -q '[.]amn-' && break; sleep 0.1; done
    left=$(ls -A | grep '[.]amn-')
    try 0 amn-remember -o new "$fx/good-plain.safetensors"
    cmp new "$fx/good-plain.safetensors"
    [ "$(ls -A | grep '[.]amn-')" = "$left" ]
    tail -c +1500001 "$fx/good-fp8-wide.safetensors" >&8
    exec 8>&-
    wait $!
    amn-remember "$fx/good-fp8-wide.safetensors" | cmp - new
    only new slow
}
