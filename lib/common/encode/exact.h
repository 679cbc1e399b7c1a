/* exact: terms of exact transcoding, which moves a weight from one scheme to another without changing a value. An encoding with
 * `exact` set is made by solvers (solve.h) instead of rules: they find the codes and scales that denote the same values, or report
 * the first value that has no code. */
#ifndef ENCODE_EXACT_H
#define ENCODE_EXACT_H

#include <stdbool.h>
#include <stdint.h>

#include "dtype/dtype.h"

/* When two values are the same: as F32, or after rounding to BF16 or F16, or as real numbers before any rounding. */
enum exact_level { EXACT_F32, EXACT_BF16, EXACT_F16, EXACT_REAL, EXACT_LEVELS };

/* Why a weight cannot be encoded. */
enum exact_cause {
    EXACT_HOLDS,
    EXACT_PRECISION,            /* a value has more bits than a code */
    EXACT_SPAN,                 /* no scale holds all values of a block */
    EXACT_SCALE,                /* the scale or minimum is not a number of its type */
    EXACT_NONFINITE,            /* NaN or infinity */
    EXACT_LAYOUT                /* the shape or the name does not fit */
};

/* The codes of the source. */
enum exact_codes { EXACT_DENSE, EXACT_INT, EXACT_AFFINE, EXACT_E2M1, EXACT_FP8, EXACT_NF4, EXACT_OTHER };

struct exact_source {
    enum exact_codes codes;
    enum dtype scale;           /* type of the scales */
    uint64_t group;             /* neighbours in a row that share a scale; 0: no such number */
    uint32_t bits;
    const uint32_t *order;      /* the norder columns, group by group, ascending in each, if the columns of a group are not
                                 * neighbours; borrowed. NULL: they are, or the groups differ in size */
    uint64_t norder, order_group;       /* columns; columns of a group */
    bool zeros;                 /* stores zero points */
    bool plus_zero;             /* E2M1 code 8 is +0 */
    bool rounds;                /* values are rounded: they are not the real numbers */
    bool two, divides, late;    /* has a second scale, which divides; or multiplies after the product is rounded */
    float second, stated;       /* as it multiplies or divides; and as it is stored, before a division by `over` */
    uint32_t over;              /* or 0 */
    /* Second scales, and scales of activations, of nseconds stacked matrices of `each` elements; `second` and `input` are the first.
     * NULL: all matrices share that, each list for itself. Borrowed. */
    const float *seconds, *inputs;
    uint64_t nseconds, each;
    bool short_name;            /* scales are called P.scale */
    bool has_input;             /* NVFP4: has a scale of activations */
    float input;                /* it divides if the second scale does */
    const char *input_why;      /* why no NVFP4 can have that scale of activations, or NULL; static */
};

/* Shared by all encodings of a weight. */
struct exact_terms {
    enum exact_level level;
    struct exact_source source;
    const struct kernels *hints;        /* a set for each enum hint, to read the source with; borrowed */
};

/* The first element that does not fit. */
struct exact_fail {
    enum exact_cause cause;     /* EXACT_HOLDS: none */
    uint64_t block, index;      /* elements of the weight: the first one of the block, and the one at fault */
    double value, nearest;
};

/* How the scale of a block was found. */
enum exact_way { EXACT_MOVED, EXACT_HINT, EXACT_SEARCH };

/* Returns "f32", "span" ...; static. */
const char *exact_level_word(enum exact_level level);
const char *exact_cause_word(enum exact_cause cause);

#endif
