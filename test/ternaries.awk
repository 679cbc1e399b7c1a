# Lists the statements with three or more `?:`. Works in any POSIX awk.
#
#   awk [-v most=N] -f test/code.awk -f test/ternaries.awk FILE...
#
# Prints FILE:LINE for each, then "N passed, N failed" of the statements with one or more; exits with 1 if one failed.
# With `most` it also fails if the files have more than N `?:` in 1,000 lines.
#
# A statement ends at a semicolon outside of parentheses, at the brace of a block, after the head of an if or a loop, or with
# a directive. Comments, strings and characters do not count.

function end() {
    all += marks
    if (marks >= 3) {
        print FILENAME ":" begin ": a statement with " marks " ?:"
        failed++
    } else if (marks != 0) {
        passed++
    }
    marks = 0
    depth = 0
}

FNR == 1 {
    end()
    comment = directive = 0
    before = ""
}

{
    line = code($0)
    if (directive || line ~ /^[ \t]*#/) {
        if (!directive) {
            end()
            begin = FNR
        }
        directive = $0 ~ /\\$/
        marks += gsub(/\?/, "?", line)
        if (!directive)
            end()
        next
    }
    for (at = 0; match(line, /[][(){};?]/); line = substr(line, RSTART + 1)) {
        at += RSTART
        c = substr(line, RSTART, 1)
        before = before substr(line, 1, RSTART - 1)
        if (c == "?" && marks++ == 0)
            begin = FNR
        if (c == "(" && depth == 0)
            head = before ~ /(^|[ \t])(if|for|while|switch) $/
        if (c == "(" || c == "[")
            depth++
        if (c == ")" || c == "]")
            depth--
        if (depth == 0 && (c == ";" || (c == ")" && head) || (c == "{" && (at == 1 || before ~ /(else|do) $/))))
            end()
        before = c ~ /[{};]/ ? "" : before c
    }
    before = before line
}

END {
    end()
    if (passed + failed == 0)
        print "no statement was found: wrong paths?"
    if (most != "" && 1000 * all > most * NR) {
        printf "%d ?: in %d lines: more than %d in 1,000\n", all, NR, most
        failed++
    }
    printf "%d passed, %d failed\n", passed, failed
    exit failed != 0 || passed == 0
}
