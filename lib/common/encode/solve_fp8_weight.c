/* One scale for the weight, which is surveyed in regions. */
#include "encode/solve_fp8_priv.h"

#include <float.h>
#include <math.h>

#include "base/bytes.h"
#include "base/num.h"
#include "encode/move.h"

/* After the regions: set to have their magnitudes collected. */
static float *
collects(const struct encoding *e, float *facts)
{
    return facts + e->nregions * FACTS_OF_WEIGHT;
}

/* Magnitudes of a region, and some of them by their bits, to pass values that were seen before. */
struct fp8_seen {
    struct solve_set set;
    float by_bits[512];
};

static float *
solve_fp8_weight_place_of(struct fp8_seen *s, float v)
{
    return &s->by_bits[(bits_of_float(v) >> 16 ^ bits_of_float(v)) % 512];
}

/* Adds the magnitudes of a block. Fails if there are too many. */
static bool
solve_fp8_weight_collect(struct fp8_seen *s, const struct solve_block *b)
{
    struct solve_set more;
    size_t i = 0;
    while (i < b->n && !b->unit && (b->x[i] == 0 || *solve_fp8_weight_place_of(s, b->x[i]) == b->x[i]))
        i++;
    if (i == b->n)
        return true;
    if (!solve_collect(&more, b, SOLVE_FP8_CODES))
        return false;
    for (i = 0; i < more.n; i++)
        if (!solve_insert(&s->set, more.v[i], 1, SOLVE_FP8_CODES))
            return solve_fail(b, EXACT_SPAN, 0, NAN);
    for (i = 0; i < b->n; i++)
        *solve_fp8_weight_place_of(s, b->x[i]) = b->x[i];
    return true;
}

static void
keep_set(float *f, const struct solve_set *set)
{
    f[COUNT] = (float)set->n;
    for (size_t i = 0; i < set->n; i++)
        f[SET + i] = (float)set->v[i];
}

/* Finds the range of a region from the scales that the source had, as if all codes occurred. *found: it has a scale. */
static bool
foresee_run(const struct encoding *e, const struct encode_run *run, uint64_t first, uint64_t end, float *f, bool *found, struct err *err)
{
    struct move_range range;
    if (!move_scale_range(&range, e, run, first, end, err))
        return false;
    *found = range.any && range.most - range.least <= 14;
    if (range.any) {
        f[HINT] = NAN;
        f[MOST_HINT] = (float)range.most;
        f[LO] = (float)(range.most - 6);
        f[HI] = (float)(range.least + 8);
        f[FLAGS] = ANY | DIFFER | SEEN;
    }
    return true;
}

/* Surveys a region of a dense weight: finds a scale that holds all of its values, and the values that determine it; or NAN, and none.
 * Clears *finite if a value is not. */
static bool
survey_dense_run(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t first, uint64_t end, float *f,
    bool *finite, struct err *err)
{
    struct solve_fp8_found s = { .set.n = 0, .codes = SIZE_MAX };
    bool any = false, holds = true;
    for (uint64_t at = first, n, from; at < end; at = from) {
        float most;
        n = num_min(end - at, ENCODE_FLOATS);
        from = at + n;
        if (!run->read(run->of, at, (size_t)n, run->x, err))
            return false;
        run->kernels->encode_absmax(&most, run->x, (size_t)n, (size_t)n);
        *finite = isfinite(most);
        if (!*finite)
            return true;
        any = any || solve_rounded(e->exact->level, most) != 0;
        if (any && s.set.n == 0)
            holds = solve_fp8_add(&s, how, e->exact->level, most);
        for (size_t i = 0; any && holds && i < n;) {
            i = solve_fp8_held(how, e->exact->level, run->kernels, run->x, (size_t)n, s.scale);
            holds = i == n || solve_fp8_add(&s, how, e->exact->level, run->x[i]);
            if (i != n && at != first) {        /* those before were held by another scale */
                from = first;
                break;
            }
        }
    }
    f[HINT] = NAN;
    f[FLAGS] = SEEN | UNHINTED | (any ? ANY : 0);
    f[SCALE] = s.scale;
    if (!holds) {
        f[SCALE] = NAN;
        s.set.n = 0;
    }
    keep_set(f, &s.set);
    solve_raise(run, any ? EXACT_SEARCH : EXACT_HINT);
    return true;
}

bool
solve_fp8_survey_weight(const struct encoding *e, const struct solve_fp8 *how, const struct encode_run *run, uint64_t region, float *facts,
    struct err *err)
{
    uint64_t first = region * REGION, end = num_min(first + REGION, e->rows * e->cols);
    float *f = facts + region * FACTS_OF_WEIGHT;
    bool again = *collects(e, facts) != 0, done = false;
    if (!again && how->codes == DTYPE_F8_E4M3 && !foresee_run(e, run, first, end, f, &done, err))
        return false;
    if (!again && !done && solve_fp8_is_dense(e) && !survey_dense_run(e, how, run, first, end, f, &done, err))
        return false;
    if (done)
        return true;
    struct fp8_seen seen = { .set.n = 0 };
    for (uint64_t n; first < end; first += n) {
        struct solve_block b;
        n = num_min(end - first, ENCODE_FLOATS);
        if (!run->read(run->of, first, (size_t)n, run->x, err))
            return false;
        for (size_t i = 0, now; i < n; i += now) {
            now = (size_t)num_min(n - i, TILE);
            solve_begin(&b, e, run, run->x + i, now, first + i);
            if (again && !solve_fp8_weight_collect(&seen, &b)) {
                run->hints.fail->block = 0;
                return false;
            }
            if (!again)
                solve_fp8_gather(how, run, f, &b);
            solve_way(&b, again ? EXACT_SEARCH : EXACT_HINT);
            if ((unsigned)f[FLAGS] & INFINITE)
                return solve_finite(&b) || solve_fail(&b, EXACT_NONFINITE, 0, NAN);
        }
    }
    if (again)
        keep_set(f, &seen.set);
    return true;
}

/* Joins the magnitudes of all regions. */
static bool
solve_fp8_weight_join(struct solve_set *set, const struct encoding *e, const float *facts)
{
    set->n = 0;
    for (uint64_t i = 0; i < e->nregions; i++, facts += FACTS_OF_WEIGHT)
        for (size_t k = 0; k < (size_t)facts[COUNT]; k++)
            if (!solve_insert(set, (double)facts[SET + k], 1, SOLVE_FP8_CODES))
                return false;
    return true;
}

/* Sets the scale of a dense weight if its regions have found the same one. */
static bool
settle_dense(const struct encoding *e, const struct solve_fp8 *how, float *facts)
{
    struct solve_set set;
    float scale;
    if (!solve_fp8_is_dense(e) || !solve_fp8_weight_join(&set, e, facts) || !solve_fp8_search(how, &set, e->exact->level, &scale))
        return false;
    for (uint64_t i = 0; i < e->nregions; i++) {
        float found = facts[i * FACTS_OF_WEIGHT + SCALE];
        if (found != scale && found != 0)               /* or NAN; 0 in regions of zeros */
            return false;
    }
    facts[SCALE] = scale;
    return true;
}

bool
solve_fp8_resolve_weight(struct encoding *e, const struct solve_fp8 *how, float *facts, struct exact_fail *fail)
{
    enum exact_cause cause;
    enum exact_way way;
    struct solve_set set;
    for (uint64_t i = 1; i < e->nregions && *collects(e, facts) == 0; i++) {
        const float *f = facts + i * FACTS_OF_WEIGHT;
        unsigned flags = (unsigned)facts[FLAGS] | (unsigned)f[FLAGS];
        facts[LO] = fmaxf(facts[LO], f[LO]);
        facts[HI] = fminf(facts[HI], f[HI]);
        facts[MOST_HINT] = fmaxf(facts[MOST_HINT], f[MOST_HINT]);
        facts[FLAGS] = (float)(flags | (facts[HINT] == f[HINT] ? 0 : DIFFER));
    }
    if (*collects(e, facts) == 0) {
        if (solve_fp8_choose(e, how, facts, &cause, &way) || (cause == EXACT_HOLDS && settle_dense(e, how, facts)))
            return true;
        if (cause == EXACT_NONFINITE)
            *fail = (struct exact_fail){ .cause = cause, .nearest = (double)NAN };
        *collects(e, facts) = 1;
        return false;
    }
    if (solve_fp8_weight_join(&set, e, facts) && solve_fp8_search(how, &set, e->exact->level, &facts[SCALE]))
        return true;
    *fail = (struct exact_fail){ .cause = EXACT_SPAN, .value = set.n != 0 ? set.v[0] : 0, .nearest = (double)NAN };
    return false;
}
