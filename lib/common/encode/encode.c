#include "encode/encode.h"

#include <string.h>

#include "base/num.h"
#include "base/str.h"

void *
encode_alloc(struct encoding *e, size_t n, struct err *err)
{
    return catalog_alloc(e->memory, n, err);
}

size_t
encode_module(const struct encoding *e)
{
    size_t n = e->weight.name_len;
    if (str_strip(e->weight.name, &n, ".weight") && n != 0)
        return n;
    return e->weight.name_len;
}

bool
encode_plain(const struct encoding *e, const struct encode_options *options, bool groups, struct err *err)
{
    const char *name = NULL;
    if (options->group_size != 0 && !groups)
        name = "--group-size";
    else if (options->asymmetric)
        name = "--asymmetric";
    else if (options->symmetric)
        name = "--symmetric";
    else if (options->convrot)
        name = "--convrot";
    return !name || err_set(err, ERR_USAGE, "%s is not supported by %s", name, e->encoder->label);
}

struct encode_part *
encode_add_part(struct encoding *e, size_t base, const char *suffix, enum dtype dtype, const uint64_t *dim, uint32_t rank,
    struct err *err)
{
    size_t tail = strlen(suffix);
    struct encode_part *part = &e->part[e->nparts];
    char *name = encode_alloc(e, base + tail + 1, err);
    uint8_t *packed = NULL;
    if (name)
        packed = encode_alloc(e, (size_t)rank * SHAPE_DIM, err);
    if (!packed)
        return NULL;
    memcpy(name, e->weight.name, base);
    memcpy(name + base, suffix, tail + 1);
    shape_pack(packed, dim, rank);
    *part = (struct encode_part){ .name = name, .name_len = (uint32_t)(base + tail), .dtype = dtype,
        .shape = { rank, packed }, .grain = dtype_facts(dtype)->bytes };
    e->nparts++;
    return part;
}

uint64_t
encode_part_nbytes(const struct encode_part *part)
{
    uint64_t nbytes = 0;
    bool whole;
    shape_nbytes(&part->shape, part->dtype, &nbytes, &whole);
    return nbytes;
}

uint64_t
encode_nbytes(const struct encoding *e)
{
    uint64_t nbytes = 0;
    for (unsigned p = 0; p < e->nparts; p++)
        nbytes += encode_part_nbytes(&e->part[p]);
    return nbytes;
}
