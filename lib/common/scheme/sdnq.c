/* SDNQ. The tensors of a module P:
 *
 *     P.weight        codes: unpacked I8, U8 or F8, or packed in U8; n in total. Codes of one bit are in I64, eight in the low
 *                     byte of each word. F16, BF16, F32 and F8_E8M0: the numbers to be scaled
 *     P.scale         [out, 1] per row, [out, G, 1] for G groups a row, [1, 1] for the tensor, or [1, out] next to a
 *                     weight that is stored transposed, [in, out]
 *     P.zero_point    unsigned types only: shaped like the scale
 *
 * The type is `weights_dtype` of the configuration, unless `modules_dtype_dict` {type: [patterns]} or `modules_quant_config`
 * {pattern: {...}} matches the module. Codes of 3, 5, 6 and 7 bits are stored in packs of whole bytes (packs.h); codes of
 * 2 and 4 bits with the low ones first. T is the type of the scale:
 *
 *     signed      V = RN_T(RN32(q * scale))
 *     unsigned    V = RN_T(RN32(q * scale + zero_point)), a fused operation
 *
 * Sources: sdnq, common.py, quantizer.py, dequantizer.py, packed_int and packed_float.py.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/matcher.h"
#include "base/num.h"
#include "base/str.h"
#include "scheme/dim.h"
#include "scheme/modules.h"
#include "scheme/scale.h"
#include "scheme/sdnq_type.h"
#include "scheme/step.h"
#include "scheme/table.h"

enum { CODES, SCALE, ZERO };                            /* parts */
enum { IN_ROWS, IN_COLUMNS, UNCONFIGURED };             /* indices into sdnq_schemes */

/* A weight. */
struct sdnq {
    struct sdnq_type type;
    uint64_t cols, group;                               /* elements in a row; elements that share a scale */
    const char *text;                                   /* the type; if it is not decoded, the full description */
    bool open;                                          /* not decoded */
};

/* A module while it is examined. */
struct module {
    const struct claims *claims;
    const json_t *block, *own;          /* the configuration, and this module's entry in modules_quant_config */
    struct modules_cost *cost;          /* budget for matching patterns */
    const struct tensor *codes, *scale, *zero;
    struct part_name p;
    const char *name;                   /* of the type */
    const char *open;                   /* why it cannot be decoded, or NULL */
    char made[16];                      /* buffer for name, if a minimum of bits gives another type */
};

/* Returns true if the weight is stored as numbers, which unquantized weights are, too. */
static bool
is_scaled(enum dtype codes)
{
    return dtype_in(FLOAT_16, codes) || codes == DTYPE_F8_E8M0;
}

/* Returns true if this is a word for a type. */
static bool
knows(enum word_place place, const char *word)
{
    struct sdnq_type ignored;
    char lower[SCHEME_WORD];
    return place == WORD_WEIGHTS_DTYPE && sdnq_type_find(&ignored, str_lower(lower, sizeof lower, word));
}

/* --- the configuration */

/* Charges n steps of matching. Returns false when the budget is used up. */
static bool
charge(struct modules_cost *cost, size_t n)
{
    cost->steps -= n < cost->steps ? n : cost->steps;
    return cost->steps != 0;
}

/* Reads a pattern with a star as the library does: a dot before a star is literal, a star is `.*`, and Python matches the
 * result at the start of the name. A pattern too long for `re` also has too many states. */
static bool
read_pattern(struct matcher *m, const char *pattern)
{
    char re[2 * MATCHER_STATES];
    size_t n = 0;
    for (const char *p = pattern; *p && n + 2 <= sizeof re; p++) {
        if (*p == '*' || (*p == '.' && p[1] == '*'))
            re[n++] = *p == '*' ? '.' : '\\';
        re[n++] = *p;
    }
    return matcher_read(m, re, n, false);
}

/* Returns true if a pattern matches P.weight; false also when the budget is used up. Sets *open for a pattern with other
 * regex syntax, which is not understood. */
static bool
names_weight(const char *pattern, const struct tensor *t, struct modules_cost *cost, const char **open)
{
    size_t n = t->name_len, len = strlen(pattern);
    if (!charge(cost, n + len))
        return false;
    if (*pattern == '.')
        return len - 1 <= n && memcmp(t->name, pattern + 1, len - 1) == 0;
    if (len == n && memcmp(t->name, pattern, n) == 0)
        return true;
    for (size_t at = 0, end; at <= n; at = end + 1) {
        for (end = at; end < n && t->name[end] != '.'; end++)
            ;
        if (end - at == len && memcmp(t->name + at, pattern, len) == 0)
            return true;
    }
    if (!strchr(pattern, '*'))
        return false;
    struct matcher m;
    if (!strpbrk(pattern, "[](){}+?^$|\\") && read_pattern(&m, pattern))
        return matcher_match(&m, t->name, n, &cost->steps);
    *open = "with an unsupported expression";
    return false;
}

static bool
any_names_weight(const json_t *list, const struct tensor *t, struct modules_cost *cost, const char **open)
{
    for (size_t i = 0; i < json_array_size(list) && charge(cost, 1); i++) {
        const char *pattern = json_string_value(json_array_get(list, i));
        if (pattern && names_weight(pattern, t, cost, open))
            return true;
    }
    return false;
}

/* Parses "minimum_5bit" and "5bits" as int5, "minimum_uint6" as uint6. Returns false for any other key. */
static bool
is_minimum(const char *key, unsigned *bits, bool *is_signed)
{
    static const char *const fronts[] = { "minimum", "-", "_" }, *const ends[] = { "bits", "bit", "-", "_" };
    const char *p = key, *end = key + strlen(key);
    bool ok = str_begins(p, fronts[0]) || str_ends(key, "bit") || str_ends(key, "bits");
    for (size_t i = 0; i < 3; i++)
        p += str_begins(p, fronts[i]) ? strlen(fronts[i]) : 0;
    for (size_t i = 0; i < 4; i++) {
        size_t n = strlen(ends[i]);
        if ((size_t)(end - p) >= n && memcmp(end - n, ends[i], n) == 0)
            end -= n;
    }
    *is_signed = *p != 'u';
    if (str_begins(p, "uint"))
        p += 4;
    else if (str_begins(p, "int"))
        p += 3;
    if (isdigit((unsigned char)*p))
        *bits = (unsigned)(*p - '0');
    else
        *bits = 0;
    return ok && end - p == 1 && *bits != 0;
}

static const json_t *
setting(const struct module *m, const char *key)
{
    const json_t *v = json_object_get(m->own, key);
    if (v)
        return v;
    return json_object_get(m->block, key);
}

/* Finds the type of this module in the configuration; modules_dtype_dict takes precedence. m->name stays NULL if there is
 * none. */
static bool
configure(struct module *m, struct err *err)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(m->block, "modules_quant_config"), key, value)
        if (!charge(m->cost, 1) || (json_is_object(value) && names_weight(key, m->codes, m->cost, &m->open))) {
            m->own = value;
            break;
        }
    m->name = json_string_value(setting(m, "weights_dtype"));
    json_object_foreach(json_object_get(m->block, "modules_dtype_dict"), key, value) {
        struct sdnq_type type;
        unsigned least;
        bool is_signed;
        if (!charge(m->cost, 1))
            break;
        if (!any_names_weight(value, m->codes, m->cost, &m->open))
            continue;
        if (!is_minimum(key, &least, &is_signed)) {
            m->name = key;
            break;
        }
        if (m->name && sdnq_type_find(&type, m->name) && type.bits < least) {
            snprintf(m->made, sizeof m->made, "%sint%u", !is_signed || least <= 4 ? "u" : "", least);
            m->name = m->made;
            break;
        }
    }
    return modules_cost_left(m->cost, err);
}

/* --- a weight */

static const struct tensor *
find_companion(const struct module *m, const char *suffix)
{
    return claims_find(m->claims, m->p.base, m->p.base_len, suffix);
}

/* Returns a phrase for the feature that is not defined well enough to decode, or NULL. */
static const char *
unsupported_part(const struct module *m)
{
    static const char *const tensors[][2] = {
        { ".svd_up", "with svd_up" }, { ".svd_down", "with svd_down" }, { ".scale_2", "with scale_2" },
        { ".zero_point_scale", "with zero_point_scale" },
    };
    static const char *const keys[][2] = {
        { "use_hadamard", "with use_hadamard" }, { "use_codebook", "with use_codebook" },
        { "scale_dtype", "with scale_dtype" }, { "zero_point_dtype", "with zero_point_dtype" },
    };
    const struct shape *s = &m->scale->shape;
    struct sdnq_type type;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        if (find_companion(m, tensors[i][0]))
            return tensors[i][1];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *v = setting(m, keys[i][0]);
        const char *text = json_string_value(v);
        if (v && !json_is_null(v) && !json_is_false(v) && !(text && strcmp(text, "none") == 0))
            return keys[i][1];
    }
    if (s->rank >= 4 || (s->rank == 3 && shape_dim(s, 1) == 1))
        return "of a convolution";
    if (json_is_true(setting(m, "quant_conv")) && s->rank >= 2 && shape_dim(s, 0) == 1 && shape_dim(s, 1) != 1
        && (s->rank == 3 || json_is_true(setting(m, "use_quantized_matmul_conv"))))
        return "of a possible convolution (quant_conv)";
    if (!m->name || !sdnq_type_find(&type, m->name))
        return NULL;
    if (type.bits == 1 && m->codes->dtype != type.stored)
        return "in bytes";
    if (!type.is_signed && !m->zero && claims_is_report_on_shard(m->claims))
        return "without its zero_point";
    if (type.packed && dim_is_one(m->scale))
        return "with one scale for packed codes";
    return NULL;
}

static bool
sdnq_bad(const struct module *m, const struct tensor *t, const char *expected, struct err *err)
{
    char shown[STR_SHOWN];
    return table_wrong(t, m->codes, err, "%s (SDNQ %.40s)", expected, str_shown(shown, m->name, strlen(m->name)));
}

/* Checks that the scale and the zero point have a suitable type, and equal shapes. */
static bool
check_companions(const struct module *m, const struct sdnq_type *type, struct err *err)
{
    const struct shape *s = &m->scale->shape;
    bool grouped = s->rank == 3 && shape_dim(s, 2) == 1 && shape_dim(s, 1) > 1;
    char name[STR_SHOWN];
    if (!dtype_in(FLOAT_16, m->scale->dtype))
        return sdnq_bad(m, m->scale, "F32, BF16 or F16", err);
    if (type->stored != m->codes->dtype)
        return sdnq_bad(m, m->codes, "codes of the type in the configuration", err);
    if (m->zero && type->is_signed)
        return sdnq_bad(m, m->zero, "no zero_point with a signed type", err);
    if (!m->zero && !type->is_signed)
        return claims_missing(m->claims, m->codes->extent.at, err, "tensor %s: SDNQ %s has no zero_point",
            str_shown(name, m->codes->name, m->codes->name_len), m->name);
    if (m->zero && (m->zero->dtype != m->scale->dtype || !dim_same_shape(m->zero, m->scale)))
        return sdnq_bad(m, m->zero, "the dtype and shape of the scale", err);
    return grouped || s->rank == 2 || sdnq_bad(m, m->scale, "[out, 1] or [out, groups, 1]", err);
}

/* Finds rows, columns and groups of packed codes. Fails if the scales do not divide them. */
static bool
fit_packed(const struct module *m, struct sdnq *q, uint64_t dim[2], struct err *err)
{
    static const uint64_t pack[] = { 0, 1, 1, 3, 1, 5, 3, 7, 1 };
    const struct shape *s = &m->scale->shape;
    uint64_t nbytes = m->codes->extent.nbytes / sdnq_type_bytes(&q->type), bits = q->type.bits, groups = s->rank == 3 ? shape_dim(s, 1) : 1, n;
    if (nbytes % pack[bits] != 0 || !num_mul(&n, nbytes, 8))
        return sdnq_bad(m, m->codes, "whole packs of codes", err);
    n /= bits;
    dim[0] = shape_dim(s, 0);
    if (shape_dim(s, s->rank - 1) != 1 || dim[0] == 0 || n % dim[0] != 0 || n / dim[0] % groups != 0)
        return sdnq_bad(m, m->scale, "[out, 1] or [out, groups, 1] with sizes that divide the codes", err);
    dim[1] = n / dim[0];
    q->group = dim[1] / groups;
    return true;
}

/* Like fit_packed, for codes of one byte. *transposed: they are stored as [in, out]. */
static bool
fit_plain(const struct module *m, struct sdnq *q, uint64_t dim[2], bool *transposed, struct err *err)
{
    const struct shape *s = &m->scale->shape, *w = &m->codes->shape;
    uint64_t rows = shape_dim(s, 0), across = shape_dim(s, 1);
    if (s->rank == 3 && w->rank == 3 && shape_dim(w, 0) == rows && shape_dim(w, 1) == across) {
        dim[0] = rows;
        dim[1] = m->codes->extent.nbytes / sdnq_type_bytes(&q->type) / num_max(rows, 1);
        q->group = shape_dim(w, 2);
        return true;
    }
    if (s->rank != 2 || w->rank != 2 || (across == 1 ? rows != shape_dim(w, 0) && rows != 1
            : rows != 1 || across != shape_dim(w, 1)))
        return sdnq_bad(m, m->scale, "[out, 1], [out, groups, 1], [1, 1], or [1, out] for codes [in, out]", err);
    *transposed = across != 1;
    dim[0] = shape_dim(w, *transposed ? 1 : 0);
    dim[1] = shape_dim(w, *transposed ? 0 : 1);
    if (dim_is_one(m->scale))
        q->group = m->codes->extent.nbytes;
    else
        q->group = dim[1];
    return true;
}

/* Stores "TYPE, followed by the reason why it cannot be decoded". */
static bool
set_text(const struct module *m, struct claims *c, struct sdnq *q, struct err *err)
{
    char text[SCHEME_DETAIL], shown[STR_SHOWN] = "";
    if (m->name)
        str_shown(shown, m->name, strlen(m->name));
    size_t n = (size_t)snprintf(text, sizeof text, "%.40s%s%s", shown, *shown && m->open ? " " : "",
        str_or(m->open, ""));
    char *own = claims_alloc(c, n + 1, err);
    if (own)
        q->text = memcpy(own, text, n + 1);
    else
        q->text = NULL;
    return own != NULL;
}

static bool
sdnq_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct module *m = f->hint;
    struct sdnq *q = claims_alloc(f->claims, sizeof *q, err);
    uint64_t dim[2];
    bool transposed = false;
    if (!q)
        return false;
    *q = (struct sdnq){ .open = false };
    if (!set_text(m, f->claims, q, err))
        return false;
    q->open = m->open || !m->name || !sdnq_type_find(&q->type, m->name);
    w->own = q;
    w->vague = q->open;
    if (q->open)
        return true;
    if (!check_companions(m, &q->type, err)
        || !(q->type.packed ? fit_packed(m, q, dim, err) : fit_plain(m, q, dim, &transposed, err)))
        return false;
    w->scheme = &sdnq_schemes[transposed ? IN_COLUMNS : IN_ROWS];
    q->cols = num_max(dim[1], 1);
    q->group = num_max(q->group, 1);
    return claims_shape(f->claims, w, 0, dim, 2, err);
}

/* Rejects a weight that has the type of the configuration but no scale. */
static enum claim
choose_unscaled(const struct module *m, struct err *err)
{
    char name[STR_SHOWN];
    struct sdnq_type type;
    bool ignored = true;
    if (!m->name || !sdnq_type_find(&type, m->name) || type.stored != m->codes->dtype
        || claims_is_report_on_shard(m->claims))
        return CLAIM_NO;
    if (!config_ignores(m->claims->config, m->p.base, m->p.base_len, &ignored, err))
        return CLAIM_FAIL;
    if (ignored)
        return CLAIM_NO;
    claims_missing(m->claims, m->codes->extent.at, err, "tensor %s: quantized (SDNQ %s), but has no "
        "scale", str_shown(name, m->codes->name, m->codes->name_len), m->name);
    return CLAIM_FAIL;
}

/* Without a configuration, claims I8 and U8 codes with a float scale, which no other scheme has, and any weight with svd_up. */
static enum claim
choose_unconfigured(struct table_match *f, struct module *m, struct weight *w, struct err *err)
{
    bool codes = m->codes->dtype == DTYPE_I8 || m->codes->dtype == DTYPE_U8;
    bool svd = dtype_is_float8(m->codes->dtype) && find_companion(m, ".svd_up");
    if (!dtype_in(FLOAT_16, m->scale->dtype) || (!codes && !svd))
        return CLAIM_NO;
    if (svd)
        m->open = "with svd_up";
    else
        m->open = "without its configuration";
    enum claim claim = table_match(f, w, err);
    if (claim == CLAIM_YES && !svd)
        w->scheme = &sdnq_schemes[UNCONFIGURED];
    return claim;
}

/* Types that no unquantized weight has. */
#define ALWAYS_CODES DTYPE_SET(HAS(I8), HAS(U8), HAS_FLOAT8)

static enum claim
sdnq_choose(struct table_match *f, struct weight *w, struct err *err)
{
    const struct config *config = f->claims->config;
    struct module m = { .claims = f->claims, .codes = f->codes, .p = f->base };
    const char *method = config_method(config);
    m.scale = find_companion(&m, ".scale");
    f->hint = &m;
    if (method ? strcmp(method, "sdnq") != 0 : !m.scale)
        return CLAIM_NO;
    if (!method)
        return choose_unconfigured(f, &m, w, err);
    m.block = config_block(config);
    m.zero = find_companion(&m, ".zero_point");
    m.cost = config_cost(config);
    if (!configure(&m, err))
        return CLAIM_FAIL;
    struct sdnq_type type;
    bool ignored = false;
    if (!dtype_in(ALWAYS_CODES, f->codes->dtype)) {
        if (!m.scale || !m.name || !sdnq_type_find(&type, m.name) || type.stored != f->codes->dtype)
            return CLAIM_NO;
        if (!config_ignores(config, f->base.base, f->base.base_len, &ignored, err))
            return CLAIM_FAIL;
    }
    if (ignored)
        return CLAIM_NO;
    if (!m.scale)
        return choose_unscaled(&m, err);
    if (!m.open)
        m.open = unsupported_part(&m);
    return table_match(f, w, err);
}

/* --- decoding */

/* Returns the bytes of the first n codes of a pack. */
static uint64_t
pack_bytes(unsigned bits, uint64_t n)
{
    if (bits == 6)
        return n == 0 ? 0 : n <= 4 ? 3 : 6;
    if (bits % 2 == 0)
        return (n * bits + 7) / 8;
    if (n == 0)
        return 0;
    return bits;
}

static void
sdnq_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct sdnq *q = w->own;
    uint64_t end = first + count, from = first / q->group, to = (end - 1) / q->group;
    uint64_t size = dtype_facts(w->part[part]->dtype)->bytes, bits = q->type.bits;
    if (part != CODES)
        *s = (struct span){ from * size, (to - from + 1) * size };
    else if (bits >= 8)
        *s = (struct span){ first * size, count * size };
    else
        *s = (struct span){ first / 8 * bits * size,
            ((end / 8 - first / 8) * bits + pack_bytes(q->type.bits, end % 8)) * size };
}

struct sdnq_room {
    struct step_room step;
    float map[256];
};

/* Returns one code per byte, from the input or unpacked. */
static const uint8_t *
unpack(const struct decoding *d, uint64_t at, size_t n)
{
    const struct sdnq *q = d->w->own;
    struct step_room *own = d->room;
    unsigned bits = q->type.bits;
    size_t skip = (size_t)(at % 8);
    uint64_t size = sdnq_type_bytes(&q->type);
    if (d->w->scheme == &sdnq_schemes[IN_COLUMNS])
        return decoding_unit(d, CODES, at / q->cols - d->first / q->cols) + at % q->cols * size;
    const uint8_t *x = decoding_bytes(d, CODES, (bits >= 8 ? at : at / 8 * bits) * size);
    if (bits >= 8)
        return x;
    if (bits == 1) {
        for (size_t i = 0; i < n; i++)
            own->codes[i] = x[(skip + i) / 8 * size] >> (skip + i) % 8 & 1;
        return own->codes;
    }
    if (bits == 2 || bits == 4) {
        d->k->bits_stream(own->codes, x, skip, n, bits);
        return own->codes;
    }
    d->k->packs(own->codes, x, skip + n, bits);
    return own->codes + skip;
}

/* Returns how many of `left` elements a step takes at `at`: whole groups, or elements within one. Columns stay within one
 * row. */
static size_t
step_size(const struct weight *w, uint64_t at, uint64_t left)
{
    const struct sdnq *q = w->own;
    uint64_t n = num_min(left, STEP);
    if (w->scheme == &sdnq_schemes[IN_COLUMNS])
        n = num_min(n, q->cols - at % q->cols);
    if (at % q->group != 0)
        return (size_t)num_min(n, q->group - at % q->group);
    return (size_t)n;
}

/* Multiplies n numbers by their scales. */
static void
decode_scaled(const struct decoding *d, const uint8_t *x, size_t n, const float *scales, float *v, uint8_t *y)
{
    const struct sdnq *q = d->w->own;
    enum dtype in = d->w->part[SCALE]->dtype, stored = q->type.stored;
    for (size_t i = 0; i < n; i++)
        v[i] = scale_round(in, scale_value(stored, x, i) * scales[i / q->group]);
    kernels_round(d->k, d->to, y, v, n);
}

/* Uses the faster kernels for signed types, unless T, the type of the scales, requires a second rounding. */
static uint64_t
sdnq_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct sdnq *q = d->w->own;
    const struct sdnq_type *type = &q->type;
    struct sdnq_room *room = d->room;
    float *scales = room->step.scales, *terms = room->step.terms, *v = room->step.v;
    enum dtype in = d->w->part[SCALE]->dtype, codes = d->w->part[CODES]->dtype;
    bool mapped = type->is_signed || type->exponent != 0, once = in == DTYPE_F32 || in == d->to;
    bool integers = once && type->is_signed && type->exponent == 0;
    size_t n = step_size(d->w, at, count), group = (size_t)q->group, groups = (size_t)num_ceil_div(n, q->group);
    const uint8_t *x = unpack(d, at, n);
    const struct codes8 c = { type->packed ? terms : NULL, scales, group, .is_signed = !type->packed };
    const struct affine a = { scales, terms, group, in, .fused = true, .map = mapped ? room->map : NULL };
    if (mapped && at == d->first)
        sdnq_type_values(room->map, type, codes, in);
    scale_read(d, SCALE, at / q->group, groups, scales);
    if (d->w->part[ZERO])
        scale_read(d, ZERO, at / q->group, groups, terms);
    for (size_t i = 0; i < groups && !d->w->part[ZERO]; i++)
        terms[i] = integers ? (float)(1U << (type->bits - 1)) : -0.0f;
    if (is_scaled(codes))
        decode_scaled(d, x, n, scales, v, y);
    else if (once && dtype_is_float8(codes))
        step_fp8(d, y, codes, x, n, scales, group, v);
    else if (integers)
        step_codes8(d, y, x, 0, n, &c, v);
    else
        step_affine(d, y, x, 0, n, &a, v);
    return n;
}

static void
sdnq_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct sdnq *q = w->own;
    if (q->open)
        snprintf(buf, SCHEME_DETAIL, "%s", q->text);
    else if (q->group >= q->cols)
        snprintf(buf, SCHEME_DETAIL, "%s, per-%s scale", q->text, dim_is_one(w->part[SCALE]) ? "tensor" : "channel");
    else
        snprintf(buf, SCHEME_DETAIL, "%s, groups of %" PRIu64, q->text, q->group);
}

static const struct scheme_row rows[] = {
    { .codes = ".weight", .dtypes = DTYPE_SET(HAS(I8), HAS(U8), HAS_FLOAT8, HAS(I64), HAS_FLOAT_16, HAS(F8_E8M0)),
      .becomes = ".weight", .choose = sdnq_choose,
      WITH(COMPANION(".scale", ANY, EVIDENCE, SCALE, .part = SCALE, .left = LEFT_METHOD),
        COMPANION(".zero_point", ANY, OPTIONAL, ZERO_POINT, .part = ZERO)),
        ALSO(BELONGS(".svd_up", STATE), BELONGS(".svd_down", STATE), BELONGS(".scale_2", SCALE),
            BELONGS(".scale_zero_point", ZERO_POINT), BELONGS(".zero_point_scale", SCALE),
            BELONGS(".zero_point_2", ZERO_POINT)) },
};

#define SDNQ(...) { .code = "sdnq", .name = "SDNQ", .describe = sdnq_describe, .room = sizeof(struct sdnq_room), \
    __VA_ARGS__ }

/* The first scheme finds the weights of all. */
const struct scheme sdnq_schemes[] = {
    [IN_ROWS] = SDNQ(WORDS({ WORD_METHOD, "sdnq" }), .knows = knows, .rows = rows, .nrows = sizeof rows / sizeof *rows,
        .fit = sdnq_fit, .run = sdnq_run, .decode = sdnq_decode,
        .need = { [CODES] = NEED_RUN, [SCALE] = NEED_RUN, [ZERO] = NEED_RUN }),
    [IN_COLUMNS] = SDNQ(.run = sdnq_run, .strip = table_strip, .decode = sdnq_decode,
        .need = { [CODES] = NEED_STRIP, [SCALE] = NEED_RUN, [ZERO] = NEED_RUN }),
    [UNCONFIGURED] = SDNQ(.ask = "its type is in config.json or quantization_config.json: give the directory, or one of "
        "these with --config"),
    { 0 },
};
