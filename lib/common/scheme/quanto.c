/* optimum-quanto. The tensors of a weight X, where X is P.weight:
 *
 *     X._data          I8, F8 [out, ..]      8 bits, unpacked
 *     X._scale         one, or [out, 1 ..]   F16, BF16, F32: T
 *
 *     X._data._data    U8 [H, group]         4 or 2 bits, in planes: rows H apart, the first in the lowest bits;
 *                                            [H, in ..] for a convolution without groups
 *     X._scale         [groups, 1]           a row is a group
 *     X._shift         [groups, 1]           of T, or a zero point in U8 or I8
 *
 *     8 bits           V = RN32(q * scale)
 *     float shift      V = RN_T(RN_T(q * scale) - shift)
 *     zero point       V = RN32((q - zero) * scale)
 *
 * The shape of a weight in groups is not stored. With P.bias it is [out, in], with out from the bias. Without, it follows
 * from hidden_size and intermediate_size in config.json for modules with the usual names. The quantizer makes groups of 128,
 * 96, 64 or 32, or none; with any other group size, a row is one group. In all other cases the weight is decoded as [groups,
 * group], and only with --input-scheme quanto. Sources: optimum/quanto/tensor/packed.py, qbytes.py, qbits.py; nn/qmodule.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/dim.h"
#include "scheme/planes.h"
#include "scheme/scale.h"
#include "scheme/step.h"
#include "scheme/table.h"

enum { CODES, SCALE, SHIFT };                           /* parts */

struct quanto {
    struct planes planes;
    uint64_t cols;                                      /* elements that share a scale */
    const char *open;                                   /* why it cannot be decoded, or NULL */
};

/* --- recognition */

/* Companions, in the order of the rows. */
enum { WITH_SCALE, WITH_SHIFT };

/* Codes of 8 bits have none. */
static bool
has_no_shift(const struct table_match *f)
{
    return !f->with[WITH_SHIFT];
}

/* Returns true for [n, 1 ..] with the rank of the codes. */
static bool
is_by_row(const struct tensor *t, const struct tensor *codes)
{
    bool ok = t->shape.rank != 0 && t->shape.rank == codes->shape.rank;
    for (uint32_t i = 1; i < t->shape.rank && ok; i++)
        ok = shape_dim(&t->shape, i) == 1;
    return ok;
}

/* Checks for one scale, or one for each index of the first dimension. */
static bool
bytes_fit(const struct table_match *f)
{
    const struct tensor *scale = f->with[WITH_SCALE];
    return dim_is_one(scale)
        || (is_by_row(scale, f->codes) && shape_dim(&scale->shape, 0) == shape_dim(&f->codes->shape, 0));
}

static bool
fit_bytes(struct table_match *f, struct weight *w, struct err *err)
{
    uint64_t rows = 1;
    if (!dim_is_one(w->part[SCALE]))
        rows = shape_dim(&w->part[SCALE]->shape, 0);
    struct quanto *q = claims_alloc(f->claims, sizeof *q, err);
    if (!q)
        return false;
    *q = (struct quanto){ .cols = num_max(rows != 0 ? w->part[CODES]->extent.nbytes / rows : 0, 1) };
    w->own = q;
    return true;
}

static bool
bits_fit(const struct table_match *f)
{
    const struct tensor *scale = f->with[WITH_SCALE];
    if (f->codes->shape.rank < 2 || !is_by_row(scale, f->codes) || !dim_same_shape(f->with[WITH_SHIFT], scale))
        return false;
    uint64_t height = shape_dim(&f->codes->shape, 0), rows = shape_dim(&scale->shape, 0);
    return height == num_ceil_div(rows, 2) || height == num_ceil_div(rows, 4);
}

/* Returns 2 or 4, or 0 if the shapes fit both and config.json does not decide. */
static uint32_t
find_bits(const struct claims *c, uint64_t height, uint64_t rows)
{
    const char *declared = json_string_value(json_object_get(config_block(c->config), "weights"));
    if (num_ceil_div(rows, 2) != num_ceil_div(rows, 4) || rows == 0)
        return height == num_ceil_div(rows, 2) ? 4 : 2;
    if (declared && strcmp(declared, "int4") == 0)
        return 4;
    if (declared && strcmp(declared, "int2") == 0)
        return 2;
    return 0;
}

/* Returns the bias of the module that this weight belongs to, or NULL. */
static const struct tensor *
find_bias(const struct table_match *f)
{
    const struct tensor x = { .name = f->base.base, .name_len = (uint32_t)f->base.base_len };
    struct part_name p;
    if (claims_strip_name(&x, ".weight", &p))
        return claims_find(f->claims, p.base, p.base_len, ".bias");
    return NULL;
}

/* Returns the size that config.json declares for one dimension of this module, or 0. *out: it is the first dimension. */
static uint64_t
find_size(const struct table_match *f, bool *out)
{
    static const struct { const char *suffix; enum config_size size; bool out; } usual[] = {
        { .suffix = ".q_proj", .size = CONFIG_HIDDEN }, { .suffix = ".k_proj", .size = CONFIG_HIDDEN },
        { .suffix = ".v_proj", .size = CONFIG_HIDDEN }, { .suffix = ".o_proj", .size = CONFIG_HIDDEN, .out = true },
        { .suffix = ".gate_proj", .size = CONFIG_HIDDEN }, { .suffix = ".up_proj", .size = CONFIG_HIDDEN },
        { .suffix = ".down_proj", .size = CONFIG_INTERMEDIATE }, { .suffix = ".fc1", .size = CONFIG_HIDDEN },
        { .suffix = ".fc2", .size = CONFIG_INTERMEDIATE },
    };
    const struct tensor x = { .name = f->base.base, .name_len = (uint32_t)f->base.base_len };
    struct part_name p, ignored;
    for (size_t i = 0; claims_strip_name(&x, ".weight", &p) && i < sizeof usual / sizeof *usual; i++) {
        const struct tensor module = { .name = p.base, .name_len = (uint32_t)p.base_len };
        if (!claims_strip_name(&module, usual[i].suffix, &ignored))
            continue;
        *out = usual[i].out;
        return config_size(f->claims->config, usual[i].size);
    }
    return 0;
}

/* Finds the shape without a bias: from config.json, or with --input-scheme a row for each group. Otherwise the weight is vague. */
static void
find_rows_alone(const struct table_match *f, struct weight *w, uint64_t dim[2])
{
    struct quanto *q = (struct quanto *)w->own;
    uint64_t rows = dim[0], group = dim[1], numel;
    bool out = false;
    uint64_t size = find_size(f, &out);
    if (group == 0 || group > 128 || group % 32 != 0)
        return;
    if (size != 0 && num_mul(&numel, rows, group) && numel % size == 0 && (out ? numel / size : size) % group == 0) {
        if (out) {
            dim[0] = size;
            dim[1] = numel / size;
        } else {
            dim[0] = numel / size;
            dim[1] = size;
        }
    } else if (claims_is_forced(f->claims, f->scheme->code)) {
        claims_warn_once(f->claims, "quanto weights without a bias are written as [groups, group], because their shape is not "
            "stored");
    } else {
        q->open = "number of groups per row not stored";
        w->vague = true;
    }
}

/* Finds dim[0..1] of the matrix whose groups are the rows of codes. */
static bool
find_rows(const struct table_match *f, struct weight *w, uint64_t dim[2], struct err *err)
{
    const struct tensor *bias = find_bias(f);
    uint64_t rows = dim[0], group = dim[1];
    if (!bias) {
        find_rows_alone(f, w, dim);
        return true;
    }
    if (bias->shape.rank == 1)
        dim[0] = shape_dim(&bias->shape, 0);
    else
        dim[0] = 0;
    if (dim[0] == 0 ? rows != 0 : rows % dim[0] != 0)
        return table_wrong(bias, f->codes, err, "[out] that divides %" PRIu64 " groups", rows);
    return num_mul(&dim[1], dim[0] != 0 ? rows / dim[0] : 1, group)
        || table_wrong(f->codes, f->codes, err, "fewer than 2^64 elements");
}

/* Sets the shape of the weight: the codes with all rows, or the matrix that these rows divide into groups. */
static bool
set_shape(const struct table_match *f, struct weight *w, uint64_t rows, struct err *err)
{
    const struct shape *codes = &f->codes->shape;
    uint64_t first[2] = { rows, shape_dim(codes, 1) }, numel;
    if (codes->rank == 2 && !find_rows(f, w, first, err))
        return false;
    if (w->vague)
        return true;
    uint8_t *packed = claims_alloc(f->claims, (size_t)codes->rank * SHAPE_DIM, err), *end = packed;
    if (!packed)
        return false;
    end += shape_pack(end, first, 2);
    for (uint32_t i = 2; i < codes->rank; i++) {
        uint64_t dim = shape_dim(codes, i);
        end += shape_pack(end, &dim, 1);
    }
    w->shape = (struct shape){ codes->rank, packed };
    return shape_is_empty(&w->shape) || shape_numel(&w->shape, &numel)
        || table_wrong(f->codes, f->codes, err, "fewer than 2^64 elements");
}

static bool
fit_bits(struct table_match *f, struct weight *w, struct err *err)
{
    uint64_t rows = shape_dim(&w->part[SCALE]->shape, 0), height = shape_dim(&f->codes->shape, 0);
    uint64_t units = f->codes->extent.nbytes;
    uint32_t bits = find_bits(f->claims, height, rows);
    struct quanto *q = claims_alloc(f->claims, sizeof *q, err);
    if (!q)
        return false;
    *q = (struct quanto){ .cols = num_max(height != 0 ? units / height : 0, 1), .planes = { .units = units, .unit = 1,
        .bits = bits, .count = bits != 0 ? 8 / bits : 0 } };
    if (bits == 0)
        q->open = "2 or 4 bits";
    else
        q->open = NULL;
    w->own = q;
    w->vague = q->open != NULL;
    return w->vague || set_shape(f, w, rows, err);
}

/* --- decoding */

static void
quanto_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct quanto *q = w->own;
    uint64_t from = first / q->cols, to = (first + count - 1) / q->cols;
    uint64_t size = dtype_facts(w->part[part]->dtype)->bytes;
    if (part != CODES)
        *s = (struct span){ from * size, (to - from + 1) * size };
    else
        *s = q->planes.units != 0 ? planes_run(&q->planes, first, count) : (struct span){ first, count };
}

static uint64_t
decode_bytes(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct quanto *q = d->w->own;
    enum dtype type = d->w->part[CODES]->dtype;
    struct step_room *own = d->room;
    const uint8_t *codes = decoding_bytes(d, CODES, at);
    float scale = scale_at(d, SCALE, at / q->cols);
    size_t n = (size_t)num_min(num_min(count, q->cols - at % q->cols), STEP);
    const struct codes8 c = { .scales = &scale, .group = n, .is_signed = true };
    if (type == DTYPE_I8)
        step_codes8(d, y, codes, 0, n, &c, own->v);
    else
        step_fp8(d, y, type, codes, n, &scale, n, own->v);
    return n;
}

static uint64_t
decode_bits(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct quanto *q = d->w->own;
    struct step_room *own = d->room;
    enum dtype shift = d->w->part[SHIFT]->dtype;
    uint64_t cols = q->cols, g = at / cols;
    size_t n = planes_unpack(own->codes, &q->planes, d, CODES, at, (size_t)num_min(count, STEP));
    size_t groups = (size_t)((at + n - 1) / cols - g + 1);
    const struct affine a = { own->scales, own->terms, (size_t)cols, d->w->part[SCALE]->dtype, .narrow = q->planes.bits <= 4 };
    const struct codes8 c = { .scales = own->scales, .group = (size_t)cols, .is_signed = true };
    scale_read(d, SCALE, g, groups, own->scales);
    if (dtype_is_float(shift)) {
        scale_read(d, SHIFT, g, groups, own->terms);
        for (size_t i = 0; i < groups; i++)
            own->terms[i] = -own->terms[i];
        step_affine(d, y, own->codes, (size_t)(at % cols), n, &a, own->v);
        return n;
    }
    const uint8_t *zeros = decoding_bytes(d, SHIFT, g);
    for (uint64_t i = 0; i < n; i++)                /* the difference fits in I8, whatever the zero point */
        own->codes[i] = (uint8_t)(own->codes[i] - zeros[(at % cols + i) / cols]);
    step_codes8(d, y, own->codes, (size_t)(at % cols), n, &c, own->v);
    return n;
}

static void
describe_bytes(const struct weight *w, char buf[SCHEME_DETAIL])
{
    enum dtype type = w->part[CODES]->dtype;
    snprintf(buf, SCHEME_DETAIL, "%s, per-%s scale", type == DTYPE_I8 ? "8-bit" : dtype_name(type) + 3,
        dim_is_one(w->part[SCALE]) ? "tensor" : "channel");
}

static void
describe_bits(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct quanto *q = w->own;
    if (q->open && q->planes.bits == 0)
        snprintf(buf, SCHEME_DETAIL, "%s", q->open);
    else if (q->open)
        snprintf(buf, SCHEME_DETAIL, "%" PRIu32 "-bit; %s", q->planes.bits, q->open);
    else
        snprintf(buf, SCHEME_DETAIL, "%" PRIu32 "-bit, groups of %" PRIu64, q->planes.bits, q->cols);
}

const struct scheme quanto_schemes[] = {
    {
        .code = "quanto",
        .name = "quanto",
        WORDS({ WORD_METHOD, "quanto" }),
        ROWS({ .codes = "._data", .dtypes = DTYPE_SET(HAS(I8), HAS_FLOAT8), .becomes = "", .left = LEFT_PACKED, .fits = bytes_fit,
            .is = has_no_shift, .shapes = "[out, ..], _scale of one or [out, 1 ..]", WITH(COMPANION("._scale", FLOAT_16, EVIDENCE, SCALE, .part = SCALE),
            COMPANION("._shift", ANY, OPTIONAL, ZERO_POINT)) }),
        .fit = fit_bytes,
        .need = { [CODES] = NEED_RUN, [SCALE] = NEED_RUN },
        .run = quanto_run,
        .room = sizeof(struct step_room),
        .decode = decode_bytes,
        .describe = describe_bytes,
    },
    {
        .code = "quanto",
        .name = "quanto",
        .ask = "give config.json (--config), or decode it as [groups, group] with --input-scheme quanto",
        ROWS({ .codes = "._data._data", .dtypes = IS(U8), .becomes = "", .left = LEFT_PACKED, .fits = bits_fit,
            .shapes = "[rows / 2 or 4, group], _scale and _shift [rows, 1]", WITH(COMPANION("._scale", FLOAT_16, EVIDENCE, SCALE, .part = SCALE),
            COMPANION("._shift", DTYPE_SET(HAS_FLOAT_16, HAS(U8), HAS(I8)), REQUIRED, ZERO_POINT, .part = SHIFT, .left = LEFT_PACKED)) }),
        .fit = fit_bits,
        .need = { [CODES] = NEED_AGAIN, [SCALE] = NEED_RUN, [SHIFT] = NEED_RUN },
        .run = quanto_run,
        .room = sizeof(struct step_room),
        .decode = decode_bits,
        .describe = describe_bits,
    },
    RECOGNISED("quanto", "quanto", {
        .codes = "._data", .dtypes = SCALARS, .becomes = "", WITH(COMPANION("._scale", FLOAT, EVIDENCE, SCALE), COMPANION("._shift", ANY, OPTIONAL, ZERO_POINT)) }, {
        .codes = "._data._data", .dtypes = SCALARS, .becomes = "", WITH(COMPANION("._scale", FLOAT, EVIDENCE, SCALE), COMPANION("._shift", ANY, OPTIONAL, ZERO_POINT)) }),
    { 0 },
};
