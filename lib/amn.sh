#!/bin/sh
# amn: the front of the amn tools. `amn VERB ...` runs `amn-VERB ...`, found beside this file or in PATH;
# `amn help VERB` shows its manual page. Installed as bin/amn.
set -u

# The folder this file really lies in, behind every symbolic link.
here() {
    self=$0
    case $self in
    */*) ;;
    *) [ -f "$self" ] && self=./$self || self=$(command -v -- "$self") ;;
    esac
    while [ -L "$self" ]; do
        target=$(readlink -- "$self")
        case $target in
        /*) self=$target ;;
        *) self=${self%/*}/$target ;;
        esac
    done
    CDPATH='' cd -- "${self%/*}/" && pwd -P
}

# The tool of a verb: beside this file, else in PATH. Fails when there is none.
tool_of() {
    case $1 in
    '' | *[!a-z0-9-]*) return 1 ;;
    esac
    if [ -x "$bin/amn-$1" ]; then
        printf '%s\n' "$bin/amn-$1"
    else
        command -v -- "amn-$1"
    fi
}

list_verbs() {
    echo 'Usage: amn VERB [ARGUMENT]...'
    echo
    while read -r verb says; do
        tool_of "$verb" >/dev/null && printf '  amn %-10s %s\n' "$verb" "$says"
    done <<'VERBS'
parse list every tensor
inspect what a model is, and what quantization took from it
remember recover precision: everything quantized becomes BF16
forget reduce precision by a named scheme
convert change the container
VERBS
    echo
    echo "'amn help VERB' shows a manual page, 'amn VERB --help' the options."
}

unknown() {
    printf "amn: usage: '%s' is no verb\n" "$(printf %s "$1" | LC_ALL=C tr -c '[:print:]' '?')" >&2
    list_verbs >&2
    exit 2
}

# The manual page beside the tools, as in the source tree or as installed; else what man knows.
show_manual() {
    tool_of "$1" >/dev/null || unknown "$1"
    for page in "$bin/../man/amn-$1.1" "$bin/../share/man/man1/amn-$1.1"; do
        [ -r "$page" ] && exec man "$page"
    done
    exec man "amn-$1"
}

# The tools hold the version.
show_version() {
    tool=$(tool_of parse) || { echo 'amn: cannot open: amn-parse is not beside this file, nor in PATH' >&2; exit 66; }
    "$tool" --version | sed 's/^amn-parse/amn/'
}

bin=$(here) || exit 70
case ${1-} in
'' | -h | --help) list_verbs ;;
-V | --version) show_version ;;
help)
    case ${2-} in
    '') list_verbs ;;
    *) show_manual "$2" ;;
    esac
    ;;
*)
    tool=$(tool_of "$1") || unknown "$1"
    shift
    exec "$tool" "$@"
    ;;
esac
