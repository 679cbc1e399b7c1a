#include "container/sharded/composed_ranks.h"

#include <string.h>

#include "base/num.h"

static bool
parts_bad(const struct sharded *s, const struct rank_parts *p, size_t i, const char *what, struct err *err)
{
    err_set(err, ERR_MALFORMED, ERR_TENSOR "%s", p->shown, what);
    return err_in_file(err, source_name(s->src[p->file[i]]));
}

/* Returns the dimension along which the parts are joined; RANK_SAME: any. */
static uint32_t
axis_of(const struct rank_parts *p)
{
    return p->rule == RANK_COLUMNS ? 1 : 0;
}

static bool
check_parts(const struct sharded *s, const struct rank_parts *p, uint64_t *shape, struct err *err)
{
    const struct torch_tensor *first = &p->part[0];
    uint32_t axis = axis_of(p);
    memcpy(shape, first->shape, first->rank * sizeof *shape);
    if (p->rule != RANK_SAME && first->rank <= axis)
        return parts_bad(s, p, 0, "it has too few dimensions to be split over ranks", err);
    for (size_t i = 1; i < p->n; i++) {
        const struct torch_tensor *t = &p->part[i];
        if (t->dtype != first->dtype || t->rank != first->rank)
            return parts_bad(s, p, i, "its type or its number of dimensions differs between ranks", err);
        for (uint32_t d = 0; d < t->rank; d++)
            if (t->shape[d] != first->shape[d] && (p->rule == RANK_SAME || d != axis))
                return parts_bad(s, p, i, "its shape differs between ranks", err);
        if (p->rule != RANK_SAME && !num_add(&shape[axis], shape[axis], t->shape[axis]))
            return parts_bad(s, p, i, "its size overflows", err);
    }
    return true;
}

/* Adds rows or columns [from, from + n) of a part as [to, to + n). */
static bool
add_part(struct sharded *s, const struct rank_parts *p, size_t i, uint64_t from, uint64_t n, uint64_t to, struct err *err)
{
    const struct torch_tensor *t = &p->part[i];
    uint64_t begin[LAYOUT_RANK] = { 0 }, size[LAYOUT_RANK], stride = 1, skip = from * dtype_facts(t->dtype)->bytes;
    uint32_t axis = axis_of(p);
    struct layout turned;
    const struct layout *layout = &t->layout;
    memcpy(size, t->shape, t->rank * sizeof *size);
    if (t->rank != 0) {
        begin[axis] = to;
        size[axis] = n;
    }
    for (uint32_t d = axis + 1; d < t->rank; d++)
        stride *= t->shape[d];
    bool part = from != 0 || n != (t->rank == 0 ? 1 : t->shape[axis]);
    if ((part || p->head != 0) && !layout_is_plain(layout))
        return err_set(err, ERR_UNSUPPORTED, ERR_TENSOR "rows that are not stored one after the other are not supported here", p->shown);
    if (p->head != 0) {
        const uint64_t half = p->head / 2, sizes[] = { n / p->head, 2, half, stride },
            strides[] = { p->head * stride, stride, 2 * stride, 1 };
        layout_make(&turned, sizes, strides, 4);
        layout = &turned;
    }
    const struct mosaic_tile tile = { .from = begin, .size = size, .layout = layout, .at = t->at + skip * stride, .file = p->file[i] };
    return mosaic_add(s->mosaic, &tile, err);
}

bool
rank_parts_add(struct sharded *s, const struct rank_parts *p, uint64_t *rows, uint64_t *columns, struct err *err)
{
    uint64_t shape[LAYOUT_RANK] = { 1, 1 }, at = 0;
    const struct torch_tensor *first = &p->part[0];
    uint32_t axis = axis_of(p);
    if (!check_parts(s, p, shape, err))
        return false;
    const struct mosaic_tensor t = { .name = p->name, .name_len = (uint32_t)p->name_len, .shown = p->shown, .dtype = first->dtype,
        .grid = shape, .axes = first->rank };
    bool ok = mosaic_begin(s->mosaic, &t, err);
    uint64_t half = first->rank != 0 ? shape[0] / 2 : 0;
    for (size_t i = 0; ok && i < p->n && (i == 0 || p->rule != RANK_SAME); i++) {
        uint64_t n = first->rank == 0 ? 1 : p->part[i].shape[axis];
        if ((p->rule == RANK_GATED && n % 2 != 0) || (p->head != 0 && n % p->head != 0))
            return parts_bad(s, p, i, "its rows do not divide as its name requires", err);
        if (p->rule == RANK_GATED)
            ok = add_part(s, p, i, 0, n / 2, at / 2, err) && add_part(s, p, i, n / 2, n / 2, half + at / 2, err);
        else
            ok = add_part(s, p, i, 0, n, at, err);
        at += n;
    }
    if (rows)
        *rows = first->rank > 0 ? shape[0] : 1;
    if (columns)
        *columns = first->rank > 1 ? shape[1] : 1;
    return ok && mosaic_end(s->mosaic, err);
}
