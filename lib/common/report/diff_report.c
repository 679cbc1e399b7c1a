#include "report/diff_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/html.h"
#include "report/ndjson.h"

const char *
diff_report_type(char buf[DIFF_REPORT_TYPE], const struct chosen *chosen)
{
    char word[SCHEME_WORD];
    const char *name = chosen->decode ? scheme_word(chosen->decode, word) : dtype_name(chosen->copy->dtype);
    snprintf(buf, DIFF_REPORT_TYPE, "%s", name);
    return buf;
}

/* Returns true if a pair with this SQNR comes before another: NaN, then the lowest. */
static bool
is_worse(double sqnr, double than)
{
    return sqnr < than || (isnan(sqnr) && !isnan(than));
}

void
diff_report_worst(const struct differences *d, size_t numbers[DIFF_REPORT_WORST], size_t *n)
{
    double sqnr[DIFF_REPORT_WORST];
    *n = 0;
    for (size_t k = 0; k < d->n; k++) {
        if (d->list[k].status != DIFFERENCE_SOME)
            continue;
        double own = d->list[k].kind == DIFFERENCE_BYTES ? NAN : difference_loss(d, k).sqnr;
        size_t i = *n < DIFF_REPORT_WORST ? (*n)++ : DIFF_REPORT_WORST;
        for (; i > 0 && is_worse(own, sqnr[i - 1]); i--)
            if (i < DIFF_REPORT_WORST) {
                numbers[i] = numbers[i - 1];
                sqnr[i] = sqnr[i - 1];
            }
        if (i < DIFF_REPORT_WORST) {
            numbers[i] = k;
            sqnr[i] = own;
        }
    }
}

/* --- JSON */

static void
add_side(struct page *j, const struct chosen *chosen, const char *dtype, const char *shape)
{
    char type[DIFF_REPORT_TYPE];
    ndjson_text(j, dtype, chosen ? diff_report_type(type, chosen) : NULL);
    if (!chosen) {
        ndjson_null(j, shape);
        return;
    }
    const struct tensor t = chosen_tensor(chosen);
    ndjson_dims(j, shape, &t.shape);
}

static void
add_figure(struct page *j, const char *key, bool known, double v)
{
    if (known)
        ndjson_f64(j, key, v);
    else
        ndjson_null(j, key);
}

static void
add_tensor(struct page *j, const struct differences *d, size_t i)
{
    const struct difference *one = &d->list[i];
    const struct tensor t = difference_tensor(one);
    bool compared = difference_is_pair(one), known = compared && one->kind != DIFFERENCE_BYTES;
    const struct loss loss = compared ? difference_loss(d, i) : (struct loss){ 0 };
    ndjson_begin(j);
    ndjson_bytes(j, "name", t.name, t.name_len);
    ndjson_text(j, "status", difference_word(one->status));
    add_side(j, one->a, "dtype_a", "shape_a");
    add_side(j, one->b, "dtype_b", "shape_b");
    ndjson_known(j, "elements", compared, one->n);
    ndjson_known(j, "differing", compared, one->count);
    ndjson_known(j, "nonfinite", known, one->nonfinite);
    add_figure(j, "max_abs", known, loss.most);
    add_figure(j, "mean_abs", known, loss.distance);
    add_figure(j, "sqnr_db", known, loss.sqnr);
    add_figure(j, "cosine", known, loss.cosine);
    ndjson_known(j, "first_index", one->first != DIFFERENCE_NOWHERE, one->first);
    ndjson_end(j);
}

bool
diff_report_json(FILE *out, const struct diff_report *r, struct err *err)
{
    struct page page;
    page_init(&page, out);
    for (size_t i = 0; i < r->d->n && page.sys == 0; i++)
        add_tensor(&page, r->d, i);
    return page_finish(&page, err);
}

/* --- text */

enum { LABEL = 14, NAME_MIN = 16, FIGURES = 48 };

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
    const struct loss all = losses_of(d->losses, NULL);
    if (d->count[DIFFERENCE_SOME] == 0 || !isfinite(all.sqnr))
        return;
    str_format(&page->text, "%-*sSQNR %.2f dB, cosine %.6g, mean difference %.3g\n", LABEL, "Together", all.sqnr, all.cosine,
        all.distance);
}

static void
add_counts(struct page *page, const struct diff_report *r)
{
    struct str *out = &page->text;
    str_format(out, "%-*s", LABEL, "A");
    str_add_escaped(out, r->a, strlen(r->a));
    str_format(out, "\n%-*s", LABEL, "B");
    str_add_escaped(out, r->b, strlen(r->b));
    str_text(out, "\n");
    for (int i = 0; i < DIFFERENCE_STATUSES; i++) {
        size_t n = r->d->count[i];
        if (n == 0)
            continue;
        str_format(out, "%-*s", LABEL, rows[i].label);
        screen_begin(out, &page->screen, rows[i].style);
        str_format(out, "%zu tensor%s", n, n == 1 ? "" : "s");
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
    return columns == SIZE_MAX ? SIZE_MAX : columns > FIGURES + NAME_MIN ? columns - FIGURES : NAME_MIN;
}

static void
add_number(struct str *out, double v, int digits)
{
    if (isnan(v))
        str_format(out, "%10s", "-");
    else
        str_format(out, "%10.*g", digits, v);
}

/* Adds the figures first, so that names of any length do not move them. */
static void
add_row(struct page *page, const struct differences *d, size_t i)
{
    struct str *out = &page->text;
    const struct tensor t = difference_tensor(&d->list[i]);
    struct loss loss = difference_loss(d, i);
    if (d->list[i].kind == DIFFERENCE_BYTES)
        loss = (struct loss){ .sqnr = NAN, .most = NAN, .distance = NAN, .cosine = NAN };
    add_number(out, loss.sqnr, 4);
    add_number(out, loss.most, 3);
    add_number(out, loss.distance, 3);
    add_number(out, loss.cosine, 6);
    str_text(out, "  ");
    struct str name = { 0 };
    str_add_escaped(&name, t.name, t.name_len);
    out->failed |= name.failed;
    screen_shorten(out, name.p ? name.p : "", name.len, name_width(page), false);
    str_clear(&name);
    str_text(out, "\n");
    page_turn(page);
}

static void
add_worst(struct page *page, const struct diff_report *r)
{
    size_t numbers[DIFF_REPORT_WORST], n, count = r->d->count[DIFFERENCE_SOME];
    if (count == 0)
        return;
    diff_report_worst(r->d, numbers, &n);
    str_text(&page->text, "\n");
    screen_begin(&page->text, &page->screen, SCREEN_HEADING);
    str_format(&page->text, "%10s%10s%10s%10s  %s", "SQNR, dB", "largest", "mean", "cosine", r->all || n == count ? "Tensor"
        : "Worst tensors");
    screen_end(&page->text, &page->screen, SCREEN_HEADING);
    str_text(&page->text, "\n");
    for (size_t i = 0; !r->all && i < n; i++)
        add_row(page, r->d, numbers[i]);
    for (size_t i = 0; r->all && i < r->d->n; i++)
        if (r->d->list[i].status == DIFFERENCE_SOME)
            add_row(page, r->d, i);
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
    for (size_t i = 0; i < r->d->n && (r->all || shown < DIFF_REPORT_WORST); i++) {
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

bool
diff_report_text(FILE *out, const struct diff_report *r, struct err *err)
{
    struct page page;
    page_init(&page, out);
    add_counts(&page, r);
    add_worst(&page, r);
    for (int status = DIFFERENCE_ONLY_A; status < DIFFERENCE_STATUSES; status++)
        add_names(&page, r, (enum difference_status)status);
    return page_finish(&page, err);
}
