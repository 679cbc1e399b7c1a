/* groups: code shared by encoders of matrices P.weight that are divided into groups of columns. Private to this layer. */
#ifndef ENCODE_GROUPS_H
#define ENCODE_GROUPS_H

#include "encode/encode.h"

enum { GROUPS_MOST = 1024 };            /* limit of --group-size */

/* Options that a scheme supports. */
struct groups_choice {
    uint32_t group;                     /* default elements in a group; 0: no groups */
    uint32_t least, most;               /* range of --group-size, which is `least` times a power of two; 0: fixed */
    bool symmetric, asymmetric, convrot; /* --symmetric, --asymmetric, --convrot are supported */
    bool stacks;                        /* stacked experts X or P.weight [E, out, in] are, too */
};

/* Checks that a weight is a matrix of two dimensions named P.weight, or such a stack, that the scheme supports the options, and that the
 * group size divides the columns. Returns the group size in *group. */
enum encode_fit groups_fit(struct encoding *e, const struct encode_options *options, const struct groups_choice *choice,
    uint32_t *group, struct err *err);

/* Returns the type in which PyTorch computes with a weight of this type: F32, F16 or BF16. */
enum dtype groups_dtype(const struct encoding *e);

/* Sets the dimensions of a part whose rows have `last` numbers: the weight's but the last one. Returns how many they are. */
uint32_t groups_dims(const struct encoding *e, uint64_t last, uint64_t dim[3]);

/* Adds a part named P plus suffix; each `elems` elements of the weight are encoded to `grain` bytes. */
bool groups_part(struct encoding *e, const char *suffix, enum dtype dtype, const uint64_t *dim, uint32_t rank,
    uint32_t elems, uint32_t grain, struct err *err);

/* The same for the part with the codes. */
bool groups_codes(struct encoding *e, const char *suffix, enum dtype dtype, const uint64_t *dim, uint32_t rank,
    uint32_t elems, uint32_t grain, struct err *err);

/* Returns the number of elements that a grain of codes encodes, for groups of this size: a multiple of 32, or a whole row. */
uint32_t groups_elems(const struct encoding *e, uint32_t group);

/* survey() and settle() for the largest magnitude of the weight, which is left in facts[0]; groups_absmax_fit() sets nfacts
 * and nregions. */
void groups_absmax_fit(struct encoding *e);
bool groups_absmax(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts,
    struct err *err);
void groups_absmax_settle(const struct encoding *e, float *facts);

/* Stores a scale as F32, F16 or BF16. Returns its size in bytes. */
uint32_t groups_store(uint8_t *y, enum dtype dtype, float scale);

/* Fails with ERR_UNSUPPORTED if a scale is infinite in its type although all n values of the group are finite. */
bool groups_scale_fits(const struct encoding *e, float scale, enum dtype dtype, const float *x, size_t n,
    uint64_t first, struct err *err);

#endif
