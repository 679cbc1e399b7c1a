#include "report/diff_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/html.h"
#include "report/ndjson.h"

struct loss_worst
diff_report_worst(const struct differences *d)
{
    struct loss_worst worst = { 0 };
    for (size_t i = 0; i < d->n; i++)
        if (d->list[i].status == DIFFERENCE_SOME)
            loss_items_add_worst(&worst, i, d->list[i].kind == DIFFERENCE_BYTES ? NAN : difference_loss(d, i).sqnr);
    return worst;
}

/* --- rows */

const char *
diff_report_type(char word[SCHEME_WORD], const struct chosen *chosen)
{
    const struct tensor *copy = NULL;
    const struct weight *decode = NULL;
    if (chosen)
        difference_stored(chosen, &copy, &decode);
    if (decode && dtype_facts(decode->part[0]->dtype)->elems > 1)      /* blocks of GGUF, as amn-parse calls them */
        return dtype_name(decode->part[0]->dtype);
    if (decode)
        return scheme_word(decode, word);
    if (copy)
        return dtype_name(copy->dtype);
    return chosen ? "F32" : NULL;
}

/* Adds the type that a tensor is stored in, and its shape; nothing if a model lacks it. */
static void
add_side(struct columns *c, const struct chosen *chosen, const char *dtype, const char *heading, const char *shape)
{
    char word[SCHEME_WORD];
    struct tensor t = { 0 };
    if (chosen)
        t = chosen_tensor(chosen);
    columns_text(c, dtype, heading, diff_report_type(word, chosen));
    if (c->form == COLUMNS_JSON && chosen)
        ndjson_dims(c->page, shape, &t.shape);
    else if (c->form == COLUMNS_JSON)
        ndjson_null(c->page, shape);
}

static void
add_cosine(struct str *out, double v)
{
    str_format(out, "%.6f", v);
}

/* A page leaves out the figures of a pair without elements. */
void
diff_report_row(struct columns *c, const struct differences *d, size_t i)
{
    const struct difference *one = &d->list[i];
    const struct tensor t = difference_tensor(one);
    const bool compared = difference_is_pair(one), figures = compared && one->kind != DIFFERENCE_BYTES;
    const struct loss loss = compared ? difference_loss(d, i) : (struct loss){ 0 };
    columns_begin(c);
    columns_name(c, "name", "tensor", t.name, t.name_len);
    columns_text(c, "status", "status", difference_word(one->status));
    add_side(c, one->a, "dtype_a", "type in A", "shape_a");
    add_side(c, one->b, "dtype_b", "type in B", "shape_b");
    c->unknown = !compared;
    columns_count(c, "elements", NULL, one->n, NULL);
    columns_count(c, "differing", NULL, one->count, NULL);
    c->unknown = !figures || (c->form == COLUMNS_PAGE && one->n == 0);
    columns_figure(c, NULL, "SQNR, dB", loss.sqnr, html_sqnr);
    columns_count(c, "nonfinite", NULL, one->nonfinite, NULL);
    columns_figure(c, "max_abs", "largest difference", loss.most, html_number);
    columns_figure(c, "mean_abs", "mean difference", loss.distance, html_number);
    columns_figure(c, "sqnr_db", NULL, loss.sqnr, NULL);
    columns_figure(c, "cosine", "cosine", loss.cosine, add_cosine);
    columns_count(c, NULL, "different elements", one->count, columns_digits);
    c->unknown = one->first == DIFFERENCE_NOWHERE;
    columns_count(c, "first_index", NULL, one->first, NULL);
    columns_end(c);
}

/* Adds what all compared pairs have together. */
static void
add_json_total(struct page *page, const struct differences *d)
{
    static const char *const keys[DIFFERENCE_STATUSES] = { "equal", "equal_values", "unequal", "only_a", "only_b", "shape", "dtype" };
    const struct loss all = losses_all(d->losses);
    uint64_t n = 0, count = 0, nonfinite = 0;
    double most = 0;
    for (size_t i = 0; i < d->n; i++) {
        const struct difference *one = &d->list[i];
        if (!difference_is_pair(one))
            continue;
        n += one->n;
        count += one->count;
        nonfinite += one->nonfinite;
        most = fmax(most, one->most);
    }
    ndjson_begin(page);
    ndjson_u64(page, "total", d->n);
    for (int i = 0; i < DIFFERENCE_STATUSES; i++)
        ndjson_u64(page, keys[i], d->count[i]);
    ndjson_u64(page, "elements", n);
    ndjson_u64(page, "differing", count);
    ndjson_u64(page, "nonfinite", nonfinite);
    ndjson_f64(page, "max_abs", most);
    ndjson_f64(page, "mean_abs", all.distance);
    ndjson_f64(page, "sqnr_db", all.sqnr);
    ndjson_f64(page, "cosine", all.cosine);
    ndjson_end(page);
}

void
diff_report_json(struct page *page, const struct diff_report *r)
{
    struct columns c = { .page = page, .form = COLUMNS_JSON };
    for (size_t i = 0; i < r->d->n && page->sys == 0; i++)
        diff_report_row(&c, r->d, i);
    if (page->sys == 0)
        add_json_total(page, r->d);
}

/* --- text */

enum { NAME_MIN = 16, FIGURES = 52 };

static const struct {
    const char *label;
    enum screen_style style;
} rows[DIFFERENCE_STATUSES] = {
    { "Equal", SCREEN_GOOD }, { "Equal values", SCREEN_GOOD }, { "Different", SCREEN_BAD }, { "Only in A", SCREEN_BAD },
    { "Only in B", SCREEN_BAD }, { "Other shape", SCREEN_BAD }, { "Other type", SCREEN_BAD },
};

/* Adds SQNR and cosine of all pairs with figures. */
static void
add_total(struct page *page, const struct differences *d)
{
    const struct loss all = losses_all(d->losses);
    if (d->count[DIFFERENCE_SOME] == 0 || !isfinite(all.sqnr))
        return;
    str_format(&page->text, PAGE_LABEL "SQNR %.2f dB, cosine %.6g, mean difference %.3g\n", "Together", all.sqnr, all.cosine,
        all.distance);
}

static void
add_counts(struct page *page, const struct diff_report *r)
{
    struct str *out = &page->text;
    str_format(out, PAGE_LABEL, "A");
    str_add_escaped(out, r->a, strlen(r->a));
    str_format(out, "\n" PAGE_LABEL, "B");
    str_add_escaped(out, r->b, strlen(r->b));
    str_text(out, "\n");
    for (int i = 0; i < DIFFERENCE_STATUSES; i++) {
        size_t n = r->d->count[i];
        if (n == 0)
            continue;
        str_format(out, PAGE_LABEL, rows[i].label);
        screen_begin(out, &page->screen, rows[i].style);
        str_format(out, "%zu tensor%s", n, str_plural(n));
        screen_end(out, &page->screen, rows[i].style);
        str_text(out, "\n");
    }
    add_total(page, r->d);
}

/* Returns the width of the column of names: as wide as a line allows. */
static size_t
name_width(const struct page *page)
{
    size_t columns = page->screen.columns;
    if (columns == SIZE_MAX)
        return SIZE_MAX;
    if (columns > FIGURES + NAME_MIN)
        return columns - FIGURES;
    return NAME_MIN;
}

/* Adds a number in a column of 11, with fixed decimals. */
static void
add_fixed(struct str *out, double v, int decimals)
{
    if (isnan(v))
        str_format(out, "%11s", "-");
    else
        str_format(out, "%11.*f", decimals, v);
}

/* Adds a number in a column of 11, with three digits. */
static void
add_number(struct str *out, double v)
{
    if (isnan(v))
        str_format(out, "%11s", "-");
    else
        str_format(out, "%11.3g", v);
}

/* Adds the figures first, so that names of any length do not move them. */
static void
diff_report_add_row(struct page *page, const struct differences *d, size_t i)
{
    struct str *out = &page->text;
    const struct tensor t = difference_tensor(&d->list[i]);
    struct loss loss = difference_loss(d, i);
    if (d->list[i].kind == DIFFERENCE_BYTES)
        loss = (struct loss){ .sqnr = NAN, .most = NAN, .distance = NAN, .cosine = NAN };
    add_fixed(out, loss.sqnr, 2);
    add_number(out, loss.most);
    add_number(out, loss.distance);
    add_fixed(out, loss.cosine, 6);
    str_text(out, "  ");
    struct str name = { 0 };
    str_add_escaped(&name, t.name, t.name_len);
    out->failed |= name.failed;
    screen_shorten(out, str_or(name.p, ""), name.len, name_width(page), false);
    str_clear(&name);
    str_text(out, "\n");
    page_turn(page);
}

static void
add_worst(struct page *page, const struct diff_report *r)
{
    const struct loss_worst worst = diff_report_worst(r->d);
    const size_t count = r->d->count[DIFFERENCE_SOME];
    if (count == 0)
        return;
    str_text(&page->text, "\n");
    screen_begin(&page->text, &page->screen, SCREEN_HEADING);
    str_format(&page->text, "%11s%11s%11s%11s  %s", "SQNR, dB", "largest", "mean", "cosine", r->all || worst.n == count ? "Tensor"
        : "Worst tensors");
    screen_end(&page->text, &page->screen, SCREEN_HEADING);
    str_text(&page->text, "\n");
    for (size_t i = 0; !r->all && i < worst.n; i++)
        diff_report_add_row(page, r->d, worst.number[i]);
    for (size_t i = 0; r->all && i < r->d->n; i++)
        if (r->d->list[i].status == DIFFERENCE_SOME)
            diff_report_add_row(page, r->d, i);
}

/* Lists the tensors with a status by name, the first ones or all. */
static void
add_names(struct page *page, const struct diff_report *r, enum difference_status status)
{
    struct str *out = &page->text;
    size_t count = r->d->count[status], shown = 0;
    if (count == 0)
        return;
    str_text(out, "\n");
    page_styled(page, SCREEN_HEADING, rows[status].label);
    str_text(out, "\n");
    for (size_t i = 0; i < r->d->n && (r->all || shown < LOSS_WORST); i++) {
        if (r->d->list[i].status != status)
            continue;
        const struct tensor t = difference_tensor(&r->d->list[i]);
        str_text(out, "  ");
        str_add_escaped(out, t.name, t.name_len);
        str_text(out, "\n");
        page_turn(page);
        shown++;
    }
    if (shown < count)
        str_format(out, "  and %zu more (-v lists all)\n", count - shown);
}

void
diff_report_text(struct page *page, const struct diff_report *r)
{
    add_counts(page, r);
    add_worst(page, r);
    for (int status = DIFFERENCE_ONLY_A; status < DIFFERENCE_STATUSES; status++)
        add_names(page, r, (enum difference_status)status);
}
