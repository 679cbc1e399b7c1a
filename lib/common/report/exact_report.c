#include "report/exact_report.h"

#include <inttypes.h>

#include "report/html.h"
#include "report/ndjson.h"

/* --- JSON */

static void
exact_report_add_line(struct page *j, const struct exact_row *r)
{
    ndjson_begin(j);
    ndjson_bytes(j, "name", r->name, r->name_len);
    ndjson_text(j, "from", r->from);
    ndjson_text(j, "to", r->to);
    ndjson_text(j, "exact", r->inexact || !r->to ? NULL : exact_level_word(r->level));
    ndjson_array(j, "levels");
    for (int i = 0; i < EXACT_LEVELS; i++)
        if (r->levels[i])
            ndjson_text(j, NULL, exact_level_word((enum exact_level)i));
    ndjson_array_end(j);
    ndjson_text(j, "way", exact_row_word(r));
    ndjson_array(j, "tried");
    for (size_t i = 0; i < r->ntried; i++) {
        ndjson_object(j, NULL);
        ndjson_text(j, "scheme", r->tried[i].scheme);
        ndjson_text(j, "cause", exact_cause_word(r->tried[i].cause));
        ndjson_array(j, "block");
        ndjson_u64(j, NULL, r->tried[i].block / r->cols);
        ndjson_u64(j, NULL, r->tried[i].block % r->cols);
        ndjson_array_end(j);
        ndjson_object_end(j);
    }
    ndjson_array_end(j);
    ndjson_known(j, "blocks", r->blocks != 0, r->blocks);
    ndjson_known(j, "code_8", r->e2m1, r->code_8);
    ndjson_end(j);
}

void
exact_report_json(struct page *page, const struct exact_report *report)
{
    for (size_t i = 0; i < report->n && page->sys == 0; i++)
        exact_report_add_line(page, &report->rows[i]);
}

/* --- HTML */

static void
add_begin(struct str *out, const struct exact_report *report)
{
    html_begin(out, "Exact transcoding of", report->model);
    str_format(out, "<p class=\"muted\">%sNo value of a weight changed at level <i>%s</i>, unless its row says so. Written by %s "
        "%s.</p>\n</header>\n<div class=\"scroll\"><table class=\"list sort\">\n<thead><tr><th scope=\"col\" class=\"text\">weight</th>"
        "<th scope=\"col\" class=\"text\">from</th><th scope=\"col\" class=\"text\">to</th><th scope=\"col\" class=\"text\">how</th>"
        "<th scope=\"col\" class=\"text\">exact at</th><th scope=\"col\">blocks</th>"
        "<th scope=\"col\" class=\"text\">not held by</th></tr></thead>\n<tbody>\n",
        report->refused ? "A weight was refused, so nothing was written. " : "", exact_level_word(report->level), report->tool, report->version);
}

static void
exact_report_add_row(struct str *out, const struct exact_row *r)
{
    const char *between = "";
    str_text(out, "<tr><td class=\"name\">");
    html_text(out, r->name, r->name_len);
    str_format(out, "</td><td class=\"text\">%s</td><td class=\"text\">%s</td><td class=\"text\">%s</td><td class=\"text\">", r->from,
        str_or(r->to, r->from), exact_row_phrase(exact_row_state(r)));
    for (int i = 0; i < EXACT_LEVELS; i++)
        if (r->levels[i]) {
            str_format(out, "%s%s", between, exact_level_word((enum exact_level)i));
            between = ", ";
        }
    str_format(out, "</td><td data-v=\"%" PRIu64 "\">%" PRIu64 "</td><td class=\"text\">", r->blocks, r->blocks);
    for (size_t i = 0; i < r->ntried; i++)
        str_format(out, "%s%s: %s, block [%" PRIu64 ",%" PRIu64 "]", i != 0 ? "; " : "", r->tried[i].scheme,
            exact_cause_word(r->tried[i].cause), r->tried[i].block / r->cols, r->tried[i].block % r->cols);
    str_text(out, "</td></tr>\n");
}

void
exact_report_page(struct page *page, const struct exact_report *report)
{
    add_begin(&page->text, report);
    for (size_t i = 0; i < report->n && page->sys == 0; i++) {
        exact_report_add_row(&page->text, &report->rows[i]);
        page_turn(page);
    }
    str_text(&page->text, "</tbody></table></div>\n");
    html_end(&page->text);
}
