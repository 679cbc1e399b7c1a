/* avx2_encode_iq: the IQ2 and IQ3 types. Eight tries of a run's scale are evaluated side by side, as are the entries of a
 * list. */
#if defined(__x86_64__)

#include "kernel/x86/encode_iq.h"

#include <string.h>

enum { LANES = 8, ROOM = IQ_TRIES + 1 };

/* The tries of a run; the last one is repeated to fill a register */
struct iq_tries {
    float id[ROOM], scale[ROOM];
    uint32_t code[IQ_GROUPS][ROOM];
    float qx[ROOM], q2[ROOM];
    uint8_t near[ROOM];             /* one bit for each group that is not in the codebook */
};

static ALWAYS_INLINE __m256
levels_of(const int digits)
{
    if (digits == 8)
        return _mm256_setr_ps(1, 3, 5, 7, 1, 3, 5, 7);
    return _mm256_setr_ps(1, 3, 5, 7, 9, 11, 13, 15);
}

static bool
nearest4(const struct encode_grid *g, uint32_t where, const float *x, const float *w, const float *levels, float scale,
    uint16_t *code)
{
    return nearest_of(g, where, x, w, _mm256_loadu_ps(levels), scale, code, 4);
}

/* Computes the codes of a group for eight values of id, and their entries of `where`. */
static ALWAYS_INLINE __m256i
codes_of(const struct encode_grid *g, const float *x, __m256 id, uint32_t where[LANES], const int digits)
{
    const __m256i top = _mm256_set1_epi32(digits == 8 ? 2 : 7);
    __m256i code = _mm256_setzero_si256(), rank = code;

    for (int j = digits - 1; j >= 0; j--) {
        __m256 v = _mm256_sub_ps(_mm256_mul_ps(id, _mm256_broadcast_ss(x + j)), _mm256_set1_ps(1));
        __m256 sum = _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(0.5f), v), _mm256_set1_ps(NEAREST_MAGIC));
        __m256i l = _mm256_and_si256(_mm256_castps_si256(sum), _mm256_set1_epi32(0x7FFFFF));

        l = _mm256_sub_epi32(l, _mm256_set1_epi32(0x400000));
        l = _mm256_min_epi32(_mm256_max_epi32(l, _mm256_setzero_si256()), top);
        code = _mm256_or_si256(_mm256_slli_epi32(code, digits == 8 ? 2 : 3), l);
        if (digits == 8)
            rank = _mm256_add_epi32(_mm256_add_epi32(rank, rank), _mm256_add_epi32(rank, l));
        else
            rank = code;
    }
    _mm256_storeu_si256((__m256i *)(void *)where, _mm256_i32gather_epi32((const int *)(const void *)g->where, rank, 4));
    return code;
}

/* Computes the codes of eight tries and their fit, like iq_fit(); codes of the first `lanes` are moved to the codebook. */
static ALWAYS_INLINE bool
eight_tries(struct iq_tries *t, int from, int lanes, const struct iq_run *run, const struct encode_grid *g, const int n,
    const int digits)
{
    const __m256 levels = levels_of(digits);
    __m256 id = _mm256_loadu_ps(t->id + from), qx = _mm256_setzero_ps(), q2 = qx;

    for (int k = 0, i = 0; k < n / digits; k++) {
        const float *x = run->x + digits * k, *v = run->v + digits * k;
        uint32_t *code = t->code[k] + from, where[LANES];

        _mm256_storeu_si256((__m256i *)(void *)code, codes_of(g, x, id, where, digits));
        for (int lane = 0; lane < lanes; lane++) {
            uint16_t found;

            if (grid_has(where[lane]))
                continue;
            if (!nearest_of(g, where[lane], x, v, levels, t->scale[from + lane], &found, digits))
                return false;
            code[lane] = found;
            t->near[from + lane] |= (uint8_t)(1u << k);
        }
        __m256i codes = _mm256_loadu_si256((const __m256i *)(const void *)code);
        for (int j = 0; j < digits; j++, i++) {
            __m256 q = digit_pick(levels, codes, j, digits == 8 ? 2 : 3), w = _mm256_broadcast_ss(run->w + i);
            __m256 wx = _mm256_mul_ps(w, _mm256_broadcast_ss(run->x + i));

            qx = _mm256_add_ps(qx, _mm256_mul_ps(wx, q));
            q2 = _mm256_add_ps(q2, _mm256_mul_ps(_mm256_mul_ps(w, q), q));
        }
    }
    _mm256_storeu_ps(t->qx + from, qx);
    _mm256_storeu_ps(t->q2 + from, q2);
    return true;
}

static ALWAYS_INLINE bool
avx2_encode_iq_search(struct iq_run *run, const struct iq_type *type, const int n, const int digits, grid_nearest_fn *nearest)
{
    const struct encode_grid *g = &encode_grids[type->grid];
    float best = 0, most_level = (float)(2 * g->levels - 1);
    unsigned near = 0;
    if (type->refit != REFIT_NEAR)
        near = ~0u;
    int ntries = 2 * type->tries + 1;
    struct iq_tries t;

    for (int i = 0; i < ROOM; i++) {
        int step = (i < ntries ? i : ntries - 1) - type->tries;

        t.id[i] = (most_level + (float)step * type->step) / run->most;
        t.scale[i] = 1 / t.id[i];
        t.near[i] = 0;
    }
    for (int i = 0; i < n; i += LANES)
        _mm256_storeu_ps(run->v + i, _mm256_sqrt_ps(_mm256_loadu_ps(run->w + i)));
    for (int i = 0; i < ntries; i += LANES)
        if (!eight_tries(&t, i, ntries - i < LANES ? ntries - i : LANES, run, g, n, digits))
            return false;
    for (int i = 0; i < ntries; i++)
        if (t.q2[i] > 0 && t.qx[i] * t.qx[i] > best * t.q2[i]) {
            run->scale = t.qx[i] / t.q2[i];
            best = run->scale * t.qx[i];
            near = t.near[i];
            for (int k = 0; k < n / digits; k++)
                run->code[k] = (uint16_t)t.code[k][i];
        }
    return iq_finish(run, type, near, nearest);
}

static bool
search_any(struct iq_run *run, const struct iq_type *type)
{
    if (encode_grids[type->grid].digits == 4)
        return avx2_encode_iq_search(run, type, 32, 4, nearest4);
    if (type->run == 16)
        return avx2_encode_iq_search(run, type, 16, 8, nearest8);
    return avx2_encode_iq_search(run, type, 32, 8, nearest8);
}

static bool
avx2_encode_iq(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance)
{
    return encode_iq_by(search_any, dtype, y, x, rows, cols, importance);
}

void
avx2_use_encode_iq(struct kernels *k)
{
    static const enum dtype types[] = { DTYPE_IQ2_XXS, DTYPE_IQ2_XS, DTYPE_IQ2_S, DTYPE_IQ3_XXS, DTYPE_IQ3_S };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        k->encode[types[i]] = avx2_encode_iq;
}

#endif
