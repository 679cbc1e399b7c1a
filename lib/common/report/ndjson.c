#include "report/ndjson.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"

#define EXACT (UINT64_C(1) << 53)

/* Returns how many bytes of p[0..n) to escape at once: a long string is handled in pieces that are cut between characters. A
 * valid character has at most three continuation bytes, so after four of them the text is invalid and may be cut anywhere. */
static size_t
piece(const char *p, size_t n)
{
    enum { PIECE = 4096 };
    if (n <= PIECE)
        return n;
    for (size_t cut = PIECE; cut > PIECE - 4; cut--)
        if (((unsigned char)p[cut] & 0xC0) != 0x80)
            return cut;
    return PIECE;
}

static void
add_quoted(struct page *j, const char *p, size_t n)
{
    str_text(&j->text, "\"");
    while (n != 0) {
        size_t len = piece(p, n);
        str_add_json(&j->text, p, len, true);
        page_turn(j);
        p += len;
        n -= len;
    }
    str_text(&j->text, "\"");
}

void
ndjson_key(struct page *j, const char *key, size_t n)
{
    if (j->comma)
        str_text(&j->text, ",");
    add_quoted(j, key, n);
    str_text(&j->text, ":");
    j->comma = false;
}

/* Writes the comma and the key that precede a value. */
static struct str *
begin(struct page *j, const char *key)
{
    if (key)
        ndjson_key(j, key, strlen(key));
    if (j->comma)
        str_text(&j->text, ",");
    j->comma = true;
    page_turn(j);
    return &j->text;
}

static void
open_with(struct page *j, const char *key, const char *bracket)
{
    str_text(begin(j, key), bracket);
    j->comma = false;
}

static void
close_with(struct page *j, const char *bracket)
{
    str_text(&j->text, bracket);
    j->comma = true;
    page_turn(j);
}

void
ndjson_object(struct page *j, const char *key)
{
    open_with(j, key, "{");
}

void
ndjson_object_end(struct page *j)
{
    close_with(j, "}");
}

void
ndjson_array(struct page *j, const char *key)
{
    open_with(j, key, "[");
}

void
ndjson_array_end(struct page *j)
{
    close_with(j, "]");
}

void
ndjson_begin(struct page *j)
{
    ndjson_object(j, NULL);
    ndjson_u64(j, "report", VERSION_REPORT);
}

void
ndjson_end(struct page *j)
{
    close_with(j, "}\n");
    j->comma = false;
}

void
ndjson_null(struct page *j, const char *key)
{
    str_text(begin(j, key), "null");
}

void
ndjson_bool(struct page *j, const char *key, bool v)
{
    str_text(begin(j, key), v ? "true" : "false");
}

void
ndjson_u64(struct page *j, const char *key, uint64_t v)
{
    str_format(begin(j, key), v > EXACT ? "\"%" PRIu64 "\"" : "%" PRIu64, v);
}

void
ndjson_i64(struct page *j, const char *key, int64_t v)
{
    bool exact = v >= -(int64_t)EXACT && v <= (int64_t)EXACT;
    str_format(begin(j, key), exact ? "%" PRId64 : "\"%" PRId64 "\"", v);
}

void
ndjson_f64(struct page *j, const char *key, double v)
{
    char text[32] = "null";
    for (int digits = 15; isfinite(v) && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    str_text(begin(j, key), text);
}

void
ndjson_bytes(struct page *j, const char *key, const char *p, size_t n)
{
    struct str *text = begin(j, key);
    if (p)
        add_quoted(j, p, n);
    else
        str_text(text, "null");
}

void
ndjson_text(struct page *j, const char *key, const char *text)
{
    ndjson_bytes(j, key, text, text ? strlen(text) : 0);
}

void
ndjson_known(struct page *j, const char *key, bool known, uint64_t v)
{
    if (known)
        ndjson_u64(j, key, v);
    else
        ndjson_null(j, key);
}

void
ndjson_dims(struct page *j, const char *key, const struct shape *shape)
{
    const uint8_t *p = shape->packed;
    ndjson_array(j, key);
    for (uint32_t i = 0; i < shape->rank; i++)
        ndjson_u64(j, NULL, shape_next(&p));
    ndjson_array_end(j);
}
