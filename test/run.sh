#!/bin/sh
# Run all tests on tools that are built: test/run.sh BIN OBJ, the folders of the tools and of the objects.
#
# `make check` calls it. Each part says what failed in it; the last line sums them up: N passed, N failed, N skipped.
# A test that cannot run here says "skip" and why, and counts as skipped only. A part that ends badly, or counts
# nothing, has failed.
set -u
[ $# -eq 2 ] || { echo "usage: $0 BIN OBJ" >&2; exit 2; }
AMN_BIN=$(cd "$1" && pwd) || exit 2
obj=$(cd "$2" && pwd) || exit 2
cd "$(dirname "$0")/.." || exit 2

work=$(mktemp -d "${TMPDIR:-/tmp}/amn-check.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
AMN_FIXTURES=$work/fixtures
AMN_OBJ=$obj
tests=$(pwd)/test
export AMN_BIN AMN_OBJ AMN_FIXTURES tests PYTHONDONTWRITEBYTECODE=1
unset AMN_CPU
# Tests start Python more often than amn: a version manager's python3 is a script that takes ten times as long, so that of the
# system comes first, where there is one.
mkdir "$work/path"
for python in /usr/bin/python3 "$(python3 -c 'import sys; print(sys.executable)')"; do
    if "$python" -c pass 2>/dev/null && ln -s "$python" "$work/path/python3"; then break; fi
done
PATH=$work/path:$PATH
export PATH
# A tool that hangs fails its test; bats before 1.8 does not know this.
export BATS_TEST_TIMEOUT=300

# part NAME COMMAND...: a part of the suite. The parts before `run_parts` run side by side, one for each processor.
nparts=0
part() {
    nparts=$((nparts + 1))
    n=$(printf %03d $nparts)
    echo "$1" >"$work/$n.name"
    shift
    { echo 'cd "$tests"/..'; printf '%s\n' "$*"; } >"$work/$n.sh"
}

# Run what has been listed, show it in that order, and add up what the lines "N passed, N failed" or "N passed, N failed,
# N skipped" of each say.
passed=0
failed=0
skipped=0
bad_parts=
run_parts() {
    find "$work" -name '*.sh' | sort |
        xargs -P "${1:-$(getconf _NPROCESSORS_ONLN)}" -I {} sh -c '. "$0"/parts
            began=$(date +%s); (. "$1") >"$1.log" 2>&1; echo $? $(($(date +%s) - began)) >"$1.status"' "$work" {}
    for script in "$work"/*.sh; do
        read -r status seconds <"$script.status"
        echo "== $(cat "${script%.sh}.name") ($seconds s)"
        show_part "$(cat "${script%.sh}.name")" "$script.log" "$status"
        rm "$script"
    done
}

show_part() {
    cat "$2"
    set -- "$1" "$3" $(awk '{ sub(/^.*: /, "") }
        /^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ { p += $1; f += $3; s += $5 }
        END { print p + 0, f + 0, s + 0 }' "$2")
    if [ "$4" -eq 0 ] && { [ "$2" -ne 0 ] || [ $(($3 + $5)) -eq 0 ]; }; then
        echo "$1: status $2 after $3 passed, 0 failed, $5 skipped"
        set -- "$1" "$2" "$3" 1 "$5"
    fi
    passed=$((passed + $3))
    failed=$((failed + $4))
    skipped=$((skipped + $5))
    [ "$4" -eq 0 ] || bad_parts="$bad_parts $1"
}

cat >"$work/parts" <<'EOP'
layers() {
    awk -f test/layers.awk lib/common/LAYERS $(find lib/common lib/amn amn-* -name '*.[ch]')
}

# bats says what it does line by line; shown are failures, with what they print, and skipped tests.
behaviour() {
    bats --tap "$1" | awk '
        /^1\.\.[0-9]+$/ { planned = substr($0, 4) }
        /^ok .* # skip/ { skipped++; print; next }
        /^ok / { passed++; next }
        /^not ok / { failed++ }
        { print }
        END {
            missing = planned - passed - failed - skipped
            if (missing > 0)
                print missing " tests did not run"
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

part layers layers
part manual manual
for unit in test/unit/test_*.c; do      # not what lies in obj: a compiler leaves other files there too
    unit=${unit##*/}
    part "unit ${unit%.c}" "$obj/test/unit/${unit%.c}"
done
part cases python3 test/cases/check "$AMN_BIN"
part corpus test/check-corpus "$AMN_BIN"
part hf test/check-hf "$AMN_BIN"
test/make-fixtures "$AMN_FIXTURES" || { echo "the fixtures cannot be made"; failed=$((failed + 1)); }
# Shells, manuals, packages, words and times show nothing new under a sanitizer, and these files about containers, names
# and ranges run the code of the others again. CONTRIBUTING.md shows how to run one of them sanitized.
leave=
if grep -q __asan_init "$AMN_BIN/amn-remember"; then
    leave='cli completions convert direct examples front handed inspect layers list matrix memory merge metadata naming operands'
    leave="$leave output package parse parts progress range remember split stores stream test-option vectors"
fi
for file in test/*.bats; do
    case " growth $leave " in *" $(basename "$file" .bats) "*) ;; *) part "$file" behaviour "$file" ;; esac
done
run_parts
# These take all processors themselves, or look at the time.
[ -n "$leave" ] || part determinism python3 test/determinism "$AMN_BIN" "$AMN_FIXTURES"
part faults python3 test/faults/run "$AMN_BIN" "$obj/test/faults/faults.so"
part test/growth.bats behaviour test/growth.bats
run_parts 1

[ -z "$bad_parts" ] || echo "failed:$bad_parts"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
