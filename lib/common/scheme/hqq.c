/* HQQ: codes of 1, 2, 3, 4 or 8 bits in planes. The tensors of a module P:
 *
 *     P.W_q      [H, cols] U8 or I32     packed, or the same bytes as another type if view_as_float is set
 *     P.scale    [rows, 1] or [1, cols]  a group is a row (axis 1) or a column (axis 0) of the codes
 *     P.zero     shaped like the scale
 *     P.shape    I64                     of the weight; flattened, its elements are in the order of [rows, cols]
 *     P.packing  ASCII                   the number of rows in a unit of W_q, H apart; the first in its highest bits
 *     P.compute_dtype  ASCII             C; scales and zeros are converted to it when a model is loaded
 *     P.nbits, group_size, axis ...      not needed: the shapes show the same
 *
 *     V = RN_C(RN_C(q - zero) * scale)
 *
 * Everything but the bytes of W_q, scale and zero is in the contents of small tensors. SINQ has a second scale, for which no
 * formula is known. Sources: hqq core/bitpack.py; core/quantize.py, Quantizer.dequantize and HQQLinear.cuda.
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

enum { CODES, SCALE, ZERO };                            /* parts */

/* The elements of the matrix of codes that share a scale. */
enum scale_axis { OF_ALL, OF_ROW, OF_COL };

struct hqq {
    struct planes planes;
    uint64_t rows, cols;
    enum dtype in;                                      /* C */
    enum scale_axis axis[ZERO + 1];                     /* by part */
    const char *open;                                   /* why it cannot be decoded, or NULL */
};

/* --- recognition */

/* Companions, in the order of the row. */
enum { WITH_SCALE, WITH_ZERO, WITH_SCALE_Q, WITH_ZERO_Q };

/* W_q of an integer type is certain; of a float type it may be a plain matrix. */
static bool
is_hqq(const struct table_match *f)
{
    return !dtype_is_float(f->codes->dtype) || f->with[WITH_SCALE] || f->with[WITH_SCALE_Q];
}

static bool
hqq_fits(const struct table_match *f)
{
    return (f->with[WITH_SCALE] || f->with[WITH_SCALE_Q]) && (f->with[WITH_ZERO] || f->with[WITH_ZERO_Q]);
}

static const struct tensor *
field(const struct table_match *f, const char *suffix)
{
    return claims_find(f->claims, f->base.base, f->base.base_len, suffix);
}

enum { FIELD = 64 };                                    /* bytes of the longest field that is read */

/* Reads the bytes of a field, which must have one of some types. *n is 0 if it does not exist. */
static bool
read_field(const struct table_match *f, const char *suffix, const bool *dtypes, const char *expected, uint8_t p[FIELD],
    size_t *n, struct err *err)
{
    const struct tensor *t = field(f, suffix);
    const struct contents *contents = f->claims->contents;
    *n = 0;
    if (!t)
        return true;
    if (!dtype_in(dtypes, t->dtype) || t->shape.rank > 1 || t->extent.nbytes > FIELD)
        return table_wrong(t, f->codes, err, "%s", expected);
    *n = (size_t)t->extent.nbytes;
    return contents->read(contents->of, t, p, err);
}

static bool
read_flag(const struct table_match *f, const char *suffix, bool *set, struct err *err)
{
    uint8_t p[FIELD];
    size_t n;
    if (!read_field(f, suffix, DTYPE_SET(HAS(U8), HAS(BOOL)), "one U8", p, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        *set = *set || p[i] != 0;
    return true;
}

/* Finds a field's value among some words. *word is `count` if it is another word or the field does not exist. */
static bool
read_word(const struct table_match *f, const char *suffix, const char *const words[], size_t count, size_t *word, bool *there,
    struct err *err)
{
    uint8_t p[FIELD];
    size_t n;
    if (!read_field(f, suffix, IS(U8), "a U8 string", p, &n, err))
        return false;
    *there = n != 0;
    for (*word = 0; *word < count; ++*word)
        if (str_is(p, n, words[*word]))
            break;
    return true;
}

/* Reads the shape of the weight and its number of elements. */
static bool
hqq_read_shape(const struct table_match *f, struct weight *w, uint64_t *numel, struct err *err)
{
    static const char expected[] = "1 to 8 dimensions in I64";
    const struct tensor *t = field(f, ".shape");
    uint8_t p[FIELD], *packed = claims_alloc(f->claims, FIELD / 8 * SHAPE_DIM, err), *end = packed;
    size_t n;
    char name[STR_SHOWN];
    if (!packed)
        return false;
    if (!t)
        return claims_missing(f->claims, f->codes->extent.at, err, "tensor %s: quantized (HQQ), but has no shape",
            str_shown(name, f->codes->name, f->codes->name_len));
    if (!read_field(f, ".shape", IS(I64), expected, p, &n, err))
        return false;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t dim = load_le64(p + i);
        if (dim > INT64_MAX)
            return err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: item %zu is %" PRId64 ", expected 0 or more",
                str_shown(name, t->name, t->name_len), i / 8, (int64_t)dim);
        end += shape_pack(end, &dim, 1);
    }
    w->shape = (struct shape){ (uint32_t)(n / 8), packed };
    return (n != 0 && shape_numel(&w->shape, numel)) || table_wrong(t, f->codes, err, "%s", expected);
}

/* Derives the matrix of codes from the bytes of W_q and the number of elements. */
static bool
find_matrix(const struct table_match *f, struct hqq *q, uint64_t numel, bool viewed, struct err *err)
{
    const struct tensor *codes = f->codes;
    uint32_t unit = q->planes.unit, planes = q->planes.count;
    uint64_t row, height = dim_rows(codes);
    enum dtype type = DTYPE_I32;
    if (unit == 1)
        type = DTYPE_U8;
    if (codes->shape.rank != 2 || codes->dtype < DTYPE_U8 || (!viewed && codes->dtype != type))
        return table_wrong(codes, codes, err, "a matrix of %s for HQQ codes of %" PRIu32 " bits",
            viewed ? "any type" : dtype_name(type), q->planes.bits);
    if (!dtype_row_bytes(&row, codes->dtype, dim_cols(codes)) || row % unit != 0)
        return table_wrong(codes, codes, err, "rows of whole HQQ units");
    q->cols = row / unit;
    if (q->cols != 0)
        q->rows = numel / q->cols;
    else
        q->rows = 0;
    q->planes.units = codes->extent.nbytes / unit;
    /* The last words may be partly unused only with 10 codes a word. */
    bool whole = unit == 4 || (q->rows % planes == 0);
    return (whole && q->rows * q->cols == numel && height == num_ceil_div(q->rows, planes))
        || table_wrong(codes, codes, err, "%" PRIu64 " elements, %" PRIu32 " per unit", numel, planes);
}

static bool
find_axis(const struct table_match *f, const struct weight *w, struct hqq *q, unsigned part, struct err *err)
{
    const struct tensor *t = w->part[part];
    uint64_t rows = dim_rows(t), cols = dim_cols(t);
    bool is_row = cols == 1 && rows == q->rows, is_col = rows == 1 && cols == q->cols;
    if (dim_is_one(t))
        q->axis[part] = OF_ALL;
    else if (is_row)
        q->axis[part] = OF_ROW;
    else
        q->axis[part] = OF_COL;
    return q->axis[part] == OF_ALL || (t->shape.rank == 2 && (is_row || is_col))
        || table_wrong(t, f->codes, err, "[%" PRIu64 ", 1] or [1, %" PRIu64 "]", q->rows, q->cols);
}

/* Finds C. The default is the type of the scales, because models store them in C. */
static bool
hqq_find_type(const struct table_match *f, const struct weight *w, struct hqq *q, struct err *err)
{
    static const char *const words[] = { "torch.float16", "torch.bfloat16", "torch.float32" };
    static const enum dtype types[] = { DTYPE_F16, DTYPE_BF16, DTYPE_F32 };
    enum { TYPES = sizeof types / sizeof *types };
    size_t word;
    bool there;
    if (!read_word(f, ".compute_dtype", words, TYPES, &word, &there, err))
        return false;
    if (there && word == TYPES)
        q->open = "with an unknown compute_dtype";
    if (there && word < TYPES)
        q->in = types[word];
    else
        q->in = w->part[SCALE]->dtype;
    return true;
}

/* Finds the packing. *viewed: W_q may be stored as another type. */
static bool
find_packing(const struct table_match *f, struct hqq *q, bool *viewed, struct err *err)
{
    static const char *const words[] = { "8bit_u8", "4bit_u8", "3bit_32", "2bit_u8", "1bit_u8" };
    static const struct planes planes[] = {
        { .unit = 1, .bits = 8, .count = 1 }, { .unit = 1, .bits = 4, .count = 2 },
        { .unit = 4, .bits = 3, .count = 10 }, { .unit = 1, .bits = 2, .count = 4 },
        { .unit = 1, .bits = 1, .count = 8 },
    };
    enum { PACKINGS = sizeof planes / sizeof *planes };
    size_t word;
    bool there;
    if (!read_word(f, ".packing", words, PACKINGS, &word, &there, err) || !read_flag(f, ".view_as_float", viewed, err))
        return false;
    if (word == PACKINGS)
        q->open = there ? "with an unknown packing" : "with unpacked codes";
    else
        q->planes = planes[word];
    q->planes.high_first = true;
    return true;
}

static bool
hqq_fit(struct table_match *f, struct weight *w, struct err *err)
{
    bool viewed = false, nested = f->with[WITH_SCALE_Q] || f->with[WITH_ZERO_Q];
    uint64_t numel = 0;
    struct hqq *q = claims_alloc(f->claims, sizeof *q, err);
    if (!q)
        return false;
    *q = (struct hqq){ .open = NULL };
    w->own = q;
    w->vague = true;
    if (!f->claims->contents)
        return true;
    if (!read_flag(f, ".quant_scale", &nested, err) || !read_flag(f, ".quant_zero", &nested, err))
        return false;
    if (nested) {
        q->open = "with quantized scales or zeros";
        return true;
    }
    if (!find_packing(f, q, &viewed, err) || !hqq_find_type(f, w, q, err))
        return false;
    w->vague = q->open != NULL;
    return w->vague || (hqq_read_shape(f, w, &numel, err) && find_matrix(f, q, numel, viewed, err)
        && find_axis(f, w, q, SCALE, err) && find_axis(f, w, q, ZERO, err));
}

/* --- decoding */

static void
hqq_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct hqq *q = w->own;
    uint64_t from = first / q->cols, to = (first + count - 1) / q->cols;
    uint32_t size = dtype_facts(w->part[part]->dtype)->bytes;
    if (part == CODES)
        *s = planes_run(&q->planes, first, count);
    else if (q->axis[part] == OF_COL)
        *s = planes_lap(q->cols, size, first, count);
    else
        *s = q->axis[part] == OF_ROW ? (struct span){ from * size, (to - from + 1) * size } : (struct span){ 0, size };
}

/* Reads the scales or zeros of n elements (`each`) or of n rows, starting at element `at`. */
static void
hqq_fill(float *v, const struct decoding *d, unsigned part, uint64_t at, size_t n, bool each)
{
    const struct hqq *q = d->w->own;
    enum dtype type = d->w->part[part]->dtype;
    uint64_t row = at / q->cols, col = at % q->cols;
    for (size_t i = 0; i < n; i++) {
        float value = scale_at(d, part, q->axis[part] == OF_ALL ? 0 : q->axis[part] == OF_ROW ? row : col);
        if (type == q->in)
            v[i] = value;
        else
            v[i] = scale_round(q->in, value);
        if (!each) {
            row++;
        } else if (++col == q->cols) {
            col = 0;
            row++;
        }
    }
}

static uint64_t
hqq_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct hqq *q = d->w->own;
    struct step_room *own = d->room;
    bool each = q->axis[SCALE] == OF_COL || q->axis[ZERO] == OF_COL;
    uint64_t group = 1;
    if (!each)
        group = q->cols;
    const struct affine a = { own->scales, own->terms, (size_t)group, q->in, .term_first = true,
        .narrow = q->planes.bits <= 4 };
    size_t n = planes_unpack(own->codes, &q->planes, d, CODES, at, (size_t)num_min(count, STEP));
    size_t groups = (size_t)((at + n - 1) / group - at / group + 1);
    hqq_fill(own->scales, d, SCALE, at, groups, each);
    hqq_fill(own->terms, d, ZERO, at, groups, each);
    step_affine(d, y, own->codes, (size_t)(at % group), n, &a, own->v);
    return n;
}

static void
hqq_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct hqq *q = w->own;
    if (q->open)
        snprintf(buf, SCHEME_DETAIL, "%s", q->open);
    else if (w->vague)
        *buf = '\0';
    else
        snprintf(buf, SCHEME_DETAIL, "%" PRIu32 "-bit, groups of %" PRIu64, q->planes.bits,
            q->axis[SCALE] == OF_COL ? q->rows : q->cols);
}

static const struct companion fields[] = {
    BELONGS(".scale", SCALE), BELONGS(".zero", ZERO_POINT), BELONGS(".shape", SHAPE), BELONGS(".nbits", STATE),
    BELONGS(".group_size", STATE), BELONGS(".axis", STATE), BELONGS(".packing", STATE),
    COMPANION(".unpack_view_dtype", ANY, OPTIONAL, STATE, .left = LEFT_PACKED), BELONGS(".view_as_float", STATE), BELONGS(".compute_dtype", STATE),
    BELONGS(".channel_wise", STATE), BELONGS(".optimize", STATE), BELONGS(".round_zero", STATE),
    BELONGS(".quant_scale", STATE), BELONGS(".quant_zero", STATE), BELONGS(".offload_meta", STATE),
    BELONGS(".encoded_state_dict", STATE), BELONGS(".stores_quant_config", STATE), { 0 },
};

const struct scheme hqq_schemes[] = {
    DECLARED("sinq", "SINQ", WORDS({ WORD_METHOD, "sinq" }), {
        .codes = ".W_q", .dtypes = SCALARS, .becomes = ".weight",
        WITH(COMPANION(".scale2", ANY, EVIDENCE, SCALE), OR(".scale_2")), .also = fields }),
    {
        .code = "hqq",
        .name = "HQQ",
        WORDS({ WORD_METHOD, "hqq" }),
        ROWS({ .codes = ".W_q", .dtypes = SCALARS, .becomes = ".weight", .left = LEFT_METHOD, .is = is_hqq, .fits = hqq_fits,
            .shapes = "scale and zero", WITH(COMPANION(".scale", FLOAT_16, OPTIONAL, SCALE, .part = SCALE),
            COMPANION(".zero", FLOAT_16, OPTIONAL, ZERO_POINT, .part = ZERO),
            COMPANION(".scale_q", ANY, OPTIONAL, SCALE), COMPANION(".zero_q", ANY, OPTIONAL, ZERO_POINT)),
            .also = fields }),
        .fit = hqq_fit,
        .need = { [CODES] = NEED_AGAIN, [SCALE] = NEED_AGAIN, [ZERO] = NEED_AGAIN },
        .run = hqq_run,
        .room = sizeof(struct step_room),
        .decode = hqq_decode,
        .describe = hqq_describe,
    },
    { 0 },
};
