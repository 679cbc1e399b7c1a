#include "encode/move.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "dtype/float8.h"
#include "kernel/encode_fp8.h"

static const int8_t twice[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

/* Elements that are taken at once. Each takes half a byte of scratch memory for its code, and blocks of 32 ten more. */
enum { MOST = ENCODE_MOVED, BLOCKS = MOST / 32 };
_Static_assert(MOST / 2 + BLOCKS * 10 <= ENCODE_ROOM, "the blocks of a run fit in the scratch memory");

const uint8_t move_same_codes[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

bool
move_take_all(struct move_all *all, const struct encoding *e, const struct encode_run *run, size_t block, bool codes)
{
    bool same = run->n <= MOST && run->n % block == 0, first = !codes && e->exact->source.group % block == 0;
    all->scale = run->room;
    all->zero = all->scale + BLOCKS;
    all->found = (uint16_t *)(all->zero + BLOCKS);
    all->code = (uint8_t *)(all->found + BLOCKS);
    for (size_t i = 0; same && i < run->n / block; i++) {
        struct hint_pack pack;
        same = move_take(&pack, all->code + i * block / 2, run->hints.pack, i * block, first ? HINT_PACKED : block);
        all->scale[i] = pack.scale;
        all->zero[i] = pack.zero;
    }
    return same;
}

void
move_prove(const struct move_all *all, const struct encoding *e, const struct encode_run *run, uint64_t at, size_t block)
{
    static const float e2m1[16] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6 };
    static const float integers[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    bool halves = move_is_e2m1(e);
    const struct codes4 c = { halves ? e2m1 : integers, halves ? NULL : all->zero, all->scale, block, true };
    run->kernels->codes4_f32(run->x, all->code, 0, run->n, &c);
    run->compare(run->of, at, run->x, run->back, run->n);
}

bool
move_is_e2m1(const struct encoding *e)
{
    const struct exact_source *s = &e->exact->source;
    return s->codes == EXACT_E2M1 && s->scale == DTYPE_F8_E8M0 && !s->two;
}

bool
move_is_e2m1_any(const struct encoding *e)
{
    return e->exact->source.codes == EXACT_E2M1 && !e->exact->source.two;
}

bool
move_is_nvfp4(const struct encoding *e)
{
    return e->exact->source.codes == EXACT_E2M1 && e->exact->source.scale == DTYPE_F8_E4M3;
}

bool
move_is_int(const struct encoding *e)
{
    const struct exact_source *s = &e->exact->source;
    return s->codes == EXACT_INT && s->bits == 4 && !s->two;
}

bool
move_scale_range(struct move_range *range, const struct encoding *e, const struct encode_run *run, uint64_t first, uint64_t end,
    struct err *err)
{
    const uint64_t group = e->exact->source.group;
    int t;
    *range = (struct move_range){ INT_MAX, INT_MIN, move_is_e2m1(e) && group != 0 && group % HINT_PACKED == 0 };
    for (uint64_t n; range->any && first < end; first += n) {
        n = num_min(end - first, MOST);
        if (!run->hints.scales(run->of, first, (size_t)n, run->x, &range->any, err))
            return false;
        for (uint64_t i = 0; range->any && i < n; i += HINT_PACKED) {
            range->any = move_power(&t, run->hints.scale[i]);
            if (range->any && t > range->most)
                range->most = t;
            if (range->any && t < range->least)
                range->least = t;
        }
    }
    return true;
}

/* The number of the value 0 of E2M1 is 12. */
static const uint8_t order[16] = { 12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0 };

const uint8_t *
move_numbers(const struct encoding *e)
{
    if (move_is_e2m1(e))
        return order;
    return move_same_codes;
}

bool
move_integers(struct move_steps *s, const struct encoding *e, float zero, int middle, int low, int top)
{
    bool halves = move_is_e2m1(e);
    int of_zero = halves ? 12 : (int)zero, most = halves ? 24 : 15;
    *s = (struct move_steps){ -(float)middle, halves ? 0.5f : 1, (uint8_t)(of_zero - middle), 1, 1 };
    return (halves || (float)of_zero == zero) && -of_zero >= low && most - of_zero <= top;
}

/* Returns the place of the lowest, or the highest, bit of v, which is not 0. */
static int
lowest(unsigned v)
{
    return __builtin_ctz(v);
}

static int
highest(unsigned v)
{
    return 31 - __builtin_clz(v);
}

/* Returns the greatest common divisor of the differences of values from the least one; 0 for a single value. Neighbours among the small
 * ones, which most blocks have, make it 1. */
static int
find_unit(unsigned found, int least)
{
    uint64_t unit = (found & found >> 1 & 0x0E0F) != 0;
    for (int i = 0; i < 16 && unit != 1; i++)
        if (found >> i & 1)
            unit = solve_divisor((uint64_t)(twice[i] - least), unit);
    return (int)unit;
}

/* In halves: the scale multiplies all of them. As in solve_steps(), codes are as large as possible, and the least is 0: the
 * factor is the largest whose odd part divides the unit. */
bool
move_find_steps(struct move_steps *s, unsigned found, unsigned bits)
{
    const unsigned up = (found & 0xFF) | (found >> 8 & 1), down = found >> 8 & 0xFE;
    const int least = down ? twice[8 + highest(down)] : twice[lowest(up)];
    const int most = up ? twice[highest(up)] : twice[8 + lowest(down)];
    *s = (struct move_steps){ .least = 0.5f * (float)least, .base = (uint8_t)(12 + least), .unit = 1, .factor = 1 };
    if (least == 0 && (found & 1 << 8) != 0)    /* +0 or -0, whichever is first */
        return false;
    if (least == most)
        return true;
    int unit = find_unit(found, least), j = 0;
    if (unit == 1) {
        int power = (int)bits - 1 - highest((unsigned)(most - least));
        j = 0;
        if (power >= 0)
            j = 1 << power;
    } else {
        unsigned all = (unsigned)unit;
        for (int i = 0; i < 16; i++)
            all |= found >> i & 1 ? (unsigned)abs(twice[i]) : 0;
        int power = lowest(all);                /* the largest power of 2 that divides all values */
        j = ((1 << bits) - 1) * unit / (most - least);
        while (j > 0 && (unit >> power) % (j >> lowest((unsigned)j)) != 0)
            j--;
    }
    s->unit = (uint8_t)unit;
    s->factor = (uint8_t)j;
    if (j > 0)
        s->step = 0.5f * (float)unit / (float)j;
    else
        s->step = 0;
    return j > 0;
}

bool
move_e4m3(uint8_t table[16], const struct encoding *e, int shift)
{
    for (int i = 0; i < 8; i++) {
        float v = ldexpf(0.5f * twice[i], shift);
        table[i] = e4m3_of_float(v);
        if (i == 0 && e->exact->source.plus_zero)
            table[8 + i] = 0;
        else
            table[8 + i] = (uint8_t)(table[i] | 0x80);
        if (float8_to_float(DTYPE_F8_E4M3, table[i]) != v)
            return false;
    }
    return true;
}

/* Returns the value that the decoder of the source yields. */
static float
source_value(const struct exact_source *s, float code, float scale)
{
    enum solve_nvfp4_reader reader = SOLVE_NVFP4_MULTIPLIES;
    if (s->late)
        reader = SOLVE_NVFP4_BLOCKS;
    else if (s->divides)
        reader = SOLVE_NVFP4_DIVIDES;
    if (s->two)
        return solve_nvfp4_value(reader, code, scale, s->second);
    return code * scale;
}

/* Sets the codes of block scales 2^(t - m). */
static void
begin_powers(struct move_nvfp4 *m, enum solve_nvfp4_reader reader, float second)
{
    m->powers = solve_is_power(solve_nvfp4_factor(reader, second), &m->exponent);
    m->any = m->powers;
}

/* Sets m->same. */
static void
find_same(struct move_nvfp4 *m, const struct encoding *e, enum solve_nvfp4_reader reader, float second)
{
    const struct exact_source *s = &e->exact->source;
    enum exact_level level = e->exact->level;
    for (unsigned code = 0; code < 127; code++) {
        float scale = float8_to_float(DTYPE_F8_E4M3, (uint8_t)code);
        for (unsigned i = 0; i < 8; i++) {
            float value = source_value(s, 0.5f * twice[i], scale), other = solve_nvfp4_value(reader, 0.5f * twice[i], scale, second);
            bool same = isfinite(value) && (level == EXACT_REAL || solve_same(level, solve_rounded(level, value), (double)other));
            m->same[code] |= (uint16_t)(same << i);
        }
    }
}

void
move_nvfp4_begin(struct move_nvfp4 *m, const struct encoding *e, enum solve_nvfp4_reader reader, const float *facts)
{
    memset(m, 0, sizeof *m);
    if (move_is_e2m1(e)) {
        begin_powers(m, reader, facts[0]);
        return;
    }
    m->any = move_is_nvfp4(e) && isfinite(facts[0]) && facts[0] != 0
        && (e->exact->level != EXACT_REAL || solve_nvfp4_is_same_real(&e->exact->source, reader, facts[0]));
    if (m->any && e->nfacts == MOVE_NVFP4_FACTS)
        memcpy(m->same, facts + 1, sizeof m->same);
    else if (m->any)
        find_same(m, e, reader, facts[0]);
}

void
move_nvfp4_keep(const struct encoding *e, enum solve_nvfp4_reader reader, float *facts)
{
    struct move_nvfp4 m = { 0 };
    find_same(&m, e, reader, facts[0]);
    memcpy(facts + 1, m.same, sizeof m.same);
}

/* Sets the code of a scale of E4M3. Returns false for other numbers. */
static inline bool
find_e4m3(uint8_t *code, float scale)
{
    uint32_t u = bits_of_float(scale), magnitude = u & 0x7FFFFFFF;
    if ((u & 0xFFFFF) == 0 && magnitude >= 0x3C800000 && magnitude <= 0x43E00000) {         /* 2^-6 to 448 */
        *code = (uint8_t)((u >> 24 & 0x80) | (magnitude - 0x3C000000) >> 20);
        return true;
    }
    *code = e4m3_of_float(scale);
    return isfinite(scale) && float8_to_float(DTYPE_F8_E4M3, *code) == scale;
}

bool
move_nvfp4_scale(const struct move_nvfp4 *m, float of, bool positive, uint8_t *scale)
{
    int t;
    if (!m->powers)
        return m->any && find_e4m3(scale, of) && !(positive && *scale & 0x80);
    if (!move_power(&t, of) || t - m->exponent < -9 || t - m->exponent > 8)
        return false;
    if (t - m->exponent < -6)
        *scale = (uint8_t)(1 << (t - m->exponent + 9));
    else
        *scale = (uint8_t)((t - m->exponent + 7) << 3);
    return true;
}

bool
move_nvfp4(const struct move_nvfp4 *m, const struct hint_pack *pack, bool positive, uint8_t *scale)
{
    if (!move_nvfp4_scale(m, pack->scale, positive, scale))
        return false;
    uint16_t same = 0xFF;
    if (!m->powers)
        same = m->same[*scale & 0x7F];
    for (int i = 0; same != 0xFF && i < 8; i++)
        if (!(same >> (pack->code[i] & 7) & 1) || !(same >> (pack->code[i] >> 4 & 7) & 1))
            return false;
    return true;
}
