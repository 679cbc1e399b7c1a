/* INT8: codes of one byte, as stored by compressed-tensors (int-quantized, naive-quantized), ModelOpt, Quark and ModelSlim.
 * The tensors of a module P:
 *
 *     P.weight               I8 [out, in], two's complement; may also hold codes of fewer bits
 *     P.weight_scale         F16, BF16, F32: see blocks.h
 *     P.weight_zero_point    I8, shaped like the scale; absent if the model is symmetric
 *     P.pre_quant_scale      [in], ModelOpt only: see smooth.h
 *     P.weight_offset        ModelSlim only, all zero: its writers differ in the sign of others
 *     P.deq_scale            ModelSlim's W8A8_MIX and older W8A8: what the static form (int8_static.c) uses instead of the scale
 *
 *     V[o][i] = RN32((weight[o][i] - zero_point) * scale)
 *
 * Quark stores codes in groups transposed: weight [in, out], weight_scale and weight_zero_point [G, out].
 *
 * Sources: compressed_tensors quantization/lifecycle/forward_helpers.py, _dequantize; modelopt torch/export/quant_utils.py,
 * to_quantized_weight; quark torch/utils/pack.py, Pack_8_bits.
 */
#include <stdio.h>

#include "base/num.h"
#include "scheme/codes.h"
#include "scheme/dim.h"
#include "scheme/scale.h"
#include "scheme/smooth.h"
#include "scheme/zeros.h"

enum { CODES, SCALE, ZERO, SMOOTH };                    /* parts */
enum { OFFSET = 3 };                                    /* index of a companion */

struct int8 {
    struct blocks blocks;
    const char *open;                                   /* why it cannot be decoded, or NULL */
    bool modelslim;
};

static bool
int8_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *codes = f->codes, *scale = w->part[SCALE], *zero = w->part[ZERO], *offset = f->with[OFFSET];
    struct int8 *own = claims_alloc(f->claims, sizeof *own, err);
    enum blocks_result result = BLOCKS_WRONG;
    if (!own)
        return false;
    w->own = own;
    if (codes->shape.rank < 2)
        return table_wrong(codes, codes, err, "INT8 codes [out, in]");
    if (!blocks_find(&own->blocks, &result, f, scale, dim_rows(codes), dim_cols(codes), err))
        return false;
    if (result == BLOCKS_WRONG)
        return table_wrong(scale, codes, err, "one scale, one per row, or groups or blocks");
    if (zero && !dim_same_shape(zero, scale))
        return table_wrong(zero, codes, err, "the shape of weight_scale");
    if (offset && !dim_same_count(offset, scale))
        return table_wrong(offset, codes, err, "as many values as weight_scale has");
    own->open = blocks_open(result, scale, "blocks not given by config.json (--config)");
    own->modelslim = offset != NULL;
    w->vague = own->open != NULL;
    return codes_check_zeros(f, zero, err) && zeros_check(f->claims, offset, "an INT8 weight", err)
        && smooth_check(w->part[SMOOTH], codes, dim_cols(codes), err);
}

static void
int8_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct int8 *own = w->own;
    if (part == CODES)
        *s = (struct span){ .at = first, .len = count };
    else if (part == SMOOTH)
        smooth_run(s, w->part[SMOOTH], own->blocks.cols, first, count);
    else
        blocks_span(s, &own->blocks, w->part[part], first, count);
}

static uint64_t
int8_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct weight *w = d->w;
    const struct blocks *b = &((const struct int8 *)w->own)->blocks;
    struct codes_piece *p = codes_begin(d, at, count, b->cols, b->b1);
    p->smooth = SMOOTH;
    codes_scales(p, d, b, SCALE);
    const uint8_t *zeros = NULL;
    if (w->part[ZERO])
        zeros = decoding_bytes(d, ZERO, blocks_at(b, p->row, p->col));
    for (size_t i = 0; zeros && i < p->groups; i++)
        p->zeros[i] = (int8_t)zeros[i];
    return codes_emit(p, d, decoding_bytes(d, CODES, at), true, zeros != NULL, y);
}

/* --- transposed */

/* Matches groups of rows, if config.json or --input-scheme names Quark. Otherwise the same shapes are INT8 in blocks. */
static bool
is_transposed(const struct table_match *f)
{
    static const char *const quark[] = { "quark", NULL };
    const struct tensor *scale = f->with[0];
    uint64_t groups = dim_rows(scale), in = dim_rows(f->codes);
    return f->codes->shape.rank == 2 && scale->shape.rank == 2 && dim_cols(scale) == dim_cols(f->codes)
        && dim_cols(scale) > 1 && groups != 0 && groups != in && in % groups == 0
        && (claims_is_forced(f->claims, f->scheme->code) || config_method_is(f->claims->config, quark));
}

static bool
transposed_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *codes = f->codes, *scale = w->part[SCALE], *zero = w->part[ZERO];
    const uint64_t dim[2] = { dim_cols(codes), dim_rows(codes) };
    struct int8 *own = claims_alloc(f->claims, sizeof *own, err);
    if (!own)
        return false;
    if (zero && !dim_same_shape(zero, scale))
        return table_wrong(zero, codes, err, "the shape of weight_scale");
    *own = (struct int8){ .blocks = { .rows = dim[0], .cols = dim[1], .b0 = 1, .b1 = num_max(dim[1] / dim_rows(scale), 1) },
        .open = scale->dtype == DTYPE_F64 ? "with scales of F64" : w->part[SMOOTH] ? "with pre_quant_scale" : NULL };
    w->own = own;
    w->vague = own->open != NULL;
    return claims_shape(f->claims, w, 0, dim, 2, err);
}

static uint64_t
transposed_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct blocks *b = &((const struct int8 *)d->w->own)->blocks;
    struct codes_piece *p = codes_begin(d, at, count, b->cols, b->b1);
    uint64_t row = p->row - d->first / b->cols, g = p->col / b->b1;
    const uint8_t *scales = decoding_unit(d, SCALE, row), *zeros = d->w->part[ZERO] ? decoding_unit(d, ZERO, row) + g : NULL;
    for (size_t i = 0; i < p->groups; i++) {
        p->scales[i] = scale_value(d->w->part[SCALE]->dtype, scales, g + i);
        if (zeros)
            p->zeros[i] = (int8_t)zeros[i];
        else
            p->zeros[i] = 0;
    }
    return codes_emit(p, d, decoding_unit(d, CODES, row) + p->col, true, zeros != NULL, y);
}

static void
int8_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct int8 *own = w->own;
    blocks_describe(&own->blocks, own->open, buf, 0);
}

static void
int8_variant(const struct weight *w, char buf[SCHEME_WORD])
{
    const struct blocks *b = &((const struct int8 *)w->own)->blocks;
    if (b->b1 < b->cols)
        snprintf(buf, SCHEME_WORD, "int8-block");
    else if (((const struct int8 *)w->own)->modelslim)
        snprintf(buf, SCHEME_WORD, "modelslim-w8a8");
}

static void
int8_grid(const struct weight *w, struct weight_grid *g)
{
    const struct blocks *b = &((const struct int8 *)w->own)->blocks;
    if (!w->part[SMOOTH])
        codes_grid(g, 8, b->b1, w->part[SCALE], w->part[ZERO]);
}

#define INT8_PARTS COMPANION(".weight_scale", FLOAT, EVIDENCE, SCALE, .part = SCALE), \
    COMPANION(".weight_zero_point", IS(I8), OPTIONAL, ZERO_POINT, .part = ZERO), \
    COMPANION(".pre_quant_scale", FLOAT_16, OPTIONAL, SCALE, .part = SMOOTH), \
    COMPANION(".weight_offset", FLOAT, OPTIONAL, ZERO_POINT)

#define INT8_ROWS(is_) ROWS({ .codes = ".weight", .dtypes = IS(I8), .becomes = ".weight", .is = is_, WITH(INT8_PARTS), \
    ALSO(BELONGS(".deq_scale", ACTIVATION)) })

const struct scheme int8_schemes[] = {
    {
        .code = "int8-quark",
        .name = "Quark INT8",
        INT8_ROWS(is_transposed),
        .fit = transposed_fit,
        .need = { [CODES] = NEED_STRIP, [SCALE] = NEED_STRIP, [ZERO] = NEED_STRIP, [SMOOTH] = NEED_WHOLE },
        .strip = table_strip,
        .room = sizeof(struct codes_piece),
        .decode = transposed_decode,
        .describe = int8_describe,
        .grid = int8_grid,
    },
    {
        .code = "int8-channel",
        .name = "INT8",
        WORDS({ WORD_FORMAT, "int-quantized" }, { WORD_ALGO, "W8A16" }, { WORD_ALGO, "W8A8_SQ_PER_CHANNEL" },
            { WORD_ALGO, "INT8_SQ" }, { WORD_ALGO, "INT8_WO" }, { WORD_METHOD, "experts_int8" },
            { WORD_METHOD, "w8a8_int8" }, { WORD_DESCRIPTION, "W8A8_DYNAMIC" }, { WORD_DESCRIPTION, "W8A16" },
            { WORD_DESCRIPTION, "W8A8_MIX" }, { WORD_DESCRIPTION, "W4A4_DYNAMIC" }, { WORD_DESCRIPTION, "W4A16" },
            { WORD_DESCRIPTION, "W4A8_DYNAMIC" }, { WORD_DESCRIPTION, "W8A8" }),
        INT8_ROWS(NULL),
        .fit = int8_fit,
        .need = { [CODES] = NEED_RUN, [SCALE] = NEED_RUN, [ZERO] = NEED_RUN, [SMOOTH] = NEED_RUN },
        .run = int8_run,
        .room = sizeof(struct codes_piece),
        .decode = int8_decode,
        .describe = int8_describe,
        .grid = int8_grid,
        .variant = int8_variant,
    },
    { 0 },
};
