/* encode_iq4: IQ4_NL and IQ4_XS. The layouts are in iq4.c.
 *
 * A run of 32 elements gets the scale d that minimizes the sum of w * (x - d * q)^2, where q are the levels nearest to id *
 * x, for one of 16 inverse scales id around -127 / m; m is the element of largest magnitude:
 *
 *     d = sum(w * q * x) / sum(w * q * q), which reduces the error by d * sum(w * q * x)
 *
 * IQ4_NL stores d itself, IQ4_XS stores it as a multiple of its block's scale. Source: ggml-quants.c,
 * quantize_row_iq4_nl_impl.
 */
#include "kernel/encode_iq4.h"

#include "base/num.h"
#include "dtype/ggml_block.h"
#include "kernel/encode_iq.h"
#include "kernel/encode_math.h"
#include "kernel/blocks.h"

const float iq4_between[15] = { -115.5f, -93.5f, -74, -57, -42, -28.5f, -16, -4.5f, 7, 19, 31.5f, 45.5f, 61, 79, 101 };

static int
encode_iq4_code_of(float v)
{
    int code = 0;

    for (int i = 0; i < 15; i++)
        code += !(v < iq4_between[i]);
    return code;
}

struct iq4_sums {
    float qx, q2;
};

static struct iq4_sums
sums_with(const float *x, const float *w, float id)
{
    struct iq4_sums s = { 0, 0 };

    for (int i = 0; i < IQ4_RUN; i++) {
        float q = iq4_levels[encode_iq4_code_of(id * x[i])];

        s.qx += w[i] * q * x[i];
        s.q2 += w[i] * q * q;
    }
    return s;
}

static float
scale_of(const float *x, const float *w)
{
    float most = extreme(x, IQ4_RUN);

    if (fabsf(most) < 1e-15f)
        return 0;

    struct iq4_sums s = sums_with(x, w, 1 / (-most / iq4_levels[0]));
    float scale = s.q2 > 0 ? s.qx / s.q2 : 0, best = scale * s.qx;
    for (int step = -IQ4_STEPS; step <= IQ4_STEPS; step++) {
        s = sums_with(x, w, (float)(step + iq4_levels[0]) / most);
        if (s.q2 > 0 && s.qx * s.qx > best * s.q2) {
            scale = s.qx / s.q2;
            best = scale * s.qx;
        }
    }
    return scale;
}

static void
scales(float scale[IQ4_RUNS], const float *x, const float *w)
{
    for (int b = 0; b < IQ4_RUNS; b++)
        scale[b] = scale_of(x + IQ4_RUN * b, w + IQ4_RUN * b);
}

static void
codes(uint8_t *qs, const float *x, float id)
{
    for (int j = 0; j < 16; j++)
        qs[j] = (uint8_t)(encode_iq4_code_of(id * x[j]) | encode_iq4_code_of(id * x[j + 16]) << 4);
}

static const struct iq4_how one_by_one = { scales, codes };

/* Computes the weights of the n elements of a block. */
static void
encode_iq4_weigh(float *w, const float *x, const float *importance, int n)
{
    if (importance != NULL)
        weigh_by_importance(w, x, importance, sum_of_squares(x, (size_t)n) * (2.0f / (float)n), n);
    else
        for (int i = 0; i < n; i++)
            w[i] = x[i] * x[i];
}

static void
iq4_nl_row(const struct iq4_how *how, uint8_t *y, const float *x, size_t nblocks, const float *importance)
{
    float eight[QK_K], w[QK_K] = { 0 }, scale[IQ4_RUNS];

    while (nblocks > 0) {
        size_t now = (size_t)num_min(nblocks, IQ4_RUNS);

        memset(eight, 0, sizeof eight);
        memcpy(eight, x, now * IQ4_RUN * sizeof *x);
        for (size_t b = 0; b < now; b++)
            encode_iq4_weigh(w + IQ4_RUN * b, x + IQ4_RUN * b, importance == NULL ? NULL : importance + IQ4_RUN * b, IQ4_RUN);
        how->scales(scale, eight, w);
        for (size_t b = 0; b < now; b++, y += IQ4_NL_BYTES, x += IQ4_RUN) {
            store_half(y, scale[b]);
            how->codes(y + 2, x, inverse_or_0(scale[b]));
        }
        if (importance != NULL)
            importance += IQ4_RUN * now;
        nblocks -= now;
    }
}

static void
iq4_xs_block(const struct iq4_how *how, uint8_t *y, const float *x, const float *importance)
{
    float w[QK_K], scale[IQ4_RUNS];
    unsigned high = 0;

    encode_iq4_weigh(w, x, importance, QK_K);
    how->scales(scale, x, w);

    float d = -extreme(scale, IQ4_RUNS) / 32, id = inverse_or_0(d);
    memset(y + 4, 0, 4);
    for (int b = 0; b < IQ4_RUNS; b++) {
        int l = clamp_int(nearest_int(id * scale[b]), -32, 31);

        how->codes(y + 8 + 16 * b, x + IQ4_RUN * b, inverse_or_0(d * (float)l));
        l += 32;
        y[4 + b / 2] |= (uint8_t)((l & 15) << 4 * (b % 2));
        high |= (unsigned)l >> 4 << 2 * b;
    }
    store_half(y, d);
    store_word(y + 2, high);
}

bool
encode_iq4_by(const struct iq4_how *how, enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows,
    size_t cols, const float *restrict importance)
{
    if (dtype == DTYPE_IQ4_NL) {
        for (size_t r = 0; r < rows; r++, x += cols, y += cols / IQ4_NL_ELEMS * IQ4_NL_BYTES)
            iq4_nl_row(how, y, x, cols / IQ4_NL_ELEMS, importance);
        return true;
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c += QK_K, x += QK_K, y += IQ4_XS_BYTES)
            iq4_xs_block(how, y, x, importance == NULL ? NULL : importance + c);
    return true;
}

bool
encode_iq4(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    return encode_iq4_by(&one_by_one, dtype, y, x, rows, cols, importance);
}
