/* Text for a terminal, a log or a JSON reader: base/str.h, report/ndjson.h and the messages of cli/cli.h. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/nearest.h"
#include "base/str.h"
#include "check.h"
#include "cli/cli.h"
#include "report/ndjson.h"
#include "report/tally.h"

#define LITERAL(text) (text), sizeof(text) - 1

static void
check_text(int line, struct str *s, const char *expected)
{
    const char *got = s->p ? s->p : "";
    bool same = !s->failed && s->len == strlen(expected) && strcmp(got, expected) == 0;
    if (!same)
        fprintf(stderr, "line %d: got      %s\n        expected %s\n", line, got, expected);
    CHECK(same);
    str_clear(s);
}

/* Appends the UTF-8 of a code point below 0x10000. */
static size_t
utf8(char buf[4], unsigned c)
{
    if (c < 0x80) {
        buf[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        buf[0] = (char)(0xC0 | c >> 6);
        buf[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    buf[0] = (char)(0xE0 | c >> 12);
    buf[1] = (char)(0x80 | (c >> 6 & 0x3F));
    buf[2] = (char)(0x80 | (c & 0x3F));
    return 3;
}

/* The characters that doc/untrusted-input.md lists as escaped, written out again. */
static bool
must_be_escaped(unsigned c)
{
    static const struct { unsigned first, last; } ranges[] = {
        { 0x00, 0x1F }, { 0x7F, 0x7F }, { 0x80, 0x9F }, { 0x200B, 0x200F }, { 0x2028, 0x202E },
        { 0x2060, 0x2069 }, { 0xFEFF, 0xFEFF },
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

/* Every code point of the basic plane, in both forms. */
static void
test_escape_table(void)
{
    unsigned wrong = 0;
    for (unsigned c = 0; c < 0x10000; c++) {
        char raw[4], braces[16], json[16], plain[16];
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        size_t n = utf8(raw, c);
        snprintf(plain, sizeof plain, "%.*s", (int)n, raw);
        snprintf(braces, sizeof braces, "\\u{%x}", c);
        snprintf(json, sizeof json, "\\u%04x", c);
        struct str shown = { 0 }, safe = { 0 };
        str_add_escaped(&shown, raw, n);
        str_add_json(&safe, raw, n, true);
        if (strcmp(shown.p, must_be_escaped(c) ? braces : plain) != 0)
            wrong++;
        bool named = c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t' || c == '"' || c == '\\';
        if (!named && strcmp(safe.p, must_be_escaped(c) ? json : plain) != 0)
            wrong++;
        if (named && (safe.len != 2 || safe.p[0] != '\\'))
            wrong++;
        str_clear(&shown);
        str_clear(&safe);
    }
    CHECK(wrong == 0);
}

static void
test_escaped(void)
{
    static const struct { const char *raw; size_t n; const char *shown; } rows[] = {
        { LITERAL("model.norm.weight"), "model.norm.weight" },
        { LITERAL("\x1b[2K\rOK"), "\\u{1b}[2K\\u{d}OK" },
        { LITERAL("a\nb"), "a\\u{a}b" },
        { LITERAL("a\0b"), "a\\u{0}b" },
        { LITERAL("\x7f"), "\\u{7f}" },
        { LITERAL("\xc2\x9b" "31m"), "\\u{9b}31m" },
        { LITERAL("\xe2\x80\xae" "gpj"), "\\u{202e}gpj" },
        { LITERAL("\xef\xbb\xbf"), "\\u{feff}" },
        { LITERAL("\xff\xfe"), "\\xff\\xfe" },
        { LITERAL("\xe2\x80"), "\\xe2\\x80" },
        { LITERAL("\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80"), "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80" },
        { LITERAL(""), "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct str s = { 0 };
        str_add_escaped(&s, rows[i].raw, rows[i].n);
        check_text(__LINE__, &s, rows[i].shown);
    }
}

static void
test_json(void)
{
    static const struct { const char *raw; size_t n; const char *safe, *plain; } rows[] = {
        { LITERAL("a\"b\\c/d"), "a\\\"b\\\\c/d", "a\\\"b\\\\c/d" },
        { LITERAL("\b\f\n\r\t"), "\\b\\f\\n\\r\\t", "\\b\\f\\n\\r\\t" },
        { LITERAL("\0\x1b"), "\\u0000\\u001b", "\\u0000\\u001b" },
        { LITERAL("\x7f"), "\\u007f", "\x7f" },
        { LITERAL("\xe2\x80\xa8"), "\\u2028", "\xe2\x80\xa8" },
        { LITERAL("\xe2\x81\xa9"), "\\u2069", "\xe2\x81\xa9" },
        { LITERAL("\xff"), "\\\\xff", "\\\\xff" },
        { LITERAL("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct str s = { 0 };
        str_add_json(&s, rows[i].raw, rows[i].n, true);
        check_text(__LINE__, &s, rows[i].safe);
        str_add_json(&s, rows[i].raw, rows[i].n, false);
        check_text(__LINE__, &s, rows[i].plain);
    }
}

static void
test_utf8_reject(void)
{
    static const struct { const char *p; size_t n; bool good; } rows[] = {
        { LITERAL(""), true },
        { LITERAL("\x7f"), true },
        { LITERAL("\xc2\x80"), true },
        { LITERAL("\xed\x9f\xbf"), true },                  /* U+D7FF */
        { LITERAL("\xee\x80\x80"), true },                  /* U+E000 */
        { LITERAL("\xef\xbf\xbf"), true },                  /* U+FFFF */
        { LITERAL("\xf4\x8f\xbf\xbf"), true },              /* U+10FFFF */
        { LITERAL("\x80"), false },                         /* lone continuation byte */
        { LITERAL("\xc3"), false },                         /* truncated */
        { LITERAL("\xe6\xbc"), false },
        { LITERAL("\xf0\x9f\x98"), false },
        { LITERAL("\xc3\x28"), false },                     /* no continuation byte */
        { LITERAL("\xe6\x28\xa2"), false },
        { LITERAL("\xc0\x80"), false },                     /* overlong NUL */
        { LITERAL("\xc1\xbf"), false },
        { LITERAL("\xe0\x80\xaf"), false },                 /* overlong slash */
        { LITERAL("\xe0\x9f\xbf"), false },
        { LITERAL("\xf0\x8f\xbf\xbf"), false },
        { LITERAL("\xed\xa0\x80"), false },                 /* surrogates */
        { LITERAL("\xed\xbf\xbf"), false },
        { LITERAL("\xf4\x90\x80\x80"), false },             /* U+110000 */
        { LITERAL("\xf5\x80\x80\x80"), false },
        { LITERAL("\xf8\x88\x80\x80\x80"), false },         /* five bytes */
        { LITERAL("\xff"), false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(str_is_utf8(rows[i].p, rows[i].n) == rows[i].good);
}

/* A name in a message: at most 256 bytes, cut between characters, and the number of remaining bytes of the name. */
static void
test_shown(void)
{
    char buf[STR_SHOWN], name[1000];
    CHECK(strcmp(str_shown(buf, LITERAL("a\nb")), "a\\u{a}b") == 0);

    memset(name, 'x', sizeof name);
    str_shown(buf, name, 256);
    CHECK(strlen(buf) == 256);
    str_shown(buf, name, sizeof name);
    CHECK(strncmp(buf, name, 256) == 0 && strcmp(buf + 256, "... (744 bytes more)") == 0);

    for (size_t i = 0; i + 3 <= sizeof name; i += 3)
        memcpy(name + i, "\xe6\xbc\xa2", 3);
    str_shown(buf, name, 999);
    CHECK(strcmp(buf + 255, "... (744 bytes more)") == 0);
    CHECK(str_is_utf8(buf, strlen(buf)));

    memset(name, 0x1b, sizeof name);
    str_shown(buf, name, sizeof name);
    CHECK(strcmp(buf + 252, "... (958 bytes more)") == 0);
}

static void
test_sizes(void)
{
    static const struct { const char *text; bool ok; uint64_t n; } rows[] = {
        { "0", true, 0 },
        { "4096", true, 4096 },
        { "64K", true, UINT64_C(64) << 10 },
        { "64k", true, UINT64_C(64) << 10 },
        { "3M", true, UINT64_C(3) << 20 },
        { "2G", true, UINT64_C(2) << 30 },
        { "1T", true, UINT64_C(1) << 40 },
        { "18446744073709551615", true, UINT64_MAX },
        { "16777215T", true, UINT64_C(16777215) << 40 },
        { "18446744073709551616", false, 0 },
        { "16777216T", false, 0 },
        { "", false, 0 },
        { "K", false, 0 },
        { "-1", false, 0 },
        { "+1", false, 0 },
        { " 1", false, 0 },
        { "1 ", false, 0 },
        { "1KB", true, 1024 },
        { "1kb", true, 1024 },
        { "64MiB", true, UINT64_C(64) << 20 },
        { "64mib", true, UINT64_C(64) << 20 },
        { "1TB", true, UINT64_C(1) << 40 },
        { "1B", false, 0 },
        { "1iB", false, 0 },
        { "1KBB", false, 0 },
        { "1MiBs", false, 0 },
        { "1KK", false, 0 },
        { "1.5G", true, UINT64_C(3) << 29 },
        { "4.5GiB", true, UINT64_C(9) << 29 },
        { "0.001K", true, 1 },                      /* 1.024 bytes */
        { "0.0009K", true, 0 },
        { "1.999999999T", true, (UINT64_C(1) << 40) + UINT64_C(1099511626676) },
        { "16777215.999999999T", true, UINT64_MAX - 1099 },
        { "16777216.0T", false, 0 },
        { "1.0000000001G", false, 0 },
        { "1.5", false, 0 },
        { "1.G", false, 0 },
        { ".5G", false, 0 },
        { "1.5.5G", false, 0 },
        { "1.-5G", false, 0 },
        { "1.5GG", false, 0 },
        { "0x10", false, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t n = 77;
        CHECK_ROW(str_to_size(&n, rows[i].text) == rows[i].ok, rows[i].text);
        CHECK_ROW(n == (rows[i].ok ? rows[i].n : 77), rows[i].text);
    }
    uint64_t n = 77;
    CHECK(!str_to_u64(&n, "64K") && n == 77);
    CHECK(str_to_u64(&n, "007") && n == 7);

    char buf[STR_SIZE];
    CHECK(strcmp(str_size(buf, 0), "0 bytes") == 0);
    CHECK(strcmp(str_size(buf, 1023), "1023 bytes") == 0);
    CHECK(strcmp(str_size(buf, 1024), "1.00 KiB") == 0);
    CHECK(strcmp(str_size(buf, UINT64_C(4350000000)), "4.05 GiB") == 0);
    CHECK(strcmp(str_size(buf, UINT64_MAX), "16.00 EiB") == 0);
}

/* Suggestions for a mistyped word. */
static void
test_nearest(void)
{
    static const char *const words[] = { "output", "order", "part", "parts", "part-size", "plan", "size", "test", "to" };
    static const struct { const char *typed, *hint; } rows[] = {
        { "ouput", "; did you mean --output?" },            /* omitted, */
        { "outpput", "; did you mean --output?" },          /* inserted, */
        { "outbut", "; did you mean --output?" },           /* changed, */
        { "uotput", "; did you mean --output?" },           /* swapped */
        { "OUTPUT", "; did you mean --output?" },
        { "part_size", "; did you mean --part-size?" },
        { "pars", "; did you mean --part or --parts?" },
        { "plart", "; did you mean --part?" },
        { "x", "" },
        { "", "" },
        { "frobnicate", "" },
        { "o", "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct str s = { 0 };
        nearest_hint(&s, "--", rows[i].typed, words, sizeof words / sizeof *words);
        check_text(__LINE__, &s, rows[i].hint);
    }
    struct str s = { 0 };
    nearest_or_all(&s, "frobnicate", words, 3);
    check_text(__LINE__, &s, ": expected output, order or part");
    char longest[200];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    nearest_hint(&s, "--", longest, words, 3);
    check_text(__LINE__, &s, "");
}

/* Everything that the JSON writer supports, in one line. */
static void
write_sample(struct page *j)
{
    static char long_text[10000];
    for (size_t i = 0; i + 3 <= sizeof long_text; i += 3)
        memcpy(long_text + i, "\xe6\xbc\xa2", 3);
    ndjson_object(j, NULL);
    ndjson_text(j, "a", "x\n");
    ndjson_text(j, "none", NULL);
    ndjson_array(j, "n");
    ndjson_u64(j, NULL, UINT64_C(1) << 53);
    ndjson_u64(j, NULL, (UINT64_C(1) << 53) + 1);
    ndjson_i64(j, NULL, -(INT64_C(1) << 53));
    ndjson_i64(j, NULL, INT64_MIN);
    ndjson_f64(j, NULL, 0.1);
    ndjson_f64(j, NULL, (double)1e-5f);
    ndjson_f64(j, NULL, NAN);
    ndjson_f64(j, NULL, -INFINITY);
    ndjson_bool(j, NULL, true);
    ndjson_array_end(j);
    ndjson_object(j, "e");
    ndjson_object_end(j);
    ndjson_bytes(j, "long", long_text, 9999);
    ndjson_end(j);
    ndjson_begin(j);
    ndjson_bytes(j, "null", NULL, 0);
    ndjson_end(j);
}

static void
test_ndjson(void)
{
    char *text = NULL;
    size_t n = 0;
    struct page page;
    struct err err;
    FILE *file = open_memstream(&text, &n);
    err_init(&err);
    page_init(&page, file);
    write_sample(&page);
    CHECK(page_finish(&page, &err));
    fclose(file);

    static const char head[] = "{\"a\":\"x\\n\",\"none\":null,\"n\":[9007199254740992,\"9007199254740993\","
        "-9007199254740992,\"-9223372036854775808\",0.1,9.999999747378752e-06,null,null,true],\"e\":{},\"long\":\"";
    CHECK(strncmp(text, head, sizeof head - 1) == 0);
    CHECK(n == sizeof head - 1 + 9999 + strlen("\"}\n{\"report\":1,\"null\":null}\n"));
    CHECK(strcmp(text + sizeof head - 1 + 9999, "\"}\n{\"report\":1,\"null\":null}\n") == 0);
    CHECK(str_is_utf8(text, n));
    free(text);
}

static void
test_full_disk(void)
{
    struct page page;
    struct err err;
    struct stat st;
    FILE *file = fopen("/dev/full", "r+");      /* does not create a file of that name, which would receive all later output */
    CHECK(file != NULL);
    if (!file)
        return;
    CHECK(fstat(fileno(file), &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 7));
    err_init(&err);
    page_init(&page, file);
    str_text(&page.text, "lost");
    CHECK(!page_finish(&page, &err) && err.kind == ERR_IO && err.sys != 0);
    fclose(file);
}

static void
test_tally(void)
{
    struct tally tally = { 0 };
    struct err err;
    char label[16];
    err_init(&err);
    for (unsigned i = 0; i < 3000; i++) {
        snprintf(label, sizeof label, "t%u", i % 1000);
        CHECK(tally_add(&tally, label, 1, i % 1000, &err));
    }
    CHECK(tally.n == 1000 && strcmp(tally.rows[7].label, "t7") == 0);
    CHECK(tally.rows[7].count == 3 && tally.rows[7].nbytes == 21);

    size_t top[3];
    CHECK(tally_top(&tally, top, 3) == 3);
    CHECK(top[0] == 999 && top[1] == 998 && top[2] == 997);
    tally_clear(&tally);
    CHECK(tally_top(&tally, top, 3) == 0);
}

static void
test_status(void)
{
    static const struct { unsigned status; const char *word; } kinds[] = {
        { 0, "none" }, { 2, "usage" }, { 65, "malformed" }, { 66, "open" }, { 69, "unsupported" }, { 70, "bug" },
        { 73, "create" }, { 74, "io" }, { 75, "limit" }, { 75, "memory" }, { 77, "unsafe" },
        { 69, "inexact" },
    };
    CHECK(sizeof kinds / sizeof *kinds == ERR_KINDS);
    for (unsigned kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        CHECK_ROW(cli_status((enum err_kind)kind) == kinds[kind].status, kinds[kind].word);
        CHECK_ROW(strcmp(err_kind_word((enum err_kind)kind), kinds[kind].word) == 0, kinds[kind].word);
    }
}

static bool
set_behind(struct err *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_vset(err, ERR_MALFORMED, 7, "part 1: ", format, args);
    va_end(args);
    return false;
}

/* The tensor is marked in the format, so it is found whatever the name and the text are. */
static void
test_err_tensor(void)
{
    struct err err;
    err_init(&err);
    CHECK(!err_at(&err, ERR_MALFORMED, 7, ERR_TENSOR "is %d", "a: b: ", 5));
    CHECK(strcmp(err.tensor, "a: b: ") == 0 && strcmp(err.text, "tensor a: b: : is 5") == 0 && err.at == 7);
    CHECK(!err_at(&err, ERR_MALFORMED, 7, ERR_TENSOR "is %d", "other", 6));
    CHECK(strcmp(err.tensor, "a: b: ") == 0);           /* the first failure is kept */

    err_init(&err);
    CHECK(!err_at(&err, ERR_LIMIT, 7, ERR_TENSORS "one name", "a", "b"));
    CHECK(strcmp(err.tensor, "a") == 0 && strcmp(err.text, "tensors a and b: one name") == 0);
    err_init(&err);
    CHECK(!err_at(&err, ERR_LIMIT, 7, "%s", "tensor a: text that only looks like it"));
    CHECK(err.tensor[0] == '\0');
    err_init(&err);
    CHECK(!set_behind(&err, ERR_TENSOR "%d", "a", 1));
    CHECK(strcmp(err.tensor, "a") == 0 && strcmp(err.text, "part 1: tensor a: 1") == 0 && err.at == 7);
    err_init(&err);
    CHECK(!err_sys(&err, ERR_IO, ENOENT, ERR_TENSOR "gone", "a"));
    CHECK(strcmp(err.tensor, "a") == 0 && strncmp(err.text, "tensor a: gone: ", 16) == 0);
}

int
main(void)
{
    test_escape_table();
    test_escaped();
    test_json();
    test_utf8_reject();
    test_shown();
    test_sizes();
    test_nearest();
    test_ndjson();
    test_full_disk();
    test_tally();
    test_status();
    test_err_tensor();
    return check_done("test_cli_text");
}
