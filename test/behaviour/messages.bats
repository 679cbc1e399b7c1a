#!/usr/bin/env bats
# The texts of errors, warnings and notes, by the rules that a program can check.
load helper

setup_file() { :; }
teardown_file() { :; }

@test "no message of the tree breaks a rule" {
    try 0 "$helpers/messages"
    [ "$(sed -n '$s/ texts.*//p' out)" -gt 1500 ]       # it finds them at all
}

@test "a bad message is found, however it gets to the function that sets it" {
    cat >bad.c <<'END'
#include "base/err.h"
#define BEGIN "tensor %s: "
static bool
wrong(struct err *err, const char *what)
{
    return err_set(err, ERR_MALFORMED, "%s", what);
}
static bool
deeper(struct err *err, int n, const char *why)
{
    return n == 0 || wrong(err, why);
}
static const char *const table[] = { "a phrase that speaks of nothing" };
bool
bad(struct cli *cli, struct err *err, bool odd, uint64_t n)
{
    err_set(err, ERR_USAGE, "It begins so");
    err_set(err, ERR_USAGE, BEGIN "ends with a period.", "x");
    err_sys(err, ERR_OPEN, 1, "%" PRIu64 " is no "
        "number", n);
    cli_warn(cli, NULL, odd ? "good" : "there are no models");
    cli_note(cli, NULL, "good%s", odd ? "" : ", but the tensor lies elsewhere");
    wrong(err, "What is wrong");
    return deeper(err, 1, "it wants a file");
}
END
    try 1 "$helpers/messages" bad.c
    sed -E "s,^[^ ]*bad\.c:,," out >found
    diff found - <<'END'
17: begins with a capital letter: It begins so
18: final period: tensor %s: ends with a period.
19: 'is no': say 'is not a' or 'has no': %u is no number
21: 'is no': say 'is not a' or 'has no': there are no models
22: 'lies': say is, begins or is stored: , but the tensor lies elsewhere
23: begins with a capital letter: What is wrong
24: 'wants': say what is required or expected: it wants a file
13: 'speaks of': say declares or contains: a phrase that speaks of nothing
11 texts, 8 faults
END
    cat >good.c <<'END'
bool
good(struct err *err, uint64_t n)
{
    /* What is no message may be called as it wants. */
    err_set(err, ERR_USAGE, "--part %" PRIu64 " requires a total: 1/N, or --part-size ...", n);
    err_set(err, ERR_LIMIT, "GGUF header: it is no longer supported");
    return err_set(err, ERR_OPEN, "PyTorch checkpoint: name the one that you want");
}
END
    try 0 "$helpers/messages" good.c
    [ "$(cat out)" = '3 texts, 0 faults' ]
}

# bats test_tags=full
@test "a usage error without a next step is found by try" {
    tool() { echo "amn-remember: usage: $1" >&2; return 2; }
    for good in '--part: invalid part' "unknown command 'x'; try 'amn --help'" 'm: expected A-B' 'use file names'; do
        try 2 tool "$good"
    done
    for bad in 'that is wrong' 'a well-known fault: no'; do
        refute try 2 tool "$bad"
    done
}
