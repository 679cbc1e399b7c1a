#include "report/loss_page_priv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/html.h"
#include "report/loss_charts.h"
#include "report/loss_style.h"
#include "report/summary.h"

/* --- sums */

/* Adds a weight to the sums of its scheme. There are few schemes, at most as many as encoders. */
static bool
add_to_scheme(struct loss_page *p, const struct encoding *e, const struct loss *loss, struct err *err)
{
    size_t i = 0;
    while (i < p->nschemes && p->schemes[i].encoder != e->encoder)
        i++;
    if (i == p->nschemes) {
        struct scheme_sum *schemes = array_grow(p->schemes, i, &p->schemes_room, sizeof *schemes, err);
        if (!schemes)
            return false;
        p->schemes = schemes;
        schemes[p->nschemes++] = (struct scheme_sum){ .encoder = e->encoder };
    }
    struct scheme_sum *s = &p->schemes[i];
    s->weights++;
    s->elements += loss->n;
    s->nbytes += encode_nbytes(e);
    s->noise += loss->noise;
    s->signal += loss->signal;
    return true;
}

/* Returns true if a weight with this SQNR comes before another: NaN, then the lowest. */
static bool
is_worse(double sqnr, double than)
{
    return sqnr < than || (isnan(sqnr) && !isnan(than));
}

/* Puts tensor `at` among the worst, if it is one of them. */
static void
add_to_worst(struct loss_page *p, size_t at, double sqnr)
{
    size_t i = p->nworst < LOSS_PAGE_WORST ? p->nworst++ : LOSS_PAGE_WORST;
    for (; i > 0 && is_worse(sqnr, losses_of(p->losses, p->choice->list[p->worst[i - 1]].encoding).sqnr); i--)
        if (i < LOSS_PAGE_WORST)
            p->worst[i] = p->worst[i - 1];
    if (i < LOSS_PAGE_WORST)
        p->worst[i] = (uint32_t)at;
}

static bool
add_tensor(struct loss_page *p, size_t at, struct err *err)
{
    const struct chosen *chosen = &p->choice->list[at];
    const struct encoding *e = chosen_weight(chosen);
    if (!chosen->encoding) {
        const struct tensor t = chosen_tensor(chosen);
        uint64_t n = 0;
        shape_numel(&t.shape, &n);
        p->left++;
        p->left_elements += n;
    }
    if (!e)
        return true;
    const struct loss loss = losses_of(p->losses, e);
    p->quantized += encode_nbytes(e);
    add_to_worst(p, at, loss.sqnr);
    return add_to_scheme(p, e, &loss, err);
}

static bool
add_all(struct loss_page *p, struct err *err)
{
    p->all = losses_of(p->losses, NULL);
    for (size_t i = 0; i < catalog_count(p->choice->input); i++)
        p->read += catalog_at(p->choice->input, i)->extent.nbytes;
    bool ok = choice_nbytes(p->choice, &p->written, err);
    for (size_t i = 0; ok && i < p->choice->n; i++)
        ok = add_tensor(p, i, err);
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

double
loss_page_bits(uint64_t nbytes, uint64_t elements)
{
    return elements != 0 ? 8 * (double)nbytes / (double)elements : 0;
}

void
loss_page_count(struct str *out, uint64_t n)
{
    if (n >= 10000 && n < 999500)
        str_format(out, "%.3g thousand", (double)n / 1000);
    else
        summary_add_count(out, n >= 999500 && n < 1000000 ? 1000000 : n);
}

/* Begins a tile; its large text follows. */
static void
begin_tile(struct str *out, const char *title)
{
    str_format(out, "<div><dt>%s</dt><dd class=\"big\">", title);
}

/* Ends the large text, and begins the small one. */
static void
add_note(struct str *out)
{
    str_text(out, "</dd><dd>");
}

static void
end_tile(struct str *out)
{
    str_text(out, "</dd></div>\n");
}

static void
add_size_tiles(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    char from[STR_SIZE], to[STR_SIZE];
    begin_tile(out, "Scheme");
    if (p->about->scheme || p->nschemes == 1)
        str_text(out, p->about->scheme ? p->about->scheme : p->schemes[0].encoder->name);
    else
        str_format(out, "mix of %zu schemes", p->nschemes);
    add_note(out);
    str_text(out, p->about->target ? p->about->target : "");
    end_tile(out);
    begin_tile(out, "Size of all tensors");
    str_format(out, "%s&nbsp;&rarr; %s", str_size(from, p->read), str_size(to, p->written));
    add_note(out);
    if (p->read != 0)
        str_format(out, "%.1f %% of the input", 100 * (double)p->written / (double)p->read);
    end_tile(out);
    begin_tile(out, "Bits per weight");
    html_number(out, loss_page_bits(p->written, p->all.n + p->left_elements));
    add_note(out);
    str_text(out, "quantized weights alone: ");
    html_number(out, loss_page_bits(p->quantized, p->all.n));
    end_tile(out);
}

static void
add_loss_tiles(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    begin_tile(out, "Total SQNR");
    html_sqnr(out, p->all.sqnr);
    str_text(out, isfinite(p->all.sqnr) ? " dB" : "");
    add_note(out);
    str_text(out, "relative error ");
    html_number(out, 100 * loss_charts_relative(p->all.noise, p->all.signal));
    str_text(out, " %");
    end_tile(out);
    begin_tile(out, "Quantized weights");
    str_format(out, "%zu", p->choice->encoded);
    add_note(out);
    str_format(out, "%" PRIu64 " other tensor%s not quantized", p->left, p->left == 1 ? "" : "s");
    end_tile(out);
    begin_tile(out, "Quantized elements");
    loss_page_count(out, p->all.n);
    add_note(out);
    loss_page_count(out, p->left_elements);
    str_text(out, " not quantized");
    end_tile(out);
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
loss_page_html(FILE *out, const struct choice *choice, const struct losses *losses, const struct loss_about *about,
    struct err *err)
{
    struct page page;
    struct err ignored = { 0 };
    struct loss_map map = { 0 };
    struct loss_page p = { .page = &page, .choice = choice, .losses = losses, .about = about };
    page_init(&page, out);
    bool ok = !losses || (loss_map_make(&map, choice, losses, err) && add_all(&p, err));
    if (ok)
        add_page(&p, &map);
    ok = page_finish(&page, ok ? err : &ignored) && ok;         /* keep the first failure */
    loss_map_clear(&map);
    free(p.schemes);
    return ok;
}
