#include "exact/exact_grid.h"

#include <stdlib.h>

#include "exact/exact_priv.h"
#include "kernel/hints.h"

/* Lists schemes by their bits per weight. Scales of F32 hold every scale of 16 bits, too. Schemes of integers are tried
 * without zero points, then with them. */
static const struct grid_name {
    const char *name;
    enum keeps held;
    uint64_t group;
    bool wide;                  /* scales of F32 */
} names[] = {
    { "int4-group", KEEPS_CODES, 128, true }, { "mxfp4", KEEPS_BLOCKS, 0, false }, { "int4-group", KEEPS_CODES, 64, true },
    { "nf4", KEEPS_CODES, 64, false }, { "int4-group", KEEPS_CODES, 32, true }, { "q4_0", KEEPS_BLOCKS, 0, false },
    { "nvfp4", KEEPS_BLOCKS, 0, false }, { "modelopt-nvfp4", KEEPS_CODES, 0, false }, { "nvfp4", KEEPS_CODES, 0, false },
    { "q4_1", KEEPS_BLOCKS, 0, false }, { "q5_0", KEEPS_BLOCKS, 0, false }, { "q5_1", KEEPS_BLOCKS, 0, false },
    { "fp8-per-tensor", KEEPS_CODES, 0, true }, { "fp8-per-channel", KEEPS_CODES, 0, true },
    { "int8-channel", KEEPS_CODES, 0, true }, { "fp8-ue8m0", KEEPS_CODES, 0, false }, { "fp8", KEEPS_CODES, 0, false },
    { "mxfp8", KEEPS_CODES, 0, false }, { "q8_0", KEEPS_BLOCKS, 0, false },
};

/* Finds the first scheme that holds a weight. */
static bool
exact_grid_find(struct exact_grid *g, struct exact_attempt *a, struct err *err)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct encode_options how = { .group_size = names[i].group, .scale_type = names[i].wide ? 1 + (uint64_t)DTYPE_F32 : 0 };
        a->given = &how;
        if (!exact_attempt_name(a, encode_exact_find(names[i].name, names[i].held), err))
            return false;
        if (a->out.fail.cause == EXACT_HOLDS) {
            g->scheme = names[i].name;
            g->group = names[i].group;
            g->zeros = a->how.asymmetric;
            return true;
        }
    }
    return true;
}

bool
exact_grid_each(struct model *model, const struct roles *roles, const struct kernels *kernels,
    void (*see)(void *of, const struct tensor *t, const struct exact_grid *g), void *of, struct err *err)
{
    static const struct reduction all = { 0 };
    struct choice choice = { 0 };
    struct kernels *hints = kernels_hints(kernels, err);
    const struct pipeline p = { .model = model, .kernels = kernels };
    struct exact_job job = { .reduction = &all, .p = &p, .choice = &choice };
    struct exact_terms terms = { .source = { .codes = EXACT_DENSE }, .hints = hints };
    bool ok = hints && model_spool(model, err) && choice_make(&choice, model->catalog, roles, KEEPS_NONE, DTYPE_BF16, false, err);
    for (size_t i = 0; ok && i < choice.n; i++) {
        const struct chosen *c = &choice.list[i];
        const struct tensor t = chosen_source(c);
        struct exact_attempt a = { .job = &job, .place = i, .trial = *c, .terms = &terms };
        if (c->decode || (t.dtype != DTYPE_BF16 && t.dtype != DTYPE_F16 && t.dtype != DTYPE_F32) || t.shape.rank < 2)
            continue;
        if (t.dtype == DTYPE_BF16)
            terms.level = EXACT_BF16;
        else if (t.dtype == DTYPE_F16)
            terms.level = EXACT_F16;
        else
            terms.level = EXACT_F32;
        struct exact_grid g = { .level = terms.level };
        ok = exact_grid_find(&g, &a, err);
        if (ok)
            see(of, &t, &g);
    }
    choice_clear(&choice);
    free(hints);
    return ok;
}
