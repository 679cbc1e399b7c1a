# Checks every #include against lib/common/LAYERS. Works in any POSIX awk: mawk, gawk, the one of BSD and macOS.
#
#   awk -f test/layers.awk lib/common/LAYERS FILE...      paths as in the tree: lib/common/LAYER/..., amn-TOOL/..., lib/amn/...
#
# A file belongs to the row of its folder, or of the nearest folder above it that has one.
#
# Prints FILE:LINE: for each include that the table does not allow and each pair of the table that no include needs, then "N passed, N failed"; exits with 1 if one failed.

function fail(why) {
    print FILENAME ":" FNR ": " why
    failed++
    failing = 1
}

# The table: "layer: layers" and "<header.h>: layers".
NR == FNR {
    table = FILENAME
    sub(/#.*/, "")
    if (NF == 0)
        next
    row = $1
    sub(/:$/, "", row)
    known[row] = 1
    for (i = 2; i <= NF; i++) {
        may[row, $i] = 1
        line_of[row, $i] = FNR
    }
    next
}

# Returns the row of a path below lib/common: "" if it has none.
function row_of(path) {
    while (sub(/\/[^\/]*$/, "", path))
        if (path in known)
            return path
    return ""
}

FNR == 1 {
    parts = split(FILENAME, path, "/")
    tool = path[1] ~ /^amn-/ ? path[1] : parts == 3 && path[1] == "lib" && path[2] == "amn" ? "lib/amn" : ""
    layer = tool != "" ? "amn-*" : FILENAME ~ /^lib\/common\// ? row_of(substr(FILENAME, 12)) : ""
    if (!(layer in known)) {
        fail("this folder has no row in the table")
        failing = 0
    }
}

/^[ \t]*#[ \t]*include/ {
    what = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", what)
    failing = 0
    if (what ~ /^</)
        angle(substr(what, 1, index(what, ">")))
    else if (what ~ /^"/)
        quoted(substr(what, 2, index(substr(what, 2), "\"") - 1))
    else
        fail("an include must name its file")
    passed += !failing
}

# Returns true if the table allows the pair, and remembers that it is needed.
function allowed(row, other) {
    used[row, other] = 1
    return (row, other) in may
}

# <header.h>: a system header, which every layer may include, or that of a library, which has a row.
function angle(header) {
    if (header in known && !allowed(header, layer))
        fail(layer " may not include " header)
}

# "layer/noun.h", or a tool's own header.
function quoted(header,    to, n, part, line) {
    n = split(header, part, "/")
    to = row_of(header)
    if (tool != "" && n == 1 && (getline line < (tool "/" header)) >= 0)
        return
    if (n < 2 || header ~ /(^|\/)\.\.?(\/|$)/)
        fail("\"" header "\": write \"layer/noun.h\"")
    else if (!(to in known))
        fail("\"" header "\": there is no layer " part[1])
    else if (to != layer && !allowed(layer, to))
        fail(layer " may not include \"" header "\"")
    else if (to != layer && header ~ /_priv\.h$/)
        fail("\"" header "\" is private to " to)
}

END {
    for (pair in may)
        if (!(pair in used)) {
            split(pair, part, SUBSEP)
            print table ":" line_of[pair] ": no file of " part[1] " needs " part[2]
            failed++
        }
    if (passed == 0 && failed == 0)
        print "no include was found: wrong paths?"
    printf "%d passed, %d failed\n", passed, failed
    exit failed != 0 || passed == 0
}
