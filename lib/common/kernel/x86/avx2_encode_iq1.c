/* avx2_encode_iq1: IQ1_S and IQ1_M. Splits are tried side by side; those that are better than the best so far are
 * then taken one after another, so that the first best stays. */
#if defined(__x86_64__)

#include "kernel/encode_iq1.h"

#include "kernel/x86/encode_iq.h"

enum { LANES = 8 };

/* Which of the sums may be better than the best so far: iq1_improve knows. */
static ALWAYS_INLINE __m256
better(__m256 qx, __m256 q2, float best)
{
    return _mm256_cmp_ps(_mm256_mul_ps(qx, qx), _mm256_mul_ps(_mm256_set1_ps(best), q2), _CMP_GT_OQ);
}

/* The lanes to look at again, from `lane` on: what was not better does not become so as long as the best rises, but
 * rounding may lower it by a hair. */
static ALWAYS_INLINE unsigned
fallen(float before, float best, int lane)
{
    return best < before ? 0xFFu << lane & 0xFFu : 0;
}

/* a * c[0] + b * c[1] + d * c[2], once more times c when `square` */
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

struct prefixes {
    float x[IQ_RUN + 1 + LANES], w[IQ_RUN + 1 + LANES];
};

/* Eight values of i2, from `from` on, for one i1, both kinds. */
static ALWAYS_INLINE bool
eight_splits(struct iq1_run *run, float *best, const struct prefixes *p, int i1, int from)
{
    __m256 x1 = _mm256_set1_ps(p->x[i1]), x2 = _mm256_loadu_ps(p->x + from);
    __m256 w1 = _mm256_set1_ps(p->w[i1]), w2 = _mm256_loadu_ps(p->w + from);
    __m256 x[3] = { x1, _mm256_sub_ps(x2, x1), _mm256_sub_ps(_mm256_set1_ps(p->x[IQ_RUN]), x2) };
    __m256 w[3] = { w1, _mm256_sub_ps(w2, w1), _mm256_sub_ps(_mm256_set1_ps(p->w[IQ_RUN]), w2) };
    float qx[2][LANES], q2[2][LANES];
    __m256 any = _mm256_setzero_ps();
    bool improved = false;

    for (int down = IQ1_UP; down <= IQ1_DOWN; down++) {
        __m256 sum_x = weighed(x[0], x[1], x[2], iq1_levels[down], false);
        __m256 sum_2 = weighed(w[0], w[1], w[2], iq1_levels[down], true);

        any = _mm256_or_ps(any, better(sum_x, sum_2, *best));
        _mm256_storeu_ps(qx[down], sum_x);
        _mm256_storeu_ps(q2[down], sum_2);
    }
    for (unsigned lanes = (unsigned)_mm256_movemask_ps(any); lanes != 0; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        float before = *best;

        for (int down = IQ1_UP; down <= IQ1_DOWN; down++)
            improved |= iq1_improve(run, best, i1, from + lane, down ? 3 : 0, qx[down][lane], q2[down][lane]);
        lanes |= fallen(before, *best, lane);
    }
    return improved;
}

static bool
split_s(struct iq1_run *run)
{
    struct prefixes p = { { 0 }, { 0 } };
    float best = -FLT_MAX;
    bool any = false;

    for (int j = 0; j < IQ_RUN; j++) {
        int i = run->order[j];

        p.x[j + 1] = p.x[j] + run->w[i] * run->x[i];
        p.w[j + 1] = p.w[j] + run->w[i];
    }
    for (int j = IQ_RUN + 1; j < IQ_RUN + 1 + LANES; j++)
        p.w[j] = NAN;                                   /* never better */
    for (int i1 = 0; i1 <= IQ_RUN; i1++)
        for (int i2 = i1; i2 <= IQ_RUN; i2 += LANES)
            any |= eight_splits(run, &best, &p, i1, i2);
    return any;
}

/* The levels of the four kinds in one half of a run, twice */
static ALWAYS_INLINE __m256
kinds(int half, int digit)
{
    float c[4];

    for (int kind = 0; kind < 4; kind++)
        c[kind] = iq1_levels_of(kind, half)[digit];
    return _mm256_setr_ps(c[0], c[1], c[2], c[3], c[0], c[1], c[2], c[3]);
}

/* Sums of the four kinds lie in one register: of w * q * x below, of w * q * q above. An element adds one of three
 * terms to them, in order of values. */
enum { SMALL_RUN = 16 };

/* The splits at i2 and i2 + 1; `valid`: a bit for each kind of them that there is. */
static ALWAYS_INLINE bool
two_splits(struct iq1_run *run, float *best, int i1, int i2, __m256 first, __m256 second, unsigned valid)
{
    __m256 qx = _mm256_permute2f128_ps(first, second, 0x20), q2 = _mm256_permute2f128_ps(first, second, 0x31);
    unsigned lanes = (unsigned)_mm256_movemask_ps(better(qx, q2, *best)) & valid;
    float sum_x[LANES], sum_2[LANES];
    bool improved = false;

    if (lanes == 0)
        return false;
    _mm256_storeu_ps(sum_x, qx);
    _mm256_storeu_ps(sum_2, q2);
    for (; lanes != 0; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        float before = *best;

        improved |= iq1_improve(run, best, i1, i2 + lane / 4, lane % 4, sum_x[lane], sum_2[lane]);
        lanes |= fallen(before, *best, lane) & valid;
    }
    return improved;
}

/* All i2 for one i1, where the sum over those before i1 is `before`. */
static ALWAYS_INLINE bool
splits_from(struct iq1_run *run, float *best, int i1, __m256 before, const __m256 (*term)[3])
{
    bool any = false;

    for (int i2 = i1; i2 <= SMALL_RUN; i2 += 2) {
        bool both = i2 < SMALL_RUN;                     /* else the second is the first again */
        __m256 after = both ? _mm256_add_ps(before, term[i2][1]) : before;
        __m256 first = both ? _mm256_add_ps(before, term[i2][2]) : before, second = after;

        for (int j = i2 + 1; j < SMALL_RUN; j++) {
            first = _mm256_add_ps(first, term[j][2]);
            second = _mm256_add_ps(second, term[j][2]);
        }
        any |= two_splits(run, best, i1, i2, first, second, both ? 0xFF : 0x0F);
        if (i2 + 1 < SMALL_RUN)
            before = _mm256_add_ps(after, term[i2 + 1][1]);
    }
    return any;
}

static bool
split_m(struct iq1_run *run)
{
    float best = -FLT_MAX;
    bool any = false;
    __m256 level[2][3], term[SMALL_RUN][3], before = _mm256_setzero_ps();

    for (int half = 0; half < 2; half++)
        for (int digit = 0; digit < 3; digit++)
            level[half][digit] = kinds(half, digit);
    for (int j = 0; j < SMALL_RUN; j++) {
        int i = run->order[j];

        for (int digit = 0; digit < 3; digit++) {
            __m256 q = level[i / 8][digit];

            term[j][digit] = _mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(run->w[i]), q),
                _mm256_blend_ps(_mm256_set1_ps(run->x[i]), q, 0xF0));
        }
    }
    for (int i1 = 0; i1 <= SMALL_RUN; i1++) {
        any |= splits_from(run, &best, i1, before, (const __m256 (*)[3])term);
        if (i1 < SMALL_RUN)
            before = _mm256_add_ps(before, term[i1][0]);
    }
    return any;
}

static bool
nearest(const struct encode_grid *g, uint32_t where, const float *x, const float *w, const float *levels, float scale,
    uint16_t *code)
{
    __m256 c = _mm256_setr_ps(levels[0], levels[1], levels[2], 0, levels[0], levels[1], levels[2], 0);
    __m256 term[IQ_DIGITS];

    terms_make(term, _mm256_mul_ps(_mm256_set1_ps(scale), c), x, w, 8);
    return list_search(g->lists, where, term, 8, code);
}

static const struct iq1_how side_by_side = { split_s, split_m, nearest };

static bool
avx2_iq1_s_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    return iq1_s_encode_by(&side_by_side, y, x, rows, cols, importance);
}

static bool
avx2_iq1_m_encode(uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    return iq1_m_encode_by(&side_by_side, y, x, rows, cols, importance);
}

void
avx2_use_encode_iq1(struct kernels *k)
{
    k->encode[DTYPE_IQ1_S] = avx2_iq1_s_encode;
    k->encode[DTYPE_IQ1_M] = avx2_iq1_m_encode;
}

#endif
