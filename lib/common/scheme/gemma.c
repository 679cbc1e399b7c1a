/* Gemma's integers (quant_method "gemma"): codes of 2, 4 or 8 bits with a scale for each row. The tensors of a module P:
 *
 *     P.weight                 U8 [out, ceil(in*bits/8)], the low bits of a byte first, code + 2^(bits-1); 8 bits: I8 [out, in]
 *     P.weight_scale           F32 [out, 1]
 *     P.embedding_quantized    the same for an embedding, with P.embedding_scale [rows, blocks]; it becomes P.weight
 *     P.input_activation_scale, P.output_activation_scale
 *
 *     V[o][i] = RN32(integer * scale)
 *
 * config.json gives the bits: num_bits of the expression in module_quant_configs that matches the name of the module
 * furthest to the left (of several at one place the first), or else num_bits of the block. Source: transformers
 * integrations/gemma_quant.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/matcher.h"
#include "base/num.h"
#include "base/str.h"
#include "scheme/codes.h"
#include "scheme/dim.h"
#include "scheme/modules.h"
#include "scheme/table.h"

enum { CODES, SCALE };                                  /* parts */

struct gemma {
    struct blocks blocks;
    uint64_t width;                                     /* bytes of a row */
    uint32_t bits;                                      /* 0: unknown */
};

/* --- recognition */

/* Finds the bits that config.json declares for a module. 0 if an expression is not supported, or for other numbers than 2, 4
 * and 8. */
static bool
find_bits(const struct claims *c, const struct part_name *module, uint32_t *bits, struct err *err)
{
    const json_t *block = config_block(c->config), *all = json_object_get(block, "module_quant_configs");
    const json_t *number = json_object_get(block, "num_bits");
    struct modules_cost *cost = config_cost(c->config);
    size_t first = SIZE_MAX, at;
    const char *pattern;
    json_t *own;
    *bits = 0;
    json_object_foreach((json_t *)all, pattern, own) {
        struct matcher m;
        size_t n = strlen(pattern);
        cost->steps -= num_min(cost->steps, n + 1);
        if (!matcher_read(&m, pattern, n, false))
            return true;
        bool found = matcher_find(&m, module->base, module->base_len, &at, &cost->steps);
        if (!modules_cost_left(cost, err))
            return false;
        if (!found || at >= first)
            continue;
        first = at;
        number = json_object_get(own, "num_bits");
        if (!number)
            number = json_object_get(block, "num_bits");
    }
    json_int_t value = 4;
    if (number)
        value = json_integer_value(number);
    if (value == 2 || value == 4 || value == 8)
        *bits = (uint32_t)value;
    else
        *bits = 0;
    return true;
}

static enum claim
gemma_choose(struct table_match *f, struct weight *w, struct err *err)
{
    static const char *const methods[] = { "gemma", NULL };
    char name[STR_SHOWN];
    if (!config_method_is(f->claims->config, methods))
        return CLAIM_NO;
    enum claim claim = table_match(f, w, err);
    if (claim == CLAIM_NO && !claims_is_report_on_shard(f->claims)) {
        claims_missing(f->claims, f->codes->extent.at, err, "tensor %s: %s, but has no weight_scale in floats",
            str_shown(name, f->codes->name, f->codes->name_len), dtype_name(f->codes->dtype));
        return CLAIM_FAIL;
    }
    return claim;
}

/* Claims the factors of Gemma's audio quantizer, which nothing is known to apply. */
static enum claim
choose_factors(struct table_match *f, struct weight *w, struct err *err)
{
    static const char *const methods[] = { "gemma", NULL };
    if (config_method_is(f->claims->config, methods))
        return table_match(f, w, err);
    return CLAIM_NO;
}

/* Returns the columns of a row of `width` bytes: all that it holds, unless a size of the model ends in its last byte. */
static uint64_t
columns(const struct claims *c, uint64_t width, uint32_t per)
{
    static const enum config_size sizes[] = { CONFIG_HIDDEN, CONFIG_INTERMEDIATE };
    uint64_t most = width * per;        /* does not overflow: per is 1, or the tensor has width bytes a row */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t size = config_size(c->config, sizes[i]);
        if (size < most && num_ceil_div(size, per) == width)
            return size;
    }
    return most;
}

static bool
gemma_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *codes = f->codes, *scale = w->part[SCALE];
    struct gemma *own = claims_alloc(f->claims, sizeof *own, err);
    if (!own)
        return false;
    *own = (struct gemma){ .width = dim_cols(codes) };
    w->own = own;
    if (!find_bits(f->claims, &f->base, &own->bits, err))
        return false;
    w->vague = own->bits == 0;
    if (codes->shape.rank != 2)
        return table_wrong(codes, codes, err, "[out, in*bits/8]");
    if (!w->vague && (codes->dtype == DTYPE_I8) != (own->bits == 8))
        return table_wrong(codes, codes, err, "%s for the %" PRIu32 " bits that config.json declares",
            own->bits == 8 ? "I8" : "U8", own->bits);
    uint64_t cols = columns(f->claims, own->width, w->vague ? 1 : 8 / own->bits), blocks = dim_cols(scale);
    if (scale->shape.rank != 2 || dim_rows(scale) != dim_rows(codes) || blocks == 0 || cols % blocks != 0)
        return table_wrong(scale, codes, err, "[out, 1], or blocks that divide a row");
    own->blocks = (struct blocks){ .rows = dim_rows(codes), .cols = cols, .b0 = 1, .b1 = num_max(cols / blocks, 1),
        .per_row = blocks };
    return w->vague || table_set_cols(f, w, cols, err);
}

/* --- decoding */

static void
gemma_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct gemma *g = w->own;
    uint64_t last = first + count - 1, per = 8 / g->bits;
    if (part == SCALE) {
        blocks_span(s, &g->blocks, w->part[part], first, count);
        return;
    }
    s->at = first / g->blocks.cols * g->width + first % g->blocks.cols / per;
    s->len = last / g->blocks.cols * g->width + last % g->blocks.cols / per + 1 - s->at;
}

static uint64_t
gemma_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct gemma *g = d->w->own;
    struct codes_piece *p = codes_begin(d, at, count, g->blocks.cols, g->blocks.b1);
    uint64_t per = 8 / g->bits;
    const uint8_t *x = decoding_bytes(d, CODES, p->row * g->width + p->col / per);
    codes_scales(p, d, &g->blocks, SCALE);
    if (g->bits == 8)
        return codes_emit(p, d, x, true, false, y);
    codes_fill_zeros(p, (float)(1U << (g->bits - 1)));
    p->narrow = true;
    d->k->bits_stream(p->codes, x, (size_t)(p->col % per), p->n, g->bits);
    return codes_emit(p, d, p->codes, false, true, y);
}

static void
gemma_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct gemma *g = w->own;
    int n = 0;
    if (!w->vague)
        n = snprintf(buf, SCHEME_DETAIL, "%" PRIu32 "-bit, ", g->bits);
    blocks_describe(&g->blocks, w->vague ? "bits not given by config.json" : NULL, buf, n);
}

static void
gemma_grid(const struct weight *w, struct weight_grid *g)
{
    const struct gemma *own = w->own;
    codes_grid(g, own->bits, own->blocks.b1, w->part[SCALE], NULL);
}

static void
gemma_variant(const struct weight *w, char buf[SCHEME_WORD])
{
    const struct gemma *own = w->own;
    if (own->bits == 4 || own->bits == 8)
        snprintf(buf, SCHEME_WORD, "gemma-%ubit", (unsigned)own->bits);
}

#define BYTES DTYPE_SET(HAS(U8), HAS(I8))

const struct scheme gemma_schemes[] = {
    {
        .code = "gemma",
        .name = "Gemma INT",
        WORDS({ WORD_METHOD, "gemma" }),
        ROWS({ .codes = ".weight", .dtypes = BYTES, .becomes = ".weight", .choose = gemma_choose,
                WITH(COMPANION(".weight_scale", FLOAT_16, EVIDENCE, SCALE, .part = SCALE)) },
            { .codes = ".embedding_quantized", .dtypes = BYTES, .becomes = ".weight", .choose = gemma_choose, .left = LEFT_PACKED,
                WITH(COMPANION(".embedding_scale", FLOAT_16, REQUIRED, SCALE, .part = SCALE, .left = LEFT_SCALES)) }),
        .fit = gemma_fit,
        .need = { [CODES] = NEED_RUN, [SCALE] = NEED_RUN },
        .run = gemma_run,
        .room = sizeof(struct codes_piece),
        .decode = gemma_decode,
        .describe = gemma_describe,
        .variant = gemma_variant,
        .grid = gemma_grid,
    },
    RECOGNISED(NULL, "Gemma's residual quantizer", {
        .codes = ".rqv2_muls", .dtypes = ANY, .becomes = ".rqv2_muls", .choose = choose_factors }),
    RECOGNISED("gemma", "Gemma INT8, INT4 or INT2", {
        .codes = ".weight", .dtypes = BYTES, .becomes = ".weight", WITH(COMPANION(".weight_scale", FLOAT, EVIDENCE, SCALE),
            COMPANION(".input_activation_scale", FLOAT, EVIDENCE, ACTIVATION),
            COMPANION(".output_activation_scale", FLOAT, OPTIONAL, ACTIVATION)) }, {
        .codes = ".embedding_quantized", .dtypes = BYTES, .becomes = ".weight",
        WITH(COMPANION(".embedding_scale", FLOAT, EVIDENCE, SCALE)) }),
    { 0 },
};
