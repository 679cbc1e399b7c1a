/* The tables of the page about quantization error. */
#include <inttypes.h>

#include "report/loss_page_priv.h"
#include "report/loss_report.h"
#include "report/summary.h"

void
loss_tables_schemes(const struct loss_page *p)
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

void
loss_tables_worst(const struct loss_page *p)
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

void
loss_tables_weights(const struct loss_page *p)
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

void
loss_tables_left(const struct loss_page *p)
{
    struct columns c = { .page = p->page, .form = COLUMNS_PAGE };
    char dtype[SUMMARY_DTYPE];
    if (p->left == 0)
        return;
    str_format(&p->page->text, "<details>\n<summary>%" PRIu64 " tensor%s not quantized</summary>\n", p->left, p->left == 1 ? "" : "s");
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
        columns_text(&c, NULL, "reason", chosen->why ? chosen->why : "not selected");
        columns_end(&c);
    }
    columns_table_end(&c);
    str_text(&p->page->text, "</details>\n");
}
