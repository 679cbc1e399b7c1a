#include "report/shift_report.h"

#include <math.h>

#include "report/columns.h"
#include "report/html.h"

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
    double width = kept > 0 ? fmin(kept, 1) : 0;        /* 0 also for NAN */
    str_format(out, "<td><svg viewBox=\"0 0 100 8\" role=\"img\" aria-label=\"kept\"><rect width=\"100\" height=\"8\" "
        "fill=\"var(--rule)\"/><rect width=\"%.1f\" height=\"8\" fill=\"var(--accent)\"/></svg></td>", 100 * width);
}

static void
add_figures(struct columns *c, const struct shift *s)
{
    columns_count(c, "elements", NULL, s->n, NULL);
    columns_figure(c, "relative", "size", s->relative, add_percent);
    columns_figure(c, "kept", "kept", s->kept, add_percent);
    struct str *bar = columns_cell(c, "", true);
    if (bar)
        add_bar(bar, s->kept);
    columns_figure(c, "noise", "noise", s->noise, add_percent);
    columns_figure(c, "changed", "moved", s->changed, add_percent);
    columns_end(c);
}

static void
add_rows(struct columns *c, const struct shift_report *r)
{
    const struct shift all = shifts_of(r->shifts, NULL);
    for (size_t i = 0; i < r->n; i++) {
        const struct shift one = shifts_of(r->shifts, r->delta[i]);
        columns_begin(c);
        columns_name(c, "adapted", "weight", r->delta[i]->name, r->delta[i]->name_len);
        add_figures(c, &one);
    }
    columns_total(c, "all_adapted", "weight", r->n);
    add_figures(c, &all);
}

void
shift_report_json(struct page *page, const struct shift_report *r)
{
    struct columns c = { .page = page, .form = COLUMNS_JSON };
    add_rows(&c, r);
}

/* --- page */

static void
add_tile(struct str *out, const char *title, double v, const char *note)
{
    html_tile(out, title);
    add_percent(out, v);
    str_text(out, isnan(v) ? "" : " %");
    html_tile_note(out);
    str_text(out, note);
    html_tile_end(out);
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
    struct columns c = { .page = page, .form = COLUMNS_PAGE };
    str_format(out, "<section>\n<h2>Adapters: %zu changed weight%s</h2>\n<p class=\"muted\">The change D = B A and its place in the "
        "output, R. Size: |D| / |W|. Kept: the part of D in R. Noise: |R - D| / |D|. Moved: elements that differ in the output. All in "
        "percent. Click a heading to sort.</p>\n", r->n, str_plural(r->n));
    columns_table(&c, "list sort");
    add_rows(&c, r);
    columns_table_end(&c);
    str_text(out, "</section>\n");
}
