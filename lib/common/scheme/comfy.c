/* ComfyUI's formats, by the name in the marker of P.weight [R, C]: schemes.md 10A.1. A stack of E experts has one more
 * dimension in front, on the weight, block scales and row scales; a scale a tensor is then [E] or one for all.
 *
 *     float8_e4m3fn, float8_e5m2   F8 [R, C]          weight_scale F32 one
 *     mxfp8                        F8_E4M3 [R, C]     weight_scale E8M0, the tiled grid of R x C/32 (scheme/swizzle.c)
 *     nvfp4                        U8 [R, C/2]        weight_scale E4M3, the grid of R x C/16; weight_scale_2 F32 one;
 *                                                     perhaps pre_quant_scale [C]
 *     int8_tensorwise              I8 [R, C]          weight_scale F32 one or [R, 1]
 *     convrot_w4a4                 I8 [R, C/2]        weight_scale F32 [R]
 *     asym_w4a8_int8               I8 [R, C*bits/8]   weight_s_rel [R, C/gs], weight_s_channel F32 [R]; perhaps
 *                                                     weight_codebook F32 [16]
 *     awq_w4a16                    I8 [R, C/2]        weight_scale, weight_zeros [C/gs, R]
 *     nf4                          U8 [ceil(n/2), 1]  weight_scale F32 [ceil(n/64)], weight_code F32 [16]
 *
 * Sources: ComfyUI comfy/quant_ops.py and comfy/ops.py; comfy-kitchen's layouts; ComfyUI-INT8-Fast.
 */
#include "scheme/comfy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/comfy_marker.h"
#include "scheme/recognised.h"
#include "scheme/swizzle.h"

#define IS(type) (UINT64_C(1) << DTYPE_##type)
#define FLOAT (IS(F16) | IS(BF16) | IS(F32))

/* The shapes that a companion may have; a set of them. */
enum {
    ONE = 1 << 0,               /* [], [1]; of experts [E] too */
    ROWS = 1 << 1,              /* [R] */
    ROWS_1 = 1 << 2,            /* [R, 1] */
    COLS = 1 << 3,              /* [C] */
    GRID = 1 << 4,              /* tiles of R x C/block */
    GROUPS = 1 << 5,            /* [R, C/block] */
    GROUPS_T = 1 << 6,          /* [C/block, R] */
    BLOCKS = 1 << 7,            /* [ceil(R*C/block)] */
    SIXTEEN = 1 << 8,           /* [16] */
    SHAPES = 9
};

enum { COMPANIONS = 3 };

struct companion {
    const char *suffix, *alias; /* behind P; alias: NULL or another name of it, never both */
    uint64_t dtypes;
    unsigned shapes;
    bool optional;
};

/* A weight while its format is checked. */
struct checked {
    const struct claims *claims;
    const struct comfy_marker *marker;
    const struct tensor *codes;
    struct part_name p;
    bool stacked;
    uint64_t experts, rows, stored, cols;       /* stored: bytes a row; cols: C */
    uint64_t block;                             /* elements a scale */
};

struct format {
    const char *name;
    uint64_t dtypes;
    uint64_t per_byte;          /* codes; 0: `params` finds C */
    uint64_t block;             /* of which C is a multiple, and which share a scale; 0: no such thing */
    bool any_rank;              /* with a scale of one element */
    bool (*params)(struct checked *w, struct err *err);
    struct companion with[COMPANIONS];
};

static bool
wrong(const struct checked *w, const char *key, const char *expected, struct err *err)
{
    return comfy_marker_wrong(w->marker, w->codes, key, expected, err);
}

/* An integer from 1 on; `otherwise` where the marker has none. */
static bool
number(const struct checked *w, const char *key, uint64_t otherwise, uint64_t *out, struct err *err)
{
    const json_t *v = comfy_marker_get(w->marker, key);
    *out = v ? (uint64_t)json_integer_value(v) : otherwise;
    return !v || (json_is_integer(v) && json_integer_value(v) > 0) || wrong(w, key, "a positive integer", err);
}

static bool
flag(const struct checked *w, const char *key, bool *out, struct err *err)
{
    const json_t *v = comfy_marker_get(w->marker, key);
    *out = v && json_is_true(v);
    return !v || json_is_boolean(v) || wrong(w, key, "true or false", err);
}

/* Rotated in groups of 4^k columns. */
static bool
rotation(const struct checked *w, struct err *err)
{
    static const char key[] = "convrot_groupsize";
    uint64_t g, power = 4;
    if (w->marker->unread)
        return true;
    if (!number(w, key, 256, &g, err))
        return false;
    while (power < 65536 && power != g)
        power *= 4;
    char expected[80];
    snprintf(expected, sizeof expected, "a power of 4 up to 65536 that divides %" PRIu64 " columns", w->cols);
    return (power == g && w->cols % g == 0) || wrong(w, key, expected, err);
}

static bool
int8_params(struct checked *w, struct err *err)
{
    bool convrot;
    return flag(w, "convrot", &convrot, err) && (!convrot || rotation(w, err));
}

static bool
w4a4_params(struct checked *w, struct err *err)
{
    return rotation(w, err);
}

static bool
bad_codes(const struct checked *w, const char *format, const char *expected, struct err *err)
{
    char name[STR_SHOWN], shape[SHAPE_TEXT];
    return err_set(err, ERR_MALFORMED, w->codes->extent.at, "tensor %s: is %s %s, but ComfyUI %s has %s",
        str_shown(name, w->codes->name, w->codes->name_len), dtype_name(w->codes->dtype),
        shape_text(shape, &w->codes->shape), format, expected);
}

/* C hides in the number of scales a row, the bits in C. */
static bool
w4a8_params(struct checked *w, struct err *err)
{
    const struct tensor *scale = claims_find(w->claims, w->p.base, w->p.base_len, ".weight_s_rel");
    bool codebook = claims_find(w->claims, w->p.base, w->p.base_len, ".weight_codebook") != NULL;
    uint64_t gs;
    if (!number(w, "group_size", 16, &gs, err))
        return false;
    if (gs < 4 || (gs % 16 != 0 && 16 % gs != 0))
        return wrong(w, "group_size", "4, 8 or a multiple of 16", err);
    if (!scale || scale->shape.rank == 0)       /* reported with the companions */
        return true;
    w->block = gs;
    bool ok = num_mul(&w->cols, gs, shape_dim(&scale->shape, scale->shape.rank - 1));
    bool four = ok && w->cols % 16 == 0 && w->stored == w->cols / 2;
    bool six = ok && w->cols % 32 == 0 && w->stored == w->cols / 4 * 3 && gs % 16 == 0 && !codebook;
    return four || six ? rotation(w, err) : bad_codes(w, "asym_w4a8_int8",
        "4 or 6 bits for each of group_size times the columns of weight_s_rel", err);
}

static bool
awq_params(struct checked *w, struct err *err)
{
    if (!number(w, "group_size", 64, &w->block, err))
        return false;
    return w->cols % w->block == 0 || wrong(w, "group_size", "a divisor of the columns", err);
}

/* The codes of a matrix as one column of bytes: its shape stands in the marker. */
static bool
nf4_params(struct checked *w, struct err *err)
{
    const json_t *shape = comfy_marker_get(w->marker, "shape"), *size = comfy_marker_get(w->marker, "blocksize");
    const json_t *dtype = comfy_marker_get(w->marker, "dtype"), *twice = comfy_marker_get(w->marker, "double_quant");
    uint64_t dim[2], n;
    if (size && json_integer_value(size) != 64)
        return wrong(w, "blocksize", "64", err);
    if (dtype && (!json_is_string(dtype) || strcmp(json_string_value(dtype), "bfloat16") != 0))
        return wrong(w, "dtype", "\"bfloat16\"", err);
    if (twice && !json_is_false(twice))
        return wrong(w, "double_quant", "false", err);
    for (size_t i = 0; i < 2; i++) {
        const json_t *item = json_array_get(shape, i);
        if (json_array_size(shape) != 2 || !json_is_integer(item) || json_integer_value(item) < 0)
            return wrong(w, "shape", "two integers from 0 on", err);
        dim[i] = (uint64_t)json_integer_value(item);
    }
    if (!num_mul(&n, dim[0], dim[1]) || w->stacked || w->stored != 1 || w->rows != num_ceil_div(n, 2))
        return bad_codes(w, "nf4", "[elements / 2, 1] of the shape in its marker", err);
    w->rows = dim[0];
    w->cols = dim[1];
    return true;
}

#define ONE_F32(name) { name, NULL, IS(F32), ONE, false }

static const struct format formats[] = {
    { "float8_e4m3fn", IS(F8_E4M3), 1, 0, true, NULL, { ONE_F32(".weight_scale") } },
    { "float8_e5m2", IS(F8_E5M2), 1, 0, true, NULL, { ONE_F32(".weight_scale") } },
    { "mxfp8", IS(F8_E4M3), 1, 32, false, NULL, {
        { ".weight_scale", NULL, IS(U8) | IS(F8_E8M0), GRID, false } } },
    { "nvfp4", IS(U8), 2, 16, false, NULL, {
        { ".weight_scale", NULL, IS(U8) | IS(F8_E4M3), GRID, false }, ONE_F32(".weight_scale_2"),
        { ".pre_quant_scale", NULL, FLOAT, COLS, true } } },
    { "convrot_w4a4", IS(I8), 2, 0, false, w4a4_params, { { ".weight_scale", NULL, IS(F32), ROWS, false } } },
    { "asym_w4a8_int8", IS(I8), 0, 0, false, w4a8_params, {
        { ".weight_s_rel", NULL, IS(F8_E4M3) | IS(U8) | IS(F32), GROUPS, false },
        { ".weight_s_channel", NULL, IS(F32), ROWS, false },
        { ".weight_codebook", NULL, IS(F32), SIXTEEN, true } } },
    { "awq_w4a16", IS(I8), 2, 0, false, awq_params, {
        { ".weight_scale", NULL, FLOAT, GROUPS_T, false },
        { ".weight_zeros", ".weight_zero", FLOAT, GROUPS_T, false } } },
    { "int8_tensorwise", IS(I8), 1, 0, true, int8_params, {
        { ".weight_scale", NULL, IS(F32), ONE | ROWS_1, false } } },
    { "nf4", IS(U8), 0, 64, false, nf4_params, {
        { ".weight_scale", NULL, IS(F32), BLOCKS, false }, { ".weight_code", NULL, IS(F32), SIXTEEN, false } } },
};

enum { FORMATS = sizeof formats / sizeof *formats };

/* --- companions */

/* The dimensions of one of the shapes, without experts; how many there are. GRID: false where it has none. */
static uint32_t
expected_dims(const struct checked *w, unsigned shape, uint64_t dim[2])
{
    uint64_t block = w->block ? w->block : 1, n = 0;
    num_mul(&n, w->rows, w->cols);
    dim[0] = shape == COLS ? w->cols : shape == SIXTEEN ? 16 : shape == GROUPS_T ? w->cols / block
        : shape == BLOCKS ? num_ceil_div(n, block) : w->rows;
    dim[1] = shape == GROUPS ? w->cols / block : shape == GROUPS_T ? w->rows : 1;
    if (shape == GRID && !swizzle_grid(dim, w->rows, w->cols / block))
        dim[0] = dim[1] = UINT64_MAX;
    return shape & (GRID | GROUPS | GROUPS_T | ROWS_1) ? 2 : 1;
}

static bool
shape_is(const struct checked *w, unsigned shape, const struct shape *s)
{
    uint64_t dim[2];
    if (shape == ONE)
        return s->rank == 0
            || (s->rank == 1 && (shape_dim(s, 0) == 1 || (w->stacked && shape_dim(s, 0) == w->experts)));
    uint32_t rank = expected_dims(w, shape, dim);
    uint32_t lead = w->stacked && shape & (GRID | GROUPS | GROUPS_T | ROWS | ROWS_1) ? 1 : 0;
    return s->rank == lead + rank && (lead == 0 || shape_dim(s, 0) == w->experts)
        && shape_dim(s, lead) == dim[0] && (rank == 1 || shape_dim(s, lead + 1) == dim[1]);
}

static bool
companion_fits(const struct checked *w, const struct companion *with, const struct tensor *t, const char *format,
    struct err *err)
{
    char name[STR_SHOWN], codes[STR_SHOWN], a[SHAPE_TEXT], b[SHAPE_TEXT];
    bool ok = (with->dtypes & UINT64_C(1) << t->dtype) != 0, shape = false;
    for (unsigned i = 0; i < SHAPES; i++)
        shape = shape || (with->shapes & 1U << i && shape_is(w, 1U << i, &t->shape));
    return (ok && shape) || err_set(err, ERR_MALFORMED, t->extent.at, "tensor %s: %s %s does not fit its weight %s %s "
        "%s, which is ComfyUI %s", str_shown(name, t->name, t->name_len), dtype_name(t->dtype),
        shape_text(a, &t->shape), str_shown(codes, w->codes->name, w->codes->name_len), dtype_name(w->codes->dtype),
        shape_text(b, &w->codes->shape), format);
}

static bool
check_companions(const struct checked *w, const struct format *f, struct err *err)
{
    char name[STR_SHOWN];
    str_shown(name, w->codes->name, w->codes->name_len);
    for (const struct companion *with = f->with; with < f->with + COMPANIONS && with->suffix; with++) {
        const struct tensor *t = claims_find(w->claims, w->p.base, w->p.base_len, with->suffix);
        const struct tensor *alias = with->alias
            ? claims_find(w->claims, w->p.base, w->p.base_len, with->alias) : NULL;
        if (t && alias)
            return err_set(err, ERR_MALFORMED, alias->extent.at, "tensor %s: has both %s and %s", name,
                with->suffix + 1, with->alias + 1);
        if (!t && !alias && !with->optional)
            return err_set(err, ERR_MALFORMED, w->codes->extent.at, "tensor %s: is ComfyUI %s by its marker, but has "
                "no %s", name, f->name, with->suffix + 1);
        if ((t || alias) && !companion_fits(w, with, t ? t : alias, f->name, err))
            return false;
    }
    return true;
}

/* --- a weight */

/* What the shape of the codes says. */
static bool
measure(struct checked *w, const struct format *f, struct err *err)
{
    const struct shape *s = &w->codes->shape;
    if ((f->dtypes & UINT64_C(1) << w->codes->dtype) == 0)
        return bad_codes(w, f->name, "codes of another type", err);
    w->stacked = s->rank == 3;
    w->experts = w->stacked ? shape_dim(s, 0) : 1;
    w->block = f->block;
    if (s->rank == 2 || s->rank == 3) {
        w->rows = shape_dim(s, s->rank - 2);
        w->stored = shape_dim(s, s->rank - 1);
    } else if (!f->any_rank) {
        return bad_codes(w, f->name, "[out, in], or that for each expert", err);
    } else {                            /* no row scale fits this, and no rotation */
        w->rows = UINT64_MAX;
        w->stored = 1;
    }
    if (!num_mul(&w->cols, w->stored, f->per_byte))
        return bad_codes(w, f->name, "fewer columns", err);
    if (f->per_byte != 0 && f->block != 0 && w->cols % f->block != 0)
        return bad_codes(w, f->name, "whole blocks along a row", err);
    return !f->params || f->params(w, err);
}

static bool
format_fits(struct checked *w, const struct format *f, struct err *err)
{
    return measure(w, f, err) && check_companions(w, f, err);
}

static const struct format *
find_format(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* Only headers may be read: the first format that the tensors fit with default parameters, or NULL. */
static const struct format *
guess_format(struct checked *w)
{
    for (size_t i = 0; i < FORMATS; i++) {
        struct err ignored;
        err_init(&ignored);
        if (format_fits(w, &formats[i], &ignored))
            return &formats[i];
    }
    return NULL;
}

/* Everything beside P.weight that is part of some format: of one that is not decoded nothing is left over. */
static bool
take_all(struct claims *c, const struct checked *w, struct err *err)
{
    static const char *const names[] = {
        ".weight_scale", ".weight_scale_2", ".weight_global_scale", ".weight_zero", ".weight_zeros",
        ".weight_zero_point", ".weight_s_rel", ".weight_s_channel", ".weight_codebook", ".weight_correction",
        ".weight_code", ".weight_g_idx", ".pre_quant_scale", ".smooth_factor", ".proj_down", ".proj_up",
        ".svdquant_lora_a", ".svdquant_lora_b",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct tensor *t = claims_find(c, w->p.base, w->p.base_len, names[i]);
        if (t && !claims_take(c, t, w->codes, err))
            return false;
    }
    return claims_take_idle(c, w->codes, err);
}

static enum claim
claim_format(struct claims *c, struct checked *w, struct weight *out, struct err *err)
{
    const struct comfy_marker *m = w->marker;
    const struct format *f = m->unread ? guess_format(w) : find_format(m->format);
    bool corrected = f && claims_find(c, w->p.base, w->p.base_len, ".weight_correction");
    if (f && !m->unread && !format_fits(w, f, err))
        return CLAIM_FAIL;
    if (f && f->dtypes & (IS(F8_E4M3) | IS(F8_E5M2)))
        return CLAIM_NO;                /* the FP8 scheme's; it takes the marker as well */
    char shown[STR_SHOWN] = "", name[STR_SHOWN + 64];
    if (f || !m->unread)
        str_shown(shown, f ? f->name : m->format, strlen(f ? f->name : m->format));
    snprintf(name, sizeof name, "ComfyUI%s%s%s", *shown ? " " : "", shown, corrected ? " with weight_correction" : "");
    return take_all(c, w, err) && recognised_as(c, out, name, err) ? CLAIM_YES : CLAIM_FAIL;
}

/* P.comfy_quant stands for nothing without P.weight. */
static bool
check_tensor(const struct claims *c, const struct tensor *t, struct err *err)
{
    struct part_name p;
    char name[STR_SHOWN];
    return !name_strip(t, ".comfy_quant", &p) || claims_find(c, p.base, p.base_len, ".weight")
        || err_set(err, ERR_MALFORMED, t->extent.at, "tensor %s: marks a weight that is not in the model; of a model "
            "of several files give the directory or the index", str_shown(name, t->name, t->name_len));
}

/* The old form: beside scaled_fp8, P.scale_weight is one F32 for F8 codes (schemes.md 10A.2). */
static bool
check_old(const struct claims *c, const struct tensor *t, struct err *err)
{
    struct part_name p;
    char name[STR_SHOWN], shape[SHAPE_TEXT];
    if (!comfy_markers_old(claims_comfy(c)) || !name_strip(t, ".scale_weight", &p))
        return true;
    const struct tensor *codes = claims_find(c, p.base, p.base_len, ".weight");
    const struct shape *s = &t->shape;
    str_shown(name, t->name, t->name_len);
    if (!codes || !dtype_is_float8(codes->dtype))
        return err_set(err, ERR_MALFORMED, t->extent.at, "tensor %s: is the scale of an F8 weight, which is %s", name,
            codes ? dtype_name(codes->dtype) : "not in the model");
    bool one = s->rank == 0 || (s->rank == 1 && shape_dim(s, 0) == 1);
    return (one && t->dtype == DTYPE_F32) || err_set(err, ERR_MALFORMED, t->extent.at, "tensor %s: is %s %s, expected "
        "one F32", name, dtype_name(t->dtype), shape_text(shape, s));
}

static enum claim
claim(const struct scheme *self, struct claims *c, const struct tensor *codes, struct weight *w, struct err *err)
{
    struct comfy_marker marker;
    struct checked checked = { .claims = c, .marker = &marker, .codes = codes };
    (void)self;
    if (!check_tensor(c, codes, err) || !check_old(c, codes, err))
        return CLAIM_FAIL;
    if (!comfy_markers_any(claims_comfy(c)) || !name_strip(codes, ".weight", &checked.p) || !comfy_is_marked(c, codes))
        return CLAIM_NO;
    enum claim result = CLAIM_FAIL;
    if (comfy_marker_read(&marker, c, codes, err))
        result = claim_format(c, &checked, w, err);
    comfy_marker_clear(&marker);
    return result;
}

const struct scheme scheme_comfy = { .name = "ComfyUI", .claim = claim, .describe = recognised_describe };
