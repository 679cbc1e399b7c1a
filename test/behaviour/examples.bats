#!/usr/bin/env bats
# The commands of the manual pages and of README.md work as written, and the pages are complete.

setup() {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    AMN_BIN=$(cd "${AMN_BIN:-$root/bin}" && pwd)
    PATH=$AMN_BIN:$PATH
    export LC_ALL=C.UTF-8
    unset AMN_CPU
    dir=$(mktemp -d "${TMPDIR:-/tmp}/amn-test.XXXXXX")
    cd "$dir"
    "$root/test/make/examples" .
}

teardown() {
    cd /
    rm -rf "$dir"
}

page() {
    "$root/test/helpers/examples" "$root/man/$1"
}

@test "examples of amn(1)" { page amn.1; }
@test "examples of amn(7)" { page amn.7; }
@test "examples of amn-adapters(7)" { page amn-adapters.7; }
@test "examples of amn-exact(7)" { page amn-exact.7; }
@test "examples of amn-memory(7)" { page amn-memory.7; }
@test "examples of amn-schemes(7)" { page amn-schemes.7; }
@test "examples of amn-parse(1)" { page amn-parse.1; }
@test "examples of amn-inspect(1)" { page amn-inspect.1; }
@test "examples of amn-remember(1)" { page amn-remember.1; }
@test "examples of amn-convert(1)" { page amn-convert.1; }
@test "examples of amn-forget(1)" { page amn-forget.1; }
@test "examples of amn-family(5)" { page amn-family.5; }
@test "examples of amn-formats(5)" { page amn-formats.5; }
@test "examples of amn-json(5)" { page amn-json.5; }
@test "examples of amn-writers(5)" { page amn-writers.5; }

@test "the commands of README.md" {
    "$root/test/helpers/examples" "$root/README.md"
}

@test "the terminal picture of README.md shows what the tools print" {
    "$root/test/make/session" "$AMN_BIN" pictures
    for name in light dark; do
        diff -u "$root/doc/session-$name.svg" pictures/session-$name.svg || { echo 'run: test/make/session bin doc'; return 1; }
    done
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

@test "every option of a tool is in its page or in amn(7), and vice versa" {
    for tool in "$root"/amn-*/main.c; do
        tool=${tool%/main.c}
        tool=${tool##*/}
        "$tool" --help=all | sed -n 's/^  -., --\([a-z-]*\).*/\1/p; s/^      --\([a-z-]*\).*/\1/p' | sort -u >has
        sed -n 's/^\.It .*Fl -\([a-z-]*\).*/\1/p' "$root/man/$tool.1" | sort -u >says
        sed -n 's/^\.It .*Fl -\([a-z-]*\).*/\1/p' "$root/man/amn.7" | sort -u >common
        [ -s has ]
        missing=$(comm -23 has <(sort -u says common))
        extra=$(comm -13 has says)
        [ -z "$missing$extra" ] || { echo "$tool: not documented: $missing; no option: $extra"; return 1; }
    done
}

@test "the complete file of amn-family(5) converts as the built-in family does" {
    awk '/^\.Sh /{ inside = /COMPLETE/ } /^\.Ed/{ block = 0 } block{ print } inside && /^\.Bd/{ block = 1 }' "$root/man/amn-family.5" >tiny.family
    amn-convert --family tiny.family -o tiny.gguf model
    amn-convert -o built-in.gguf model
    cmp tiny.gguf built-in.gguf
}
