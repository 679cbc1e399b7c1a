/* Blocks of NVFP4 and MXFP4 in a GGUF file, and the scales that accompany them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "family/compose.h"
#include "family/rows_priv.h"

bool
rows_blocks(struct fp4_blocks *b, const struct rows_work *w, const struct family_source *source)
{
    return w->how->blocks && !(source->chosen.decode && source->chosen.decode->delta) && fp4_blocks_of(b, source->chosen.decode);
}

/* The scale of a tensor for each of its experts, or one. */
struct row_scales {
    float *x;                   /* n of them; owned */
    size_t n, set;              /* set: those that exist */
};

/* Returns the tensor with the scale of a weight's activations, or NULL. */
static const struct tensor *
find_input_scale(const struct catalog *c, const struct weight *w, const struct fp4_blocks *b, struct str *s)
{
    size_t n = w->name_len;
    bool module = str_strip(w->name, &n, ".weight");
    s->len = 0;
    str_add(s, w->name, n);
    str_text(s, !module ? "_input_scale" : b->divides ? ".input_global_scale" : ".input_scale");
    if (s->failed)
        return NULL;
    return catalog_find(c, s->p, s->len);
}

/* Sets `count` scales from `at` on to the values of a tensor: one for each expert, or one for all of them. */
static bool
add_scale(struct row_scales *scales, size_t at, size_t count, const struct tensor *t, bool divides, struct model *model, struct err *err)
{
    uint8_t bytes[4];
    bool one = t->extent.nbytes == sizeof bytes;
    for (uint64_t i = 0; i < count && (one || i < t->extent.nbytes / sizeof bytes); i++) {
        if (!model_spool(model, err) || !model_bytes(model, t, one ? 0 : i * sizeof bytes, bytes, sizeof bytes, err))
            return false;
        float x = float_of_bits(load_le32(bytes));
        if (divides)
            scales->x[at + i] = 1 / x;
        else
            scales->x[at + i] = x;
        scales->set++;
    }
    return true;
}

/* Collects a scale of all members: the second scale of the weights, or the scale of their inputs. A single member may be a stack
 * of experts. */
static bool
rows_blocks_collect(struct row_scales *scales, const struct rows_work *w, const struct row_output *out, bool inputs, struct err *err)
{
    struct str name = { 0 };
    size_t each;
    if (out->nmembers > 1)
        each = 1;
    else
        each = scales->n;
    bool ok = true;
    for (size_t i = 0; ok && (i == 0 || i < out->nmembers); i++) {
        const struct family_source *source = rows_member(w, out, i)->source;
        const struct weight *weight = source->chosen.decode;
        struct fp4_blocks b;
        rows_blocks(&b, w, source);
        const struct tensor *t;
        if (inputs)
            t = find_input_scale(w->memory, weight, &b, &name);
        else
            t = b.second;
        ok = !t || ((t->dtype == DTYPE_F32 || rows_fail(source, ERR_UNSUPPORTED, "its scales are not F32", err))
            && add_scale(scales, i, each, t, b.divides, w->how->model, err));
    }
    ok = ok && (!name.failed || err_memory(err, name.len));
    str_clear(&name);
    return ok;
}

/* Multiplies the scales by the values that a row gives them: Gemma 4 has a factor for each expert. */
static bool
merge_row(struct row_scales *scales, struct rows_work *w, const char *name, struct err *err)
{
    struct row_output *row = rows_find(w, name, strlen(name));
    uint64_t numel;
    if (!row)
        return true;
    const struct family_source *source = row->match.source;
    double *x = calloc(scales->n, sizeof *x);
    if (!x)
        return err_memory(err, scales->n * sizeof *x);
    bool ok = (shape_numel(&source->t.shape, &numel) && numel == scales->n)
        || rows_fail(source, ERR_MALFORMED, "expected a scale for each expert", err);
    ok = ok && family_sources_read(w->sources, &source->t, 0, x, scales->n, err);
    for (size_t i = 0; ok && i < scales->n; i++)
        scales->x[i] *= (float)x[i];
    free(x);
    row->merged = true;
    scales->set += scales->n;
    return ok;
}

/* Adds the scales as a tensor named like the output, unless all are 1. */
static bool
add_scales(struct chosen *list, size_t *n, struct rows_work *w, const struct row_output *out,
    struct row_scales *scales, const char *suffix, struct err *err)
{
    bool differs = false;
    size_t base = out->name_len;
    str_strip(out->name, &base, ".weight");
    char *name = catalog_alloc(w->memory, base + strlen(suffix) + 1, err);
    if (!name)
        return false;
    memcpy(name, out->name, base);
    strcpy(name + base, suffix);
    if (!merge_row(scales, w, name, err))
        return false;
    for (size_t i = 0; i < scales->n; i++)
        differs = differs || !(fabsf(scales->x[i] - 1) < 1e-6f);
    const uint64_t dim = scales->n;
    return scales->set == 0 || !differs || compose_numbers(&list[(*n)++], name, scales->x, &dim, 1, w->memory, err);
}

bool
rows_blocks_add_scales(struct chosen *list, size_t *n, struct rows_work *w, const struct row_output *out, struct err *err)
{
    static const char *const suffixes[ROWS_SCALES] = { ".scale", ".input_scale" };
    const struct shape *shape = &list[*n - 1].composed->shape;
    struct row_scales scales = { .n = shape->rank == 3 ? (size_t)shape_dim(shape, 0) : 1 };
    bool ok = true;
    scales.x = malloc(scales.n * sizeof *scales.x);
    if (!scales.x)
        return err_memory(err, scales.n * sizeof *scales.x);
    for (unsigned i = 0; ok && i < ROWS_SCALES; i++) {
        scales.set = 0;
        for (size_t k = 0; k < scales.n; k++)
            scales.x[k] = 1;
        ok = rows_blocks_collect(&scales, w, out, i == 1, err) && add_scales(list, n, w, out, &scales, suffixes[i], err);
    }
    free(scales.x);
    return ok;
}
