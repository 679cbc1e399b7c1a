/* AWQ: codes with a scale and a zero point for each group of inputs of an output. There are three layouts, which differ in
 * their shapes. For a module P, whose decoded weight is [out, in], with G groups:
 *
 *     GEMM         P.qweight    I32 [in, out*bits/32]     eight consecutive outputs share `bits` bytes, a bit stream of
 *                                                         codes in the order of outputs 0 2 4 6 1 3 5 7; AutoAWQ has
 *                                                         4 bits only
 *                  P.scales     F16, BF16, F32 [G, out]
 *                  P.qzeros     I32 [G, out*bits/32]      packed like the codes; absent: symmetric, 2^(bits-1)
 *
 *     GEMV         P.qweight    I32 [out, in/8]           4 bits, the low ones of a word first
 *                  P.scales     [out, 8*W]                only the first G of a row are used
 *                  P.qzeros     I32 [out, W]              only the first G of a row are used
 *
 *     GEMV_FAST    P.qweight    I16 [out/4, in]           4 bits; for 64 inputs, an output has 16 words (below)
 *                  P.scales     [8*W, out]                only the first G of a column are used
 *                  P.qzeros, or P.scaled_zeros of llm-awq, shaped like the scales: -zero * scale
 *
 *     V[o][i] = RN32((q - z) * scale); for GEMV_FAST RN32(q * scale + scaled zero); g = i / group
 *
 * W is G padded. If several group sizes give the same W, config.json decides. Sources: AutoAWQ modules/linear/gemm.py,
 * gemv.py and gemv_fast.py, utils/packing_utils.py; AutoRound utils/bit_packing.py for other bits than 4.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "kernel/bits.h"
#include "scheme/codes.h"
#include "scheme/declared.h"
#include "scheme/dim.h"
#include "scheme/scale.h"
#include "scheme/step.h"

enum { CODES, SCALES, ZEROS };                          /* parts; companions are numbered one less */
enum { WITH_SCALES, WITH_ZEROS };

struct awq {
    struct blocks blocks;                               /* of the scales; for GEMV as they are stored */
    uint32_t bits;
    const char *open;                                   /* why it cannot be decoded, or NULL */
};

/* --- recognition */

/* Returns the bits of GEMM's codes, which follow from the number of outputs that a row of words holds. 0: none fits. */
static uint32_t
gemm_bits(const struct tensor *codes, const struct tensor *scales)
{
    uint64_t out = dim_cols(scales), words, nbits;
    if (out % 8 != 0 || !num_mul(&words, dim_cols(codes), 32))
        return 0;
    for (uint32_t bits = 4; bits <= 7; bits++)
        if (num_mul(&nbits, out, bits) && nbits == words)
            return bits;
    return 0;
}

/* Matches the shapes of GEMV. With these shapes GEMM would have groups of one. */
static bool
is_gemv(const struct table_match *f)
{
    const struct tensor *codes = f->codes, *scales = f->with[WITH_SCALES], *zeros = f->with[WITH_ZEROS];
    return zeros && codes->shape.rank == 2 && dim_same_rows(codes, scales) && dim_same_rows(codes, zeros)
        && dim_rows(codes) % 8 == 0 && dim_cols(scales) % 8 == 0 && dim_cols(scales) / 8 == dim_cols(zeros);
}

static bool
is_gemm(const struct table_match *f)
{
    const struct tensor *scales = f->with[WITH_SCALES];
    return f->codes->shape.rank == 2 && scales->shape.rank == 2 && gemm_bits(f->codes, scales) != 0 && !is_gemv(f);
}

/* Matches [in/16, 2*out], into which AutoAWQ repacks GEMM for the Marlin kernel. */
static bool
is_marlin(const struct table_match *f)
{
    const struct tensor *scales = f->with[WITH_SCALES];
    return f->codes->shape.rank == 2 && scales->shape.rank == 2 && dim_cols(f->codes) % 2 == 0
        && dim_cols(f->codes) / 2 == dim_cols(scales);
}

/* --- GEMM */

/* Returns the inputs of a group as config.json declares them, under any of its keys. 0: not declared. */
static uint64_t
group_hint(const struct claims *c)
{
    static const char *const keys[] = { "group_size", "q_group_size" };
    const json_t *inner = json_object_get(config_block(c->config), "q_config");
    uint64_t n = 0;
    for (size_t i = 0; i < 2 && n == 0; i++) {
        json_int_t nested = json_integer_value(json_object_get(inner, keys[i]));
        if (nested > 0)
            n = (uint64_t)nested;
        else
            n = config_number(c->config, keys[i]);
    }
    return n;
}

static const char *
why_open(const struct weight *w)
{
    if (w->part[SCALES]->dtype == DTYPE_F64)
        return "with scales of F64";
    return NULL;
}

/* Sets the shape of the weight and stores its numbers. */
static bool
shape_weight(struct table_match *f, struct weight *w, const struct awq *awq, struct err *err)
{
    const uint64_t dim[2] = { awq->blocks.rows, awq->blocks.cols };
    struct awq *own = claims_alloc(f->claims, sizeof *own, err);
    if (!own)
        return false;
    *own = *awq;
    w->own = own;
    w->vague = own->open != NULL;
    return claims_shape(f->claims, w, 0, dim, 2, err);
}

/* Checks the zero points. If qzeros is absent, config.json must declare the weight symmetric. */
static bool
check_zeros(const struct table_match *f, const struct weight *w, struct awq *awq, struct err *err)
{
    const json_t *block = config_block(f->claims->config), *declared = json_object_get(block, "zero_point");
    char name[STR_SHOWN];
    if (w->part[ZEROS] || json_is_false(declared) || json_is_true(json_object_get(block, "sym")))
        return true;
    awq->open = "without qzeros; config.json (--config) must declare it symmetric";
    return !json_is_true(declared) || claims_is_report_on_shard(f->claims)
        || claims_missing(f->claims, f->codes->extent.at, err, "tensor %s: %s has no qzeros, but config.json declares "
            "zero_point", str_shown(name, f->codes->name, f->codes->name_len), f->scheme->name);
}

/* Returns the inputs of a group, or 0 if no number fits the scales. */
static uint64_t
gemm_group(const struct table_match *f)
{
    uint64_t in = dim_rows(f->codes), groups = dim_rows(f->with[WITH_SCALES]), group = group_hint(f->claims);
    if (group != 0 && num_ceil_div(in, group) == groups)
        return group;
    if (groups != 0 && in % groups == 0)
        return num_max(in / groups, 1);
    return in == 0;
}

static bool
gemm_fits(const struct table_match *f)
{
    const struct tensor *scales = f->with[WITH_SCALES], *zeros = f->with[WITH_ZEROS];
    return gemm_group(f) != 0 && (!zeros || (zeros->shape.rank == 2 && dim_rows(zeros) == dim_rows(scales)
        && dim_cols(zeros) == dim_cols(f->codes)));
}

static bool
gemm_fit(struct table_match *f, struct weight *w, struct err *err)
{
    struct awq awq = { .bits = gemm_bits(f->codes, w->part[SCALES]), .open = why_open(w) };
    awq.blocks = (struct blocks){ .rows = dim_cols(w->part[SCALES]), .cols = dim_rows(f->codes), .b0 = 1,
        .b1 = gemm_group(f) };
    uint64_t declared;
    return declared_groups(&declared, &f->doubt, f->claims, &f->base, w->part[SCALES], awq.blocks.cols,
            dim_rows(w->part[SCALES]), err)
        && check_zeros(f, w, &awq, err) && shape_weight(f, w, &awq, err);
}

static void
gemm_strip(struct strip *s, const struct weight *w, unsigned part)
{
    const struct awq *awq = w->own;
    table_strip(s, w, part);
    if (part != SCALES) {
        s->units = awq->blocks.rows / 8;
        s->unit_rows = 8;
        s->unit_bytes = awq->bits;
    }
}

/* Returns the code of an output from a unit of eight. */
static unsigned
lane_of(const uint8_t *unit, uint64_t row, uint32_t bits)
{
    static const uint8_t place[8] = { 0, 4, 1, 5, 2, 6, 3, 7 };
    return bits_code(unit, place[row % 8] * bits, bits);
}

static uint64_t
gemm_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    static const uint8_t shift[8] = { 0, 16, 4, 20, 8, 24, 12, 28 };
    const struct awq *awq = d->w->own;
    uint32_t bits = awq->bits;
    uint64_t cols = awq->blocks.cols, top = d->first / cols;
    struct codes_piece *p = codes_begin(d, at, count, cols, awq->blocks.b1);
    uint64_t unit = p->row / 8 - top / 8, g = p->col / awq->blocks.b1;
    const uint8_t *codes = decoding_unit(d, CODES, unit) + p->col * bits, *scales = decoding_unit(d, SCALES, p->row - top);
    const uint8_t *zeros = NULL;
    if (d->w->part[ZEROS])
        zeros = decoding_unit(d, ZEROS, unit);
    p->narrow = bits <= 4;
    for (size_t i = 0; i < p->groups; i++) {
        p->scales[i] = scale_value(d->w->part[SCALES]->dtype, scales, g + i);
        if (zeros)
            p->zeros[i] = (float)lane_of(zeros + (g + i) * bits, p->row, bits);
        else
            p->zeros[i] = (float)(1U << (bits - 1));
    }
    if (bits == 4)
        d->k->bits_lane(p->codes, codes, p->n, 4, shift[p->row % 8], 4);
    for (size_t i = 0; bits != 4 && i < p->n; i++)
        p->codes[i] = (uint8_t)lane_of(codes + i * bits, p->row, bits);
    return codes_emit(p, d, p->codes, false, true, y);
}

/* --- padded groups */

/* Returns true if AutoAWQ pads the groups to this many words of eight, as in its calculate_zeros_width. */
static bool
width_is(uint64_t in, uint64_t group, uint64_t words)
{
    if ((group < 128 && group != 64 && group != 32) || in % group != 0)
        return false;
    uint64_t multiple = 1;
    if (group < 128)
        multiple = 128 / group;
    uint64_t base = num_ceil_div(in / group, 8);
    return num_ceil_div(base, multiple) * multiple == words;
}

/* Returns the inputs of a group that gives this many words, or 0. If several do and config.json does not decide, sets *open. */
static uint64_t
padded_group(const struct claims *c, uint64_t in, uint64_t words, const char **open)
{
    uint64_t hint = group_hint(c), found = 0, n = 0;
    if (in == 0 || (hint != 0 && width_is(in, hint, words)))
        return in == 0 ? 1 : hint;
    for (unsigned i = 0; i < 10; i++) {         /* 32, 64, and sizes that divide the inputs into up to 8 * words groups */
        uint64_t groups = 8 * words - (i - 2), group = i < 2 ? 32U << i : groups != 0 && in % groups == 0 ? in / groups : 0;
        if ((i < 2 || group >= 128) && width_is(in, group, words)) {
            found = group;
            n++;
        }
    }
    if (hint != 0)
        *open = "with another group size than config.json declares";
    else if (n > 1)
        *open = "group size not given by config.json (--config)";
    return found;
}

/* --- GEMV */

static uint64_t
gemv_group(const struct table_match *f, const char **open)
{
    uint64_t in;
    if (num_mul(&in, dim_cols(f->codes), 8))
        return padded_group(f->claims, in, dim_cols(f->with[WITH_ZEROS]), open);
    return 0;
}

static bool
gemv_fits(const struct table_match *f)
{
    const char *ignored;
    return gemv_group(f, &ignored) != 0;
}

static bool
gemv_fit(struct table_match *f, struct weight *w, struct err *err)
{
    struct awq awq = { .bits = 4, .open = why_open(w) };
    awq.blocks = (struct blocks){ .rows = dim_rows(f->codes), .cols = 8 * dim_cols(f->codes), .b0 = 1,
        .b1 = gemv_group(f, &awq.open), .per_row = dim_cols(w->part[SCALES]) };
    return shape_weight(f, w, &awq, err);
}

/* Returns the layout of the words of zero points, each of eight groups. */
static struct blocks
zero_words(const struct awq *awq)
{
    struct blocks b = awq->blocks;
    b.b1 *= 8;
    b.per_row /= 8;
    return b;
}

static void
gemv_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct awq *awq = w->own;
    const struct blocks zeros = zero_words(awq);
    if (part == CODES)
        *s = (struct span){ .at = first / 2, .len = num_ceil_div(first + count, 2) - first / 2 };
    else
        blocks_span(s, part == SCALES ? &awq->blocks : &zeros, w->part[part], first, count);
}

static uint64_t
gemv_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct blocks *b = &((const struct awq *)d->w->own)->blocks;
    struct codes_piece *p = codes_begin(d, at, count, b->cols, b->b1);
    codes_scales(p, d, b, SCALES);
    const uint8_t *zeros = decoding_bytes(d, ZEROS, p->row * b->per_row / 2 + p->col / b->b1 / 8 * 4);
    for (size_t i = 0, g = (size_t)(p->col / b->b1 % 8); i < p->groups; i++, g++)
        p->zeros[i] = (float)(zeros[g / 2] >> g % 2 * 4 & 15);
    return codes_emit4(p, d, decoding_bytes(d, CODES, at / 2), false, y);
}

/* --- GEMV_FAST */

/* 64 inputs of four outputs take 64 words, 16 for each output; a word has the codes of inputs i, i + 8, i + 16, i + 24. */
enum { FAST_INPUTS = 64, FAST_ROWS = 4, FAST_WORDS = 16 };

static uint64_t
fast_group(const struct table_match *f, const char **open)
{
    return padded_group(f->claims, dim_cols(f->codes), dim_rows(f->with[WITH_SCALES]) / 8, open);
}

static bool
fast_fits(const struct table_match *f)
{
    const struct tensor *scales = f->with[WITH_SCALES], *zeros = f->with[WITH_ZEROS];
    const char *ignored;
    return f->codes->shape.rank == 2 && dim_cols(f->codes) % FAST_INPUTS == 0 && scales->shape.rank == 2
        && dim_same_shape(zeros, scales) && dim_cols(scales) % FAST_ROWS == 0
        && dim_cols(scales) / FAST_ROWS == dim_rows(f->codes) && dim_rows(scales) % 8 == 0 && fast_group(f, &ignored) != 0;
}

static bool
fast_fit(struct table_match *f, struct weight *w, struct err *err)
{
    struct awq awq = { .bits = 4, .open = w->part[ZEROS]->dtype == DTYPE_F64 ? "with zero points of F64" : why_open(w) };
    awq.blocks = (struct blocks){ .rows = dim_cols(w->part[SCALES]), .cols = dim_cols(f->codes), .b0 = 1,
        .b1 = fast_group(f, &awq.open) };
    return shape_weight(f, w, &awq, err);
}

/* Returns whole rows of four outputs; for a run within one row, only the words of the inputs it touches. */
static void
fast_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    uint64_t cols = shape_dim(&w->shape, 1), last = first + count - 1, row = first / cols, end = last / cols;
    uint64_t from = 0, to = cols;
    if (row == end) {
        from = first % cols / FAST_INPUTS * FAST_INPUTS;
        to = (last % cols / FAST_INPUTS + 1) * FAST_INPUTS;
    }
    (void)part;
    s->at = 2 * (row / FAST_ROWS * cols + from);
    s->len = 2 * (end / FAST_ROWS * cols + to) - s->at;
}

static void
fast_unpack(const struct decoding *d, struct codes_piece *p, uint64_t cols)
{
    uint64_t row = p->row / FAST_ROWS * cols + p->row % FAST_ROWS * FAST_WORDS, col = p->col, end = col + p->n;
    for (uint8_t *y = p->codes; col < end; ) {
        uint64_t gone = col % FAST_INPUTS, n = num_min(end - col, FAST_INPUTS - gone);
        uint8_t some[FAST_INPUTS];
        d->k->bits_blocks(n == FAST_INPUTS ? y : some, decoding_bytes(d, CODES, 2 * (row + col - gone)), FAST_WORDS / 8, 4);
        if (n != FAST_INPUTS)
            memcpy(y, some + gone, (size_t)n);
        y += n;
        col += n;
    }
}

static uint64_t
fast_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct awq *awq = d->w->own;
    uint64_t cols = awq->blocks.cols;
    struct codes_piece *p = codes_begin(d, at, count, cols, awq->blocks.b1);
    uint64_t row = p->row - d->first / cols, g = p->col / awq->blocks.b1;
    const uint8_t *scales = decoding_unit(d, SCALES, row), *zeros = decoding_unit(d, ZEROS, row);
    for (size_t i = 0; i < p->groups; i++) {
        p->scales[i] = scale_value(d->w->part[SCALES]->dtype, scales, g + i);
        p->zeros[i] = scale_value(d->w->part[ZEROS]->dtype, zeros, g + i);
    }
    fast_unpack(d, p, cols);
    step_affine(d, y, p->codes, (size_t)p->col, p->n, &(struct affine){ .factors = p->scales, .terms = p->zeros,
        .group = p->group, .in = DTYPE_F32, .narrow = true }, p->v);
    return p->n;
}

static void
awq_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct awq *awq = w->own;
    int n = snprintf(buf, SCHEME_DETAIL, "%" PRIu32 "-bit, ", awq->bits);
    blocks_describe(&awq->blocks, awq->open, buf, n);
}

#define SCALES_PART COMPANION(".scales", FLOAT, EVIDENCE, SCALE, .part = SCALES, .left = LEFT_METHOD)
#define ZEROS_PART COMPANION(".qzeros", IS(I32), OPTIONAL, ZERO_POINT, .part = ZEROS)

static void
awq_grid(const struct weight *w, struct weight_grid *g)
{
    const struct awq *awq = w->own;
    codes_grid(g, awq->bits, awq->blocks.b1, w->part[SCALES], w->part[ZEROS]);
}

const struct scheme awq_schemes[] = {
    {
        .code = "awq",
        .name = "AWQ GEMM",
        WORDS({ WORD_METHOD, "awq" }, { WORD_METHOD, "auto_awq" }, { WORD_METHOD, "awq_marlin" },
            { WORD_METHOD, "cpu_awq" }, { WORD_FORMAT, "awq" }, { WORD_FORMAT, "gemm" },
            { WORD_PACKING, "auto_round:auto_awq" }, { WORD_PACKING, "auto_round:awq*" }, { WORD_PACKING, "awq" }),
        ROWS({ .codes = ".qweight", .dtypes = IS(I32), .becomes = ".weight", .is = is_gemm,
            .fits = gemm_fits, .shapes = "[in, out*bits/32], scales [G, out] with G dividing in, qzeros [G, out*bits/32]",
            WITH(SCALES_PART, ZEROS_PART) }),
        .fit = gemm_fit,
        .need = { [CODES] = NEED_STRIP, [SCALES] = NEED_STRIP, [ZEROS] = NEED_STRIP },
        .strip = gemm_strip,
        .room = sizeof(struct codes_piece),
        .decode = gemm_decode,
        .describe = awq_describe,
        .grid = awq_grid,
    },
    {
        .code = "awq-gemv",
        .name = "AWQ GEMV",
        WORDS({ WORD_FORMAT, "gemv" }),
        ROWS({ .codes = ".qweight", .dtypes = IS(I32), .becomes = ".weight", .is = is_gemv,
            .fits = gemv_fits, .shapes = "[out, in/8], scales [out, 8*n], qzeros [out, n] of padded groups",
            WITH(SCALES_PART, ZEROS_PART) }),
        .fit = gemv_fit,
        .need = { [CODES] = NEED_RUN, [SCALES] = NEED_RUN, [ZEROS] = NEED_RUN },
        .run = gemv_run,
        .room = sizeof(struct codes_piece),
        .decode = gemv_decode,
        .describe = awq_describe,
        .grid = awq_grid,
    },
    {
        .code = "awq-gemv-fast",
        .name = "AWQ GEMV_FAST",
        WORDS({ WORD_FORMAT, "gemv_fast" }, { WORD_FORMAT, "llm-awq" }, { WORD_METHOD, "llm-awq" }),
        ROWS({ .codes = ".qweight", .dtypes = IS(I16), .becomes = ".weight", .fits = fast_fits,
            .shapes = "[out/4, in], scales [8*n, out] of padded groups, zeros of the same shape", WITH(SCALES_PART,
            COMPANION(".qzeros", FLOAT, REQUIRED, ZERO_POINT, .part = ZEROS), OR(".scaled_zeros", .left = LEFT_SCALES)) }),
        .fit = fast_fit,
        .need = { [CODES] = NEED_RUN, [SCALES] = NEED_STRIP, [ZEROS] = NEED_STRIP },
        .run = fast_run,
        .strip = table_strip,
        .room = sizeof(struct codes_piece),
        .decode = fast_decode,
        .describe = awq_describe,
    },
    RECOGNISED("awq-marlin", "AWQ Marlin", {
        .codes = ".qweight", .dtypes = IS(I32), .becomes = ".weight", .is = is_marlin,
        WITH(COMPANION(".scales", FLOAT, EVIDENCE, SCALE), COMPANION(".qzeros", IS(I32), OPTIONAL, ZERO_POINT)) }),
    { 0 },
};
