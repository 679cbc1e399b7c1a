#!/usr/bin/env bats
# bats file_tags=full
# Installed files, and the contents of a release. test/check-packages tries the packages themselves.
load helper

# The Makefile without the variables of the make that runs the tests; the tools are built, and nothing is rebuilt. $path
# is the search path for programs.
make_here() {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL PATH="${path:-$PATH}" \
        make -s -C "$tests/.." -o all bin="$AMN_BIN" obj="$dir/obj" out="$dir/dist" "$@"
}

# For a checkout of any owner.
files_of_git() {
    git -C "$tests/.." -c safe.directory='*' -c core.quotePath=off ls-files | LC_ALL=C sort
}

files_in() {
    (cd "$1" && find . ! -type d | sed 's,^\./,,' | LC_ALL=C sort)
}

names='amn amn-convert amn-dequantize amn-forget amn-info amn-inspect amn-parse amn-quantize amn-remember'

@test "make install: the tools, their aliases, a page for each, its text, completions; make uninstall leaves nothing" {
    for c in amn.bash _amn amn.fish; do echo "# $c" >$c; done
    texts=
    for page in "$tests"/../man/*.[157]; do
        touch ${page##*/}.txt
        texts="$texts $dir/${page##*/}.txt"
    done
    for prefix in /usr/local /usr; do
        set -- DESTDIR="$dir/root" PREFIX=$prefix completions="$dir/amn.bash $dir/_amn $dir/amn.fish" page_texts="$texts"
        make_here install "$@"
        {
            for n in $names; do
                printf '%s\n' bin/$n share/man/man1/$n.1 share/bash-completion/completions/$n \
                    share/fish/vendor_completions.d/$n.fish
            done
            echo share/zsh/site-functions/_amn
            for page in "$tests"/../man/*.[57]; do echo share/man/man${page##*.}/${page##*/}; done
            for text in *.txt; do echo share/amn/$text; done
        } | LC_ALL=C sort | diff - <(files_in root$prefix)
        [ -z "$(find root -type l ! -exec test -e {} \; -print)" ]      # no dangling link
        for n in $names; do
            root$prefix/bin/$n --help | grep -q Usage
            grep -q bash root$prefix/share/bash-completion/completions/$n
            grep -q fish root$prefix/share/fish/vendor_completions.d/$n.fish
        done
        make_here uninstall "$@"
        [ -z "$(files_in root)" ]
        [ ! -e root$prefix/share/amn ]
    done
}

@test "make install strips the tools; STRIP=: keeps the debug symbols" {
    sections() { readelf -SW root/usr/bin/amn-parse; }
    make_here install DESTDIR="$dir/root" PREFIX=/usr completions= page_texts=
    [ "$(sections | grep -c debug_info)" -eq 0 ]
    make_here install DESTDIR="$dir/root" PREFIX=/usr completions= page_texts= STRIP=:
    cmp root/usr/bin/amn-parse "$AMN_BIN/amn-parse"
}

@test "installed tools are small: amn-parse at most 1 MB, all together at most 12 MB" {
    make_here install DESTDIR="$dir/root" PREFIX=/usr completions= page_texts=
    [ "$(stat -c %s root/usr/bin/amn-parse)" -le 1000000 ]
    [ "$(find root/usr/bin -type f -exec stat -c %s {} + | awk '{ n += $1 } END { print n }')" -le 12000000 ]
}

@test "make help names every target for users" {
    make_here help >help
    for target in $(sed -n 's/^.PHONY: //p' "$tests/../Makefile"); do
        case $target in all | unit | fixtures | clean) continue ;; esac
        grep -q "^  make .*$target" help || { echo "$target"; return 1; }
    done
}

@test "make install without completions and texts makes no folder for them" {
    make_here install DESTDIR="$dir/root" PREFIX=/usr completions= page_texts=
    [ "$(ls root/usr/share)" = man ]
}

@test "a missing library: one line with its packages, before anything is compiled; make clean does not check" {
    try 2 make_here PKG_CONFIG="env PKG_CONFIG_LIBDIR=$dir pkg-config" "$dir/obj/amn-parse/main.o"
    [ "$(wc -l <err)" -eq 1 ]
    for words in zlib1g-dev zlib-devel libjansson-dev jansson-devel libarchive-dev libarchive-devel 'make setup'; do
        grep -q -e "$words" err
    done
    try 2 make_here PKG_CONFIG=/nonexistent "$dir/obj/amn-parse/main.o"
    [ "$(wc -l <err)" -eq 1 ]
    grep -q 'not found: pkg-config (Debian pkg-config, Fedora pkgconf-pkg-config)' err
    [ ! -e obj ]
    try 0 make_here PKG_CONFIG=/nonexistent -n clean setup uninstall
    is_empty err
}

@test "pkg-config runs once for a make" {
    printf '#!/bin/sh\necho "$*" >>"%s/asked"\nexec pkg-config "$@"\n' "$dir" >pc
    chmod +x pc
    try 0 make_here PKG_CONFIG="$dir/pc" "$dir/obj/amn-parse/main.o" "$dir/obj/amn-inspect/main.o"
    [ "$(grep -c -e --cflags asked)" -eq 1 ]
}

# make static takes minutes, and needs a system with its compiler.
@test "the replacement of the loader in static tools compiles" {
    try 0 make_here CFLAGS='-O0 -Werror -DLIBARCHIVE_LINKED' "$dir/obj/lib/common/source/libarchive.o"
}

# compiles STATUS FLAGS OBJECT: with these CFLAGS, in a separate folder.
compiles() {
    rm -rf "$dir/obj"
    try "$1" make_here CFLAGS="$2" "$dir/obj/lib/common/$3"
}

@test "flags that change floating-point results are refused at compile time, or have no effect" {
    for flags in -Ofast '-O2 -ffast-math' '-O2 -ffinite-math-only'; do
        compiles 2 "$flags" base/real.o
        grep -q 'output bytes must not depend on the compiler' err
    done
    try 2 make_here LDFLAGS=-Ofast -n all
    grep -q 'LDFLAGS: gcc links code for -Ofast' err
    fma=
    [ "$(uname -m)" != x86_64 ] || fma=-mfma
    compiles 0 "-O2 $fma" kernel/ref/affine.o
    cp obj/lib/common/kernel/ref/affine.o plain.o
    for flags in -funsafe-math-optimizations -ffp-contract=fast '-fassociative-math -fno-signed-zeros -fno-trapping-math' \
            -freciprocal-math; do
        compiles 0 "-O2 $fma $flags" kernel/ref/affine.o
        cmp obj/lib/common/kernel/ref/affine.o plain.o || { echo "other code with $flags"; return 1; }
    done
}

@test "32-bit and big-endian hosts are refused at compile time" {
    for flags in '-U__SIZEOF_POINTER__ -D__SIZEOF_POINTER__=4' '-U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__'; do
        compiles 2 "$flags" base/hash.o
        grep -q 'amn supports 64-bit little-endian hosts only' err
        refute grep -q 'must not depend' err
    done
}

# Their last digit depends on the libc, and outputs and reports would too: base/real.h has replacements.
@test "the library calls no logarithm, power or other transcendental function of libm" {
    command -v nm >/dev/null || skip "no nm"
    nm -u "${AMN_OBJ:-$tests/../obj}/libamn.a" | awk 'NF == 2 { print $2 }' | sort -u >calls
    grep -qx sqrt calls
    refute grep -xE '(a?(sin|cos|tan)h?|atan2|sincos|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|cbrt|hypot|erfc?|[lt]gamma)[fl]?' calls
}

@test "make dist: the files in git, reproducibly; without git it says so" {
    [ -e "$tests/../.git" ] || skip "this is no git checkout"
    try 0 make_here dist
    cp dist/*.tar.gz first
    (umask 077 && TZ=Asia/Tokyo try 0 make_here dist)
    cmp dist/*.tar.gz first
    version=$(amn-parse --version | cut -d' ' -f2)
    [ -e "dist/amn-$version.tar.gz" ]
    tar -xzf first
    files_of_git | diff - <(files_in "amn-$version")
    try 2 make -C "amn-$version" dist
    grep -q 'make dist: no git here' err
}

@test "CHANGELOG.md and README.md have the version of the tools, and all tools have the same one" {
    version=$(amn-parse --version | cut -d' ' -f2)
    grep -qF "$version" "$tests/../CHANGELOG.md"
    grep -qF "amn-$version.tar.gz" "$tests/../README.md"
    for n in $names; do $n --version | grep -qF " $version"; done
}

@test "make check, make static, make deb: missing programs in one line" {
    mkdir path
    for c in sh make sed stat getconf; do ln -s "$(command -v $c)" path; done
    for target in check check-full; do
        path=$dir/path try 2 make_here $target
        [ "$(grep -c . err)" -le 2 ]
        grep -q "^make $target: not found: .*bats (Debian bats, Fedora bats), .*; 'make setup' installs what is missing$" err
    done
    for target in static deb; do
        path=$dir/path try 2 make_here $target
        [ "$(grep -c . err)" -le 2 ]            # make itself adds a line
        grep -q "^make $target: not found: .*on Debian 'sh test/setup.sh build package' installs it" err
    done
    grep -q 'debhelper (Debian debhelper), lintian (Debian lintian)' err
    only path
}

@test "CONTRIBUTING.md has a room for each test file" {
    column() {
        sed -n '/^### Where a test belongs/,/^## /p' "$tests/../CONTRIBUTING.md" | awk -F '|' -v n="$1" '/^\|/ && ++row > 2 { print $n }' |
            tr -s ', ' '\n\n' | grep . | LC_ALL=C sort -u
    }
    diff <(column 3) <(cd "$tests/behaviour" && ls *.bats | sed 's/\.bats$//' | LC_ALL=C sort)
    diff <(column 4) <(cd "$tests/unit" && ls test_*.c | sed 's/^test_//; s/\.c$//' | LC_ALL=C sort)
    for path in $(column 5 | sed -n 's/^`\(.*\)`$/\1/p'); do ls "$tests"/$path >/dev/null; done
    for fuzz in $(column 5 | grep ^fuzz_); do [ -e "$tests/fuzz/$fuzz.c" ]; done
}
