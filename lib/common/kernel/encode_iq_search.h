/* encode_iq_search: encoding of the IQ2 and IQ3 types, shared with implementations that have a faster search; and the
 * codebooks for encoders, including the IQ1 types.
 *
 * A run (16 or 32 elements) has one scale; a group (8 or 4) is one entry of the codebook. The search uses magnitudes of
 * elements, as scale * (2 * digit + 1). The digits of a group are packed into a code, digit j at bit j * bits. If a code is
 * not in the codebook, a list has the entries near it, and the group takes the one with the smallest error.
 */
#ifndef KERNEL_ENCODE_IQ_SEARCH_H
#define KERNEL_ENCODE_IQ_SEARCH_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"
#include "kernel/encode_math.h"

/* A codebook. `where`, indexed by a code's rank as in iq_grids.c, contains the start of the code's list, in units of
 * LIST_UNIT, and, from bit LIST_COUNT on, its number of codes. If that is 0, the code is an entry of the codebook and the
 * lower bits are its index. A list is sorted by distance, then index, and padded to a whole unit with its last code. */
struct encode_grid {
    const uint16_t *lists;          /* NULL until encode_grids_build() */
    const uint32_t *where;
    int levels, digits, bits;       /* levels of a digit, digits in an entry, bits of a digit in a code */
};
enum { LIST_UNIT = 8, LIST_COUNT = 20 };

enum encode_grid_id { GRID_IQ2_XXS, GRID_IQ2_XS, GRID_IQ2_S, GRID_IQ1, GRID_IQ3_XXS, GRID_IQ3_S, ENCODE_GRIDS };
extern struct encode_grid encode_grids[ENCODE_GRIDS];

/* Groups of the best try to fit again with its scale */
enum iq_refit {
    REFIT_NEAR,             /* groups that were not in the codebook */
    REFIT_ALL_IF_NEAR,      /* all, if one was not in the codebook or no try was usable */
    REFIT_ALL
};

struct iq_block;            /* runs and scales of a block */
struct iq_type {
    enum encode_grid_id grid;
    int run, tries;         /* elements in a run; tries on either side of the first */
    float step;             /* between tries, of the level of the largest element */
    float least;            /* a run whose largest element is below this is empty */
    bool even;              /* the number of minus signs is even, so seven of eight are stored */
    enum iq_refit refit;
    int sigma;              /* multiplier of the block's mean square */
    float share;            /* without importance, weights are share * sigma + x^2 */
    float factor;           /* multiplier of the block's scale as stored */
    bool clear;             /* a block of empty runs is all zeros */
    void (*store)(uint8_t *y, const struct iq_block *b);        /* stores all but d into a zeroed block */
    size_t bytes;
};

enum { IQ_RUN = 32, IQ_GROUPS = 8, IQ_TRIES = 31, IQ_DIGITS = 8 };

struct iq_run {
    float x[IQ_RUN];        /* magnitudes; with even signs, one in each group may be negative */
    float w[IQ_RUN];        /* weights */
    float v[IQ_RUN];        /* square roots of the weights; set by the search */
    float most;             /* the largest x, to which the levels are fitted */
    float scale;            /* in: default if no try is usable; out */
    uint16_t code[IQ_GROUPS];       /* in: default; out */
    uint8_t sign[IQ_GROUPS];        /* of eight elements each; 1: minus */
    bool empty;
};

/* Finds scale and codes of a run that is not empty: the best of the tries; the first one wins a tie. Returns false like
 * kernel_encode. */
typedef bool iq_search(struct iq_run *run, const struct iq_type *type);

bool encode_iq_by(iq_search *search, enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows,
    size_t cols, const float *restrict importance);

static inline unsigned
grid_digit(const struct encode_grid *g, unsigned code, int j)
{
    return code >> g->bits * j & ((1u << g->bits) - 1);
}

/* Returns the entry of `where` for a code. */
static inline uint32_t
grid_where(const struct encode_grid *g, unsigned code)
{
    unsigned rank = 0;

    for (int j = g->digits - 1; j >= 0; j--)
        rank = rank * (unsigned)g->levels + grid_digit(g, code, j);
    return g->where[rank];
}

static inline bool
grid_has(uint32_t where)
{
    return where >> LIST_COUNT == 0;
}

/* Finds the entry near `where` with the smallest sum of (w * t) * t, t = scale * levels[digit] - x; the first one wins a
 * tie. Returns false if no sum is finite. */
typedef bool grid_nearest_fn(const struct encode_grid *g, uint32_t where, const float *x, const float *w,
    const float *levels, float scale, uint16_t *code);
grid_nearest_fn grid_nearest;

/* Levels of the digits of the IQ2 and IQ3 types: 1 3 .. 15. */
extern const float iq_levels[8];

/* Returns the code of a group with each element rounded to the nearest digit. */
static inline unsigned
iq_nearest_code(const struct encode_grid *g, const float *x, float id)
{
    unsigned code = 0;

    for (int j = 0; j < g->digits; j++)
        code |= (unsigned)clamp_int(nearest_int(0.5f * (id * x[j] - 1)), 0, g->levels - 1) << g->bits * j;
    return code;
}

struct iq_fit {
    float qx, q2;
};

/* Sums of w * q * x and of w * q * q over a run. */
static inline struct iq_fit
iq_fit(const struct encode_grid *g, const struct iq_run *run, int n, const uint16_t *code)
{
    struct iq_fit fit = { 0, 0 };

    for (int k = 0, i = 0; i < n; k++)
        for (int j = 0; j < g->digits; j++, i++) {
            float q = (float)(2 * grid_digit(g, code[k], j) + 1);

            fit.qx += run->w[i] * run->x[i] * q;
            fit.q2 += run->w[i] * q * q;
        }
    return fit;
}

/* Fits the groups whose bit is set in `near` again with the scale found, then the scale to them. */
static inline bool
iq_refit(struct iq_run *run, const struct iq_type *type, unsigned near, grid_nearest_fn *nearest)
{
    const struct encode_grid *g = &encode_grids[type->grid];
    float id = 1 / run->scale;

    if (type->refit != REFIT_NEAR)
        near = ~0u;
    for (int k = 0; k < type->run / g->digits; k++) {
        const float *x = run->x + g->digits * k;
        unsigned code = iq_nearest_code(g, x, id);
        uint32_t where = grid_where(g, code);

        if (!(near >> k & 1))
            continue;
        run->code[k] = (uint16_t)code;
        if (!grid_has(where) && !nearest(g, where, x, run->v + g->digits * k, iq_levels, run->scale, &run->code[k]))
            return false;
    }

    struct iq_fit fit = iq_fit(g, run, type->run, run->code);
    if (fit.q2 > 0)
        run->scale = fit.qx / fit.q2;
    return true;
}

/* Completes a search. `near` has the groups for which the best try found no entry in the codebook. */
static inline bool
iq_finish(struct iq_run *run, const struct iq_type *type, unsigned near, grid_nearest_fn *nearest)
{
    if ((near != 0 || type->refit == REFIT_ALL) && run->scale > 0 && !iq_refit(run, type, near, nearest))
        return false;
    if (run->scale < 0) {
        run->scale = -run->scale;
        for (int k = 0; k < type->run / 8; k++)
            run->sign[k] ^= type->even ? 127 : 255;
    }
    return true;
}

#endif
