#include "scheme/smooth.h"

#include "scheme/scale.h"

bool
smooth_check(const struct tensor *smooth, const struct tensor *codes, uint64_t cols, struct err *err)
{
    const struct shape *s = NULL;
    if (smooth)
        s = &smooth->shape;
    bool flat = !s || s->rank == 1 || (s->rank == 2 && shape_dim(s, 0) == 1);
    return !s || (codes->shape.rank == 2 && flat && shape_dim(s, s->rank - 1) == cols)
        || table_wrong(smooth, codes, err, "one value for each column");
}

void
smooth_run(struct span *s, const struct tensor *smooth, uint64_t cols, uint64_t first, uint64_t count)
{
    uint64_t last = first + count - 1, size = dtype_facts(smooth->dtype)->bytes;
    bool one_row = first / cols == last / cols;
    uint64_t from = one_row ? first % cols : 0, to = one_row ? last % cols + 1 : cols;
    *s = (struct span){ .at = from * size, .len = (to - from) * size };
}

void
smooth_apply(const struct decoding *d, unsigned part, float *v, uint64_t col, uint64_t n)
{
    const struct tensor *smooth = d->w->part[part];
    const uint8_t *p = NULL;
    if (smooth)
        p = scale_bytes(d, part, col);
    for (uint64_t i = 0; p && i < n; i++)
        v[i] *= scale_value(smooth->dtype, p, i);
}

void
smooth_finish(const struct roles *roles, struct claims *c)
{
    size_t folded = 0;
    struct part_name ignored;
    for (size_t i = 0; i < roles_weight_count(roles); i++)
        for (unsigned p = 1; p < SCHEME_PARTS; p++) {
            const struct tensor *t = roles_weight(roles, i)->part[p];
            folded += t && claims_strip_name(t, "pre_quant_scale", &ignored);
        }
    if (folded != 0)
        claims_warn(c, "pre_quant_scale folded into the weights of %zu modules", folded);
}
