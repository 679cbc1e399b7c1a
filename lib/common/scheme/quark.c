/* Quark's integers of 4 bits, eight codes in a word, and UINT8. For a module P:
 *
 *     per_group      P.weight               I32 [in, ceil(out/8)]     words of neighbouring outputs
 *                    P.weight_scale         F16, BF16, F32 [G, out]
 *                    P.weight_zero_point    I32 [G, ceil(out/8)]      packed like the codes; absent: zeros
 *     per_channel    P.weight               I32 [out, ceil(in/8)]     words of neighbouring inputs
 *                    P.weight_scale         [out]; per_tensor: one
 *                    P.weight_zero_point    I32 [ceil(out/8)]
 *
 *     V[o][i] = RN32((code - zero_point) * scale), in two's complement for int4
 *
 * A word has its codes in order, from the low bits, or with pack_method "reorder" in the order 0 2 4 6 1 3 5 7. Type, scheme and
 * order are only in config.json. UINT8 is P.weight U8 with a float P.weight_scale and optionally P.weight_zero_point; how the
 * zero point is applied and how groups are laid out is not documented well enough to decode it.
 * Sources: quark torch/utils/pack.py, torch/export/nn/modules/realquantizer.py, torch/export/main_export/
 * quant_config_parser.py, get_layer_quant_config.
 */
#include "scheme/quark.h"

#include <stdio.h>
#include <string.h>

#include "base/matcher.h"
#include "base/num.h"
#include "base/str.h"
#include "kernel/bits.h"
#include "scheme/codes.h"
#include "scheme/declared.h"
#include "scheme/dim.h"
#include "scheme/modules.h"
#include "scheme/scale.h"
#include "scheme/zeros.h"

/* --- config.json */

static const json_t *
weight_of(const json_t *quant_config)
{
    const json_t *weight = json_object_get(quant_config, "weight");
    if (json_is_array(weight))
        return json_array_get(weight, 0);
    return weight;
}

const char *
quark_text(const json_t *weight, const char *key)
{
    return json_string_value(json_object_get(weight, key));
}

bool
quark_weight(const struct claims *c, const struct tensor *codes, const json_t **weight, struct err *err)
{
    const json_t *block = config_block(c->config), *layers = json_object_get(block, "layer_quant_config");
    struct modules_cost *cost = config_cost(c->config);
    struct part_name module = claims_module_name(codes);
    const char *pattern;
    json_t *own;
    *weight = weight_of(json_object_get(block, "global_quant_config"));
    if (json_object_size(json_object_get(block, "layer_type_quant_config")) != 0)
        *weight = NULL;
    json_object_foreach((json_t *)layers, pattern, own) {
        struct matcher m;
        size_t n = strlen(pattern);
        cost->steps -= num_min(cost->steps, n + 1);
        bool known = matcher_read(&m, pattern, n, true);
        bool named = known && matcher_match(&m, module.base, module.base_len, &cost->steps);
        if (!modules_cost_left(cost, err))
            return false;
        if (!known || named) {
            if (known)
                *weight = weight_of(own);
            else
                *weight = NULL;
            return true;
        }
    }
    return true;
}

/* --- eight bits, which are not decoded */

static enum claim
choose_uint8(struct table_match *f, struct weight *w, struct err *err)
{
    static const char *const methods[] = { "quark", NULL };
    const json_t *weight;
    if (!config_method_is(f->claims->config, methods))
        return CLAIM_NO;
    if (!quark_weight(f->claims, f->codes, &weight, err))
        return CLAIM_FAIL;
    const char *dtype = quark_text(weight, "dtype");
    if (dtype && strcmp(dtype, "uint8") == 0)
        return table_match(f, w, err);
    return CLAIM_NO;
}

/* --- four bits */

enum { CODES, SCALE, ZERO };                            /* parts */

struct quark_int4 {
    struct blocks blocks;
    const char *open;                                   /* why it cannot be decoded, or NULL */
    bool is_signed, reordered;
};

/* Returns true if the weights of a declaration are stored [out, in]. */
static bool
is_upright(const json_t *weight)
{
    const char *qscheme = quark_text(weight, "qscheme");
    return qscheme && (strcmp(qscheme, "per_channel") == 0 || strcmp(qscheme, "per_tensor") == 0);
}

/* Claims a weight for the scheme that reads its orientation: words of outputs are columns of a strip, words of inputs a run. */
static enum claim
choose_int4(struct table_match *f, struct weight *w, struct err *err)
{
    static const char *const methods[] = { "quark", NULL };
    const json_t *weight;
    char name[STR_SHOWN];
    if (!quark_weight(f->claims, f->codes, &weight, err))
        return CLAIM_FAIL;
    if (config_method_is(f->claims->config, methods) && !claims_find(f->claims, f->base.base, f->base.base_len, ".weight_scale")
            && !claims_is_report_on_shard(f->claims)) {
        claims_missing(f->claims, f->codes->extent.at, err, "tensor %s: quantized (%s), but has no weight_scale",
            str_shown(name, f->codes->name, f->codes->name_len), f->scheme->name);
        return CLAIM_FAIL;
    }
    f->hint = weight;
    if (is_upright(weight) == (f->scheme->run != NULL))
        return table_match(f, w, err);
    return CLAIM_NO;
}

/* Reads type and order from config.json. Sets own->open if they are not there. */
static void
read_declared(struct quark_int4 *own, const struct table_match *f, const struct weight *w)
{
    const json_t *weight = f->hint, *export = json_object_get(config_block(f->claims->config), "export");
    const char *dtype = quark_text(weight, "dtype"), *qscheme = quark_text(weight, "qscheme");
    const char *order = quark_text(export, "pack_method");
    own->is_signed = dtype && strcmp(dtype, "int4") == 0;
    own->reordered = order && strcmp(order, "reorder") == 0;
    if (!dtype || !qscheme || !order)
        own->open = "dtype, qscheme or pack_method not given by config.json (--config)";
    else if (!own->is_signed && strcmp(dtype, "uint4") != 0)
        own->open = "of another dtype than int4 and uint4";
    else if (strcmp(qscheme, "per_group") != 0 && !is_upright(weight))
        own->open = "of another qscheme than per_group and per_channel";
    else if (w->part[SCALE]->dtype == DTYPE_F64)
        own->open = "with scales of F64";
    else if (w->part[ZERO] && w->part[ZERO]->dtype != DTYPE_I32)
        own->open = "with zero points that are not packed";
}

/* Completes the numbers of a weight and its shape. */
static bool
quark_keep(struct table_match *f, struct weight *w, const struct quark_int4 *numbers, struct err *err)
{
    const uint64_t dim[2] = { numbers->blocks.rows, numbers->blocks.cols };
    struct quark_int4 *own = claims_alloc(f->claims, sizeof *own, err);
    char name[STR_SHOWN];
    if (!own)
        return false;
    if (!w->part[ZERO] && json_is_false(json_object_get(f->hint, "symmetric")) && !claims_is_report_on_shard(f->claims))
        return claims_missing(f->claims, f->codes->extent.at, err, "tensor %s: %s has no weight_zero_point, but config.json declares it "
            "(symmetric: false)", str_shown(name, f->codes->name, f->codes->name_len), f->scheme->name);
    bool zero = false;
    *own = *numbers;
    read_declared(own, f, w);
    if (!own->open && own->is_signed && w->part[ZERO] && !zeros_test(f->claims, w->part[ZERO], &zero, err))
        return false;
    if (zero)                   /* the loader wants them, even if they say nothing */
        w->part[ZERO] = NULL;
    w->own = own;
    w->vague = own->open != NULL;
    return claims_shape(f->claims, w, 0, dim, 2, err);
}

static bool
fit_groups(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *codes = f->codes, *scale = w->part[SCALE], *zero = w->part[ZERO];
    uint64_t in = dim_rows(codes), groups = dim_rows(scale), declared;
    struct quark_int4 own = { .blocks = { .rows = dim_cols(scale), .cols = in, .b0 = 1 } };
    if (codes->shape.rank != 2 || scale->shape.rank != 2 || num_ceil_div(dim_cols(scale), 8) != dim_cols(codes)
        || (groups == 0) != (in == 0))
        return table_wrong(scale, codes, err, "[G, out] for codes [in, ceil(out/8)]");
    if (zero && zero->dtype == DTYPE_I32 && (dim_rows(zero) != groups || dim_cols(zero) != dim_cols(codes)))
        return table_wrong(zero, codes, err, "[G, ceil(out/8)]");
    if (!declared_groups(&declared, &f->doubt, f->claims, &f->base, scale, in, groups, err))
        return false;
    if (declared == 0 && !f->doubt && groups != 0 && in % groups != 0)
        return table_wrong(scale, codes, err, "[G, out] with G dividing in");
    if (declared != 0)
        own.blocks.b1 = declared;
    else
        own.blocks.b1 = num_max(in / num_max(groups, 1), 1);
    return quark_keep(f, w, &own, err);
}

static bool
fit_channels(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *codes = f->codes, *scale = w->part[SCALE], *zero = w->part[ZERO];
    struct quark_int4 own = { .blocks = { .rows = dim_rows(codes), .b0 = 1 } };
    bool each = dim_cols(scale) == dim_rows(codes) && !dim_is_one(scale);
    if (codes->shape.rank != 2 || !num_mul(&own.blocks.cols, dim_cols(codes), 8))
        return table_wrong(codes, codes, err, "[out, in/8]");
    if (scale->shape.rank > 1 || !(each || dim_is_one(scale)))
        return table_wrong(scale, codes, err, "[out], or one scale");
    uint64_t words = 1;
    if (each)
        words = num_ceil_div(dim_cols(scale), 8);
    if (zero && zero->dtype == DTYPE_I32 && (zero->shape.rank != 1 || dim_cols(zero) != words))
        return table_wrong(zero, codes, err, "[ceil(out/8)]");
    own.blocks.b1 = num_max(own.blocks.cols, 1);
    own.blocks.per_row = each;
    return quark_keep(f, w, &own, err);
}

static void
strip(struct strip *s, const struct weight *w, unsigned part)
{
    table_strip(s, w, part);
    if (part != SCALE) {
        s->unit_rows = 8;
        s->unit_bytes = 4;
    }
}

/* Returns the place of code i of a word, in bits. */
static unsigned
shift_of(const struct quark_int4 *own, uint64_t i)
{
    static const uint8_t reordered[8] = { 0, 16, 4, 20, 8, 24, 12, 28 };
    if (own->reordered)
        return reordered[i % 8];
    return (unsigned)(i % 8 * 4);
}

/* Returns a code from its word, with the sign flipped if it is signed, so that 0 is stored as 8. */
static unsigned
quark_code_of(const struct quark_int4 *own, const uint8_t *word, uint64_t i)
{
    unsigned shift = shift_of(own, i);
    return (word[shift / 8] >> shift % 8 & 15) ^ (own->is_signed ? 8U : 0);
}

/* Returns the code of 0 without a zero point. */
static unsigned
no_zero(const struct quark_int4 *own)
{
    if (own->is_signed)
        return 8;
    return 0;
}

static uint64_t
decode_groups(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct quark_int4 *own = d->w->own;
    uint64_t cols = own->blocks.cols, top = d->first / cols;
    struct codes_piece *p = codes_begin(d, at, count, cols, own->blocks.b1);
    uint64_t unit = p->row / 8 - top / 8, g = p->col / own->blocks.b1;
    const uint8_t *scales = decoding_unit(d, SCALE, p->row - top);
    const uint8_t *zeros = NULL;
    if (d->w->part[ZERO])
        zeros = decoding_unit(d, ZERO, unit);
    p->narrow = true;
    for (size_t i = 0; i < p->groups; i++) {
        p->scales[i] = scale_value(d->w->part[SCALE]->dtype, scales, g + i);
        if (zeros)
            p->zeros[i] = (float)quark_code_of(own, zeros + (g + i) * 4, p->row);
        else
            p->zeros[i] = (float)no_zero(own);
    }
    d->k->bits_lane(p->codes, decoding_unit(d, CODES, unit) + p->col * 4, p->n, 4, shift_of(own, p->row), 4);
    if (own->is_signed)
        codes_flip(p);
    return codes_emit(p, d, p->codes, false, true, y);
}

static void
quark_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct quark_int4 *own = w->own;
    if (part == CODES)
        *s = (struct span){ .at = first / 8 * 4, .len = (num_ceil_div(first + count, 8) - first / 8) * 4 };
    else
        blocks_span(s, &own->blocks, w->part[part], first, count);
}

static uint64_t
decode_channels(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct quark_int4 *own = d->w->own;
    struct codes_piece *p = codes_begin(d, at, count, own->blocks.cols, own->blocks.b1);
    uint64_t scale = own->blocks.per_row * p->row;
    codes_scales(p, d, &own->blocks, SCALE);
    const uint8_t *x = decoding_bytes(d, CODES, at / 8 * 4);
    unsigned zero = d->w->part[ZERO] ? quark_code_of(own, d->in[ZERO].p + scale / 8 * 4, scale) : no_zero(own);
    codes_fill_zeros(p, (float)((int)zero - (int)no_zero(own)));
    if (own->reordered) {
        bits_order(p->codes, x, (size_t)num_ceil_div(at % 8 + p->n, 8));
        x = p->codes;
    }
    return codes_emit4(p, d, x + at % 8 / 2, own->is_signed, y);
}

static void
quark_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct quark_int4 *own = w->own;
    int n = 0;
    if (!own->open)
        n = snprintf(buf, SCHEME_DETAIL, "%s, %s, ", own->is_signed ? "int4" : "uint4", own->reordered ? "reorder" : "order");
    blocks_describe(&own->blocks, own->open, buf, n);
}

static void
quark_grid(const struct weight *w, struct weight_grid *g)
{
    const struct quark_int4 *own = w->own;
    codes_grid(g, 4, own->blocks.b1, w->part[SCALE], w->part[ZERO]);
}

static void
quark_variant(const struct weight *w, char buf[SCHEME_WORD])
{
    const struct quark_int4 *own = w->own;
    if (!own->open && own->is_signed && own->reordered && !w->part[ZERO] && w->scheme->strip)
        snprintf(buf, SCHEME_WORD, "quark-int4");
}

/* What the two schemes share. */
#define INT4 .name = "Quark INT4", .room = sizeof(struct codes_piece), .describe = quark_describe, .grid = quark_grid, .variant = quark_variant, \
    ROWS({ .codes = ".weight", .dtypes = IS(I32), .becomes = ".weight", .choose = choose_int4, \
    WITH(COMPANION(".weight_scale", FLOAT, NAMED, SCALE, .part = SCALE), \
    COMPANION(".weight_zero_point", DTYPE_SET(HAS(I32), HAS_FLOAT_16, HAS(F64)), OPTIONAL, ZERO_POINT, .part = ZERO)) })

const struct scheme quark_schemes[] = {
    {
        .code = "int4-quark",
        INT4,
        .fit = fit_groups,
        .need = { [CODES] = NEED_STRIP, [SCALE] = NEED_STRIP, [ZERO] = NEED_STRIP },
        .strip = strip,
        .decode = decode_groups,
    },
    {
        .code = "int4-quark-channel",
        INT4,
        .fit = fit_channels,
        .need = { [CODES] = NEED_RUN, [SCALE] = NEED_RUN, [ZERO] = NEED_WHOLE },
        .run = quark_run,
        .decode = decode_channels,
    },
    RECOGNISED("uint8-quark", "Quark UINT8", {
        .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .choose = choose_uint8, WITH(COMPANION(".weight_scale", FLOAT, EVIDENCE, SCALE),
            COMPANION(".weight_zero_point", ANY, OPTIONAL, ZERO_POINT)) }),
    { 0 },
};
