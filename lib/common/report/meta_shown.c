#include "report/meta.h"

#include <inttypes.h>
#include <stdio.h>

enum { LINE = 80, VALUE_MIN = 30, DOTS = sizeof "...]" - 1 };
#define WHOLE SIZE_MAX

/* A value that is being appended. If it does not fit, the text is cut at `keep`, the last position that leaves room for the
 * dots. */
struct line {
    struct page *page;
    size_t used, columns;       /* of the terminal, or WHOLE */
    size_t keep;
    bool full;                  /* the line is full; append nothing more */
    bool loose;                 /* may be cut at any character: not in an array, or in its first element */
};

/* Marks a position at which the text may be cut. */
static void
meta_shown_keep(struct line *l)
{
    if (!l->full && l->used + DOTS <= l->columns)
        l->keep = l->page->text.len;
}

/* Keeps what was appended from `from` on if it fits. */
static void
meta_shown_settle(struct line *l, size_t from)
{
    struct str *text = &l->page->text;
    if (l->columns == WHOLE) {
        page_turn(l->page);
        l->full = l->page->sys != 0;
        return;
    }
    l->used += screen_columns(text->p ? text->p + from : "", text->len - from);
    l->full = l->used > l->columns;
    if (l->full)
        text->len = l->keep;
    else if (l->loose)
        meta_shown_keep(l);
}

static void
meta_shown_add_text(struct line *l, const char *text)
{
    size_t from = l->page->text.len;
    if (l->full)
        return;
    str_text(&l->page->text, text);
    meta_shown_settle(l, from);
}

/* Appends character by character, because the text may be cut between characters but not inside an escape sequence. */
static void
add_string(struct line *l, const char *p, size_t n)
{
    meta_shown_add_text(l, "\"");
    while (n != 0 && !l->full) {
        uint32_t code;
        size_t from = l->page->text.len, len = str_utf8_char(p, n, &code);
        len += len == 0;
        str_add_json(&l->page->text, p, len, true);
        meta_shown_settle(l, from);
        p += len;
        n -= len;
    }
    meta_shown_add_text(l, "\"");
}

static void meta_shown_add_value(struct line *l, const struct meta_value *value, bool outer);

static void
add_array(struct line *l, const struct meta_array *array, bool outer)
{
    struct meta_iter it = meta_first(array);
    struct meta_value element;
    meta_shown_add_text(l, "[");
    for (uint64_t i = 0; !l->full && meta_next(&it, &element); i++) {
        if (i != 0)
            meta_shown_add_text(l, ", ");
        if (i != 0 && outer) {
            l->loose = false;
            meta_shown_keep(l);
        }
        meta_shown_add_value(l, &element, false);
    }
    meta_shown_add_text(l, "]");
}

/* Recursion is at most META_DEPTH_MAX deep, which the container has checked. */
static void
meta_shown_add_value(struct line *l, const struct meta_value *value, bool outer)
{
    char text[32] = "";
    switch (value->type) {
    case META_U8: case META_U16: case META_U32: case META_U64:
        snprintf(text, sizeof text, "%" PRIu64, value->as.u);
        break;
    case META_I8: case META_I16: case META_I32: case META_I64:
        snprintf(text, sizeof text, "%" PRId64, value->as.i);
        break;
    case META_F32: case META_F64:
        snprintf(text, sizeof text, "%g", value->as.f);
        break;
    case META_BOOL:
        snprintf(text, sizeof text, "%s", value->as.u ? "true" : "false");
        break;
    case META_STRING:
        add_string(l, value->as.s.p, value->as.s.n);
        return;
    case META_ARRAY:
        add_array(l, &value->as.a, outer);
        return;
    case META_TYPES:
        return;
    }
    meta_shown_add_text(l, text);
}

void
meta_shown_value(struct page *page, const struct meta_value *value, size_t columns)
{
    struct line l = { .page = page, .columns = columns, .keep = page->text.len, .loose = true };
    meta_shown_add_value(&l, value, true);
    if (l.full)
        str_text(&page->text, value->type == META_STRING ? "\"..." : "...]");
}

/* ---- all keys ---- */

static uint64_t
count_of(const struct meta_value *value)
{
    if (value->type == META_ARRAY)
        return value->as.a.count;
    return 1;
}

struct widths {
    int number, type, count;
};

static int
digits(uint64_t n)
{
    return snprintf(NULL, 0, "%" PRIu64, n);
}

static void
widen(struct widths *w, const struct meta_value *value, struct str *type)
{
    type->len = 0;
    meta_add_type(type, value);
    if ((int)type->len > w->type)
        w->type = (int)type->len;
    if (digits(count_of(value)) > w->count)
        w->count = digits(count_of(value));
}

static void
meta_shown_add_line(struct page *page, const struct meta *meta, const struct widths *w, struct str *type, size_t i, bool arrays)
{
    char key[STR_SHOWN];
    struct str *text = &page->text;
    size_t from = text->len;
    type->len = 0;
    meta_add_type(type, &meta->value);
    text->failed |= type->failed;
    str_format(text, "  %*zu  %-*s  %*" PRIu64 "  %s = ", w->number, i + 1, w->type, str_or(type->p, ""), w->count,
        count_of(&meta->value), str_shown(key, meta->key, meta->key_len));
    size_t used = screen_columns(text->p ? text->p + from : "", text->len - from);
    bool whole = arrays && meta->value.type == META_ARRAY;
    size_t line = LINE;
    if (page->screen.columns != SIZE_MAX)
        line = page->screen.columns;
    meta_shown_value(page, &meta->value, whole ? WHOLE : used + VALUE_MIN <= line ? line - used : VALUE_MIN);
    str_text(text, "\n");
    page_turn(page);
}

void
meta_shown_all(struct page *page, const struct catalog *catalog, bool arrays)
{
    struct str type = { 0 };
    size_t n = catalog_meta_count(catalog);
    struct widths w = { .number = digits(n) };
    for (size_t i = 0; i < n; i++)
        widen(&w, &catalog_meta_at(catalog, i)->value, &type);
    for (size_t i = 0; i < n && page->sys == 0; i++)
        meta_shown_add_line(page, catalog_meta_at(catalog, i), &w, &type, i, arrays);
    str_clear(&type);
}
