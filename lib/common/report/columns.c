#include "report/columns.h"

#include <math.h>
#include <string.h>

#include "report/html.h"
#include "report/ndjson.h"

void
columns_table(struct columns *c, const char *class)
{
    str_format(&c->page->text, "<div class=\"scroll\"><table class=\"%s\">\n<thead><tr>", class);
}

static void
end_headings(struct columns *c)
{
    if (!c->headed)
        str_text(&c->page->text, "</tr></thead>\n<tbody>\n");
    c->headed = true;
}

void
columns_table_end(struct columns *c)
{
    end_headings(c);
    str_text(&c->page->text, c->total ? "</tfoot></table></div>\n" : "</tbody></table></div>\n");
    str_clear(&c->cells);
}

void
columns_begin(struct columns *c)
{
    if (c->form == COLUMNS_JSON)
        ndjson_begin(c->page);
}

void
columns_end(struct columns *c)
{
    struct str *out = &c->page->text;
    if (c->form == COLUMNS_JSON) {
        ndjson_end(c->page);
        return;
    }
    end_headings(c);
    str_text(out, c->total ? "</tbody>\n<tfoot><tr>" : "<tr>");
    str_add(out, c->cells.p, c->cells.len);
    str_text(out, "</tr>\n");
    out->failed |= c->cells.failed;
    c->cells.len = 0;
    page_turn(c->page);
}

struct str *
columns_cell(struct columns *c, const char *heading, bool text)
{
    if (c->form == COLUMNS_JSON || !heading)
        return NULL;
    if (!c->headed)
        str_format(&c->page->text, "<th scope=\"col\"%s>%s</th>", text ? " class=\"text\"" : "", heading);
    return &c->cells;
}

void
columns_total(struct columns *c, const char *key, const char *heading, uint64_t n)
{
    struct str *out = columns_cell(c, heading, true);
    c->total = true;
    columns_begin(c);
    if (out)
        str_text(out, "<td class=\"text\">all</td>");
    else
        ndjson_u64(c->page, key, n);
}

static void
columns_add_text(struct columns *c, const char *key, const char *heading, const char *class, const char *p, size_t n)
{
    struct str *out = columns_cell(c, heading, true);
    if (c->form == COLUMNS_JSON && key)
        ndjson_bytes(c->page, key, p, n);
    if (!out)
        return;
    str_format(out, "<td class=\"%s\">", class);
    for (size_t part; n != 0; p += part, n -= part) {           /* a name is broken after a dot only */
        const char *dot = memchr(p, '.', n - 1);
        part = dot ? (size_t)(dot - p) + 1 : n;
        html_text(out, p, part);
        str_text(out, part < n ? "<wbr>" : "");
    }
    str_text(out, "</td>");
}

void
columns_name(struct columns *c, const char *key, const char *heading, const char *p, size_t n)
{
    columns_add_text(c, key, heading, "name", p, n);
}

void
columns_text(struct columns *c, const char *key, const char *heading, const char *text)
{
    columns_add_text(c, key, heading, "text", text, text ? strlen(text) : 0);
}

/* Adds a cell with a number: its text and, as data-v, the value by which the script of the page sorts. */
static void
columns_add_value(struct str *out, double v, columns_show *show)
{
    str_text(out, "<td data-v=\"");
    if (isfinite(v))
        str_format(out, v == floor(v) ? "%.0f" : "%.9g", v);
    else
        str_text(out, v > 0 ? "Infinity" : "-Infinity");        /* NaN with the worst */
    str_text(out, "\">");
    show(out, v);
    str_text(out, "</td>");
}

void
columns_figure(struct columns *c, const char *key, const char *heading, double v, columns_show *show)
{
    struct str *out = columns_cell(c, heading, false);
    if (c->form == COLUMNS_JSON && key)
        ndjson_f64(c->page, key, c->unknown ? NAN : v);
    if (out && c->unknown)
        str_text(out, "<td></td>");
    else if (out)
        columns_add_value(out, v, show);
}

void
columns_count(struct columns *c, const char *key, const char *heading, uint64_t n, columns_show *show)
{
    if (c->form == COLUMNS_JSON && key)
        ndjson_known(c->page, key, !c->unknown, n);
    columns_figure(c, NULL, heading, (double)n, show);
}

void
columns_digits(struct str *out, double n)
{
    str_format(out, "%.0f", n);
}
