/* encode_search: a try is a scale, which determines the codes; least squares over these codes give the best scale for them.
 * With weights w and codes l, in x = scale * l, it is
 *
 *     scale = sum(w x l) / sum(w l l),  which reduces the error by  sum(w x l)^2 / sum(w l l)
 *
 * Tries are compared without a division: a / b > c / d as a * d > c * b.
 */
#include "kernel/encode_search.h"

#include <string.h>

#include "kernel/encode_math.h"

/* A group whose largest magnitude is below this counts as zero. */
static const float nothing = 1e-15f;

/* The sums of one try. */
struct search_fit {
    float xl, ll;                   /* sum(w x l), sum(w l l) */
};

/* --- symmetric */

static inline float
symmetric_weight(const float *x, const float *weights, int i)
{
    if (weights != NULL)
        return weights[i];
    return x[i] * x[i];
}

static inline struct search_fit
symmetric_fit(const float *x, const float *weights, int n, int top, float inverse)
{
    struct search_fit fit = { 0.0f, 0.0f };

    for (int i = 0; i < n; i++) {
        float l = (float)clamp_int(nearest_int(inverse * x[i]), -top, top - 1);
        float w = symmetric_weight(x, weights, i);

        fit.xl += w * x[i] * l;
        fit.ll += w * l * l;
    }
    return fit;
}

float
search_symmetric(uint8_t *codes, const float *x, const float *weights, int n, int top)
{
    float m = extreme(x, n);
    if (fabsf(m) < nothing) {
        memset(codes, 0, (size_t)n);
        return 0.0f;
    }

    float inverse = -(float)top / m;
    struct search_fit fit = symmetric_fit(x, weights, n, top, inverse);
    float scale = 0.0f;
    if (fit.ll != 0.0f)
        scale = fit.xl / fit.ll;
    float best = scale * fit.xl;

    for (int step = -9; step <= 9; step++) {
        float trial = -((float)top + 0.1f * (float)step) / m;

        if (step == 0)                                  /* already tried */
            continue;
        fit = symmetric_fit(x, weights, n, top, trial);
        if (fit.ll > 0.0f && fit.xl * fit.xl > best * fit.ll) {
            inverse = trial;
            scale = fit.xl / fit.ll;
            best = scale * fit.xl;
        }
    }
    for (int i = 0; i < n; i++)
        codes[i] = (uint8_t)(clamp_int(nearest_int(inverse * x[i]), -top, top - 1) + top);
    return scale;
}

/* --- symmetric, Q3_K */

enum { Q3_ELEMS = 16, Q3_TOP = 4, SWEEPS = 5 };

/* Moves one code to the value that fits the others best, if that reduces the error. */
static bool
q3_improve(int *code, float x, struct search_fit *fit)
{
    float w = x * x;
    struct search_fit with = { fit->xl - w * x * (float)*code, 0.0f };
    int next;

    if (!(with.xl > 0.0f))
        return false;
    with.ll = fit->ll - w * (float)*code * (float)*code;
    next = clamp_int(nearest_int(x * with.ll / with.xl), -Q3_TOP, Q3_TOP - 1);
    if (next == *code)
        return false;
    with.xl += w * x * (float)next;
    with.ll += w * (float)next * (float)next;
    if (!(with.ll > 0.0f && with.xl * with.xl * fit->ll > fit->xl * fit->xl * with.ll))
        return false;
    *code = next;
    *fit = with;
    return true;
}

float
search_symmetric_q3(uint8_t *codes, const float *x)
{
    struct search_fit fit = { 0.0f, 0.0f };
    int l[Q3_ELEMS];
    float m = extreme(x, Q3_ELEMS);
    bool changed = true;

    if (fabsf(m) < nothing) {
        memset(codes, 0, Q3_ELEMS);
        return 0.0f;
    }
    for (int i = 0; i < Q3_ELEMS; i++) {
        float w = x[i] * x[i];

        l[i] = clamp_int(nearest_int(-(float)Q3_TOP / m * x[i]), -Q3_TOP, Q3_TOP - 1);
        fit.xl += w * x[i] * (float)l[i];
        fit.ll += w * (float)l[i] * (float)l[i];
    }
    for (int sweep = 0; sweep < SWEEPS && changed; sweep++) {
        changed = false;
        for (int i = 0; i < Q3_ELEMS; i++)
            changed |= q3_improve(&l[i], x[i], &fit);
    }
    for (int i = 0; i < Q3_ELEMS; i++)
        codes[i] = (uint8_t)(l[i] + Q3_TOP);
    if (fit.ll > 0.0f)
        return fit.xl / fit.ll;
    return 0.0f;
}

/* --- with a minimum */

/* Returns the error of x = scale * code + low. */
static inline float
min_error(const uint8_t *codes, const float *x, const float *weights, int n, float scale, float low, bool absolute)
{
    float error = 0.0f;

    for (int i = 0; i < n; i++) {
        float off = scale * (float)codes[i] + low - x[i];

        if (absolute)
            off = fabsf(off);
        else
            off = off * off;
        error += weights[i] * off;
    }
    return error;
}

static inline void
min_codes(uint8_t *codes, const float *x, int n, int top, float inverse, float low)
{
    for (int i = 0; i < n; i++)
        codes[i] = (uint8_t)clamp_int(nearest_int(inverse * (x[i] - low)), 0, top);
}

/* Sums shared by all tries: sum(w), sum(w x). */
struct search_min_sums {
    float w, x;
};

/* Fits scale and low by least squares, with low at most 0. Returns false if all codes are equal. */
static inline bool
min_fit(const uint8_t *codes, const float *x, const float *weights, int n, const struct search_min_sums *sum, float *scale,
    float *low)
{
    float l = 0.0f, ll = 0.0f, xl = 0.0f;

    for (int i = 0; i < n; i++) {
        float wl = weights[i] * (float)codes[i];

        l += wl;
        ll += wl * (float)codes[i];
        xl += wl * x[i];
    }
    float determinant = sum->w * ll - l * l;
    if (!(determinant > 0.0f))
        return false;
    *scale = (sum->w * xl - sum->x * l) / determinant;
    *low = (ll * sum->x - l * xl) / determinant;
    if (*low > 0.0f) {
        *low = 0.0f;
        *scale = xl / ll;
    }
    return true;
}

float
search_with_min(uint8_t *codes, float *min, const float *x, const float *weights, int n, int top,
    const struct search_tries *tries)
{
    float low = x[0], high = x[0];
    struct search_min_sums sum = { weights[0], weights[0] * x[0] };

    for (int i = 1; i < n; i++) {
        if (x[i] < low)
            low = x[i];
        if (x[i] > high)
            high = x[i];
        sum.w += weights[i];
        sum.x += weights[i] * x[i];
    }
    if (low > 0.0f)
        low = 0.0f;
    if (high == low) {
        memset(codes, 0, (size_t)n);
        *min = -low;
        return 0.0f;
    }

    float inverse = (float)top / (high - low), scale = 1.0f / inverse;
    min_codes(codes, x, n, top, inverse, low);
    float error = min_error(codes, x, weights, n, scale, low, tries->absolute);

    for (int i = 0; i <= tries->last; i++) {
        uint8_t trial[SEARCH_MOST];
        float trial_scale, trial_low;

        /* low is the best one so far; high is constant */
        inverse = (tries->first + tries->step * (float)i + (float)top) / (high - low);
        min_codes(trial, x, n, top, inverse, low);
        if (!min_fit(trial, x, weights, n, &sum, &trial_scale, &trial_low))
            continue;
        float trial_error = min_error(trial, x, weights, n, trial_scale, trial_low, tries->absolute);
        if (trial_error < error) {
            memcpy(codes, trial, (size_t)n);
            error = trial_error;
            scale = trial_scale;
            low = trial_low;
        }
    }
    *min = -low;
    return scale;
}

/* --- positive */

static inline float
positive_error(const float *x, const float *weights, int n, int top, float inverse)
{
    float scale = 1.0f / inverse, error = 0.0f;

    for (int i = 0; i < n; i++) {
        int l = nearest_int(inverse * x[i]);
        float off = x[i] - scale * (float)(l < top ? l : top);

        error += weights[i] * off * off;
    }
    return error;
}

/* Returns the best of the inverse scales around top / largest. The error of the first one is computed with codes wrapped to
 * a byte. */
static inline float
positive_inverse(const float *x, const float *weights, int n, int top, float largest)
{
    float best = (float)top / largest, scale = 1.0f / best, least = 0.0f;

    for (int i = 0; i < n; i++) {
        float off = x[i] - scale * (float)(uint8_t)nearest_int(best * x[i]);

        least += weights[i] * off * off;
    }
    for (int step = -4; step <= 4; step++) {
        float trial = (0.1f * (float)step + (float)top) / largest;

        if (step == 0)
            continue;
        float error = positive_error(x, weights, n, top, trial);
        if (error < least) {
            least = error;
            best = trial;
        }
    }
    return best;
}

/* Same as q3_improve(), with given weights and codes starting at 0. */
static bool
positive_improve(uint8_t *code, float x, float w, int top, struct search_fit *fit)
{
    struct search_fit with = { fit->xl - w * x * (float)*code, fit->ll - w * (float)*code * (float)*code };
    int next;

    if (!(with.xl > 0.0f && with.ll > 0.0f))
        return false;
    next = nearest_int(x * with.ll / with.xl);
    if (next > top)
        next = top;
    if (next == *code)
        return false;
    with.xl += w * x * (float)next;
    with.ll += w * (float)next * (float)next;
    if (!(with.xl * with.xl * fit->ll > fit->xl * fit->xl * with.ll))
        return false;
    *code = (uint8_t)next;
    *fit = with;
    return true;
}

float
search_positive(uint8_t *codes, const float *x, const float *weights, int n, int top)
{
    struct search_fit fit = { 0.0f, 0.0f };
    float largest = 0.0f;
    bool changed = true;

    for (int i = 0; i < n; i++)
        largest = largest > x[i] ? largest : x[i];
    if (largest < nothing) {
        memset(codes, 0, (size_t)n);
        return 0.0f;
    }
    float inverse = positive_inverse(x, weights, n, top, largest);
    for (int i = 0; i < n; i++) {
        int l = nearest_int(inverse * x[i]);

        if (l > top)
            l = top;
        codes[i] = (uint8_t)l;
        fit.xl += weights[i] * x[i] * (float)l;
        fit.ll += weights[i] * (float)l * (float)l;
    }
    for (int sweep = 0; sweep < SWEEPS && changed; sweep++) {
        changed = false;
        for (int i = 0; i < n; i++)
            changed |= positive_improve(&codes[i], x[i], weights[i], top, &fit);
    }
    if (fit.ll > 0.0f)
        return fit.xl / fit.ll;
    return 0.0f;
}
