/* avx2_encode_iq1: IQ1_S and IQ1_M. Splits are tried side by side; those that beat the best so far are then applied in
 * order, so that the first one wins a tie. */
#if defined(__x86_64__)

#include "kernel/encode_iq1.h"

#include <string.h>

#include "kernel/x86/encode_iq.h"

enum { LANES = 8 };

/* Returns the lanes whose sums may beat the best so far; iq1_improve() decides. */
static ALWAYS_INLINE __m256
better(__m256 qx, __m256 q2, float best)
{
    return _mm256_cmp_ps(_mm256_mul_ps(qx, qx), _mm256_mul_ps(_mm256_set1_ps(best), q2), _CMP_GT_OQ);
}

/* Returns the lanes to examine again, starting at `lane`: a split that was not better stays so while the best rises, but
 * rounding may lower the best slightly. */
static ALWAYS_INLINE unsigned
fallen(float before, float best, int lane)
{
    if (best < before)
        return 0xFFu << lane & 0xFFu;
    return 0;
}

/* Returns a * c[0] + b * c[1] + d * c[2]; with `square`, each product is multiplied by c again. */
static ALWAYS_INLINE __m256
weighed(__m256 a, __m256 b, __m256 d, const float *levels, const bool square)
{
    __m256 part[3] = { a, b, d };

    for (int i = 0; i < 3; i++) {
        part[i] = _mm256_mul_ps(part[i], _mm256_set1_ps(levels[i]));
        if (square)
            part[i] = _mm256_mul_ps(part[i], _mm256_set1_ps(levels[i]));
    }
    return _mm256_add_ps(_mm256_add_ps(part[0], part[1]), part[2]);
}

struct iq1_prefixes {
    float x[IQ_RUN + 1 + LANES], w[IQ_RUN + 1 + LANES];
};

/* Sums of w * q * x and of w * q * q of eight splits, for each kind of a type. */
struct iq1_eight {
    float qx[4][LANES], q2[4][LANES];
    __m256 any;                     /* splits that may beat the best so far */
};

static ALWAYS_INLINE void
eight_put(struct iq1_eight *e, int kind, __m256 qx, __m256 q2, float best)
{
    e->any = _mm256_or_ps(e->any, better(qx, q2, best));
    _mm256_storeu_ps(e->qx[kind], qx);
    _mm256_storeu_ps(e->q2[kind], q2);
}

/* Applies the splits at i1 and from, from + 1 ... in order; kinds are `step` apart. */
static ALWAYS_INLINE bool
eight_take(const struct iq1_eight *e, struct iq1_run *run, float *best, int i1, int from, const int step)
{
    bool improved = false;

    for (unsigned lanes = (unsigned)_mm256_movemask_ps(e->any); lanes != 0; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        float before = *best;

        for (int kind = 0; kind < 4; kind += step)
            improved |= iq1_improve(run, best, i1, from + lane, kind, e->qx[kind][lane], e->q2[kind][lane]);
        lanes |= fallen(before, *best, lane);
    }
    return improved;
}

/* Tries eight values of i2, starting with `from`, for one i1 and both kinds. */
static ALWAYS_INLINE bool
eight_splits(struct iq1_run *run, float *best, const struct iq1_prefixes *p, int i1, int from)
{
    __m256 x1 = _mm256_set1_ps(p->x[i1]), x2 = _mm256_loadu_ps(p->x + from);
    __m256 w1 = _mm256_set1_ps(p->w[i1]), w2 = _mm256_loadu_ps(p->w + from);
    __m256 x[3] = { x1, _mm256_sub_ps(x2, x1), _mm256_sub_ps(_mm256_set1_ps(p->x[IQ_RUN]), x2) };
    __m256 w[3] = { w1, _mm256_sub_ps(w2, w1), _mm256_sub_ps(_mm256_set1_ps(p->w[IQ_RUN]), w2) };
    struct iq1_eight e = { .any = _mm256_setzero_ps() };

    for (int down = IQ1_UP; down <= IQ1_DOWN; down++)
        eight_put(&e, down ? 3 : 0, weighed(x[0], x[1], x[2], iq1_levels[down], false),
            weighed(w[0], w[1], w[2], iq1_levels[down], true), *best);
    return eight_take(&e, run, best, i1, from, 3);
}

static bool
split_s(struct iq1_run *run)
{
    struct iq1_prefixes p = { { 0 }, { 0 } };
    float best = -FLT_MAX;
    bool any = false;

    for (int j = 0; j < IQ_RUN; j++) {
        int i = run->order[j];

        p.x[j + 1] = p.x[j] + run->w[i] * run->x[i];
        p.w[j + 1] = p.w[j] + run->w[i];
    }
    for (int j = IQ_RUN + 1; j < IQ_RUN + 1 + LANES; j++)
        p.w[j] = NAN;                                   /* NaN is never better */
    for (int i1 = 0; i1 <= IQ_RUN; i1++)
        for (int i2 = i1; i2 <= IQ_RUN; i2 += LANES)
            any |= eight_splits(run, &best, &p, i1, i2);
    return any;
}

/* Sums of struct iq1_halves, padded with lanes that are never better */
struct iq1_padded_halves {
    float x[2][IQ1_M_RUN + 1 + LANES], w[2][IQ1_M_RUN + 1 + LANES];
};

/* Tries eight values of i2, starting with `from`, for one i1 and all four kinds. */
static ALWAYS_INLINE bool
eight_splits_m(struct iq1_run *run, float *best, const struct iq1_halves *h, const struct iq1_padded_halves *p, int i1,
    int from)
{
    __m256 qx[2][2], q2[2][2];
    struct iq1_eight e = { .any = _mm256_setzero_ps() };

    for (int half = 0; half < 2; half++) {
        __m256 x = _mm256_add_ps(_mm256_set1_ps(h->x[half][i1]), _mm256_loadu_ps(p->x[half] + from));
        __m256 w1 = _mm256_set1_ps(h->w[half][i1]), w2 = _mm256_loadu_ps(p->w[half] + from);

        for (int down = IQ1_UP; down <= IQ1_DOWN; down++) {
            __m256 first = _mm256_mul_ps(w1, _mm256_set1_ps(iq1_steps[down][0]));
            __m256 second = _mm256_mul_ps(w2, _mm256_set1_ps(iq1_steps[down][1]));

            qx[half][down] = _mm256_sub_ps(_mm256_set1_ps(h->total_x[half][down]), x);
            q2[half][down] = _mm256_add_ps(_mm256_add_ps(_mm256_set1_ps(h->total_w[half][down]), first), second);
        }
    }
    for (int kind = 0; kind < 4; kind++)
        eight_put(&e, kind, _mm256_add_ps(qx[0][kind >> 1], qx[1][kind & 1]),
            _mm256_add_ps(q2[0][kind >> 1], q2[1][kind & 1]), *best);
    return eight_take(&e, run, best, i1, from, 1);
}

static bool
split_m(struct iq1_run *run)
{
    struct iq1_halves h;
    struct iq1_padded_halves p = { { { 0 } }, { { 0 } } };
    float best = -FLT_MAX;
    bool any = false;

    iq1_halves_make(&h, run);
    for (int half = 0; half < 2; half++) {
        memcpy(p.x[half], h.x[half], sizeof h.x[half]);
        memcpy(p.w[half], h.w[half], sizeof h.w[half]);
        for (int j = IQ1_M_RUN + 1; j < IQ1_M_RUN + 1 + LANES; j++)
            p.w[half][j] = NAN;
    }
    for (int i1 = 0; i1 <= IQ1_M_RUN; i1++)
        for (int i2 = i1; i2 <= IQ1_M_RUN; i2 += LANES)
            any |= eight_splits_m(run, &best, &h, &p, i1, i2);
    return any;
}

static const struct iq1_how side_by_side = { split_s, split_m, nearest8 };

static bool
avx2_encode_iq1(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    return encode_iq1_by(&side_by_side, dtype, y, x, rows, cols, importance);
}

void
avx2_use_encode_iq1(struct kernels *k)
{
    k->encode[DTYPE_IQ1_S] = k->encode[DTYPE_IQ1_M] = avx2_encode_iq1;
}

#endif
