/* FP8 weights: V = RN32(code * scale), one rounding to the output dtype after it. Every stored scale
 * multiplies, weight_scale_inv too.
 *
 * A weight is seen as E matrices of R rows and C columns; a scale covers b0 x b1 elements of a matrix:
 *
 *     per tensor   R = 1, b1 = C      [] or [1]          per row      b0 = 1, b1 = C     [R], [R, 1]
 *     per expert   R = 1, b1 = C      [E], [E, 1]        per column   b0 = R, b1 = 1     [1, C], [E, 1, C]
 *     block        b0 = b1 = 128      [ceil(R / 128), ceil(C / 128)]; ragged edges are short
 *
 * so element (e, r, c) uses scale[e * per_expert + (r / b0) * per_row + c / b1]. Sources: transformers,
 * finegrained_fp8; DeepSeek-V3, fp8_cast_bf16.py; compressed-tensors, naive_quantized.
 */
#include "scheme/fp8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/str.h"
#include "dtype/bfloat16.h"
#include "dtype/float8.h"
#include "dtype/half.h"
#include "scheme/leftover.h"

enum { CODES, SCALE };                                  /* parts */
enum { ROWS, COLS, B0, B1, PER_ROW, PER_EXPERT };       /* facts: R, C, b0, b1 and steps in the scale */

/* What a scale may be called. */
static const struct { const char *strip, *suffix; } scale_names[] = {
    { "", "_scale_inv" }, { "", "_scale" }, { "", "_scales_inv" },
    { ".weight", ".scale" }, { ".weight", ".qscale_weight" }, { ".weight", ".scale_weight" },
};

static bool
is_scale_dtype(enum dtype dtype)
{
    return dtype == DTYPE_F32 || dtype == DTYPE_BF16 || dtype == DTYPE_F16 || dtype == DTYPE_F8_E8M0
        || dtype == DTYPE_U8;
}

/* The one scale of a weight, or NULL; two of them: ERR_MALFORMED and false. */
static bool
find_scale(const struct claims *c, const struct tensor *codes, const struct tensor **scale, struct err *err)
{
    *scale = NULL;
    for (size_t i = 0; i < sizeof scale_names / sizeof *scale_names; i++) {
        struct part_name p;
        if (!name_strip(codes, scale_names[i].strip, &p))
            continue;
        const struct tensor *found = claims_find(c, p.base, p.base_len, scale_names[i].suffix);
        if (found && *scale) {
            char a[STR_SHOWN], b[STR_SHOWN], w[STR_SHOWN];
            return err_set(err, ERR_MALFORMED, found->extent.at, "tensor %s: has two scales, %s and %s",
                str_shown(w, codes->name, codes->name_len), str_shown(a, (*scale)->name, (*scale)->name_len),
                str_shown(b, found->name, found->name_len));
        }
        if (found)
            *scale = found;
    }
    return true;
}

/* The weight as E matrices of R x C: rank 3 is stacked experts, any other rank is one matrix. */
static uint64_t
matrices(struct weight *w)
{
    const struct shape *s = &w->part[CODES]->shape;
    uint64_t experts = 1, rows = 1, cols = 1;
    uint32_t i = 0;
    if (s->rank == 3)
        experts = shape_dim(s, i++);
    if (s->rank >= 2)
        rows = shape_dim(s, i++);
    for (; i < s->rank; i++)
        cols *= shape_dim(s, i);      /* within the tensor's own size, which was checked */
    w->fact[ROWS] = rows;
    w->fact[COLS] = cols;
    return experts;
}

static void
set_blocks(struct weight *w, uint64_t b0, uint64_t b1, uint64_t per_row, uint64_t per_expert)
{
    w->fact[B0] = num_max(b0, 1);
    w->fact[B1] = num_max(b1, 1);
    w->fact[PER_ROW] = per_row;
    w->fact[PER_EXPERT] = per_expert;
}

/* One scale covers a matrix: then it may as well be one row. */
static void
set_single(struct weight *w, uint64_t per_expert)
{
    w->fact[COLS] *= w->fact[ROWS];
    w->fact[ROWS] = 1;
    set_blocks(w, 1, w->fact[COLS], 0, per_expert);
}

/* The scale's shape with the expert dimension and singletons stripped to at most two dimensions. */
static uint32_t
squeeze(const struct shape *s, uint64_t experts, bool stacked, uint64_t out[2])
{
    uint32_t first = stacked && s->rank > 1 && shape_dim(s, 0) == experts, n = 0;
    uint32_t extra = s->rank - first > 2 ? s->rank - first - 2 : 0;
    for (uint32_t i = first; i < s->rank; i++) {
        if (extra > 0 && i > first && shape_dim(s, i) == 1) {
            extra--;
            continue;
        }
        if (n == 2)
            return 3;
        out[n++] = shape_dim(s, i);
    }
    return n;
}

/* Whether blocks of b0 x b1 make a grid of exactly sr x sc; with `padded`, of at most that. */
static bool
fits(const struct weight *w, uint64_t b0, uint64_t b1, const uint64_t grid[2], bool padded)
{
    uint64_t sr = num_ceil_div(w->fact[ROWS], b0), sc = num_ceil_div(w->fact[COLS], b1);
    return padded ? sr <= grid[0] && sc <= grid[1] : sr == grid[0] && sc == grid[1];
}

/* Find the block size behind a grid of scales. */
static bool
find_blocks(const struct claims *c, struct weight *w, const uint64_t grid[2], uint64_t block[2])
{
    uint64_t rows = w->fact[ROWS], cols = w->fact[COLS], hint[2] = { 128, 128 };
    bool hinted = config_block_size(claims_config(c), hint);
    if (w->part[SCALE]->dtype == DTYPE_U8) {                    /* MXFP8: groups of 32 along a row */
        block[0] = 1;
        block[1] = 32;
        return fits(w, 1, 32, grid, false);
    }
    uint64_t tries[8][2] = { { hint[0], hint[1] }, { 128, 128 } };
    size_t n = 2;
    for (uint64_t side = 16; side <= 512; side *= 2)            /* square blocks of another size */
        if (side != 128) {
            tries[n][0] = tries[n][1] = side;
            n++;
        }
    for (size_t i = 0; i < n; i++)
        if (fits(w, tries[i][0], tries[i][1], grid, false)) {
            memcpy(block, tries[i], sizeof tries[i]);
            return true;
        }
    if (grid[0] == rows && grid[1] != 0 && cols % grid[1] == 0) {   /* groups along a row */
        block[0] = 1;
        block[1] = cols / grid[1];
        return true;
    }
    /* More scales than needed: padding, ignored. */
    block[0] = hinted ? hint[0] : 128;
    block[1] = hinted ? hint[1] : 128;
    return fits(w, block[0], block[1], grid, true);
}

/* Lay the scale over the weight (schemes.md 3.2). */
static bool
map_scale(const struct claims *c, struct weight *w, struct err *err)
{
    const struct tensor *codes = w->part[CODES], *scale = w->part[SCALE];
    uint64_t experts = matrices(w), rows = w->fact[ROWS], cols = w->fact[COLS], numel, grid[2], block[2];
    bool stacked = codes->shape.rank == 3;
    uint32_t rank = squeeze(&scale->shape, experts, stacked, grid);
    bool own = stacked && scale->shape.rank > 1 && shape_dim(&scale->shape, 0) == experts;     /* one grid an expert */
    bool plain = scale->dtype != DTYPE_U8;
    if (!shape_numel(&scale->shape, &numel))
        numel = 0;
    if (numel == 1 && plain)
        set_single(w, 0);
    else if (stacked && numel == experts && plain)
        set_single(w, 1);
    else if (rank == 1 && grid[0] == rows && plain)
        set_blocks(w, 1, cols, 1, own ? rows : 0);
    else if (rank == 2 && grid[0] == rows && grid[1] == 1 && plain)
        set_blocks(w, 1, cols, 1, own ? rows : 0);
    else if (rank == 2 && grid[0] == 1 && grid[1] == cols && plain)
        set_blocks(w, rows, 1, 0, own ? cols : 0);
    else if (rank == 2 && (own || !stacked) && find_blocks(c, w, grid, block))
        set_blocks(w, block[0], block[1], grid[1], own ? grid[0] * grid[1] : 0);
    else {
        char a[STR_SHOWN], b[STR_SHOWN], sa[SHAPE_TEXT], sb[SHAPE_TEXT];
        return err_set(err, ERR_MALFORMED, scale->extent.at, "tensor %s: shape %s %s does not fit its weight %s %s",
            str_shown(a, scale->name, scale->name_len), dtype_name(scale->dtype), shape_text(sa, &scale->shape),
            str_shown(b, codes->name, codes->name_len), shape_text(sb, &codes->shape));
    }
    return true;
}

/* Diffusion models mark a file of P.scale_weight scales with a tensor scaled_fp8 beside all modules. It holds
 * nothing; the first such weight takes it. */
static const char marker[] = "scaled_fp8";

static bool
is_marker(const struct tensor *t)
{
    struct part_name p;
    return name_strip(t, marker, &p) && (p.base_len == 0 || p.base[p.base_len - 1] == '.');
}

static bool
take_marker(struct claims *c, const struct weight *w, struct err *err)
{
    const struct tensor *codes = w->part[CODES];
    struct part_name p;
    for (size_t n = name_strip(w->part[SCALE], ".scale_weight", &p) ? p.base_len + 1 : 0; n-- > 0;) {
        if (n != 0 && codes->name[n - 1] != '.')
            continue;
        const struct tensor *t = claims_find(c, codes->name, n, marker);
        if (t && dtype_is_float8(t->dtype))
            return claims_is_taken(c, t) || claims_take(c, t, codes, err);
    }
    return true;
}

static enum claim
claim(const struct scheme *self, struct claims *c, const struct tensor *codes, struct weight *w, struct err *err)
{
    (void)self;
    if (!dtype_is_float8(codes->dtype) || is_marker(codes))
        return CLAIM_NO;
    if (!find_scale(c, codes, &w->part[SCALE], err))
        return CLAIM_FAIL;
    const struct tensor *scale = w->part[SCALE];
    if (!scale && leftover_is_named(codes))
        return CLAIM_NO;
    if (!scale) {       /* as if it were 1; whether that can be is asked when all weights are known */
        matrices(w);
        set_single(w, 0);
        return CLAIM_YES;
    }
    if (!is_scale_dtype(scale->dtype)) {
        char a[STR_SHOWN], b[STR_SHOWN];
        err_set(err, ERR_MALFORMED, scale->extent.at, "tensor %s: is %s, expected a scale of F32, BF16, F16 or F8_E8M0"
            " for %s", str_shown(a, scale->name, scale->name_len), dtype_name(scale->dtype),
            str_shown(b, codes->name, codes->name_len));
        return CLAIM_FAIL;
    }
    struct part_name p;
    const struct tensor *zero = !name_strip(codes, ".weight", &p) ? NULL
        : claims_find(c, p.base, p.base_len, ".weight_zero_point");
    bool ok = map_scale(c, w, err) && claims_take(c, scale, codes, err) && claims_take_idle(c, codes, err)
        && take_marker(c, w, err)
        && (!zero || !dtype_is_float8(zero->dtype) || claims_take(c, zero, codes, err));    /* all zero: schemes.md 3.4 */
    return ok ? CLAIM_YES : CLAIM_FAIL;
}

bool
fp8_is_scaled(const struct weight *w)
{
    return w->part[SCALE] != NULL;
}

/* --- decoding */

enum { PIECE = 1024 };          /* scales at a time, and columns at a time when they go through floats */

/* Where element i lies. */
struct place {
    uint64_t expert, row, col;
};

static struct place
place_of(const struct weight *w, uint64_t i)
{
    uint64_t matrix = w->fact[ROWS] * w->fact[COLS];
    return (struct place){ i / matrix, i % matrix / w->fact[COLS], i % w->fact[COLS] };
}

static uint64_t
scale_index(const struct weight *w, const struct place *p)
{
    return p->expert * w->fact[PER_EXPERT] + p->row / w->fact[B0] * w->fact[PER_ROW] + p->col / w->fact[B1];
}

/* The scales that elements [first, first + count) use: a run of the scale tensor. */
static void
scale_run(const struct weight *w, uint64_t first, uint64_t count, uint64_t *from, uint64_t *to)
{
    struct place a = place_of(w, first), b = place_of(w, first + count - 1);
    uint64_t blocks = num_ceil_div(w->fact[COLS], w->fact[B1]);
    bool one_row = a.expert == b.expert && a.row == b.row;
    if (!one_row) {             /* whole rows in between: from the first to the last column */
        a.col = 0;
        b.col = (blocks - 1) * w->fact[B1];
    }
    if (a.expert != b.expert) { /* and whole experts */
        a.row = 0;
        b.row = w->fact[ROWS] - 1;
    }
    *from = scale_index(w, &a);
    *to = scale_index(w, &b) + 1;
}

static void
span(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    *s = (struct span){ .count = 0 };
    if (part == CODES) {
        *s = (struct span){ .at = first, .len = count, .count = 1 };
    } else if (part == SCALE && w->part[SCALE]) {
        uint64_t from, to, size = dtype_facts(w->part[SCALE]->dtype)->bytes;
        scale_run(w, first, count, &from, &to);
        *s = (struct span){ .at = from * size, .len = (to - from) * size, .count = 1 };
    }
}

static float
scale_value(enum dtype dtype, const uint8_t *p, uint64_t i)
{
    switch (dtype) {
    case DTYPE_F32:  return float_of_bits(load_le32(p + 4 * i));
    case DTYPE_BF16: return bfloat16_to_float(load_le16(p + 2 * i));
    case DTYPE_F16:  return half_to_float(load_le16(p + 2 * i));
    default:         return float8_to_float(DTYPE_F8_E8M0, p[i]);
    }
}

/* What a decode works on: the run of codes, the run of scales that belongs to it, and the output. */
struct job {
    const struct weight *w;
    const struct kernels *k;
    const uint8_t *codes, *scales;
    uint64_t first, scale_from;
    enum dtype to;
    uint8_t *y;
};

/* Scales [0, n) of a run of columns, from that of place p on. */
static void
job_scales(const struct job *j, const struct place *p, float *scales, uint64_t n)
{
    const struct tensor *t = j->w->part[SCALE];
    uint64_t from = scale_index(j->w, p) - j->scale_from;
    for (uint64_t i = 0; i < n; i++)
        scales[i] = t ? scale_value(t->dtype, j->scales, from + i) : 1;
}

/* rows x cols elements from element `at` on, under a scale for every b1 columns. */
static void
piece(const struct job *j, uint64_t at, uint64_t rows, uint64_t cols, const float *scales, uint64_t b1)
{
    enum dtype type = j->w->part[CODES]->dtype;
    uint64_t stride = j->w->fact[COLS];
    const uint8_t *x = j->codes + (at - j->first);
    uint8_t *y = j->y + (at - j->first) * dtype_facts(j->to)->bytes;
    if (j->to == DTYPE_BF16)
        j->k->fp8_bf16[type]((uint16_t *)(void *)y, stride, x, stride, rows, cols, scales, b1);
    else if (j->to == DTYPE_F32)
        j->k->fp8_f32[type]((float *)(void *)y, stride, x, stride, rows, cols, scales, b1);
    else
        for (; rows > 0; rows--, x += stride, y += 2 * stride) {
            float v[PIECE];
            j->k->fp8_f32[type](v, cols, x, cols, 1, cols, scales, b1);
            kernels_round(j->k, j->to, y, v, cols);
        }
}

/* The elements of rows [p.row, p.row + rows) and columns [p.col, end) of one matrix, in which b0 changes nowhere:
 * a piece is some whole blocks of columns, or lies within one. */
static void
band(const struct job *j, struct place p, uint64_t rows, uint64_t end)
{
    uint64_t b1 = num_min(j->w->fact[B1], j->w->fact[COLS]), cols;
    uint64_t base = (p.expert * j->w->fact[ROWS] + p.row) * j->w->fact[COLS];
    uint64_t most = j->to != DTYPE_F16 ? PIECE * b1 : b1 < PIECE ? PIECE / b1 * b1 : PIECE;     /* columns */
    for (; p.col < end; p.col += cols) {
        float scales[PIECE];
        uint64_t left = b1 - p.col % b1;
        cols = left < b1 || most < b1 ? num_min(left, most) : most;
        cols = num_min(cols, end - p.col);
        job_scales(j, &p, scales, num_ceil_div(cols, b1));
        piece(j, base + p.col, rows, cols, scales, b1);
    }
}

static void
decode(const struct weight *w, const struct kernels *k, uint8_t *const in[SCHEME_PARTS], uint64_t first, uint64_t count,
    enum dtype to, void *y)
{
    struct job j = { .w = w, .k = k, .codes = in[CODES], .scales = in[SCALE], .first = first, .to = to, .y = y };
    uint64_t cols = w->fact[COLS], ignored;
    if (w->part[SCALE])
        scale_run(w, first, count, &j.scale_from, &ignored);
    for (uint64_t at = first, end = first + count; at < end;) {
        struct place p = place_of(w, at);
        if (p.col != 0 || end - at < cols) {            /* a row that the run cuts */
            uint64_t c1 = num_min(cols, p.col + (end - at));
            band(&j, p, 1, c1);
            at += c1 - p.col;
            continue;
        }
        uint64_t rows = num_min((end - at) / cols, w->fact[ROWS] - p.row);
        rows = num_min(rows, w->fact[B0] - p.row % w->fact[B0]);
        band(&j, p, rows, cols);
        at += rows * cols;
    }
}

static void
describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const char *type = dtype_name(w->part[CODES]->dtype) + 3;
    uint64_t rows = w->fact[ROWS], cols = w->fact[COLS], b0 = w->fact[B0], b1 = w->fact[B1];
    if (!w->part[SCALE])
        snprintf(buf, SCHEME_DETAIL, "%s, no scale", type);
    else if (b0 >= rows && b1 >= cols && w->fact[PER_ROW] == 0)
        snprintf(buf, SCHEME_DETAIL, "%s, per-%s scale", type, w->fact[PER_EXPERT] ? "expert" : "tensor");
    else if (b0 == 1 && b1 >= cols)
        snprintf(buf, SCHEME_DETAIL, "%s, per-channel scale", type);
    else if (b1 == 1 && b0 >= rows)
        snprintf(buf, SCHEME_DETAIL, "%s, per-column scale", type);
    else
        snprintf(buf, SCHEME_DETAIL, "%s, fine-grained %" PRIu64 "x%" PRIu64 " scale", type, b0, b1);
}

const struct scheme scheme_fp8 = {
    .name = "FP8",
    .claim = claim,
    .span = span,
    .decode = decode,
    .describe = describe,
};
