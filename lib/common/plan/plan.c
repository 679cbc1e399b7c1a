#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "plan/meta_text.h"

/* Bytes of all tensors, so that with any header in front of them an offset is one of a file. */
#define DATA_MAX (INT64_MAX - ((uint64_t)1 << 32))

struct plan {
    struct catalog *output;
    struct step *steps;         /* one a tensor of the output */
    size_t nsteps;
    uint64_t data_bytes;
    bool forward;
};

/* An output tensor while the order is found. */
struct entry {
    struct tensor t;            /* extent: nbytes only */
    struct step step;
};

/* Order of the reference writer: wider types first (by rank), then names by bytes. */
static int
compare_reference(const void *pa, const void *pb)
{
    const struct tensor *a = &((const struct entry *)pa)->t, *b = &((const struct entry *)pb)->t;
    if (a->dtype != b->dtype)
        return a->dtype > b->dtype ? -1 : 1;
    return str_compare(a->name, a->name_len, b->name, b->name_len);
}

static bool
size_entry(struct entry *e, struct err *err)
{
    bool whole = true;
    if (shape_nbytes(&e->t.shape, e->t.dtype, &e->t.extent.nbytes, &whole) && whole)
        return true;
    /* Without elements it is only the shape that the format cannot hold; with them it is the size. */
    bool empty = false;
    for (uint32_t i = 0; i < e->t.shape.rank; i++)
        empty = empty || e->t.shape.dim[i] == 0;
    char name[STR_SHOWN], text[SHAPE_TEXT];
    return err_set(err, empty || !whole ? ERR_UNSUPPORTED : ERR_LIMIT, ERR_NO_OFFSET, "tensor %s: safetensors cannot hold the shape %s as %s",
        str_shown(name, e->t.name, e->t.name_len), shape_text(text, &e->t.shape), dtype_name(e->t.dtype));
}

/* The output tensors in the order of the input. */
static bool
list_entries(struct entry *entries, size_t *n, const struct catalog *input, const struct roles *roles, enum dtype to,
    struct err *err)
{
    *n = 0;
    for (size_t i = 0; i < catalog_count(input); i++) {
        if (roles_is_companion(roles, i))
            continue;
        struct entry *e = &entries[(*n)++];
        const struct weight *w = roles_weight_of(roles, i);
        e->t = *catalog_at(input, i);
        e->t.big_endian = false;
        e->step = (struct step){ .copy = w ? NULL : catalog_at(input, i), .decode = w };
        if (w) {
            e->t.name = w->name;
            e->t.name_len = w->name_len;
            e->t.shape = w->shape;
            e->t.dtype = to;
        }
        if (!size_entry(e, err))
            return false;
    }
    return true;
}

/* Whether a key says nothing true of the output: about the layout of the input's file, or about the
 * quantization when something was decoded. */
static bool
is_stale(const struct meta *m, bool decoded)
{
    static const char *const layout[] = { "general.alignment", "split.no", "split.count", "split.tensors.count" };
    static const char *const quantized[] = { "general.file_type", "general.quantization_version", "quantization_config",
        "quantization", "_quantization_metadata", "auto_gptq_version" };
    static const char *const quantized_prefix[] = { "quantize.imatrix.", "gptq_" };
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++)
        if (m->key_len == strlen(layout[i]) && memcmp(m->key, layout[i], m->key_len) == 0)
            return true;
    for (size_t i = 0; decoded && i < sizeof quantized / sizeof *quantized; i++)
        if (m->key_len == strlen(quantized[i]) && memcmp(m->key, quantized[i], m->key_len) == 0)
            return true;
    for (size_t i = 0; decoded && i < sizeof quantized_prefix / sizeof *quantized_prefix; i++)
        if (m->key_len >= strlen(quantized_prefix[i])
            && memcmp(m->key, quantized_prefix[i], strlen(quantized_prefix[i])) == 0)
            return true;
    return false;
}

/* Add a key with a text value, which is copied. */
static bool
add_text(struct plan *plan, const char *key, size_t key_len, const struct str *text, struct err *err)
{
    char *copy = text->failed ? NULL : catalog_alloc(plan->output, text->len + 1, err);
    if (!copy)
        return err_memory(err, text->len);
    memcpy(copy, text->p ? text->p : "", text->len + 1);
    struct meta m = { key, key_len, { .type = META_STRING, .as.s = { copy, text->len } } };
    return catalog_add_meta(plan->output, &m, err);
}

/* Carry the metadata over as strings, and say what types they had when they were no strings. */
static bool
add_metadata(struct plan *plan, const struct catalog *input, bool decoded, struct err *err)
{
    struct str types = { 0 };
    bool ok = true, typed = false;
    for (size_t i = 0; ok && i < catalog_meta_count(input); i++) {
        const struct meta *m = catalog_meta_at(input, i);
        if (is_stale(m, decoded))
            continue;
        str_text(&types, types.len ? " " : "");
        meta_text_type(&types, &m->value);
        if (m->value.type == META_STRING) {
            ok = catalog_add_meta(plan->output, m, err);
            continue;
        }
        struct str text = { 0 };
        meta_text(&text, &m->value);
        typed = true;
        ok = add_text(plan, m->key, m->key_len, &text, err);
        str_clear(&text);
    }
    ok = ok && (!typed || add_text(plan, META_TEXT_TYPES, sizeof META_TEXT_TYPES - 1, &types, err));
    str_clear(&types);
    return ok;
}

static bool
lay_out(struct plan *plan, struct entry *entries, size_t n, struct err *err)
{
    const struct tensor *before = NULL;
    plan->forward = true;
    for (size_t i = 0; i < n; i++) {
        struct entry *e = &entries[i];
        const struct tensor *codes = step_part(&e->step, 0);
        if (before && (codes->extent.file != before->extent.file || codes->extent.at < before->extent.at))
            plan->forward = false;
        before = codes;
        e->t.extent = (struct extent){ .at = plan->data_bytes, .nbytes = e->t.extent.nbytes };
        if (!num_add(&plan->data_bytes, plan->data_bytes, e->t.extent.nbytes) || plan->data_bytes > DATA_MAX)
            return err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "output: more than 2^63 bytes, which no file can have");
        plan->steps[i] = e->step;
        if (!catalog_add(plan->output, &e->t, err))
            return false;
    }
    plan->nsteps = n;
    return catalog_seal_as_added(plan->output, err);
}

bool
plan_make(struct plan **out, const struct catalog *input, const struct roles *roles,
    const struct plan_options *options, struct err *err)
{
    if (!roles_decodable(roles, err))
        return false;
    struct plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return err_memory(err, sizeof *plan);
    *out = plan;
    size_t n = catalog_count(input);
    struct entry *entries = malloc((n + 1) * sizeof *entries);
    plan->steps = malloc((n + 1) * sizeof *plan->steps);
    plan->output = catalog_new(err);
    bool ok = plan->output && (entries && plan->steps ? true : err_memory(err, n * sizeof *entries))
        && list_entries(entries, &n, input, roles, options->to, err);
    if (ok && options->order == PLAN_ORDER_NAME)
        qsort(entries, n, sizeof *entries, compare_reference);
    ok = ok && lay_out(plan, entries, n, err)
        && (!options->metadata || add_metadata(plan, input, roles_weight_count(roles) != 0, err));
    free(entries);
    return ok;
}

void
plan_free(struct plan *plan)
{
    if (!plan)
        return;
    catalog_free(plan->output);
    free(plan->steps);
    free(plan);
}

const struct catalog *
plan_output(const struct plan *plan)
{
    return plan->output;
}

const struct step *
plan_step(const struct plan *plan, size_t i)
{
    return &plan->steps[i];
}

uint64_t
plan_data_bytes(const struct plan *plan)
{
    return plan->data_bytes;
}

size_t
plan_find(const struct plan *plan, uint64_t at)
{
    size_t lo = 0, hi = plan->nsteps;       /* first tensor that ends behind `at` */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct extent *e = &catalog_at(plan->output, mid)->extent;
        if (e->at + e->nbytes <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct tensor *
step_part(const struct step *step, unsigned p)
{
    if (step->decode)
        return p < SCHEME_PARTS ? step->decode->part[p] : NULL;
    return p == 0 ? step->copy : NULL;
}

bool
plan_is_forward(const struct plan *plan)
{
    return plan->forward;
}
