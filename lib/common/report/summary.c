#include "report/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "encode/mix.h"

enum {
    PHRASE_ITEMS = 4,           /* names in one phrase; the rest are counted */
    Q2_0_ID = 42,               /* under which older files of PrismML have PQ2_0 */
};

#define UNKNOWN "unknown("

const char *
summary_dtype(char buf[SUMMARY_DTYPE], const struct tensor *t)
{
    if (t->dtype == DTYPE_UNKNOWN && t->type_name)
        snprintf(buf, SUMMARY_DTYPE, UNKNOWN "%s)", t->type_name);
    else if (t->dtype == DTYPE_UNKNOWN)
        snprintf(buf, SUMMARY_DTYPE, UNKNOWN "%" PRIu32 ")", t->ggml_id);
    else if (t->dtype == DTYPE_PQ2_0 && t->ggml_id == Q2_0_ID)
        snprintf(buf, SUMMARY_DTYPE, "Q2_0 (128)");
    else
        snprintf(buf, SUMMARY_DTYPE, "%s", dtype_name(t->dtype));
    return buf;
}

bool
summary_dtype_sized(const struct tally_row *row)
{
    return !str_begins(row->label, UNKNOWN);
}

static uint64_t
add_up(uint64_t a, uint64_t b)
{
    uint64_t sum;
    if (num_add(&sum, a, b))
        return sum;
    return UINT64_MAX;
}

/* Returns the elements of a shape: 0 if any dimension is 0, even if the rest overflows 64 bits. */
static uint64_t
numel(const struct shape *shape)
{
    uint64_t n;
    if (shape_is_empty(shape))
        return 0;
    if (shape_numel(shape, &n))
        return n;
    return UINT64_MAX;
}

bool
summary_parameters(uint64_t *n, const struct catalog *catalog, const struct roles *roles, size_t i)
{
    const struct weight *w = roles_weight_of(roles, i);
    if (w)
        *n = numel(&w->shape);
    else if (roles_is_companion(roles, i))
        *n = 0;
    else
        *n = numel(&catalog_at(catalog, i)->shape);
    return !w || !w->vague;
}

/* Returns true if the type of the codes is part of the scheme's name, as in "GGUF Q4_K". */
static bool
named_by_type(const struct tensor *codes)
{
    enum dtype_class class = dtype_facts(codes->dtype)->kind;
    return class == DTYPE_IS_BLOCK || class == DTYPE_IS_UNKNOWN;
}

/* as in "FP8" or "GGUF Q4_K" */
static const char *
summary_name_of(char buf[SUMMARY_LABEL], const struct weight *w)
{
    char type[SUMMARY_DTYPE];
    if (named_by_type(w->part[0]))
        snprintf(buf, SUMMARY_LABEL, "%s %s", w->scheme->name, summary_dtype(type, w->part[0]));
    else
        snprintf(buf, SUMMARY_LABEL, "%s", w->scheme->name);
    return buf;
}

const char *
summary_describe(char buf[SCHEME_DETAIL], const struct weight *w)
{
    const struct tensor *codes = w->part[0];
    const char *fork = dtype_facts(codes->dtype)->fork;
    bool several;
    buf[0] = '\0';
    if (fork)
        return memcpy(buf, fork, strlen(fork) + 1);
    w->scheme->describe(w, buf);
    if (codes->dtype == DTYPE_UNKNOWN && !codes->type_name && dtype_ggml_claimants(codes->ggml_id, &several))
        return buf;
    if (strcmp(buf, w->scheme->name) == 0 || codes->dtype == DTYPE_UNKNOWN
        || (named_by_type(codes) && strcmp(buf, dtype_name(codes->dtype)) == 0))
        buf[0] = '\0';
    return buf;
}

const char *
summary_label(char buf[SUMMARY_LABEL], const struct weight *w)
{
    char detail[SCHEME_DETAIL];
    size_t n = strlen(summary_name_of(buf, w));
    if (summary_describe(detail, w)[0])
        snprintf(buf + n, SUMMARY_LABEL - n, " (%s)", detail);
    return buf;
}

/* Returns the row of a weight's scheme, adding it if needed; NULL if memory is exhausted. A model has only a handful. */
static struct summary_scheme *
scheme_of(struct summary *s, const struct weight *w, struct err *err)
{
    struct summary_scheme added = { 0 };
    scheme_word(w, added.word);
    for (size_t i = 0; i < s->nschemes; i++)
        if (strcmp(s->schemes[i].word, added.word) == 0)
            return &s->schemes[i];
    struct summary_scheme *schemes = array_grow(s->schemes, s->nschemes, &s->room, sizeof *schemes, err);
    if (!schemes)
        return NULL;
    s->schemes = schemes;
    schemes[s->nschemes] = added;
    return &schemes[s->nschemes++];
}

/* Counts a tensor of weight w, its codes or a companion, with its bytes. */
static bool
add_part(struct summary *s, const struct weight *w, bool codes, uint64_t nbytes, struct err *err)
{
    char label[SUMMARY_LABEL], detail[SCHEME_DETAIL];
    struct summary_scheme *scheme = scheme_of(s, w, err);
    if (!scheme)
        return false;
    s->several |= s->code && strcmp(s->code, w->scheme->code) != 0;
    s->code = w->scheme->code;
    scheme->weights += codes;
    scheme->companions += !codes;
    scheme->nbytes = add_up(scheme->nbytes, nbytes);
    if (!tally_add(&scheme->labels, summary_label(label, w), codes, nbytes, err))
        return false;
    return !codes || (tally_add(&s->names, summary_name_of(label, w), 1, nbytes, err)
        && (!summary_describe(detail, w)[0] || tally_add(&s->details, detail, 1, nbytes, err)));
}

static bool
summary_add_tensor(struct summary *s, const struct catalog *catalog, const struct roles *roles, size_t i, struct err *err)
{
    char dtype[SUMMARY_DTYPE];
    const struct tensor *t = catalog_at(catalog, i);
    const struct weight *w = roles_owner(roles, i);
    uint64_t nbytes = t->dtype == DTYPE_UNKNOWN ? 0 : t->extent.nbytes, parameters;

    s->tensors++;
    s->roles[roles_role(roles, i)]++;
    s->unsized += t->dtype == DTYPE_UNKNOWN;
    s->nbytes = add_up(s->nbytes, nbytes);
    if (summary_parameters(&parameters, catalog, roles, i))
        s->parameters = add_up(s->parameters, parameters);
    else
        s->uncounted++;
    return tally_add(&s->dtypes, summary_dtype(dtype, t), 1, nbytes, err)
        && (!w || add_part(s, w, !roles_is_companion(roles, i), nbytes, err));
}

/* Returns the mix that general.file_type declares if some weight has its type; else NULL. */
static const char *
find_mix(const struct summary *s, const struct catalog *catalog)
{
    char type[SCHEME_WORD];
    uint64_t id;
    const struct meta *m = catalog_meta_find(catalog, "general.file_type");
    const struct mix *mix = mix_list;
    if (strcmp(catalog_facts_of(catalog)->format, "GGUF") != 0 || !m || !meta_as_u64(&m->value, &id))
        return NULL;
    while (mix->name && (uint64_t)mix->file_type != id)
        mix++;
    str_lower(type, sizeof type, dtype_name(mix->type));
    for (size_t i = 0; mix->name && i < s->nschemes; i++)
        if (strcmp(s->schemes[i].word, type) == 0)
            return mix->name;
    return NULL;
}

bool
summary_make(struct summary *s, const struct catalog *catalog, const struct roles *roles, struct err *err)
{
    *s = (struct summary){ 0 };
    for (size_t i = 0; i < catalog_count(catalog); i++)
        if (!summary_add_tensor(s, catalog, roles, i, err))
            return false;
    s->mix = find_mix(s, catalog);
    return true;
}

void
summary_clear(struct summary *s)
{
    tally_clear(&s->dtypes);
    tally_clear(&s->names);
    tally_clear(&s->details);
    for (size_t i = 0; i < s->nschemes; i++)
        tally_clear(&s->schemes[i].labels);
    free(s->schemes);
    *s = (struct summary){ 0 };
}

size_t
summary_companions(const struct summary *s)
{
    return s->tensors - s->roles[ROLE_PLAIN] - s->roles[ROLE_WEIGHT];
}

const char *
summary_word(const struct summary *s)
{
    if (s->nschemes == 0)
        return NULL;
    if (s->mix)
        return s->mix;
    if (s->nschemes == 1)
        return s->schemes[0].word;
    return "mixed";
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
    if (s->nschemes == 0)
        str_text(out, "none");
    if (s->several)
        str_text(out, "mixed: ");
    add_labels(out, &s->names, ", ");
}

void
summary_add_detail(struct str *out, const struct summary *s)
{
    add_labels(out, &s->details, "; ");
}

void
summary_add_label(struct str *out, const struct summary *s)
{
    summary_add_scheme(out, s);
    if (s->details.n == 0)
        return;
    str_text(out, " (");
    summary_add_detail(out, s);
    str_text(out, ")");
}

void
summary_add_count(struct str *out, uint64_t n)
{
    static const char *const units[] = { "million", "billion", "trillion" };
    double v = (double)n / 1e6;
    size_t u = 0;
    for (; v >= 999.995 && u + 1 < sizeof units / sizeof *units; u++)
        v /= 1000;
    if (n < 1000000)
        str_format(out, "%" PRIu64, n);
    else
        str_format(out, "%.2f %s", v, units[u]);
}

bool
summary_bits(double *bits, const struct summary *s)
{
    if (s->parameters == 0 || s->uncounted != 0 || s->unsized != 0)
        return false;
    *bits = 8 * (double)s->nbytes / (double)s->parameters;
    return true;
}
