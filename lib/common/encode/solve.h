/* solve: finds codes and scales that denote given values exactly. Pure functions on blocks; a result depends on the values and
 * on the hints alone. Private to this layer and its tests.
 *
 * Every finite value but 0 is m * 2^k with an odd m. A block is solved by moving or dividing by the scale of the source, the
 * hint; if that does not fit, by a search. A search is complete unless its comment says otherwise: it fails only if the block
 * cannot be encoded. */
#ifndef ENCODE_SOLVE_H
#define ENCODE_SOLVE_H

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "encode/encode.h"
#include "encode/exact.h"
#include "kernel/encode_int.h"
#include "kernel/rounded.h"

/* n values with their hints, each NULL or one number for each value. */
struct solve_block {
    const float *x;
    size_t n;
    uint64_t at;                        /* element of the weight, or of the row if `column` is set */
    const uint32_t *column;             /* of each value, if they are not neighbours; else NULL */
    const float *scale, *term, *zero, *unit, *code;
    const struct kernels *kernels;
    enum exact_level level;
    struct exact_source source;
    struct exact_fail *fail;            /* set on failure */
    enum exact_way *way;                /* raised to what the block needed */
};

/* Sets up the block of n elements at x, which is inside the buffer of the run; the first is element `at` of the weight. */
void solve_begin(struct solve_block *b, const struct encoding *e, const struct encode_run *run, const float *x, size_t n,
    uint64_t at);

/* Returns value i at the level of the block: after its rounding, or the real number. */
double solve_value(const struct solve_block *b, size_t i);

/* Returns an F32 value after the rounding of a level; a finite one that would become infinite is not rounded, so that it is the same
 * as no other. */
static inline double
solve_rounded(enum exact_level level, float v)
{
    if (level != EXACT_BF16 && level != EXACT_F16)
        return (double)v;
    float near;
    if (level == EXACT_BF16)
        near = rounded(DTYPE_BF16, v);
    else
        near = rounded(DTYPE_F16, v);
    if (__builtin_expect(isfinite(near), 1))
        return (double)near;
    return (double)v;
}

/* Returns true if a product, exact in F64, is the value at this level. */
bool solve_same(enum exact_level level, double value, double product);

/* Records a failure at value i, and returns false. A failure of the level, not of the data, has the cause EXACT_SCALE. */
bool solve_fail(const struct solve_block *b, enum exact_cause cause, size_t i, double nearest);

/* Returns the index of the value of the largest magnitude. */
size_t solve_most(const struct solve_block *b);

/* Returns true if all values are 0. */
bool solve_is_zero(const struct solve_block *b);

/* Returns true if the values of the block are those at b->x: they are F32, or real numbers that were not rounded. */
bool solve_is_plain(const struct solve_block *b);

/* Fails with EXACT_NONFINITE if a value or a scale is not finite. */
bool solve_finite(const struct solve_block *b);

/* Returns the scale that the first element had, or NAN. */
float solve_hint(const struct solve_block *b);

/* Returns true if a type has this number, and it is finite. Most are normal numbers of 16 bits. */
bool solve_is_of_any(enum dtype type, double d);
static inline bool
solve_is_of(enum dtype type, double d)
{
    bool half = type == DTYPE_F16;
    uint32_t u = bits_of_float((float)d), magnitude = u & 0x7FFFFFFF;
    uint32_t least = half ? 0x38800000 : 0x00800000, end = half ? 0x47800000 : 0x7F800000;
    bool is_short = (half || type == DTYPE_BF16) && (u & (half ? 0x1FFF : 0xFFFF)) == 0 && magnitude >= least && magnitude < end;
    return (is_short && (double)(float)d == d) || solve_is_of_any(type, d);
}

/* Returns the greatest common divisor. */
uint64_t solve_divisor(uint64_t a, uint64_t b);

void solve_way(const struct solve_block *b, enum exact_way way);

/* Raises the way of a run, as solve_way() does for a block. */
static inline void
solve_raise(const struct encode_run *run, enum exact_way way)
{
    if (run->hints.way && *run->hints.way < way)
        *run->hints.way = way;
}

/* Raises it for n blocks of a dense weight that a kernel solved, and returns n. */
static inline size_t
solve_found(const struct encode_run *run, size_t n)
{
    if (n != 0)
        solve_raise(run, EXACT_SEARCH);
    return n;
}

/* Returns 2^k, for exponents of a normal F64. */
static inline double
solve_pow2(int k)
{
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Rounds to the nearest integer, for |r| < 2^51. */
static inline double
solve_nearest(double r)
{
    const double magic = 0x1.8p52;
    return r + magic - magic;
}

/* Splits |v|, not 0, into an odd number and an exponent: |v| = *m * 2^k. */
int solve_odd(double v, uint64_t *m);

/* --- power of two times float code */

struct solve_float {
    int bits, least;                    /* bits of the significand; exponent of the smallest code */
    double most;                        /* largest code */
};
extern const struct solve_float solve_e2m1, solve_e4m3, solve_e5m2;

/* The scales 2^t, lo <= t <= hi, that hold all values seen. Start with SOLVE_RANGE. */
struct solve_range {
    int lo, hi;
    bool any;                           /* a value is not 0 */
};
#define SOLVE_RANGE { -1100, 1100, false }

/* What the values of a block are. `bits`: one has too many bits; `infinite`: one is not finite. Start with a range. */
struct solve_scan {
    struct solve_range range;
    bool bits, infinite;
};

void solve_scan(struct solve_scan *s, const struct solve_block *b, const struct solve_float *f);

/* Narrows the range by the values of a block; fails with EXACT_PRECISION or EXACT_SPAN. */
bool solve_narrow(struct solve_range *r, const struct solve_block *b, const struct solve_float *f);

/* Chooses t within [least, most] from a range: the hint, or the smallest. Fails with EXACT_SCALE. `hinted`: `hint` is valid. */
bool solve_power(int *t, const struct solve_range *r, const struct solve_block *b, int least, int most, bool hinted, int hint);

/* Returns true, and the exponent, if f is a power of two. */
bool solve_is_power(float f, int *t);

/* --- codes times one scale of type `type` */

struct solve_int {
    unsigned bits;
    bool asymmetric;                    /* with a zero point */
    int lowest;                         /* lowest code without: -(2^(bits-1)), or one more */
    enum dtype type;
};

/* Returns true if F32 values in groups of a multiple of 32 are codes times d, with products that are not rounded, and sets the
 * fields. */
bool solve_int_fast(const struct solve_block *b, const struct solve_int *how, float d, float zero, uint8_t *q);

/* Sets scale and zero point, and the codes as fields: code + zero point. */
bool solve_int(const struct solve_block *b, const struct solve_int *how, struct int_group *g, uint8_t *q);

/* Magnitudes of codes, ascending, for values of either sign. */
struct solve_codes {
    const double *up, *down;
    size_t nup, ndown;
};

/* Finds a positive scale of type `type` so that each value is some code times it, after the rounding of the level. `set`: n
 * magnitudes in falling order; sign[i] has bit 0 if the value occurs, bit 1 if its negative does. */
bool solve_run(double *scale, const struct solve_codes *codes, const double *set, const uint8_t *sign, size_t n, enum dtype type,
    enum exact_level level);

/* Returns the positive number of a bit pattern of F16, BF16 or F32. */
float solve_of_pattern(enum dtype type, uint32_t pattern);

/* Returns the pattern within [lo, hi] whose significand ends with the most zero bits, the smallest of them. */
uint32_t solve_simplest(uint32_t lo, uint32_t hi, enum dtype type);

/* Scales to try: from each run of scales that all values allow, the simplest one, and the largest, with which codes are closest.
 * */
enum { SOLVE_SCALES = 32 };
struct solve_scales {
    double d[SOLVE_SCALES];
    size_t n;
};

/* Continues a search: tries only the first *most codes for the largest magnitude, and sets *most to the index of the code that it
 * took, for the next call. */
bool solve_run_below(struct solve_scales *scales, size_t *most, const struct solve_codes *codes, const double *set, const uint8_t *sign, size_t n,
    enum dtype type, enum exact_level level);

/* Distinct magnitudes in falling order, without 0. */
enum { SOLVE_SET = 257 };
struct solve_set {
    double v[SOLVE_SET];
    uint8_t sign[SOLVE_SET];
    size_t n;
};

/* Collects the magnitudes of a block, at most `most`; fails with EXACT_SPAN if there are more. */
bool solve_collect(struct solve_set *set, const struct solve_block *b, size_t most);

/* Adds one; returns false if there would be more than `most`. */
bool solve_insert(struct solve_set *set, double v, uint8_t sign, size_t most);

/* --- steps from a minimum */

struct solve_steps {
    unsigned bits;
    enum dtype type;                    /* of scale and minimum */
    bool narrow;                        /* the decoder rounds both operations to the type (MLX) */
    bool centre;                        /* try a minimum of -2^(bits-1) scales first */
};

/* Sets g->scale, and g->zero to the minimum. Not complete where the decoder's sum is rounded. */
bool solve_steps(const struct solve_block *b, const struct solve_steps *how, struct int_group *g, uint8_t *q);

#endif
