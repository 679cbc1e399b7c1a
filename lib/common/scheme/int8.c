/* INT8: codes of a byte each, as compressed-tensors (int-quantized, naive-quantized), ModelOpt and Quark store them. The
 * tensors of a module P:
 *
 *     P.weight               I8 [out, in], two's complement; codes of fewer bits may lie so, too
 *     P.weight_scale         F16, BF16, F32: blocks.h
 *     P.weight_zero_point    I8, like the scale; absent where the model is symmetric
 *     P.pre_quant_scale      [in], of ModelOpt: smooth.h
 *
 *     V[o][i] = RN32((weight[o][i] - zero_point) * scale)
 *
 * Sources: compressed_tensors quantization/lifecycle/forward_helpers.py, _dequantize; modelopt
 * torch/export/quant_utils.py, to_quantized_weight.
 */
#include <stdio.h>

#include "scheme/codes.h"
#include "scheme/dim.h"
#include "scheme/smooth.h"

enum { CODES, SCALE, ZERO, SMOOTH };                    /* parts */

struct int8 {
    struct blocks blocks;
    const char *open;                                   /* why it cannot be decoded, or NULL */
};

static bool
fit(struct found *f, struct weight *w, struct err *err)
{
    const struct tensor *codes = f->codes, *scale = w->part[SCALE], *zero = w->part[ZERO];
    struct int8 *own = claims_alloc(f->claims, sizeof *own, err);
    enum blocks_told told = BLOCKS_WRONG;
    if (!own)
        return false;
    w->own = own;
    if (codes->shape.rank < 2)
        return table_wrong(codes, codes, err, "INT8 codes [out, in]");
    if (!blocks_find(&own->blocks, &told, f, scale, dim_rows(codes), dim_cols(codes), err))
        return false;
    if (told == BLOCKS_WRONG)
        return table_wrong(scale, codes, err, "one, one a row, or groups or blocks of INT8");
    if (zero && !dim_same_shape(zero, scale))
        return table_wrong(zero, codes, err, "the shape of weight_scale of INT8");
    own->open = told == BLOCKS_OPEN ? "in blocks as config.json says (--config)"
        : scale->dtype == DTYPE_F64 ? "with scales of F64" : NULL;
    w->vague = own->open != NULL;
    return codes_check_zeros(f, zero, err) && smooth_check(w->part[SMOOTH], codes, dim_cols(codes), err);
}

static void
run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct int8 *own = w->own;
    if (part == CODES)
        *s = (struct span){ .at = first, .len = count };
    else if (part == SMOOTH)
        smooth_run(s, w->part[SMOOTH], own->blocks.cols, first, count);
    else
        blocks_span(s, &own->blocks, w->part[part], first, count);
}

static void
decode(const struct weight *w, const struct kernels *k, const struct part_bytes in[SCHEME_PARTS], uint64_t first,
    uint64_t count, enum dtype to, void *out)
{
    const struct blocks *b = &((const struct int8 *)w->own)->blocks;
    struct codes_target t = { .k = k, .to = to, .smooth = w->part[SMOOTH], .factors = in[SMOOTH].p };
    struct codes_piece p;
    const uint8_t *codes = in[CODES].p, *zeros = in[ZERO].p;
    uint8_t *y = out;
    uint64_t from, ignored;
    blocks_run(b, first, count, &from, &ignored);
    smooth_columns(b->cols, first, count, &t.smooth_from, &ignored);
    for (uint64_t at = first; count != 0; at += p.n, count -= p.n, codes += p.n) {
        codes_begin(&p, at, count, b->cols, b->b1);
        codes_scales(&p, b, w->part[SCALE], in[SCALE].p, from);
        for (size_t i = 0; zeros && i < p.groups; i++)
            p.zeros[i] = (int8_t)zeros[blocks_at(b, p.row, p.col) - from + i];
        codes_emit(&p, &t, codes, true, zeros != NULL, y);
        y += p.n * dtype_facts(to)->bytes;
    }
}

static void
describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct int8 *own = w->own;
    if (own->open)
        snprintf(buf, SCHEME_DETAIL, "%s", own->open);
    else
        blocks_describe(&own->blocks, buf, 0);
}

const struct scheme int8_schemes[] = {
    {
        .code = "int8",
        .name = "INT8",
        ROWS({ .codes = ".weight", .dtypes = IS(I8), .becomes = ".weight", .beside = {
            BESIDE(".weight_scale", FLOAT, EVIDENCE, SCALE, .part = SCALE),
            BESIDE(".weight_zero_point", IS(I8), OPTIONAL, ZERO_POINT, .part = ZERO),
            BESIDE(".pre_quant_scale", SMOOTH_TYPES, OPTIONAL, SCALE, .part = SMOOTH) } }),
        .fit = fit,
        .need = { [CODES] = NEED_RUN, [SCALE] = NEED_RUN, [ZERO] = NEED_RUN, [SMOOTH] = NEED_RUN },
        .run = run,
        .decode = decode,
        .describe = describe,
    },
    { 0 },
};
