#!/usr/bin/env bats
# bats file_tags=full
# --direct: an output with direct I/O has the same bytes, the same safety and the same endings as a buffered one.
load helper

# For tests that need direct writes to happen.
need_direct() {
    dd if=/dev/zero of=probe bs=4096 count=1 oflag=direct 2>/dev/null || skip "no direct writes here"
    rm probe
}

# Makes the file model: an output of $size bytes, five blocks of 4 MiB, with all pages different.
model() {
    python3 - <<'PYTHON'
import random, struct
from modelfile import write
rows, cols = 2048, 4480
write("model", [("w_scale_inv", "F32", [16, 35], struct.pack("<560f", *(0.001 * i + 0.5 for i in range(560)))),
                ("w", "F8_E4M3", [rows, cols], random.Random(6).randbytes(rows * cols))])
PYTHON
    size=$(amn-remember --size model)
    [ $((size >> 22)) -eq 4 ]
}

# calls JOB...: runs amn-remember JOB..., and leaves its opens, writes and advice in the file trace.
calls() {
    strace -f -o trace -e trace=openat,write,pwrite64,fadvise64 amn-remember "$@"
}

went_direct() {
    grep -q 'openat(.*O_DIRECT[|,)]' ${1:-trace}
}

@test "--direct=always opens the file with direct I/O; never, and auto with enough memory, do not" {
    need_strace
    need_direct
    model
    amn-remember model >expected
    try 0 calls --direct=always -o new model
    cmp new expected
    went_direct
    [ "$(grep -c 'pwrite64(.*, 4194304, ' trace)" -eq 4 ]
    refute grep -q ' write(' trace
    grep -q 'fadvise64(.*POSIX_FADV_DONTNEED' trace
    for o in --direct=never --direct=auto -v; do
        try 0 calls $o -o new model
        cmp new expected
        refute went_direct
        refute grep -qE 'pwrite64|fadvise64' trace
    done
    try 2 amn-remember --direct=sometimes -o new "$fx/good-plain.safetensors"
}

# same JOB...: both modes give the same bytes, for one worker, a few, and from a pipe.
same() {
    local file=${*: -1}
    amn-remember --direct=never -o cached "$@" || return 1
    for j in 1 2 3 7; do
        amn-remember --direct=always -j $j -o direct "$@" && cmp cached direct || { echo "-j $j $*"; return 1; }
    done
    cat "$file" | amn-remember --direct=always -o direct "${@:1:$#-1}" && cmp cached direct ||
        { echo "pipe: $*"; return 1; }
}

# bats test_tags=full
@test "both modes give the same bytes: schemes, types, orders" {
    for f in good-fp8-wide.safetensors good-fp8-wide-late.safetensors good-gguf-k.gguf good-gguf.gguf \
        good-plain.safetensors good-fp8-block-bf16.safetensors; do
        for o in --to=bf16 --to=f32 --order=name; do
            same $o "$fx/$f"
        done
    done
    amn-remember --direct=never -o cached.safetensors "$fx/good-sharded"
    amn-remember --direct=always -o direct.safetensors "$fx/good-sharded"
    cmp cached.safetensors direct.safetensors
}

# bats test_tags=full
@test "both modes give the same bytes: lengths around a page and a block, and zero" {
    model
    for n in 1 4095 4096 4097 524289 4194303 4194304 4194305 8388608 12587008 $size; do
        same --range=0-$((n - 1)) model
        [ "$(wc -c <direct)" -eq "$n" ]
    done
    for range in 1-1 4097-10000003 524289- 4194303-12582910 -5 -4096 $size-; do
        same --range=$range model
    done
    [ "$(wc -c <direct)" -eq 0 ]
}

@test "only a new file is written directly, not standard output, its other names, devices or pipes" {
    need_strace
    amn-remember "$fx/good-fp8-wide.safetensors" >expected
    try 0 calls --direct=always "$fx/good-fp8-wide.safetensors"
    cmp out expected
    refute went_direct
    for name in /dev/stdout /dev/null; do
        try 0 calls --direct=always -o $name "$fx/good-fp8-wide.safetensors"
        refute went_direct
    done
    amn-remember --direct=always "$fx/good-fp8-wide.safetensors" | cmp - expected
    printf before >out
    amn-remember --direct=always "$fx/good-fp8-wide.safetensors" >>out
    tail -c +7 out | cmp - expected
}

@test "standard output: a signal leaves a prefix of the output in a file" {
    amn-remember "$fx/good-fp8-wide.safetensors" >expected
    out=part try 143 "$helpers/stall" TERM "$fx/good-fp8-wide.safetensors" amn-remember --direct=always
    [ -s part ]
    cmp -n "$(wc -c <part)" part expected
    amn-remember --direct=always --range "$(wc -c <part | tr -d ' ')-" "$fx/good-fp8-wide.safetensors" >>part
    cmp part expected
}

@test "if a file system refuses direct writes, at open or at any write, buffered ones are used" {
    need_strace
    need_direct
    model
    strace -o trace -e inject=openat:error=EINVAL:when=9999 true 2>/dev/null || skip "this strace makes no call fail"
    amn-remember model >expected
    try 0 calls --direct=always -j 1 -o new model
    nth=$(grep openat trace | grep -n 'O_DIRECT|' | cut -d: -f1)
    try 0 strace -f -o trace -e trace=openat,write -e inject=openat:error=EINVAL:when="$nth" \
        amn-remember --direct=always -j 1 -o new model
    grep -q 'O_DIRECT|.*EINVAL.*INJECTED' trace
    [ "$(grep -c ' write(' trace)" -eq $(((size + 524287) / 524288)) ]
    cmp new expected
    for nth in 1 3 5; do        # each thread has its own count
        try 0 strace -f -o trace -e trace=pwrite64 -e inject=pwrite64:error=EINVAL:when=$nth \
            amn-remember --direct=always -j 1 -o new model
        grep -q 'EINVAL.*INJECTED' trace
        cmp new expected
    done
}

@test "a failure leaves the old file and nothing else" {
    printf old >old
    head -c 1500000 "$fx/good-fp8-wide.safetensors" | try 65 amn-remember --direct=always -o old
    cat "$fx/bad-tail.safetensors" | try 65 amn-remember --direct=always -o old
    limited() { (ulimit -f 100; exec amn-remember "$@"); }
    try 74 limited --direct=always -o old "$fx/good-fp8-wide.safetensors"
    error_line amn-remember input/output
    [ "$(cat old)" = old ]
    only old
}

@test "a write that fails out of order: 74, the old file and nothing else" {
    need_strace
    need_direct
    model
    printf old >old
    for job in "1 4" "2 2" "5 1" "6 1"; do         # each thread has its own count; the last write is not direct
        set -- $job
        try 74 strace -f -qq -o trace -e trace=pwrite64 -e inject=pwrite64:error=ENOSPC:when=$1 \
            amn-remember --direct=always -j "$2" -o old model
        error_line amn-remember input/output
        [ "$(cat old)" = old ]
        only old trace model
    done
}

@test "a full disk: 74, the old file unchanged, nothing left" {
    truncate -s 2M image
    mkdir disk
    { mkfs.ext4 -q image && mount -o loop image disk; } 2>/dev/null || skip "no file system can be mounted here"
    printf old >disk/old
    got=$(got=0; amn-remember --direct=always -o disk/old "$fx/good-fp8-wide.safetensors" 2>err || got=$?; echo $got)
    left=$(ls -A disk; cat disk/old)
    umount disk
    [ "$got" = 74 ]
    error_line amn-remember input/output
    [ "$left" = "$(printf 'lost+found\nold\nold')" ]
}

# bats test_tags=full
@test "signals leave the old file and nothing else" {
    printf old >old
    for s in "TERM 143" "INT 130" "HUP 129"; do
        set -- $s
        for f in good-fp8-wide.safetensors good-fp8-wide-late.safetensors good-gguf-k.gguf; do
            try "$2" "$helpers/stall" "$1" "$fx/$f" amn-remember --direct=always -o old
            [ "$(cat old)" = old ]
            only old
        done
    done
}

@test "permissions, -n and links work as in the other mode" {
    (umask 027; amn-remember --direct=always -o new "$fx/good-gguf-k.gguf")
    [ "$(mode_of new)" = -rw-r----- ]
    printf old >kept
    chmod 604 kept
    ln -s kept link
    try 73 amn-remember --direct=always -n -o link "$fx/good-gguf-k.gguf"
    [ "$(cat kept)" = old ]
    amn-remember --direct=always -o link "$fx/good-gguf-k.gguf"
    [ -L link ]
    [ "$(mode_of kept)" = -rw----r-- ]
    cmp kept new
    cp "$fx/good-gguf-k.gguf" input
    try 73 amn-remember --direct=always -o input input
    cmp input "$fx/good-gguf-k.gguf"
}

@test "--sync: the file is flushed before it is renamed" {
    need_strace
    need_direct
    try 0 strace -f -y -o trace -e trace=pwrite64,fsync,rename,renameat2 \
        amn-remember --direct=always --sync -o new "$fx/good-gguf-k.gguf"
    grep -oE '(pwrite64|fsync|rename)\(.*' trace >order
    [ "$(tail -n 3 order | sed 's/(.*//' | tr '\n' ' ')" = "fsync rename fsync " ]
    tail -n 3 order | head -n 1 | grep -q '/\.new\.'
    tail -n 1 order | grep -qF "<$PWD>"
}

# resident FILE: prints how many of its bytes are in the page cache.
resident() {
    python3 - "$1" <<'PYTHON'
import ctypes, mmap, os, sys
size = os.path.getsize(sys.argv[1])
with open(sys.argv[1], "r+b") as f:
    m = mmap.mmap(f.fileno(), size)
pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
at = ctypes.addressof(ctypes.c_char.from_buffer(m))
if ctypes.CDLL(None, use_errno=True).mincore(ctypes.c_void_p(at), ctypes.c_size_t(size), pages):
    sys.exit("mincore: " + os.strerror(ctypes.get_errno()))
print(sum(p & 1 for p in pages) * mmap.PAGESIZE)
PYTHON
}

# bats test_tags=full
@test "input is dropped from the page cache after use, only in this mode" {
    need_direct
    dd if="$fx/good-fp8-200mb.safetensors" of=input bs=1M conv=fsync 2>/dev/null
    size=$(wc -c <input)
    amn-remember --direct=never -o new input
    [ "$(resident input)" -gt $((size / 2)) ] || skip "this page cache has no room for 100 MiB"
    amn-remember --direct=always -o new input
    left=$(resident input)
    [ "$left" -lt $((size / 20)) ] || { echo "$left of $size bytes are still there"; return 1; }
    amn-remember --direct=never "$fx/good-fp8-200mb.safetensors" | cmp - new
}

@test "200 MiB of one FP8 tensor: at most 16 MiB of memory" {
    without_sanitizer
    kib=$("$peak_memory" amn-remember --direct=always -o new "$fx/good-fp8-200mb.safetensors")
    [ "$kib" -le 16384 ] || { echo "$kib KiB"; return 1; }
}

# Makes $group, a control group with this limit; a process that calls `enter` is in it.
limit_memory() {
    local v2=/sys/fs/cgroup v1=/sys/fs/cgroup/memory
    if [ -d $v1 ]; then
        group=$v1$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*:\(.*\)/\3/p' /proc/self/cgroup)/amn-test.$$
        limit=memory.limit_in_bytes
    else
        group=$v2/amn-test.$$
        limit=memory.max
    fi
    mkdir "$group" 2>/dev/null || skip "no control group can be made here"
    echo "$1" 2>/dev/null >"$group/$limit" && sh -c 'echo $$ >"$1"' sh "$group/cgroup.procs" 2>/dev/null ||
        { rmdir "$group"; skip "this control group cannot limit memory"; }
}

enter() {
    sh -c 'echo $$ >"$1" && shift && exec "$@"' sh "$group/cgroup.procs" "$@"
}

@test "auto uses direct I/O if the control group has no room for the output" {
    need_strace
    need_direct
    limit_memory $((64 << 20))
    got=0
    for n in 1000000 50000000; do
        enter strace -f -o trace.$n -e trace=openat \
            amn-remember --range=0-$n -o new "$fx/good-fp8-200mb.safetensors" || got=$?
    done
    rmdir "$group"
    [ $got -eq 0 ]
    refute went_direct trace.1000000
    went_direct trace.50000000
    calls --range=0-50000000 -o cached "$fx/good-fp8-200mb.safetensors"
    refute went_direct
    cmp cached new
}
