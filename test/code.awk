# The code of a line of C, for scripts that read sources. `comment` is the state between lines; set it to 0 at the first.

# Removes comments, and what is in strings and character constants.
function code(line,    out, at, c) {
    out = ""
    while (line != "") {
        if (comment) {
            at = index(line, "*/")
            if (at == 0)
                return out
            line = substr(line, at + 2)
            comment = 0
            continue
        }
        if (!match(line, /"|'|\/\*|\/\//))
            return out line
        c = substr(line, RSTART, 1)
        out = out substr(line, 1, RSTART - 1)
        line = substr(line, RSTART)
        if (substr(line, 1, 2) == "//")
            return out
        if (c == "/") {
            comment = 1
            line = substr(line, 3)
        } else {
            if (c == "\"")
                match(line, /^"([^"\\]|\\.)*"?/)
            else
                match(line, /^'([^'\\]|\\.)*'?/)
            out = out c c
            line = substr(line, RLENGTH + 1)
        }
    }
    return out
}
