/* GPTQ: codes of 2, 3, 4 or 8 bits with a scale and a zero point for each output column and group of inputs. The tensors
 * of a module P, whose decoded weight is [out, in]:
 *
 *     P.qweight    I32 [in*bits/32, out]     a column is a stream of bits, the low ones of a word first
 *     P.scales     F16, BF16, F32 [G, out]
 *     P.qzeros     I32 [G, out*bits/32]      the same stream along a row; absent where the model is symmetric
 *     P.g_idx      I32 [in]                  perhaps: the group of each input; negative ones count from the end
 *
 *     V[o][i] = RN32((q[i][o] - z[g][o]) * scales[g][o])         g = g_idx[i], or i / group
 *
 * The stored zero point is z - 1 (v1), or z (v2): config.json says which, and v1 is meant where nothing does. A v1 zero
 * point of 0 wraps within its field; GPTQModel takes 1 off all fields of a word at once, so that 0 borrows from the next
 * field, and is read as it writes. Sources: AutoGPTQ qlinear_cuda_old.py (pack and forward); GPTQModel utils/model.py,
 * convert_gptq_v2_to_v1_format_module and its inverse.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/dim.h"
#include "scheme/scale.h"
#include "scheme/table.h"

enum { CODES, SCALES, ZEROS, G_IDX };                   /* parts */

enum { G_IDX_MAX = 64 << 20 };                          /* bytes that are looked at when the weight is claimed */

struct gptq {
    uint64_t in, groups, group;                         /* group: inputs of one */
    uint32_t bits;
    bool v2;
    bool carries;                                       /* v1 whose writer took 1 off whole words, not off each field */
    bool shuffled;                                      /* g_idx says something else than i / group */
    const char *open;                                   /* why it cannot be decoded, or NULL */
};

/* --- what it is: bits, groups, zero points */

static bool
bits_fit(const struct tensor *codes, const struct tensor *zeros, const struct tensor *g_idx, uint32_t bits)
{
    uint64_t words = dim_rows(codes), out = dim_cols(codes), nbits;
    return num_mul(&nbits, words, 32) && nbits % bits == 0
        && (!zeros || (num_mul(&nbits, out, bits) && nbits % 32 == 0 && dim_cols(zeros) == nbits / 32))
        && (!g_idx || shape_dim(&g_idx->shape, 0) == words * 32 / bits);
}

/* Companions, in the order of the row. */
enum { WITH_SCALES, WITH_ZEROS, WITH_G_IDX };

static bool
is_gptq(const struct found *f)
{
    return f->with[WITH_G_IDX]
        || (f->codes->shape.rank == 2 && dim_cols(f->codes) == dim_cols(f->with[WITH_SCALES]));
}

/* Some number of bits that all tensors share. */
static bool
fits(const struct found *f)
{
    const struct tensor *scales = f->with[WITH_SCALES], *zeros = f->with[WITH_ZEROS], *g_idx = f->with[WITH_G_IDX];
    if (f->codes->shape.rank != 2 || scales->shape.rank != 2 || dim_cols(scales) != dim_cols(f->codes)
        || (zeros && (zeros->shape.rank != 2 || dim_rows(zeros) != dim_rows(scales))) || (g_idx && g_idx->shape.rank != 1))
        return false;
    uint64_t words = dim_rows(f->codes), groups = dim_rows(scales);
    for (uint32_t bits = 2; bits <= 8; bits++)
        if (bits_fit(f->codes, zeros, g_idx, bits) && groups <= words * 32 / bits && (groups != 0 || words == 0))
            return true;
    return false;
}

/* The number of bits that the shapes leave, and where they leave several the one that the config names. */
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
        q->open = "of so many bits as config.json says (--config)";
    else if (q->bits > 4 && q->bits < 8)
        q->open = "of a width that is not known";
}

/* Whether a group size that tools use, with a short last group, gives as many groups as another one. */
static bool
another_fits(const struct gptq *q)
{
    for (uint64_t g = 16; g <= 1024; g *= 2)
        if (g != q->group && num_ceil_div(q->in, g) == q->groups)
            return true;
    return false;
}

/* The inputs of a group: that of the config where it agrees with the shapes, else an even division. */
static void
find_group(const struct claims *c, struct gptq *q)
{
    uint64_t hint = config_number(c->config, "group_size");
    q->group = num_max(num_ceil_div(q->in, num_max(q->groups, 1)), 1);
    if (hint != 0 && num_ceil_div(q->in, hint) == q->groups) {
        q->group = hint;
        return;
    }
    bool even = q->groups == 0 || q->in % q->groups == 0, usual = (q->group & (q->group - 1)) == 0 || q->groups == 1;
    if (!even || (!usual && another_fits(q)))
        q->open = "in groups of so many as config.json says (--config)";
}

static int64_t
g_idx_at(const uint8_t *p, uint64_t i, uint64_t groups)
{
    int64_t g = (int32_t)load_le32(p + 4 * i);
    return g < 0 ? g + (int64_t)groups : g;
}

/* Look at g_idx: whether it is within the groups, and whether it says anything. All zeros: nothing. */
static bool
look_at_g_idx(const struct claims *c, const struct weight *w, struct gptq *q, struct err *err)
{
    const struct tensor *t = w->part[G_IDX];
    bool zero = true, ordered = true, ok = true;
    uint64_t first = q->in;                             /* of the next group */
    find_group(c, q);
    if (t && !c->contents)      /* it will tell */
        q->open = NULL;
    if (!t || !c->contents || q->in == 0)
        return true;
    uint8_t *p = claims_read(c, t, G_IDX_MAX, "bytes of a g_idx", err);
    if (!p)
        return false;
    for (uint64_t i = 0; ok && i < q->in; i++) {
        int64_t g = g_idx_at(p, i, q->groups);
        char name[STR_SHOWN];
        if (g < 0 || (uint64_t)g >= q->groups)
            ok = err_set(err, ERR_MALFORMED, t->extent.at, "tensor %s: item %" PRIu64 " is %" PRId32 ", expected one of %"
                PRIu64 " groups", str_shown(name, t->name, t->name_len), i, (int32_t)load_le32(p + 4 * i), q->groups);
        zero = zero && g == 0;
        first = g != 0 && first == q->in ? i : first;
    }
    if (!zero) {
        q->open = NULL;
        q->group = num_max(first, 1);                   /* as it would be in order */
    }
    for (uint64_t i = 0; ok && i < q->in; i++)
        ordered = ordered && (uint64_t)g_idx_at(p, i, q->groups) == i / q->group;
    free(p);
    q->shuffled = !zero && !ordered;
    return ok;
}

/* Whether GPTQModel wrote the model: "meta": { "quantizer": ["gptqmodel:7.7.0"] }, or without the list. */
static bool
is_of_gptqmodel(const json_t *block)
{
    static const char name[] = "gptqmodel";
    const json_t *q = json_object_get(json_object_get(block, "meta"), "quantizer");
    const char *text = json_string_value(json_is_array(q) ? json_array_get(q, 0) : q);
    return text && strncmp(text, name, sizeof name - 1) == 0;
}

/* How the zero points are stored. */
static void
find_version(const struct claims *c, struct gptq *q)
{
    static const struct { const char *key, *value; bool v2; } formats[] = {
        { "checkpoint_format", "gptq", false }, { "checkpoint_format", "gptq_v2", true },
        { "format", "gptq", false }, { "format", "gptq_v2", true },
        { "packing_format", "auto_round:auto_gptq", false }, { "packing_format", "auto_round", true },
        { "packing_format", "auto_round:gptqmodel", true }, { "packing_format", "auto_round:auto_gptq:v2", true },
    };
    const json_t *block = config_block(c->config);
    q->carries = q->bits != 3 && is_of_gptqmodel(block);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const char *value = json_string_value(json_object_get(block, formats[i].key));
        if (value && strcmp(value, formats[i].value) == 0) {
            q->v2 = formats[i].v2;
            return;
        }
    }
    if (json_object_get(block, "checkpoint_format"))
        q->open = "of a checkpoint_format that is not known";
}

static bool
fit(struct found *f, struct weight *w, struct err *err)
{
    struct claims *c = f->claims;
    struct gptq *q = claims_alloc(c, sizeof *q, err);
    uint8_t *packed = q ? claims_alloc(c, 2 * SHAPE_DIM, err) : NULL;
    if (!packed)
        return false;
    *q = (struct gptq){ .groups = dim_rows(w->part[SCALES]) };
    w->own = q;
    find_bits(c, w, q);
    q->in = dim_rows(w->part[CODES]) * 32 / q->bits;
    bool open = q->open != NULL;
    uint64_t dim[2] = { dim_cols(w->part[CODES]), q->in };
    shape_pack(packed, dim, 2);
    if (!open) {
        w->shape = (struct shape){ 2, packed };
        if (!look_at_g_idx(c, w, q, err))
            return false;
        find_version(c, q);
        if (!w->part[ZEROS] && !json_is_true(json_object_get(config_block(c->config), "sym")))
            q->open = "without qzeros, symmetric or not as config.json says (--config)";
        if (w->part[SCALES]->dtype == DTYPE_F64)
            q->open = "with scales of F64";
    }
    w->vague = q->open != NULL;
    return true;
}

/* --- decoding */

/* Output columns of zero points that share whole words, and bytes of these. */
static uint32_t
zeros_per_unit(const struct gptq *q)
{
    return q->bits == 3 ? 32 : 32 / q->bits;
}

static void
strip(struct strip *s, const struct weight *w, unsigned p)
{
    const struct gptq *q = w->own;
    uint64_t out = shape_dim(&w->shape, 0), rows = shape_dim(&w->part[p]->shape, 0);
    *s = (struct strip){ .matrices = 1, .rows = rows, .units = out, .unit_rows = 1, .unit_bytes = 4 };
    if (p == SCALES)
        s->unit_bytes = dtype_facts(w->part[SCALES]->dtype)->bytes;
    if (p == ZEROS) {
        s->unit_rows = zeros_per_unit(q);
        s->unit_bytes = s->unit_rows * q->bits / 8;
        s->units = num_ceil_div(out, s->unit_rows);
    }
}

/* Code i of a stream of bits. */
static uint32_t
code_at(const uint8_t *p, uint64_t i, uint32_t bits)
{
    uint64_t at = i * bits;
    uint32_t code = p[at / 8] >> at % 8;
    if (at % 8 + bits > 8)
        code |= (uint32_t)p[at / 8 + 1] << (8 - at % 8);
    return code & ((1U << bits) - 1);
}

/* One output row of a panel. */
struct line {
    const struct weight *w;
    const struct gptq *q;
    const uint8_t *codes, *scales, *zeros, *g_idx;      /* zeros: of all rows that share the words */
    uint32_t lane;                                      /* the row among these */
};

static float
zero_at(const struct line *r, uint64_t g)
{
    uint32_t bits = r->q->bits, per = zeros_per_unit(r->q), mask = (1U << bits) - 1;
    if (!r->zeros)
        return (float)(1U << (bits - 1));
    const uint8_t *unit = r->zeros + g * (per * bits / 8);
    if (r->q->carries && !r->q->v2)
        return (float)((load_le32(unit) + UINT32_MAX / mask) >> r->lane * bits & mask);
    uint32_t field = code_at(unit, r->lane, bits);
    return (float)(r->q->v2 ? field : (field + 1) & mask);
}

/* Scales and zero points of n groups from g on, or with g_idx of n elements from element g on. */
static void
fill(const struct line *r, uint64_t g, size_t n, float *scales, float *zeros)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t group = r->q->shuffled ? (uint64_t)g_idx_at(r->g_idx, g + i, r->q->groups) : g + i;
        scales[i] = scale_value(r->w->part[SCALES]->dtype, r->scales, group);
        zeros[i] = zero_at(r, group);
    }
}

/* Elements [col, col + n) of a row, of codes that are not 4 bits wide. */
static void
unpack(float *v, const struct line *r, uint64_t col, size_t n, size_t group, const float *scales, const float *zeros)
{
    for (size_t i = 0; i < n; i++) {
        size_t g = (size_t)((col + i) / group - col / group);
        float code = (float)code_at(r->codes, col + i, r->q->bits);
        v[i] = (code - zeros[g]) * scales[g];
    }
}

static void
decode_row(const struct line *r, const struct kernels *k, uint64_t col, uint64_t count, enum dtype to, uint8_t *y)
{
    enum { STEP = 1024, GROUPS = STEP + 1 };            /* elements, and the groups that they touch at most */
    static const float map[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    uint64_t group = r->q->shuffled ? 1 : r->q->group;
    for (uint64_t n; count != 0; count -= n, col += n, y += n * dtype_facts(to)->bytes) {
        float v[STEP], scales[GROUPS], zeros[GROUPS];
        n = num_min(count, STEP);
        size_t groups = (size_t)((col + n - 1) / group - col / group + 1);
        fill(r, col / group, groups, scales, zeros);
        const struct codes4 c = { .map = map, .zeros = zeros, .scales = scales, .group = (size_t)group, .low_first = true };
        if (r->q->bits == 4 && to == DTYPE_BF16) {
            k->codes4_bf16((void *)y, r->codes + col / 2, (size_t)col, (size_t)n, &c);
            continue;
        }
        if (r->q->bits == 4)
            k->codes4_f32(v, r->codes + col / 2, (size_t)col, (size_t)n, &c);
        else
            unpack(v, r, col, (size_t)n, (size_t)group, scales, zeros);
        kernels_round(k, to, y, v, (size_t)n);
    }
}

static void
decode(const struct weight *w, const struct kernels *k, const struct part_bytes in[SCHEME_PARTS], uint64_t first,
    uint64_t count, enum dtype to, void *out)
{
    const struct gptq *q = w->own;
    uint64_t top = first / q->in, per = zeros_per_unit(q), n;
    uint8_t *y = out;
    for (uint64_t at = first; count != 0; at += n, count -= n, y += n * dtype_facts(to)->bytes) {
        uint64_t o = at / q->in, col = at % q->in;
        const struct line r = { .w = w, .q = q, .codes = in[CODES].p + (o - top) * in[CODES].stride,
            .scales = in[SCALES].p + (o - top) * in[SCALES].stride, .g_idx = in[G_IDX].p, .lane = (uint32_t)(o % per),
            .zeros = w->part[ZEROS] ? in[ZEROS].p + (o / per - top / per) * in[ZEROS].stride : NULL };
        n = num_min(count, q->in - col);
        decode_row(&r, k, col, n, to, y);
    }
}

static void
describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct gptq *q = w->own;
    int n = snprintf(buf, SCHEME_DETAIL, "%" PRIu32 "-bit", q->bits);
    if (q->open)
        snprintf(buf + n, SCHEME_DETAIL - (size_t)n, ", %s", q->open);
}

const struct scheme gptq_schemes[] = {
    {
        .code = "gptq",
        .name = "GPTQ",
        ROWS({ .codes = ".qweight", .dtypes = IS(I32), .becomes = ".weight", .left = LEFT_PACKED, .is = is_gptq,
            .fits = fits, .shapes = "[in*bits/32, out], scales [G, out], qzeros [G, out*bits/32], g_idx [in]", .beside = {
            BESIDE(".scales", FLOAT, EVIDENCE, SCALE, .part = SCALES),
            BESIDE(".qzeros", IS(I32), OPTIONAL, ZERO_POINT, .part = ZEROS, .left = LEFT_SCALES),
            BESIDE(".g_idx", IS(I32), OPTIONAL, G_IDX, .part = G_IDX, .left = LEFT_SCALES) } }),
        .fit = fit,
        .need = { [CODES] = NEED_STRIP, [SCALES] = NEED_STRIP, [ZEROS] = NEED_STRIP, [G_IDX] = NEED_WHOLE },
        .strip = strip,
        .decode = decode,
        .describe = describe,
    },
    { 0 },
};
