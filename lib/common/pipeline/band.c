#include "pipeline/band.h"

#include <inttypes.h>

#include "base/num.h"
#include "base/str.h"

enum { ROW_MAX = 64 << 20 };        /* maximum bytes of the smallest band: more than the rows of any model, less than a
                                     * tensor */

enum need
band_need(const struct piece *piece, unsigned p)
{
    if (piece->kind == PIECE_VIEW)
        return p == 0 ? NEED_STRIP : NEED_NONE;
    if (piece->kind == PIECE_DECODE)
        return weight_need(piece->of.weight, p);
    return NEED_NONE;
}

void
band_strip(struct strip *strip, const struct piece *piece, unsigned p)
{
    const struct piece_view *view = piece->of.view;
    if (piece->kind == PIECE_VIEW)
        *strip = (struct strip){ view->matrices, view->rows, view->cols, 1,
            view->unit * dtype_facts(view->tensor->dtype)->bytes };
    else
        piece->of.weight->scheme->strip(strip, piece->of.weight, p);
}

/* Finds the rows that contain output bytes [from, to), or all rows of a piece that is only an input of other pieces. */
static void
find_wanted(struct bands *b, const struct piece *piece, uint64_t from, uint64_t to)
{
    uint64_t row = 0;
    dtype_row_bytes(&row, piece->to, b->cols);
    if (piece->at == PIECE_NOWHERE) {
        b->to = num_ceil_div(piece->nbytes, row);
        return;
    }
    b->from = (num_max(from, piece->at) - piece->at) / row;
    b->to = num_ceil_div(num_min(to, piece->at + piece->nbytes) - piece->at, row);
}

bool
bands_find(struct bands *b, const struct piece *piece, uint64_t from, uint64_t to, uint64_t most, struct err *err)
{
    uint64_t granule = 1, bytes = 0;            /* per granule of rows */
    *b = (struct bands){ 0 };
    for (unsigned p = 0; p < SCHEME_PARTS; p++) {
        struct strip s;
        if (band_need(piece, p) != NEED_STRIP)
            continue;
        band_strip(&s, piece, p);
        granule = num_max(granule, s.unit_rows);
        b->rows = num_max(b->rows, s.units * s.unit_rows);
    }
    if (b->rows == 0)
        return true;
    if (piece->kind == PIECE_VIEW)
        b->cols = piece->of.view->rows * piece->of.view->unit;
    else
        b->cols = shape_dim(&piece->of.weight->shape, piece->of.weight->shape.rank - 1);
    for (unsigned p = 0; p < SCHEME_PARTS; p++) {
        struct strip s;
        if (band_need(piece, p) != NEED_STRIP)
            continue;
        band_strip(&s, piece, p);
        bytes += num_min(s.rows, ROW_MAX) * s.unit_bytes * (granule / s.unit_rows);
    }
    const struct tensor *codes = piece_input(piece, 0);
    char name[STR_SHOWN];
    if (bytes > ROW_MAX)
        return err_at(err, ERR_LIMIT, codes->extent.at, "tensor %s: an output row needs %" PRIu64
            " bytes of strided input, which exceeds the limit of %d", str_shown(name, codes->name, codes->name_len), bytes,
            ROW_MAX);
    if (piece->kind == PIECE_DECODE)        /* the last units may cover more rows than exist */
        b->rows = shape_dim(&piece->of.weight->shape, piece->of.weight->shape.rank - 2);
    /* As few bands of equal size as the memory allows. */
    uint64_t granules = num_ceil_div(b->rows, granule), fit = num_max(most / num_max(bytes, 1), 1);
    b->granule = granule;
    b->band = num_ceil_div(granules, num_ceil_div(granules, fit)) * granule;
    find_wanted(b, piece, from, to);
    return true;
}

void
bands_at(struct band *band, const struct bands *b, uint64_t element)
{
    *band = (struct band){ .end = UINT64_MAX };
    if (b->rows == 0)
        return;
    uint64_t row = element / b->cols, base = row / b->rows * b->rows;           /* first row of the matrix */
    uint64_t top = base + (row - base) / b->band * b->band, end = num_min(base + b->rows, top + b->band);
    if (b->from > top)
        top += (b->from - top) / b->granule * b->granule;
    band->row = top;
    band->first = top * b->cols;
    band->end = num_min(end, b->to) * b->cols;
}
