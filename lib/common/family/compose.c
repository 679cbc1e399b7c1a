#include "family/compose.h"

#include <string.h>

bool
compose_elements(struct composed_part *part, const struct verbs *v, const struct family_source *source,
    struct catalog *memory, struct err *err)
{
    if (!composed_part_make(part, source->chosen.copy, source->chosen.decode, &v->moves.s, memory, err))
        return false;
    if (v->nops == 0)
        return true;
    struct operation *op = catalog_alloc(memory, v->nops * sizeof *op, err);
    part->op = op;
    part->nops = v->nops;
    return op && memcpy(op, v->op, v->nops * sizeof *op);
}

bool
compose_units(struct composed_part *part, bool *fits, struct verbs *v, const struct repack *repack, struct catalog *memory,
    struct err *err)
{
    struct repack *own = catalog_alloc(memory, sizeof *own, err);
    *fits = v->nops == 0 && !v->type && strided_units(&v->moves.s, repack_facts(repack->kind)->elems);
    if (!own || (*fits && !composed_part_make(part, NULL, NULL, &v->moves.s, memory, err)))
        return false;
    *own = *repack;
    part->repack = own;
    return true;
}

/* Returns true if parts are a source as it is. */
static bool
is_whole(const struct composed *parts, const uint64_t *dim, uint32_t rank, const struct family_source *source)
{
    const struct composed_part *part = parts->part;
    const struct shape *shape = &source->t.shape;
    uint64_t numel;
    bool same = parts->n == 1 && !source->slice && !part->repack && part->copy == source->chosen.copy && !part->layout
        && part->first == 0 && part->nops == 0 && shape_numel(shape, &numel) && part->end == numel && rank == shape->rank;
    for (uint32_t i = 0; same && i < rank; i++)
        same = dim[i] == shape_dim(shape, i);
    return same;
}

bool
compose_tensor(struct chosen *chosen, const struct composed *parts, const uint64_t *dim, uint32_t rank,
    const struct family_source *source, struct catalog *memory, struct err *err)
{
    if (is_whole(parts, dim, rank, source)) {
        *chosen = source->chosen;
        return true;
    }
    struct composed *composed = catalog_alloc(memory, sizeof *composed, err);
    uint8_t *packed = catalog_alloc(memory, (size_t)rank * SHAPE_DIM + 1, err);
    if (!composed || !packed)
        return false;
    shape_pack(packed, dim, rank);
    *composed = *parts;
    composed->shape = (struct shape){ rank, packed };
    *chosen = (struct chosen){ .composed = composed };
    return true;
}

/* Makes a tensor of elements of this type, which it copies. */
static bool
compose_generated(struct chosen *chosen, const char *name, enum dtype dtype, const void *x, const uint64_t *dim, uint32_t rank,
    struct catalog *memory, struct err *err)
{
    size_t n = dtype_facts(dtype)->bytes;
    for (uint32_t i = 0; i < rank; i++)
        n *= (size_t)dim[i];
    struct composed *composed = catalog_alloc(memory, sizeof *composed, err);
    uint8_t *packed = catalog_alloc(memory, rank * SHAPE_DIM + 1, err);
    void *copy = catalog_alloc(memory, n + 1, err);
    if (!composed || !packed || !copy)
        return false;
    memcpy(copy, x, n);
    shape_pack(packed, dim, rank);
    *composed = (struct composed){ .shape = { rank, packed }, .numbers = copy, .size = n, .name = name };
    *chosen = (struct chosen){ .composed = composed, .dtype = dtype, .name = name, .name_len = (uint32_t)strlen(name) };
    return true;
}

bool
compose_numbers(struct chosen *chosen, const char *name, const float *x, const uint64_t *dim, uint32_t rank,
    struct catalog *memory, struct err *err)
{
    return compose_generated(chosen, name, DTYPE_F32, x, dim, rank, memory, err);
}

bool
compose_integers(struct chosen *chosen, const char *name, const int64_t *x, uint64_t n, struct catalog *memory, struct err *err)
{
    return compose_generated(chosen, name, DTYPE_I64, x, &n, 1, memory, err);
}
