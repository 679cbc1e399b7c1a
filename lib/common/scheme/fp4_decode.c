/* 4-bit floats: e = RN32(scale * scale_2), RN32(scale / global_scale), RN32(scale * dual), or the scale itself;
 * V = RN32(code * e); if there is a pre_quant_scale, V = RN32(V * pre_quant_scale of the input); then one rounding to the
 * output dtype.
 *
 *     by rows     byte i of a row holds columns 2i and 2i + 1; scale g of the row covers columns [g * group, (g + 1) * group)
 *     lanes       byte c of stored row i holds rows 2i (the low nibble) and 2i + 1 of column c; scale c of stored row g
 *                 covers rows [g * group, (g + 1) * group) of it. gpt-oss is stored transposed, and read as a strip in
 *                 this order
 *
 * Rows and scales consist of whole groups, so rows and experts follow each other without a gap.
 */
#include "scheme/fp4.h"

#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "scheme/dim.h"
#include "scheme/scale.h"
#include "scheme/smooth.h"
#include "scheme/swizzle.h"

const float fp4_values[16] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6 };

/* Returns the values of the codes. */
static const float *
map_of(const struct fp4 *f)
{
    static const float plus_zero[] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6 };
    static const float integers[] = { 0, 0.25f, 0.5f, 0.75f, 1, 1.25f, 1.5f, 1.75f,
        -0.0f, -0.25f, -0.5f, -0.75f, -1, -1.25f, -1.5f, -1.75f };
    if (f->integers)
        return integers;
    if (f->plus_zero)
        return plus_zero;
    return fp4_values;
}

/* --- the bytes of a run */

/* The position of an element. Rows are counted over all experts. */
struct fp4_place {
    uint64_t row, col;
};

static struct fp4_place
fp4_decode_place_of(const struct fp4 *f, uint64_t element)
{
    return (struct fp4_place){ element / f->cols, element % f->cols };
}

/* Returns the index of the scale of block b of a row. */
static uint64_t
grid_at(const struct fp4 *f, uint64_t row, uint64_t b)
{
    if (f->tiles == 0)
        return row * (f->cols / f->group) + b;
    uint64_t grid = num_ceil_div(f->rows, TILE_ROWS) * f->tiles * TILE;         /* scales of an expert */
    return row / f->rows * grid + swizzle_at(row % f->rows, b, f->tiles);
}

/* Returns whole tiles: for one row those it needs, otherwise all of each row of tiles. */
static void
tile_run(struct span *s, const struct fp4 *f, const struct fp4_place *a, const struct fp4_place *b)
{
    uint64_t blocks = f->cols / f->group;
    bool one_row = a->row == b->row;
    uint64_t from = grid_at(f, a->row, one_row ? a->col / f->group : 0);
    uint64_t to = grid_at(f, b->row, one_row ? b->col / f->group : blocks - 1);
    *s = swizzle_span(from, to);
}

/* Returns bytes of stored rows that cover `per` output rows each: columns of one of them, or whole rows. */
static void
lane_run(struct span *s, const struct fp4 *f, const struct fp4_place *a, const struct fp4_place *b, uint32_t per)
{
    bool one_row = a->row == b->row;
    s->at = a->row / per * f->cols + (one_row ? a->col : 0);
    s->len = b->row / per * f->cols + (one_row ? b->col + 1 : f->cols) - s->at;
}

/* Returns the number of factors of a row. */
static uint64_t
duals_of(const struct fp4 *f)
{
    return num_ceil_div(f->cols, FP4_DUAL_BLOCK);
}

static void
dual_run(struct span *s, const struct fp4 *f, const struct fp4_place *a, const struct fp4_place *b)
{
    s->at = 4 * (a->row * duals_of(f) + a->col / FP4_DUAL_BLOCK);
    s->len = 4 * (b->row * duals_of(f) + b->col / FP4_DUAL_BLOCK + 1) - s->at;
}

void
fp4_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct fp4 *f = w->own;
    struct fp4_place a = fp4_decode_place_of(f, first), b = fp4_decode_place_of(f, first + count - 1);
    uint32_t per = 2;
    if (part != FP4_CODES)
        per = f->group;
    if (part == FP4_SCALE_2 && dim_is_one(w->part[part]))
        *s = (struct span){ .len = 4 };
    else if (part == FP4_SCALE_2)
        *s = (struct span){ .at = 4 * (a.row / f->rows), .len = 4 * (b.row / f->rows + 1 - a.row / f->rows) };
    else if (part == FP4_DUAL)
        dual_run(s, f, &a, &b);
    else if (part == FP4_SMOOTH && f->lanes)            /* inputs are rows */
        smooth_run(s, w->part[part], f->rows, a.row, b.row - a.row + 1);
    else if (part == FP4_SMOOTH)
        smooth_run(s, w->part[part], f->cols, first, count);
    else if (f->lanes)
        lane_run(s, f, &a, &b, per);
    else if (part == FP4_SCALE && f->tiles != 0)
        tile_run(s, f, &a, &b);
    else
        *s = (struct span){ .at = first / per, .len = (first + count - 1) / per + 1 - first / per };
}

/* --- decoding */

/* Returns the value of a scale: 5 bits of exponent, 3 of mantissa, no sign, a bias of 15. */
static float
e5m3_value(unsigned code)
{
    unsigned e = code >> 3, m = code & 7;
    if (code == 0xff)
        return NAN;
    if (e != 0)
        return ldexpf((float)(8 + m), (int)e - 18);
    return ldexpf((float)m, 1 - 18);
}

/* Computes the scales of an expert. */
static void
find_scales(const struct decoding *d, uint64_t expert)
{
    const struct fp4 *f = d->w->own;
    const struct tensor *t = d->w->part[FP4_SCALE_2];
    struct fp4_room *room = d->room;
    float second = 1;
    if (t && !d->plain)
        second = scale_at(d, FP4_SCALE_2, dim_is_one(t) ? 0 : expert);
    room->expert = expert;
    for (unsigned code = 0; code < FP4_SCALES; code++) {
        float v = f->e5m3 ? e5m3_value(code) : float8_to_float(f->scale, (uint8_t)code);
        if (!t || d->plain)
            room->of_code[code] = v;
        else if (f->divides)
            room->of_code[code] = v / second;
        else
            room->of_code[code] = v * second;
    }
}

/* Multiplies floats by the pre_quant_scale of their inputs, the first of which is `input`, and rounds them into y. */
static void
emit(const struct decoding *d, uint8_t *y, float *v, uint64_t input, size_t n)
{
    size_t step = ((const struct fp4 *)d->w->own)->lanes ? 1 : n;       /* a row of lanes is one input */
    for (size_t i = 0; d->w->part[FP4_SMOOTH] && i < n; i += step)
        smooth_apply(d, FP4_SMOOTH, v + i, input, step);
    kernels_round(d->k, d->to, y, v, n);
}

/* Returns true if values are written to the output without an intermediate step in floats. */
static bool
is_direct(const struct decoding *d)
{
    return d->to == DTYPE_BF16 && !d->w->part[FP4_SMOOTH];
}

/* Reads the scales of n blocks of a row, starting at block b. */
static void
row_scales(const struct decoding *d, uint64_t row, uint64_t b, size_t n)
{
    const struct fp4 *f = d->w->own;
    struct fp4_room *room = d->room;
    const uint8_t *p = decoding_bytes(d, FP4_SCALE, grid_at(f, row, b));
    for (size_t i = 0; i < n; i++, p++, b++) {
        room->scales[i] = room->of_code[*p];
        if (f->tiles != 0 && b % TILE_BLOCKS == TILE_BLOCKS - 1)
            p += TILE - TILE_BLOCKS;
    }
}

/* Multiplies the scales of n blocks of a row, starting at block b, by the factors for more columns. */
static void
row_duals(const struct decoding *d, uint64_t row, uint64_t b, size_t n)
{
    const struct fp4 *f = d->w->own;
    struct fp4_room *room = d->room;
    for (size_t i = 0; d->w->part[FP4_DUAL] && i < n; i++)
        room->scales[i] *= scale_at(d, FP4_DUAL, row * duals_of(f) + (b + i) * f->group / FP4_DUAL_BLOCK);
}

/* Decodes elements of a row, starting at column `col`. */
static uint64_t
decode_row(const struct decoding *d, uint64_t row, uint64_t col, uint64_t count, uint8_t *y)
{
    const struct fp4 *f = d->w->own;
    struct fp4_room *room = d->room;
    const struct codes4 c = { .map = map_of(f), .scales = room->scales, .group = f->group, .low_first = !f->high_first };
    const uint8_t *x = decoding_bytes(d, FP4_CODES, (row * f->cols + col) / 2);
    size_t n = (size_t)num_min(count, FP4_STEP - col % FP4_STEP);
    size_t blocks = (size_t)((col + n - 1) / f->group - col / f->group + 1);
    row_scales(d, row, col / f->group, blocks);
    row_duals(d, row, col / f->group, blocks);
    if (is_direct(d)) {
        d->k->codes4_bf16((void *)y, x, (size_t)col, n, &c);
    } else if (d->plain && d->to == DTYPE_F32) {              /* hints are not rounded */
        d->k->codes4_f32((void *)y, x, (size_t)col, n, &c);
    } else {
        d->k->codes4_f32(room->v, x, (size_t)col, n, &c);
        emit(d, y, room->v, col, n);
    }
    return n;
}

/* Returns the bytes of a part that hold row `row`, from column `col`; `per` rows share them. */
static const uint8_t *
lane_at(const struct decoding *d, unsigned part, uint64_t row, uint64_t col, uint32_t per)
{
    uint64_t cols = ((const struct fp4 *)d->w->own)->cols;
    if (weight_need(d->w, part) == NEED_STRIP)
        return decoding_unit(d, part, row / per - d->first / cols / per) + col;
    return decoding_bytes(d, part, row / per * cols + col);
}

/* Decodes columns [col, col + count) of rows [row, end), which share their scales. The rows of y are f->cols elements apart. */
static void
decode_lanes(const struct decoding *d, uint64_t row, uint64_t end, uint64_t col, uint64_t count, uint8_t *y)
{
    const struct fp4 *f = d->w->own;
    struct fp4_room *room = d->room;
    size_t size = dtype_facts(d->to)->bytes;
    bool strip = weight_need(d->w, FP4_CODES) == NEED_STRIP;
    for (uint64_t n; count != 0; count -= n, col += n, y += n * size) {
        uint8_t *to = y;
        const uint8_t *stored = lane_at(d, FP4_SCALE, row, col, f->group);
        n = num_min(count, FP4_STEP);
        for (size_t i = 0; i < n; i++)
            room->scales[i] = room->of_code[stored[i]];
        struct codes4_lanes l = { .map = map_of(f), .scales = room->scales, .cols = (size_t)n,
            .x_stride = strip ? d->in[FP4_CODES].stride : f->cols };
        for (uint64_t r = row; r < end; r += l.rows, to += l.rows * f->cols * size) {
            l.x = lane_at(d, FP4_CODES, r, col, 2);
            l.first = r % 2;
            if (is_direct(d)) {
                l.rows = (size_t)(end - r);
                d->k->codes4_lanes_bf16((void *)to, f->cols, &l);
            } else {
                l.rows = 1;
                d->k->codes4_lanes_f32(room->v, n, &l);
                emit(d, to, room->v, r % f->rows, (size_t)n);
            }
        }
    }
}

uint64_t
fp4_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct fp4 *f = d->w->own;
    struct fp4_place p = fp4_decode_place_of(f, at);
    uint64_t rows = 1, n = num_min(count, f->cols - p.col);
    if (at == d->first || p.row / f->rows != ((const struct fp4_room *)d->room)->expert)
        find_scales(d, p.row / f->rows);
    if (!f->lanes)
        return decode_row(d, p.row, p.col, n, y);
    if (n == f->cols)
        rows = num_min(count / n, f->group - p.row % f->group);
    decode_lanes(d, p.row, p.row + rows, p.col, n, y);
    return n * rows;
}

void
fp4_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct fp4 *f = w->own;
    int n = snprintf(buf, SCHEME_DETAIL, "%s, groups of %u", f->integers ? "sign and 3 bits" : "E2M1", f->group);
    if (w->vague)
        snprintf(buf + n, SCHEME_DETAIL - (size_t)n, ", %u dimensions", w->part[FP4_CODES]->shape.rank);
    else if (f->tiles != 0)
        snprintf(buf + n, SCHEME_DETAIL - (size_t)n, ", scales in tiles");
    else if (w->part[FP4_DUAL])
        snprintf(buf + n, SCHEME_DETAIL - (size_t)n, " and of %d", FP4_DUAL_BLOCK);
}

static bool
is_list(const struct tensor *t, uint64_t n)
{
    uint64_t numel;
    return shape_numel(&t->shape, &numel) && numel == n && !t->layout && !t->big_endian;
}

void
fp4_grid(const struct weight *w, struct weight_grid *g)
{
    const struct fp4 *f = w->own;
    const struct tensor *second = w->part[FP4_SCALE_2];
    bool stack = second && w->shape.rank == 3 && is_list(second, shape_dim(&w->shape, 0));      /* one for each expert */
    if (w->part[FP4_SMOOTH] || w->part[FP4_DUAL] || f->integers || (second && !dim_is_one(second) && !stack))
        return;
    *g = (struct weight_grid){ .codes = GRID_E2M1, .bits = 4, .group = f->lanes ? 0 : f->group, .scale = f->e5m3 ? DTYPE_BF16 : f->scale,
        .plus_zero = f->plus_zero, .divides = f->divides, .exact = !second, .second = second };
}
