#include "scheme/codes.h"

#include "base/num.h"
#include "base/str.h"
#include "scheme/scale.h"
#include "scheme/smooth.h"
#include "scheme/step.h"

void
codes_begin(struct codes_piece *p, uint64_t at, uint64_t count, uint64_t cols, uint64_t group)
{
    p->row = at / cols;
    p->col = at % cols;
    p->n = (size_t)num_min(num_min(cols - p->col, count), CODES_STEP);
    p->group = (size_t)group;
    p->groups = (size_t)((p->col + p->n - 1) / group - p->col / group + 1);
}

void
codes_scales(struct codes_piece *p, const struct blocks *b, const struct tensor *scale, const uint8_t *bytes,
    uint64_t from)
{
    uint64_t at = blocks_at(b, p->row, p->col) - from;
    for (size_t i = 0; i < p->groups; i++)
        p->scales[i] = scale_value(scale->dtype, bytes, at + i);
}

void
codes_fill_zeros(struct codes_piece *p, float zero)
{
    for (size_t i = 0; i < p->groups; i++)
        p->zeros[i] = zero;
}

/* The values, smoothed, to where they go. */
static void
finish(struct codes_piece *p, const struct codes_target *t, uint8_t *y)
{
    smooth_apply(t->smooth, t->factors, t->smooth_from, p->v, p->col, p->n);
    kernels_round(t->k, t->to, y, p->v, p->n);
}

void
codes_emit(struct codes_piece *p, const struct codes_target *t, const uint8_t *codes, bool is_signed, bool zeros,
    uint8_t *y)
{
    const struct codes8 c = { .zeros = zeros ? p->zeros : NULL, .scales = p->scales, .group = p->group,
        .is_signed = is_signed, .narrow = t->narrow };
    if (!t->smooth) {
        step_codes8(t->k, t->to, y, codes, (size_t)p->col, p->n, &c, p->v);
        return;
    }
    t->k->codes8_f32(p->v, codes, (size_t)p->col, p->n, &c);
    finish(p, t, y);
}

void
codes_emit4(struct codes_piece *p, const struct codes_target *t, const uint8_t *x, uint8_t *y)
{
    static const float map[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    const struct codes4 c = { .map = map, .zeros = p->zeros, .scales = p->scales, .group = p->group, .low_first = true };
    if (!t->smooth) {
        step_codes4(t->k, t->to, y, x, (size_t)p->col, p->n, &c, p->v);
        return;
    }
    t->k->codes4_f32(p->v, x, (size_t)p->col, p->n, &c);
    finish(p, t, y);
}

bool
codes_check_zeros(const struct table_match *f, const struct tensor *zero, struct err *err)
{
    const json_t *symmetric = NULL;
    char name[STR_SHOWN];
    if (!zero && !config_weights(f->claims->config, f->base.base, f->base.base_len, "symmetric", &symmetric, err))
        return false;
    return !json_is_false(symmetric) || claims_is_report_on_shard(f->claims)
        || claims_missing(f->claims, f->codes->extent.at, err, "tensor %s: %s has no weight_zero_point, which it has by "
            "config.json", str_shown(name, f->codes->name, f->codes->name_len), f->scheme->name);
}
