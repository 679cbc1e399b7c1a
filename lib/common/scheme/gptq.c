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
#include "scheme/gptq.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/str.h"
#include "dtype/bfloat16.h"
#include "dtype/half.h"
#include "scheme/claims.h"

enum { CODES, SCALES, ZEROS, G_IDX };                   /* parts */

enum { G_IDX_MAX = 64 << 20 };                          /* bytes that are looked at when the weight is claimed */

struct gptq {
    uint64_t in, groups, group;                         /* group: inputs of one */
    uint32_t bits;
    bool v2;
    bool carries;                                       /* v1 whose writer took 1 off whole words, not off each field */
    bool shuffled;                                      /* g_idx says something else than i / group */
};

/* --- what it is: bits, groups, zero points */

static bool
bits_fit(const struct weight *w, uint32_t bits)
{
    const struct tensor *codes = w->part[CODES], *zeros = w->part[ZEROS], *g_idx = w->part[G_IDX];
    uint64_t words = shape_dim(&codes->shape, 0), out = shape_dim(&codes->shape, 1), nbits;
    return num_mul(&nbits, words, 32) && nbits % bits == 0
        && (!zeros || (num_mul(&nbits, out, bits) && nbits % 32 == 0 && shape_dim(&zeros->shape, 1) == nbits / 32))
        && (!g_idx || shape_dim(&g_idx->shape, 0) == words * 32 / bits);
}

static uint64_t
config_number(const struct claims *c, const char *key)
{
    const json_t *v = json_object_get(config_block(claims_config(c)), key);
    return json_is_integer(v) && json_integer_value(v) > 0 ? (uint64_t)json_integer_value(v) : 0;
}

static bool
refuse(const struct weight *w, const char *what, struct err *err)
{
    char name[STR_SHOWN];
    return err_set(err, ERR_UNSUPPORTED, w->part[CODES]->extent.at, "tensor %s: GPTQ whose %s; give its config.json "
        "(--config)", str_shown(name, w->part[CODES]->name, w->part[CODES]->name_len), what);
}

/* The number of bits that the shapes leave, and where they leave several the one that the config names. */
static bool
find_bits(struct claims *c, const struct weight *w, struct gptq *q, struct err *err)
{
    uint64_t hint = config_number(c, "bits");
    uint32_t fitting = 0;
    for (uint32_t bits = 2; bits <= 8; bits++)
        if (bits_fit(w, bits)) {
            fitting++;
            q->bits = q->bits == hint && q->bits != 0 ? q->bits : bits;
        }
    if (fitting > 1 && q->bits != hint)
        return refuse(w, "bits the shapes leave open", err);
    if (hint != 0 && hint != q->bits)
        claims_warn(c, "bits of config.json are not those of GPTQ tensors, which count");
    return true;
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
static bool
find_group(const struct claims *c, const struct weight *w, struct gptq *q, struct err *err)
{
    uint64_t hint = config_number(c, "group_size");
    q->group = num_max(num_ceil_div(q->in, num_max(q->groups, 1)), 1);
    if (hint != 0 && num_ceil_div(q->in, hint) == q->groups) {
        q->group = hint;
        return true;
    }
    bool even = q->groups == 0 || q->in % q->groups == 0, usual = (q->group & (q->group - 1)) == 0 || q->groups == 1;
    return (even && (usual || !another_fits(q))) || refuse(w, "group size the shapes leave open", err);
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
    const struct contents *contents = claims_contents(c);
    bool zero = true, ordered = true, ok = true;
    uint64_t first = q->in;                             /* of the next group */
    if (!t || !contents || q->in == 0)
        return find_group(c, w, q, err);
    if (!limits_check(t->extent.nbytes, G_IDX_MAX, "bytes of a g_idx", err))
        return false;
    uint8_t *p = malloc((size_t)t->extent.nbytes);
    if (!p)
        return err_memory(err, t->extent.nbytes);
    ok = contents->read(contents->of, t, p, err);
    for (uint64_t i = 0; ok && i < q->in; i++) {
        int64_t g = g_idx_at(p, i, q->groups);
        char name[STR_SHOWN];
        if (g < 0 || (uint64_t)g >= q->groups)
            ok = err_set(err, ERR_MALFORMED, t->extent.at, "tensor %s: item %" PRIu64 " is %" PRId32 ", expected one of %"
                PRIu64 " groups", str_shown(name, t->name, t->name_len), i, (int32_t)load_le32(p + 4 * i), q->groups);
        zero = zero && g == 0;
        first = g != 0 && first == q->in ? i : first;
    }
    q->group = num_max(first, 1);                       /* as it would be in order */
    for (uint64_t i = 0; ok && i < q->in; i++)
        ordered = ordered && (uint64_t)g_idx_at(p, i, q->groups) == i / q->group;
    free(p);
    q->shuffled = !zero && !ordered;
    return ok && (!zero || q->groups == 1 || find_group(c, w, q, err));
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
static bool
find_version(const struct claims *c, const struct weight *w, struct gptq *q, struct err *err)
{
    static const struct { const char *key, *value; bool v2; } formats[] = {
        { "checkpoint_format", "gptq", false }, { "checkpoint_format", "gptq_v2", true },
        { "format", "gptq", false }, { "format", "gptq_v2", true },
        { "packing_format", "auto_round:auto_gptq", false }, { "packing_format", "auto_round", true },
        { "packing_format", "auto_round:gptqmodel", true }, { "packing_format", "auto_round:auto_gptq:v2", true },
    };
    const json_t *block = config_block(claims_config(c));
    q->carries = q->bits != 3 && is_of_gptqmodel(block);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const char *value = json_string_value(json_object_get(block, formats[i].key));
        if (value && strcmp(value, formats[i].value) == 0) {
            q->v2 = formats[i].v2;
            return true;
        }
    }
    const char *other = json_string_value(json_object_get(block, "checkpoint_format"));
    char shown[STR_SHOWN], name[STR_SHOWN];
    return !other || err_set(err, ERR_UNSUPPORTED, w->part[CODES]->extent.at, "tensor %s: GPTQ of the format %s cannot be "
        "decoded", str_shown(name, w->part[CODES]->name, w->part[CODES]->name_len),
        str_shown(shown, other, strlen(other)));
}

/* Fill w and the facts; the tensors have types and ranks of GPTQ. */
static bool
fit(struct claims *c, struct weight *w, struct err *err)
{
    struct gptq *q = claims_alloc(c, sizeof *q, err);
    uint8_t *packed = claims_alloc(c, 2 * SHAPE_DIM, err);
    if (!q || !packed)
        return false;
    *q = (struct gptq){ .groups = shape_dim(&w->part[SCALES]->shape, 0) };
    if (!find_bits(c, w, q, err) || !find_version(c, w, q, err))
        return false;
    uint64_t dim[2] = { shape_dim(&w->part[CODES]->shape, 1), shape_dim(&w->part[CODES]->shape, 0) * 32 / q->bits };
    shape_pack(packed, dim, 2);
    w->shape = (struct shape){ 2, packed };
    w->own = q;
    q->in = dim[1];
    return look_at_g_idx(c, w, q, err);
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

static float
scale_at(const struct weight *w, const uint8_t *p, uint64_t i)
{
    switch (w->part[SCALES]->dtype) {
    case DTYPE_F16:     return half_to_float(load_le16(p + 2 * i));
    case DTYPE_BF16:    return bfloat16_to_float(load_le16(p + 2 * i));
    default:            return float_of_bits(load_le32(p + 4 * i));
    }
}

/* One output row of a panel. */
struct row {
    const struct weight *w;
    const struct gptq *q;
    const uint8_t *codes, *scales, *zeros, *g_idx;      /* zeros: of all rows that share the words */
    uint32_t lane;                                      /* the row among these */
};

static float
zero_at(const struct row *r, uint64_t g)
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
fill(const struct row *r, uint64_t g, size_t n, float *scales, float *zeros)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t group = r->q->shuffled ? (uint64_t)g_idx_at(r->g_idx, g + i, r->q->groups) : g + i;
        scales[i] = scale_at(r->w, r->scales, group);
        zeros[i] = zero_at(r, group);
    }
}

/* Elements [col, col + n) of a row, of codes that are not 4 bits wide. */
static void
unpack(float *v, const struct row *r, uint64_t col, size_t n, size_t group, const float *scales, const float *zeros)
{
    for (size_t i = 0; i < n; i++) {
        size_t g = (size_t)((col + i) / group - col / group);
        float code = (float)code_at(r->codes, col + i, r->q->bits);
        v[i] = (code - zeros[g]) * scales[g];
    }
}

static void
decode_row(const struct row *r, const struct kernels *k, uint64_t col, uint64_t count, enum dtype to, uint8_t *y)
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
        const struct row r = { .w = w, .q = q, .codes = in[CODES].p + (o - top) * in[CODES].stride,
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
    snprintf(buf, SCHEME_DETAIL, "%" PRIu32 "-bit", q->bits);
}

static enum claim
claim(const struct scheme *self, struct claims *c, const struct tensor *codes, struct weight *w, struct err *err)
{
    struct part_name p;
    (void)self;
    if (codes->dtype != DTYPE_I32 || codes->shape.rank != 2 || !name_strip(codes, ".qweight", &p))
        return CLAIM_NO;
    w->part[SCALES] = claims_find(c, p.base, p.base_len, ".scales");
    w->part[ZEROS] = claims_find(c, p.base, p.base_len, ".qzeros");
    w->part[G_IDX] = claims_find(c, p.base, p.base_len, ".g_idx");
    if (!w->part[SCALES] || w->part[SCALES]->shape.rank != 2 || shape_dim(&w->part[SCALES]->shape, 1) != shape_dim(&codes->shape, 1))
        return CLAIM_NO;
    if (w->part[ZEROS] && shape_dim(&w->part[ZEROS]->shape,0)!=shape_dim(&w->part[SCALES]->shape,0)) return CLAIM_NO;
    bool any=false; for (uint32_t b=2;b<=8;b++) any=any||bits_fit(w,b);
    if (!any || !dtype_is_float(w->part[SCALES]->dtype)) return CLAIM_NO;
    if (!fit(c, w, err))
        return CLAIM_FAIL;
    for (unsigned i = 1; i <= G_IDX; i++)
        if (w->part[i] && !claims_take(c, w->part[i], codes, err))
            return CLAIM_FAIL;
    return claims_take_idle(c, codes, err) && claims_rename(c, w, &p, ".weight", err) ? CLAIM_YES : CLAIM_FAIL;
}

const struct scheme scheme_gptq = {
    .code = "gptq",
    .name = "GPTQ",
    .claim = claim,
    .need = { NEED_STRIP, NEED_STRIP, NEED_STRIP, NEED_WHOLE },
    .strip = strip,
    .decode = decode,
    .describe = describe,
};
