#include "report/loss_report.h"

#include "report/ndjson.h"

static void
add_loss(struct page *j, const struct loss *l)
{
    ndjson_u64(j, "elements", l->n);
    ndjson_f64(j, "mean_absolute_error", l->distance);
    ndjson_f64(j, "max_error", l->most);
    ndjson_f64(j, "sqnr_db", l->sqnr);
    ndjson_f64(j, "cosine", l->cosine);
}

static void
add_losses(struct page *page, const struct choice *choice, const struct losses *losses)
{
    uint64_t nbytes = 0;
    for (size_t i = 0; i < choice->n; i++) {
        const struct encoding *e = chosen_weight(&choice->list[i]);
        if (!e)
            continue;
        const struct loss loss = losses_of(losses, e);
        nbytes += encode_nbytes(e);
        ndjson_begin(page);
        ndjson_bytes(page, "name", e->weight.name, e->weight.name_len);
        ndjson_text(page, "scheme", e->encoder->name);
        ndjson_u64(page, "nbytes", encode_nbytes(e));
        add_loss(page, &loss);
        ndjson_end(page);
    }
    const struct loss all = losses_of(losses, NULL);
    ndjson_begin(page);
    ndjson_u64(page, "total", choice->encoded);
    ndjson_u64(page, "nbytes", nbytes);
    add_loss(page, &all);
    ndjson_end(page);
}

bool
loss_report_json(FILE *out, const struct choice *choice, const struct losses *losses, const struct shift_report *adapters,
    struct err *err)
{
    struct page page;
    page_init(&page, out);
    if (losses)
        add_losses(&page, choice, losses);
    if (adapters)
        shift_report_json(&page, adapters);
    return page_finish(&page, err);
}
