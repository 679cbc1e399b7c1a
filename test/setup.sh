#!/bin/sh
# Install missing programs and libraries to build, demonstrate, test or package amn:
#
#   sh test/setup.sh [GROUP...]                 the default is build
#   sh test/setup.sh --missing GROUP|THING...   install nothing; print what is missing, and its packages, in one line
#
# Supports apt-get (Debian, Ubuntu), dnf (Fedora) and brew (macOS). Prints each command before it runs it; uses sudo if
# not root. If nothing is missing it does nothing and needs no network. Exits with 1 if something is still missing.
#
#   build    a C compiler, make, pkg-config, and the headers of zlib, jansson and libarchive
#   demo     python3 for the sample models, jq for the reports
#   test     libcrypto for digests, bats, jq, mandoc, python3, gzip, zstd, xz, ps (with which bats ends a hanging test), and an
#            awk: test/layers.awk runs in mawk, gawk and the awk of BSD and macOS
#   ci       clang with its sanitizers, valgrind, strace for the tests of system calls, curl for the tests of uploads, and the
#            shells whose completions are tested
#   package  tools to build packages (mandoc: the text of the manual), and the systems to try them in; Debian and derivatives only
#   engines  GNU parallel, Slurm with munge, curl, and Python's venv, for the scripts in contrib/
#
# $PKG_CONFIG is the pkg-config to use.
set -u

say() { printf 'setup: %s\n' "$*"; }
die() { say "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Checks that this clang can link a sanitized build.
clang_sanitizes() {
    have clang || return 1
    probe=$(mktemp -d) || return 1
    echo 'int main(void) { return 0; }' >"$probe/probe.c"
    clang -fsanitize=address,undefined -o "$probe/probe" "$probe/probe.c" 2>/dev/null
    linked=$?
    rm -rf "$probe"
    return $linked
}

# Checks that libcrypto can be loaded; the digests need it.
libcrypto() {
    python3 -c 'import ctypes; ctypes.CDLL("libcrypto.so.3")' 2>/dev/null ||
        python3 -c 'import ctypes; ctypes.CDLL("libcrypto.so.1.1")' 2>/dev/null || have brew
}

# present WHAT: checks that it is installed.
present() {
    case $1 in
    compiler) have cc || have gcc || have clang ;;
    libc) [ -e /usr/include/stdio.h ] || ! have apt-get ;;
    pkg-config) ${PKG_CONFIG:-pkg-config} --version >/dev/null 2>&1 ;;
    zlib | jansson | libarchive) present pkg-config && ${PKG_CONFIG:-pkg-config} --exists "$1" ;;
    clang) clang_sanitizes ;;
    libcrypto) libcrypto ;;
    libcrypto.a) [ -e "$(gcc -print-file-name=libcrypto.a 2>/dev/null)" ] ;;
    debhelper) have dh ;;
    dpkg-source) have dpkg-source && have patch ;;
    parallel) parallel --version 2>/dev/null | grep -q 'GNU parallel' ;;
    munged | slurmctld | slurmd) have "$1" || [ -x "/usr/sbin/$1" ] ;;
    venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    build-essential) [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
    *) have "$1" ;;
    esac
}

# packages WHAT: prints its packages for $manager; nothing if there are none.
packages() {
    case $manager:$1 in
    apt-get:compiler) echo gcc ;;
    apt-get:libc) echo libc6-dev ;;
    apt-get:zlib) echo zlib1g-dev ;;
    apt-get:jansson | apt-get:libarchive) echo "lib${1#lib}-dev" ;;
    apt-get:libcrypto) echo libssl3 ;;
    apt-get:libcrypto.a) echo libssl-dev ;;
    apt-get:awk) echo mawk ;;
    apt-get:munged) echo munge ;;
    apt-get:sbatch) echo slurm-client ;;
    apt-get:venv) echo python3-venv ;;
    apt-get:ps) echo procps ;;
    apt-get:xz) echo xz-utils ;;
    apt-get:musl-gcc) echo musl-tools ;;
    apt-get:dpkg-source) echo dpkg-dev ;;
    apt-get:autoreconf) echo dh-autoreconf ;;
    # The sanitizers' package is named after clang's version, the one that `clang` depends on.
    apt-get:clang) echo clang "$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p')" ;;
    dnf:compiler) echo gcc ;;
    dnf:pkg-config) echo pkgconf-pkg-config ;;
    dnf:zlib | dnf:jansson | dnf:libarchive) echo "$1-devel" ;;
    dnf:libcrypto) echo openssl-libs ;;
    dnf:awk) echo gawk ;;
    dnf:munged) echo munge ;;
    dnf:sbatch) echo slurm ;;
    dnf:slurmctld | dnf:slurmd) echo "slurm-$1" ;;
    dnf:venv) ;;
    dnf:ps) echo procps-ng ;;
    dnf:clang) echo clang compiler-rt ;;
    brew:compiler | brew:make) ;;               # xcode-select --install
    brew:pkg-config) echo pkgconf ;;
    brew:bats) echo bats-core ;;
    brew:python3) echo python ;;
    brew:valgrind | brew:strace | brew:curl | brew:musl-gcc | brew:munged | brew:sbatch | brew:slurm* | brew:venv) ;;
    *:autoreconf) echo autoconf automake libtool ;;
    apt-get:build-essential | apt-get:debhelper | apt-get:lintian | apt-get:mmdebstrap) echo "$1" ;;
    *:build-essential | *:libcrypto.a | *:debhelper | *:lintian | *:mmdebstrap | *:dpkg-source | *:apt-get) ;;      # Debian only
    *) echo "$1" ;;
    esac
}

run() {
    say "+ $*"
    "$@" || die "this command failed: $*"
}

install_with() {
    case $manager in
    apt-get)
        run $root apt-get update
        run $root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(packages_of "$@")
        ;;
    dnf) run $root dnf install -y $(packages_of "$@") ;;
    brew) run brew install $(packages_of "$@") ;;
    esac
}

packages_of() {
    for what; do packages "$what"; done
}

missing() {
    for what; do present "$what" || echo "$what"; done
}

# For a message: zlib (Debian zlib1g-dev, Fedora zlib-devel), jansson (...)
with_packages() {
    comma=
    for what; do
        debian=$(manager=apt-get; packages "$what")
        fedora=$(manager=dnf; packages "$what")
        from=${debian:+Debian $debian}${fedora:+${debian:+, }Fedora $fedora}
        printf '%s' "$comma$what${from:+ ($from)}"
        comma=', '
    done
    [ -z "$comma" ] || echo
}

# things NAME: prints the things of a group; another name is a thing.
things() {
    case $1 in
    build) echo compiler libc make pkg-config zlib jansson libarchive ;;
    demo) echo jq python3 ;;
    test) echo bats jq mandoc python3 gzip zstd xz ps awk libcrypto ;;
    ci) echo clang valgrind strace curl zsh fish ;;
    package) echo git build-essential debhelper lintian mandoc musl-gcc dpkg-source autoreconf mmdebstrap libcrypto.a ;;
    engines) echo parallel munged slurmctld slurmd sbatch curl venv ;;
    *) echo "$1" ;;
    esac
}

if [ "${1-}" = --missing ]; then
    shift
    with_packages $(missing $(for name; do things "$name"; done))
    exit 0
fi

[ $# -gt 0 ] || set -- build
wanted=
for group; do
    [ "$(things "$group")" != "$group" ] || die "unknown group '$group': expected build, demo, test, ci, package or engines"
    wanted="$wanted $(things "$group")"
done

# macOS has libarchive and zlib without headers; brew's are in separate folders.
if have brew; then
    for keg in libarchive zlib; do
        PKG_CONFIG_PATH=$(brew --prefix)/opt/$keg/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
    done
    export PKG_CONFIG_PATH
    say "for make: export PKG_CONFIG_PATH=$PKG_CONFIG_PATH"
fi

lacking=$(missing $wanted)
[ -n "$lacking" ] || exit 0
say "missing:" $lacking

manager=
for m in apt-get dnf brew; do
    [ -n "$manager" ] || { have $m && manager=$m; }
done
[ -n "$manager" ] || die "apt-get, dnf and brew not found; install by hand:" $lacking

root=
if [ "$manager" != brew ] && [ "$(id -u)" -ne 0 ]; then
    have sudo || die "needs root or sudo; install by hand:" $(packages_of $lacking)
    root=sudo
fi

install_with $lacking
lacking=$(missing $wanted)
[ -z "$lacking" ] || die "still missing:" $lacking
