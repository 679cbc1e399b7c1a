#include "scheme/codes.h"

#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/scale.h"
#include "scheme/smooth.h"
#include "scheme/step.h"

struct codes_piece *
codes_begin(const struct decoding *d, uint64_t at, uint64_t count, uint64_t cols, uint64_t group)
{
    struct codes_piece *p = d->room;
    p->row = at / cols;
    p->col = at % cols;
    p->n = (size_t)num_min(num_min(cols - p->col, count), CODES_STEP);
    p->group = (size_t)group;
    p->groups = (size_t)((p->col + p->n - 1) / group - p->col / group + 1);
    p->narrow = false;
    p->smooth = 0;
    return p;
}

void
codes_scales(struct codes_piece *p, const struct decoding *d, const struct blocks *b, unsigned part)
{
    scale_read(d, part, blocks_at(b, p->row, p->col), p->groups, p->scales);
}

void
codes_fill_zeros(struct codes_piece *p, float zero)
{
    for (size_t i = 0; i < p->groups; i++)
        p->zeros[i] = zero;
}

void
codes_flip(struct codes_piece *p)
{
    uint64_t eight;
    for (size_t i = 0; i < p->n; i += sizeof eight) {           /* the buffer is whole words */
        memcpy(&eight, p->codes + i, sizeof eight);
        eight ^= UINT64_C(0x0808080808080808);
        memcpy(p->codes + i, &eight, sizeof eight);
    }
}

/* Applies the smoothing factors and rounds the values into y. */
static void
codes_finish(struct codes_piece *p, const struct decoding *d, uint8_t *y)
{
    smooth_apply(d, p->smooth, p->v, p->col, p->n);
    kernels_round(d->k, d->to, y, p->v, p->n);
}

uint64_t
codes_emit(struct codes_piece *p, const struct decoding *d, const uint8_t *codes, bool is_signed, bool zeros, uint8_t *y)
{
    const struct codes8 c = { .zeros = zeros ? p->zeros : NULL, .scales = p->scales, .group = p->group,
        .is_signed = is_signed, .narrow = p->narrow };
    if (p->smooth == 0 || !d->w->part[p->smooth]) {
        step_codes8(d, y, codes, (size_t)p->col, p->n, &c, p->v);
    } else {
        d->k->codes8_f32(p->v, codes, (size_t)p->col, p->n, &c);
        codes_finish(p, d, y);
    }
    return p->n;
}

uint64_t
codes_emit4(struct codes_piece *p, const struct decoding *d, const uint8_t *x, bool is_signed, uint8_t *y)
{
    static const float maps[2][16] = { { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
        { 0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1 } };
    const struct codes4 c = { .map = maps[is_signed], .zeros = p->zeros, .scales = p->scales, .group = p->group, .low_first = true };
    step_codes4(d, y, x, (size_t)p->col, p->n, &c, p->v);
    return p->n;
}

void
codes_grid(struct weight_grid *g, uint32_t bits, uint64_t group, const struct tensor *scale, const struct tensor *zeros)
{
    *g = (struct weight_grid){ .codes = GRID_INT, .bits = bits, .group = group, .scale = scale->dtype, .zeros = zeros != NULL,
        .exact = scale->dtype != DTYPE_F32 };
}

bool
codes_check_zeros(const struct table_match *f, const struct tensor *zero, struct err *err)
{
    const json_t *symmetric = NULL;
    char name[STR_SHOWN];
    if (!zero && !config_weights(f->claims->config, f->base.base, f->base.base_len, "symmetric", &symmetric, err))
        return false;
    return !json_is_false(symmetric) || claims_is_report_on_shard(f->claims)
        || claims_missing(f->claims, f->codes->extent.at, err, "tensor %s: %s has no weight_zero_point, but config.json "
            "declares it (symmetric: false)", str_shown(name, f->codes->name, f->codes->name_len), f->scheme->name);
}
