/* ModelSlim's W4A8 for Ascend: signed 4-bit codes. Two layouts, which differ in their shapes; a third one, with a code in each
 * byte and one scale a row, is INT8 (int8.c). For a module P:
 *
 *     P.weight                  I8 [out/2, in], two rows in a byte, the even one in the low half; or I8 [out, in]
 *     P.weight_scale            F16, BF16, F32: see blocks.h
 *     P.weight_scale_second     F32 [out, in/group], a factor more; always there if a byte has one code
 *     P.weight_offset, P.weight_offset_second    all zero: readers differ in the sign of others
 *     P.scale_bias              8 * the sums of the rows, for a kernel that takes codes as unsigned
 *
 *     V[o][i] = RN32(RN32(code * weight_scale) * weight_scale_second)
 *
 * Sources: msmodelslim ascendv1.py, pack.py; vllm-ascend quantization/w4a8_dynamic.py.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "kernel/line.h"
#include "scheme/codes.h"
#include "scheme/dim.h"
#include "scheme/scale.h"
#include "scheme/zeros.h"

enum { CODES, SCALE, SECOND };                          /* parts */
enum { WITH_SCALE, WITH_OFFSET, WITH_BIAS, WITH_SECOND, WITH_OFFSET_SECOND };

struct w4a8 {
    struct blocks blocks, second;
    bool paired;                                        /* a byte has codes of two rows */
    const char *open;                                   /* why it cannot be decoded, or NULL */
};

static bool
is_paired(const struct table_match *f)
{
    const struct tensor *scale = f->with[WITH_SCALE];
    return dim_rows(scale) % 2 == 0 && dim_rows(scale) / 2 == dim_rows(f->codes) && scale->shape.rank == 2;
}

/* Checks the tensors that are dropped: offsets that are all zero, and scale_bias. */
static bool
check_dropped(const struct table_match *f, uint64_t rows, struct err *err)
{
    for (unsigned i = WITH_OFFSET; i <= WITH_OFFSET_SECOND; i++) {
        const struct tensor *t = f->with[i], *scale = f->with[i == WITH_OFFSET ? WITH_SCALE : WITH_SECOND];
        if (i == WITH_SECOND || !t)
            continue;
        if (i == WITH_BIAS ? dim_rows(t) != rows : !dim_same_count(t, scale))
            return table_wrong(t, f->codes, err, i == WITH_BIAS ? "a row for each one of the weight" : "as many values as its scale has");
        if (i != WITH_BIAS && !zeros_check(f->claims, t, "a 4-bit weight", err))
            return false;
    }
    return true;
}

/* Returns true if there is one second scale for each group of a row. */
static bool
is_seconded(const struct table_match *f)
{
    const struct tensor *second = f->with[WITH_SECOND];
    uint64_t groups = dim_cols(second);
    return second->shape.rank == 2 && dim_rows(second) == dim_rows(f->codes) * (is_paired(f) ? 2 : 1) && groups != 0
        && dim_cols(f->codes) % groups == 0;
}

static bool
modelslim_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *codes = f->codes, *scale = w->part[SCALE], *second = w->part[SECOND];
    struct w4a8 *own = claims_alloc(f->claims, sizeof *own, err);
    enum blocks_result result = BLOCKS_WRONG;
    uint64_t dim[2] = { dim_rows(codes), dim_cols(codes) };
    if (!own)
        return false;
    *own = (struct w4a8){ .paired = is_paired(f) };
    w->own = own;
    if (own->paired)
        dim[0] *= 2;
    if (codes->shape.rank != 2)
        return table_wrong(codes, codes, err, "codes [out/2, in] or [out, in]");
    if (!blocks_find(&own->blocks, &result, f, scale, dim[0], dim[1], err))
        return false;
    if (result == BLOCKS_WRONG)
        return table_wrong(scale, codes, err, "one per row, or groups");
    if (second)
        own->second = (struct blocks){ .rows = dim[0], .cols = dim[1], .b0 = 1, .b1 = num_max(dim[1] / dim_cols(second), 1),
            .per_row = dim_cols(second) };
    own->open = blocks_open(result, scale, "blocks not given by config.json (--config)");
    w->vague = own->open != NULL;
    w->again = own->paired && dim[1] > SCHEME_BACK;
    return check_dropped(f, dim[0], err) && claims_shape(f->claims, w, 0, dim, 2, err);
}

static void
modelslim_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct w4a8 *own = w->own;
    uint64_t cols = own->blocks.cols, last = first + count - 1, row = first / cols, end = last / cols;
    if (part == SCALE) {
        blocks_span(s, &own->blocks, w->part[part], first, count);
    } else if (part == SECOND) {
        blocks_span(s, &own->second, w->part[part], first, count);
    } else if (!own->paired) {
        *s = (struct span){ first, count };
    } else {
        s->at = row / 2 * cols + (row == end ? first % cols : 0);
        s->len = end / 2 * cols + (row == end ? last % cols + 1 : cols) - s->at;
    }
}

/* Multiplies the values of a piece by the second scales of their groups. */
static void
multiply(const struct decoding *d, struct codes_piece *p)
{
    const struct w4a8 *own = d->w->own;
    uint64_t i = blocks_at(&own->second, p->row, p->col), left = own->second.b1 - p->col % own->second.b1;
    for (size_t done = 0, n; done < p->n; done += n, i++, left = own->second.b1) {
        n = (size_t)num_min(left, p->n - done);
        line_multiply(p->v + done, n, scale_at(d, SECOND, i));
    }
}

static uint64_t
modelslim_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct w4a8 *own = d->w->own;
    struct codes_piece *p = codes_begin(d, at, count, own->blocks.cols, own->blocks.b1);
    const uint8_t *x = decoding_bytes(d, CODES, own->paired ? p->row / 2 * own->blocks.cols + p->col : at);
    codes_scales(p, d, &own->blocks, SCALE);
    if (own->paired) {
        d->k->bits_lane(p->codes, x, p->n, 1, (unsigned)(p->row % 2 * 4), 4);
        codes_flip(p);
        codes_fill_zeros(p, 8);
        p->narrow = true;
        x = p->codes;
    }
    if (!d->w->part[SECOND])
        return codes_emit(p, d, x, !own->paired, own->paired, y);
    const struct codes8 c = { .scales = p->scales, .zeros = own->paired ? p->zeros : NULL, .group = p->group,
        .is_signed = !own->paired, .narrow = own->paired };
    d->k->codes8_f32(p->v, x, (size_t)p->col, p->n, &c);
    multiply(d, p);
    kernels_round(d->k, d->to, y, p->v, p->n);
    return p->n;
}

static void
modelslim_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct w4a8 *own = w->own;
    int n = 0;
    if (!own->open)
        n = snprintf(buf, SCHEME_DETAIL, own->paired ? "two rows in a byte, " : "one code in a byte, ");
    if (w->part[SECOND] && !own->open)
        n += snprintf(buf + n, SCHEME_DETAIL - (size_t)n, "second scales of %" PRIu64 ", ", own->second.b1);
    blocks_describe(&own->blocks, own->open, buf, n);
}

static void
modelslim_variant(const struct weight *w, char buf[SCHEME_WORD])
{
    const struct w4a8 *own = w->own;
    if (own->paired && !w->part[SECOND] && own->blocks.b1 == own->blocks.cols)
        snprintf(buf, SCHEME_WORD, "modelslim-w4a8");
}

static void
modelslim_grid(const struct weight *w, struct weight_grid *g)
{
    const struct w4a8 *own = w->own;
    if (!w->part[SECOND])
        codes_grid(g, 4, own->blocks.b1, w->part[SCALE], NULL);
}

#define W4A8(is_, ...) { .codes = ".weight", .dtypes = IS(I8), .becomes = ".weight", .is = is_, WITH(\
    [WITH_SCALE] = COMPANION(".weight_scale", FLOAT, EVIDENCE, SCALE, .part = SCALE), \
    [WITH_OFFSET] = COMPANION(".weight_offset", FLOAT, OPTIONAL, ZERO_POINT), \
    [WITH_BIAS] = COMPANION(".scale_bias", FLOAT, OPTIONAL, ACTIVATION), __VA_ARGS__) }

const struct scheme modelslim_schemes[] = {
    RECOGNISED("modelslim-smooth", "ModelSlim's layer with factors of its columns in mul_scale", {
        .codes = ".linear.weight", .dtypes = DTYPE_SET(HAS(I8), HAS(U8), HAS_FLOAT8), .becomes = ".linear.weight",
        WITH(COMPANION(".div.mul_scale", ANY, EVIDENCE, SCALE)),
        ALSO(BELONGS(".linear.weight_scale", SCALE), BELONGS(".linear.weight_offset", ZERO_POINT),
            BELONGS(".linear.deq_scale", SCALE), BELONGS(".linear.quant_bias", ACTIVATION)) }),
    {
        .code = "int4-modelslim",
        .name = "ModelSlim INT4",
        WORDS({ WORD_DESCRIPTION, "W4A8_DYNAMIC" }),
        ROWS(W4A8(is_seconded, COMPANION(".weight_scale_second", FLOAT_16, EVIDENCE, SCALE, .part = SECOND),
                COMPANION(".weight_offset_second", FLOAT, OPTIONAL, ZERO_POINT)),
            W4A8(is_paired, { 0 })),
        .fit = modelslim_fit,
        .need = { [CODES] = NEED_RUN, [SCALE] = NEED_RUN, [SECOND] = NEED_RUN },
        .run = modelslim_run,
        .room = sizeof(struct codes_piece),
        .decode = modelslim_decode,
        .describe = modelslim_describe,
        .variant = modelslim_variant,
        .grid = modelslim_grid,
    },
    { 0 },
};
