#include "encode/groups.h"

#include <inttypes.h>
#include <math.h>

#include "base/num.h"
#include "dtype/half.h"
#include "kernel/rounded.h"

/* elements of a region that is surveyed separately */
enum { REGION = 8 * ENCODE_FLOATS };

static bool
groups_refuse(const struct encoding *e, const char *option, const char *why, struct err *err)
{
    return err_set(err, ERR_USAGE, "%s is not supported by %s: %s", option, e->encoder->label, why);
}

static bool
groups_choose(const struct encoding *e, const struct encode_options *options, const struct groups_choice *choice,
    uint32_t *group, struct err *err)
{
    uint64_t wanted = options->group_size;
    if (options->symmetric && !choice->symmetric)
        return groups_refuse(e, "--symmetric", "its codes always have zero points", err);
    if (options->asymmetric && !choice->asymmetric)
        return groups_refuse(e, "--asymmetric", "it has no zero points", err);
    if (options->convrot && !choice->convrot)
        return groups_refuse(e, "--convrot", "its weights are not rotated", err);
    *group = choice->group;
    if (wanted == 0 || wanted == choice->group)
        return true;
    if (choice->least == 0)
        return groups_refuse(e, "--group-size", "its group size is fixed", err);
    if (wanted < choice->least || wanted > choice->most || (wanted / choice->least & (wanted / choice->least - 1)) != 0
        || wanted % choice->least != 0)
        return err_set(err, ERR_USAGE, "--group-size %" PRIu64 ": %s supports powers of two from %"
            PRIu32 " to %" PRIu32, wanted, e->encoder->label, choice->least, choice->most);
    *group = (uint32_t)wanted;
    return true;
}

static enum encode_fit
no(struct encoding *e, const char *why)
{
    e->why = why;
    return ENCODE_NO;
}

enum encode_fit
groups_fit(struct encoding *e, const struct encode_options *options, const struct groups_choice *choice,
    uint32_t *group, struct err *err)
{
    if (!groups_choose(e, options, choice, group, err))
        return ENCODE_FAIL;
    bool stack = choice->stacks && e->weight.shape.rank == 3;
    if (e->weight.shape.rank != 2 && !stack)
        return no(e, "not a matrix of two dimensions");
    if (!stack && encode_module(e) == e->weight.name_len)
        return no(e, "name does not end in .weight");
    if (*group != 0 && e->cols % *group != 0)
        return no(e, "row length is not a multiple of the group size");
    e->options = *options;
    e->options.group_size = *group;
    return ENCODE_YES;
}

enum dtype
groups_dtype(const struct encoding *e)
{
    if (e->options.scale_type != 0)
        return (enum dtype)(e->options.scale_type - 1);
    if (e->weight.dtype == DTYPE_F64)
        return DTYPE_F32;
    return e->weight.dtype;
}

uint32_t
groups_dims(const struct encoding *e, uint64_t last, uint64_t dim[3])
{
    uint32_t rank = e->weight.shape.rank;
    for (uint32_t i = 0; i + 1 < rank; i++)
        dim[i] = shape_dim(&e->weight.shape, i);
    dim[rank - 1] = last;
    return rank;
}

bool
groups_part(struct encoding *e, const char *suffix, enum dtype dtype, const uint64_t *dim, uint32_t rank,
    uint32_t elems, uint32_t grain, struct err *err)
{
    struct encode_part *part = encode_add_part(e, encode_module(e), suffix, dtype, dim, rank, err);
    if (!part)
        return false;
    part->elems = elems;
    part->grain = grain;
    return true;
}

bool
groups_codes(struct encoding *e, const char *suffix, enum dtype dtype, const uint64_t *dim, uint32_t rank,
    uint32_t elems, uint32_t grain, struct err *err)
{
    if (!groups_part(e, suffix, dtype, dim, rank, elems, grain, err))
        return false;
    e->part[e->nparts - 1].codes = true;
    return true;
}

uint32_t
groups_elems(const struct encoding *e, uint32_t group)
{
    if (group % 32 == 0)
        return group;
    if (e->cols % 32 == 0)
        return 32;
    return (uint32_t)e->cols;
}

void
groups_absmax_fit(struct encoding *e)
{
    e->nfacts = e->nregions = num_ceil_div(e->rows * e->cols, REGION);
}

bool
groups_absmax(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts, struct err *err)
{
    uint64_t first = region * REGION, end = num_min(e->rows * e->cols, first + REGION);
    float most = 0;
    for (size_t n; first < end; first += n) {
        n = (size_t)num_min(end - first, ENCODE_FLOATS);
        if (!run->read(run->of, first, n, run->x, err))
            return false;
        most = fmaxf(most, run->kernels->encode_most(run->x, n));
    }
    facts[region] = most;
    return true;
}

void
groups_absmax_settle(const struct encoding *e, float *facts)
{
    for (uint64_t i = 1; i < e->nfacts; i++)
        facts[0] = fmaxf(facts[0], facts[i]);
}

uint32_t
groups_store(uint8_t *y, enum dtype dtype, float scale)
{
    if (dtype == DTYPE_F16)
        store_le16(y, half_of_float(scale));
    else if (dtype == DTYPE_BF16)
        store_le16(y, bfloat16_of_float(scale));
    else
        store_le32(y, bits_of_float(scale));
    if (dtype == DTYPE_F32)
        return 4;
    return 2;
}

bool
groups_scale_fits(const struct encoding *e, float scale, enum dtype dtype, const float *x, size_t n, uint64_t first,
    struct err *err)
{
    char name[STR_SHOWN];
    if (isfinite(rounded(dtype, scale)))
        return true;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return true;
    return err_set(err, ERR_UNSUPPORTED, "tensor %s: values in row %" PRIu64 " are too large for "
        "a scale of type %s", str_shown(name, e->weight.name, e->weight.name_len), first / e->cols, dtype_name(dtype));
}
