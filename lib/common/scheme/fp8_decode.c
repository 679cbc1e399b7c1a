/* FP8: V = RN32(code * scale), RN32 of that times pre_quant_scale of its column where there is one, and one rounding
 * to the output dtype after it. Every stored scale multiplies, weight_scale_inv too. An E8M0 code 0 is 2^-127, in
 * ComfyUI's tiles 0 (schemes.md 10A.4). */
#include "base/num.h"
#include "dtype/float8.h"
#include "scheme/fp8_priv.h"
#include "scheme/scale.h"
#include "scheme/smooth.h"
#include "scheme/swizzle.h"

/* Where element i lies. */
struct fp8_place {
    uint64_t expert, row, col;
};

static struct fp8_place
place_of(const struct fp8_weight *f, uint64_t i)
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

/* The scales that elements [first, first + count) use: a run of the scale tensor. */
static void
scale_run(const struct fp8_weight *f, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to)
{
    struct fp8_place a = place_of(f, first), b = place_of(f, first + count - 1);
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
    if (f->tiles != 0) {        /* whole tiles, of one row those that it needs */
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

/* What a decode works on: the run of codes, the runs of scales that belong to it, and the output. */
struct fp8_run {
    const struct weight *w;
    const struct fp8_weight *f;
    const struct kernels *k;
    const uint8_t *codes, *scales, *smooth;
    uint64_t first, scale_from, smooth_from;
    enum dtype to;
    uint8_t *y;
    struct fp8_room *room;
};

/* The same for scales in tiles: those of a row lie side by side in each tile. */
static void
tile_scales(const struct fp8_run *j, const struct fp8_place *p, float *scales, uint64_t n)
{
    uint64_t at = scale_index(j->f, p) - j->scale_from, b = p->col / j->f->b1;
    for (uint64_t i = 0; i < n; i++, b++) {
        uint8_t code = j->scales[at];
        scales[i] = code != 0 ? float8_e8m0(code) : 0;
        at += b % TILE_BLOCKS == TILE_BLOCKS - 1 ? TILE - TILE_BLOCKS + 1 : 1;
    }
}

/* Scales [0, n) of a run of columns, from that of place p on. */
static void
command_scales(const struct fp8_run *j, const struct fp8_place *p, float *scales, uint64_t n)
{
    const struct tensor *t = j->w->part[SCALE];
    uint64_t from = scale_index(j->f, p) - j->scale_from;
    if (j->f->tiles != 0) {
        tile_scales(j, p, scales, n);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        scales[i] = t ? scale_value(t->dtype, j->scales, from + i) : 1;
}

/* rows x cols elements from element `at` on, under a scale for every b1 columns. */
static void
piece(const struct fp8_run *j, uint64_t at, uint64_t rows, uint64_t cols, const float *scales, uint64_t b1)
{
    enum dtype type = j->w->part[CODES]->dtype;
    uint64_t stride = j->f->cols;
    const uint8_t *x = j->codes + (at - j->first);
    uint8_t *y = j->y + (at - j->first) * dtype_facts(j->to)->bytes;
    bool smooth = j->w->part[SMOOTH] != NULL;
    if (j->to == DTYPE_BF16 && !smooth)
        j->k->fp8_bf16[type]((uint16_t *)(void *)y, stride, x, stride, rows, cols, scales, b1);
    else if (j->to == DTYPE_F32 && !smooth)
        j->k->fp8_f32[type]((float *)(void *)y, stride, x, stride, rows, cols, scales, b1);
    else
        for (; rows > 0; rows--, x += stride, y += stride * dtype_facts(j->to)->bytes) {
            float *v = j->room->v;
            j->k->fp8_f32[type](v, cols, x, cols, 1, cols, scales, b1);
            smooth_apply(j->w->part[SMOOTH], j->smooth, j->smooth_from, v, at % stride, cols);
            kernels_round(j->k, j->to, y, v, cols);
        }
}

/* The elements of rows [p.row, p.row + rows) and columns [p.col, end) of one matrix, in which b0 changes nowhere:
 * a piece is some whole blocks of columns, or lies within one. */
static void
band(const struct fp8_run *j, struct fp8_place p, uint64_t rows, uint64_t end)
{
    uint64_t b1 = num_min(j->f->b1, j->f->cols), cols;
    uint64_t base = (p.expert * j->f->rows + p.row) * j->f->cols;
    bool direct = j->to != DTYPE_F16 && !j->w->part[SMOOTH];        /* not through floats */
    uint64_t most = direct ? FP8_STEP * b1 : b1 < FP8_STEP ? FP8_STEP / b1 * b1 : FP8_STEP;     /* columns */
    for (; p.col < end; p.col += cols) {
        float *scales = j->room->scales;
        uint64_t left = b1 - p.col % b1;
        cols = left < b1 || most < b1 ? num_min(left, most) : most;
        cols = num_min(cols, end - p.col);
        command_scales(j, &p, scales, num_ceil_div(cols, b1));
        piece(j, base + p.col, rows, cols, scales, b1);
    }
}

void
fp8_decode(const struct weight *w, const struct kernels *k, const struct part_bytes in[SCHEME_PARTS], uint64_t first,
    uint64_t count, enum dtype to, void *y, void *room)
{
    struct fp8_run j = { .w = w, .f = fp8_own(w), .k = k, .codes = in[CODES].p, .scales = in[SCALE].p,
        .smooth = in[SMOOTH].p, .first = first, .to = to, .y = y, .room = room };
    uint64_t cols = j.f->cols, ignored;
    if (w->part[SCALE])
        scale_run(j.f, first, count, &j.scale_from, &ignored);
    smooth_columns(cols, first, count, &j.smooth_from, &ignored);
    for (uint64_t at = first, end = first + count; at < end;) {
        struct fp8_place p = place_of(j.f, at);
        if (p.col != 0 || end - at < cols) {            /* a row that the run cuts */
            uint64_t c1 = num_min(cols, p.col + (end - at));
            band(&j, p, 1, c1);
            at += c1 - p.col;
            continue;
        }
        uint64_t rows = num_min((end - at) / cols, j.f->rows - p.row);
        rows = num_min(rows, j.f->b0 - (j.f->row0 + p.row) % j.f->b0);
        band(&j, p, rows, cols);
        at += rows * cols;
    }
}
