/* The HTML page of a comparison. It has the heat maps and charts of the page about quantization error, with B as the encoded A. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff_report.h"
#include "report/html.h"
#include "report/loss_charts.h"
#include "report/loss_style.h"

/* A pair with figures, and the word for its type. */
struct diff_item {
    char word[SCHEME_WORD];
};

/* Returns what a cell shows: the type in B, or "=". */
static const char *
item_type(struct diff_item *item, const struct difference *one)
{
    return one->status == DIFFERENCE_SOME ? diff_report_type(item->word, one->b) : "=";
}

/* Makes an item of each pair with figures. Returns NULL on failure; the caller frees them. `words` has one for each tensor. */
static struct loss_item *
make_items(size_t *n, struct diff_item *words, const struct differences *d, struct err *err)
{
    struct loss_item *items = calloc(d->n + 1, sizeof *items);
    *n = 0;
    if (!items)
        err_memory(err, (d->n + 1) * sizeof *items);
    for (size_t i = 0; items && i < d->n; i++) {
        const struct difference *one = &d->list[i];
        if (!difference_is_pair(one) || one->kind == DIFFERENCE_BYTES || one->n == 0)
            continue;
        const struct tensor t = difference_tensor(one);
        items[(*n)++] = (struct loss_item){ .name = t.name, .name_len = t.name_len, .weighed = true, .type = item_type(&words[i], one),
            .loss = losses_of(d->losses, i) };
    }
    return items;
}

static void
add_begin(struct str *out, const struct diff_report *r)
{
    html_begin(out, "Comparison of two models", NULL);
    str_text(out, "<p>A is ");
    html_text(out, r->a, strlen(r->a));
    str_text(out, ", B is ");
    html_text(out, r->b, strlen(r->b));
    str_text(out, "</p>\n<p class=\"muted\">Each value <i>x</i> of A compared with the value <i>y</i> of B; quantized weights are "
        "dequantized. A cell has the type in B, or its SQNR in dB if all have one type; = marks "
        "equal values.</p>\n");
    html_made(out, r->tool, r->version, r->command);
    str_text(out, "</header>\n<main>\n");
}

static void
add_tiles(struct str *out, const struct differences *d)
{
    static const char *const titles[DIFFERENCE_STATUSES] = { "Equal", "Equal values", "Different", "Only in A", "Only in B",
        "Other shape", "Other type" };
    str_text(out, "<dl class=\"tiles\">\n");
    const struct loss all = losses_all(d->losses);
    html_tile(out, "Total SQNR");
    html_sqnr(out, all.sqnr);
    str_text(out, isfinite(all.sqnr) ? " dB" : "");
    html_tile_note(out);
    str_text(out, "relative error ");
    html_number(out, 100 * loss_items_relative(all.noise, all.signal));
    str_text(out, " %");
    html_tile_end(out);
    for (int i = 0; i < DIFFERENCE_STATUSES; i++) {
        if (d->count[i] == 0 && i != DIFFERENCE_EQUAL && i != DIFFERENCE_SOME)
            continue;
        html_tile(out, titles[i]);
        str_format(out, "%zu", d->count[i]);
        html_tile_note(out);
        str_text(out, d->count[i] == 1 ? "tensor" : "tensors");
        html_tile_end(out);
    }
    str_text(out, "</dl>\n");
}

static void
add_tables(struct page *page, const struct differences *d)
{
    struct columns some = { .page = page, .form = COLUMNS_PAGE }, all = some;
    const struct loss_worst worst = diff_report_worst(d);
    if (worst.n != 0) {
        str_text(&page->text, "<section>\n<h2>The most different tensors</h2>\n");
        columns_table(&some, "list");
        for (size_t i = 0; i < worst.n; i++)
            diff_report_row(&some, d, worst.number[i]);
        columns_table_end(&some);
        str_text(&page->text, "</section>\n");
    }
    str_format(&page->text, "<details>\n<summary>All %zu tensors</summary>\n<p class=\"muted\">Click a heading to sort.</p>\n", d->n);
    columns_table(&all, "list sort");
    for (size_t i = 0; i < d->n; i++)
        diff_report_row(&all, d, i);
    columns_table_end(&all);
    str_text(&page->text, "</details>\n");
}

bool
diff_report_html(struct page *page, const struct diff_report *r, struct err *err)
{
    struct loss_map map = { 0 };
    size_t n;
    struct diff_item *words = calloc(r->d->n + 1, sizeof *words);
    struct loss_item *items = NULL;
    if (words)
        items = make_items(&n, words, r->d, err);
    else
        err_memory(err, (r->d->n + 1) * sizeof *words);
    bool ok = items && loss_map_make(&map, items, n, err);
    if (ok) {
        add_begin(&page->text, r);
        add_tiles(&page->text, r->d);
        loss_charts_add_maps(page, &map);
        loss_charts_add_panels(page, &map);
        add_tables(page, r->d);
        str_text(&page->text, "</main>\n");
        html_lines(&page->text, loss_terms);
        html_end(&page->text);
    }
    loss_map_clear(&map);
    free(items);
    free(words);
    return ok;
}
