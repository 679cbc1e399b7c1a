#include "report/ndjson.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT (UINT64_C(1) << 53)

void
ndjson_init(struct ndjson *j, struct page *page)
{
    *j = (struct ndjson){ .page = page };
}

/* What every value begins with. */
static struct str *
begin(struct ndjson *j)
{
    if (j->comma)
        str_text(&j->page->text, ",");
    j->comma = true;
    return &j->page->text;
}

void
ndjson_object(struct ndjson *j)
{
    str_text(begin(j), "{");
    j->comma = false;
}

void
ndjson_object_end(struct ndjson *j)
{
    str_text(&j->page->text, "}");
    j->comma = true;
    page_turn(j->page);
}

void
ndjson_array(struct ndjson *j)
{
    str_text(begin(j), "[");
    j->comma = false;
}

void
ndjson_array_end(struct ndjson *j)
{
    str_text(&j->page->text, "]");
    j->comma = true;
    page_turn(j->page);
}

void
ndjson_line(struct ndjson *j)
{
    str_text(&j->page->text, "\n");
    j->comma = false;
    page_turn(j->page);
}

/* Bytes of p[0..n) to take at once: a long string goes in pieces, cut between characters. A valid character
 * has at most three continuation bytes, so behind four of them any place is as good as another. */
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
add_quoted(struct page *page, const char *p, size_t n)
{
    str_text(&page->text, "\"");
    while (n != 0) {
        size_t len = piece(p, n);
        str_add_json(&page->text, p, len, true);
        page_turn(page);
        p += len;
        n -= len;
    }
    str_text(&page->text, "\"");
}

void
ndjson_key_bytes(struct ndjson *j, const char *key, size_t n)
{
    begin(j);
    add_quoted(j->page, key, n);
    str_text(&j->page->text, ":");
    j->comma = false;
}

void
ndjson_key(struct ndjson *j, const char *key)
{
    ndjson_key_bytes(j, key, strlen(key));
}

void
ndjson_null(struct ndjson *j)
{
    str_text(begin(j), "null");
}

void
ndjson_bool(struct ndjson *j, bool v)
{
    str_text(begin(j), v ? "true" : "false");
}

void
ndjson_u64(struct ndjson *j, uint64_t v)
{
    str_format(begin(j), v > EXACT ? "\"%" PRIu64 "\"" : "%" PRIu64, v);
    page_turn(j->page);
}

void
ndjson_i64(struct ndjson *j, int64_t v)
{
    bool exact = v >= -(int64_t)EXACT && v <= (int64_t)EXACT;
    str_format(begin(j), exact ? "%" PRId64 : "\"%" PRId64 "\"", v);
    page_turn(j->page);
}

void
ndjson_f64(struct ndjson *j, double v)
{
    if (!isfinite(v)) {
        ndjson_null(j);
        return;
    }
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    str_text(begin(j), text);
    page_turn(j->page);
}

void
ndjson_bytes(struct ndjson *j, const char *p, size_t n)
{
    begin(j);
    add_quoted(j->page, p, n);
}

void
ndjson_text(struct ndjson *j, const char *text)
{
    if (text)
        ndjson_bytes(j, text, strlen(text));
    else
        ndjson_null(j);
}

void
ndjson_set_text(struct ndjson *j, const char *key, const char *text)
{
    ndjson_key(j, key);
    ndjson_text(j, text);
}

void
ndjson_set_u64(struct ndjson *j, const char *key, uint64_t v)
{
    ndjson_key(j, key);
    ndjson_u64(j, v);
}

void
ndjson_set_known(struct ndjson *j, const char *key, bool known, uint64_t v)
{
    ndjson_key(j, key);
    if (known)
        ndjson_u64(j, v);
    else
        ndjson_null(j);
}
