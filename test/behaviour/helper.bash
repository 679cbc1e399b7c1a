# Shared by the tests; each file starts with `load helper`. Works with bats 1.2.
#
# AMN_BIN        folder of the tools                     set by test/run.sh; by hand: bin
# AMN_OBJ        folder of the objects, after make unit  set by test/run.sh; by hand: obj
# AMN_FIXTURES   folder filled by make/fixtures          set by test/run.sh; by hand: AMN_OBJ/fixtures, made if need be
#
# A test runs in its own empty folder, $dir, with the tools in PATH and the fixtures at $fx. All test files share the fixtures:
# a test that changes one changes a copy.

tests=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
helpers=$tests/helpers
corpus=$tests/corpus

setup_file() {
    [ -n "${AMN_FIXTURES:-}" ] && return
    AMN_FIXTURES=$(mkdir -p "${AMN_OBJ:-$tests/../obj}" && cd "${AMN_OBJ:-$tests/../obj}" && pwd)/fixtures
    export AMN_FIXTURES
    "$tests/make/fixtures" "$AMN_FIXTURES"
}

# LIST was written last. With an empty one, the next test file makes all fixtures again.
teardown_file() {
    local changed
    changed=$(find "$AMN_FIXTURES" -newer "$AMN_FIXTURES/LIST")
    [ -z "$changed" ] || { echo "a test changed the fixtures: $changed"; : >"$AMN_FIXTURES/LIST"; return 1; }
}

setup() { begin; }

# For a file with its own setup().
begin() {
    fx=$AMN_FIXTURES
    AMN_BIN=$(cd "${AMN_BIN:-$tests/../bin}" && pwd)
    peak_memory=${AMN_OBJ:-$tests/../obj}/test/helpers/peak-memory
    PATH=$AMN_BIN:$PATH
    export AMN_BIN PATH PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$helpers
    unset AMN_CPU
    dir=$(mktemp -d "${TMPDIR:-/tmp}/amn-test.XXXXXX")
    cd "$dir"
}

teardown() {
    cd /
    chmod -R u+rwx "$dir"
    rm -rf "$dir"
}

# try STATUS COMMAND...: runs it; stdout goes to the file out, stderr to err, or to those in the variables out and err. A usage
# error must say what to type next.
try() {
    local want=$1 got=0
    shift
    "$@" >"${out:-out}" 2>"${err:-err}" || got=$?
    if [ "$got" -eq "$want" ]; then
        [ "$got" -ne 2 ] || says_what_to_type "${err:-err}"
        return
    fi
    echo "status $got, expected $want: $*"
    cat "${err:-err}"
    return 1
}

# says_what_to_type FILE: its usage errors name an option, a program or page, an expected form, or an action.
says_what_to_type() {
    local wrong
    [ -f "$1" ] || return 0
    wrong=$(sed -nE 's/^amn[a-z -]*: (.*: )?usage: //p' "$1" |
        grep -vE "(^|[^[:alnum:]])--?[[:alpha:]]|amn[-( ]|did you mean|expected |(hf|ollama):[A-Z[]|(^|[ (])(choose|copy|give|name|remove|run|use) " || :)
    [ -z "$wrong" ] || { echo "a usage error that does not say what to type: $wrong"; return 1; }
}

# bound COMMAND...: runs it so that permissions apply, even for root.
bound() {
    [ "$(id -u)" -eq 0 ] || { "$@"; return; }
    setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search "$@"
}

# both STATUS FILE TOOL [OPTION...]: by name and through a pipe; writes out.file, out.pipe, err.file, err.pipe.
both() {
    local want=$1 file=$2
    shift 2
    out=out.file err=err.file try "$want" "$@" "$file" </dev/null || return 1
    cat "$file" | out=out.pipe err=err.pipe try "$want" "$@" -
}

# remembers FILE [OPTION...]: file and pipe give the same bytes, kept as out.file.
remembers() {
    local file=$1
    shift
    both 0 "$file" amn-remember "$@" && cmp out.file out.pipe
}

# `!` alone does not fail a test.
refute() {
    if "$@"; then
        echo "expected to fail: $*"
        return 1
    fi
}

is_empty() {
    [ ! -s "$1" ] || { echo "$1 is not empty:"; head -c 500 "$1"; return 1; }
}

# only NAME...: the folder contains these files and no others (except out and err).
only() {
    diff <([ $# -eq 0 ] || printf '%s\n' "$@" | sort) <(ls -A | grep -vxE 'out|err' | sort)
}

# error_line TOOL KIND: checks that err has only the documented error line, TOOL: FILE: KIND: text. An error that is not about
# an input has no file name.
error_line() {
    local LC_ALL=C line rest
    { IFS= read -r line && ! IFS= read -r rest && [ -z "$rest" ]; } <err && [[ $line =~ ^$1:\ (.*:\ )?$2:\ .+ ]] ||
        { echo "no error line '$1 ... $2':"; cat err; return 1; }
}

mode_of() {
    ls -ld -- "$1" | cut -c1-10
}

# needs_cpu SET: skips the test if this CPU lacks these instructions (69); any other status than 0 is a failure.
needs_cpu() {
    local got=0
    AMN_CPU=$1 amn-remember --size "$fx/good-plain.safetensors" >/dev/null 2>err || got=$?
    [ $got -ne 69 ] || skip "this CPU has no $1"
    [ $got -eq 0 ] || { echo "AMN_CPU=$1: status $got"; cat err; return 1; }
}

# For a test that writes to /dev/full: a regular file of that name would accept the data, and hide every failure.
need_full() {
    [ -e /dev/full ] || skip "this system has no /dev/full"
    python3 -c 'import os, stat
st = os.stat("/dev/full")
assert stat.S_ISCHR(st.st_mode) and (os.major(st.st_rdev), os.minor(st.st_rdev)) == (1, 7)' 2>/dev/null && return
    echo "/dev/full is not the device 1,7: mknod -m 666 /dev/full c 1 7"
    ls -l /dev/full
    return 1
}

# For a test that traces system calls.
need_strace() {
    command -v strace >/dev/null && strace -o trace true 2>/dev/null || skip "no strace here"
    rm trace
    if is_sanitized; then skip "the sanitizer does not bear strace"; fi
}

# For measurements.
without_sanitizer() {
    if is_sanitized; then skip "a sanitizer's own time and memory are in the way"; fi
}

is_sanitized() {
    grep -q __asan_init "$AMN_BIN/amn-remember"
}

# cases PREFIX COUNT: runs those of schemes/EXPECT of the fixtures.
cases() {
    "$helpers/cases" "$fx/schemes" "$@"
}
