#include "report/loss_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/html.h"
#include "report/loss_charts.h"
#include "report/loss_report.h"
#include "report/loss_style.h"
#include "report/summary.h"

/* Totals of the weights with one scheme. */
struct scheme_sum {
    const char *type;
    uint64_t weights, nbytes;
    struct loss loss;                   /* elements, noise and signal only */
};

struct loss_page {
    struct page *page;
    const struct choice *choice;
    const struct losses *losses;
    const struct loss_about *about;
    struct loss_item *items;            /* n, in the order of the output; owned */
    size_t n;
    struct loss all;
    uint64_t read, written;             /* bytes of the tensors of input and output */
    uint64_t quantized;                 /* bytes of the quantized weights */
    uint64_t left, left_elements;       /* tensors that are not quantized */
    struct scheme_sum *schemes;         /* nschemes, in the order of the output; owned */
    size_t nschemes, schemes_room;
    struct loss_worst worst;            /* indices of items */
};

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
    if (p->losses)
        str_text(out, "<p class=\"muted\">Each weight <i>x</i> of the input compared with its value <i>y</i> after quantization.</p>\n");
    html_made(out, p->about->tool, p->about->version, p->about->command);
    str_text(out, "</header>\n");
}

static void
add_size_tiles(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    char from[STR_SIZE], to[STR_SIZE];
    html_tile(out, "Scheme");
    if (p->about->scheme || p->nschemes == 1)
        str_text(out, str_or(p->about->scheme, p->schemes[0].type));
    else
        str_format(out, "mix of %zu schemes", p->nschemes);
    html_tile_note(out);
    str_text(out, str_or(p->about->target, ""));
    html_tile_end(out);
    html_tile(out, "Size of all tensors");
    str_format(out, "<span class=\"one\">%s &rarr;</span> <span class=\"one\">%s</span>", str_size(from, p->read), str_size(to, p->written));
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

/* Returns the plain mix whose size is nearest to the size of the weights, or NULL. */
static const struct loss_uniform *
nearest_plain(const struct loss_page *p)
{
    const struct loss_uniform *best = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < p->about->nuniform; i++) {
        double apart = fabs((double)p->about->uniform[i].nbytes - (double)p->quantized);
        if (p->about->uniform[i].mixed && apart < least) {
            best = &p->about->uniform[i];
            least = apart;
        }
    }
    return best;
}

/* Adds the baseline: what the plain mix of about this size gives. */
static void
add_plain_tile(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    const struct loss_uniform *plain = nearest_plain(p);
    if (!plain)
        return;
    html_tile(out, "Plain mix of this size");
    str_text(out, plain->scheme);
    html_tile_note(out);
    html_sqnr(out, losses_sqnr(p->all.signal, plain->noise));
    str_text(out, " dB, ");
    html_number(out, loss_report_bits(plain->nbytes, p->all.n));
    str_text(out, " bits");
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
    add_plain_tile(p);
    html_tile(out, "Quantized weights");
    str_format(out, "%zu", p->choice->encoded);
    html_tile_note(out);
    str_format(out, "%" PRIu64 " other tensor%s not quantized", p->left, str_plural(p->left));
    html_tile_end(out);
    html_tile(out, "Quantized elements");
    loss_report_add_count(out, (double)p->all.n);
    html_tile_note(out);
    loss_report_add_count(out, (double)p->left_elements);
    str_text(out, " not quantized");
    html_tile_end(out);
}

/* --- tables */

static void
add_schemes(const struct loss_page *p)
{
    struct columns c = { .page = p->page, .form = COLUMNS_PAGE };
    if (p->nschemes < 2)
        return;
    str_text(&p->page->text, "<section>\n<h2>Schemes in the mix</h2>\n");
    columns_table(&c, "list sort");
    for (size_t i = 0; i < p->nschemes; i++) {
        const struct scheme_sum *s = &p->schemes[i];
        columns_begin(&c);
        columns_text(&c, NULL, "scheme", s->type);
        columns_count(&c, NULL, "weights", s->weights, columns_digits);
        loss_report_sums(&c, &s->loss, s->nbytes);
        columns_end(&c);
    }
    columns_table_end(&c);
    str_text(&p->page->text, "</section>\n");
}

/* Compares the mix with each of its candidates alone, and with the mixes of llama-quantize. */
static void
add_uniform(const struct loss_page *p)
{
    struct columns c = { .page = p->page, .form = COLUMNS_PAGE };
    if (p->about->nuniform == 0)
        return;
    str_text(&p->page->text, "<section>\n<h2>The mix, and what plain schemes give</h2>\n<p>Each candidate for all weights, and the "
        "mixes of llama-quantize that are made of them, as they were measured when the mix was chosen.</p>\n");
    columns_table(&c, "list sort");
    columns_begin(&c);
    columns_text(&c, NULL, "scheme", "the mix");
    loss_report_sums(&c, &p->all, p->quantized);
    columns_end(&c);
    for (size_t i = 0; i < p->about->nuniform; i++) {
        const struct loss_uniform *u = &p->about->uniform[i];
        const struct loss loss = { .n = p->all.n, .noise = u->noise, .signal = p->all.signal };
        struct str label = { 0 };
        columns_begin(&c);
        str_format(&label, u->mixed ? "%s" : "all %s", u->scheme);
        columns_text(&c, NULL, "scheme", str_or(label.p, ""));
        p->page->text.failed = p->page->text.failed || label.failed;
        str_clear(&label);
        loss_report_sums(&c, &loss, u->nbytes);
        columns_end(&c);
    }
    columns_table_end(&c);
    str_text(&p->page->text, "</section>\n");
}

static void
add_worst(const struct loss_page *p)
{
    struct columns c = { .page = p->page, .form = COLUMNS_PAGE };
    if (p->worst.n > 1)
        str_format(&p->page->text, "<section>\n<h2>The %zu weights with the lowest SQNR</h2>\n", p->worst.n);
    else
        str_text(&p->page->text, "<section>\n<h2>The weight</h2>\n");
    columns_table(&c, "list");
    for (size_t i = 0; i < p->worst.n; i++)
        loss_report_row(&c, &p->items[p->worst.number[i]]);
    columns_table_end(&c);
    str_text(&p->page->text, "</section>\n");
}

static void
add_weights(const struct loss_page *p)
{
    struct columns c = { .page = p->page, .form = COLUMNS_PAGE };
    str_format(&p->page->text, "<details>\n<summary>All %zu quantized weights</summary>\n"
        "<p class=\"muted\">Click a heading to sort.</p>\n", p->choice->encoded);
    columns_table(&c, "list sort");
    for (size_t i = 0; i < p->n; i++)
        if (p->items[i].weighed)
            loss_report_row(&c, &p->items[i]);
    loss_report_total(&c, p->choice->encoded, &p->all, p->quantized);
    columns_table_end(&c);
    str_text(&p->page->text, "</details>\n");
}

static void
add_left(const struct loss_page *p)
{
    struct columns c = { .page = p->page, .form = COLUMNS_PAGE };
    char dtype[SUMMARY_DTYPE];
    if (p->left == 0)
        return;
    str_format(&p->page->text, "<details>\n<summary>%" PRIu64 " tensor%s not quantized</summary>\n", p->left, str_plural(p->left));
    columns_table(&c, "list sort");
    for (size_t i = 0; i < p->choice->n; i++) {
        const struct chosen *chosen = &p->choice->list[i];
        const struct tensor t = chosen_tensor(chosen);
        uint64_t nbytes = 0;
        bool whole;
        if (chosen->encoding)
            continue;
        shape_nbytes(&t.shape, t.dtype, &nbytes, &whole);
        columns_begin(&c);
        columns_name(&c, NULL, "tensor", t.name, t.name_len);
        columns_text(&c, NULL, "type", summary_dtype(dtype, &t));
        columns_count(&c, NULL, "size", nbytes, loss_report_add_size);
        columns_text(&c, NULL, "reason", str_or(chosen->why, "not selected"));
        columns_end(&c);
    }
    columns_table_end(&c);
    str_text(&p->page->text, "</details>\n");
}

/* --- page */

static void
add_page(const struct loss_page *p, const struct loss_map *map)
{
    struct str *out = &p->page->text;
    add_begin(p);
    str_text(out, "<main>\n<dl class=\"tiles\">\n");
    if (p->losses) {
        add_size_tiles(p);
        add_loss_tiles(p);
    } else if (p->about->adapters) {
        shift_report_tiles(p->page, p->about->adapters);
    }
    str_text(out, "</dl>\n");
    if (p->losses) {
        add_schemes(p);
        add_uniform(p);
        loss_charts_add_maps(p->page, map);
        loss_charts_add_panels(p->page, map);
        add_worst(p);
    }
    if (p->about->adapters)
        shift_report_section(p->page, p->about->adapters);
    if (p->losses) {
        add_weights(p);
        add_left(p);
    }
    str_text(out, "</main>\n");
    if (p->losses)
        html_lines(out, loss_terms);
    html_end(out);
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
