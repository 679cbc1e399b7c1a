#include "plan/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
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

/* The output tensor of a step: all but its place in the output. */
static struct tensor
tensor_of(const struct step *step)
{
    const struct weight *w = step->decode;
    struct tensor t = *step_part(step, 0);
    t.big_endian = false;
    t.dtype = step->dtype;
    if (w) {
        t.name = w->name;
        t.name_len = w->name_len;
        t.shape = w->shape;
    }
    return t;
}

/* Order of the reference writer: wider types first (by rank), then names by bytes. */
static int
compare_reference(const void *pa, const void *pb)
{
    const struct tensor a = tensor_of(pa), b = tensor_of(pb);
    if (a.dtype != b.dtype)
        return a.dtype > b.dtype ? -1 : 1;
    return str_compare(a.name, a.name_len, b.name, b.name_len);
}

static bool
check_size(const struct tensor *t, struct err *err)
{
    bool whole = true;
    uint64_t nbytes;
    if (shape_nbytes(&t->shape, t->dtype, &nbytes, &whole) && whole)
        return true;
    /* Without elements it is only the shape that the format cannot hold; with them it is the size. */
    bool empty = shape_is_empty(&t->shape);
    char name[STR_SHOWN], text[SHAPE_TEXT];
    return err_set(err, empty || !whole ? ERR_UNSUPPORTED : ERR_LIMIT, ERR_NO_OFFSET,
        "tensor %s: safetensors cannot hold the shape %s as %s", str_shown(name, t->name, t->name_len),
        shape_text(text, &t->shape), dtype_name(t->dtype));
}

/* The steps in the order of the input. */
static bool
list_steps(struct plan *plan, const struct catalog *input, const struct roles *roles, enum dtype to, struct err *err)
{
    for (size_t i = 0; i < catalog_count(input); i++) {
        if (roles_is_companion(roles, i))
            continue;
        const struct weight *w = roles_weight_of(roles, i);
        const struct tensor *t = catalog_at(input, i);
        struct step *step = &plan->steps[plan->nsteps++];
        *step = (struct step){ .copy = w ? NULL : t, .decode = w, .dtype = w ? to : t->dtype };
        const struct tensor out = tensor_of(step);
        if (!check_size(&out, err))
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

static bool
too_much_text(struct err *err)
{
    return err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "the metadata as text are over the limit of %" PRIu64 " bytes",
        limits_default.json_header);
}

/* Add a key with a text, of which at most *left bytes are left for all. */
static bool
add_text(struct plan *plan, const char *key, uint32_t key_len, const char *text, size_t n, uint64_t *left,
    struct err *err)
{
    uint64_t nbytes = (uint64_t)key_len + n;
    uint32_t again;
    if (nbytes > *left)
        return too_much_text(err);
    *left -= nbytes;
    const struct meta m = { .key = key, .key_len = key_len, .value = { .type = META_STRING, .as.s = { text, n } } };
    return catalog_add_meta(plan->output, &m, &again, err);
}

/* The same, and copy the text. */
static bool
add_copy(struct plan *plan, const char *key, uint32_t key_len, const struct str *text, uint64_t *left,
    struct err *err)
{
    if (text->failed)
        return text->full ? too_much_text(err) : err_memory(err, text->len);
    char *copy = catalog_alloc(plan->output, text->len + 1, err);
    if (!copy)
        return false;
    memcpy(copy, text->p ? text->p : "", text->len + 1);
    return add_text(plan, key, key_len, copy, text->len, left, err);
}

/* Whether all values are strings, which need no key that says their types. */
static bool
is_untyped(const struct catalog *input)
{
    for (size_t i = 0; i < catalog_meta_count(input); i++)
        if (catalog_meta_at(input, i)->value.type != META_STRING)
            return false;
    return true;
}

/* Carry the metadata over as strings, and say what types they had when they were no strings. All of it must fit a
 * header; that it does not shows before the memory is taken. */
static bool
add_metadata(struct plan *plan, const struct catalog *input, bool decoded, struct err *err)
{
    static const char types_key[] = META_TEXT_TYPES;
    uint64_t left = limits_default.json_header;
    struct str types = { .max = left };
    bool ok = true, untyped = is_untyped(input), typed = false;
    for (size_t i = 0; ok && i < catalog_meta_count(input); i++) {
        const struct meta *m = catalog_meta_at(input, i);
        bool ours = !untyped && m->key_len == sizeof types_key - 1 && memcmp(m->key, types_key, m->key_len) == 0;
        if (ours || is_stale(m, decoded))
            continue;
        str_text(&types, types.len ? " " : "");
        meta_text_type(&types, &m->value);
        if (m->value.type == META_STRING) {
            ok = add_text(plan, m->key, m->key_len, m->value.as.s.p, m->value.as.s.n, &left, err);
            continue;
        }
        struct str text = { .max = num_max(left, 1) };
        meta_text(&text, &m->value);
        typed = true;
        ok = add_copy(plan, m->key, m->key_len, &text, &left, err);
        str_clear(&text);
    }
    ok = ok && (!typed || add_copy(plan, types_key, sizeof types_key - 1, &types, &left, err));
    str_clear(&types);
    return ok;
}

static bool
lay_out(struct plan *plan, struct err *err)
{
    const struct tensor *before = NULL;
    plan->forward = true;
    for (size_t i = 0; i < plan->nsteps; i++) {
        const struct tensor *codes = step_part(&plan->steps[i], 0);
        struct tensor t = tensor_of(&plan->steps[i]);
        uint64_t nbytes = 0;
        bool whole;
        if (before && (codes->extent.file != before->extent.file || codes->extent.at < before->extent.at))
            plan->forward = false;
        before = codes;
        shape_nbytes(&t.shape, t.dtype, &nbytes, &whole);       /* list_steps found it good */
        t.extent = (struct extent){ .at = plan->data_bytes, .nbytes = nbytes };
        if (!num_add(&plan->data_bytes, plan->data_bytes, nbytes) || plan->data_bytes > DATA_MAX)
            return err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "output: more than 2^63 bytes, which no file can have");
        if (!catalog_add(plan->output, &t, err))
            return false;
    }
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
    size_t room = (catalog_count(input) + 1) * sizeof *plan->steps;
    plan->steps = malloc(room);
    plan->output = catalog_new_borrowing(err);
    if (!plan->output || !plan->steps)
        return err_memory(err, room);
    if (!list_steps(plan, input, roles, options->to, err))
        return false;
    if (options->order == PLAN_ORDER_NAME)
        qsort(plan->steps, plan->nsteps, sizeof *plan->steps, compare_reference);
    return lay_out(plan, err)
        && (!options->metadata || add_metadata(plan, input, roles_weight_count(roles) != 0, err));
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
