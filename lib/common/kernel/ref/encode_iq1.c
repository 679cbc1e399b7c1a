/* encode_iq1: IQ1_S and IQ1_M. The layouts are in iq_quants.c, the terms in kernel/encode_iq1.h.
 *
 * The elements of a run, sorted by value, are split in three: digits 0, 1, 2. Of all splits and kinds, the one is chosen
 * that minimizes the sum of w * (x - scale * level)^2 with its best scale. Then each group of eight is moved to an entry of
 * the codebook, and the scale is fitted to the result. Source: ggml-quants.c, quantize_row_iq1_s_impl, _iq1_m_impl.
 */
#include "kernel/encode_iq1.h"

#include "dtype/ggml_block.h"
#include "kernel/encode_iq.h"

#include <assert.h>
#include <string.h>

const float iq1_levels[2][3] = { { -0.875f, 0.125f, 1.125f }, { -1.125f, -0.125f, 0.875f } };

/* All elements have the same levels, so prefix sums in sorted order suffice. */
static bool
split_s(struct iq1_run *run)
{
    float sum_x[IQ_RUN + 1], sum_w[IQ_RUN + 1], best = -FLT_MAX;
    bool any = false;

    sum_x[0] = sum_w[0] = 0;
    for (int j = 0; j < run->n; j++) {
        int i = run->order[j];

        sum_x[j + 1] = sum_x[j] + run->w[i] * run->x[i];
        sum_w[j + 1] = sum_w[j] + run->w[i];
    }
    for (int i1 = 0; i1 <= run->n; i1++)
        for (int i2 = i1; i2 <= run->n; i2++)
            for (int down = IQ1_UP; down <= IQ1_DOWN; down++) {
                const float *c = iq1_levels[down];
                float x0 = sum_x[i1] - sum_x[0], x1 = sum_x[i2] - sum_x[i1], x2 = sum_x[run->n] - sum_x[i2];
                float w0 = sum_w[i1] - sum_w[0], w1 = sum_w[i2] - sum_w[i1], w2 = sum_w[run->n] - sum_w[i2];

                any |= iq1_improve(run, &best, i1, i2, down ? 3 : 0, x0 * c[0] + x1 * c[1] + x2 * c[2],
                    w0 * c[0] * c[0] + w1 * c[1] * c[1] + w2 * c[2] * c[2]);
            }
    return any;
}

void
iq1_halves_make(struct iq1_halves *h, const struct iq1_run *run)
{
    for (int half = 0; half < 2; half++)
        h->x[half][0] = h->w[half][0] = 0;
    for (int j = 0; j < IQ1_M_RUN; j++) {
        int i = run->order[j], half = i / (IQ1_M_RUN / 2), other = 1 - half;

        h->x[half][j + 1] = h->x[half][j] + run->w[i] * run->x[i];
        h->w[half][j + 1] = h->w[half][j] + run->w[i];
        h->x[other][j + 1] = h->x[other][j];
        h->w[other][j + 1] = h->w[other][j];
    }
    for (int half = 0; half < 2; half++)
        for (int down = IQ1_UP; down <= IQ1_DOWN; down++) {
            float c = iq1_levels[down][2];

            h->total_x[half][down] = h->x[half][IQ1_M_RUN] * c;
            h->total_w[half][down] = h->w[half][IQ1_M_RUN] * c * c;
        }
}

const float iq1_steps[2][2] = { { 0.75f, -1.25f }, { 1.25f, -0.75f } };

static bool
split_m(struct iq1_run *run)
{
    struct iq1_halves h;
    float best = -FLT_MAX;
    bool any = false;

    iq1_halves_make(&h, run);
    for (int i1 = 0; i1 <= IQ1_M_RUN; i1++)
        for (int i2 = i1; i2 <= IQ1_M_RUN; i2++) {
            float qx[2][2], q2[2][2];               /* by half, then up and down */

            for (int half = 0; half < 2; half++)
                for (int down = IQ1_UP; down <= IQ1_DOWN; down++) {
                    qx[half][down] = h.total_x[half][down] - (h.x[half][i1] + h.x[half][i2]);
                    q2[half][down] = h.total_w[half][down] + h.w[half][i1] * iq1_steps[down][0]
                        + h.w[half][i2] * iq1_steps[down][1];
                }
            for (int kind = 0; kind < 4; kind++)
                any |= iq1_improve(run, &best, i1, i2, kind, qx[0][kind >> 1] + qx[1][kind & 1],
                    q2[0][kind >> 1] + q2[1][kind & 1]);
        }
    return any;
}

static const struct iq1_how plainly = { split_s, split_m, grid_nearest };

/* Sorts by counting, for each element, those that are smaller or equal and earlier, so that no branch depends on the values.
 * None may be NaN. */
static void
sort(uint8_t *order, const float *x, int n)
{
    int rank[IQ_RUN] = { 0 };

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            rank[j] += (x[i] < x[j]) | ((x[i] == x[j]) & (i < j));
    for (int j = 0; j < n; j++)
        order[rank[j]] = (uint8_t)j;
}

/* Fits the scale of a run to its codes. Keeps the old scale if the new one would not be positive. */
static void
encode_iq1_fit(struct iq1_run *run, const uint16_t *code)
{
    const struct encode_grid *g = &encode_grids[GRID_IQ1];
    float qx = 0, q2 = 0;

    for (int i = 0; i < run->n; i++) {
        float q = iq1_levels_of(run->kind, i / (run->n / 2))[grid_digit(g, code[i / 8], i % 8)];

        qx += run->w[i] * q * run->x[i];
        q2 += run->w[i] * q * q;
    }
    if (qx > 0 && q2 > 0)
        run->scale = qx / q2;
}

/* Converts the split of a run to the codes of its groups, each an entry of the codebook. */
static bool
codes_make(const struct iq1_how *how, struct iq1_run *run, uint16_t *code)
{
    const struct encode_grid *g = &encode_grids[GRID_IQ1];
    bool turned = run->scale < 0, near = false;

    if (turned) {
        run->scale = -run->scale;
        run->kind = 3 - run->kind;
    }
    for (int j = 0; j < run->n; j++) {
        int digit = j < run->first ? 0 : j < run->second ? 1 : 2, i = run->order[j];

        code[i / 8] |= (uint16_t)((turned ? 2 - digit : digit) << 2 * (i % 8));
    }
    for (int k = 0; k < run->n / 8; k++) {
        uint32_t where = grid_where(g, code[k]);
        const float *levels = iq1_levels_of(run->kind, k / (run->n / 16));

        if (grid_has(where))
            continue;
        near = true;
        if (!how->nearest(g, where, run->x + 8 * k, run->w + 8 * k, levels, run->scale, &code[k]))
            return false;
    }
    if (near)
        encode_iq1_fit(run, code);
    return true;
}

/* Encodes a run whose x and w are set. An empty run gets digits 0. */
static bool
run_make(const struct iq1_how *how, struct iq1_run *run, uint16_t *code, float least)
{
    bool small = run->n == IQ1_M_RUN, nan = false;
    float most = fabsf(run->x[0]);

    for (int i = 0; i < run->n; i++) {
        most = greater(most, fabsf(run->x[i]));
        nan |= isnan(run->x[i]);
    }
    run->empty = true;
    run->scale = 0;
    run->kind = 0;
    memset(code, 0, (size_t)run->n / 8 * sizeof *code);
    if (most < least || nan)                    /* no split is usable with a NaN */
        return true;
    sort(run->order, run->x, run->n);
    if (small ? !how->split_m(run) : !how->split_s(run))
        return true;
    run->empty = false;
    return codes_make(how, run, code) && !isnan(run->scale);
}

static void
encode_iq1_weigh(float *w, const float *x, const float *importance)
{
    if (importance != NULL)
        weigh_by_importance(w, x, importance, 2 * sum_of_squares(x, QK_K) / QK_K, QK_K);
    else
        for (int i = 0; i < QK_K; i++)
            w[i] = x[i] * x[i];
}

struct iq1_block {
    struct iq1_run run[QK_K / 16];
    uint16_t code[QK_K / 8];
    float d, id;                    /* d is the unit of the runs' scales; id = 1 / d */
    bool empty;                     /* all runs are empty */
};

static bool
block_make(const struct iq1_how *how, struct iq1_block *b, int n, float least, const float *x, const float *importance)
{
    float w[QK_K], most = 0;

    assert(encode_grids[GRID_IQ1].lists != NULL);
    encode_iq1_weigh(w, x, importance);
    for (int g = 0; g < QK_K / n; g++) {
        struct iq1_run *run = &b->run[g];

        run->n = n;
        memcpy(run->x, x + n * g, (size_t)n * sizeof *x);
        memcpy(run->w, w + n * g, (size_t)n * sizeof *w);
        if (!run_make(how, run, b->code + n / 8 * g, least))
            return false;
        most = greater(most, run->scale);
    }
    b->empty = most == 0;
    b->d = most / 15;
    b->id = 1 / b->d;
    return true;
}

/* Returns l, where the run's scale is 2 l + 1 times the block's. */
static int
multiple_of(const struct iq1_block *b, int g)
{
    return clamp_int(nearest_int(0.5f * (b->id * b->run[g].scale - 1)), 0, 7);
}

static void
iq1_s_store(uint8_t *y, const struct iq1_block *b)
{
    const struct encode_grid *grid = &encode_grids[GRID_IQ1];

    store_half(y, b->d * 1.125f);
    for (int g = 0; g < 8; g++) {
        unsigned high = 0;

        for (int k = 0; k < 4; k++) {
            unsigned index = grid_where(grid, b->code[4 * g + k]);

            y[2 + 4 * g + k] = (uint8_t)index;
            high |= index >> 8 << 3 * k;
        }
        if (!b->empty)
            high |= (unsigned)(multiple_of(b, g) | (b->run[g].kind ? 8 : 0)) << 12;
        store_word(y + 34 + 2 * g, high);
    }
}

/* Stores only the indices of a run; a block without a scale contains nothing else of it. */
static void
iq1_m_store_indices(uint8_t *y, const struct iq1_block *b, int g)
{
    const struct encode_grid *grid = &encode_grids[GRID_IQ1];
    unsigned first = grid_where(grid, b->code[2 * g]), second = grid_where(grid, b->code[2 * g + 1]);

    y[2 * g] = (uint8_t)first;
    y[2 * g + 1] = (uint8_t)second;
    y[32 + g] = (uint8_t)(first >> 8 | second >> 8 << 4);
}

/* Fits the block's scale to the final codes of all its runs. */
static void
iq1_m_store(uint8_t *y, const struct iq1_block *b)
{
    const struct encode_grid *grid = &encode_grids[GRID_IQ1];
    unsigned scales[4] = { 0, 0, 0, 0 };
    float d = b->d, qx = 0, q2 = 0;

    memset(y, 0, IQ1_M_BYTES);
    for (int g = 0; g < 16; g++)
        iq1_m_store_indices(y, b, g);
    if (b->empty)
        return;
    for (int g = 0; g < 16; g++) {
        const struct iq1_run *run = &b->run[g];
        int l = multiple_of(b, g);

        scales[g / 4] |= (unsigned)l << 3 * (g % 4);
        y[32 + g] |= (uint8_t)((run->kind & 2) << 2 | (run->kind & 1) << 7);
        for (int i = 0; i < 16; i++) {
            float level = iq1_levels_of(run->kind, i / 8)[grid_digit(grid, b->code[2 * g + i / 8], i % 8)];
            float q = level * (float)(2 * l + 1);

            qx += run->w[i] * q * run->x[i];
            q2 += run->w[i] * q * q;
        }
    }
    if (q2 > 0)
        d = qx / q2;
    for (int g = 0; g < 4; g++)
        store_word(y + 48 + 2 * g, scales[g] | (unsigned)(half_of_float(d * 1.1125f) >> 4 * g & 15) << 12);
}

bool
encode_iq1_by(const struct iq1_how *how, enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows,
    size_t cols, const float *restrict importance)
{
    const bool small = dtype == DTYPE_IQ1_M;
    int run = IQ_RUN;
    if (small)
        run = IQ1_M_RUN;
    const float least = small ? 1e-7f : 1e-12f;
    size_t nbytes = IQ1_S_BYTES;
    if (small)
        nbytes = IQ1_M_BYTES;
    struct iq1_block b;

    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c += QK_K, x += QK_K, y += nbytes) {
            if (!block_make(how, &b, run, least, x, importance == NULL ? NULL : importance + c))
                return false;
            if (small)
                iq1_m_store(y, &b);
            else
                iq1_s_store(y, &b);
        }
    return true;
}

bool
encode_iq1(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    return encode_iq1_by(&plainly, dtype, y, x, rows, cols, importance);
}
