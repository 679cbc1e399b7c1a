#!/usr/bin/env bats
# Pipes: slow input, slow and vanished readers, full disks, the spool.
load helper

@test "scales before their weights are kept from a pipe, at any place: no spool" {
    try 0 amn-remember "$fx/good-fp8-early-scales.safetensors"
    mv out expected
    cat "$fx/good-fp8-early-scales.safetensors" | try 0 amn-remember --no-spool
    cmp out expected
    "$helpers/trickle" "$fx/good-fp8-early-scales.safetensors" 4099 | try 0 amn-remember --no-spool
    cmp out expected
}

# bats test_tags=full
@test "input that arrives byte by byte" {
    for f in good-plain.safetensors good-fp8-row-f32.safetensors good-fp8-input-scale.safetensors good-gguf.gguf good-fp8-e5m2.safetensors; do
        try 0 amn-remember "$fx/$f"
        cp out whole
        "$helpers/trickle" "$fx/$f" | try 0 amn-remember
        cmp out whole
        try 0 amn-parse "$fx/$f"
        cp out whole
        "$helpers/trickle" "$fx/$f" | try 0 amn-parse -
        cmp out whole
    done
}

# bats test_tags=full
@test "input in odd pieces" {
    for f in good-fp8-wide.safetensors good-fp8-wide-late.safetensors good-gguf-k.gguf; do
        try 0 amn-remember "$fx/$f"
        cp out whole
        for n in 4093 65537; do
            "$helpers/trickle" "$fx/$f" $n | try 0 amn-remember
            cmp out whole
        done
    done
}

@test "output read byte by byte" {
    try 0 amn-remember "$fx/good-fp8-late.safetensors"
    cp out whole
    amn-remember "$fx/good-fp8-late.safetensors" | dd bs=1 of=slow 2>/dev/null
    cmp slow whole
}

@test "standard input and output may be sockets, which programs use instead of pipes" {
    cat >sockets.py <<'PYTHON'
import socket, subprocess, sys, threading
ours, theirs = socket.socketpair()
p = subprocess.Popen(sys.argv[2:], stdin=theirs, stdout=theirs)
theirs.close()
def feed():
    ours.sendall(open(sys.argv[1], "rb").read())
    ours.shutdown(socket.SHUT_WR)
threading.Thread(target=feed).start()
sys.stdout.buffer.write(ours.makefile("rb").read())
sys.exit(p.wait())
PYTHON
    for f in good-plain.safetensors good-fp8-wide-late.safetensors good-gguf.gguf; do
        try 0 amn-remember "$fx/$f"
        cp out expected
        try 0 python3 sockets.py "$fx/$f" amn-remember
        cmp out expected
    done
}

@test "pipes that are not ready yet: non-blocking descriptors" {
    try 0 amn-remember "$fx/good-fp8-wide.safetensors"
    cp out whole
    cat >nonblock.py <<'PYTHON'
import os, subprocess, sys, time
r, w = os.pipe()
os.set_blocking(w, False)
p = subprocess.Popen(["amn-remember", sys.argv[1]], stdout=w)
os.close(w)
time.sleep(0.5)         # let it fill up
sys.stdout.buffer.write(open(r, "rb").read())
sys.exit(p.wait())
PYTHON
    try 0 python3 nonblock.py "$fx/good-fp8-wide.safetensors"
    cmp out whole
}

@test "a FIFO by name, as input and as output" {
    mkfifo in.fifo out.fifo
    try 0 amn-remember "$fx/good-gguf.gguf"
    cp out whole
    cat "$fx/good-gguf.gguf" >in.fifo &
    try 0 amn-remember in.fifo
    cmp out whole
    cat out.fifo >got &
    amn-remember -o out.fifo "$fx/good-gguf.gguf"
    wait $!
    cmp got whole
    [ -p out.fifo ]
}

@test "tools in a chain" {
    amn-remember "$fx/good-gguf-k.gguf" | amn-remember --to f16 | amn-inspect | jq -e '.quantized == 0 and .tensors == 3'
}

# The command's reader reads ten bytes and exits; the command's status is in the file status.
leave_early() {
    { "$@" 2>err && echo 0 >status || echo $? >status; } | head -c 10 >/dev/null
}

@test "a reader that exits ends every tool quietly, by SIGPIPE" {
    many=$corpus/safetensors-good/5000-tensors.safetensors
    ends_quietly() {
        leave_early "$@"
        [ "$(cat status)" -eq 141 ] || { echo "status $(cat status): $*"; return 1; }
        is_empty err
    }
    ends_quietly amn-remember "$fx/good-fp8-wide.safetensors"
    ends_quietly amn-remember --to f32 - <"$fx/good-gguf-k.gguf"
    ends_quietly amn-parse "$many"
    ends_quietly amn-parse --human "$many"
}

@test "a reader that exits while SIGPIPE is ignored: 141 or 74, never 0" {
    (trap '' PIPE; leave_early amn-remember "$fx/good-fp8-wide.safetensors")
    [ "$(cat status)" -eq 141 ] || [ "$(cat status)" -eq 74 ]
}

@test "/dev/full: 74, for every tool and every text" {
    need_full
    for f in good-plain.safetensors good-fp8-wide.safetensors good-gguf.gguf; do
        for t in amn-remember amn-inspect amn-parse "amn-remember --size" "amn-inspect --human"; do
            out=/dev/full try 74 $t "$fx/$f"
            error_line "${t%% *}" input/output
        done
        try 74 amn-remember -o /dev/full "$fx/$f"
    done
    for t in amn-remember amn-inspect amn-parse; do
        out=/dev/full try 74 $t --help
        out=/dev/full try 74 $t --version
    done
}

@test "closed standard output never exits with 0" {
    for t in amn-remember amn-inspect amn-parse; do
        got=0
        $t "$fx/good-plain.safetensors" >&- 2>err || got=$?
        [ $got -eq 73 ] || [ $got -eq 74 ] || { echo "$t: status $got"; return 1; }
    done
}

# Two ways for an output to run out of space: a limit on file sizes, and a full disk.
no_room() {
    printf old >old
    cp old expected
    try 74 "$@"
    [ "$(cat err | wc -l)" -eq 1 ]
    is_empty out
    cmp old expected
}

@test "a file size limit: 74, the old file unchanged, nothing left" {
    limited() { (ulimit -f 100; exec amn-remember "$@"); }
    no_room limited -o old "$fx/good-fp8-wide.safetensors"
    only old expected
    rm old
    try 74 limited -o old "$fx/good-fp8-wide.safetensors"
    only expected
    spool_limited() { (ulimit -f 100; cat "$fx/good-fp8-wide-late.safetensors" | amn-remember -o /dev/null); }
    try 74 spool_limited
    grep -q "^amn-remember: ${TMPDIR:-/tmp}: input/output: cannot write the temporary file for the input" err
}

@test "a report that hits a file size limit: 74, but messages that do not fit fail no job" {
    for report in amn-parse amn-inspect 'amn-remember --size' 'amn-remember --help'; do
        got=0
        (ulimit -f 0; exec $report "$fx/good-plain.safetensors" >report 2>/dev/null) || got=$?
        [ $got -eq 74 ] || { echo "status $got: $report"; return 1; }
    done
    (ulimit -f 0; exec amn-remember -v "$fx/good-fp8-late.safetensors" 2>words) | cat >whole
    try 0 amn-remember "$fx/good-fp8-late.safetensors"
    cmp out whole
}

@test "a full disk: 74, the old file unchanged, nothing left" {
    mkdir disk
    mount -t tmpfs -o size=256k none disk 2>/dev/null || skip "no tmpfs can be mounted here; the limit above stands in for it"
    printf old >disk/old
    got=$(got=0; amn-remember -o disk/old "$fx/good-fp8-wide.safetensors" 2>err || got=$?; echo $got)
    left=$(ls -A disk; cat disk/old)
    to_stdout=$(got=0; amn-remember "$fx/good-fp8-wide.safetensors" >disk/part 2>/dev/null || got=$?; echo $got)
    rm disk/part
    spooled=$(got=0; cat "$fx/good-fp8-wide-late.safetensors" | TMPDIR=$PWD/disk amn-remember 2>/dev/null >/dev/null || got=$?; echo $got)
    umount disk
    [ "$got $to_stdout $spooled" = '74 74 74' ]
    grep -q '^amn-remember: disk/old: input/output: .*: No space left on device$' err
    [ "$(wc -l <err)" -eq 1 ]
    [ "$left" = "$(printf 'old\nold')" ]
}

@test "scales after their weights: a pipe is spooled, reported by -v, same bytes as from the file" {
    try 0 amn-remember -v "$fx/good-fp8-wide-late.safetensors"
    cp out whole
    refute grep -q 'temporary file' err
    cat "$fx/good-fp8-wide-late.safetensors" | try 0 amn-remember -v
    grep -qE 'note: spooling [0-9]+ bytes to a temporary file' err
    cmp out whole
}

@test "the spool is an unnamed file in TMPDIR, and nothing is left" {
    mkdir spool
    cat "$fx/good-fp8-wide-late.safetensors" | TMPDIR=$PWD/spool try 0 amn-remember -v
    grep -q 'temporary file' err
    [ -z "$(ls -A spool)" ]
    cat "$fx/good-fp8-wide-late.safetensors" | TMPDIR=/nonexistent/folder try 74 amn-remember
    error_line amn-remember input/output
    grep -q '^amn-remember: /nonexistent/folder: .*: cannot create the temporary file for the input (set TMPDIR to' err
    is_empty out
    TMPDIR=$PWD/spool try 143 "$helpers/stall" TERM "$fx/good-fp8-wide-late.safetensors" amn-remember
    [ -z "$(ls -A spool)" ]
}

@test "scales before their weights, GGUF: streamed, TMPDIR is not used" {
    for f in good-fp8-wide.safetensors good-gguf-k.gguf good-plain.safetensors; do
        cat "$fx/$f" | TMPDIR=/nonexistent/folder try 0 amn-remember --no-spool -v
        refute grep -q 'temporary file' err
    done
}

@test "output starts before the input is complete" {
    cat >early.py <<'PYTHON'
import subprocess, sys, threading
data = open(sys.argv[1], "rb").read()
p = subprocess.Popen(["amn-remember"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
seen = threading.Event()

def feed():
    p.stdin.write(data[:-1000])
    p.stdin.flush()
    seen.wait()
    p.stdin.write(data[-1000:])
    p.stdin.close()

threading.Thread(target=feed, daemon=True).start()
early = p.stdout.read(256 << 10)        # would block forever if all input were required first
seen.set()
sys.stdout.buffer.write(early + p.stdout.read())
PYTHON
    try 0 python3 early.py "$fx/good-fp8-wide.safetensors"
    cp out got
    try 0 amn-remember "$fx/good-fp8-wide.safetensors"
    cmp out got
}

@test "--no-spool: 75 if a pipe would be spooled, and nothing on stdout" {
    cat "$fx/good-fp8-wide-late.safetensors" | try 75 amn-remember --no-spool
    error_line amn-remember limit
    is_empty out
    try 0 amn-remember --no-spool "$fx/good-fp8-wide-late.safetensors"
    try 0 amn-remember --no-spool - <"$fx/good-fp8-wide-late.safetensors"
    cat "$fx/good-fp8-wide.safetensors" | try 75 amn-remember --no-spool --order name
}

@test "a pipe is read to its end, so that its writer is not cut off" {
    { "$helpers/trickle" "$fx/good-fp8-wide.safetensors" 4096 && echo all >written; } | try 0 amn-remember
    [ "$(cat written)" = all ]
}
