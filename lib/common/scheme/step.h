/* step: passes at most STEP elements of a row through a kernel and rounds them to the output type. For the decoders of this
 * layer. `v` is scratch memory for n floats. */
#ifndef SCHEME_STEP_H
#define SCHEME_STEP_H

#include "scheme/scheme.h"

enum { STEP = 2048 };

/* Scratch memory (`room`) of a decoder that unpacks codes. Whole packs may hold a few more codes than a step. */
struct step_room {
    float v[STEP];
    float scales[STEP + 1], terms[STEP + 1];            /* of the groups of a step */
    uint8_t codes[STEP + 8];
};

/* codes4.h */
static inline void
step_codes4(const struct decoding *d, void *y, const uint8_t *x, size_t first, size_t n,
    const struct codes4 *c, float *v)
{
    if (d->to == DTYPE_BF16) {
        d->k->codes4_bf16(y, x, first, n, c);
        return;
    }
    bool direct = d->plain && d->to == DTYPE_F32;       /* hints are not rounded */
    d->k->codes4_f32(direct ? y : v, x, first, n, c);
    if (!direct)
        kernels_round(d->k, d->to, y, v, n);
}

/* codes8.h */
static inline void
step_codes8(const struct decoding *d, void *y, const uint8_t *x, size_t first, size_t n,
    const struct codes8 *c, float *v)
{
    if (d->to == DTYPE_BF16) {
        d->k->codes8_bf16(y, x, first, n, c);
        return;
    }
    bool direct = d->plain && d->to == DTYPE_F32;       /* hints are not rounded */
    d->k->codes8_f32(direct ? y : v, x, first, n, c);
    if (!direct)
        kernels_round(d->k, d->to, y, v, n);
}

/* affine.h */
static inline void
step_affine(const struct decoding *d, void *y, const uint8_t *x, size_t first, size_t n,
    const struct affine *a, float *v)
{
    if (d->to == DTYPE_BF16) {
        d->k->affine_bf16(y, x, first, n, a);
        return;
    }
    d->k->affine_f32(v, x, first, n, a);
    kernels_round(d->k, d->to, y, v, n);
}

/* kernels.h. The first element must start a group. */
static inline void
step_fp8(const struct decoding *d, void *y, enum dtype type, const uint8_t *x, size_t n,
    const float *scales, size_t group, float *v)
{
    const struct fp8_rows row = { .dtype = type, .rows = 1, .cols = n, .x = x, .scales = scales, .scale_cols = group };
    if (d->to == DTYPE_BF16) {
        d->k->fp8_bf16(y, n, &row);
        return;
    }
    d->k->fp8_f32(v, n, &row);
    kernels_round(d->k, d->to, y, v, n);
}

#endif
