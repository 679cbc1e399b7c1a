/* groups: what encoders share whose weights are matrices P.weight, cut into groups of columns. For this layer. */
#ifndef ENCODE_GROUPS_H
#define ENCODE_GROUPS_H

#include "encode/encode.h"

enum { GROUPS_MOST = 1024 };            /* elements of a group that the user chooses */

/* What the user may choose. */
struct groups_choice {
    uint32_t group;                     /* elements of a group by default; 0: there are none */
    uint32_t least, most;               /* what --group-size may be: a power of two times `least`; 0: nothing else */
    bool symmetric, asymmetric, convrot; /* whether --symmetric, --asymmetric, --convrot go */
};

/* Whether a weight is a matrix of two dimensions called P.weight, and the options go with the scheme. *group: what a
 * group has; it divides the columns. */
enum encode_fit groups_fit(struct encoding *e, const struct encode_options *options, const struct groups_choice *choice,
    uint32_t *group, struct err *err);

/* What PyTorch computes in for a weight of this type: F32, F16 or BF16. */
enum dtype groups_dtype(const struct encoding *e);

/* One more part P and suffix, rows x cols or of fewer dimensions: `elems` elements of the weight are `grain` bytes. */
bool groups_part(struct encoding *e, const char *suffix, enum dtype dtype, const uint64_t *dim, uint32_t rank,
    uint32_t elems, uint32_t grain, struct err *err);

/* The elements that make a grain of codes, where a group of them could: 32 at least but for what ends a row. */
uint32_t groups_elems(const struct encoding *e, uint32_t group);

/* survey() and settle() of the largest magnitude, facts[0]; groups_absmax_fit() sets nfacts and nregions. */
void groups_absmax_fit(struct encoding *e);
bool groups_absmax(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts,
    struct err *err);
void groups_absmax_settle(const struct encoding *e, float *facts);

/* A scale as F32, F16 or BF16. Returns the bytes. */
uint32_t groups_store(uint8_t *y, enum dtype dtype, float scale);

/* False where a scale is infinite though no value is. */
bool groups_scale_fits(const struct encoding *e, float scale, enum dtype dtype, const float *x, size_t n,
    uint64_t first, struct err *err);

#endif
