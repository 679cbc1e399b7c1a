/* Blocks of ggml in tensors of bytes, as in safetensors. The tensors of a module P:
 *
 *     GPTQModel     P.qweight    U8 [out, in/n*bytes]     the blocks of a row; config.json gives the type: "format" q_0, q_k_m
 *                                                         and others, and "bits"
 *     ModelOpt      P.weight     U8 [out, in/256, 74]     quant_algo IQ2_XS
 *                   P.weight     U8 [out, in/256, 50]     quant_algo IQ1_S
 *
 * The formulas are the same as in GGUF (ggml.c). Sources: GPTQModel nn_modules/qlinear/gguf.py; ModelOpt torch/export.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/dim.h"
#include "scheme/table.h"

enum { ELEMS = 256 };           /* of a block, at most */

struct ggml_stored {
    enum dtype type;            /* UNKNOWN: not given by config.json */
};

struct ggml_stored_room {
    float v[ELEMS];
};

/* GPTQModel's types. */
static const struct { const char *begin; uint64_t bits; enum dtype type; } gptqmodel_types[] = {
    { "q_0", 4, DTYPE_Q4_0 }, { "q_0", 8, DTYPE_Q8_0 },
    { "q_k", 4, DTYPE_Q4_K }, { "q_k", 5, DTYPE_Q5_K }, { "q_k", 6, DTYPE_Q6_K },
};

/* Returns the type of GPTQModel's blocks, or DTYPE_UNKNOWN. */
static enum dtype
ggml_stored_type_of(const struct config *config)
{
    const json_t *block = config_block(config);
    const char *format = json_string_value(json_object_get(block, "format"));
    if (!format)
        format = json_string_value(json_object_get(block, "checkpoint_format"));
    for (size_t i = 0; format && i < sizeof gptqmodel_types / sizeof *gptqmodel_types; i++)
        if (strncmp(format, gptqmodel_types[i].begin, 3) == 0 && gptqmodel_types[i].bits == config_number(config, "bits"))
            return gptqmodel_types[i].type;
    return DTYPE_UNKNOWN;
}

static bool
ggml_stored_keep(struct table_match *f, struct weight *w, enum dtype type, struct err *err)
{
    struct ggml_stored *own = claims_alloc(f->claims, sizeof *own, err);
    if (!own)
        return false;
    own->type = type;
    w->own = own;
    w->vague = type == DTYPE_UNKNOWN;
    return true;
}

/* Returns true if config.json declares layers with so many inputs. */
static bool
is_declared_size(const struct config *config, uint64_t cols)
{
    return cols == config_size(config, CONFIG_HIDDEN) || cols == config_size(config, CONFIG_INTERMEDIATE);
}

/* Returns true if a row of so many bytes has a size that config.json declares, but only in blocks of another type. */
static bool
is_other_type(const struct config *config, uint64_t bytes, uint64_t cols)
{
    bool other = false;
    for (size_t i = 0; i < sizeof gptqmodel_types / sizeof *gptqmodel_types && !is_declared_size(config, cols) && !other; i++) {
        const struct dtype_facts *facts = dtype_facts(gptqmodel_types[i].type);
        other = bytes % facts->bytes == 0 && is_declared_size(config, bytes / facts->bytes * facts->elems);
    }
    return other;
}

static bool
fit_gptqmodel(struct table_match *f, struct weight *w, struct err *err)
{
    enum dtype type = ggml_stored_type_of(f->claims->config);
    const struct dtype_facts *facts = dtype_facts(type);
    uint64_t bytes = dim_cols(f->codes), cols;
    if (!ggml_stored_keep(f, w, type, err) || w->vague)
        return w->own != NULL;
    if (f->codes->shape.rank != 2 || bytes % facts->bytes != 0 || !num_mul(&cols, bytes / facts->bytes, facts->elems))
        return table_wrong(f->codes, f->codes, err, "whole blocks of %u bytes, as %s has,", facts->bytes, facts->name);
    if (is_other_type(f->claims->config, bytes, cols))
        return table_wrong(f->codes, f->codes, err, "rows of %s that have a size in config.json", facts->name);
    return table_set_cols(f, w, cols, err);
}

static enum claim
choose_gptqmodel(struct table_match *f, struct weight *w, struct err *err)
{
    static const char *const methods[] = { "gguf", NULL };
    if (config_method_is(f->claims->config, methods))
        return table_match(f, w, err);
    return CLAIM_NO;
}

/* Returns the type of ModelOpt's blocks, which their length shows. */
static enum dtype
type_by_length(const struct tensor *codes)
{
    static const enum dtype types[] = { DTYPE_IQ2_XS, DTYPE_IQ1_S };
    for (size_t i = 0; codes->shape.rank == 3 && i < sizeof types / sizeof *types; i++)
        if (dim_cols(codes) == dtype_facts(types[i])->bytes)
            return types[i];
    return DTYPE_UNKNOWN;
}

static enum claim
choose_modelopt(struct table_match *f, struct weight *w, struct err *err)
{
    static const char *const methods[] = { "modelopt", NULL };
    const struct config *config = f->claims->config;
    bool blocks = type_by_length(f->codes) != DTYPE_UNKNOWN || config_says(config, "packing", "ggml");
    if (blocks && config_method_is(config, methods))
        return table_match(f, w, err);
    return CLAIM_NO;
}

static bool
fit_modelopt(struct table_match *f, struct weight *w, struct err *err)
{
    uint64_t dim[2] = { dim_back(f->codes, 2), 0 };
    if (!ggml_stored_keep(f, w, type_by_length(f->codes), err) || w->vague)
        return w->own != NULL;
    uint64_t declared = config_number(f->claims->config, "block_payload_bytes");
    if (declared != 0 && declared != dim_cols(f->codes))
        return table_wrong(f->codes, f->codes, err, "blocks of %" PRIu64 " bytes, as config.json declares,", declared);
    if (!num_mul(&dim[1], dim_rows(f->codes), ELEMS))
        return table_wrong(f->codes, f->codes, err, "fewer than 2^64 elements");
    return claims_shape(f->claims, w, 0, dim, 2, err);
}

static bool
ggml_stored_fit(struct table_match *f, struct weight *w, struct err *err)
{
    if (f->row->choose == choose_modelopt)
        return fit_modelopt(f, w, err);
    return fit_gptqmodel(f, w, err);
}

/* A row consists of whole blocks, so the blocks of all rows follow each other. */
static void
ggml_stored_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct dtype_facts *facts = dtype_facts(((const struct ggml_stored *)w->own)->type);
    uint64_t from = first / facts->elems, to = num_ceil_div(first + count, facts->elems);
    (void)part;
    *s = (struct span){ from * facts->bytes, (to - from) * facts->bytes };
}

static uint64_t
ggml_stored_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    enum dtype type = ((const struct ggml_stored *)d->w->own)->type;
    const struct dtype_facts *facts = dtype_facts(type);
    uint64_t cut = at % facts->elems, whole = count / facts->elems;
    const uint8_t *x = decoding_bytes(d, 0, at / facts->elems * facts->bytes);
    float *v = ((struct ggml_stored_room *)d->room)->v;
    if (cut == 0 && whole != 0) {
        kernels_block(d->k, type, d->to, y, x, (size_t)whole);
        return whole * facts->elems;
    }
    count = num_min(count, facts->elems - cut);
    d->k->block_f32[type](v, x, 1);
    kernels_round(d->k, d->to, y, v + cut, (size_t)count);
    return count;
}

static void
ggml_stored_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    enum dtype type = ((const struct ggml_stored *)w->own)->type;
    snprintf(buf, SCHEME_DETAIL, "%s", w->vague ? "of an unknown type" : dtype_name(type));
}

const struct scheme ggml_stored_schemes[] = {
    {
        .code = "ggml-blocks",
        .name = "blocks of ggml",
        WORDS({ WORD_METHOD, "gguf" }, { WORD_FORMAT, "gguf" }, { WORD_FORMAT, "q_*" }, { WORD_ALGO, "IQ1_S" },
            { WORD_ALGO, "IQ2_XS" }, { WORD_PACKING, "ggml" }),
        ROWS({ .codes = ".qweight", .dtypes = IS(U8), .becomes = ".weight", .choose = choose_gptqmodel, .left = LEFT_PACKED },
            { .codes = ".weight", .dtypes = IS(U8), .becomes = ".weight", .choose = choose_modelopt }),
        .fit = ggml_stored_fit,
        .need = { NEED_RUN },
        .run = ggml_stored_run,
        .room = sizeof(struct ggml_stored_room),
        .decode = ggml_stored_decode,
        .describe = ggml_stored_describe,
    },
    { 0 },
};
