/* NVFP4: codes and scales of blocks move; only the scale for all blocks is in question, since its readers multiply in another
 * order, or divide. From powers of two, it is a power of two. From a dense copy, it follows from all blocks together. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "dtype/float8.h"
#include "encode/move.h"
#include "encode/solve_mx.h"
#include "encode/solve_nvfp4_copy.h"
#include "kernel/encode_fp8.h"

enum { BLOCK = 16, REGION = 8 * ENCODE_FLOATS };

/* Facts of a region. LO to COPY_HI are for a dense copy: a run of patterns, as bits. After the facts of all regions comes one
 * more: the largest magnitude of the weight, if it is surveyed again as a copy. */
enum { MOST_LO, LEAST_HI, MOST_HINT, BITS, MOST, COPY_LO, COPY_HI, TRY, FACTS };

/* TRY: which of the runs of solve_nvfp4_try() held the region, or: none did; look for the block that the first one does not hold. */
enum { TRY_NONE = -1, TRY_FAILED = -2 };

static bool
is_nvfp4(const struct exact_source *s)
{
    return s->codes == EXACT_E2M1 && s->scale == DTYPE_F8_E4M3;
}

bool
solve_nvfp4_fit(struct encoding *e)
{
    const struct exact_source *s = &e->exact->source;
    bool known = is_nvfp4(s);
    if (s->has_input && s->input_why) {
        e->why = s->input_why;
        return false;
    }
    if (known) {
        e->nregions = 1;
        e->nfacts = MOVE_NVFP4_FACTS;
    } else {
        e->nregions = num_ceil_div(e->rows * e->cols, REGION);
        e->nfacts = FACTS * e->nregions + 1;
    }
    return true;
}

bool
solve_nvfp4_add_input(struct encoding *e, enum solve_nvfp4_reader reader, uint32_t rank, struct err *err)
{
    const struct exact_source *s = &e->exact->source;
    uint64_t n = 1;
    if (s->inputs)
        n = s->nseconds;
    else if (e->weight.shape.rank == 3)
        n = shape_dim(&e->weight.shape, 0);
    bool divides = reader == SOLVE_NVFP4_DIVIDES;
    if (!s->has_input)
        return true;
    uint8_t *bytes = encode_alloc(e, 4 * (size_t)n, err);
    struct encode_part *part = NULL;
    if (bytes)
        part = encode_add_part(e, encode_module(e), divides ? ".input_global_scale" : ".input_scale", DTYPE_F32, &n, rank, err);
    if (!part)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        float input;
        if (s->inputs)
            input = s->inputs[i];
        else
            input = s->input;
        store_le32(bytes + 4 * i, bits_of_float(divides == s->divides ? input : 1.0f / input));
    }
    part->grain = 4;
    part->bytes = bytes;
    return true;
}

static float *
copy_of(const struct encoding *e, float *facts)
{
    return facts + FACTS * e->nregions;
}

/* Finds it from the scales of a source with powers of two, if these fit together whatever the codes are: E2M1 blocks hold their own
 * exponent. 2^-127, the scale of blocks of zeros, needs a look at the codes. */
static bool
foresee_region(const struct encoding *e, const struct encode_run *run, uint64_t first, uint64_t end, float *f, bool *found,
    struct err *err)
{
    struct move_range range;
    if (!move_scale_range(&range, e, run, first, end, err))
        return false;
    *found = range.any && range.least != -127 && range.most - range.least <= 17;
    if (*found) {
        f[MOST_LO] = f[MOST_HINT] = (float)range.most;
        f[LEAST_HI] = (float)range.least;
        f[BITS] = f[MOST] = 0;
    }
    return true;
}

/* In place of the largest magnitude: survey values, not only scales; look for the first block that leaves no scale. */
enum { VALUES = -2, LOCATING = -1 };

/* BITS of the region in which no scale for all blocks is left, with the range of those before it. */
enum { LOCATE = 2 };

/* Fails with the first block of a region that leaves no scale for all, and the element at its end of the range. */
static bool
locate(const struct encoding *e, const struct encode_run *run, uint64_t first, uint64_t end, const float *f, struct err *err)
{
    float lo = f[MOST_LO], hi = f[LEAST_HI];
    for (size_t n; first < end; first += n) {
        n = (size_t)num_min(end - first, ENCODE_FLOATS);
        if (!run->read(run->of, first, n, run->x, err))
            return false;
        for (size_t i = 0; i < n; i += BLOCK) {
            struct solve_block b;
            size_t least = 0, most = 0;
            double v, low = INFINITY;
            solve_begin(&b, e, run, run->x + i, BLOCK, first + i);
            struct solve_range r = SOLVE_RANGE;
            if (!solve_narrow(&r, &b, &solve_e2m1) || !r.any)
                continue;
            for (size_t k = 0; k < BLOCK; k++) {
                v = fabs(solve_value(&b, k));
                if (v > fabs(solve_value(&b, most)))
                    most = k;
                if (v != 0 && v < low) {
                    least = k;
                    low = v;
                }
            }
            lo = fmaxf(lo, (float)r.lo);
            hi = fminf(hi, (float)r.hi);
            if (lo - 8 > hi + 9)
                return solve_fail(&b, EXACT_SPAN, lo == (float)r.lo ? most : least, NAN);
        }
    }
    return true;
}

/* Solves n blocks of a copy in order, with the scale `second` for all as far as that holds, and narrows the run. Returns false if one
 * has no codes. */
static bool
add_copies(const struct encoding *e, const struct encode_run *run, uint64_t at, size_t n, enum solve_nvfp4_reader reader,
    struct solve_nvfp4_run *found, struct solve_nvfp4_pairs *pairs, float *second)
{
    uint8_t *code = (uint8_t *)run->back, *scale = code + n * BLOCK / 2, *set = scale + n, q[BLOCK];
    for (size_t done = 0; done < n; done++) {
        struct same_nvfp4 how;
        struct solve_block b;
        bool any = solve_nvfp4_kernel(&how, reader, e->exact->level, *second);
        how.powers = false;
        size_t held = 0;
        if (any)
            held = run->kernels->same_nvfp4(scale, code, set, run->x + done * BLOCK, n - done, &how);
        for (size_t i = 0; i < held; i++)
            pairs->seen[scale[i]] |= set[i];
        done += held;
        if (done == n)
            break;
        solve_nvfp4_add_pairs(found, pairs, reader, e->exact->level, *second);
        solve_begin(&b, e, run, run->x + done * BLOCK, BLOCK, at + done * BLOCK);
        if (!solve_finite(&b) || !solve_nvfp4_copy(&b, reader, found, scale, q))
            return false;
        *second = solve_nvfp4_pick(reader, *found);
    }
    return true;
}

/* Narrows a run by all blocks of a region of a copy. Clears *held if one has no codes. */
static bool
narrow_region(const struct encoding *e, const struct encode_run *run, uint64_t first, uint64_t end, enum solve_nvfp4_reader reader,
    struct solve_nvfp4_run *found, bool *held, struct err *err)
{
    struct solve_nvfp4_pairs pairs = { { 0 } };
    float second = solve_nvfp4_pick(reader, *found);
    *held = true;
    for (size_t n; *held && first < end; first += n) {
        n = (size_t)num_min(end - first, ENCODE_FLOATS);
        if (!run->read(run->of, first, n, run->x, err))
            return false;
        *held = add_copies(e, run, first, n / BLOCK, reader, found, &pairs, &second);
    }
    if (*held)
        solve_nvfp4_add_pairs(found, &pairs, reader, e->exact->level, second);
    return true;
}

/* Surveys a region of a copy whose largest magnitude is known: finds the first run that holds it. */
static bool
survey_copies(const struct encoding *e, const struct encode_run *run, uint64_t first, uint64_t end, enum solve_nvfp4_reader reader,
    float most, float *f, struct err *err)
{
    struct solve_nvfp4_run found = { 1, 0 };
    int i = 0;
    for (bool held = false; solve_nvfp4_try(&found, i, reader, e->exact->level, most); i++) {
        if (!narrow_region(e, run, first, end, reader, &found, &held, err) || (!held && f[TRY] == TRY_FAILED))
            return false;
        if (held)
            break;
        run->hints.fail->cause = EXACT_HOLDS;
        found = (struct solve_nvfp4_run){ 1, 0 };
    }
    if (found.lo > found.hi)
        f[TRY] = TRY_NONE;
    else
        f[TRY] = (float)i;
    memcpy(&f[COPY_LO], &found.lo, sizeof found.lo);
    memcpy(&f[COPY_HI], &found.hi, sizeof found.hi);
    return true;
}

/* Adds values that are E2M1 codes times powers of two, at level BF16, too, and returns how many. */
static size_t
add_powers(const struct encode_run *run, size_t n, float *f)
{
    struct e2m1_range range = { INT_MIN, INT_MAX };
    size_t done = 0;
    if (f[BITS] == 0)
        done = run->kernels->e2m1_range(&range, run->x, n / BLOCK) * BLOCK;
    if (range.lo != INT_MIN) {
        f[MOST_LO] = fmaxf(f[MOST_LO], (float)range.lo);
        f[LEAST_HI] = fminf(f[LEAST_HI], (float)range.hi);
    }
    return done;
}

/* Finds the range of exponents of all blocks of a region. */
bool
solve_nvfp4_survey(const struct encoding *e, const struct encode_run *run, uint64_t region, enum solve_nvfp4_reader reader,
    float *facts, struct err *err)
{
    uint64_t first = region * REGION, end = num_min(e->rows * e->cols, first + REGION);
    float *f = facts + FACTS * region;
    if (is_nvfp4(&e->exact->source))
        return true;
    if (*copy_of(e, facts) == LOCATING)
        return f[BITS] != LOCATE || locate(e, run, first, end, f, err);
    bool found = false;
    if (*copy_of(e, facts) == 0 && !foresee_region(e, run, first, end, f, &found, err))
        return false;
    if (found)
        return true;
    float most = fmaxf(*copy_of(e, facts), 0);
    bool dense = e->exact->source.codes == EXACT_DENSE && e->exact->level != EXACT_REAL;
    if (dense)
        solve_raise(run, EXACT_SEARCH);
    if (most != 0)
        return survey_copies(e, run, first, end, reader, most, f, err);
    f[MOST_LO] = -FLT_MAX;
    f[LEAST_HI] = f[MOST_HINT] = FLT_MAX;
    f[BITS] = f[MOST] = 0;
    for (size_t n; first < end; first += n) {
        n = (size_t)num_min(end - first, ENCODE_FLOATS);
        float all = INFINITY;
        if (!run->read(run->of, first, n, run->x, err))
            return false;
        if (dense)
            run->kernels->encode_absmax(&all, run->x, n, n);
        if (isfinite(all))
            f[MOST] = fmaxf(f[MOST], (float)solve_rounded(e->exact->level, all));
        for (size_t i = dense && e->exact->level != EXACT_F16 ? add_powers(run, n, f) : 0; i < n && !(isfinite(all) && f[BITS] != 0); i += BLOCK) {
            struct solve_block b;
            struct solve_range r = SOLVE_RANGE;
            int hint;
            solve_begin(&b, e, run, run->x + i, BLOCK, first + i);
            if (!solve_finite(&b))
                return false;
            if (f[BITS] == 0 && !solve_narrow(&r, &b, &solve_e2m1)) {
                if (!dense)
                    return false;
                run->hints.fail->cause = EXACT_HOLDS;
                f[BITS] = 1;
            }
            if (r.any) {
                f[MOST_LO] = fmaxf(f[MOST_LO], (float)r.lo);
                f[LEAST_HI] = fminf(f[LEAST_HI], (float)r.hi);
            }
            if (solve_is_power(solve_hint(&b), &hint) && hint > -127)
                f[MOST_HINT] = f[MOST_HINT] == FLT_MAX ? (float)hint : fmaxf(f[MOST_HINT], (float)hint);
        }
    }
    return true;
}

/* Makes the next survey look for the first block that leaves no scale. */
static void
settle_locate(const struct encoding *e, float *facts)
{
    float lo = -FLT_MAX, hi = FLT_MAX;
    for (uint64_t i = 0; i < e->nregions; i++) {
        float *f = facts + FACTS * i, lo_i = f[MOST_LO], hi_i = f[LEAST_HI];
        bool here = fmaxf(lo, lo_i) - 8 > fminf(hi, hi_i) + 9 && lo - 8 <= hi + 9;
        if (here)
            f[BITS] = LOCATE;
        else
            f[BITS] = 0;
        f[MOST_LO] = lo;
        f[LEAST_HI] = hi;
        lo = fmaxf(lo, lo_i);
        hi = fminf(hi, hi_i);
    }
    *copy_of(e, facts) = LOCATING;
}

/* Chooses the scale for all blocks from the ranges: 2^m, with a block scale 2^(t - m) for which -9 <= t - m <= 8. Fails without a
 * cause if there is none. */
static bool
settle_powers(const struct encoding *e, enum solve_nvfp4_reader reader, float *facts, float *power, struct exact_fail *fail)
{
    const struct exact_source *s = &e->exact->source;
    float lo = -FLT_MAX, hi = FLT_MAX, hint = FLT_MAX, m;
    /* what is stored is 2^-m for a divisor, 2688 * 2^m for a multiple */
    float least = reader == SOLVE_NVFP4_DIVIDES ? -127 : -149, most = reader == SOLVE_NVFP4_OVER ? 115 : 127;
    for (uint64_t i = 0; i < e->nregions; i++) {
        const float *f = facts + FACTS * i;
        lo = fmaxf(lo, f[MOST_LO]);
        hi = fminf(hi, f[LEAST_HI]);
        hint = hint == FLT_MAX ? f[MOST_HINT] : f[MOST_HINT] == FLT_MAX ? hint : fmaxf(hint, f[MOST_HINT]);
    }
    if (hint != FLT_MAX)
        m = hint - 8;
    else if (lo != -FLT_MAX)
        m = lo - 8;
    else
        m = 0;
    if (lo - 8 > hi + 9) {
        if (*copy_of(e, facts) == 0 && s->codes == EXACT_E2M1)      /* of scales alone, perhaps */
            *copy_of(e, facts) = VALUES;
        else
            settle_locate(e, facts);
        return false;
    }
    m = fminf(fmaxf(m, lo - 8), hi + 9);
    m = fminf(fmaxf(m, least), most);
    if (lo != -FLT_MAX && (m < lo - 8 || m > hi + 9)) {
        *fail = (struct exact_fail){ .cause = EXACT_SCALE, .nearest = (double)NAN };
        return false;
    }
    *power = m;
    return true;
}

/* After the first survey of a dense weight that is not made of powers of two: sets the fact that makes the next survey look for a
 * copy. After that one: chooses the scale in the run that all blocks allow, or has the block at fault found. */
static bool
settle_copy(const struct encoding *e, enum solve_nvfp4_reader reader, float *facts, struct exact_fail *fail)
{
    float *most = copy_of(e, facts), all = 0, held = TRY_NONE;
    struct solve_nvfp4_run run = { 0, UINT32_MAX };
    bool same = true;
    for (uint64_t i = 0; i < e->nregions; i++) {
        const float *f = facts + FACTS * i;
        struct solve_nvfp4_run one;
        all = fmaxf(all, f[MOST]);
        if (f[MOST] == 0)               /* nothing but zeros */
            continue;
        memcpy(&one.lo, &f[COPY_LO], sizeof one.lo);
        memcpy(&one.hi, &f[COPY_HI], sizeof one.hi);
        if (one.lo > run.lo)
            run.lo = one.lo;
        if (one.hi < run.hi)
            run.hi = one.hi;
        same = same && f[TRY] != TRY_NONE && (held == TRY_NONE || held == f[TRY]);
        held = f[TRY];
    }
    if (*most == 0) {
        *most = all;
        return false;
    }
    for (uint64_t i = 0; !same && i < e->nregions; i++)
        facts[FACTS * i + TRY] = TRY_FAILED;
    if (!same)
        return false;
    if (run.lo > run.hi) {
        *fail = (struct exact_fail){ .cause = EXACT_SPAN, .nearest = (double)NAN };
        return false;
    }
    facts[0] = solve_nvfp4_pick(reader, run);
    return true;
}

/* Returns the scale to store for a factor. A reader that divides it first needs a neighbour of the product in places. */
static float
stored(enum solve_nvfp4_reader reader, float second)
{
    if (reader != SOLVE_NVFP4_OVER)
        return reader == SOLVE_NVFP4_DIVIDES ? 1.0f / second : second;
    float g = second * SOLVE_NVFP4_UNIT, above = nextafterf(g, INFINITY), below = nextafterf(g, 0);
    if (g / SOLVE_NVFP4_UNIT == second)
        return g;
    if (above / SOLVE_NVFP4_UNIT == second)
        return above;
    if (below / SOLVE_NVFP4_UNIT == second)
        return below;
    return g;
}

/* The surveys of a copy prove that it holds, if products are normal numbers. */
static bool
set_solved(struct encoding *e, enum solve_nvfp4_reader reader, float second)
{
    struct same_nvfp4 how;
    e->solved = e->exact->source.codes == EXACT_DENSE && solve_nvfp4_kernel(&how, reader, e->exact->level, second);
    return true;
}

bool
solve_nvfp4_settle(struct encoding *e, enum solve_nvfp4_reader reader, float *facts, struct exact_fail *fail)
{
    const struct exact_source *s = &e->exact->source;
    float m = 0, second = s->two ? s->second : 1.0f;
    bool bits = false;
    for (uint64_t i = 0; !is_nvfp4(s) && i < e->nregions; i++)
        bits = bits || facts[FACTS * i + BITS] != 0;
    if (!is_nvfp4(s)) {
        if (*copy_of(e, facts) == LOCATING) {
            *fail = (struct exact_fail){ .cause = EXACT_SPAN, .nearest = (double)NAN };
            return false;
        }
        if (bits || *copy_of(e, facts) > 0)
            return settle_copy(e, reader, facts, fail) && set_solved(e, reader, facts[0]);
        if (!settle_powers(e, reader, facts, &m, fail))
            return false;
        facts[0] = stored(reader, ldexpf(1.0f, (int)m));
        return set_solved(e, reader, facts[0]);
    }
    if ((s->divides && reader == SOLVE_NVFP4_DIVIDES) || (s->over == SOLVE_NVFP4_UNIT && reader == SOLVE_NVFP4_OVER))
        facts[0] = s->stated;
    else
        facts[0] = stored(reader, s->divides ? 1.0f / second : second);
    if (e->nfacts == MOVE_NVFP4_FACTS)
        move_nvfp4_keep(e, reader, facts);
    return true;
}

float
solve_nvfp4_factor(enum solve_nvfp4_reader reader, float second)
{
    if (reader == SOLVE_NVFP4_DIVIDES)
        return 1.0f / second;
    if (reader == SOLVE_NVFP4_OVER)
        return second / SOLVE_NVFP4_UNIT;
    return second;
}

float
solve_nvfp4_value(enum solve_nvfp4_reader reader, float code, float scale, float second)
{
    float factor = second;
    if (reader == SOLVE_NVFP4_OVER)
        factor = second / SOLVE_NVFP4_UNIT;
    float first;
    if (reader == SOLVE_NVFP4_BLOCKS)
        first = code * scale;
    else if (reader == SOLVE_NVFP4_DIVIDES)
        first = scale / second;
    else
        first = scale * factor;
    if (reader == SOLVE_NVFP4_BLOCKS)
        return first * second;
    return code * first;
}

bool
solve_nvfp4_is_same_real(const struct exact_source *s, enum solve_nvfp4_reader reader, float second)
{
    double from = s->two ? (double)s->stated : 1, from_over = s->two && s->over != 0 ? s->over : 1, to = (double)second;
    double to_over = 1;
    if (reader == SOLVE_NVFP4_OVER)
        to_over = SOLVE_NVFP4_UNIT;
    bool divides = reader == SOLVE_NVFP4_DIVIDES;
    if (s->divides == divides)
        return from * to_over == to * from_over;
    return from * to == from_over * to_over;
}

static const float values[16] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6 };

/* Moves the codes of a block of NVFP4. */
static bool
solve_nvfp4_move(const struct solve_block *b, enum solve_nvfp4_reader reader, float second, uint8_t *scale, uint8_t q[16])
{
    bool blocks = reader == SOLVE_NVFP4_BLOCKS, real = b->level == EXACT_REAL;
    bool factor = !real || solve_nvfp4_is_same_real(&b->source, reader, second);
    *scale = e4m3_of_float(b->scale[0]);
    if (!isfinite(b->scale[0]))
        return solve_fail(b, EXACT_NONFINITE, 0, NAN);
    if ((blocks && *scale & 0x80) || !isfinite(second) || second == 0)
        return solve_fail(b, EXACT_SCALE, 0, NAN);
    for (size_t i = 0; i < BLOCK; i++) {
        q[i] = (uint8_t)b->code[i];
        float v = solve_nvfp4_value(reader, values[q[i]], b->scale[0], second);
        if (real ? !factor && values[q[i]] * b->scale[0] != 0 : !solve_same(b->level, solve_value(b, i), (double)v)) {
            solve_fail(b, EXACT_SCALE, 0, (double)v);
            b->fail->index = b->at + i;
            b->fail->value = (double)b->x[i];
            return false;
        }
    }
    solve_way(b, EXACT_MOVED);
    return true;
}

/* Solves a block with 2^m for all blocks, and another power of two as its own scale. Readers that multiply both first round what is below the
 * smallest number, 2^-149. */
static bool
solve_powers(const struct solve_block *b, enum solve_nvfp4_reader reader, int m, uint8_t *scale, uint8_t q[16])
{
    struct solve_range r = SOLVE_RANGE;
    int t, hint = 0;
    bool hinted = solve_is_power(solve_hint(b), &hint);
    if (!solve_narrow(&r, b, &solve_e2m1))
        return false;
    if (r.any && r.lo < -149 && reader != SOLVE_NVFP4_BLOCKS && b->level != EXACT_REAL)
        r.lo = -149;
    if (!solve_power(&t, &r, b, m - 9, m + 8, hinted, hint))
        return false;
    *scale = e4m3_of_float(ldexpf(1.0f, t - m));
    solve_mx_e2m1(q, b, ldexp(1, t));
    solve_way(b, hinted ? EXACT_HINT : EXACT_SEARCH);
    return true;
}

/* Solves a block of a dense copy whose largest value has the largest code, or all of whose scales are powers of two. */
static bool
solve_fast(const struct solve_block *b, enum solve_nvfp4_reader reader, float second, uint8_t *scale, uint8_t q[16])
{
    struct same_nvfp4 how;
    uint8_t code[BLOCK / 2];
    if (b->source.codes != EXACT_DENSE || !b->kernels || !solve_nvfp4_kernel(&how, reader, b->level, second))
        return false;
    bool same = b->kernels->same_nvfp4(scale, code, NULL, b->x, 1, &how) != 0;
    if (!same && how.powers) {
        how.powers = false;
        same = b->kernels->same_nvfp4(scale, code, NULL, b->x, 1, &how) != 0;
    }
    for (size_t i = 0; same && i < BLOCK; i += 2) {
        q[i] = code[i / 2] & 15;
        q[i + 1] = code[i / 2] >> 4;
    }
    if (!same)
        return false;
    solve_way(b, EXACT_SEARCH);
    return true;
}

/* Finds blocks of NVFP4 whose scales are powers of two, times another one for all. */
static size_t
dense_powers(const struct kernels *k, const struct same_nvfp4 *how, const float *x, size_t nblocks, uint8_t *scale, uint8_t *code,
    bool halves)
{
    const int all = (int)(bits_of_float(how->divides ? 1 / how->second : how->second) >> 23) - 127;
    const struct same_e2m1 powers = { .block = SAME_NVFP4, .halves = halves, .least = all - 9, .most = all + 8 };
    size_t n = k->same_e2m1(scale, code, x, nblocks, &powers);
    for (size_t i = 0; i < n; i++) {
        int t = -9;
        if (scale[i] != 0)
            t = scale[i] - 127 - all;
        if (t >= -6)
            scale[i] = (uint8_t)((t + 7) << 3);
        else
            scale[i] = (uint8_t)(1 << (t + 9));
    }
    return n;
}

size_t
solve_nvfp4_dense(const struct encoding *e, const struct encode_run *run, enum solve_nvfp4_reader reader, const float *x, size_t nblocks,
    uint8_t *scale, uint8_t *code, bool halves)
{
    struct same_nvfp4 how;
    if (e->exact->source.codes != EXACT_DENSE || !solve_nvfp4_kernel(&how, reader, e->exact->level, run->facts[0]))
        return 0;
    if (how.powers)
        return solve_found(run, dense_powers(run->kernels, &how, x, nblocks, scale, code, halves));
    nblocks = run->kernels->same_nvfp4(scale, code, NULL, x, nblocks, &how);
    for (size_t i = 0; halves && i < nblocks; i++)
        store_le64(code + 8 * i, solve_mx_halves(load_le64(code + 8 * i)));
    return solve_found(run, nblocks);
}

bool
solve_nvfp4(const struct solve_block *b, enum solve_nvfp4_reader reader, float second, uint8_t *scale, uint8_t q[16])
{
    int m;
    if (solve_fast(b, reader, second, scale, q))
        return true;
    bool is_power = solve_is_power(solve_nvfp4_factor(reader, second), &m);
    if (!solve_finite(b))
        return false;
    if (is_nvfp4(&b->source) && b->scale && b->code)
        return solve_nvfp4_move(b, reader, second, scale, q);
    if (is_power && (solve_powers(b, reader, m, scale, q) || b->source.codes != EXACT_DENSE))
        return b->fail->cause == EXACT_HOLDS;
    struct solve_nvfp4_run run = solve_nvfp4_only(reader, second);      /* a copy, whose scale can be a power of two, too */
    b->fail->cause = EXACT_HOLDS;
    solve_way(b, EXACT_SEARCH);
    return solve_nvfp4_copy(b, reader, &run, scale, q);
}
