/* The HTML page of an exact job: a table of weights, with why earlier names of the list do not hold them. */
#include <inttypes.h>

#include "command/exact.h"
#include "report/html.h"
#include "report/page.h"

static void
add_begin(struct str *out, const struct command *cmd, const char *model)
{
    html_begin(out, "Exact transcoding of", model);
    str_format(out, "<p class=\"muted\">%sNo value of a weight changed at level <i>%s</i>, unless its row says so. Written by %s "
        "%s.</p>\n</header>\n<div class=\"scroll\"><table class=\"list sort\">\n<thead><tr><th scope=\"col\" class=\"text\">weight</th>"
        "<th scope=\"col\" class=\"text\">from</th><th scope=\"col\" class=\"text\">to</th><th scope=\"col\" class=\"text\">how</th>"
        "<th scope=\"col\" class=\"text\">exact at</th><th scope=\"col\">blocks</th>"
        "<th scope=\"col\" class=\"text\">not held by</th></tr></thead>\n<tbody>\n", cmd->exact.witness.len != 0 ? "A weight was refused, so nothing was written. " : "",
        exact_level_word(cmd->exact.level), cmd->cli.tool, CLI_VERSION);
}

static void
add_row(struct str *out, const struct exact_row *r)
{
    const char *between = "";
    str_text(out, "<tr><td class=\"name\">");
    html_text(out, r->name, r->name_len);
    str_format(out, "</td><td class=\"text\">%s</td><td class=\"text\">%s</td><td class=\"text\">%s</td><td class=\"text\">", r->from,
        r->to ? r->to : r->from, exact_way_phrase(r));
    for (int i = 0; i < EXACT_LEVELS; i++)
        if (r->levels[i]) {
            str_format(out, "%s%s", between, exact_level_word((enum exact_level)i));
            between = ", ";
        }
    str_format(out, "</td><td data-v=\"%" PRIu64 "\">%" PRIu64 "</td><td class=\"text\">", r->blocks, r->blocks);
    for (size_t i = 0; i < r->ntried; i++) {
        uint64_t cols = r->cols != 0 ? r->cols : 1;
        str_format(out, "%s%s: %s, block [%" PRIu64 ",%" PRIu64 "]", i != 0 ? "; " : "", r->tried[i].scheme,
            exact_cause_word(r->tried[i].cause), r->tried[i].block / cols, r->tried[i].block % cols);
    }
    str_text(out, "</td></tr>\n");
}

void
exact_page(struct page *page, const struct command *cmd, const char *model)
{
    add_begin(&page->text, cmd, model);
    for (size_t i = 0; i < cmd->exact.nrows && page->sys == 0; i++) {
        add_row(&page->text, &cmd->exact.rows[i]);
        page_turn(page);
    }
    str_text(&page->text, "</tbody></table></div>\n");
    html_end(&page->text);
}
