#include "report/loss_page_priv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/html.h"
#include "report/loss_charts.h"
#include "report/loss_report.h"
#include "report/loss_style.h"

/* --- sums */

/* Adds a weight to the sums of its scheme. There are few schemes, at most as many as encoders. */
static bool
add_to_scheme(struct loss_page *p, const struct loss_item *item, struct err *err)
{
    size_t i = 0;
    while (i < p->nschemes && strcmp(p->schemes[i].type, item->type) != 0)
        i++;
    if (i == p->nschemes) {
        struct scheme_sum *schemes = array_grow(p->schemes, i, &p->schemes_room, sizeof *schemes, err);
        if (!schemes)
            return false;
        p->schemes = schemes;
        schemes[p->nschemes++] = (struct scheme_sum){ .type = item->type };
    }
    struct scheme_sum *s = &p->schemes[i];
    s->weights++;
    s->nbytes += item->nbytes;
    s->loss.n += item->loss.n;
    s->loss.noise += item->loss.noise;
    s->loss.signal += item->loss.signal;
    return true;
}

static bool
add_item(struct loss_page *p, size_t i, struct err *err)
{
    const struct loss_item *item = &p->items[i];
    if (!item->weighed) {
        p->left++;
        p->left_elements += item->loss.n;
        return true;
    }
    p->quantized += item->nbytes;
    loss_items_add_worst(&p->worst, i, item->loss.sqnr);
    return add_to_scheme(p, item, err);
}

static bool
add_all(struct loss_page *p, struct err *err)
{
    p->all = losses_all(p->losses);
    for (size_t i = 0; i < catalog_count(p->choice->input); i++)
        p->read += catalog_at(p->choice->input, i)->extent.nbytes;
    p->items = calloc(p->choice->n + 1, sizeof *p->items);
    bool ok = (p->items || err_memory(err, (p->choice->n + 1) * sizeof *p->items)) && choice_nbytes(p->choice, &p->written, err);
    for (size_t i = 0; ok && i < p->choice->n; i++)
        if (loss_report_item(&p->items[p->n], p->choice, p->losses, i))
            ok = add_item(p, p->n++, err);
    return ok;
}

/* --- head and tiles */

static void
add_begin(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    html_begin(out, p->losses ? "Quantization error of" : "Adapters in", p->about->model);
    str_format(out, "<p class=\"muted\">%sWritten by %s %s.</p>\n</header>\n", p->losses ? "Each weight <i>x</i> of the input "
        "compared with its value <i>y</i> after quantization. " : "", p->about->tool, p->about->version);
}

static void
add_size_tiles(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    char from[STR_SIZE], to[STR_SIZE];
    html_tile(out, "Scheme");
    if (p->about->scheme || p->nschemes == 1)
        str_text(out, p->about->scheme ? p->about->scheme : p->schemes[0].type);
    else
        str_format(out, "mix of %zu schemes", p->nschemes);
    html_tile_note(out);
    str_text(out, p->about->target ? p->about->target : "");
    html_tile_end(out);
    html_tile(out, "Size of all tensors");
    str_format(out, "%s&nbsp;&rarr; %s", str_size(from, p->read), str_size(to, p->written));
    html_tile_note(out);
    if (p->read != 0)
        str_format(out, "%.1f %% of the input", 100 * (double)p->written / (double)p->read);
    html_tile_end(out);
    html_tile(out, "Bits per weight");
    html_number(out, loss_report_bits(p->written, p->all.n + p->left_elements));
    html_tile_note(out);
    str_text(out, "quantized weights alone: ");
    html_number(out, loss_report_bits(p->quantized, p->all.n));
    html_tile_end(out);
}

static void
add_loss_tiles(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    html_tile(out, "Total SQNR");
    html_sqnr(out, p->all.sqnr);
    str_text(out, isfinite(p->all.sqnr) ? " dB" : "");
    html_tile_note(out);
    str_text(out, "relative error ");
    html_number(out, 100 * loss_items_relative(p->all.noise, p->all.signal));
    str_text(out, " %");
    html_tile_end(out);
    html_tile(out, "Quantized weights");
    str_format(out, "%zu", p->choice->encoded);
    html_tile_note(out);
    str_format(out, "%" PRIu64 " other tensor%s not quantized", p->left, p->left == 1 ? "" : "s");
    html_tile_end(out);
    html_tile(out, "Quantized elements");
    loss_report_add_count(out, (double)p->all.n);
    html_tile_note(out);
    loss_report_add_count(out, (double)p->left_elements);
    str_text(out, " not quantized");
    html_tile_end(out);
}

/* --- page */

static void
add_end(const struct loss_page *p)
{
    if (p->losses)
        html_lines(&p->page->text, loss_terms);
    html_end(&p->page->text);
}

static void
add_page(const struct loss_page *p, const struct loss_map *map)
{
    add_begin(p);
    str_text(&p->page->text, "<main>\n");
    if (p->losses) {
        str_text(&p->page->text, "<dl class=\"tiles\">\n");
        add_size_tiles(p);
        add_loss_tiles(p);
        str_text(&p->page->text, "</dl>\n");
        loss_tables_schemes(p);
        loss_charts_add_maps(p->page, map);
        loss_charts_add_panels(p->page, map);
        loss_tables_worst(p);
    }
    if (!p->losses && p->about->adapters) {
        str_text(&p->page->text, "<dl class=\"tiles\">\n");
        shift_report_tiles(p->page, p->about->adapters);
        str_text(&p->page->text, "</dl>\n");
    }
    if (p->about->adapters)
        shift_report_section(p->page, p->about->adapters);
    if (p->losses) {
        loss_tables_weights(p);
        loss_tables_left(p);
    }
    str_text(&p->page->text, "</main>\n");
    add_end(p);
}

bool
loss_page_html(struct page *page, const struct choice *choice, const struct losses *losses, const struct loss_about *about,
    struct err *err)
{
    struct loss_map map = { 0 };
    struct loss_page p = { .page = page, .choice = choice, .losses = losses, .about = about };
    bool ok = !losses || (add_all(&p, err) && loss_map_make(&map, p.items, p.n, err));
    if (ok)
        add_page(&p, &map);
    loss_map_clear(&map);
    free(p.items);
    free(p.schemes);
    return ok;
}
