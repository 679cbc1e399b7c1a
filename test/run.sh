#!/bin/sh
# Run the tests on built tools: test/run.sh BIN OBJ [TIER], the folders of the tools and of the objects.
#
# check   layers, manual pages, unit tests, corpora, behaviour: what `make check` runs; the default
# full    longer tests that are not in check: what `make check-full` runs
# broken  tests that read untrusted bytes: unit tests, corpora, behaviour. .ci/run runs it on a build with sanitizers
#
# A test in a bats file belongs to check; with the tag full before it (`# bats test_tags=full`, or file_tags before all) it
# belongs to full instead, and with the tag broken also to broken.
#
# Each part prints one line when it is done, with its time and its counts, after its failures and the tests that cannot run
# here, with the reason. These count as skipped only. The last line has the totals: N passed, N failed, N skipped. A part
# that exits with an error, or counts nothing, has failed.
set -u
tier=${3-check}
case $#:$tier in 2:check | 3:check | 3:full | 3:broken) ;; *) echo "usage: $0 BIN OBJ [check|full|broken]" >&2; exit 2 ;; esac
AMN_BIN=$(cd "$1" && pwd) || exit 2
AMN_OBJ=$(cd "$2" && pwd) || exit 2
cd "$(dirname "$0")/.." || exit 2

work=$(mktemp -d "${TMPDIR:-/tmp}/amn-check.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
AMN_FIXTURES=$AMN_OBJ/fixtures
tests=$(pwd)/test
export AMN_BIN AMN_OBJ AMN_FIXTURES tests PYTHONDONTWRITEBYTECODE=1
unset AMN_CPU
# Tests start Python more often than amn: a version manager's python3 is a script that takes ten times as long, so the system's
# comes first, if there is one.
mkdir "$work/path"
for python in /usr/bin/python3 "$(python3 -c 'import sys; print(sys.executable)')"; do
    if "$python" -c pass 2>/dev/null && ln -s "$python" "$work/path/python3"; then break; fi
done
PATH=$work/path:$PATH
export PATH
# A tool that hangs fails its test; bats before 1.8 ignores this.
export BATS_TEST_TIMEOUT=300

# part NAME COMMAND...: declares a part of the suite. The parts before `run_parts` run in parallel, one on each processor.
nparts=0
part() {
    nparts=$((nparts + 1))
    script=$work/$(printf %03d $nparts)
    echo "$1" >"$script.name"
    shift
    printf '%s\n' "$*" >"$script.sh"
}

# Runs the declared parts; each prints its result when it is done.
run_parts() {
    find "$work" -name '*.sh' | sort |
        xargs -P "${1:-$(getconf _NPROCESSORS_ONLN)}" -I {} sh -c '. "$0"/parts; run_part "$1"' "$work" {}
    rm -f "$work"/*.sh
}

cat >"$work/parts" <<'EOP'
# Runs a part, and writes its counts to a file: those in its lines "N passed, N failed" or "N passed, N failed, N skipped".
# Prints its other lines.
run_part() {
    name=$(cat "${1%.sh}.name")
    began=$(date +%s)
    (. "$1") >"$1.log" 2>&1
    status=$?
    seconds=$(($(date +%s) - began))
    awk -v name="$name" -v status=$status -v seconds=$seconds -v counts="${1%.sh}.counts" '
        { line = $0; sub(/^.*: /, "", line) }
        line ~ /^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ {
            split(line, n, " "); p += n[1]; f += n[3]; s += n[5]
            next
        }
        { print }
        END {
            if (f == 0 && (status != 0 || p + s == 0)) {
                print name ": status " status
                f = 1
            }
            printf "%4d s  %s: %d passed, %d failed, %d skipped\n", seconds, name, p, f, s
            print p + 0, f + 0, s + 0, name >counts
        }' "$1.log" >"$1.said"
    cat "$1.said"
}

fixtures() {
    test/make/fixtures "$AMN_FIXTURES" && echo "1 passed, 0 failed"
}

layers() {
    awk -f test/layers.awk lib/common/LAYERS $(find lib/common lib/amn amn-* -name '*.[ch]')
}

# Runs the unit tests, one after the other.
units() {
    bad=0
    for unit in test/unit/test_*.c; do      # not the files in obj, because compilers leave other files there
        unit=$(basename "$unit" .c)
        status=0
        "$AMN_OBJ/test/unit/$unit" >"$work/unit.log" 2>&1 || status=$?
        cat "$work/unit.log"
        if [ $status -eq 0 ] && grep -qE '(^|[ ,])[1-9][0-9]* (passed|skipped)' "$work/unit.log"; then continue; fi
        bad=1
        grep -qE ' [1-9][0-9]* failed' "$work/unit.log" || echo "$unit, which ended with status $status: 0 passed, 1 failed"
    done
    return $bad
}

# Runs the randomized unit tests again with more rounds.
rounds() {
    for unit in convrot kernel_sets row_sets vocabulary; do AMN_ALL_ROUNDS=1 "$AMN_OBJ/test/unit/test_$unit" || return 1; done
}

# Prints failures, with their output, and skipped tests from the line-by-line report of bats.
behaviour() {
    bats --tap $filter "$1" | awk '
        /^1\.\.[0-9]+$/ { planned = substr($0, 4); next }
        /^ok .* # skip/ { skipped++; print; next }
        /^ok / { passed++; next }
        /^not ok / { failed++ }
        { print }
        END {
            missing = planned - passed - failed - skipped
            if (missing > 0)
                print missing " tests did not run"
            else
                missing = 0         # what fails after the tests, in teardown_file(), is not planned
            printf "%d passed, %d failed, %d skipped\n", passed, failed + missing, skipped
            exit failed + missing != 0
        }'
}

manual() {
    good=0 bad=0
    for page in man/*.[157]; do
        if mandoc -T lint -W warning "$page"; then good=$((good + 1)); else bad=$((bad + 1)); fi
    done
    echo "$good passed, $bad failed"
    [ $bad -eq 0 ]
}
EOP

# bats supports tags since 1.8.
case $tier in check) filter='--filter-tags !full' ;; *) filter="--filter-tags $tier" ;; esac
files() {                               # files that wait most, then the longest ones, which may take longest
    case $tier in
    check) echo test/behaviour/progress.bats; ls -S $(grep -L 'bats file_tags=.*full' test/behaviour/*.bats) | grep -v progress.bats ;;
    *) ls -S $(grep -lE "bats (file|test)_tags=.*$tier" test/behaviour/*.bats) ;;
    esac
}
case $(bats --version) in
*' '0.* | *' '1.[0-7].*)
    echo "$(bats --version) does not support tags: make check runs all tests of all test/behaviour/*.bats"
    filter=
    files() { [ "$tier" = full ] || ls -S test/behaviour/*.bats; }
    ;;
esac
export work filter

stray=$(ls test/*.bats 2>/dev/null) && { echo "$0: not in test/behaviour: $stray" >&2; exit 2; }

began=$(date +%s)
part fixtures fixtures
run_parts 1
if [ "$tier" != full ]; then
    part 'unit tests' units
    part corpus test/check-corpus "$AMN_BIN"
    part hf test/check-hf "$AMN_BIN"
    part families test/check-families "$AMN_BIN"
fi
if [ "$tier" = check ]; then
    part layers layers
    part manual manual
    part cases python3 test/cases/check "$AMN_BIN"
    part 'cases of checkpoints' python3 test/cases-shards/check "$AMN_BIN" --ranges
    part 'cases of images' python3 test/cases-image/check "$AMN_BIN" --via both --strict-order
fi
[ "$tier" != full ] || part 'unit tests, all rounds' rounds
[ "$tier" != full ] || part families test/check-families "$AMN_BIN" --full
for file in $(files); do part "$file" behaviour "$file"; done
run_parts
if [ "$tier" = full ]; then             # these use all processors themselves
    part determinism python3 test/determinism "$AMN_BIN" "$AMN_FIXTURES"
    part faults python3 test/faults/run "$AMN_BIN" "$AMN_OBJ/test/faults/faults.so"
    run_parts 1
fi

[ "$(ls "$work"/*.counts | wc -l)" -eq $nparts ] || echo "0 1 0 some-part-did-not-end" >"$work/lost.counts"
# What failed is said again here, because a log is read from its end.
bad=$(awk '$2 > 0 { $1 = $2 = $3 = ""; print }' "$work"/*.counts)
if [ -n "$bad" ]; then
    echo "failed:" $bad
    for part in $(awk '$2 > 0 { sub(/counts$/, "said", FILENAME); print FILENAME }' "$work"/*.counts); do tail -n 40 "$part" 2>/dev/null; done
fi
awk -v seconds=$(($(date +%s) - began)) '
    { p += $1; f += $2; s += $3 }
    END { print seconds " s"; printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f != 0 }' "$work"/*.counts
