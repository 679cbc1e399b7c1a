/* ComfyUI's formats, by the name in the marker of P.weight [R, C]. A stack of E experts has one more leading dimension on
 * the weight, on block scales and on row scales; a per-tensor scale is then [E], or one for all.
 *
 *     float8_e4m3fn, float8_e5m2   F8 [R, C]          weight_scale F32 one
 *     mxfp8                        F8_E4M3 [R, C]     weight_scale E8M0, the tiled grid of R x C/32 (scheme/swizzle.c)
 *     nvfp4                        U8 [R, C/2]        weight_scale E4M3, the grid of R x C/16; weight_scale_2 F32 one;
 *                                                     optional pre_quant_scale [C]
 *     int8_tensorwise              I8 [R, C]          weight_scale F32 one or [R, 1]
 *     convrot_w4a4                 I8 [R, C/2]        weight_scale F32 [R]
 *     asym_w4a8_int8               I8 [R, C*bits/8]   weight_s_rel [R, C/gs], weight_s_channel F32 [R]; optional
 *                                                     weight_codebook F32 [16]
 *     awq_w4a16                    I8 [R, C/2]        weight_scale, weight_zeros [C/gs, R]
 *     nf4                          U8 [ceil(n/2), 1]  weight_scale F32 [ceil(n/64)], weight_code F32 [16]
 *
 * Sources: ComfyUI comfy/quant_ops.py and comfy/ops.py; comfy-kitchen's layouts; ComfyUI-INT8-Fast.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "kernel/convrot.h"
#include "scheme/bnb4.h"
#include "scheme/comfy.h"
#include "scheme/comfy_marker.h"
#include "scheme/dim.h"
#include "scheme/fp4.h"
#include "scheme/swizzle.h"
#include "scheme/table.h"

/* The shapes that a companion may have, as a bit set. */
enum {
    ONE = 1 << 0,               /* [], [1]; for experts also [E] */
    ROW = 1 << 1,               /* [R] */
    ROW_1 = 1 << 2,             /* [R, 1] */
    COLS = 1 << 3,              /* [C] */
    GRID = 1 << 4,              /* tiles of R x C/block */
    GROUPS = 1 << 5,            /* [R, C/block] */
    GROUPS_T = 1 << 6,          /* [C/block, R] */
    BLOCKS = 1 << 7,            /* [ceil(R*C/block)] */
    SIXTEEN = 1 << 8,           /* [16] */
    SHAPES = 9
};

/* A weight while its format is checked. */
struct comfy_checked {
    const struct comfy_marker *marker;
    const struct table_match *f;
    const struct tensor *codes;
    bool stacked;
    uint64_t experts, rows, stored, cols;       /* stored: bytes in a row; cols: C */
    uint64_t block;                             /* elements that share a scale */
    uint64_t rotated;                           /* columns of a rotated group; 0: not rotated */
    bool open;                                  /* headers alone do not determine C */
};

/* The properties of a format that are not in its row of the table. In the order of comfy_schemes. */
struct comfy_format {
    const char *name;
    uint64_t per_byte;          /* codes in a byte; 0: `params` finds C */
    uint64_t block;             /* elements that share a scale; C must be a multiple. 0: none */
    bool any_rank;              /* any rank is allowed if the scale has one element */
    bool (*params)(struct comfy_checked *w, struct err *err);
};

static bool
comfy_wrong(const struct comfy_checked *w, const char *key, const char *expected, struct err *err)
{
    return comfy_marker_wrong(w->marker, w->codes, key, expected, err);
}

/* Reads a positive integer from the marker; `fallback` is its default. */
static bool
comfy_number(const struct comfy_checked *w, const char *key, uint64_t fallback, uint64_t *out, struct err *err)
{
    const json_t *v = comfy_marker_get(w->marker, key);
    if (v)
        *out = (uint64_t)json_integer_value(v);
    else
        *out = fallback;
    return !v || (json_is_integer(v) && json_integer_value(v) > 0) || comfy_wrong(w, key, "a positive integer", err);
}

static bool
flag(const struct comfy_checked *w, const char *key, bool *out, struct err *err)
{
    const json_t *v = comfy_marker_get(w->marker, key);
    *out = v && json_is_true(v);
    return !v || json_is_boolean(v) || comfy_wrong(w, key, "true or false", err);
}

/* Reads the group of a rotated weight, 4^k columns. */
static bool
rotation(struct comfy_checked *w, struct err *err)
{
    static const char key[] = "convrot_groupsize";
    uint64_t g, power = 4;
    if (!comfy_number(w, key, 256, &g, err))
        return false;
    w->rotated = g;
    if (w->marker->unread)
        return true;
    while (power < CONVROT_MOST && power != g)
        power *= 4;
    char expected[80];
    snprintf(expected, sizeof expected, "a power of 4 up to %d that divides %" PRIu64 " columns", CONVROT_MOST,
        w->cols);
    return (power == g && w->cols % g == 0) || comfy_wrong(w, key, expected, err);
}

static bool
int8_params(struct comfy_checked *w, struct err *err)
{
    bool convrot;
    return flag(w, "convrot", &convrot, err) && (!convrot || rotation(w, err));
}

static bool
w4a4_params(struct comfy_checked *w, struct err *err)
{
    return rotation(w, err);
}

static bool
bad_codes(const struct comfy_checked *w, const char *format, const char *expected, struct err *err)
{
    char name[STR_SHOWN], shape[SHAPE_TEXT];
    return err_at(err, ERR_MALFORMED, w->codes->extent.at, "tensor %s: expected %s for ComfyUI %s, found %s %s",
        str_shown(name, w->codes->name, w->codes->name_len), expected, format, dtype_name(w->codes->dtype),
        shape_text(shape, &w->codes->shape));
}

/* Returns true if rows hold codes of 4 or 6 bits with gs columns per scale. C follows from the number of scales in a row,
 * and the bits from C. */
static bool
w4a8_fits(struct comfy_checked *w, const struct tensor *scale, uint64_t gs)
{
    bool codebook = table_found(w->f, ROLE_CODEBOOK) != NULL;
    w->block = gs;
    bool ok = num_mul(&w->cols, gs, shape_dim(&scale->shape, scale->shape.rank - 1));
    bool four = ok && w->cols % 16 == 0 && w->stored == w->cols / 2;
    return four || (ok && w->cols % 32 == 0 && w->stored == w->cols / 4 * 3 && gs % 16 == 0 && !codebook);
}

static bool
w4a8_group(uint64_t gs)
{
    return gs >= 4 && (gs % 16 == 0 || 16 % gs == 0);
}

/* Guesses the group_size of a marker that was not read, from codes of 4 or of 6 bits. Sets w->open if both are possible. */
static uint64_t
w4a8_guess(struct comfy_checked *w, const struct tensor *scale, uint64_t fallback)
{
    uint64_t groups = num_max(dim_cols(scale), 1), four = w->stored / groups * 2, six = w->stored / 3 * 4 / groups;
    bool is_four = w4a8_group(four) && w4a8_fits(w, scale, four), is_six = w4a8_group(six) && w4a8_fits(w, scale, six);
    w->open = is_four && is_six;
    if (is_four)
        return four;
    if (is_six)
        return six;
    return fallback;
}

static bool
w4a8_params(struct comfy_checked *w, struct err *err)
{
    const struct tensor *scale = table_found(w->f, ROLE_SCALE);
    uint64_t gs;
    if (!comfy_number(w, "group_size", 16, &gs, err))
        return false;
    if (!w4a8_group(gs))
        return comfy_wrong(w, "group_size", "4, 8 or a multiple of 16", err);
    if (scale->shape.rank == 0)                 /* reported with the companions */
        return true;
    if (w->marker->unread)
        gs = w4a8_guess(w, scale, gs);
    if (w4a8_fits(w, scale, gs))
        return rotation(w, err);
    return bad_codes(w, "asym_w4a8_int8", "4 or 6 bits per column (group_size times the columns of weight_s_rel)", err);
}

static bool
awq_params(struct comfy_checked *w, struct err *err)
{
    uint64_t groups = dim_rows(table_found(w->f, ROLE_SCALE));
    if (!comfy_number(w, "group_size", 64, &w->block, err))
        return false;
    if (w->marker->unread && groups != 0 && w->cols % groups == 0)
        w->block = num_max(w->cols / groups, 1);
    return w->cols % w->block == 0 || comfy_wrong(w, "group_size", "a divisor of the number of columns", err);
}

/* Checks nf4: the codes of a matrix as one column of bytes, whose shape is in the marker. */
static bool
nf4_params(struct comfy_checked *w, struct err *err)
{
    const json_t *shape = comfy_marker_get(w->marker, "shape"), *size = comfy_marker_get(w->marker, "blocksize");
    const json_t *dtype = comfy_marker_get(w->marker, "dtype"), *twice = comfy_marker_get(w->marker, "double_quant");
    uint64_t dim[2], n;
    if (size && json_integer_value(size) != 64)
        return comfy_wrong(w, "blocksize", "64", err);
    if (dtype && (!json_is_string(dtype) || strcmp(json_string_value(dtype), "bfloat16") != 0))
        return comfy_wrong(w, "dtype", "\"bfloat16\"", err);
    if (twice && !json_is_false(twice))
        return comfy_wrong(w, "double_quant", "false", err);
    for (size_t i = 0; i < 2; i++) {
        const json_t *item = json_array_get(shape, i);
        if (json_array_size(shape) != 2 || !json_is_integer(item) || json_integer_value(item) < 0)
            return comfy_wrong(w, "shape", "two non-negative integers", err);
        dim[i] = (uint64_t)json_integer_value(item);
    }
    if (!num_mul(&n, dim[0], dim[1]) || w->stacked || w->stored != 1 || w->rows != num_ceil_div(n, 2))
        return bad_codes(w, "nf4", "[elements / 2, 1] with the shape in its marker", err);
    w->rows = dim[0];
    w->cols = dim[1];
    return true;
}

enum { E4M3, E5M2, MXFP8, NVFP4, W4A4, W4A8, AWQ, INT8, NF4, FORMATS };

static const struct comfy_format formats[FORMATS] = {
    [E4M3] = { .name = "float8_e4m3fn", .per_byte = 1, .any_rank = true },
    [E5M2] = { .name = "float8_e5m2", .per_byte = 1, .any_rank = true },
    [MXFP8] = { .name = "mxfp8", .per_byte = 1, .block = 32 },
    [NVFP4] = { .name = "nvfp4", .per_byte = 2, .block = 16 },
    [W4A4] = { .name = "convrot_w4a4", .per_byte = 2, .params = w4a4_params },
    [W4A8] = { .name = "asym_w4a8_int8", .params = w4a8_params },
    [AWQ] = { .name = "awq_w4a16", .per_byte = 2, .params = awq_params },
    [INT8] = { .name = "int8_tensorwise", .per_byte = 1, .any_rank = true, .params = int8_params },
    [NF4] = { .name = "nf4", .block = 64, .params = nf4_params },
};

/* --- companions */

/* Returns the first dimension of a shape that is not a GRID. */
static uint64_t
first_dim(const struct comfy_checked *w, unsigned shape, uint64_t block)
{
    uint64_t n = 0;
    switch (shape) {
    case COLS:
        return w->cols;
    case SIXTEEN:
        return 16;
    case GROUPS_T:
        return w->cols / block;
    case BLOCKS:
        num_mul(&n, w->rows, w->cols);
        return num_ceil_div(n, block);
    default:
        return w->rows;
    }
}

/* Computes the dimensions of a shape, without experts, and returns their number. A GRID whose size overflows matches
 * nothing. */
static uint32_t
expected_dims(const struct comfy_checked *w, unsigned shape, uint64_t dim[2])
{
    uint64_t block = 1;
    if (w->block)
        block = w->block;
    dim[0] = first_dim(w, shape, block);
    if (shape == GROUPS)
        dim[1] = w->cols / block;
    else if (shape == GROUPS_T)
        dim[1] = w->rows;
    else
        dim[1] = 1;
    if (shape == GRID && !swizzle_grid(dim, w->rows, w->cols / block))
        dim[0] = dim[1] = UINT64_MAX;
    if (shape & (GRID | GROUPS | GROUPS_T | ROW_1))
        return 2;
    return 1;
}

static bool
shape_is(const struct comfy_checked *w, unsigned shape, const struct shape *s)
{
    uint64_t dim[2];
    if (shape == ONE)
        return s->rank == 0
            || (s->rank == 1 && (shape_dim(s, 0) == 1 || (w->stacked && shape_dim(s, 0) == w->experts)));
    uint32_t rank = expected_dims(w, shape, dim);
    uint32_t lead = 0;
    if (w->stacked && shape & (GRID | GROUPS | GROUPS_T | ROW | ROW_1))
        lead = 1;
    return s->rank == lead + rank && (lead == 0 || shape_dim(s, 0) == w->experts)
        && shape_dim(s, lead) == dim[0] && (rank == 1 || shape_dim(s, lead + 1) == dim[1]);
}

static bool
companion_fits(const struct comfy_checked *w, size_t i, struct err *err)
{
    const struct tensor *t = w->f->with[i];
    bool fits = false;
    for (unsigned s = 0; s < SHAPES; s++)
        fits = fits || (w->f->row->companions[i].shapes & 1U << s && shape_is(w, 1U << s, &t->shape));
    return fits || table_wrong(t, w->codes, err, "a shape that %s allows", w->f->scheme->name);
}

/* --- a weight */

/* Derives rows and columns from the shape of the codes. */
static bool
comfy_measure(struct comfy_checked *w, const struct comfy_format *f, struct err *err)
{
    const struct shape *s = &w->codes->shape;
    if (!table_check_type(w->f, w->codes, w->f->row->dtypes, ROLE_WEIGHT, err))
        return false;
    w->stacked = s->rank == 3;
    if (w->stacked)
        w->experts = shape_dim(s, 0);
    else
        w->experts = 1;
    w->block = f->block;
    if (s->rank == 2 || s->rank == 3) {
        w->rows = shape_dim(s, s->rank - 2);
        w->stored = shape_dim(s, s->rank - 1);
    } else if (!f->any_rank) {
        return bad_codes(w, f->name, "[out, in] or [experts, out, in]", err);
    } else {                            /* fits no row scale and no rotation */
        w->rows = UINT64_MAX;
        w->stored = 1;
    }
    if (!num_mul(&w->cols, w->stored, f->per_byte))
        return bad_codes(w, f->name, "fewer than 2^64 columns", err);
    if (f->per_byte != 0 && f->block != 0 && w->cols % f->block != 0)
        return bad_codes(w, f->name, "rows of whole blocks", err);
    return !f->params || f->params(w, err);
}

/* Maps the scale to the tensor, to experts or to rows. */
static struct blocks
map_scale(const struct comfy_checked *w, const struct tensor *scale)
{
    struct blocks b = { .rows = w->rows, .cols = w->cols };
    bool matrices = w->codes->shape.rank == 2 || w->stacked;
    if (!matrices) {                    /* other ranks have one scale: treat them as one row */
        b = (struct blocks){ .rows = 1 };
        shape_numel(&w->codes->shape, &b.cols);
    }
    b.b0 = num_max(b.rows, 1);
    b.b1 = num_max(b.cols, 1);
    if (w->stacked && scale->shape.rank == 1 && !dim_is_one(scale)) {
        b.per_matrix = 1;
    } else if (!dim_is_one(scale)) {
        b.b0 = b.per_row = 1;
        b.per_matrix = b.rows;
    }
    return b;
}

/* Stores the numbers and the shape of a weight that passed the checks. */
static bool
define(const struct comfy_checked *checked, struct table_match *f, struct weight *w, struct err *err)
{
    const struct comfy_format *format = &formats[f->scheme - comfy_schemes - 1];
    struct comfy *c = claims_alloc(f->claims, sizeof *c, err);
    if (!c)
        return false;
    *c = (struct comfy){ .scale = map_scale(checked, w->part[COMFY_SCALE]), .rotated = checked->rotated,
        .group = checked->block, .bits = format->per_byte == 1 ? 8 : 4, .unread = checked->marker->unread };
    w->own = c;
    w->vague = checked->open;
    if (w->part[COMFY_GROUPS] && checked->stored * 2 > checked->cols) {
        c->bits = 6;
        w->part[COMFY_HIGH] = f->codes;
    }
    w->again = c->bits == 6 || c->rotated * c->bits / 8 > SCHEME_BACK;
    return c->bits == 8 || table_set_cols(f, w, checked->cols, err);
}

/* Like define, for nf4, whose shape is in the marker. */
static bool
define_nf4(const struct comfy_checked *checked, struct table_match *f, struct weight *w, struct err *err)
{
    const uint64_t dim[2] = { checked->rows, checked->cols };
    return claims_shape(f->claims, w, 0, dim, 2, err) && bnb4_set_nf4(f->claims, w, (uint32_t)checked->block, err);
}

static bool
comfy_fit(struct table_match *f, struct weight *w, struct err *err)
{
    struct comfy_checked checked = { .marker = f->hint, .f = f, .codes = f->codes };
    if (f->scheme == comfy_schemes)     /* an unknown format */
        return true;
    if (!comfy_measure(&checked, &formats[f->scheme - comfy_schemes - 1], err))
        return false;
    for (size_t i = 0; table_has(f->row, i); i++)
        if (f->with[i] && !companion_fits(&checked, i, err))
            return false;
    switch (f->scheme - comfy_schemes - 1) {
    case NVFP4: return fp4_fit_comfy(f, w, err);
    case NF4:   return define_nf4(&checked, f, w, err);
    default:    return !f->scheme->decode || define(&checked, f, w, err);
    }
}

/* Returns the scheme of a format, or the first scheme for an unknown format. If only headers may be read, returns the first
 * scheme that the tensors fit with default parameters. */
static const struct scheme *
find_scheme(const struct table_match *f)
{
    const struct comfy_marker *m = f->hint;
    for (size_t i = 0; i < FORMATS; i++) {
        struct table_match guess = *f;
        struct weight w = { .part = { f->codes } };
        struct err ignored;
        err_init(&ignored);
        guess.scheme = &comfy_schemes[1 + i];
        guess.row = guess.scheme->rows;
        if (m->unread ? table_look(&guess, &w, &ignored) == CLAIM_YES : strcmp(formats[i].name, m->format) == 0)
            return guess.scheme;
    }
    return comfy_schemes;
}

/* Describes what prevents decoding: an unknown format name, or a part that nothing reads (weight_correction). A weight with
 * such a description is not decoded. */
static bool
add_words(const struct table_match *f, struct weight *w, struct err *err)
{
    const struct comfy_marker *m = f->hint;
    bool corrected = claims_find(f->claims, f->base.base, f->base.base_len, ".weight_correction") != NULL;
    char shown[STR_SHOWN] = "", text[STR_SHOWN + 64];
    if (corrected && f->scheme->decode)
        w->scheme = comfy_schemes;
    if (w->scheme == comfy_schemes && !m->unread)
        str_shown(shown, m->format, strlen(m->format));
    int n = snprintf(text, sizeof text, "%s%s%s", shown, *shown && corrected ? " " : "",
        corrected ? "with weight_correction" : "");
    char *own = NULL;
    if (n > 0)
        own = claims_alloc(f->claims, (size_t)n + 1, err);
    if (own)
        w->own = memcpy(own, text, (size_t)n + 1);
    return n == 0 || own;
}

/* Checks that P.comfy_quant has a P.weight. */
static bool
check_tensor(const struct claims *c, const struct tensor *t, struct err *err)
{
    struct part_name p;
    char name[STR_SHOWN];
    return !claims_strip_name(t, ".comfy_quant", &p) || claims_find(c, p.base, p.base_len, ".weight")
        || err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: marks a weight that is not in the model; if the "
            "model has several files, give the directory or the index", str_shown(name, t->name, t->name_len));
}

/* Checks the old form: next to scaled_fp8, P.scale_weight is one F32 for F8 codes. */
static bool
check_old(const struct claims *c, const struct tensor *t, struct err *err)
{
    struct part_name p;
    char name[STR_SHOWN];
    if (!comfy_markers_old(c->comfy) || !claims_strip_name(t, ".scale_weight", &p))
        return true;
    const struct tensor *codes = claims_find(c, p.base, p.base_len, ".weight");
    const struct shape *s = &t->shape;
    str_shown(name, t->name, t->name_len);
    if (!codes || !dtype_is_float8(codes->dtype))
        return err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: expected an F8 weight for this scale, found %s", name,
            codes ? dtype_name(codes->dtype) : "none");
    bool one = s->rank == 0 || (s->rank == 1 && shape_dim(s, 0) == 1);
    return (one && t->dtype == DTYPE_F32) || table_wrong(t, codes, err, "one F32");
}

/* The marker defines what a weight is, so no companion serves as evidence. */
static enum claim
comfy_choose(struct table_match *f, struct weight *w, struct err *err)
{
    struct comfy_marker marker;
    if (!comfy_markers_any(f->claims->comfy) || !comfy_marker_is_there(f->claims, f->codes))
        return CLAIM_NO;
    enum claim claim = CLAIM_FAIL;
    if (comfy_marker_read(&marker, f->claims, f->codes, err)) {
        f->hint = &marker;
        f->scheme = find_scheme(f);
        f->row = f->scheme->rows;
        claim = table_look(f, w, err);
        if (claim == CLAIM_YES && !f->scheme->code)
            claim = CLAIM_NO;           /* left to the FP8 scheme, which takes the marker as well */
        else if (claim == CLAIM_YES && (!add_words(f, w, err) || !table_take(f, w, err)))
            claim = CLAIM_FAIL;
    }
    comfy_marker_clear(&marker);
    return claim;
}

/* Checks the tensors that old and new markers refer to. This row sees every tensor first, and claims none. */
static enum claim
check_marks(struct table_match *f, struct weight *w, struct err *err)
{
    (void)w;
    if (check_tensor(f->claims, f->codes, err) && check_old(f->claims, f->codes, err))
        return CLAIM_NO;
    return CLAIM_FAIL;
}

/* Parts of any format, so that a format that is not decoded leaves no tensor over. */
static const struct companion also[] = {
    BELONGS(".weight_scale", SCALE), BELONGS(".weight_scale_2", SCALE), BELONGS(".weight_global_scale", SCALE),
    BELONGS(".weight_zero", ZERO_POINT), BELONGS(".weight_zeros", ZERO_POINT),
    BELONGS(".weight_zero_point", ZERO_POINT), BELONGS(".weight_s_rel", SCALE), BELONGS(".weight_s_channel", SCALE),
    BELONGS(".weight_codebook", CODEBOOK),
    BELONGS(".weight_correction", ZERO_POINT), BELONGS(".weight_code", CODEBOOK), BELONGS(".weight_g_idx", G_IDX),
    BELONGS(".pre_quant_scale", SCALE), BELONGS(".smooth_factor", SCALE), BELONGS(".proj_down", STATE),
    BELONGS(".proj_up", STATE), BELONGS(".svdquant_lora_a", STATE), BELONGS(".svdquant_lora_b", STATE), { 0 },
};

#define ROW_OF(dtypes_, ...) ROWS({ .dtypes = dtypes_, .becomes = ".weight", .also = also, WITH(__VA_ARGS__) })
#define COMFY(code_, name_, how, dtypes_, ...) { .code = code_, .name = "ComfyUI " name_, .fit = comfy_fit, how, \
    ROW_OF(dtypes_, __VA_ARGS__) }
#define NAMED_ONLY .describe = table_describe
#define ONE_SCALE(name, ...) COMPANION(name, IS(F32), REQUIRED, SCALE, .shapes = ONE, __VA_ARGS__)

const struct scheme comfy_schemes[] = {
    { .code = "comfy", .name = "ComfyUI", .fit = comfy_fit, .describe = table_describe, ROWS(
        { .becomes = ".weight", .also = also },
        { .codes = "", .dtypes = ANY, .becomes = "", .choose = check_marks },
        { .codes = ".weight", .dtypes = SCALARS, .becomes = ".weight", .choose = comfy_choose }) },
    [1 + E4M3] = COMFY(NULL, "float8_e4m3fn", NAMED_ONLY, IS(F8_E4M3), ONE_SCALE(".weight_scale")),
    [1 + E5M2] = COMFY(NULL, "float8_e5m2", NAMED_ONLY, IS(F8_E5M2), ONE_SCALE(".weight_scale")),
    [1 + MXFP8] = COMFY(NULL, "mxfp8", NAMED_ONLY, IS(F8_E4M3),
        COMPANION(".weight_scale", E8M0, REQUIRED, SCALE, .shapes = GRID)),
    [1 + NVFP4] = COMFY(SCHEME_NVFP4_COMFY, "nvfp4", FP4_BY_ROWS, IS(U8),
        COMPANION(".weight_scale", DTYPE_SET(HAS(U8), HAS(F8_E4M3)), REQUIRED, SCALE, .part = FP4_SCALE, .shapes = GRID),
        ONE_SCALE(".weight_scale_2", .part = FP4_SCALE_2),
        COMPANION(".pre_quant_scale", FLOAT_16, OPTIONAL, SCALE, .part = FP4_SMOOTH, .shapes = COLS)),
    [1 + W4A4] = COMFY("comfy-w4a4", "convrot_w4a4", COMFY_BY_ROWS, IS(I8),
        COMPANION(".weight_scale", IS(F32), REQUIRED, SCALE, .part = COMFY_SCALE, .shapes = ROW)),
    [1 + W4A8] = COMFY("comfy-w4a8", "asym_w4a8_int8", COMFY_BY_ROWS, IS(I8),
        COMPANION(".weight_s_rel", DTYPE_SET(HAS(F8_E4M3), HAS(U8), HAS(F32)), REQUIRED, SCALE, .part = COMFY_GROUPS,
            .shapes = GROUPS,
            .left = LEFT_SCALES),
        COMPANION(".weight_s_channel", IS(F32), REQUIRED, SCALE, .part = COMFY_SCALE, .shapes = ROW, .left = LEFT_SCALES),
        COMPANION(".weight_codebook", IS(F32), OPTIONAL, CODEBOOK, .part = COMFY_CODEBOOK, .shapes = SIXTEEN,
            .left = LEFT_SCALES)),
    [1 + AWQ] = COMFY("comfy-awq", "awq_w4a16", COMFY_AWQ, IS(I8),
        COMPANION(".weight_scale", FLOAT_16, REQUIRED, SCALE, .part = COMFY_SCALE, .shapes = GROUPS_T),
        COMPANION(".weight_zeros", FLOAT_16, REQUIRED, ZERO_POINT, .part = COMFY_ZEROS, .shapes = GROUPS_T,
            .left = LEFT_SCALES),
        OR(".weight_zero")),
    [1 + INT8] = COMFY("comfy-int8", "int8_tensorwise", COMFY_BY_ROWS, IS(I8),
        COMPANION(".weight_scale", IS(F32), REQUIRED, SCALE, .part = COMFY_SCALE, .shapes = ONE | ROW_1)),
    [1 + NF4] = COMFY("comfy-nf4", "nf4", BNB4_BY_BLOCKS, IS(U8),
        COMPANION(".weight_scale", IS(F32), REQUIRED, SCALE, .part = BNB4_ABSMAX, .shapes = BLOCKS),
        COMPANION(".weight_code", IS(F32), REQUIRED, CODEBOOK, .part = BNB4_QUANT_MAP, .shapes = SIXTEEN)),
    [1 + FORMATS] = { 0 },
};
