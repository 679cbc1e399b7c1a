#include "report/loss_report.h"

#include "report/html.h"
#include "report/summary.h"

double
loss_report_bits(uint64_t nbytes, uint64_t elements)
{
    if (elements != 0)
        return 8 * (double)nbytes / (double)elements;
    return 0;
}

void
loss_report_add_count(struct str *out, double n)
{
    if (n >= 10000 && n < 999500)
        str_format(out, "%.3g thousand", n / 1000);
    else
        summary_add_count(out, n >= 999500 && n < 1000000 ? 1000000 : (uint64_t)n);
}

void
loss_report_add_size(struct str *out, double nbytes)
{
    char size[STR_SIZE];
    str_text(out, str_size(size, (uint64_t)nbytes));
}

static void
add_cosine(struct str *out, double v)
{
    str_format(out, "%.4f", v);
}

bool
loss_report_item(struct loss_item *item, const struct choice *choice, const struct losses *losses, size_t i)
{
    const struct chosen *chosen = &choice->list[i];
    const struct encoding *e = chosen_weight(chosen);
    if (e) {
        *item = (struct loss_item){ .name = e->weight.name, .name_len = e->weight.name_len, .weighed = true,
            .type = e->encoder->name, .nbytes = encode_nbytes(e), .loss = losses_of(losses, e->number) };
    } else {
        const struct tensor t = chosen_tensor(chosen);
        *item = (struct loss_item){ .name = t.name, .name_len = t.name_len, .type = dtype_name(t.dtype), .why = chosen->why };
        shape_numel(&t.shape, &item->loss.n);
    }
    return e || !chosen->encoding;
}

void
loss_report_sums(struct columns *c, const struct loss *l, uint64_t nbytes)
{
    columns_count(c, "nbytes", NULL, nbytes, NULL);
    columns_figure(c, NULL, "SQNR, dB", losses_sqnr(l->signal, l->noise), html_sqnr);
    columns_figure(c, NULL, "relative error, %", 100 * loss_items_relative(l->noise, l->signal), html_number);
    columns_count(c, "elements", "elements", l->n, loss_report_add_count);
    columns_count(c, NULL, "size", nbytes, loss_report_add_size);
    columns_figure(c, NULL, "bits per weight", loss_report_bits(nbytes, l->n), html_number);
}

static void
add_loss(struct columns *c, const struct loss *l, uint64_t nbytes)
{
    loss_report_sums(c, l, nbytes);
    columns_figure(c, "mean_absolute_error", NULL, l->distance, NULL);
    columns_figure(c, "max_error", "largest error", l->most, html_number);
    columns_figure(c, "sqnr_db", NULL, l->sqnr, NULL);
    columns_figure(c, "cosine", "cosine", l->cosine, add_cosine);
    columns_end(c);
}

void
loss_report_row(struct columns *c, const struct loss_item *item)
{
    columns_begin(c);
    columns_name(c, "name", "weight", item->name, item->name_len);
    columns_text(c, "scheme", "scheme", item->type);
    add_loss(c, &item->loss, item->nbytes);
}

void
loss_report_total(struct columns *c, uint64_t n, const struct loss *all, uint64_t nbytes)
{
    columns_total(c, "total", "weight", n);
    columns_text(c, NULL, "scheme", "");
    add_loss(c, all, nbytes);
}

static void
add_losses(struct page *page, const struct choice *choice, const struct losses *losses)
{
    struct columns c = { .page = page, .form = COLUMNS_JSON };
    const struct loss all = losses_all(losses);
    struct loss_item item;
    uint64_t nbytes = 0;
    for (size_t i = 0; i < choice->n; i++)
        if (loss_report_item(&item, choice, losses, i) && item.weighed) {
            nbytes += item.nbytes;
            loss_report_row(&c, &item);
        }
    loss_report_total(&c, choice->encoded, &all, nbytes);
}

void
loss_report_json(struct page *page, const struct choice *choice, const struct losses *losses, const struct shift_report *adapters)
{
    if (losses)
        add_losses(page, choice, losses);
    if (adapters)
        shift_report_json(page, adapters);
}
