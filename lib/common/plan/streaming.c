#include "plan/streaming.h"

#include <stdlib.h>

#include "base/array.h"

static int
streaming_compare(const void *pa, const void *pb)
{
    const struct extent *a = pa, *b = pb;
    return (a->at > b->at) - (a->at < b->at);
}

/* Returns true if a piece consists of several, or encodes such a piece. */
static bool
is_composed(const struct piece *piece)
{
    const struct piece *first = piece_component(piece, 0);
    if (piece->kind == PIECE_COMPOSED)
        return first != NULL;
    return piece->kind == PIECE_ENCODE && first != piece && first != piece->of.encoded->elements;
}

/* Returns true if the piece reads its first part once, from beginning to end. */
static bool
is_run(const struct piece *piece)
{
    if (piece->kind == PIECE_ENCODE)
        return encoded_part(piece)->elems != 0 && piece->of.encoded->encoding->nfacts == 0
            && is_run(piece->of.encoded->elements);
    return !piece_input(piece, 0)->layout && !(piece_delta(piece) && piece_delta(piece)->again) && (piece->kind == PIECE_COPY
        || (piece->kind == PIECE_DECODE && weight_need(piece->of.weight, 0) == NEED_RUN));
}

/* Adds the companions of a piece; clears *forward if one comes after the codes. */
static bool
add_companions(struct streaming *a, size_t *room, const struct piece *piece, bool *forward, struct err *err)
{
    const struct tensor *codes = piece_input(piece, 0);
    for (unsigned i = 1; i < SCHEME_PARTS; i++) {
        const struct tensor *t = piece_input(piece, i);
        if (!t)
            continue;
        const struct weight *w;
        if (piece->kind == PIECE_ENCODE)
            w = piece->of.encoded->elements->of.weight;
        else
            w = piece->of.weight;
        struct extent *keep = array_grow(a->keep, a->n, room, sizeof *keep, err);
        if (!keep)
            return false;
        a->keep = keep;
        keep[a->n++] = t->extent;
        *forward = *forward && !t->layout && t->extent.at <= codes->extent.at && weight_need(w, i) != NEED_STRIP;
    }
    return true;
}

/* Sorts the ranges and removes duplicates, which weights share. */
static void
sort(struct streaming *a)
{
    size_t n = 0;
    if (a->n != 0)
        qsort(a->keep, a->n, sizeof *a->keep, streaming_compare);
    for (size_t i = 0; i < a->n; i++) {
        if (n != 0 && a->keep[i].at == a->keep[n - 1].at)
            continue;
        a->keep[n++] = a->keep[i];
        a->nbytes += a->keep[i].nbytes;
    }
    a->n = n;
}

bool
streaming_order(struct streaming *arrival, const struct pieces *pieces, bool *forward, struct err *err)
{
    const struct tensor *before = NULL;
    size_t room = 0;
    *arrival = (struct streaming){ 0 };
    *forward = true;
    for (size_t i = 0; i < pieces_count(pieces) && *forward; i++) {
        const struct piece *piece = pieces_at(pieces, i);
        const struct tensor *codes = piece_input(piece, 0);
        *forward = !is_composed(piece);
        if (!codes)
            continue;
        *forward = is_run(piece) && (!before || (codes->extent.file == before->extent.file
            && codes->extent.at >= before->extent.at + before->extent.nbytes));
        before = codes;
        if (!add_companions(arrival, &room, piece, forward, err))
            return false;
    }
    sort(arrival);
    return true;
}

void
streaming_clear(struct streaming *arrival)
{
    free(arrival->keep);
    *arrival = (struct streaming){ 0 };
}
