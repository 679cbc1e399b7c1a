/* ModelOpt INT4 (W4A16_AWQ, W4A8_AWQ): a row of bytes holds two rows of codes. The tensors of a module P, whose decoded
 * weight is [out, in]; for stacked experts, each has their number as its first dimension:
 *
 *     P.weight              U8 [out/2, in]: the low nibbles are row 2r, the high ones row 2r + 1; two's complement
 *     P.weight_scale        F16, BF16, F32 [out, in/group]
 *     P.weight_scale_2      W4A8 only: the scale of the FP8 values that its kernel computes; not needed here
 *     P.pre_quant_scale     [in]: see smooth.h
 *
 *     V[o][i] = RN32(q * weight_scale[o][i / group])
 *
 * Source: modelopt torch/export/quant_utils.py, pack_int4_in_uint8 and get_weight_scaling_factor.
 */
#include <stdio.h>
#include <string.h>

#include "scheme/codes.h"
#include "scheme/dim.h"
#include "scheme/smooth.h"

enum { CODES, SCALE, SMOOTH };                          /* parts */

enum { RANK_MAX = 3 };

struct int4 {
    struct blocks blocks;
    const char *open;                                   /* why it cannot be decoded, or NULL */
};

static bool
is_int4(const struct table_match *f)
{
    const struct tensor *scale = f->with[0];
    bool gemma = claims_find(f->claims, f->base.base, f->base.base_len, ".input_activation_scale") != NULL;
    return !gemma && dim_same_experts(scale, f->codes) && dim_rows(scale) != 0 && dim_rows(scale) % 2 == 0
        && dim_rows(scale) / 2 == dim_rows(f->codes);
}

static bool
int4_modelopt_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *codes = f->codes, *scale = w->part[SCALE];
    uint32_t rank = codes->shape.rank;
    struct int4 *own = claims_alloc(f->claims, sizeof *own, err);
    const uint64_t dim[2] = { dim_rows(scale), dim_cols(codes) };
    enum blocks_result result;
    if (!own)
        return false;
    if (rank > RANK_MAX)
        return table_wrong(codes, codes, err, "INT4 codes [out/2, in]");
    if (!blocks_find(&own->blocks, &result, f, scale, dim[0], dim[1], err))
        return false;
    if (result == BLOCKS_WRONG)
        return table_wrong(scale, codes, err, "groups that cover the columns");
    own->open = blocks_open(result, scale, "groups not given by config.json (--config)");
    if (!own->open && table_found(f, ROLE_ZERO_POINT))
        own->open = "with zero points";
    w->own = own;
    w->vague = own->open != NULL;
    return claims_shape(f->claims, w, rank - 2, dim, 2, err) && smooth_check(w->part[SMOOTH], codes, dim[1], err);
}

/* Returns whole rows of bytes; for a run within one row, only the columns it touches. */
static void
int4_modelopt_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct blocks *b = &((const struct int4 *)w->own)->blocks;
    uint64_t last = first + count - 1, row = first / b->cols, end = last / b->cols;
    if (part == SCALE) {
        blocks_span(s, b, w->part[SCALE], first, count);
    } else if (part == SMOOTH) {
        smooth_run(s, w->part[SMOOTH], b->cols, first, count);
    } else {
        s->at = row / 2 * b->cols + (row == end ? first % b->cols : 0);
        s->len = end / 2 * b->cols + (row == end ? last % b->cols + 1 : b->cols) - s->at;
    }
}

/* Adds 8 to codes in two's complement. The buffer consists of whole words. */
static void
add8(uint8_t codes[CODES_STEP], size_t n)
{
    for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, codes + i, sizeof word);
        word ^= UINT64_C(0x0808080808080808);
        memcpy(codes + i, &word, sizeof word);
    }
}

static uint64_t
int4_modelopt_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct blocks *b = &((const struct int4 *)d->w->own)->blocks;
    struct codes_piece *p = codes_begin(d, at, count, b->cols, b->b1);
    p->smooth = SMOOTH;
    p->narrow = true;
    codes_scales(p, d, b, SCALE);
    codes_fill_zeros(p, 8);
    d->k->bits_lane(p->codes, decoding_bytes(d, CODES, p->row / 2 * b->cols + p->col), p->n, 1, p->row % 2 * 4, 4);
    add8(p->codes, p->n);
    return codes_emit(p, d, p->codes, false, true, y);
}

static void
int4_modelopt_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct int4 *own = w->own;
    blocks_describe(&own->blocks, own->open, buf, 0);
}

const struct scheme int4_modelopt_schemes[] = {
    {
        .code = "int4-modelopt",
        .name = "ModelOpt INT4",
        WORDS({ WORD_ALGO, "W4A16_AWQ" }, { WORD_ALGO, "W4A8_AWQ" }, { WORD_ALGO, "INT4_AWQ" }),
        ROWS({ .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .is = is_int4, WITH(COMPANION(".weight_scale", FLOAT, EVIDENCE, SCALE, .part = SCALE),
            COMPANION(".weight_scale_2", FLOAT, OPTIONAL, SCALE),
            COMPANION(".pre_quant_scale", FLOAT_16, OPTIONAL, SCALE, .part = SMOOTH),
            COMPANION(".weight_zero_point", ANY, OPTIONAL, ZERO_POINT)) }),
        .fit = int4_modelopt_fit,
        .need = { [CODES] = NEED_AGAIN, [SCALE] = NEED_RUN, [SMOOTH] = NEED_RUN },
        .run = int4_modelopt_run,
        .room = sizeof(struct codes_piece),
        .decode = int4_modelopt_decode,
        .describe = int4_modelopt_describe,
    },
    { 0 },
};
