/* The tables of the page about quantization error. */
#include <inttypes.h>

#include "report/html.h"
#include "report/loss_charts.h"
#include "report/loss_page_priv.h"
#include "report/summary.h"

static void
add_elements(struct str *out, double n)
{
    loss_page_count(out, (uint64_t)n);
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
    html_cell(out, loss_page_bits(nbytes, elements), html_number);
}

static const char sums_head[] = "<th scope=\"col\">SQNR, dB</th><th scope=\"col\">relative error, %</th>"
    "<th scope=\"col\">elements</th><th scope=\"col\">size</th><th scope=\"col\">bits per weight</th>";

void
loss_tables_schemes(const struct loss_page *p)
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

void
loss_tables_worst(const struct loss_page *p)
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

void
loss_tables_weights(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    str_format(out, "<details>\n<summary>All %zu quantized weights</summary>\n"
        "<p class=\"muted\">Click a heading to sort.</p>\n", p->choice->encoded);
    begin_weights(out, "list sort");
    for (size_t i = 0; i < p->choice->n; i++)
        if (chosen_weight(&p->choice->list[i]))
            add_weight(p, p->choice->list[i].encoding);
    str_text(out, "</tbody>\n<tfoot><tr><td class=\"text\">all</td><td></td>");
    add_loss(out, &p->all, p->quantized);
    str_text(out, "</tfoot></table></div>\n</details>\n");
}

void
loss_tables_left(const struct loss_page *p)
{
    struct str *out = &p->page->text;
    char size[STR_SIZE], dtype[SUMMARY_DTYPE];
    if (p->left == 0)
        return;
    str_format(out, "<details>\n<summary>%" PRIu64 " tensor%s not quantized</summary>\n<div class=\"scroll\">"
        "<table class=\"list sort\">\n<thead><tr><th scope=\"col\" class=\"text\">tensor</th>"
        "<th scope=\"col\" class=\"text\">type</th><th scope=\"col\">size</th>"
        "<th scope=\"col\" class=\"text\">reason</th></tr></thead>\n<tbody>\n",
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
            summary_dtype(dtype, &t), nbytes, str_size(size, nbytes), chosen->why ? chosen->why : "not selected");
        page_turn(p->page);
    }
    str_text(out, "</tbody></table></div>\n</details>\n");
}
