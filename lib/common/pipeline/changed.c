#include "pipeline/changed.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

/* Argument of read_wide(). */
struct wide_source {
    const struct reading *how;
    const struct piece *piece;
};

/* Reads elements of a piece before its delta, as F64. */
static bool
read_wide(void *of, uint64_t first, size_t n, double *v, struct err *err)
{
    const struct wide_source *source = of;
    float *x = (float *)(v + n) - n;            /* the second half, so that widening in place does not overtake itself */
    if (piece_delta(source->piece)->from == DTYPE_F64)
        return block_source(source->how, source->piece, DTYPE_F64, first, n, (uint8_t *)v, err);
    if (!block_source(source->how, source->piece, DTYPE_F32, first, n, (uint8_t *)x, err))
        return false;
    source->how->kernels->wide_from(v, x, n);
    return true;
}

void
changed_values_add(struct changed_values *sum, const struct changed_values *more)
{
    const struct extent *a = sum->first ? &sum->first->extent : NULL, *b = more->first ? &more->first->extent : NULL;
    if (!a || (b && (b->file != a->file ? b->file < a->file : b->at < a->at)))
        sum->first = more->first;
    sum->n += more->n;
}

/* Adds the number of changed elements of a piece that are NaN or infinite. */
static void
count_changed(const struct reading *how, const struct piece *piece, uint64_t n)
{
    const struct changed_values found = { .n = n, .first = piece_input(piece, 0) };
    if (n != 0)
        changed_values_add(&how->b->changed, &found);
}

/* Like read_wide(), and sets w to the same elements in F32, if it is not NULL. */
static bool
read_before(struct wide_source *source, uint64_t first, size_t n, double *v, float *w, struct err *err)
{
    const struct kernels *k = source->how->kernels;
    if (!w || piece_delta(source->piece)->from == DTYPE_F64) {
        if (!read_wide(source, first, n, v, err))
            return false;
        if (w)
            k->wide_to(w, v, n);
        return true;
    }
    if (!block_source(source->how, source->piece, DTYPE_F32, first, n, (uint8_t *)w, err))
        return false;
    k->wide_from(v, w, n);
    return true;
}

/* Rounds n elements to a narrower type; sets *back to what they are then, in `room`, or to themselves. */
static void
round_some(const struct kernels *k, enum dtype to, float *x, size_t n, void *out, const float **back, float *room)
{
    *back = x;
    if (to == DTYPE_F64)
        return;
    kernels_round(k, to, out, x, n);
    if (to == DTYPE_F32 || !room)
        return;
    k->widen[to](room, out, n);
    *back = room;
}

/* Rounds n changed elements to the type of a piece: to F32, then to a narrower type. Adds to the sums if there is `w`, the elements
 * before the change. */
static void
round_wide(const struct reading *how, const struct piece *piece, const double *v, float *w, struct shift_lanes *shift, size_t n,
    uint8_t *y)
{
    enum { FEW = 256 };           /* elements that are rounded at a time */
    const struct kernels *k = how->kernels;
    float x[FEW], out[FEW], was[FEW], now[FEW];
    const float *before, *after;
    size_t size = dtype_facts(piece->to)->bytes;
    bool same = piece->kind != PIECE_DECODE && piece_input(piece, 0)->dtype == piece->to;      /* rounding changes nothing */
    if (piece->to == DTYPE_F64)
        memcpy(y, v, n * sizeof *v);
    for (size_t some; n != 0 && (piece->to != DTYPE_F64 || w); n -= some, v += some, y += some * size, w = w ? w + some : NULL) {
        some = (size_t)num_min(n, FEW);
        k->wide_to(x, v, some);
        before = w;
        if (w && !same)
            round_some(k, piece->to, w, some, out, &before, was);
        round_some(k, piece->to, x, some, out, &after, w ? now : NULL);
        if (w)
            k->shift(shift, w, x, before, after, some);
        if (piece->to != DTYPE_F64)
            memcpy(y, out, some * size);
        if (piece->to == DTYPE_F16)
            nonfinite_add(&how->b->values, DTYPE_F16, y, some);
    }
}

/* Returns true if the change of elements is added up. */
static bool
is_measured(const struct reading *how)
{
    return how->measures && how->p->shifts && how->what != READING_BARE;
}

/* Allocates buffers for a changed run. *w receives the unchanged elements, or is NULL if the change is not measured. */
static bool
find_wide(const struct reading *how, float **w, struct err *err)
{
    struct workspace *b = how->b;
    bool measured = is_measured(how);
    if (!b->wide)
        b->wide = malloc(BLOCK_WIDE * sizeof *b->wide);
    if (measured && !b->before)
        b->before = malloc(BLOCK_WIDE * sizeof *b->before);
    if (measured)
        *w = b->before;
    else
        *w = NULL;
    return (b->wide && (b->before || !measured)) || err_memory(err, BLOCK_WIDE * sizeof *b->wide);
}

/* Returns true if the change can be made in the codes of the output. */
static bool
is_merged(const struct reading *how, const struct piece *piece)
{
    return piece_delta(piece)->merges && how->what != READING_BARE && piece->kind != PIECE_DECODE && piece->to == DTYPE_BF16
        && piece_input(piece, 0)->dtype == DTYPE_BF16;
}

/* Generates elements [first, first + count) of a piece whose change is made in the codes of the output. */
static bool
merged_run(const struct reading *how, const struct piece *piece, uint64_t first, uint64_t count, uint8_t *y, struct err *err)
{
    const struct delta *delta = piece_delta(piece);
    struct lowrank_sums sums = { .shifts = is_measured(how) };
    const struct delta_run run = { .k = how->kernels, .first = first, .n = (size_t)count, .codes = y, .sums = &sums };
    if (!block_source(how, piece, DTYPE_BF16, first, count, y, err) || !delta->apply(delta, &run, err))
        return false;
    count_changed(how, piece, sums.beyond);
    lowrank_sums_end(&sums);
    if (sums.shifts)
        shifts_add(how->p->shifts, delta, &sums.shift, count, delta->numel);
    return true;
}

bool
changed_run(const struct reading *how, const struct piece *piece, uint64_t first, uint64_t count, size_t size, uint8_t *y,
    struct err *err)
{
    const struct delta *delta = piece_delta(piece);
    struct wide_source source = { how, piece };
    double most = DBL_MAX;
    if (piece->to != DTYPE_F64)
        most = (double)FLT_MAX;
    float *w = NULL;
    if (is_merged(how, piece))
        return merged_run(how, piece, first, count, y, err);
    if (!find_wide(how, &w, err))
        return false;
    for (uint64_t n; count != 0; first += n, count -= n, y += n * size) {
        struct shift_lanes shift = { .moved = 0 };
        n = num_min(count, BLOCK_WIDE);
        const struct delta_run run = { .k = how->kernels, .first = first, .n = (size_t)n, .v = how->b->wide, .read = read_wide,
            .of = &source };
        if (!read_before(&source, first, (size_t)n, run.v, w, err))
            return false;
        if (how->what != READING_BARE && !delta->apply(delta, &run, err))
            return false;
        if (how->what != READING_BARE)
            count_changed(how, piece, how->kernels->wide_beyond(run.v, (size_t)n, most));
        round_wide(how, piece, run.v, w, &shift, (size_t)n, y);
        if (w)
            shifts_add(how->p->shifts, delta, &shift, n, delta->numel);
    }
    return true;
}
