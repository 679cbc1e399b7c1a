# Lists the struct, enum and union tags that are defined more than once. Works in any POSIX awk.
#
#   awk -f test/tags.awk FILE...
#
# Prints FILE:LINE for each definition after the first, then "N passed, N failed"; exits with 1 if one failed.

{
    line = $0
    while (match(line, /(struct|enum|union) [A-Za-z_0-9]+ \{/)) {
        split(substr(line, RSTART, RLENGTH), word, " ")
        if (word[2] in first) {
            print FILENAME ":" FNR ": " word[1] " " word[2] " is also defined at " first[word[2]]
            failed++
        } else {
            first[word[2]] = FILENAME ":" FNR
            passed++
        }
        line = substr(line, RSTART + RLENGTH)
    }
}

END {
    if (passed == 0)
        print "no tag was found: wrong paths?"
    printf "%d passed, %d failed\n", passed, failed
    exit failed != 0 || passed == 0
}
