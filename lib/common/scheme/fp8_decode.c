/* FP8: V = RN32(code * scale); if there is a pre_quant_scale, V = RN32(V * pre_quant_scale of the column); then one rounding
 * to the output dtype. Every stored scale is a factor, even weight_scale_inv, unless the weight `divides`: V = RN32(code /
 * scale). The E8M0 code 0 is 2^-127, but 0 in ComfyUI's tiles. */
#include "base/num.h"
#include "dtype/float8.h"
#include "kernel/line.h"
#include "scheme/fp8_priv.h"
#include "scheme/scale.h"
#include "scheme/smooth.h"
#include "scheme/swizzle.h"

/* The position of an element. */
struct fp8_place {
    uint64_t expert, row, col;
};

static struct fp8_place
fp8_decode_place_of(const struct fp8_weight *f, uint64_t i)
{
    uint64_t matrix = f->rows * f->cols;
    return (struct fp8_place){ i / matrix, i % matrix / f->cols, i % f->cols };
}

static uint64_t
scale_index(const struct fp8_weight *f, const struct fp8_place *p)
{
    if (f->tiles != 0)
        return p->expert * f->per_expert + swizzle_at(p->row, p->col / f->b1, f->tiles);
    return f->base + p->expert * f->per_expert + (f->row0 + p->row) / f->b0 * f->per_row + p->col / f->b1;
}

/* Finds the scales [from, to) that elements [first, first + count) use. */
static void
scale_run(const struct fp8_weight *f, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to)
{
    struct fp8_place a = fp8_decode_place_of(f, first), b = fp8_decode_place_of(f, first + count - 1);
    uint64_t blocks = num_ceil_div(f->cols, f->b1);
    bool one_row = a.expert == b.expert && a.row == b.row;
    if (!one_row) {             /* whole rows in between: from the first to the last column */
        a.col = 0;
        b.col = (blocks - 1) * f->b1;
    }
    if (a.expert != b.expert) { /* and whole experts */
        a.row = 0;
        b.row = f->rows - 1;
    }
    *from = scale_index(f, &a);
    *to = scale_index(f, &b) + 1;
    if (f->tiles != 0) {        /* whole tiles; for one row only those it needs */
        *from = *from / TILE * TILE;
        *to = num_ceil_div(*to, TILE) * TILE;
    }
}

void
fp8_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    if (part == CODES) {
        *s = (struct span){ .at = first, .len = count };
    } else if (part == SCALE) {
        uint64_t from, to, size = dtype_facts(w->part[SCALE]->dtype)->bytes;
        scale_run(fp8_own(w), first, count, &from, &to);
        *s = (struct span){ .at = from * size, .len = (to - from) * size };
    } else {
        smooth_run(s, w->part[SMOOTH], fp8_own(w)->cols, first, count);
    }
}

/* Reads n scales of a matrix that is the end of a larger one. */
static void
read_joint(const struct decoding *d, const struct fp8_place *p, float *scales, size_t n)
{
    const struct fp8_weight *f = fp8_own(d->w);
    uint64_t block = (f->row0 + p->row) / f->b0, b = p->col / f->b1;
    if (block == 0)
        scale_read(d, JOINT, ((p->expert + 1) * f->joint - 1) * f->per_row + b, n, scales);
    else
        scale_read(d, SCALE, p->expert * f->per_expert + (block - 1) * f->per_row + b, n, scales);
}

/* Reads n scales of a row, starting at place p. In tiles, the scales of a row are consecutive within each tile only. */
static void
read_scales(const struct decoding *d, const struct fp8_place *p, float *scales, size_t n)
{
    const struct fp8_weight *f = fp8_own(d->w);
    uint64_t at = scale_index(f, p), b = p->col / f->b1;
    if (f->joint != 0) {
        read_joint(d, p, scales, n);
        return;
    }
    if (d->w->part[SCALE] && f->tiles == 0)
        scale_read(d, SCALE, at, n, scales);
    for (size_t i = 0; !d->w->part[SCALE] && i < n; i++)
        scales[i] = 1;
    for (size_t i = 0; f->tiles != 0 && i < n; i++, b++) {
        uint8_t code = *decoding_bytes(d, SCALE, at);
        if (code != 0)
            scales[i] = float8_e8m0(code);
        else
            scales[i] = 0;
        at += b % TILE_BLOCKS == TILE_BLOCKS - 1 ? TILE - TILE_BLOCKS + 1 : 1;
    }
}

/* Returns true if values are written to the output without an intermediate step in floats. */
static bool
is_direct(const struct decoding *d)
{
    return d->to != DTYPE_F16 && !d->w->part[SMOOTH] && !fp8_own(d->w)->divides;
}

/* Decodes one row into floats. */
static void
row_of_floats(const struct decoding *d, float *v, const struct fp8_rows *m)
{
    static const float one = 1;
    struct fp8_rows codes = *m;
    if (!fp8_own(d->w)->divides) {
        d->k->fp8_f32(v, m->cols, m);
        return;
    }
    codes.scales = &one;
    codes.scale_cols = m->cols;
    d->k->fp8_f32(v, m->cols, &codes);
    for (uint64_t i = 0, n; i < m->cols; i += n, v += n) {
        float scale = m->scales[i / m->scale_cols];
        n = num_min(m->scale_cols, m->cols - i);
        line_divide(v, (size_t)n, scale);
    }
}

/* Decodes rows x cols elements from element `at`, with one scale for every b1 columns. */
static void
piece(const struct decoding *d, uint64_t at, uint64_t rows, uint64_t cols, const float *scales, uint64_t b1, uint8_t *y)
{
    uint64_t stride = fp8_own(d->w)->cols;
    struct fp8_rows m = { .dtype = d->w->part[CODES]->dtype, .rows = rows, .cols = cols, .x = decoding_bytes(d, CODES, at),
        .x_stride = stride, .scales = scales, .scale_cols = b1 };
    if (d->to == DTYPE_BF16 && is_direct(d))
        d->k->fp8_bf16((uint16_t *)(void *)y, stride, &m);
    else if (is_direct(d))
        d->k->fp8_f32((float *)(void *)y, stride, &m);
    else
        for (m.rows = 1; rows > 0; rows--, m.x += stride, y += stride * dtype_facts(d->to)->bytes) {
            float *v = ((struct fp8_room *)d->room)->v;
            row_of_floats(d, v, &m);
            smooth_apply(d, SMOOTH, v, at % stride, cols);
            kernels_round(d->k, d->to, y, v, cols);
        }
}

/* Decodes a partial row, or whole rows of one matrix that share their blocks, from column p.col to `end`. A piece consists
 * of whole blocks of columns, or is within one. */
uint64_t
fp8_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct fp8_weight *f = fp8_own(d->w);
    struct fp8_place p = fp8_decode_place_of(f, at);
    float *scales = ((struct fp8_room *)d->room)->scales;
    bool cut = p.col != 0 || count < f->cols, direct = is_direct(d);
    uint64_t rows = 1;
    if (!cut)
        rows = num_min(num_min(count / f->cols, f->rows - p.row), f->b0 - (f->row0 + p.row) % f->b0);
    uint64_t end = num_min(f->cols, p.col + count), n = rows * (end - p.col), base = at - p.col, cols;
    uint64_t b1 = num_min(f->b1, f->cols);
    uint64_t most = direct ? FP8_STEP * b1 : b1 < FP8_STEP ? FP8_STEP / b1 * b1 : FP8_STEP;     /* columns */
    for (; p.col < end; p.col += cols, y += cols * dtype_facts(d->to)->bytes) {
        uint64_t left = b1 - p.col % b1;
        cols = num_min(left < b1 || most < b1 ? num_min(left, most) : most, end - p.col);
        read_scales(d, &p, scales, (size_t)num_ceil_div(cols, b1));
        piece(d, base + p.col, rows, cols, scales, b1, y);
    }
    return n;
}
