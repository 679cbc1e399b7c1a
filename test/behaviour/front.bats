#!/usr/bin/env bats
# The front end: amn VERB, like git, and amn help.
load helper

tools="parse inspect remember"

# A tool that prints its arguments, one a line, as FOLDER/NAME.
fake() {
    mkdir -p "$(dirname "$1")"
    printf '#!/bin/sh\nprintf "%%s\\n" "$@"\n' >"$1"
    chmod +x "$1"
}

# An installed suite: p/bin with the contents of BIN, p/share/man with the pages.
install_suite() {
    mkdir -p p/bin p/share/man/man1 p/share/man/man5 p/share/man/man7 p/share/amn
    cp -R "$AMN_BIN"/amn* p/bin/
    for page in "$tests"/../man/*.[157]; do cp "$page" p/share/man/man${page##*.}/; done
}

# Adds the page texts, as `make rendered` makes them.
install_texts() {
    install_suite
    cp "${AMN_OBJ:-$tests/../obj}"/man/*.txt p/share/amn/ || skip "nothing here renders manual pages"
}

# bare COMMAND...: with a PATH of one folder that contains only files made by the test.
bare() {
    mkdir -p only
    /usr/bin/env -u MANPAGER -u PAGER PATH="$PWD/only" "$@"
}

# A command in a terminal, without PATH.
a_terminal() {
    echo "$(python3 -c 'import sys; print(sys.executable)') $helpers/pty"
}

# --- verbs -------------------------------------------------------------------------------------------------------------

@test "amn VERB is amn-VERB: same bytes, same status" {
    for f in good-fp8-block-f32.safetensors good-gguf.gguf; do
        for verb in $tools; do
            try 0 amn-$verb "$fx/$f"
            cp out expected
            try 0 amn $verb "$fx/$f"
            cmp out expected
        done
    done
    try 65 amn parse "$fx/bad-hole.safetensors"
    error_line 'amn parse' malformed
    cat "$fx/good-gguf.gguf" | try 0 amn remember --size
    try 2 amn remember --nonsense
}

@test "the aliases: amn-info, amn-dequantize" {
    try 0 amn-inspect "$fx/good-gguf.gguf"
    cp out expected
    try 0 amn-info "$fx/good-gguf.gguf"
    cmp out expected
    try 0 amn info "$fx/good-gguf.gguf"
    cmp out expected
    try 0 amn-remember "$fx/good-gguf.gguf"
    cp out expected
    try 0 amn-dequantize "$fx/good-gguf.gguf"
    cmp out expected
}

@test "amn alone, help, --help: the verbs, in 80 columns" {
    for words in '' help -h --help; do
        try 0 amn $words
        for verb in $tools list help; do grep -qE "^  amn $verb[ ,]" out; done
        grep -q 'inspect, info' out
        grep -q 'remember, dequantize' out
        is_empty err
        refute awk 'length > 80 { print; wide = 1 } END { exit !wide }' out
    done
}

@test "other programs amn-* are verbs, and are listed" {
    try 0 env PATH=/nonexistent "$AMN_BIN/amn"
    refute grep -q 'Other commands' out
    fake more/amn-frob
    fake more/amn-9lives-x
    for not in amn-Loud amn-under_score amn- amn-parse amn-info amn-help amn-list; do fake more/$not; done
    echo not a program >more/amn-text
    mkdir more/amn-folder
    fake again/amn-frob
    PATH=$PWD/more:$PWD/again:$PATH
    for words in '' help; do
        try 0 amn $words
        grep -qx 'Other commands in PATH: 9lives-x frob' out
    done
    try 0 amn frob -x 'two words' ''
    printf '%s\n' -x 'two words' '' | cmp - out
    try 2 amn Loud
    try 2 amn under_score
    try 2 amn folder
    try 2 amn text
    try 2 amn frbo
    grep -q "unknown command 'frbo'; did you mean frob?" err
    try 0 amn list hf --help                            # not more/amn-list
    grep -q '^Usage: amn list' out
}

@test "a program of many verbs: their list has 80 columns" {
    for i in $(seq 1000 1040); do fake more/amn-verb-$i; done
    PATH=$PWD/more:$PATH try 0 amn
    grep -q 'verb-1040' out
    refute awk 'length > 80 { print; wide = 1 } END { exit !wide }' out
}

@test "a verb keeps its status, and its signal" {
    mkdir more
    printf '#!/bin/sh\nexit 42\n' >more/amn-exits
    printf '#!/bin/sh\nkill -TERM $$\n' >more/amn-dies
    echo 'echo no first line' >more/amn-bare
    chmod +x more/*
    PATH=$PWD/more:$PATH
    try 42 amn exits
    try 143 amn dies
    try 0 amn bare
    grep -qx 'no first line' out
    printf '#!/no/such/shell\n' >more/amn-broken
    chmod +x more/amn-broken
    try 66 amn broken
    error_line amn 'cannot open'
}

@test "amn --version" {
    for o in -V --version; do
        try 0 amn $o
        grep -qE '^amn [0-9]+\.[0-9]+\.[0-9]+$' out
    done
    diff <(amn --version | sed 's/^amn/amn-parse/') <(amn-parse --version)
}

# asks WORDS COMMAND...: status 2, and the first line ends with these words.
asks() {
    local words=$1
    shift
    try 2 "$@" || return 1
    is_empty out && head -n 1 err | grep -qE -- "^amn: usage: .*$words\$" && [ "$(wc -l <err)" -eq 1 ] ||
        { echo "not '$words':"; cat err; return 1; }
}

@test "an unknown verb: status 2, the nearest ones, without control characters" {
    asks "unknown command 'frobnicate'; try 'amn --help'" amn frobnicate
    asks "unknown command 'inspct'; did you mean inspect\?" amn inspct
    asks "unknown command 'quantise'; did you mean quantize\?" amn quantise
    asks "unknown command 'dequantise'; did you mean dequantize\?" amn dequantise
    asks "unknown command 'lst'; did you mean list\?" amn lst
    asks "unknown command 'hlep'; did you mean help\?" amn hlep
    asks "unknown option '--hepl'; did you mean --help\?" amn --hepl
    asks "unknown option '-x'; try 'amn --help'" amn -x
    asks "unknown command ''; try 'amn --help'" amn ''
    asks "unknown command '../bin/amn-parse'; try 'amn --help'" amn ../bin/amn-parse
    asks "unknown command 'evil.u.1b..2Jverb'; try 'amn --help'" amn $'evil\x1b[2Jverb'
    "$helpers/no-controls" err
    asks "bytes more\)'; try 'amn --help'" amn "$(head -c 5000 /dev/zero | tr '\0' a)"
}

@test "a missing tool of the suite: 66, with its name" {
    mkdir alone
    cp "$AMN_BIN/amn" alone/
    try 66 bare alone/amn inspect
    error_line amn 'cannot open'
    grep -q 'amn-inspect found neither next to amn nor in PATH; reinstall amn' err
    try 66 bare alone/amn dequantize
    try 0 bare alone/amn
    refute grep -q 'amn inspect' out
    grep -q '^  amn list ' out
    try 0 bare alone/amn --version
}

@test "amn finds its tools if it is called through links, from elsewhere" {
    mkdir -p a/b
    ln -s "$AMN_BIN/amn" a/first
    ln -s ../first a/b/second
    PATH=/usr/bin:/bin try 0 a/b/second inspect "$fx/good-plain.safetensors"
    jq -e '.format == "safetensors"' out
    cd a/b
    PATH=/usr/bin:/bin try 0 ./second --version
    PATH=/usr/bin:/bin:$PWD try 0 second inspect "$fx/good-plain.safetensors"
    mkdir c
    PATH=/nonexistent:c:..:/usr/bin:/bin try 0 first inspect "$fx/good-plain.safetensors"
    cd ..
    PATH=:/usr/bin:/bin try 0 first inspect "$fx/good-plain.safetensors"        # an empty entry is the current folder
}

@test "the directory of amn comes before PATH" {
    fake other/amn-inspect
    PATH=$PWD/other:$PATH try 0 "$AMN_BIN/amn" inspect "$fx/good-plain.safetensors"
    jq -e '.format == "safetensors"' out
}

# --- pages -------------------------------------------------------------------------------------------------------------

# Topics and their pages, in every form.
topics="parse:amn-parse.1 inspect:amn-inspect.1 info:amn-inspect.1 remember:amn-remember.1 dequantize:amn-remember.1
    convert:amn-convert.1 forget:amn-forget.1 quantize:amn-forget.1 amn-quantize:amn-forget.1
    amn-remember:amn-remember.1 amn-info:amn-inspect.1 amn:amn.7 family:amn-family.5 formats:amn-formats.5 amn-formats:amn-formats.5
    json:amn-json.5 adapters:amn-adapters.7 exact:amn-exact.7 memory:amn-memory.7 schemes:amn-schemes.7 writers:amn-writers.5 help:amn.1 list:amn.1 amn-list:amn.1"

# bats test_tags=full
@test "amn help TOPIC: man gets the page installed with the tools" {
    fake only/man
    for t in $topics; do
        for help in help --help -h; do
            try 0 bare "$AMN_BIN/amn" $help ${t%:*}
            grep -qE "^/.*/man/${t#*:}\$" out
            [ -r "$(cat out)" ]
        done
    done
    install_suite
    for t in $topics; do
        try 0 bare p/bin/amn help ${t%:*}
        grep -qE "p/share/man/man${t##*.}/${t#*:}\$" out
    done
    [ "$(ls "$tests"/../man | wc -l)" -eq "$(for t in $topics; do echo ${t#*:}; done | sort -u | wc -l)" ]
}

# bats test_tags=full
@test "without man, in a pipe: the text that mandoc made of the page" {
    command -v mandoc >/dev/null || skip "mandoc is not installed"
    install_texts
    fake only/mandoc                # only for a terminal
    for t in $topics; do
        try 0 bare p/bin/amn help ${t%:*}
        "$helpers/no-controls" out
        mandoc -T ascii "$tests/../man/${t#*:}" | col -bx | cmp - out
    done
}

@test "without man, in a pipe, and without a text: mandoc" {
    fake only/mandoc
    try 0 bare "$AMN_BIN/amn" help inspect
    paste -sd ' ' out | grep -qE '^-a /.*/man/amn-inspect\.1$'
}

@test "neither man nor mandoc nor a text: what to install, and how to see the options" {
    try 66 bare "$AMN_BIN/amn" help info
    error_line amn 'cannot open'
    is_empty out
    grep -q 'amn-inspect(1) cannot be shown: install man or mandoc; for the options, run .amn inspect --help.$' err
    try 66 bare "$AMN_BIN/amn" help json
    grep -q 'amn-json(5) cannot be shown: install man or mandoc$' err
}

@test "a compressed page, for man and for mandoc" {
    install_suite
    page=p/share/man/man1/amn-inspect.1
    for by in man mandoc; do
        fake only/$by
        for packed in gz zst xz; do
            mv $page* $page.$packed
            try 0 bare p/bin/amn help inspect
            grep -q "^/.*/$page.$packed\$" out
        done
        rm only/$by
    done
}

@test "a text that is not a regular file is not waited for" {
    install_suite
    mkfifo p/share/amn/amn-inspect.1.txt
    try 66 timeout 20 env PATH="$PWD/only" p/bin/amn help inspect
    error_line amn 'cannot open'
}

@test "on a terminal without man: mandoc, which has its own pager" {
    fake only/mandoc
    try 0 bare $(a_terminal) "$AMN_BIN/amn" help inspect
    tr -d '\r' <out | paste -sd ' ' | grep -qE '^-a /.*/man/amn-inspect\.1$'
}

@test "on a terminal with neither: the text, through a pager if there is one" {
    pty=$(a_terminal)
    install_texts
    cp p/share/amn/amn-inspect.1.txt text
    try 0 bare $pty p/bin/amn help inspect          # no pager
    tr -d '\r' <out | cmp - text
    for name in less more; do
        mkdir -p only
        printf '#!/bin/sh\necho this is %s\n/bin/cat\n' $name >only/$name
        chmod +x only/$name
    done
    shown_by() {
        tr -d '\r' <out >shown
        [ "$(head -n 1 shown)" = "this is $1" ] && tail -n +2 shown | cmp - text
    }
    try 0 bare $pty p/bin/amn help inspect
    shown_by less
    rm only/less
    try 0 bare $pty p/bin/amn help inspect
    shown_by more
    try 0 bare /usr/bin/env PAGER='echo this is P; /bin/cat' $pty p/bin/amn help inspect
    shown_by P
    try 0 bare /usr/bin/env PAGER=false MANPAGER='echo this is M; /bin/cat' $pty p/bin/amn help inspect
    shown_by M
    try 0 bare /usr/bin/env PAGER= MANPAGER= $pty p/bin/amn help inspect
    shown_by more
    ln -s "$(command -v cat)" only/cat
    for again in 1 2 3; do      # Linux may drop unread text when a terminal's last program ends: once in 40 runs
        try 0 bare /usr/bin/env PAGER=/no/such/pager $pty p/bin/amn help inspect     # the text appears anyway
        ! grep -q 'describe a model: format, quantization, size' out || break
    done
    grep -q 'describe a model: format, quantization, size' out
    try 0 bare /usr/bin/env PAGER='/usr/bin/head -n 1' $pty p/bin/amn help amn   # it exits early
    tr -d '\r' <out | grep -q '^AMN(7)'
    rm only/more
    try 0 bare /usr/bin/env PAGER=cat p/bin/amn help inspect     # not a terminal: no pager
    cmp out text
}

@test "a page that only man can find" {
    mkdir -p alone only away
    cp "$AMN_BIN/amn" alone/
    cp "$tests/../man/amn-inspect.1" away/
    printf '#!/bin/sh\n[ "$1" != -w ] || { [ "$2 $3" = "1 amn-inspect" ] && echo %s; exit; }\necho shown "$@"\n' \
        "$PWD/away/amn-inspect.1" >only/man
    printf '#!/bin/sh\nexec /bin/sh "$@"\n' >only/sh
    chmod +x only/*
    try 0 bare alone/amn help inspect
    grep -qx "shown $PWD/away/amn-inspect.1" out
    try 66 bare alone/amn help remember
    error_line amn 'cannot open'
}

@test "no page anywhere: the message says where it was searched, and how to see the options" {
    mkdir -p p/bin
    cp "$AMN_BIN/amn" p/bin/
    for t in $topics; do
        try 66 bare p/bin/amn help ${t%:*}
        error_line amn 'cannot open'
        is_empty out
        name=${t#*:}
        grep -qF "${name%.*}(${name##*.})" err
        grep -qF "$PWD/p/share/man, $PWD/p/man" err
    done
    try 66 bare p/bin/amn help info
    grep -q 'amn inspect --help.$' err
    try 66 bare p/bin/amn help list
    grep -q 'amn list --help.$' err
    try 66 bare p/bin/amn help json
    refute grep -q -- '--help' err
}

@test "the page of a verb of another program" {
    install_suite
    fake p/bin/amn-frob
    try 66 bare p/bin/amn help frob
    grep -q 'amn-frob(1).*amn frob --help.$' err
    touch p/share/man/man1/amn-frob.1
    try 66 bare p/bin/amn help frob
    grep -q 'amn-frob(1) cannot be shown: install man or mandoc.*amn frob --help.$' err
    fake only/man
    try 0 bare p/bin/amn help frob
    grep -q '/p/share/man/man1/amn-frob\.1$' out
}

@test "no such topic: status 2, the nearest ones" {
    asks "no manual page for 'frobnicate'; try 'amn help'" amn help frobnicate
    asks "no manual page for 'formst'; did you mean forget or formats\?" amn help formst
    asks "no manual page for 'inspekt'; did you mean inspect\?" amn help inspekt
    asks "no manual page for 'jsn'; did you mean json\?" amn --help jsn
    asks "unexpected argument 'json': 'amn help' takes one topic" amn help formats json
    asks "page for 'a.u.1b.'; try 'amn help'" amn help $'a\x1b'
    try 2 amn help ../amn
    try 2 amn help ''
}

# --- output ------------------------------------------------------------------------------------------------------------

@test "standard output that is full or closed: 74, one line" {
    install_texts
    for words in '' help --version 'help amn'; do
        try 74 /usr/bin/env PATH=/nonexistent /bin/sh -c 'exec "$@" >&-' sh p/bin/amn $words
        error_line amn input/output
    done
    need_full
    for words in '' help --version 'help amn'; do
        out=/dev/full try 74 /usr/bin/env PATH=/nonexistent p/bin/amn $words
        error_line amn input/output
    done
}

@test "a reader that exits: SIGPIPE, without a message" {
    install_texts
    for words in '' --version 'help amn'; do
        { sleep 0.2; PATH=/nonexistent p/bin/amn $words 2>err && echo 0 >status || echo $? >status; } | true
        [ "$(cat status)" -eq 141 ]
        is_empty err
    done
}
