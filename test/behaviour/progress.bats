#!/usr/bin/env bats
# Information about a running job: the bar, and the answer to SIGUSR1.
load helper

@test "SIGUSR1: one status line, and the work goes on" {
    try 0 amn-remember "$fx/good-fp8-wide.safetensors"
    cp out whole
    try 0 "$helpers/stall" USR1 "$fx/good-fp8-wide.safetensors" amn-remember
    cmp out whole
    [ "$(wc -l <err)" -eq 1 ]
    grep -qE '^amn-remember: progress: [a-z]+' err         # names the phase
    for t in amn-inspect amn-parse; do
        (printf cut; sleep 1) | $t 2>err &
        pid=$!
        sleep 0.5
        kill -USR1 $pid
        got=0
        wait $pid || got=$?
        [ $got -eq 65 ]
    done
}

# bats test_tags=full
@test "a storm of SIGUSR1 from the start ends no tool, and the bytes are right" {
    try 0 amn-remember "$fx/good-fp8-wide.safetensors"
    cp out whole
    cat >storm.py <<'PYTHON'
import os, signal, subprocess, sys
signal.signal(signal.SIGUSR1, signal.SIG_IGN)       # inherited through exec, so the signal never kills the tool
p = subprocess.Popen(sys.argv[1:])
while p.poll() is None:
    os.kill(p.pid, signal.SIGUSR1)
sys.exit(p.returncode if p.returncode >= 0 else 128 - p.returncode)
PYTHON
    for i in 1 2 3 4 5; do
        try 0 python3 storm.py amn-remember "$fx/good-fp8-wide.safetensors"
        cmp out whole
        cat "$fx/good-fp8-wide-late.safetensors" | try 0 python3 storm.py amn-remember -o new
        try 0 amn-remember "$fx/good-fp8-wide-late.safetensors"
        cmp out new
        for t in amn-inspect amn-parse; do
            try 0 python3 storm.py $t "$fx/good-gguf-k.gguf"
        done
    done
}

@test "SIGUSR1: a tool installs its handler before anything else" {
    command -v strace >/dev/null && strace -o trace true 2>/dev/null || skip "no strace here"
    ! is_sanitized || skip "the sanitizer opens files of its own"
    for t in amn-remember amn-inspect amn-parse; do
        try 0 strace -o trace $t "$fx/good-plain.safetensors"
        awk '/execve/ { next } /SIGUSR1/ { caught = NR } /RLIMIT_NOFILE|good-plain|F_GETFD/ && !first { first = NR }
            END { exit !(caught && first && caught < first) }' trace
    done
}

# bats test_tags=full
@test "--progress: always shows a bar on stderr, never and auto in a pipe show none" {
    for when in auto never; do
        try 0 "$helpers/stall" 0 "$fx/good-fp8-wide.safetensors" amn-remember --progress=$when
        is_empty err
    done
    try 0 "$helpers/stall" 0 "$fx/good-fp8-wide.safetensors" amn-remember --progress=always
    grep -q '%' err
    cp out bar
    try 0 amn-remember "$fx/good-fp8-wide.safetensors"
    cmp out bar
    try 0 "$helpers/stall" 0 "$fx/good-fp8-wide.safetensors" amn-remember --progress=always -q
    is_empty err
    try 0 "$helpers/pty" sh -c 'cat "$0" | ("$1" 0 "$0" amn-remember >/dev/null)' "$fx/good-fp8-wide.safetensors" "$helpers/stall"
    grep -q '%' out
}

@test "SIGUSR1 is answered at once, whatever a tool is waiting for" {
    late=$fx/good-fp8-wide-late.safetensors wide=$fx/good-fp8-wide.safetensors
    try 0 amn-remember "$wide"
    cp out whole
    # its header: no byte of it, and a part
    try 0 "$helpers/ask" 'progress: reading the header, 0 bytes\n' 0 "$wide" amn-remember
    cmp out whole
    try 0 "$helpers/ask" 'progress: reading the header, 7 bytes, [0-9]+ bytes/s\n' 7 "$wide" amn-remember
    cmp out whole
    # spooled data, also from a compressed stream
    try 0 "$helpers/ask" 'progress: reading into a temporary file, [0-9]+%, [0-9.]+ of [0-9.]+ KiB' 1200000 "$late" amn-remember
    cmp out whole
    gzip -c "$late" >late.gz
    try 0 "$helpers/ask" 'progress: reading into a temporary file, [0-9]+%, [0-9.]+ of [0-9.]+ KiB' 1200000 late.gz amn-remember
    cmp out whole
    # input that stalls, and a reader that does
    try 0 "$helpers/ask" 'progress: writing, [1-9][0-9]*%, 2.00 of 2.99 MiB, ' 1300000 "$wide" amn-remember
    cmp out whole
    try 0 "$helpers/ask" --unread 'progress: writing, [0-9]+%, [0-9.]+ of 2.99 MiB' 9999999 "$wide" amn-remember
    cmp out whole
    # the end of the input
    { cat "$wide"; cat "$wide"; } >tail
    try 65 "$helpers/ask" 'progress: reading the input to its end\n' $(wc -c <"$wide") tail amn-remember
    # FIFOs whose other ends are not open yet
    mkfifo in.fifo out.fifo
    try 0 "$helpers/ask" 'progress: reading the header, 0 bytes\n' 0 "$wide" sh -c '
        (while [ ! -e answered ]; do sleep 0.05; done; cat "$0" >in.fifo) & exec amn-remember in.fifo' "$wide"
    cmp out whole
    try 0 "$helpers/ask" 'progress: opening the output\n' 0 "$wide" sh -c '
        (while [ ! -e answered ]; do sleep 0.05; done; cat out.fifo >got) & exec amn-remember -o out.fifo "$0"' "$wide"
    for _ in $(seq 200); do ! cmp -s got whole || break; sleep 0.05; done      # its reader is not our child
    cmp got whole
}

# bats test_tags=full
@test "SIGUSR1: the reports answer too" {
    many=$corpus/safetensors-good/5000-tensors.safetensors
    for t in amn-parse amn-inspect; do
        cat "$many" | try 0 $t
        cp out whole
        try 0 "$helpers/ask" 'progress: reading the header, 1000 bytes' 1000 "$many" $t
        cmp out whole
    done
    try 0 "$helpers/ask" --unread 'progress: writing' 99999999 "$many" amn-parse
    # starts over with each operand
    for t in amn-parse amn-inspect; do
        try 0 "$helpers/ask" 'progress: reading the header, 1000 bytes' 1000 "$many" $t "$fx/good-plain.safetensors" -
    done
}

@test "SIGUSR1 with --json-errors: an object; with -q: as usual" {
    try 0 "$helpers/ask" ' 7 bytes' 7 "$fx/good-plain.safetensors" amn-remember --json-errors -q
    jq -es 'all(keys == ["file", "kind", "message", "offset", "report", "status", "tensor", "tool"]
        and .kind == "progress" and .status == null) and (.[-1].message | startswith("reading the header, 7 bytes"))' err
    try 0 "$helpers/ask" 'progress: reading' 7 "$fx/good-plain.safetensors" amn-remember -q
}

# --- the bar

# shows COLUMNS N COMMAND...: displays the window at these widths, one after the other, while the command has the first N bytes
# of $in; then the rest follows.
shows() {
    local columns=$1 take=$2
    shift 2
    rm -f go
    try 0 "$helpers/pty" --columns "$columns" --then go $cuts sh -c '
        (head -c "$2" "$1"; while [ ! -e go ]; do sleep 0.05; done; tail -c +$(($2 + 1)) "$1") | {
            shift 2
            exec "$@"
        } >made' sh "$in" "$take" "$@"
    cmp made whole
}

# row N REGEX: the window of N columns has one row, which matches.
row() {
    [ "$(grep -c "^$1: " out)" -eq 1 ] && grep -qE "^$1: $2\$" out || { echo "$1 columns, expected $2:"; cat out; return 1; }
}

# left N TEXT: at the end the window has N rows, all starting with TEXT.
left() {
    [ "$(grep -c "^end: " out)" -eq "$1" ] && [ "$(grep -cF "end: ${2-}" out)" -eq "$1" ] || { cat out; return 1; }
}

# bats test_tags=full
@test "the bar shows whole words at any width, follows the window, and leaves nothing behind" {
    in=$fx/good-fp8-wide.safetensors
    try 0 amn-remember "$in"
    cp out whole
    rate='[0-9.]+ [KM]iB/s' left='[0-9]+:[0-9][0-9] left'
    for cuts in '' --cuts; do
        shows 80,40,20,6,60,120,79 1300000 amn-remember
        row 120 "writing  \[#{26}\.{14}\]  66%  2\.00 of 2\.99 MiB  $rate  $left"
        row 80 "writing  \[#+\.+\]  66%  2\.00 of 2\.99 MiB  $rate  $left"
        row 79 "writing  \[#+\.+\]  66%  2\.00 of 2\.99 MiB  $rate  $left"
        row 60 "writing  66%  2\.00 of 2\.99 MiB  $rate  $left"
        row 40 "(writing  )?66%  $rate  $left"
        row 20 "66%  $left"
        row 6 "66%"
        left 0
    done
    refute grep -q "$(printf '\033\[[0-9;]*m')" out
}

# bats test_tags=full
@test "the bar names the phase: waiting for a header, a spool" {
    in=$fx/good-fp8-wide-late.safetensors
    try 0 amn-remember "$in"
    cp out whole
    shows 80,40 100 amn-remember
    row 80 'reading the header  100 bytes  [0-9]+ bytes/s'
    row 40 '100 bytes  [0-9]+ bytes/s'
    shows 90,60,40 1200000 amn-remember
    row 90 'reading into a temporary file  [0-9]+%  [0-9.]+ of [0-9.]+ KiB  [0-9.]+ [KM]iB/s  [0-9]+:[0-9][0-9] left'
    row 60 'reading into a temporary file  [0-9]+%  [0-9.]+ [KM]iB/s  [0-9]+:[0-9][0-9] left'
    row 40 '[0-9]+%  [0-9.]+ [KM]iB/s  [0-9]+:[0-9][0-9] left'
    left 0
}

# bats test_tags=full
@test "the bar is cleared before every other line, and before text on standard output" {
    in=$fx/good-fp8-wide-late.safetensors
    try 0 amn-remember "$in"
    cp out whole
    # one note appears while the bar of the header is shown, others while that of the output is
    cat >slow <<'SH'
head -c 100 "$1"
sleep 0.5
head -c 1200000 "$1" | tail -c +101
sleep 0.5
tail -c +1200001 "$1"
SH
    try 0 "$helpers/pty" --columns 400 sh -c 'sh slow "$0" | amn-remember -v >made' "$in"
    cmp made whole
    left 2 'amn-remember: (standard input): note: '
    try 0 "$helpers/pty" --columns 400 sh -c 'sh slow "$0" 2>/dev/null | amn-remember --size' "$in"
    left 1 "$(wc -c <whole | tr -d ' ')"
    head -c 1400000 "$in" >cut
    try 65 env NO_COLOR=1 "$helpers/pty" --columns 400 sh -c 'sh slow "$0" | amn-remember >made' cut
    left 1 'amn-remember: (standard input): malformed: truncated: 1400000 of'
}

# bats test_tags=full
@test "no bar on a dumb terminal, or on one where the job is in the background" {
    in=$fx/good-fp8-wide.safetensors
    printf 'head -c 1300000 "$1"; sleep 0.5; tail -c +1300001 "$1"\n' >slow
    for quiet in 'TERM=dumb' 'TERM=' '-u TERM'; do
        try 0 "$helpers/pty" sh -c 'sh slow "$0" | env $1 amn-remember >made' "$in" "$quiet"
        is_empty out
    done
    try 0 "$helpers/pty" bash -c 'set -m; { sh slow "$0" | amn-remember >made; } & wait' "$in"
    refute grep -q '%' out
    # on request it uses no escape sequence
    try 0 "$helpers/pty" sh -c 'sh slow "$0" | TERM=dumb amn-remember --progress=always >made' "$in"
    grep -q '%' out
    refute grep -q "$(printf '\033')" out
    try 0 "$helpers/pty" --columns 80 sh -c 'sh slow "$0" | TERM=dumb amn-remember --progress=always >made' "$in"
    left 0
}
