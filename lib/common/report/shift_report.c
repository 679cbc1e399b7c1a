#include "report/shift_report.h"

#include <math.h>

#include "report/html.h"
#include "report/ndjson.h"

static void
add_figures(struct page *j, const struct shift *s)
{
    ndjson_u64(j, "elements", s->n);
    ndjson_f64(j, "relative", s->relative);
    ndjson_f64(j, "kept", s->kept);
    ndjson_f64(j, "noise", s->noise);
    ndjson_f64(j, "changed", s->changed);
}

void
shift_report_json(struct page *page, const struct shift_report *r)
{
    const struct shift all = shifts_of(r->shifts, NULL);
    for (size_t i = 0; i < r->n; i++) {
        const struct shift one = shifts_of(r->shifts, r->delta[i]);
        ndjson_begin(page);
        ndjson_bytes(page, "adapted", r->delta[i]->name, r->delta[i]->name_len);
        add_figures(page, &one);
        ndjson_end(page);
    }
    ndjson_begin(page);
    ndjson_u64(page, "all_adapted", r->n);
    add_figures(page, &all);
    ndjson_end(page);
}

/* --- page */

static void
add_percent(struct str *out, double v)
{
    if (isnan(v))
        str_text(out, "none");
    else
        html_number(out, 100 * v);
}

/* Draws the share that is kept. */
static void
add_bar(struct str *out, double kept)
{
    double width = isnan(kept) || kept < 0 ? 0 : kept > 1 ? 1 : kept;
    str_format(out, "<td><svg viewBox=\"0 0 100 8\" role=\"img\" aria-label=\"kept\"><rect width=\"100\" height=\"8\" "
        "fill=\"var(--rule)\"/><rect width=\"%.1f\" height=\"8\" fill=\"var(--accent)\"/></svg></td>", 100 * width);
}

static void
add_cells(struct str *out, const struct shift *s)
{
    html_cell(out, s->relative, add_percent);
    html_cell(out, s->kept, add_percent);
    add_bar(out, s->kept);
    html_cell(out, s->noise, add_percent);
    html_cell(out, s->changed, add_percent);
    str_text(out, "</tr>\n");
}

static void
add_tile(struct str *out, const char *title, double v, const char *note)
{
    str_format(out, "<div><dt>%s</dt><dd class=\"big\">", title);
    add_percent(out, v);
    str_format(out, "%s</dd><dd>%s</dd></div>\n", isnan(v) ? "" : " %", note);
}

void
shift_report_tiles(struct page *page, const struct shift_report *r)
{
    const struct shift all = shifts_of(r->shifts, NULL);
    add_tile(&page->text, "Size of the change", all.relative, "of the weights");
    add_tile(&page->text, "Kept", all.kept, "of the change is in the output");
    add_tile(&page->text, "Noise", all.noise, "of the change: what else differs");
    add_tile(&page->text, "Moved", all.changed, "of the elements differ in the output");
}

void
shift_report_section(struct page *page, const struct shift_report *r)
{
    struct str *out = &page->text;
    const struct shift all = shifts_of(r->shifts, NULL);
    str_format(out, "<section>\n<h2>Adapters: %zu changed weight%s</h2>\n<p class=\"muted\">The change D = B A and its place in the "
        "output, R. Size: |D| / |W|. Kept: the part of D in R. Noise: |R - D| / |D|. Moved: elements that differ in the output. All in "
        "percent. Click a heading to sort.</p>\n<div class=\"scroll\"><table class=\"list sort\">\n<thead><tr>"
        "<th scope=\"col\" class=\"text\">weight</th><th scope=\"col\">size</th><th scope=\"col\">kept</th>"
        "<th scope=\"col\" class=\"text\"></th><th scope=\"col\">noise</th><th scope=\"col\">moved</th></tr></thead>\n<tbody>\n", r->n,
        r->n == 1 ? "" : "s");
    for (size_t i = 0; i < r->n; i++) {
        const struct shift one = shifts_of(r->shifts, r->delta[i]);
        str_text(out, "<tr><td class=\"name\">");
        html_text(out, r->delta[i]->name, r->delta[i]->name_len);
        str_text(out, "</td>");
        add_cells(out, &one);
        page_turn(page);
    }
    str_text(out, "</tbody>\n<tfoot><tr><td class=\"text\">all</td>");
    add_cells(out, &all);
    str_text(out, "</tfoot></table></div>\n</section>\n");
}
