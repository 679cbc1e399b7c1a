#!/usr/bin/env bats
# Includes, tags, statements and rows that test/layers.awk, tags.awk, ternaries.awk and rows.awk must refuse.
load helper

setup() {
    dir=$(mktemp -d "${TMPDIR:-/tmp}/amn-test.XXXXXX")
    cd "$tests/.."
    mkdir "$dir/lib"
    cp -R lib/common lib/amn "$dir/lib/"
    cp -R amn-* "$dir/"
    cd "$dir"
}

check() {
    awk -f "$tests/layers.awk" lib/common/LAYERS $(find lib/common lib/amn amn-* -name '*.[ch]')
}

# refuses FILE LINE: FILE fails with this line appended, and the line's number is reported.
refuses() {
    local at
    printf '%s\n' "$2" >>"$1"
    at=$(wc -l <"$1" | tr -d " ")
    try 1 check
    grep -qE "^$1:$at: " out || { echo "not named: $1:$at: $2"; cat out; return 1; }
    sed '$d' "$1" >"$1.before"
    mv "$1.before" "$1"
}

# bats test_tags=full
@test "the tree passes" {
    try 0 check
    grep -qE '[1-9][0-9]* passed, 0 failed' out
}

# bats test_tags=full
@test "an include beyond the table fails, with file and line" {
    refuses lib/common/base/str.c '#include "catalog/catalog.h"'
    refuses lib/common/source/pipe.c '#include "dtype/dtype.h"'
    refuses lib/common/plan/pieces.h '#include "sink/sink.h"'
    refuses lib/common/kernel/ref/fp8.c '#include "container/container.h"'
    refuses lib/common/cli/cli.c '  #  include  "plan/pieces.h"    /* spaces */'
    refuses lib/common/pipeline/block.c '#include "cli/cli.h"'
    try 0 check
}

# bats test_tags=full
@test "a folder inside a layer has its own row" {
    refuses lib/common/container/gguf/gguf.c '#include "container/torch/checkpoint.h"'
    refuses lib/common/sink/sink.c '#include "output/outputs.h"'
    refuses lib/common/pipeline/block.c '#include "output/outputs.h"'
    refuses lib/common/container/container.c '#include "container/safetensors/safetensors_priv.h"'
    try 0 check
}

# bats test_tags=full
@test "a pair of the table that no include needs fails, with its line" {
    sed -i 's/^scan: .*/& zlib/; s/^base:$/base: dtype/' lib/common/LAYERS
    try 1 check
    grep -qE "^lib/common/LAYERS:[0-9]+: no file of base needs dtype$" out
    grep -qE "^lib/common/LAYERS:[0-9]+: no file of scan needs zlib$" out
}

# bats test_tags=full
@test "libraries only in layers that the table lists" {
    refuses lib/common/base/str.c '#include <zlib.h>'
    refuses lib/common/model/model.c '#include <archive.h>'
    refuses amn-parse/main.c '#include <jansson.h>'
    refuses lib/common/catalog/shape.c '#include "jansson.h"'
    refuses amn-parse/main.c '#include "jansson.h"'
    refuses lib/amn/manual.c '#include <zlib.h>'
}

# bats test_tags=full
@test "private headers stay in their layer" {
    refuses lib/common/model/model.c '#include "source/source_priv.h"'
    refuses amn-remember/main.c '#include "source/source_priv.h"'
}

# bats test_tags=full
@test "a tool includes no other tool, and nothing by a path" {
    refuses amn-remember/main.c '#include "amn-inspect/scan.h"'
    refuses amn-remember/main.c '#include "../amn-inspect/scan.h"'
    refuses lib/amn/list.c '#include "amn-inspect/scan.h"'
    refuses lib/amn/list.c '#include "options.h"'
    refuses lib/common/base/str.c '#include "../plan/pieces.h"'
    refuses lib/common/base/str.c '#include "str.h"'
}

# bats test_tags=full
@test "an unknown layer, a file outside the layers, an include that is a macro" {
    refuses lib/common/base/str.c '#include "utils/utils.h"'
    refuses lib/common/base/str.c '#include HEADER'
    mkdir lib/common/utils
    printf '#include <stdio.h>\n' >lib/common/utils/utils.c
    try 1 check
    grep -q '^lib/common/utils/utils.c:1: ' out
}

@test "formats and their files are not named in layers that must not know them" {
    try 1 grep -rniE 'safetensors|gguf|config\.json' lib/common/encode lib/common/plan lib/common/pipeline lib/common/exact
    [ ! -s out ]
}

@test "no struct, enum or union tag is defined twice" {
    try 0 awk -f "$tests/tags.awk" $(find lib amn-* "$tests/unit" -name '*.[ch]')
    grep -qE '[1-9][0-9]* passed, 0 failed' out
    printf 'struct twice { int a; };\n' >>lib/common/base/str.c
    printf 'enum twice { B };\n' >>lib/common/cli/cli.c
    try 1 awk -f "$tests/tags.awk" $(find lib amn-* -name '*.[ch]')
    grep -qE '^lib/common/(base/str|cli/cli).c:[0-9]+: (struct|enum) twice is also defined at ' out
}

@test "no statement has three conditional operators, and 1,000 lines at most 15" {
    try 0 awk -v most=15 -f "$tests/code.awk" -f "$tests/ternaries.awk" $(find lib amn-* -name '*.[ch]')
    grep -qE '[1-9][0-9]* passed, 0 failed' out
    cat >two.c <<'END'
/* a ? b : c ? d : e ? f : g; */
const char *const text = "a ? b : c ? d : e ? f : g", mark = '?', quote = '"';
#define PICK(a, b, c) ((a) ? (b) : (c) ? (a) : \
    (b))
int
two(int a, int b)
{
    for (int i = a ? b : 0; i < (b ? a : 1); i++)
        a += i ? 1 : 2;
    if (a ? b : a) {
        return a ? b : a;
    }
    return a ? b : b ? a : 0;
}
END
    try 0 awk -f "$tests/code.awk" -f "$tests/ternaries.awk" two.c
    [ "$(cat out)" = '6 passed, 0 failed' ]
    try 0 awk -v most=650 -f "$tests/code.awk" -f "$tests/ternaries.awk" two.c
    try 1 awk -v most=640 -f "$tests/code.awk" -f "$tests/ternaries.awk" two.c
    [ "$(head -n 1 out)" = '9 ?: in 14 lines: more than 640 in 1,000' ]
    cat >three.c <<'END'
#define PICK(a, b, c) ((a) ? (b) : (c) ? (a) : \
    (b) ? (c) : 0)
static const struct row {
    int a, b;
} rows[] = { { A ? 1 : 2, B ? 1 : 2 },
    { C ? 1 : 2, 0 } };
int
three(int a)
{
    return a ? 1
        : f(a ? 2 : 3, a ? 4 : 5);
}
END
    try 1 awk -f "$tests/code.awk" -f "$tests/ternaries.awk" three.c
    diff out - <<'END'
three.c:1: a statement with 3 ?:
three.c:5: a statement with 3 ?:
three.c:10: a statement with 3 ?:
0 passed, 3 failed
END
}

@test "booleans in rows of tables have names" {
    try 0 awk -f "$tests/code.awk" -f "$tests/rows.awk" $(find lib amn-* -name '*.[ch]')
    grep -qE '[1-9][0-9]* passed, 0 failed' out
    cat >named.c <<'END'
/* { { 1, 2, true } } */
static const struct row rows[] = { { 1, 2, 3 }, { "a, true", .is = true, .are = false }, { 1, true }, ROW(1, 2, true) };
#define ROW(a, b, c) { (a), (b), true }
static int
named(void)
{
    const struct row one = { 1, 2, true };
    if (one.is) { return f(1, 2, true), true; }
    return 0;
}
END
    try 0 awk -f "$tests/code.awk" -f "$tests/rows.awk" named.c
    [ "$(cat out)" = '2 passed, 0 failed' ]
    cat >bare.c <<'END'
static const struct row rows[] = {
    [A] = { "a", 1, true },
    { { "b", "c" },
      2, false, NULL },
    { .name = "d", .is = true, .n = 3 },
};
END
    try 1 awk -f "$tests/code.awk" -f "$tests/rows.awk" bare.c
    diff out - <<'END'
bare.c:2: a row with a boolean without a name
bare.c:3: a row with a boolean without a name
1 passed, 2 failed
END
}
