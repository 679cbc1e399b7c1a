/* torchao: flattened tensor subclasses. The weight P.NAME is stored as P._NAME_qdata, P._NAME_scale and so on; the metadata
 * of the file describes it under its name:
 *
 *     "P.weight": {"_type": "Int8Tensor", "_data": {"block_size": [1, 32], ...}, "_tensor_data_names": ["qdata", ...]}
 *
 *     Float8Tensor                qdata F8, scale float                       V = RN32(q * s)
 *     Int8Tensor,
 *     IntxUnpackedToInt8Tensor    qdata I8, scale float, zero_point I8        V = RN32((q - z) * s)
 *     MXTensor                    qdata F8 or U8 (FP4), scale E8M0            V = RN32(q * s)
 *     NVFP4Tensor                 qdata U8 (FP4), scale E4M3,
 *                                 per_tensor_scale F32                        V = RN32(q * RN32(pts * s))
 *     Int4Tensor                  qdata I8 [N, K/2], two's complement,
 *                                 scale and zero_point float [G, N]           V = RN32(RN32(q * s) + z)
 *     Int4PlainInt32Tensor        qdata I32 [N, K/8], scale float [G, N],
 *                                 zero_point I8 [G, N]                        V = RN32((q - z) * s)
 *
 * The low nibble of a byte or word comes first. A scale covers a block of block_size elements. With is_swizzled_scales, the
 * scales are in tiles (swizzle.h), and no dimension of theirs is one of the weight. Sources: torchao
 * prototype/safetensors; quantization/quant_primitives.py, dequantize_affine; prototype/mx_formats; for the last two types,
 * which only GPUs can compute, mslk quantize/shuffle.py and torch-xpu-ops WeightInt4PackKernel.cpp.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "base/tree.h"
#include "scheme/dim.h"
#include "scheme/scale.h"
#include "scheme/step.h"
#include "scheme/swizzle.h"
#include "scheme/table.h"

enum { CODES, SCALE, ZERO, WHOLE_SCALE };               /* parts; WHOLE_SCALE: per_tensor_scale */
enum { IN_ROWS, IN_COLUMNS };                           /* indices into torchao_schemes: the layout of scales */

/* The encoding of the codes. */
enum torchao_kind { KIND_F8, KIND_I8, KIND_FP4, KIND_INT4, KIND_UINT4 };

static const struct type {
    const char *name;
    enum torchao_kind kind;
    const bool *codes, *scales, *zeros;                 /* sets of types; zeros: NULL for none */
    uint32_t per_item;                                  /* codes in an item of qdata */
    bool columns;                                       /* scales and zeros are stored transposed, [G, N] */
} types[] = {
    { .name = "Float8Tensor", .kind = KIND_F8, .codes = FLOAT8, .scales = FLOAT_16, .per_item = 1 },
    { .name = "Int8Tensor", .kind = KIND_I8, .codes = IS(I8), .scales = FLOAT_16, .zeros = IS(I8), .per_item = 1 },
    { .name = "IntxUnpackedToInt8Tensor", .kind = KIND_I8, .codes = IS(I8), .scales = FLOAT_16, .zeros = IS(I8), .per_item = 1 },
    { .name = "MXTensor", .kind = KIND_F8, .codes = FLOAT8, .scales = E8M0, .per_item = 1 },
    { .name = "MXTensor", .kind = KIND_FP4, .codes = IS(U8), .scales = E8M0, .per_item = 2 },
    { .name = "NVFP4Tensor", .kind = KIND_FP4, .codes = IS(U8), .scales = IS(F8_E4M3), .per_item = 2 },
    { .name = "Int4Tensor", .kind = KIND_INT4, .codes = DTYPE_SET(HAS(I8), HAS(U8)), .scales = FLOAT_16, .zeros = FLOAT_16,
        .per_item = 2, .columns = true },
    { .name = "Int4PlainInt32Tensor", .kind = KIND_UINT4, .codes = IS(I32), .scales = FLOAT_16, .zeros = IS(I8), .per_item = 8,
        .columns = true },
};

enum { NAME = 48 };

struct torchao {
    const struct type *type;
    char name[NAME];                                    /* of the type, for messages */
    uint64_t rows, cols;                                /* of all matrices together; with IN_COLUMNS, of one */
    uint64_t b0, b1;                                    /* rows and columns of a block */
    uint64_t tiles;                                     /* side by side in the scales; 0: these are in order */
    bool swizzled;
    const char *open;                                   /* why it cannot be decoded, or NULL */
};

/* --- recognition */

/* Companions, in the order of the row. */
enum { WITH_SCALE, WITH_ZERO, WITH_WHOLE, WITH_PRE_SCALE };

/* Writes "P.NAME" for "P._NAME" into out. Returns false if the name does not have this form. */
static bool
logical_name(char *out, const struct part_name *base)
{
    size_t dot = base->base_len;
    while (dot != 0 && base->base[dot - 1] != '.')
        dot--;
    if (dot < 2 || dot + 1 >= base->base_len || base->base[dot] != '_' || memchr(base->base, '\0', base->base_len))
        return false;
    memcpy(out, base->base, dot);
    memcpy(out + dot, base->base + dot + 1, base->base_len - dot - 1);
    out[base->base_len - 1] = '\0';
    return true;
}

static bool
torchao_wrong(const struct table_match *f, const char *key, const char *expected, struct err *err)
{
    char name[STR_SHOWN];
    return err_at(err, ERR_MALFORMED, f->codes->extent.at, "tensor %s: %s in its torchao metadata is not %s",
        str_shown(name, f->codes->name, f->codes->name_len), key, expected);
}

/* Reads the rows and columns of a block, from a number for each dimension or a single one for the last. */
static bool
read_block(const struct table_match *f, struct torchao *t, const json_t *v, struct err *err)
{
    uint32_t rank = f->codes->shape.rank;
    if (rank < 2)
        return table_wrong(f->codes, f->codes, err, "a matrix for %s", t->name);
    const json_t *last = v, *above = NULL;
    if (json_is_array(v)) {
        last = json_array_get(v, rank - 1);
        above = json_array_get(v, rank - 2);
    }
    bool ok = json_integer_value(last) > 0 && (!json_is_array(v) || (json_array_size(v) == rank
        && json_integer_value(above) > 0));
    for (uint32_t i = 0; i + 2 < rank && ok && json_is_array(v); i++)
        ok = json_integer_value(json_array_get(v, i)) == 1 || (f->with[WITH_SCALE] && dim_is_one(f->with[WITH_SCALE]));
    if (ok && above)
        t->b0 = (uint64_t)json_integer_value(above);
    else
        t->b0 = 1;
    if (ok)
        t->b1 = (uint64_t)json_integer_value(last);
    else
        t->b1 = 1;
    return ok || torchao_wrong(f, "block_size", "a number for each dimension, 1 for experts, or one for the last", err);
}

/* Checks that elem_dtype, which only MXTensor has, matches the codes. FP6 is not decoded. */
static bool
check_elements(const struct table_match *f, struct torchao *t, const json_t *elem, struct err *err)
{
    static const struct { const char *name; enum dtype dtype; } known[] = { { "float8_e4m3fn", DTYPE_F8_E4M3 },
        { "float8_e5m2", DTYPE_F8_E5M2 }, { "float4_e2m1fn_x2", DTYPE_U8 } };
    const char *name = json_string_value(json_is_object(elem) ? json_object_get(elem, "_data") : elem);
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].dtype == f->codes->dtype || torchao_wrong(f, "elem_dtype", "the type of qdata", err);
    if (elem)
        t->open = "with elements other than FP8 or FP4";
    return true;
}

/* Finds the type of the weight. Sets t->open if it cannot be decoded. */
static void
torchao_find_type(const struct table_match *f, struct torchao *t, const char *name, const json_t *data)
{
    char shown[STR_SHOWN];
    snprintf(t->name, sizeof t->name, "%.40s", str_shown(shown, name, strlen(name)));
    t->swizzled = json_is_true(json_object_get(data, "is_swizzled_scales"));
    for (size_t i = 0; i < sizeof types / sizeof *types && !t->type; i++)
        if (strcmp(types[i].name, name) == 0 && dtype_in(types[i].codes, f->codes->dtype))
            t->type = &types[i];
    if (!t->type)
        t->open = "unknown tensor type";
    else if (t->swizzled && f->codes->shape.rank != 2)
        t->open = "with swizzled scales of experts";
    else if (t->type->kind == KIND_UINT4 && f->with[WITH_ZERO] && dtype_is_float(f->with[WITH_ZERO]->dtype))
        t->open = "with float zero points";
    else if (f->with[WITH_PRE_SCALE])
        t->open = "with act_pre_scale";
}

/* Reads the metadata of the weight. */
static bool
read_metadata(const struct table_match *f, struct torchao *t, const struct meta *meta, struct err *err)
{
    json_t *root = NULL;
    size_t n = 0;
    const char *text = "";
    if (meta->value.type == META_STRING)
        text = meta_bytes(&meta->value, &n);
    if (!tree_read(&root, text, n, "the metadata of a torchao tensor", err))
        return false;
    const json_t *data = json_object_get(root, "_data");
    const char *name = json_string_value(json_object_get(root, "_type"));
    bool ok = name || torchao_wrong(f, "_type", "a string", err);
    if (ok)
        torchao_find_type(f, t, name, data);
    ok = ok && (t->open || (check_elements(f, t, json_object_get(data, "elem_dtype"), err)
        && read_block(f, t, json_object_get(data, "block_size"), err)));
    json_decref(root);
    return ok;
}

/* Sets the shape of the weight, and its rows and columns. */
static bool
set_shape(const struct table_match *f, struct weight *w, struct torchao *t, struct err *err)
{
    uint64_t numel;
    if (!num_mul(&t->cols, dim_cols(f->codes), t->type->per_item))
        return table_wrong(f->codes, f->codes, err, "fewer than 2^64 elements");
    if (!table_set_cols(f, w, t->cols, err))
        return false;
    t->rows = dim_rows(f->codes);
    if (!t->type->columns && shape_numel(&w->shape, &numel))
        t->rows = numel / num_max(t->cols, 1);
    return true;
}

/* Checks that the scales of all blocks are whole tiles. */
static bool
check_tiles(const struct table_match *f, struct torchao *t, const struct tensor *grid, struct err *err)
{
    uint64_t padded[2], numel, blocks = num_ceil_div(t->cols, t->b1);
    t->tiles = num_ceil_div(blocks, TILE_BLOCKS);
    return (swizzle_grid(padded, t->rows, blocks) && num_mul(&padded[0], padded[0], padded[1])
            && shape_numel(&grid->shape, &numel) && numel == padded[0] && t->b0 == 1 && t->cols % t->b1 == 0)
        || table_wrong(grid, f->codes, err, "tiles of 128 rows and 4 blocks of %" PRIu64, t->b1);
}

/* Checks that scales or zero points have the right type and one value per block. */
static bool
check_grid(const struct table_match *f, struct torchao *t, const struct tensor *grid, const bool *dtypes, struct err *err)
{
    uint64_t across = num_ceil_div(t->cols, t->b1), numel, blocks;
    if (!table_check_type(f, grid, dtypes, grid == f->with[WITH_SCALE] ? ROLE_SCALE : ROLE_ZERO_POINT, err))
        return false;
    if (t->swizzled)
        return check_tiles(f, t, grid, err);
    if (t->type->columns)
        return (dim_same_experts(grid, f->codes) && dim_rows(grid) == across && dim_cols(grid) == t->rows)
            || table_wrong(grid, f->codes, err, "[.., %" PRIu64 ", %" PRIu64 "]", across, t->rows);
    bool whole = t->cols % t->b1 == 0 && t->rows % t->b0 == 0
        && (dim_is_one(grid) || dim_rows(f->codes) % t->b0 == 0);
    return (whole && num_mul(&blocks, t->rows / t->b0, across) && shape_numel(&grid->shape, &numel) && numel == blocks)
        || table_wrong(grid, f->codes, err, "one for each block of %" PRIu64 " x %" PRIu64, t->b0, t->b1);
}

static bool
check_parts(const struct table_match *f, const struct weight *w, struct torchao *t, struct err *err)
{
    char name[STR_SHOWN];
    if (!w->part[SCALE] || (t->type->columns && !w->part[ZERO]))
        return claims_missing(f->claims, f->codes->extent.at, err, "tensor %s: %s has no %s",
            str_shown(name, f->codes->name, f->codes->name_len), t->name, w->part[SCALE] ? "zero_point" : "scale");
    if (dim_is_one(w->part[SCALE]) && !t->type->columns && !t->swizzled) {
        t->b0 = num_max(t->rows, 1);
        t->b1 = num_max(t->cols, 1);
    }
    if ((t->type->per_item != 1 && t->b1 % 2 != 0) || (t->type->columns && t->b0 != 1))
        return torchao_wrong(f, "block_size", "an even part of a row, as 4-bit codes require", err);
    if (w->part[WHOLE_SCALE] && (!dtype_in(t->type->scales, DTYPE_F8_E4M3) || !dim_is_one(w->part[WHOLE_SCALE])
            || w->part[WHOLE_SCALE]->dtype != DTYPE_F32))
        return table_wrong(w->part[WHOLE_SCALE], f->codes, err, "one F32 in an NVFP4Tensor");
    return check_grid(f, t, w->part[SCALE], t->type->scales, err)
        && (!w->part[ZERO] || check_grid(f, t, w->part[ZERO], t->type->zeros, err));
}

static bool
torchao_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct meta *meta = f->hint;
    struct torchao *t = claims_alloc(f->claims, sizeof *t, err);
    if (!t)
        return false;
    *t = (struct torchao){ .open = meta ? NULL : "without its metadata" };
    w->own = t;
    if (meta && !read_metadata(f, t, meta, err))
        return false;
    w->vague = t->open != NULL;
    if (w->vague)
        return true;
    w->scheme = &torchao_schemes[t->type->columns ? IN_COLUMNS : IN_ROWS];
    return set_shape(f, w, t, err) && check_parts(f, w, t, err);
}

/* Claims a weight that the metadata describes, and restores its logical name. */
static enum claim
torchao_choose(struct table_match *f, struct weight *w, struct err *err)
{
    struct claims *c = f->claims;
    struct part_name weight;
    const struct tensor named = { .name = f->base.base, .name_len = (uint32_t)f->base.base_len };
    bool usual = claims_strip_name(&named, "._weight", &weight);
    if (!logical_name(c->scratch, &f->base))
        return CLAIM_NO;
    f->hint = catalog_meta_find(c->catalog, c->scratch);
    if (!f->hint && !usual)
        return CLAIM_NO;
    enum claim claim = table_match(f, w, err);
    if (claim != CLAIM_YES)
        return claim;
    struct part_name name = { .base = c->scratch, .base_len = f->base.base_len - 1 };
    logical_name(c->scratch, &f->base);                 /* table_match overwrote it */
    if (claims_rename(c, w, &name, "", err))
        return CLAIM_YES;
    return CLAIM_FAIL;
}

/* --- decoding */

static void
strip(struct strip *s, const struct weight *w, unsigned part)
{
    const struct torchao *t = w->own;
    uint64_t numel, rows = dim_rows(w->part[part]);
    bool any = shape_numel(&w->part[part]->shape, &numel) && numel != 0;
    *s = (struct strip){ .matrices = any ? numel / (rows * t->rows) : 0, .rows = rows, .units = t->rows, .unit_rows = 1,
        .unit_bytes = dtype_facts(w->part[part]->dtype)->bytes };
}

/* Finds the scales or zero points of a run of elements, if they are stored by rows or in tiles. */
static struct span
grid_of(const struct torchao *t, uint64_t first, uint64_t count)
{
    uint64_t last = first + count - 1, across = t->cols / t->b1, row = first / t->cols, end = last / t->cols;
    uint64_t from = row == end ? first % t->cols / t->b1 : 0, to = row == end ? last % t->cols / t->b1 : across - 1;
    if (t->tiles != 0)
        return swizzle_span(swizzle_at(row, from, t->tiles), swizzle_at(end, to, t->tiles));
    from += row / t->b0 * across;
    to += end / t->b0 * across;
    return (struct span){ from, to - from + 1 };
}

/* Returns the number of codes in a byte. */
static uint32_t
per_byte(const struct torchao *t)
{
    if (t->type->per_item == 1)
        return 1;
    return 2;
}

static void
torchao_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct torchao *t = w->own;
    uint64_t size = dtype_facts(w->part[part]->dtype)->bytes;
    uint64_t from = first / per_byte(t), to = (first + count - 1) / per_byte(t);
    if (part == CODES) {
        *s = (struct span){ from, to - from + 1 };
    } else if (part == WHOLE_SCALE) {
        *s = (struct span){ 0, size };
    } else {
        struct span grid = grid_of(t, first, count);
        *s = (struct span){ grid.at * size, grid.len * size };
    }
}

static float
item(enum dtype type, const uint8_t *p, uint64_t i)
{
    if (type == DTYPE_I8)
        return (int8_t)p[i];
    if (type == DTYPE_F8_E4M3)
        return float8_to_float(type, p[i]);
    return scale_value(type, p, i);
}

/* Decodes INT4, whose zero points are added, through floats. */
static void
decode_int4(const struct decoding *d, const uint8_t *x, size_t first, size_t n, const struct codes4 *c, uint8_t *y)
{
    struct step_room *own = d->room;
    d->k->codes4_f32(own->v, x, first, n, c);
    for (size_t i = 0; i < n; i++)
        own->v[i] += own->terms[(first + i) / c->group];
    kernels_round(d->k, d->to, y, own->v, n);
}

/* Reads scales and zero points of n blocks of a row, starting at column `col`. */
static void
torchao_fill(const struct decoding *d, uint64_t row, uint64_t col, size_t n)
{
    const struct torchao *t = d->w->own;
    const struct tensor *const *part = d->w->part;
    struct step_room *own = d->room;
    uint64_t b = col / t->b1, i = t->type->columns ? b : row / t->b0 * (t->cols / t->b1) + b;
    float whole = 1;
    if (part[WHOLE_SCALE])
        whole = scale_at(d, WHOLE_SCALE, 0);
    for (size_t g = 0; t->tiles != 0 && g < n; g++)
        own->scales[g] = item(part[SCALE]->dtype, decoding_bytes(d, SCALE, swizzle_at(row, b + g, t->tiles)), 0);
    for (unsigned p = t->tiles != 0 ? ZERO : SCALE; p <= ZERO; p++) {
        float *v;
        if (p == SCALE)
            v = own->scales;
        else
            v = own->terms;
        const uint8_t *bytes;
        if (!part[p])
            bytes = NULL;
        else if (!t->type->columns)
            bytes = scale_bytes(d, p, i);
        else
            bytes = decoding_unit(d, p, row - d->first / t->cols) + i * dtype_facts(part[p]->dtype)->bytes;
        for (size_t g = 0; bytes && g < n; g++)
            v[g] = item(part[p]->dtype, bytes, g);
    }
    for (size_t g = 0; part[WHOLE_SCALE] && g < n; g++)
        own->scales[g] *= whole;
}

/* Decodes elements of one row: whole blocks, or elements within one. */
static uint64_t
torchao_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    static const float maps[][16] = {
        [KIND_FP4] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6 },
        [KIND_INT4] = { 0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1 },
        [KIND_UINT4] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
    };
    const struct torchao *t = d->w->own;
    struct step_room *own = d->room;
    const uint8_t *x = decoding_bytes(d, CODES, at / per_byte(t));
    uint64_t col = at % t->cols, left = num_min(count, t->cols - col);
    size_t first = (size_t)(col % t->b1), group = (size_t)t->b1;
    size_t n = (size_t)num_min(first != 0 ? num_min(left, t->b1 - first) : left, STEP);
    const float *zeros = NULL;
    if (d->w->part[ZERO] && t->type->kind != KIND_INT4)
        zeros = own->terms;
    const struct codes8 bytes = { zeros, own->scales, group, .is_signed = true };
    const struct codes4 nibbles = { maps[t->type->kind], zeros, own->scales, group, .low_first = true };
    torchao_fill(d, at / t->cols, col, (size_t)num_ceil_div(first + n, t->b1));
    if (t->type->kind == KIND_F8)
        step_fp8(d, y, d->w->part[CODES]->dtype, x, n, own->scales, group, own->v);
    else if (t->type->kind == KIND_I8)
        step_codes8(d, y, x, first, n, &bytes, own->v);
    else if (t->type->kind == KIND_INT4)
        decode_int4(d, x, first, n, &nibbles, y);
    else
        step_codes4(d, y, x, first, n, &nibbles, own->v);
    return n;
}

static void
torchao_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct torchao *t = w->own;
    if (t->open)
        snprintf(buf, SCHEME_DETAIL, "%s%s%s", t->name, *t->name ? ", " : "", t->open);
    else if (t->b0 >= t->rows && t->b1 >= t->cols)
        snprintf(buf, SCHEME_DETAIL, "%s, per-tensor scale", t->name);
    else if (t->b1 >= t->cols && t->b0 == 1)
        snprintf(buf, SCHEME_DETAIL, "%s, per-channel scale", t->name);
    else
        snprintf(buf, SCHEME_DETAIL, "%s, blocks of %" PRIu64 "x%" PRIu64 "%s", t->name, t->b0, t->b1,
            t->tiles != 0 ? ", scales in tiles" : "");
}

/* --- complete weights */

/* Finds the stored tensor "P._NAME_part" of a weight "P.NAME"; NULL if it does not exist, or if the name has another form. */
static const struct tensor *
find_stored(const struct claims *c, const struct meta *m, const char *part)
{
    size_t dot = m->key_len, n = strlen(part);
    while (dot != 0 && m->key[dot - 1] != '.')
        dot--;
    if (dot == 0 || m->key_len + n + 2 > c->longest)
        return NULL;
    char *p = c->scratch;
    memcpy(p, m->key, dot);
    p[dot] = '_';
    memcpy(p + dot + 1, m->key + dot, m->key_len - dot);
    p[m->key_len + 1] = '_';
    memcpy(p + m->key_len + 2, part, n);
    return catalog_find(c->catalog, p, m->key_len + 2 + n);
}

/* Checks that the file has all parts of a weight, or none: then it has the metadata of other files too. */
static bool
check_names(const struct claims *c, const struct meta *m, const json_t *names, struct err *err)
{
    char shown[STR_SHOWN];
    const struct tensor *any = NULL, *t;
    const char *missing = NULL, *part;
    for (size_t i = 0; i < json_array_size(names); i++) {
        part = json_string_value(json_array_get(names, i));
        if (!part)
            continue;
        t = find_stored(c, m, part);
        if (t)
            any = t;
        else
            missing = part;
    }
    return !any || !missing || claims_missing(c, any->extent.at, err, "tensor %s: quantized (torchao), but has no %s",
        str_shown(shown, m->key, m->key_len), missing);
}

static bool
torchao_complete(struct claims *c, struct err *err)
{
    static const char key[] = "\"_tensor_data_names\"";
    bool ok = true;
    for (size_t i = 0; ok && !claims_is_report_on_shard(c) && i < catalog_meta_count(c->catalog); i++) {
        const struct meta *m = catalog_meta_at(c->catalog, i);
        json_t *root = NULL;
        size_t n = 0;
        const char *text = m->value.type == META_STRING ? meta_bytes(&m->value, &n) : "";
        if (!memmem(text, n, key, strlen(key)))
            continue;
        ok = tree_read(&root, text, n, "the metadata of a torchao tensor", err)
            && check_names(c, m, json_object_get(root, "_tensor_data_names"), err);
        json_decref(root);
    }
    return ok;
}

static const struct scheme_row rows[] = {
    { .codes = "_qdata", .dtypes = SCALARS, .becomes = "", .choose = torchao_choose, WITH(COMPANION("_scale", ANY, OPTIONAL,
        SCALE, .part = SCALE), COMPANION("_zero_point", ANY, OPTIONAL, ZERO_POINT, .part = ZERO),
        COMPANION("_per_tensor_scale", ANY, OPTIONAL, SCALE, .part = WHOLE_SCALE),
        COMPANION("_act_pre_scale", ANY, OPTIONAL, SCALE)),
        ALSO(BELONGS("_scale_and_zero", SCALE), BELONGS("_act_per_tensor_scale", ACTIVATION),
            BELONGS("_act_quant_scale", ACTIVATION), BELONGS("_act_quant_zero_point", ACTIVATION)) },
};

#define TORCHAO(...) { .code = "torchao", .name = "torchao", .fit = torchao_fit, .run = torchao_run, .decode = torchao_decode, \
    .room = sizeof(struct step_room), .describe = torchao_describe, __VA_ARGS__ }

/* The first scheme finds the weights of both. */
const struct scheme torchao_schemes[] = {
    [IN_ROWS] = TORCHAO(WORDS({ WORD_METHOD, "torchao" }), .rows = rows, .nrows = sizeof rows / sizeof *rows,
        .complete = torchao_complete, .need = { [CODES] = NEED_RUN, [SCALE] = NEED_RUN, [ZERO] = NEED_RUN, [WHOLE_SCALE] = NEED_RUN }),
    [IN_COLUMNS] = TORCHAO(.strip = strip,
        .need = { [CODES] = NEED_RUN, [SCALE] = NEED_STRIP, [ZERO] = NEED_STRIP }),
    { 0 },
};
