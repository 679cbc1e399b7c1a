#include "report/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

enum { PHRASE_ITEMS = 4 };          /* named in one phrase; the rest is counted */

#define UNKNOWN "unknown("

const char *
summary_dtype(char buf[SUMMARY_DTYPE], const struct tensor *t)
{
    if (t->dtype == DTYPE_UNKNOWN)
        snprintf(buf, SUMMARY_DTYPE, UNKNOWN "%" PRIu32 ")", t->ggml_id);
    else
        snprintf(buf, SUMMARY_DTYPE, "%s", dtype_name(t->dtype));
    return buf;
}

bool
summary_dtype_sized(const struct tally_row *row)
{
    return strncmp(row->label, UNKNOWN, strlen(UNKNOWN)) != 0;
}

static uint64_t
add_up(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return num_add(&sum, a, b) ? sum : UINT64_MAX;
}

/* Elements of a shape: 0 wherever a dimension is 0, also when the others leave 64 bits. */
static uint64_t
numel(const struct shape *shape)
{
    uint64_t n;
    if (shape_is_empty(shape))
        return 0;
    return shape_numel(shape, &n) ? n : UINT64_MAX;
}

bool
summary_parameters(uint64_t *n, const struct catalog *catalog, const struct roles *roles, size_t i)
{
    const struct weight *w = roles_weight_of(roles, i);
    *n = w ? numel(&w->shape) : roles_is_companion(roles, i) ? 0 : numel(&catalog_at(catalog, i)->shape);
    return !w || !w->vague;
}

const char *
summary_describe(char buf[SCHEME_DETAIL], const struct weight *w)
{
    buf[0] = '\0';
    w->scheme->describe(w, buf);
    if (strcmp(buf, w->scheme->name) == 0)
        buf[0] = '\0';
    return buf;
}

/* A ggml type is half of a scheme's name ("GGUF Q4_K"); what else there is to say stands in the detail. */
static bool
add_weight(struct summary *s, const struct weight *w, struct err *err)
{
    char detail[SCHEME_DETAIL], type[SUMMARY_DTYPE] = "", name[2 * SCHEME_DETAIL], kind[2 * SCHEME_DETAIL];
    const struct tensor *codes = w->part[0];
    enum dtype_class class = dtype_facts(codes->dtype)->kind;
    if (class == DTYPE_IS_BLOCK || class == DTYPE_IS_UNKNOWN)
        summary_dtype(type, codes);
    summary_describe(detail, w);

    snprintf(name, sizeof name, "%s%s%s", w->scheme->name, type[0] ? " " : "", type);
    snprintf(kind, sizeof kind, "%s%s%s", w->scheme->name, detail[0] ? " " : "", detail);
    bool more = detail[0] && class != DTYPE_IS_UNKNOWN && strcmp(detail, type) != 0;
    s->quantized++;
    return tally_add(&s->schemes, name, codes->extent.nbytes, err)
        && (!more || tally_add(&s->details, detail, codes->extent.nbytes, err))
        && tally_add(&s->kinds, kind, codes->extent.nbytes, err);
}

static bool
add_tensor(struct summary *s, const struct catalog *catalog, const struct roles *roles, size_t i, struct err *err)
{
    char label[SUMMARY_DTYPE];
    const struct tensor *t = catalog_at(catalog, i);
    const struct weight *w = roles_weight_of(roles, i);
    uint64_t nbytes = t->dtype == DTYPE_UNKNOWN ? 0 : t->extent.nbytes, parameters;

    s->tensors++;
    s->unsized += t->dtype == DTYPE_UNKNOWN;
    s->nbytes = add_up(s->nbytes, nbytes);
    if (summary_parameters(&parameters, catalog, roles, i))
        s->parameters = add_up(s->parameters, parameters);
    else
        s->uncounted++;
    if (!w && roles_is_companion(roles, i))
        s->companions++;
    else if (!w)
        s->passthrough++;
    return tally_add(&s->dtypes, summary_dtype(label, t), nbytes, err) && (!w || add_weight(s, w, err));
}

bool
summary_make(struct summary *s, const struct catalog *catalog, const struct roles *roles, struct err *err)
{
    *s = (struct summary){ 0 };
    for (size_t i = 0; i < catalog_count(catalog); i++)
        if (!add_tensor(s, catalog, roles, i, err))
            return false;
    return true;
}

void
summary_clear(struct summary *s)
{
    tally_clear(&s->dtypes);
    tally_clear(&s->schemes);
    tally_clear(&s->details);
    tally_clear(&s->kinds);
}

static void
add_labels(struct str *out, const struct tally *tally, const char *between)
{
    size_t top[PHRASE_ITEMS];
    size_t n = tally_top(tally, top, PHRASE_ITEMS);
    for (size_t i = 0; i < n; i++)
        str_format(out, "%s%s", i ? between : "", tally->rows[top[i]].label);
    if (tally->n > n)
        str_format(out, "%s%zu more", between, tally->n - n);
}

void
summary_add_scheme(struct str *out, const struct summary *s)
{
    if (s->schemes.n == 0)
        str_text(out, "none");
    if (s->schemes.n > 1)
        str_text(out, "mixed: ");
    add_labels(out, &s->schemes, ", ");
}

void
summary_add_detail(struct str *out, const struct summary *s)
{
    add_labels(out, &s->details, "; ");
}

bool
summary_bits(double *bits, const struct summary *s)
{
    if (s->parameters == 0 || s->uncounted != 0 || s->unsized != 0)
        return false;
    *bits = 8 * (double)s->nbytes / (double)s->parameters;
    return true;
}
