/* encode_iq_search: the IQ2 and IQ3 types. The layouts are in iq_quants.c; runs, groups and codes are explained in
 * kernel/encode_iq_search.h.
 *
 * The scale of a run minimizes the sum of w * (x - scale * q)^2 over some tries of the level of the largest element. The
 * digits of a try are the nearest ones with its scale, moved to an entry of the codebook. The block's scale is the largest
 * scale of its runs divided by 31, and the scale of each run is 2 s + 1 times that. Source: ggml-quants.c,
 * quantize_row_iq2_xxs_impl and similar.
 */
#include "kernel/encode_iq_search.h"

#include "dtype/ggml_block.h"
#include "kernel/encode_iq.h"
#include "kernel/encode_search.h"

#include <assert.h>
#include <string.h>

const float iq_levels[8] = { 1, 3, 5, 7, 9, 11, 13, 15 };

bool
grid_nearest(const struct encode_grid *g, uint32_t where, const float *x, const float *w, const float *levels, float scale,
    uint16_t *code)
{
    const uint16_t *list = g->lists + (size_t)(where & ((1u << LIST_COUNT) - 1)) * LIST_UNIT;
    float least = FLT_MAX;

    for (unsigned n = where >> LIST_COUNT; n > 0; n--, list++) {
        float error = 0;

        for (int j = 0; j < g->digits; j++) {
            float t = scale * levels[grid_digit(g, *list, j)] - x[j];
            error += w[j] * t * t;
        }
        if (error < least) {
            least = error;
            *code = *list;
        }
    }
    return least < FLT_MAX;
}

static bool
encode_iq_search_search(struct iq_run *run, const struct iq_type *type)
{
    const struct encode_grid *g = &encode_grids[type->grid];
    float best = 0, most_level = (float)(2 * g->levels - 1);
    unsigned near = 0;
    if (type->refit != REFIT_NEAR)
        near = ~0u;

    for (int i = 0; i < type->run; i++)
        run->v[i] = sqrtf(run->w[i]);
    for (int step = -type->tries; step <= type->tries; step++) {
        float id = (most_level + (float)step * type->step) / run->most, scale = 1 / id;
        uint16_t code[IQ_GROUPS];
        unsigned near_now = 0;

        for (int k = 0; k < type->run / g->digits; k++) {
            const float *x = run->x + g->digits * k;

            code[k] = (uint16_t)iq_nearest_code(g, x, id);
            uint32_t where = grid_where(g, code[k]);
            if (grid_has(where))
                continue;
            near_now |= 1u << k;
            if (!grid_nearest(g, where, x, run->v + g->digits * k, iq_levels, scale, &code[k]))
                return false;
        }
        struct iq_fit fit = iq_fit(g, run, type->run, code);
        if (fit.q2 > 0 && fit.qx * fit.qx > best * fit.q2) {
            run->scale = fit.qx / fit.q2;
            best = run->scale * fit.qx;
            memcpy(run->code, code, sizeof code);
            near = near_now;
        }
    }
    return iq_finish(run, type, near, grid_nearest);
}

/* --- runs of a block ------------------------------------------------------------------------------------------ */

static void
encode_iq_search_weigh(float *w, const float *x, const float *importance, const struct iq_type *type)
{
    float sigma = (float)type->sigma * sum_of_squares(x, QK_K) / QK_K;

    if (importance != NULL)
        weigh_by_importance(w, x, importance, sigma, QK_K);
    else
        for (int i = 0; i < QK_K; i++)
            w[i] = type->share != 0 ? type->share * sigma + x[i] * x[i] : x[i] * x[i];
}

/* Computes the magnitudes and signs of eight elements. If the number of minus signs must be even and is not, the sign of the
 * element that costs least is flipped, and its magnitude becomes negative. */
static uint8_t
signs_of(float *magnitude, const float *x, const float *w, bool even)
{
    unsigned sign = 0;
    int cheapest = 0;

    for (int j = 0; j < 8; j++) {
        unsigned minus = !(x[j] >= 0);

        magnitude[j] = float_of_bits(bits_of_float(x[j]) ^ minus << 31);
        sign |= minus << j;
    }
    if (!even)
        return (uint8_t)sign;
    for (int j = 1; j < 8; j++)
        if (w[j] * x[j] * x[j] < w[cheapest] * x[cheapest] * x[cheapest])
            cheapest = j;
    if (__builtin_parity(sign)) {
        magnitude[cheapest] = -magnitude[cheapest];
        sign ^= 1u << cheapest;
    }
    return (uint8_t)(sign & 127);
}

/* IQ2_XXS starts with a scale that ignores the codebook and has one more level. The digits of this search are discarded:
 * they are searched again with any scale above 0. */
static bool
begin_without_grid(struct iq_run *run)
{
    uint8_t digits[IQ_RUN];

    run->scale = search_positive(digits, run->x, run->w, IQ_RUN, 4);
    run->most = run->scale * 3;
    return !isnan(run->scale);
}

static bool
run_make(struct iq_run *run, const struct iq_type *type, iq_search *search, const float *x, const float *w)
{
    int levels = encode_grids[type->grid].levels;

    memset(run, 0, sizeof *run);
    memcpy(run->w, w, (size_t)type->run * sizeof *w);
    for (int k = 0; k < type->run / 8; k++)
        run->sign[k] = signs_of(run->x + 8 * k, x + 8 * k, w + 8 * k, type->even);
    run->most = run->x[0];
    for (int i = 1; i < type->run; i++)
        run->most = greater(run->most, run->x[i]);

    run->empty = run->most < type->least;
    run->scale = run->most / (float)(2 * levels - 1);
    if (!run->empty && type->refit == REFIT_ALL) {
        if (!begin_without_grid(run))
            return false;
        run->empty = run->most <= 0;
    }
    if (!run->empty)
        return search(run, type) && !isnan(run->scale);
    run->scale = 0;
    memset(run->code, 0, sizeof run->code);
    memset(run->sign, 0, sizeof run->sign);
    return true;
}

/* Contents of a block, independent of the layout. */
struct iq_block {
    struct iq_run run[QK_K / 16];
    uint8_t nibble[QK_K / 16];      /* scales of the runs */
    float d;
    bool empty;                     /* all runs have scale 0, and d is 0 */
};

static bool
block_make(struct iq_block *b, const struct iq_type *type, iq_search *search, const float *x, const float *importance)
{
    float w[QK_K], most = 0;
    int n = type->run;

    assert(encode_grids[type->grid].lists != NULL);
    encode_iq_search_weigh(w, x, importance, type);
    for (int i = 0; i < QK_K / n; i++) {
        if (!run_make(&b->run[i], type, search, x + n * i, w + n * i))
            return false;
        most = greater(most, b->run[i].scale);
    }

    float d = most / 31, id = 1 / d;
    b->empty = most == 0;
    if (b->empty)
        b->d = 0;
    else
        b->d = d * type->factor;
    for (int i = 0; i < QK_K / n; i++)
        b->nibble[i] = (uint8_t)(b->empty ? 0 : clamp_int(nearest_int(0.5f * (id * b->run[i].scale - 1)), 0, 15));
    return true;
}

/* Returns the index of group k of a run. */
static unsigned
index_of(enum encode_grid_id grid, const struct iq_run *run, int k)
{
    return grid_where(&encode_grids[grid], run->code[k]);
}

/* --- layouts -------------------------------------------------------------------------------------------------- */

static void
iq2_xxs_store(uint8_t *y, const struct iq_block *b)
{
    for (int i = 0; i < 8; i++) {
        uint8_t *record = y + 2 + 8 * i;
        uint32_t signs = (uint32_t)b->nibble[i] << 28;

        for (int k = 0; k < 4; k++) {
            record[k] = (uint8_t)index_of(GRID_IQ2_XXS, &b->run[i], k);
            signs |= (uint32_t)b->run[i].sign[k] << 7 * k;
        }
        store_word(record + 4, signs);
        store_word(record + 6, signs >> 16);
    }
}

static void
iq2_xs_store(uint8_t *y, const struct iq_block *b)
{
    for (int k = 0; k < 32; k++) {
        const struct iq_run *run = &b->run[k / 2];

        store_word(y + 2 + 2 * k, index_of(GRID_IQ2_XS, run, k % 2) | (unsigned)run->sign[k % 2] << 9);
    }
    for (int i = 0; i < 16; i++)
        y[66 + i / 2] |= (uint8_t)(b->nibble[i] << 4 * (i % 2));
}

static void
iq2_s_store(uint8_t *y, const struct iq_block *b)
{
    for (int k = 0; k < 32; k++) {
        const struct iq_run *run = &b->run[k / 2];
        unsigned index = index_of(GRID_IQ2_S, run, k % 2);

        y[2 + k] = (uint8_t)index;
        y[34 + k] = run->sign[k % 2];
        y[66 + k / 4] |= (uint8_t)(index >> 8 << 2 * (k % 4));
    }
    for (int i = 0; i < 16; i++)
        y[74 + i / 2] |= (uint8_t)(b->nibble[i] << 4 * (i % 2));
}

static void
iq3_xxs_store(uint8_t *y, const struct iq_block *b)
{
    for (int i = 0; i < 8; i++) {
        uint32_t signs = (uint32_t)b->nibble[i] << 28;

        for (int k = 0; k < 8; k++)
            y[2 + 8 * i + k] = (uint8_t)index_of(GRID_IQ3_XXS, &b->run[i], k);
        for (int k = 0; k < 4; k++)
            signs |= (uint32_t)b->run[i].sign[k] << 7 * k;
        store_word(y + 66 + 4 * i, signs);
        store_word(y + 68 + 4 * i, signs >> 16);
    }
}

/* After an empty run, the lower bits of indices and the signs of the following runs are stored one run too early: ggml's
 * encoder does not advance. Such a block decodes to wrong values, in ggml too; the bytes are identical. */
static void
iq3_s_store(uint8_t *y, const struct iq_block *b)
{
    uint8_t *qs = y + 2, *qh = y + 66, *signs = y + 74, *scales = y + 106;

    for (int i = 0; i < 8; i++) {
        const struct iq_run *run = &b->run[i];

        scales[i / 2] |= (uint8_t)(b->nibble[i] << 4 * (i % 2));
        if (run->empty)
            continue;
        for (int k = 0; k < 8; k++) {
            unsigned index = index_of(GRID_IQ3_S, run, k);

            *qs++ = (uint8_t)index;
            qh[i] |= (uint8_t)(index >> 8 << k);
        }
        for (int k = 0; k < 4; k++)
            *signs++ = run->sign[k];
    }
}

/* By dtype: IQ2_XXS to IQ3_S. */
static const struct iq_type types[DTYPE_COUNT] = {
    [DTYPE_IQ2_XXS] = {
        .grid = GRID_IQ2_XXS, .run = 32, .tries = 6, .step = 0.1f, .least = 1e-15f, .even = true, .refit = REFIT_ALL,
        .sigma = 1, .factor = 1, .clear = true,
        .store = iq2_xxs_store, .bytes = IQ2_XXS_BYTES,
    },
    [DTYPE_IQ2_XS] = {
        .grid = GRID_IQ2_XS, .run = 16, .tries = 9, .step = 0.1f, .least = 1e-15f, .even = true, .refit = REFIT_NEAR,
        .sigma = 1, .factor = 1, .clear = true,
        .store = iq2_xs_store, .bytes = IQ2_XS_BYTES,
    },
    [DTYPE_IQ2_S] = {
        .grid = GRID_IQ2_S, .run = 16, .tries = 9, .step = 0.1f, .least = 1e-8f, .refit = REFIT_NEAR,
        .sigma = 2, .share = 0.25f, .factor = 0.9875f,
        .store = iq2_s_store, .bytes = IQ2_S_BYTES,
    },
    [DTYPE_IQ3_XXS] = {
        .grid = GRID_IQ3_XXS, .run = 32, .tries = 15, .step = 0.2f, .least = 1e-8f, .even = true, .refit = REFIT_NEAR,
        .sigma = 2, .factor = 1.0125f, .clear = true,
        .store = iq3_xxs_store, .bytes = IQ3_XXS_BYTES,
    },
    [DTYPE_IQ3_S] = {
        .grid = GRID_IQ3_S, .run = 32, .tries = 9, .step = 0.2f, .least = FLT_TRUE_MIN, .refit = REFIT_ALL_IF_NEAR,
        .sigma = 2, .factor = 1.033f,
        .store = iq3_s_store, .bytes = IQ3_S_BYTES,
    },
};

bool
encode_iq_by(iq_search *search, enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    const struct iq_type *type = &types[dtype];
    struct iq_block b;

    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c += QK_K, x += QK_K, y += type->bytes) {
            if (!block_make(&b, type, search, x, importance == NULL ? NULL : importance + c))
                return false;
            memset(y, 0, type->bytes);
            store_half(y, b.d);
            if (!(b.empty && type->clear))
                type->store(y, &b);
        }
    return true;
}

bool
encode_iq(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    return encode_iq_by(encode_iq_search_search, dtype, y, x, rows, cols, importance);
}
