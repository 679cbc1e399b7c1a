#!/usr/bin/env bats
# The commands of the manual pages (section EXAMPLES) and of README.md (blocks marked `console`) work as they
# are, in a directory that holds model.gguf, model-fp8.safetensors and model/. Where a page shows output below
# a command, the command prints exactly that. A command without shown output prints something, or makes a file.

setup() {
    root=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
    AMN_BIN=$(cd "${AMN_BIN:-$root/bin}" && pwd)
    PATH=$AMN_BIN:$PATH
    export LC_ALL=C.UTF-8
    unset AMN_CPU
    dir=$(mktemp -d "${TMPDIR:-/tmp}/amn-test.XXXXXX")
    cd "$dir"
    "$root/test/make-examples" .
}

teardown() {
    cd /
    rm -rf "$dir"
}

# Of a page: "C command" and, for output shown below it, "O line". An escaped quote and backslash are turned back.
examples_of_page() {
    awk '
        /^\.Sh / { inside = $2 == "EXAMPLES" }
        !inside { next }
        { gsub(/\\\(aq/, "\047"); gsub(/\\e/, "\\") }
        /^\.Bd -literal/ { block = 1; command = 0; next }
        /^\.Ed/ { block = 0; next }
        /^\.Dl \$ / { sub(/^\.Dl \$ /, ""); print "C " $0; next }
        !block { next }
        /^\$ / { command = 1; print "C " substr($0, 3); next }
        command { sub(/^\\&/, ""); print "O " $0 }
    ' "$1"
}

examples_of_readme() {
    awk '
        /^```/ { block = $0 == "```console"; command = 0; next }
        !block { next }
        /^\$ / { command = 1; print "C " substr($0, 3); next }
        command { print "O " $0 }
    ' "$1"
}

# Run one command; $2, when not empty, is what it must print.
run_example() {
    local said status=0
    touch .before
    said=$(sh -c "$1" 2>&1 </dev/null) || status=$?
    if [ "$status" -ne 0 ]; then
        printf 'status %s of: %s\n%s\n' "$status" "$1" "$said"
        return 1
    fi
    if [ -n "$2" ] && [ "$said" != "$2" ]; then
        printf 'output of: %s\n' "$1"
        diff -u --label page --label now <(printf '%s\n' "$2") <(printf '%s\n' "$said")
        return 1
    fi
    if [ -z "$said" ] && [ -z "$(find . -type f -newer .before -size +0)" ]; then
        printf 'neither output nor a file from: %s\n' "$1"
        return 1
    fi
}

# All examples on standard input, in order, in this directory.
run_examples() {
    local line command='' shown='' count=0
    while IFS= read -r line; do
        if [ "${line%% *}" = O ]; then
            shown=${shown:+$shown$'\n'}${line#O }
            continue
        fi
        [ -z "$command" ] || run_example "$command" "$shown" || return 1
        command=${line#C } shown='' count=$((count + 1))
    done
    [ -z "$command" ] || run_example "$command" "$shown" || return 1
    [ "$count" -gt 0 ] || { echo 'no examples found'; return 1; }
}

page() {
    examples_of_page "$root/man/$1" >examples
    run_examples <examples
}

@test "examples of amn(1)" { page amn.1; }
@test "examples of amn(7)" { page amn.7; }
@test "examples of amn-parse(1)" { page amn-parse.1; }
@test "examples of amn-inspect(1)" { page amn-inspect.1; }
@test "examples of amn-remember(1)" { page amn-remember.1; }
@test "examples of amn-formats(5)" { page amn-formats.5; }
@test "examples of amn-json(5)" { page amn-json.5; }

@test "the session of README.md" {
    examples_of_readme "$root/README.md" >examples
    run_examples <examples
}

@test "manual pages pass mandoc -T lint -W warning" {
    command -v mandoc >/dev/null || skip 'mandoc is not installed'
    mandoc -T lint -W warning "$root"/man/*.[157]
}

@test "every tool has a page, and every page of a tool has EXIT STATUS and EXAMPLES" {
    for tool in "$root"/amn-*/main.c; do
        tool=${tool%/main.c}
        tool=${tool##*/}
        grep -q '^\.Sh EXIT STATUS' "$root/man/$tool.1"
        grep -q '^\.Sh EXAMPLES' "$root/man/$tool.1"
    done
}

@test "every option of a tool is in its page or in amn(7), and the other way round" {
    for tool in "$root"/amn-*/main.c; do
        tool=${tool%/main.c}
        tool=${tool##*/}
        "$tool" --help | sed -n 's/^  -., --\([a-z-]*\).*/\1/p; s/^      --\([a-z-]*\).*/\1/p' | sort -u >has
        sed -n 's/^\.It .*Fl -\([a-z-]*\).*/\1/p' "$root/man/$tool.1" | sort -u >says
        sed -n 's/^\.It .*Fl -\([a-z-]*\).*/\1/p' "$root/man/amn.7" | sort -u >common
        [ -s has ]
        missing=$(comm -23 has <(sort -u says common))
        extra=$(comm -13 has says)
        [ -z "$missing$extra" ] || { echo "$tool: not documented: $missing; no option: $extra"; return 1; }
    done
}
