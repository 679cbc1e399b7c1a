# Lists the rows of tables whose booleans do not say what they mean: rows of three or more members with `true` or `false` in place of
# `.member = true`. Works in any POSIX awk.
#
#   awk -f test/code.awk -f test/rows.awk FILE...
#
# Prints FILE:LINE for each, then "N passed, N failed" of the rows with three or more members; exits with 1 if one failed.
#
# A table is an initializer that contains braces, and these are its rows. Directives do not count.

# Ends a member of the innermost braces.
function member() {
    gsub(/^[ \t]+|[ \t]+$/, "", text[depth])
    if (text[depth] != "")
        members[depth]++
    if (text[depth] == "true" || text[depth] == "false")
        bare[depth] = 1
    text[depth] = ""
}

function open(c, before) {
    row = depth > 0 && table[depth]
    text[depth] = text[depth] c
    depth++
    kind[depth] = c
    line_of[depth] = FNR
    table[depth] = c == "{" && before ~ /=[ \t]*$/
    is_row[depth] = c == "{" && row
    members[depth] = bare[depth] = 0
    text[depth] = ""
}

function close_one(c) {
    if (depth == 0)
        return
    if (kind[depth] == "{" && c == "}") {
        member()
        if (is_row[depth] && members[depth] >= 3) {
            if (bare[depth]) {
                print FILENAME ":" line_of[depth] ": a row with a boolean without a name"
                failed++
            } else {
                passed++
            }
        }
    }
    depth--
    text[depth] = text[depth] c
}

FNR == 1 {
    depth = comment = directive = 0
    text[0] = before = ""
}

{
    line = code($0)
    if (directive || line ~ /^[ \t]*#/) {
        directive = $0 ~ /\\$/
        next
    }
    while (match(line, /[][(){},;]/)) {
        c = substr(line, RSTART, 1)
        before = before substr(line, 1, RSTART - 1)
        text[depth] = text[depth] substr(line, 1, RSTART - 1)
        line = substr(line, RSTART + 1)
        if (c ~ /[[({]/)
            open(c, before)
        else if (c ~ /[])}]/)
            close_one(c)
        else if (c == "," && kind[depth] == "{")
            member()
        else if (c == ";" && kind[depth] == "{")
            members[depth] = bare[depth] = table[depth] = 0
        if (c == ";")
            text[depth] = ""
        before = ""
    }
    before = before line " "
    text[depth] = text[depth] line " "
}

END {
    if (passed + failed == 0)
        print "no row was found: wrong paths?"
    printf "%d passed, %d failed\n", passed, failed
    exit failed != 0 || passed == 0
}
