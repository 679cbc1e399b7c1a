/* MLX: codes of 1 to 8 bits in 32-bit words, or FP4 and FP8 with block scales. The tensors of a module P, whose decoded
 * weight is [out, in], or [experts, out, in]:
 *
 *     P.weight     U32 [.., in*bits/32]      a row is a bit stream, the low bits of a word first
 *     P.scales     [.., in/group]            T = F16, BF16 or F32; for the float formats U8
 *     P.biases     shaped like scales; transformers' Metal quantizer calls it P.qbiases
 *
 *     V = RN_T(RN_T(q * scale) + bias)       as MLX computes on the CPU, entirely in T
 *     V = RN32(RN32(q * scale) + qbias)      as transformers does
 *
 *     mxfp4    FP4, groups of 32     V = RN32(q * 2^(scale - 127))
 *     nvfp4    FP4, groups of 16     V = RN32(q * E4M3(scale)), or with P.global_scale F32
 *                                    V = RN32(q * RN32(E4M3(scale) * RN32(global_scale / 2688)))
 *                                    V = RN32(q * E4M3(scale) * weight.global_scale), as Ollama stores it
 *     mxfp8    E4M3, groups of 32    V = RN32(q * 2^(scale - 127))
 *
 * For affine codes the shapes determine only group * bits. `quantization` in config.json has both, and has an entry under
 * the name of a module that differs. "quantization_config" in the metadata of a file written by amn-forget has the same;
 * "quantization_level" in the metadata of mflux has the bits. Without these and without --input-scheme, codes that fit two pairs
 * are not decoded. Sources: mlx/backend/cpu/quantized.cpp; mlx-lm utils.py; transformers integrations/metal_quantization.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "scheme/declared.h"
#include "scheme/dim.h"
#include "scheme/fp4.h"
#include "scheme/scale.h"
#include "scheme/step.h"
#include "scheme/table.h"

/* Parts. GLOBAL: global_scale, which is divided by 2688; FACTOR: weight.global_scale, which is not. */
enum { CODES, SCALES, BIASES, GLOBAL, FACTOR, GLOBAL_OVER = 2688 };

/* The float formats, by the number of words that share a scale. */
static const struct kind {
    const char *name;
    uint32_t words, bits, group;
    enum dtype scale;                                   /* type of the scale bytes */
} kinds[] = {
    { "mxfp4", 4, 4, 32, DTYPE_F8_E8M0 }, { "nvfp4", 2, 4, 16, DTYPE_F8_E4M3 }, { "mxfp8", 8, 8, 32, DTYPE_F8_E8M0 },
};

struct mlx {
    const struct kind *kind;                            /* NULL: affine */
    uint32_t bits, group;
    enum dtype in;                                      /* T of affine codes */
    uint64_t open;                                      /* group * bits if several pairs fit; otherwise 0 */
};

/* --- recognition */

/* Companions of affine codes, in the order of the row. */
enum { WITH_SCALES, WITH_BIASES };

/* Returns group * bits, which follows from the shapes; 0 if it is not a whole number. */
static uint64_t
group_bits(const struct tensor *codes, const struct tensor *scales)
{
    uint64_t words = dim_cols(codes), groups = dim_cols(scales);
    if (groups == 0 || words > UINT64_MAX / 32 || words * 32 % groups != 0)
        return 0;
    return words * 32 / groups;
}

/* Returns the bits of codes in groups of this size, or 0 if no width fits. Only a config can declare 1 bit. */
static uint32_t
bits_in(uint64_t product, uint32_t group)
{
    uint64_t bits = product / group;
    if (product % group != 0 || bits < 2 || bits > 8 || bits == 7)
        return 0;
    return (uint32_t)bits;
}

/* The usual sizes, the most common first. */
enum { SIZES = 3 };
static const uint32_t sizes[SIZES] = { 64, 32, 128 };

/* Finds the pair with `hint` bits, or the first pair if that is 0. Returns the number of pairs that fit. */
static unsigned
find_pair(struct mlx *m, uint64_t product, uint32_t hint)
{
    unsigned fitting = 0, same = 0;
    for (size_t i = 0; i < SIZES; i++) {
        uint32_t bits = bits_in(product, sizes[i]);
        fitting += bits != 0;
        if (bits != 0 && (hint == 0 || bits == hint) && same++ == 0)
            *m = (struct mlx){ .bits = bits, .group = sizes[i] };
    }
    return fitting;
}

static bool
is_empty(const struct tensor *codes, const struct tensor *scales)
{
    return dim_cols(codes) == 0 && dim_cols(scales) == 0;
}

static bool
affine_fits(const struct table_match *f)
{
    const struct tensor *scales = f->with[WITH_SCALES], *biases = f->with[WITH_BIASES];
    struct mlx ignored;
    uint64_t product = group_bits(f->codes, scales);
    return dim_same_rows(f->codes, scales) && (!biases || dim_same_shape(biases, scales))
        && (is_empty(f->codes, scales) || product == 32 || find_pair(&ignored, product, 0) != 0);
}

static const struct kind *
find_kind(const struct tensor *codes, const struct tensor *scales)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (group_bits(codes, scales) == kinds[i].words * 32)
            return &kinds[i];
    if (is_empty(codes, scales))
        return &kinds[0];
    return NULL;
}

/* scales, biases, global_scale, weight.global_scale */
static bool
floats_fit(const struct table_match *f)
{
    const struct kind *kind = find_kind(f->codes, f->with[0]);
    return kind && dim_same_rows(f->codes, f->with[0]) && !f->with[1]
        && (!f->with[2] || (kind->scale == DTYPE_F8_E4M3 && dim_is_one(f->with[2])))
        && (!f->with[3] || (kind->scale == DTYPE_F8_E4M3 && !f->with[2] && dim_is_one(f->with[3])));
}

static uint64_t
mlx_number(const json_t *block, const char *key)
{
    const json_t *v = json_object_get(block, key);
    if (json_is_integer(v) && json_integer_value(v) > 0)
        return (uint64_t)json_integer_value(v);
    return 0;
}

/* Returns the declared size of the groups of affine codes, or 0. null is the library's default. */
static uint64_t
group_size(const json_t *block)
{
    if (json_is_null(json_object_get(block, "group_size")))
        return sizes[0];
    return mlx_number(block, "group_size");
}

/* Returns the entry of module P in a block, or else the block itself. */
static const json_t *
find_block(const struct claims *c, const json_t *block, const struct part_name *p)
{
    memcpy(c->scratch, p->base, p->base_len);
    c->scratch[p->base_len] = '\0';
    const json_t *own = NULL;
    if (strlen(c->scratch) == p->base_len)
        own = json_object_get(block, c->scratch);
    if (json_is_object(own))
        return own;
    return block;
}

/* Takes bits and group from a block if they match the shapes. */
static bool
take_block(struct mlx *m, const json_t *block, uint64_t product)
{
    uint64_t bits = mlx_number(block, "bits"), group = group_size(block);
    bool known = bits >= 1 && bits <= 8 && bits != 7 && (group == 32 || group == 64 || group == 128);
    if (!known || (product != bits * group && product != 0))
        return false;
    *m = (struct mlx){ .bits = (uint32_t)bits, .group = (uint32_t)group };
    return true;
}

/* Takes the group size from a block whose bits contradict the shapes. */
static bool
take_group(struct mlx *m, const json_t *block, uint64_t product)
{
    uint64_t group = group_size(block);
    for (size_t i = 0; i < SIZES; i++)
        if (group == sizes[i] && bits_in(product, sizes[i]) != 0) {
            *m = (struct mlx){ .bits = bits_in(product, sizes[i]), .group = sizes[i] };
            return true;
        }
    return false;
}

/* Returns the bits that mflux writes into the metadata, or 0. */
static uint32_t
find_level(const struct claims *c)
{
    const struct meta *meta = catalog_meta_find(c->catalog, "quantization_level");
    size_t n = 0;
    const char *p = NULL;
    if (meta && meta->value.type == META_STRING)
        p = meta_bytes(&meta->value, &n);
    if (p && n == 1 && *p >= '2' && *p <= '8')
        return (uint32_t)(*p - '0');
    return 0;
}

static const struct scheme *
scheme_of_bits(uint32_t bits)
{
    return &mlx_schemes[bits == 8 ? 7 : bits];
}

/* Takes the pair whose bits --input-scheme or the metadata name. If --input-scheme does, w->scheme becomes the scheme of these bits. */
static bool
take_named(const struct claims *c, struct mlx *m, struct weight *w, uint64_t product)
{
    for (uint32_t bits = 2; bits <= 8; bits++) {
        if (bits == 7 || !claims_is_forced(c, scheme_of_bits(bits)->code))
            continue;
        find_pair(m, product, bits);
        if (m->bits == bits)
            w->scheme = scheme_of_bits(bits);
        return m->bits == bits;
    }
    uint32_t level = find_level(c);
    if (level != 0)
        find_pair(m, product, level);
    return level != 0 && m->bits == level;
}

/* Notes that the shapes contradict the bits and the groups that config.json declares. */
static bool
check_declared(struct table_match *f, const struct weight *w, const json_t *block, uint64_t group, struct err *err)
{
    uint64_t bits = mlx_number(block, "bits"), words = dim_cols(w->part[CODES]);
    if (bits == 0 || group == 0 || is_empty(w->part[CODES], w->part[SCALES]))
        return true;
    const uint64_t n[2] = { 1, words > UINT64_MAX / 32 ? 0 : words * 32 / bits }, size[2] = { 1, group };
    return declared_blocks(&f->doubt, f->claims, w->part[SCALES], n, size,
        (const uint64_t[]){ 1, dim_cols(w->part[SCALES]) }, err);
}

/* Finds bits and group: from the config, or else the only pair that fits the shapes, or else from the metadata or
 * --input-scheme. */
static bool
find_numbers(struct claims *c, struct table_match *f, struct weight *w, struct mlx *m, struct err *err)
{
    uint64_t product = group_bits(w->part[CODES], w->part[SCALES]);
    const json_t *block = find_block(c, config_block(c->config), &f->base);
    if (take_block(m, block, product))
        return true;
    if (!check_declared(f, w, block, group_size(block), err))
        return false;
    if (product == 0 || product == 32)
        *m = product == 0 ? (struct mlx){ .bits = 4, .group = 64 } : (struct mlx){ .bits = 1, .group = 32 };
    else if (find_pair(m, product, 0) > 1 && !take_group(m, block, product)
        && !take_block(m, find_block(c, config_metadata(c->config), &f->base), product)) {
        *m = (struct mlx){ .group = 1 };
        if (take_named(c, m, w, product))
            m->open = 0;
        else
            m->open = product;
    }
    return true;
}

/* Like check_declared, for a float format that config.json names. */
static bool
check_kind(struct table_match *f, const struct weight *w, const struct kind *kind, struct err *err)
{
    const json_t *block = find_block(f->claims, config_block(f->claims->config), &f->base);
    const char *mode = json_string_value(json_object_get(block, "mode"));
    return !mode || strcmp(mode, kind->name) != 0 || check_declared(f, w, block, mlx_number(block, "group_size"), err);
}

static bool
mlx_fit(struct table_match *f, struct weight *w, struct err *err)
{
    struct part_name ignored;
    uint64_t in;
    struct mlx *m = claims_alloc(f->claims, sizeof *m, err);
    if (!m)
        return false;
    w->own = m;
    if (w->part[SCALES]->dtype == DTYPE_U8) {
        const struct kind *kind = find_kind(w->part[CODES], w->part[SCALES]);
        *m = (struct mlx){ .kind = kind, .bits = kind->bits, .group = kind->group };
        if (!check_kind(f, w, kind, err))
            return false;
    } else {
        if (!find_numbers(f->claims, f, w, m, err))
            return false;
        if (claims_strip_name(w->part[BIASES], ".qbiases", &ignored))
            m->in = DTYPE_F32;
        else
            m->in = w->part[SCALES]->dtype;
    }
    w->vague = m->open != 0;
    if (w->vague)
        return true;
    if (num_mul(&in, dim_cols(w->part[SCALES]), m->group))
        return table_set_cols(f, w, in, err);
    return table_wrong(w->part[SCALES], f->codes, err, "fewer than 2^64 elements");
}

/* --- decoding */

static void
mlx_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct mlx *m = w->own;
    uint64_t end = first + count, from = first / m->group, to = (end - 1) / m->group;
    uint64_t size = dtype_facts(w->part[part]->dtype)->bytes;
    if (part == CODES)
        *s = (struct span){ first / 8 * m->bits, (end / 8 - first / 8) * m->bits + (end % 8 * m->bits + 7) / 8 };
    else if (part == GLOBAL || part == FACTOR)
        *s = (struct span){ 0, size };
    else
        *s = (struct span){ from * size, (to - from + 1) * size };
}

/* x starts at the byte with the first bit of element at / 8 * 8. */
static void
decode_affine(const struct decoding *d, const uint8_t *x, uint64_t at, size_t n, uint8_t *y)
{
    const struct mlx *m = d->w->own;
    struct step_room *own = d->room;
    const struct affine a = { .factors = own->scales, .terms = own->terms, .group = m->group, .in = m->in,
        .narrow = m->bits <= 4 };
    const uint8_t *codes = x + at % 8;                  /* for 8 bits */
    if (m->bits == 4 && d->to == DTYPE_BF16) {
        d->k->affine4_bf16((void *)y, x + at % 8 / 2, (size_t)(at % m->group), n, &a);
        return;
    }
    if (m->bits != 8) {
        d->k->bits_stream(own->codes, x, (size_t)(at % 8), n, m->bits);
        codes = own->codes;
    }
    step_affine(d, y, codes, (size_t)(at % m->group), n, &a, own->v);
}

static void
decode_float(const struct decoding *d, const uint8_t *x, uint64_t at, size_t n, uint8_t *y)
{
    const struct mlx *m = d->w->own;
    struct step_room *own = d->room;
    const struct codes4 c = { .map = fp4_values, .scales = own->scales, .group = m->group, .low_first = true };
    if (d->w->part[FACTOR] && !d->plain) {      /* a code times its scale is exact */
        float factor = scale_at(d, FACTOR, 0);
        d->k->codes4_f32(own->v, x + at % 8 / 2, (size_t)(at % m->group), n, &c);
        for (size_t i = 0; i < n; i++)
            own->v[i] *= factor;
        kernels_round(d->k, d->to, y, own->v, n);
    } else if (m->bits == 4)
        step_codes4(d, y, x + at % 8 / 2, (size_t)(at % m->group), n, &c, own->v);
    else
        step_fp8(d, y, DTYPE_F8_E4M3, x + at % 8, n, own->scales, m->group, own->v);
}

/* Reads the scales of n groups, starting at group g. */
static void
read_scales(const struct decoding *d, float *scales, uint64_t g, size_t n)
{
    const struct mlx *m = d->w->own;
    bool global = d->w->part[GLOBAL] != NULL && !d->plain;
    float factor = 1;
    if (global)
        factor = scale_at(d, GLOBAL, 0) / GLOBAL_OVER;
    const uint8_t *p = scale_bytes(d, SCALES, g);
    for (size_t i = 0; i < n; i++) {
        if (m->kind)
            scales[i] = float8_to_float(m->kind->scale, p[i]);
        else
            scales[i] = scale_value(d->w->part[SCALES]->dtype, p, i);
        if (global)
            scales[i] *= factor;
    }
}

/* Decodes whole groups, or elements within one group. */
static uint64_t
mlx_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct mlx *m = d->w->own;
    struct step_room *own = d->room;
    const uint8_t *x = decoding_bytes(d, CODES, at / 8 * m->bits);
    size_t n = (size_t)num_min(count, at % m->group != 0 ? m->group - at % m->group : STEP);
    size_t groups = (size_t)num_ceil_div(n, m->group);
    read_scales(d, own->scales, at / m->group, groups);
    if (d->w->part[BIASES])
        scale_read(d, BIASES, at / m->group, groups, own->terms);
    if (m->kind)
        decode_float(d, x, at, n, y);
    else
        decode_affine(d, x, at, n, y);
    return n;
}

static void
mlx_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct mlx *m = w->own;
    size_t n = 0;
    if (m->kind)
        snprintf(buf, SCHEME_DETAIL, "%s", m->kind->name);
    else if (m->open == 0)
        snprintf(buf, SCHEME_DETAIL, "%" PRIu32 "-bit, groups of %" PRIu32, m->bits, m->group);
    for (size_t i = 0; m->open != 0 && i < SIZES; i++)
        if (bits_in(m->open, sizes[i]) != 0)
            n += (size_t)snprintf(buf + n, SCHEME_DETAIL - n, "%s%" PRIu32 "-bit in groups of %" PRIu32, n != 0 ? " or " : "",
                bits_in(m->open, sizes[i]), sizes[i]);
}

static void
mlx_variant(const struct weight *w, char buf[SCHEME_WORD])
{
    const struct mlx *m = w->own;
    if (!m->kind && m->open == 0)
        snprintf(buf, SCHEME_WORD, "mlx-%" PRIu32 "bit", m->bits);
}

static void
mlx_grid(const struct weight *w, struct weight_grid *g)
{
    const struct mlx *m = w->own;
    if (m->open != 0 || w->part[FACTOR])
        return;
    *g = (struct weight_grid){ .codes = GRID_AFFINE, .bits = m->bits, .group = m->group, .scale = w->part[SCALES]->dtype,
        .exact = m->kind != NULL && !w->part[GLOBAL], .second = w->part[GLOBAL], .over = GLOBAL_OVER };
    if (m->kind) {
        if (m->bits == 4)
            g->codes = GRID_E2M1;
        else
            g->codes = GRID_FP8;
        g->scale = m->kind->scale;
    }
}

#define MLX(code_, ...) { .code = code_, .name = "MLX", .fit = mlx_fit, .need = { [CODES] = NEED_RUN, [SCALES] = NEED_RUN, \
    [BIASES] = NEED_RUN, [GLOBAL] = NEED_RUN, [FACTOR] = NEED_RUN }, .run = mlx_run, .room = sizeof(struct step_room), .decode = mlx_decode, \
    .describe = mlx_describe, .variant = mlx_variant, .grid = mlx_grid, __VA_ARGS__ }
#define MLX_BITS(bits) MLX("mlx-" #bits "bit")
#define ASK "give config.json with --config, or the scheme with --input-scheme mlx-4bit, mlx-8bit etc."

/* The first scheme finds all weights; scheme_of_bits() returns those that --input-scheme can name. */
const struct scheme mlx_schemes[] = {
    MLX("mlx", .ask = ASK,
        WORDS({ WORD_METHOD, "metal" }, { WORD_METHOD, "mlx" }, { WORD_MODE, "affine" }, { WORD_MODE, "mxfp4" },
            { WORD_MODE, "nvfp4" }, { WORD_MODE, "mxfp8" }),
        ROWS({ .codes = ".weight", .dtypes = IS(U32), .becomes = ".weight", .fits = floats_fit,
            .shapes = "[out, words], scales [out, groups] of 2, 4 or 8 words, no biases; one global_scale with 2 words",
            WITH(COMPANION(".scales", IS(U8), EVIDENCE, SCALE, .part = SCALES), COMPANION(".biases", ANY, OPTIONAL, ZERO_POINT),
            COMPANION(".global_scale", IS(F32), OPTIONAL, SCALE, .part = GLOBAL),
            COMPANION(".weight.global_scale", IS(F32), OPTIONAL, SCALE, .part = FACTOR)) }, {
            .codes = ".weight", .dtypes = IS(U32), .becomes = ".weight", .fits = affine_fits,
            .shapes = "[out, words], scales [out, groups] of 32, 64 or 128 codes, biases of the same shape", WITH(COMPANION(".scales", FLOAT_16, NAMED, SCALE, .part = SCALES, .left = LEFT_METHOD),
            COMPANION(".biases", FLOAT_16, REQUIRED, ZERO_POINT, .part = BIASES), OR(".qbiases")) })),
    RECOGNISED("mlx-incomplete", "MLX without scales", {
        .codes = ".weight", .dtypes = IS(U32), .becomes = ".weight",
        WITH(COMPANION(".biases", FLOAT, EVIDENCE, ZERO_POINT)) }),
    MLX_BITS(2), MLX_BITS(3), MLX_BITS(4), MLX_BITS(5), MLX_BITS(6), MLX_BITS(8),
    { 0 },
};
