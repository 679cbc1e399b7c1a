/* SDNQ (schemes.md 10B). The tensors of a module P:
 *
 *     P.weight        codes: I8, U8 or F8 as they are, or packed in U8, n of them in all
 *     P.scale         [out, 1] a row, [out, G, 1] G groups a row, [1, 1] the tensor, or [1, out] beside a weight that
 *                     is stored transposed, [in, out]
 *     P.zero_point    of unsigned types, and of those only: like the scale
 *
 * The type is `weights_dtype` of the configuration, unless `modules_dtype_dict` {type: [patterns]} or
 * `modules_quant_config` {pattern: {...}} names the module. Packs of whole bytes: 3, 5 and 7 bits in as many bytes, 6
 * bits in 3, others in one. Sources: sdnq, common.py, quantizer.py and dequantizer.py.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/modules.h"
#include "scheme/table.h"

#define FLOAT_16 (IS(F32) | IS(BF16) | IS(F16))

/* What a type of SDNQ is stored as. */
struct type {
    unsigned bits;
    bool is_signed, packed;
    uint64_t dtypes;
};

/* A module while it is looked at. */
struct module {
    const struct claims *claims;
    const json_t *block, *own;          /* the configuration, and what modules_quant_config has for this module */
    struct modules_cost *cost;          /* of matching patterns */
    const struct tensor *codes, *scale, *zero;
    struct part_name p;
    const char *name;                   /* of the type */
    char made[16];                      /* name, where a minimum of bits gives another type */
};

/* --- types */

static bool
set_packed(struct type *type, unsigned bits, bool is_signed)
{
    *type = (struct type){ .bits = bits, .is_signed = is_signed, .packed = true, .dtypes = IS(U8) };
    return true;
}

/* "float6_e3m2fn": bits, exponent, mantissa; fnu has no sign bit. */
static bool
find_float(struct type *type, const char *name)
{
    unsigned bits, e, m;
    char sign[4] = "", rest;
    int n = sscanf(name, "float%1u_e%1um%1uf%3[nu]%c", &bits, &e, &m, sign, &rest);
    bool is_signed = strcmp(sign, "n") == 0;
    bool ok = n == 4 && (is_signed || strcmp(sign, "nu") == 0) && e != 0 && bits >= 2 && bits <= 8;
    return ok && bits == e + m + is_signed && set_packed(type, bits, is_signed);
}

/* False: a type that is not supported. */
static bool
find_type(struct type *type, const char *name)
{
    static const struct { const char *name; struct type type; } plain[] = {
        { "int8", { 8, true, false, IS(I8) } },                 { "uint8", { 8, false, false, IS(U8) } },
        { "float8_e4m3fn", { 8, true, false, IS(F8_E4M3) } },   { "fp8", { 8, true, false, IS(F8_E4M3) } },
        { "float8_e5m2", { 8, true, false, IS(F8_E5M2) } },     { "float8_e4m3fn_sdnq", { 8, true, true, IS(U8) } },
        { "fp7", { 7, true, true, IS(U8) } },   { "fp6", { 6, true, true, IS(U8) } },
        { "fp5", { 5, true, true, IS(U8) } },   { "fp4", { 4, true, true, IS(U8) } },
        { "fp3", { 3, true, true, IS(U8) } },   { "fp2", { 2, true, true, IS(U8) } },
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i].name, name) == 0) {
            *type = plain[i].type;
            return true;
        }
    bool is_signed = name[0] != 'u';
    const char *digit = name + !is_signed;
    if (strncmp(digit, "int", 3) == 0 && digit[3] >= '2' && digit[3] <= '7' && digit[4] == '\0')
        return set_packed(type, (unsigned)(digit[3] - '0'), is_signed);
    return find_float(type, name);
}

/* --- the configuration */

/* Pay for n steps of matching; false when nothing is left. */
static bool
pay(struct modules_cost *cost, size_t n)
{
    cost->steps -= n < cost->steps ? n : cost->steps;
    return cost->steps != 0;
}

static bool
glob(const char *pattern, const char *text, size_t n, struct modules_cost *cost)
{
    const char *star = NULL, *end = text + n, *again = text;
    while (*pattern && pay(cost, 1)) {
        if (*pattern == '*') {
            star = pattern++;
            again = text;
        } else if (text < end && *pattern == *text) {
            pattern++;
            text++;
        } else if (star && again < end) {
            pattern = star + 1;
            text = ++again;
        } else {
            return false;
        }
    }
    return *pattern == '\0';     /* what follows in the text does not matter */
}

/* Whether a pattern names P.weight; false, too, when matching has cost all that it may. */
static bool
names_weight(const char *pattern, const struct tensor *t, struct modules_cost *cost)
{
    size_t n = t->name_len, len = strlen(pattern);
    if (!pay(cost, n + len))
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
    return strchr(pattern, '*') && glob(pattern, t->name, n, cost);
}

static bool
any_names_weight(const json_t *list, const struct tensor *t, struct modules_cost *cost)
{
    for (size_t i = 0; i < json_array_size(list) && pay(cost, 1); i++) {
        const char *pattern = json_string_value(json_array_get(list, i));
        if (pattern && names_weight(pattern, t, cost))
            return true;
    }
    return false;
}

/* "minimum_5bit", "5bit": 5; 0 when a key is no such thing. */
static unsigned
minimum_bits(const char *key)
{
    unsigned bits;
    char rest[5];
    if (strncmp(key, "minimum_", 8) == 0)
        key += 8;
    bool ok = isdigit((unsigned char)*key) && sscanf(key, "%1u%4s", &bits, rest) == 2 && strcmp(rest, "bit") == 0;
    return ok ? bits : 0;
}

static const json_t *
setting(const struct module *m, const char *key)
{
    const json_t *v = json_object_get(m->own, key);
    return v ? v : json_object_get(m->block, key);
}

/* Find what the configuration says of this module; the name stays NULL when it says nothing. */
static bool
configure(struct module *m, struct err *err)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(m->block, "modules_quant_config"), key, value)
        if (!pay(m->cost, 1) || (json_is_object(value) && names_weight(key, m->codes, m->cost))) {
            m->own = value;
            break;
        }
    m->name = json_string_value(setting(m, "weights_dtype"));
    if (json_object_get(m->own, "weights_dtype"))
        return modules_cost_left(m->cost, err);
    json_object_foreach(json_object_get(m->block, "modules_dtype_dict"), key, value) {
        struct type type;
        unsigned least = minimum_bits(key);
        if (!pay(m->cost, 1))
            break;
        if (!any_names_weight(value, m->codes, m->cost))
            continue;
        if (least == 0) {
            m->name = key;
        } else if (m->name && find_type(&type, m->name) && type.bits < least) {
            snprintf(m->made, sizeof m->made, "%sint%u", least <= 4 ? "u" : "", least);
            m->name = m->made;
        }
        break;
    }
    return modules_cost_left(m->cost, err);
}

/* --- a weight */

static const struct tensor *
beside(const struct module *m, const char *suffix)
{
    return claims_find(m->claims, m->p.base, m->p.base_len, suffix);
}

/* What is not defined well enough to decode, as a clause of a message; or NULL. */
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
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        if (beside(m, tensors[i][0]))
            return tensors[i][1];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *v = setting(m, keys[i][0]);
        const char *text = json_string_value(v);
        if (v && !json_is_null(v) && !json_is_false(v) && !(text && strcmp(text, "none") == 0))
            return keys[i][1];
    }
    if (s->rank >= 4 || (s->rank == 3 && shape_dim(s, 1) == 1 && shape_dim(s, 2) != 1))
        return "of a convolution";
    return NULL;
}

static bool
bad(const struct module *m, const struct tensor *t, const char *expected, struct err *err)
{
    char shown[STR_SHOWN];
    return table_wrong(t, m->codes, err, "%s, as in SDNQ %.40s,", expected, str_shown(shown, m->name, strlen(m->name)));
}

/* Scales of n codes that lie on end; false when they do not divide them. */
static bool
packed_fits(const struct module *m, const struct type *type, struct err *err)
{
    static const uint64_t pack[] = { 0, 0, 1, 3, 1, 5, 3, 7, 1 };
    const struct shape *s = &m->scale->shape;
    uint64_t nbytes = m->codes->extent.nbytes, n, groups = s->rank == 3 ? shape_dim(s, 1) : 1;
    if (nbytes % pack[type->bits] != 0 || !num_mul(&n, nbytes, 8))
        return bad(m, m->codes, "whole packs of codes", err);
    n /= type->bits;
    bool ok = shape_dim(s, 0) != 0 && groups != 0 && n % shape_dim(s, 0) == 0 && n / shape_dim(s, 0) % groups == 0;
    return ok || bad(m, m->scale, "[out, 1] or [out, groups, 1] that divides the codes", err);
}

static bool
plain_fits(const struct module *m, struct err *err)
{
    const struct shape *s = &m->scale->shape, *w = &m->codes->shape;
    bool ok = s->rank == 3 ? w->rank == 3 && shape_dim(w, 0) == shape_dim(s, 0) && shape_dim(w, 1) == shape_dim(s, 1)
        : w->rank == 2 && ((shape_dim(s, 1) == 1 && (shape_dim(s, 0) == shape_dim(w, 0) || shape_dim(s, 0) == 1))
            || (shape_dim(s, 0) == 1 && shape_dim(s, 1) == shape_dim(w, 1)));
    return ok || bad(m, m->scale, "[out, 1], [out, groups, 1], [1, 1], or [1, out] beside [in, out]", err);
}

static bool
check(const struct module *m, const struct type *type, struct err *err)
{
    const struct shape *s = &m->scale->shape;
    if ((FLOAT_16 & UINT64_C(1) << m->scale->dtype) == 0)
        return bad(m, m->scale, "F32, BF16 or F16", err);
    if ((type->dtypes & UINT64_C(1) << m->codes->dtype) == 0)
        return bad(m, m->codes, "codes of the type that the configuration names", err);
    if (m->zero && type->is_signed)
        return bad(m, m->zero, "no zero_point, as the type is signed", err);
    if (!m->zero && !type->is_signed)
        return bad(m, m->codes, "a zero_point, as the type is unsigned", err);
    if (m->zero && (m->zero->dtype != m->scale->dtype || m->zero->shape.rank != s->rank
            || !shape_same(&m->zero->shape, s, s->rank)))
        return bad(m, m->zero, "dtype and shape of the scale", err);
    bool grouped = s->rank == 3 && shape_dim(s, 2) == 1 && shape_dim(s, 1) > 1;
    if (!grouped && s->rank != 2)
        return bad(m, m->scale, "[out, 1] or [out, groups, 1]", err);
    if (type->packed && s->rank == 2 && shape_dim(s, 1) != 1)
        return bad(m, m->scale, "one scale a row or a group", err);
    return type->packed ? packed_fits(m, type, err) : plain_fits(m, err);
}

/* Claim a weight "of this type, with what cannot be decoded". */
static enum claim
refuse(struct found *f, const struct module *m, const char *part, struct weight *w, struct err *err)
{
    char text[STR_SHOWN + 64], shown[STR_SHOWN] = "";
    if (m->name)
        str_shown(shown, m->name, strlen(m->name));
    size_t n = (size_t)snprintf(text, sizeof text, "%s%s%s", shown, *shown && part ? " " : "", part ? part : "") + 1;
    enum claim claim = table_match(f, w, err);
    char *own = claim == CLAIM_YES ? claims_alloc(f->claims, n, err) : NULL;
    if (claim == CLAIM_YES && !own)
        return CLAIM_FAIL;
    w->own = own ? memcpy(own, text, n) : NULL;
    return claim;
}

/* Without a configuration: I8 and U8 codes with a float scale are nobody else's, and svd_up is SDNQ's alone. */
static enum claim
choose_unconfigured(struct found *f, const struct module *m, struct weight *w, struct err *err)
{
    bool codes = m->codes->dtype == DTYPE_I8 || m->codes->dtype == DTYPE_U8;
    bool svd = dtype_is_float8(m->codes->dtype) && beside(m, ".svd_up");
    if (!(FLOAT_16 & UINT64_C(1) << m->scale->dtype) || (!codes && !svd))
        return CLAIM_NO;
    return refuse(f, m, svd ? "with svd_up" : "without its configuration; name the directory", w, err);
}

static enum claim
choose(struct found *f, struct weight *w, struct err *err)
{
    const struct config *config = f->claims->config;
    struct module m = { .claims = f->claims, .codes = f->codes, .p = f->base };
    const char *method = config_method(config);
    struct type type;
    if ((method && strcmp(method, "sdnq") != 0) || !(m.scale = beside(&m, ".scale")))
        return CLAIM_NO;
    if (!method)
        return choose_unconfigured(f, &m, w, err);
    m.block = config_block(config);
    m.zero = beside(&m, ".zero_point");
    m.cost = config_cost(config);
    if (!configure(&m, err))
        return CLAIM_FAIL;
    const char *part = unsupported_part(&m);
    if (part || !m.name || !find_type(&type, m.name))
        return refuse(f, &m, part, w, err);
    if (!check(&m, &type, err))
        return CLAIM_FAIL;
    const struct shape *s = &m.scale->shape;
    if (type.packed && s->rank == 2 && shape_dim(s, 0) == 1)
        part = "with one scale for packed codes";
    /* Rounding to the scale's dtype first is no step where that is F32, so the FP8 scheme gives the same. */
    if (dtype_is_float8(f->codes->dtype) && m.scale->dtype == DTYPE_F32 && s->rank == 2 && shape_dim(s, 1) == 1)
        return CLAIM_NO;
    return refuse(f, &m, part, w, err);
}

const struct scheme sdnq_schemes[] = {
    RECOGNISED("sdnq", "SDNQ", {
        .codes = ".weight", .dtypes = IS(I8) | IS(U8) | FLOAT8, .becomes = ".weight", .choose = choose,
        .beside = { BESIDE(".scale", ANY, EVIDENCE, SCALE), BESIDE(".zero_point", ANY, OPTIONAL, ZERO_POINT) },
        ALSO(BELONGS(".svd_up", STATE), BELONGS(".svd_down", STATE), BELONGS(".scale_2", SCALE),
            BELONGS(".zero_point_scale", SCALE)) }),
    { 0 },
};
