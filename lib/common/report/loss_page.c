#include "report/loss_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/loss_charts.h"
#include "report/loss_style.h"
#include "report/summary.h"

enum { WORST = 10 };

/* All that is encoded with one encoder. */
struct scheme_sum {
    const struct encoder *encoder;
    uint64_t weights, elements, nbytes;
    double noise, signal;
};

struct loss_page {
    struct page *page;
    const struct choice *choice;
    const struct losses *losses;
    const struct loss_about *about;
    struct loss all;
    uint64_t read, written;             /* bytes of the tensors of input and output */
    uint64_t quantized;                 /* bytes of the quantized weights */
    uint64_t left, left_elements;       /* tensors that are not quantized */
    struct scheme_sum *schemes;         /* nschemes, in the order of the output; owned */
    size_t nschemes;
    uint32_t *worst;                    /* the weights with the lowest SQNR, lowest first: nworst indices in the choice; owned */
    size_t nworst;
};

/* --- sums */

/* Adds a weight to the sums of its scheme. There are few schemes, at most as many as encoders. */
static bool
add_to_scheme(struct loss_page *p, const struct encoding *e, const struct loss *loss, struct err *err)
{
    size_t i = 0;
    while (i < p->nschemes && p->schemes[i].encoder != e->encoder)
        i++;
    if (i == p->nschemes) {
        struct scheme_sum *schemes = realloc(p->schemes, (i + 1) * sizeof *schemes);
        if (!schemes)
            return err_memory(err, (i + 1) * sizeof *schemes);
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
    size_t i = p->nworst < WORST ? p->nworst++ : WORST;
    for (; i > 0 && is_worse(sqnr, losses_of(p->losses, p->choice->list[p->worst[i - 1]].encoding).sqnr); i--)
        if (i < WORST)
            p->worst[i] = p->worst[i - 1];
    if (i < WORST)
        p->worst[i] = (uint32_t)at;
}

static bool
add_tensor(struct loss_page *p, size_t at, struct err *err)
{
    const struct chosen *chosen = &p->choice->list[at];
    const struct encoding *e = loss_map_weight(chosen);
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
    p->worst = calloc(WORST, sizeof *p->worst);
    if (!p->worst)
        return err_memory(err, WORST * sizeof *p->worst);
    for (size_t i = 0; i < catalog_count(p->choice->input); i++)
        p->read += catalog_at(p->choice->input, i)->extent.nbytes;
    bool ok = choice_nbytes(p->choice, &p->written, err);
    for (size_t i = 0; ok && i < p->choice->n; i++)
        ok = add_tensor(p, i, err);
    return ok;
}

/* --- head */

static void
add_lines(struct str *out, const char *const *lines)
{
    for (; *lines; lines++)
        str_format(out, "%s\n", *lines);
}

static void
add_begin(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    str_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">\n<title>Quantization error of ");
    html_text(out, p->about->model, strlen(p->about->model));
    str_text(out, "</title>\n<style>\n");
    add_lines(out, loss_style);
    str_text(out, "</style>\n</head>\n<body>\n<header>\n<h1>Quantization error of ");
    html_text(out, p->about->model, strlen(p->about->model));
    str_format(out, "</h1>\n<p class=\"muted\">Each weight <i>x</i> of the input compared with its value <i>y</i> after quantization. "
        "Written by %s %s.</p>\n</header>\n", p->about->tool, p->about->version);
}

/* Appends a number of elements: "8192", "516 thousand", "2.92 million". */
static void
add_count(struct str *out, uint64_t n)
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

static double
bits(uint64_t nbytes, uint64_t elements)
{
    return elements != 0 ? 8 * (double)nbytes / (double)elements : 0;
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
    html_number(out, bits(p->written, p->all.n + p->left_elements));
    add_note(out);
    str_text(out, "quantized weights alone: ");
    html_number(out, bits(p->quantized, p->all.n));
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
    add_count(out, p->all.n);
    add_note(out);
    add_count(out, p->left_elements);
    str_text(out, " not quantized");
    end_tile(out);
}

/* --- tables */

static void
add_elements(struct str *out, double n)
{
    add_count(out, (uint64_t)n);
}

static void
add_size(struct str *out, double n)
{
    char size[STR_SIZE];
    str_text(out, str_size(size, (uint64_t)n));
}

static void
add_cosine(struct str *out, double v)
{
    str_format(out, "%.4f", v);
}

/* Appends the cells below sums_head, which all tables have. */
static void
add_sums(struct str *out, uint64_t elements, uint64_t nbytes, double signal, double noise)
{
    html_cell(out, losses_sqnr(signal, noise), html_sqnr);
    html_cell(out, 100 * loss_charts_relative(noise, signal), html_number);
    html_cell(out, (double)elements, add_elements);
    html_cell(out, (double)nbytes, add_size);
    html_cell(out, bits(nbytes, elements), html_number);
}

static const char sums_head[] = "<th scope=\"col\">SQNR, dB</th><th scope=\"col\">relative error, %</th>"
    "<th scope=\"col\">elements</th><th scope=\"col\">size</th><th scope=\"col\">bits per weight</th>";

static void
add_schemes(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    if (p->nschemes < 2)
        return;
    str_text(out, "<section>\n<h2>Schemes in the mix</h2>\n<div class=\"scroll\"><table class=\"list sort\">\n<thead><tr>"
        "<th scope=\"col\" class=\"text\">scheme</th><th scope=\"col\">weights</th>");
    str_format(out, "%s</tr></thead>\n<tbody>\n", sums_head);
    for (size_t i = 0; i < p->nschemes; i++) {
        const struct scheme_sum *s = &p->schemes[i];
        str_format(out, "<tr><td class=\"text\">%s</td><td>%" PRIu64 "</td>", s->encoder->name, s->weights);
        add_sums(out, s->elements, s->nbytes, s->signal, s->noise);
        str_text(out, "</tr>\n");
    }
    str_text(out, "</tbody></table></div>\n</section>\n");
}

static void
begin_weights(struct str *out, const char *class)
{
    str_format(out, "<div class=\"scroll\"><table class=\"%s\">\n<thead><tr><th scope=\"col\" class=\"text\">weight</th>"
        "<th scope=\"col\" class=\"text\">scheme</th>%s<th scope=\"col\">largest error</th><th scope=\"col\">cosine</th></tr>"
        "</thead>\n<tbody>\n", class, sums_head);
}

/* Appends the numbers of a row. */
static void
add_loss(struct str *out, const struct loss *l, uint64_t nbytes)
{
    add_sums(out, l->n, nbytes, l->signal, l->noise);
    html_cell(out, l->most, html_number);
    html_cell(out, l->cosine, add_cosine);
    str_text(out, "</tr>\n");
}

static void
add_weight(const struct loss_page *p, const struct encoding *e)
{
    struct str *out = &p->page->text;
    const struct loss loss = losses_of(p->losses, e);
    str_text(out, "<tr><td class=\"name\">");
    html_text(out, e->weight.name, e->weight.name_len);
    str_format(out, "</td><td class=\"text\">%s</td>", e->encoder->name);
    add_loss(out, &loss, encode_nbytes(e));
    page_turn(p->page);
}

static void
add_worst(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    if (p->nworst > 1)
        str_format(out, "<section>\n<h2>The %zu weights with the lowest SQNR</h2>\n", p->nworst);
    else
        str_text(out, "<section>\n<h2>The weight</h2>\n");
    begin_weights(out, "list");
    for (size_t i = 0; i < p->nworst; i++)
        add_weight(p, p->choice->list[p->worst[i]].encoding);
    str_text(out, "</tbody></table></div>\n</section>\n");
}

static void
add_weights(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    str_format(out, "<details>\n<summary>All %zu quantized weights</summary>\n<p class=\"muted\">Click a heading to sort.</p>\n",
        p->choice->encoded);
    begin_weights(out, "list sort");
    for (size_t i = 0; i < p->choice->n; i++)
        if (loss_map_weight(&p->choice->list[i]))
            add_weight(p, p->choice->list[i].encoding);
    str_text(out, "</tbody>\n<tfoot><tr><td class=\"text\">all</td><td></td>");
    add_loss(out, &p->all, p->quantized);
    str_text(out, "</tfoot></table></div>\n</details>\n");
}

static void
add_left(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    char size[STR_SIZE];
    if (p->left == 0)
        return;
    str_format(out, "<details>\n<summary>%" PRIu64 " tensor%s not quantized</summary>\n<div class=\"scroll\">"
        "<table class=\"list sort\">\n<thead><tr><th scope=\"col\" class=\"text\">tensor</th><th scope=\"col\" class=\"text\">type</th>"
        "<th scope=\"col\">size</th><th scope=\"col\" class=\"text\">reason</th></tr></thead>\n<tbody>\n",
        p->left, p->left == 1 ? "" : "s");
    for (size_t i = 0; i < p->choice->n; i++) {
        const struct chosen *chosen = &p->choice->list[i];
        const struct tensor t = chosen_tensor(chosen);
        uint64_t nbytes = 0;
        bool whole;
        if (chosen->encoding)
            continue;
        shape_nbytes(&t.shape, t.dtype, &nbytes, &whole);
        str_text(out, "<tr><td class=\"name\">");
        html_text(out, t.name, t.name_len);
        str_format(out, "</td><td class=\"text\">%s</td><td data-v=\"%" PRIu64 "\">%s</td><td class=\"text\">%s</td></tr>\n",
            dtype_name(t.dtype), nbytes, str_size(size, nbytes), chosen->why ? chosen->why : "not selected");
        page_turn(p->page);
    }
    str_text(out, "</tbody></table></div>\n</details>\n");
}

/* --- page */

static void
add_end(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    str_text(out, "<footer>\n<section>\n<h2>Terms</h2>\n"
        "<p>SQNR, the signal-to-quantization-noise ratio, is 10 log<sub>10</sub>(&Sigma;<i>x</i>&sup2; / &Sigma;(<i>x</i> &minus; "
        "<i>y</i>)&sup2;) in decibels; higher is better. The relative error is &radic;(&Sigma;(<i>x</i> &minus; <i>y</i>)&sup2; / "
        "&Sigma;<i>x</i>&sup2;): 6 dB more halve it. The largest error is the highest |<i>x</i> &minus; <i>y</i>|, in the unit of the "
        "weights.</p>\n"
        "<p>Sizes are those of tensor data, without headers. A cell for several weights, such as the experts of a layer, has their "
        "total SQNR.</p>\n</section>\n</footer>\n<script>\n");
    add_lines(out, loss_script);
    str_text(out, "</script>\n</body>\n</html>\n");
}

static void
add_page(const struct loss_page *p, const struct loss_map *map)
{
    add_begin(p);
    str_text(&p->page->text, "<main>\n<dl class=\"tiles\">\n");
    add_size_tiles(p);
    add_loss_tiles(p);
    str_text(&p->page->text, "</dl>\n");
    add_schemes(p);
    loss_charts_add_maps(p->page, map);
    loss_charts_add_panels(p->page, map);
    add_worst(p);
    add_weights(p);
    add_left(p);
    str_text(&p->page->text, "</main>\n");
    add_end(p);
}

bool
loss_page_html(FILE *out, const struct choice *choice, const struct losses *losses, const struct loss_about *about, struct err *err)
{
    struct page page;
    struct loss_map map = { 0 };
    struct loss_page p = { .page = &page, .choice = choice, .losses = losses, .about = about };
    page_init(&page, out);
    bool ok = loss_map_make(&map, choice, losses, err) && add_all(&p, err);
    if (ok)
        add_page(&p, &map);
    ok = page_finish(&page, ok ? err : &(struct err){ 0 }) && ok;
    loss_map_clear(&map);
    free(p.schemes);
    free(p.worst);
    return ok;
}
