/* GPTQ: codes of 2 to 8 bits with a scale and a zero point for each output column and group of inputs. The tensors of a
 * module P, whose decoded weight is [out, in]:
 *
 *     P.qweight    I32 [in*bits/32, out]     a column is a bit stream, the low bits of a word first, or planar
 *     P.scales     F16, BF16, F32 [G, out]
 *     P.qzeros     I32 [G, out*bits/32]      packed like the codes, along a row; absent or empty if the model is symmetric
 *     P.g_idx      I32 [in]                  optional: the group of each input; negative ones count from the end
 *
 *     V[o][i] = RN32((q[i][o] - z[g][o]) * scales[g][o])         g = g_idx[i], or i / group
 *
 * The stored zero point is z - 1 (v1) or z (v2), as config.json declares; the default is v1. A v1 zero point of 0 wraps
 * within its field. GPTQModel instead subtracts 1 from all fields of a word at once, so that 0 borrows from the next field;
 * its files are decoded accordingly. Sources: AutoGPTQ qlinear_cuda_old.py (pack and forward); GPTQModel utils/model.py,
 * convert_gptq_v2_to_v1_format_module and its inverse.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "kernel/bits.h"
#include "scheme/codes.h"
#include "scheme/declared.h"
#include "scheme/dim.h"
#include "scheme/perm.h"
#include "scheme/scale.h"
#include "scheme/table.h"

enum { CODES, SCALES, ZEROS, G_IDX };                   /* parts */

struct gptq {
    uint64_t in, groups, group;                         /* group: inputs in a group */
    uint32_t bits;
    bool planar, v2;
    bool carries;                                       /* v1, written by subtracting 1 from whole words, not from each field */
    bool shuffled;                                      /* g_idx differs from i / group */
    const char *open;                                   /* why it cannot be decoded, or NULL */
};

/* --- recognition: bits, groups, zero points */

static bool
bits_fit(const struct tensor *codes, const struct tensor *zeros, const struct tensor *g_idx, uint32_t bits)
{
    uint64_t words = dim_rows(codes), out = dim_cols(codes), nbits;
    bool whole = 32 % bits == 0 || (words % bits == 0 && (!zeros || dim_cols(zeros) % bits == 0));     /* 32 at a time */
    return whole && num_mul(&nbits, words, 32) && nbits % bits == 0
        && (!zeros || (num_mul(&nbits, out, bits) && nbits % 32 == 0 && dim_cols(zeros) == nbits / 32))
        && (!g_idx || shape_dim(&g_idx->shape, 0) == words * 32 / bits);
}

/* Companions, in the order of the row. */
enum { WITH_SCALES, WITH_ZEROS, WITH_G_IDX };

/* Returns the zero points; NULL without qzeros, or if it is empty, as some writers of symmetric models leave it. */
static const struct tensor *
zeros_of(const struct table_match *f)
{
    const struct tensor *zeros = f->with[WITH_ZEROS];
    uint64_t numel;
    if (zeros && shape_numel(&zeros->shape, &numel) && numel != 0)
        return zeros;
    return NULL;
}

/* Returns true for shapes that AWQ GEMV can have too: GPTQ in groups of 8 looks like GEMV with 256 inputs in groups of 32,
 * or 128 in groups of 64. */
static bool
may_be_gemv(const struct table_match *f)
{
    const struct tensor *codes = f->codes, *scales = f->with[WITH_SCALES], *zeros = zeros_of(f);
    return zeros && !f->with[WITH_G_IDX] && dim_same_rows(scales, codes) && dim_same_rows(zeros, codes)
        && dim_cols(scales) == 8 * dim_cols(zeros) && (dim_cols(zeros) == 2 || dim_cols(zeros) == 4);
}

static bool
is_gptq(const struct table_match *f)
{
    static const char *const awq[] = { "awq", NULL };
    bool other = may_be_gemv(f) && (claims_is_forced(f->claims, "awq-gemv") || config_method_is(f->claims->config, awq));
    return f->with[WITH_G_IDX]
        || (f->codes->shape.rank == 2 && dim_cols(f->codes) == dim_cols(f->with[WITH_SCALES]) && !other);
}

/* Returns true if some number of bits fits all tensors. */
static bool
gptq_fits(const struct table_match *f)
{
    const struct tensor *scales = f->with[WITH_SCALES], *zeros = zeros_of(f), *g_idx = f->with[WITH_G_IDX];
    if (f->codes->shape.rank != 2 || scales->shape.rank != 2 || dim_cols(scales) != dim_cols(f->codes)
        || (zeros && (zeros->shape.rank != 2 || dim_rows(zeros) != dim_rows(scales))) || (g_idx && g_idx->shape.rank != 1))
        return false;
    uint64_t words = dim_rows(f->codes), groups = dim_rows(scales);
    for (uint32_t bits = 2; bits <= 8; bits++)
        if (bits_fit(f->codes, zeros, g_idx, bits) && groups <= words * 32 / bits && (groups != 0 || words == 0))
            return true;
    return false;
}

/* Finds the number of bits that fits the shapes. If several do, config.json decides. */
static void
find_bits(const struct claims *c, const struct weight *w, struct gptq *q)
{
    uint64_t hint = config_number(c->config, "bits");
    uint32_t fitting = 0;
    for (uint32_t bits = 2; bits <= 8; bits++)
        if (bits_fit(w->part[CODES], w->part[ZEROS], w->part[G_IDX], bits)) {
            fitting++;
            q->bits = q->bits == hint && q->bits != 0 ? q->bits : bits;
        }
    if (fitting > 1 && q->bits != hint)
        q->open = "bits not given by config.json (--config)";
}

/* Returns true if a common group size, with a short last group, gives the same number of groups. */
static bool
another_fits(const struct gptq *q)
{
    for (uint64_t g = 16; g <= 1024; g *= 2)
        if (g != q->group && num_ceil_div(q->in, g) == q->groups)
            return true;
    return false;
}

/* Finds the inputs of a group: those that config.json declares, otherwise an even division. */
static bool
find_group(struct claims *c, struct weight *w, struct gptq *q, struct err *err)
{
    const struct part_name module = claims_module_name(w->part[CODES]);
    uint64_t declared;
    if (!declared_groups(&declared, &w->doubt, c, &module, w->part[SCALES], q->in, q->groups, err))
        return false;
    q->group = num_max(num_ceil_div(q->in, num_max(q->groups, 1)), 1);
    if (declared != 0) {
        q->group = declared;
        return true;
    }
    bool even = q->groups == 0 || q->in % q->groups == 0, usual = (q->group & (q->group - 1)) == 0 || q->groups == 1;
    if (!even || (!usual && another_fits(q)))
        q->open = "group size not given by config.json (--config)";
    return true;
}

static int64_t
g_idx_at(const uint8_t *p, uint64_t i, uint64_t groups)
{
    int64_t g = (int32_t)load_le32(p + 4 * i);
    if (g < 0)
        return g + (int64_t)groups;
    return g;
}

/* Checks that g_idx is within the groups, and whether it reorders inputs at all. All zeros: it does not. */
static bool
read_g_idx(struct claims *c, struct weight *w, struct gptq *q, struct err *err)
{
    const struct tensor *t = w->part[G_IDX];
    bool zero = true, ordered = true;
    uint64_t first = q->in;                             /* of the next group */
    if (!find_group(c, w, q, err))
        return false;
    if (t && !c->contents)      /* its contents will decide */
        q->open = NULL;
    if (!t || !c->contents || q->in == 0)
        return true;
    uint8_t *p = perm_read_groups(c, t, q->in, q->groups, true, err);
    if (!p)
        return false;
    for (uint64_t i = 0; i < q->in; i++) {
        int64_t g = g_idx_at(p, i, q->groups);
        zero = zero && g == 0;
        if (g != 0 && first == q->in)
            first = i;
    }
    if (!zero) {
        q->open = NULL;
        q->group = num_max(first, 1);                   /* the group size if inputs are in order */
    }
    for (uint64_t i = 0; i < q->in; i++)
        ordered = ordered && (uint64_t)g_idx_at(p, i, q->groups) == i / q->group;
    free(p);
    q->shuffled = !zero && !ordered;
    return true;
}

/* Returns true if GPTQModel wrote the model: "meta": { "quantizer": ["gptqmodel:7.7.0"] }, or the string without a list. */
static bool
is_of_gptqmodel(const json_t *block)
{
    static const char name[] = "gptqmodel";
    const json_t *q = json_object_get(json_object_get(block, "meta"), "quantizer");
    const char *text = json_string_value(json_is_array(q) ? json_array_get(q, 0) : q);
    return text && str_begins(text, name);
}

/* Finds how codes and zero points are stored. */
static void
find_format(const struct claims *c, struct gptq *q)
{
    enum { V1, V2, PLANAR };
    static const struct { const char *key, *value; int as; } formats[] = {
        { "checkpoint_format", "gptq", V1 }, { "checkpoint_format", "gptq_v2", V2 },
        { "checkpoint_format", "gptq_p", PLANAR },
        { "format", "gptq", V1 }, { "format", "gptq_v2", V2 }, { "format", "gptq_p", PLANAR },
        { "packing_format", "auto_round:auto_gptq", V1 }, { "packing_format", "auto_round", V2 },
        { "packing_format", "auto_round:gptqmodel", V2 }, { "packing_format", "auto_round:auto_gptq:v2", V2 },
    };
    static const char *const planar[] = { "gptq", NULL }, *const stream[] = { "auto-round", NULL };
    const json_t *block = config_block(c->config);
    bool wide = q->bits > 4 && q->bits < 8, known = !json_object_get(block, "checkpoint_format");
    q->carries = 32 % q->bits == 0 && is_of_gptqmodel(block);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const char *value = json_string_value(json_object_get(block, formats[i].key));
        if (value && strcmp(value, formats[i].value) == 0) {
            q->v2 = formats[i].as != V1;
            q->planar = formats[i].as == PLANAR;
            known = true;
            break;
        }
    }
    if (!known)
        q->open = "unknown checkpoint_format";
    else if (wide && config_method_is(c->config, planar))
        q->v2 = q->planar = true;
    else if (wide && !q->planar && !config_method_is(c->config, stream))
        q->open = "planar or a bit stream: not given by config.json (--config)";
}

static bool
gptq_fit(struct table_match *f, struct weight *w, struct err *err)
{
    static const char *const gptq[] = { "gptq", "auto-round", NULL };
    struct claims *c = f->claims;
    struct gptq *q = claims_alloc(c, sizeof *q, err);
    if (!q)
        return false;
    *q = (struct gptq){ .groups = dim_rows(w->part[SCALES]) };
    w->own = q;
    w->part[ZEROS] = zeros_of(f);
    if (f->with[WITH_ZEROS] && !w->part[ZEROS] && json_is_false(json_object_get(config_block(c->config), "sym")))
        return table_wrong(f->with[WITH_ZEROS], f->codes, err, "zero points, as config.json has sym false,");
    find_bits(c, w, q);
    q->in = dim_rows(w->part[CODES]) * 32 / q->bits;
    bool open = q->open != NULL;
    uint64_t dim[2] = { dim_cols(w->part[CODES]), q->in };
    if (!open) {
        if (!claims_shape(c, w, 0, dim, 2, err) || !read_g_idx(c, w, q, err))
            return false;
        find_format(c, q);
        if (!w->part[ZEROS] && !json_is_true(json_object_get(config_block(c->config), "sym")))
            q->open = "without qzeros; config.json (--config) must declare it symmetric";
        if (w->part[SCALES]->dtype == DTYPE_F64)
            q->open = "with scales of F64";
        if (may_be_gemv(f) && !claims_is_forced(c, f->scheme->code) && !config_method_is(c->config, gptq))
            q->open = "or AWQ GEMV; config.json or --input-scheme decides";
    }
    w->vague = q->open != NULL;
    return true;
}

/* --- decoding */

/* Returns the number of output columns whose zero points share whole words. */
static uint32_t
zeros_per_unit(const struct gptq *q)
{
    if (32 % q->bits != 0)
        return 32;
    return 32 / q->bits;
}

static void
strip(struct strip *s, const struct weight *w, unsigned p)
{
    const struct gptq *q = w->own;
    table_strip(s, w, p);
    if (p == ZEROS) {
        s->unit_rows = zeros_per_unit(q);
        s->unit_bytes = s->unit_rows * q->bits / 8;
        s->units = num_ceil_div(shape_dim(&w->shape, 0), s->unit_rows);
    }
}

/* Returns planar code i. */
static uint32_t
planar_at(const uint8_t *p, uint64_t i, uint32_t bits)
{
    static const uint8_t planes[9][3] = { [2] = { 2 }, [3] = { 2, 1 }, [4] = { 4 }, [5] = { 4, 1 }, [6] = { 4, 2 },
        [7] = { 4, 2, 1 }, [8] = { 8 } };
    uint32_t code = 0, shift = 0;
    p += i / 32 * 4 * bits;
    for (const uint8_t *width = planes[bits]; shift < bits; width++) {
        code |= bits_code(p, i % 32 * *width, *width) << shift;
        p += 4 * *width;
        shift += *width;
    }
    return code;
}

/* Returns the zero point of a group. `zeros` are the zero points of all rows that share words; `lane` is the row among them. */
static float
zero_at(const struct gptq *q, const uint8_t *zeros, uint32_t lane, uint64_t g)
{
    uint32_t bits = q->bits, per = zeros_per_unit(q), mask = (1U << bits) - 1;
    if (!zeros)
        return (float)(1U << (bits - 1));
    const uint8_t *unit = zeros + g * (per * bits / 8);
    if (q->carries && !q->v2)
        return (float)((load_le32(unit) + UINT32_MAX / mask) >> lane * bits & mask);
    uint32_t field;
    if (q->planar)
        field = planar_at(unit, lane, bits);
    else
        field = bits_code(unit, lane * bits, bits);
    if (q->v2)
        return (float)field;
    return (float)((field + 1) & mask);
}

/* Fills in the scales and zero points of a piece. */
static void
gptq_fill(const struct decoding *d, struct codes_piece *p)
{
    const struct gptq *q = d->w->own;
    uint64_t top = d->first / q->in, per = zeros_per_unit(q);
    const uint8_t *scales = decoding_unit(d, SCALES, p->row - top);
    const uint8_t *zeros = NULL;
    if (d->w->part[ZEROS])
        zeros = decoding_unit(d, ZEROS, p->row / per - top / per);
    for (size_t i = 0; i < p->groups; i++) {
        uint64_t group;
        if (q->shuffled)
            group = (uint64_t)g_idx_at(d->in[G_IDX].p, p->col + i, q->groups);
        else
            group = p->col / q->group + i;
        p->scales[i] = scale_value(d->w->part[SCALES]->dtype, scales, group);
        p->zeros[i] = zero_at(q, zeros, (uint32_t)(p->row % per), group);
    }
}

static uint64_t
gptq_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct gptq *q = d->w->own;
    uint32_t bits = q->bits;
    struct codes_piece *p = codes_begin(d, at, count, q->in, q->shuffled ? 1 : q->group);
    const uint8_t *codes = decoding_unit(d, CODES, p->row - d->first / q->in);
    p->narrow = bits <= 4;
    gptq_fill(d, p);
    if (bits == 4)
        return codes_emit4(p, d, codes + p->col / 2, false, y);
    if (!q->planar)
        d->k->bits_stream(p->codes, codes + p->col / 8 * bits, (size_t)p->col, p->n, bits);
    for (size_t i = 0; q->planar && i < p->n; i++)
        p->codes[i] = (uint8_t)planar_at(codes, p->col + i, bits);
    return codes_emit(p, d, p->codes, false, true, y);
}

static void
gptq_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct gptq *q = w->own;
    int n = snprintf(buf, SCHEME_DETAIL, "%" PRIu32 "-bit, ", q->bits);
    if (q->open)
        snprintf(buf + n, SCHEME_DETAIL - (size_t)n, "%s", q->open);
    else if (q->groups <= 1)
        snprintf(buf + n, SCHEME_DETAIL - (size_t)n, "per-channel scale");
    else
        snprintf(buf + n, SCHEME_DETAIL - (size_t)n, "groups of %" PRIu64, q->group);
}

static void
gptq_variant(const struct weight *w, char buf[SCHEME_WORD])
{
    if (((const struct gptq *)w->own)->bits == 8)
        snprintf(buf, SCHEME_WORD, "gptq-8bit");
}

static void
gptq_grid(const struct weight *w, struct weight_grid *g)
{
    const struct gptq *q = w->own;
    codes_grid(g, q->bits, q->shuffled ? 0 : q->group, w->part[SCALES], w->part[ZEROS]);
    if (q->shuffled)
        g->g_idx = w->part[G_IDX];
    else
        g->g_idx = NULL;
    g->groups = q->groups;
}

const struct scheme gptq_schemes[] = {
    {
        .code = "gptq",
        .name = "GPTQ",
        WORDS({ WORD_METHOD, "gptq" }, { WORD_METHOD, "auto_gptq" }, { WORD_METHOD, "gptq_marlin" },
            { WORD_METHOD, "cpu_gptq" }, { WORD_METHOD, "moe_wna16" }, { WORD_METHOD, "auto-round" },
            { WORD_METHOD, "intel/auto-round" }, { WORD_METHOD, "inc" }, { WORD_FORMAT, "gptq" },
            { WORD_FORMAT, "gptq_v2" }, { WORD_FORMAT, "gptq_p" }, { WORD_PACKING, "auto_round" },
            { WORD_PACKING, "auto_round:auto_gptq*" }, { WORD_PACKING, "auto_round:gptq*" },
            { WORD_PACKING, "auto_round:llm_compressor" }, { WORD_PACKING, "auto_round:mlx" },
            { WORD_PACKING, "gptq" }, { WORD_PACKING, "mlx" }, { WORD_DATA_TYPE, "int" },
            { WORD_DATA_TYPE, "int_sym" }, { WORD_DATA_TYPE, "int_asym" }, { WORD_DATA_TYPE, "int_sym_gptq" },
            { WORD_DATA_TYPE, "int_asym_float_zp" }, { WORD_DATA_TYPE, "int_sym_dq" },
            { WORD_DATA_TYPE, "int_asym_dq" }, { WORD_DATA_TYPE, "rtn_int_sym" },
            { WORD_DATA_TYPE, "rtn_int_sym_dq" }, { WORD_DATA_TYPE, "rtn_int_asym" },
            { WORD_DATA_TYPE, "rtn_int_asym_dq" }, { WORD_DATA_TYPE, "opt_rtn_int_sym" },
            { WORD_DATA_TYPE, "opt_rtn_int_sym_neuqi" }, { WORD_DATA_TYPE, "opt_rtn_int_asym" },
            { WORD_DATA_TYPE, "opt_rtn_int_asym_float_zp" }),
        ROWS({ .codes = ".qweight", .dtypes = IS(I32), .becomes = ".weight", .left = LEFT_PACKED, .is = is_gptq,
            .fits = gptq_fits, .shapes = "[in*bits/32, out], scales [G, out], qzeros [G, out*bits/32], g_idx [in]",
            WITH(COMPANION(".scales", FLOAT, EVIDENCE, SCALE, .part = SCALES, .left = LEFT_METHOD),
            COMPANION(".qzeros", IS(I32), OPTIONAL, ZERO_POINT, .part = ZEROS, .left = LEFT_SCALES),
            COMPANION(".g_idx", IS(I32), OPTIONAL, G_IDX, .part = G_IDX, .left = LEFT_SCALES)) }),
        .fit = gptq_fit,
        .need = { [CODES] = NEED_STRIP, [SCALES] = NEED_STRIP, [ZEROS] = NEED_STRIP, [G_IDX] = NEED_WHOLE },
        .strip = strip,
        .room = sizeof(struct codes_piece),
        .decode = gptq_decode,
        .describe = gptq_describe,
        .variant = gptq_variant,
        .grid = gptq_grid,
    },
    { 0 },
};
