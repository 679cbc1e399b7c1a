/* ggml block types: a tensor is its blocks in order, and any run of blocks can be decoded independently (the formulas are in
 * kernel/). Rows of some types of forks begin with a factor, the prefix, or are interleaved: these are decoded row by row. NVFP4
 * has a second level: X.scale, F32 [1] or one per matrix of stacked experts, multiplies the decoded value; X.input_scale does
 * not affect the weight. Source: llama.cpp, llama-model.cpp. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/str.h"
#include "dtype/ggml_block.h"
#include "dtype/half.h"
#include "scheme/table.h"

enum { CODES, SCALE, PREFIX };  /* parts; PREFIX: the codes again, for prefixes of long rows */

/* Returns the number of elements that share a scale. The weight must have one. */
static uint64_t
per_matrix(const struct weight *w)
{
    return *(const uint64_t *)w->own;
}

/* Returns true if a block cannot be decoded without knowing its row. */
static bool
in_rows(enum dtype dtype)
{
    return dtype_facts(dtype)->prefix != 0 || dtype_facts(dtype)->interleaved != 0;
}

/* Returns the elements of a row. */
static uint64_t
cols_of(const struct tensor *codes)
{
    return shape_dim(&codes->shape, codes->shape.rank - 1);
}

/* Returns the rows that are stored as one. */
static uint64_t
together(const struct tensor *codes)
{
    return num_max(dtype_facts(codes->dtype)->interleaved, 1);
}

/* Runs of short rows start at the prefix of a row, which a pipe still has. Prefixes of long rows are read on their own. */
static void
fit_rows(struct weight *w)
{
    const struct tensor *codes = w->part[CODES];
    uint64_t row = 0;
    dtype_row_bytes(&row, codes->dtype, cols_of(codes));
    w->again = row * together(codes) > SCHEME_BACK;     /* does not overflow: the tensor has as many rows */
    if (w->again)
        w->part[PREFIX] = codes;
}

static bool
ggml_fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *codes = w->part[CODES], *scale = w->part[SCALE];
    const struct shape *s = &codes->shape;
    uint64_t experts = s->rank >= 3 ? shape_dim(s, s->rank - 3) : 1, numel, total;
    if (in_rows(codes->dtype))
        fit_rows(w);
    if (!scale)
        return true;
    if (scale->shape.rank > 1 || !shape_numel(&scale->shape, &numel) || !shape_numel(s, &total)
        || (numel != 1 && numel != experts) || numel == 0)
        return table_wrong(scale, codes, err, "[1] or [%" PRIu64 "]", experts);
    uint64_t *own = claims_alloc(f->claims, sizeof *own, err);
    if (!own)
        return false;
    if (numel == 1)
        *own = total;
    else
        *own = shape_dim(s, s->rank - 1) * shape_dim(s, s->rank - 2);
    w->own = own;
    return true;
}

static uint64_t
matrix_of(const struct weight *w, uint64_t i)
{
    return i / per_matrix(w);
}

/* Returns the offset of the block that contains element i. */
static uint64_t
block_at(const struct tensor *codes, uint64_t i)
{
    return shape_offset(&codes->shape, codes->dtype, i);
}

/* Returns the bytes from the prefix of the first row, or of the first of those interleaved with it, to the last block. In long
 * rows, they start at the first block if no other row needs earlier ones. */
static struct span
run_rows(const struct weight *w, uint64_t first, uint64_t count)
{
    const struct tensor *codes = w->part[CODES];
    uint64_t cols = cols_of(codes), last = first + count - 1, n = together(codes);
    uint64_t row = first / cols, last_row = last / cols, from, end;
    if (w->part[PREFIX] && (n == 1 || row == last_row))
        from = block_at(codes, first);
    else
        from = dtype_prefix_offset(codes->dtype, cols, row - row % n);
    if (last_row == row || last_row % n == 0)
        end = block_at(codes, last) + dtype_block_step(codes->dtype);
    else        /* earlier rows need all blocks */
        end = dtype_prefix_offset(codes->dtype, cols, last_row - last_row % n + n);
    return (struct span){ .at = from, .len = end - from };
}

/* Returns the prefixes of the rows that are stored with the row of element `first`. */
static struct span
run_prefix(const struct tensor *codes, uint64_t first)
{
    uint64_t cols = cols_of(codes), row = first / cols, n = together(codes);
    return (struct span){ .at = dtype_prefix_offset(codes->dtype, cols, row - row % n),
        .len = n * dtype_facts(codes->dtype)->prefix };
}

static void
ggml_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct tensor *codes = w->part[CODES];
    if (part == CODES && in_rows(codes->dtype))
        *s = run_rows(w, first, count);
    else if (part == PREFIX)
        *s = run_prefix(codes, first);
    else if (part == CODES) {
        uint64_t from = block_at(codes, first), last = block_at(codes, first + count - 1);
        *s = (struct span){ .at = from, .len = last + dtype_facts(codes->dtype)->bytes - from };
    } else {
        uint64_t from = matrix_of(w, first), to = matrix_of(w, first + count - 1);
        *s = (struct span){ .at = 4 * from, .len = 4 * (to - from + 1) };
    }
}

/* Multiplies n decoded elements, starting at element `at` of the tensor, by the scale of their matrix. */
static void
apply_scale(const struct decoding *d, uint64_t at, float *v, size_t n)
{
    bool big = d->w->part[SCALE]->big_endian;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = decoding_bytes(d, SCALE, 4 * matrix_of(d->w, at + i));
        v[i] *= float_of_bits(big ? load_be32(p) : load_le32(p));
    }
}

enum { STEP = 1024 };

struct ggml_room {
    float v[STEP];
    uint8_t swapped[2 * STEP];          /* no type needs more bytes for this many elements */
};

/* Returns the factor in the prefix of a row, or 0 if the type has none. */
static float
row_scale(const struct decoding *d, uint64_t row)
{
    const struct tensor *codes = d->w->part[CODES];
    uint64_t cols = cols_of(codes), n = together(codes), at = dtype_prefix_offset(codes->dtype, cols, row);
    uint8_t size = dtype_facts(codes->dtype)->prefix;
    bool apart = d->w->part[PREFIX] && row / n == d->first / cols / n;
    if (size == 0)
        return 0;
    const uint8_t *p = decoding_bytes(d, apart ? PREFIX : CODES, at);
    if (size == 2)
        return half_load(p);
    return float_of_bits(load_le32(p));
}

/* Decodes elements of one row: whole blocks directly, partial ones through floats. */
static uint64_t
decode_row(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct tensor *codes = d->w->part[CODES];
    const struct dtype_facts *f = dtype_facts(codes->dtype);
    uint64_t cols = cols_of(codes), row = at / cols, cut = at % cols % f->elems;
    const uint8_t *x = decoding_bytes(d, CODES, dtype_block_offset(codes->dtype, cols, row, at % cols));
    const struct kernel_row place = { .scale = row_scale(d, row), .row = (unsigned)(row % together(codes)) };
    float *v = ((struct ggml_room *)d->room)->v;
    count = num_min(count, cols - at % cols);
    if (cut == 0 && count >= f->elems) {
        uint64_t whole = count / f->elems;
        kernels_row(d->k, codes->dtype, d->to, y, x, (size_t)whole, &place);
        return whole * f->elems;
    }
    count = num_min(count, f->elems - cut);
    d->k->row_f32[codes->dtype](v, x, 1, &place);
    kernels_round(d->k, d->to, y, v + cut, (size_t)count);
    return count;
}

/* Decodes whole blocks directly. Partial blocks, and blocks with a scale or in another byte order, are converted through
 * floats. */
static uint64_t
ggml_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct tensor *codes = d->w->part[CODES];
    const struct dtype_facts *f = dtype_facts(codes->dtype);
    struct ggml_room *room = d->room;
    if (in_rows(codes->dtype))
        return decode_row(d, at, count, y);
    uint64_t cut = at % f->elems, whole = count / f->elems;
    const uint8_t *x = decoding_bytes(d, CODES, block_at(codes, at));
    bool careful = d->w->part[SCALE] || codes->big_endian;
    if (!careful && cut == 0 && whole != 0) {
        kernels_block(d->k, codes->dtype, d->to, y, x, (size_t)whole);
        return whole * f->elems;
    }
    uint64_t blocks = 1;
    if (careful)
        blocks = num_min(num_ceil_div(cut + count, f->elems), STEP / f->elems);
    uint64_t n = num_min(count, blocks * f->elems - cut);
    if (codes->big_endian) {
        memcpy(room->swapped, x, (size_t)blocks * f->bytes);
        ggml_block_swap(codes->dtype, room->swapped, (size_t)blocks);
        x = room->swapped;
    }
    d->k->block_f32[codes->dtype](room->v, x, (size_t)blocks);
    if (d->w->part[SCALE] && !d->plain)
        apply_scale(d, at, room->v + cut, (size_t)n);
    kernels_round(d->k, d->to, y, room->v + cut, (size_t)n);
    return n;
}

static void
ggml_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    snprintf(buf, SCHEME_DETAIL, "%s%s", dtype_name(w->part[CODES]->dtype), w->part[SCALE] ? " with scale" : "");
}

static void
ggml_variant(const struct weight *w, char buf[SCHEME_WORD])
{
    str_lower(buf, SCHEME_WORD, dtype_name(w->part[CODES]->dtype));
}

static void
ggml_grid(const struct weight *w, struct weight_grid *g)
{
    static const struct weight_grid grids[] = {
        { .codes = GRID_INT, .bits = 4, .group = 32, .scale = DTYPE_F16, .exact = true }, { .codes = GRID_AFFINE, .bits = 4, .group = 32, .scale = DTYPE_F16 },
        { .codes = GRID_INT, .bits = 5, .group = 32, .scale = DTYPE_F16, .exact = true }, { .codes = GRID_AFFINE, .bits = 5, .group = 32, .scale = DTYPE_F16 },
        { .codes = GRID_INT, .bits = 8, .group = 32, .scale = DTYPE_F16, .exact = true },
        { .codes = GRID_AFFINE, .bits = 4, .group = 32, .scale = DTYPE_F32 }, { .codes = GRID_AFFINE, .bits = 5, .group = 32, .scale = DTYPE_F32 },
        { .codes = GRID_E2M1, .bits = 4, .group = 32, .scale = DTYPE_F8_E8M0, .plus_zero = true, .exact = true },
        { .codes = GRID_E2M1, .bits = 4, .group = 16, .scale = DTYPE_F8_E4M3, .plus_zero = true },
    };
    static const enum dtype types[] = { DTYPE_Q4_0, DTYPE_Q4_1, DTYPE_Q5_0, DTYPE_Q5_1, DTYPE_Q8_0, DTYPE_Q4_K, DTYPE_Q5_K,
        DTYPE_MXFP4, DTYPE_NVFP4 };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i] == w->part[CODES]->dtype && !w->part[CODES]->big_endian)
            *g = grids[i];
    g->second = w->part[SCALE];
    g->late = w->part[SCALE] != NULL;
    uint64_t n = 1;
    if (w->part[SCALE])
        n = shape_dim(&w->part[SCALE]->shape, 0);
    if ((n != 1 && (w->shape.rank != 3 || n != shape_dim(&w->shape, 0))) || (w->part[SCALE] && w->part[SCALE]->big_endian))
        *g = (struct weight_grid){ 0 };
}

/* The shape is known; only the encoding is not. */
static bool
fit_unknown(struct table_match *f, struct weight *w, struct err *err)
{
    (void)f, (void)err;
    w->vague = false;
    return true;
}

static void
describe_unknown(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct tensor *t = w->part[CODES];
    bool several = false;
    const char *names = NULL;
    if (t->dtype == DTYPE_UNKNOWN)
        names = dtype_ggml_claimants(t->ggml_id, &several);
    const struct dtype_facts *f = dtype_facts(t->dtype);
    if (names)
        snprintf(buf, SCHEME_DETAIL, "type %" PRIu32 ": %s%s", t->ggml_id, names, several ? " of different forks" : "");
    else if (f->fork)
        snprintf(buf, SCHEME_DETAIL, "%stype %" PRIu32 ": %s of %s", t->big_endian ? "big-endian " : "", t->ggml_id, f->name,
            f->fork);
    else
        snprintf(buf, SCHEME_DETAIL, "ggml type %" PRIu32, t->ggml_id);
}

/* Returns true if the container gives the type a name. */
static bool
is_named(const struct table_match *f)
{
    return f->codes->type_name != NULL;
}

static void
describe_named(const struct weight *w, char buf[SCHEME_DETAIL])
{
    snprintf(buf, SCHEME_DETAIL, "%s", w->part[CODES]->type_name);
}

/* Returns true unless the type is one of a fork in a big-endian file: no fork writes these. */
static bool
is_decoded(const struct table_match *f)
{
    return !f->codes->big_endian || !dtype_facts(f->codes->dtype)->fork;
}

#define BLOCKS DTYPE_SET([DTYPE_SCALARS ... DTYPE_UNDECODED - 1] = true)
#define FORKS DTYPE_SET([DTYPE_FORKS ... DTYPE_UNKNOWN] = true)

const struct scheme ggml_schemes[] = {
    {
        .code = "gguf",
        .name = "GGUF",
        ROWS({ .codes = ".weight", .dtypes = IS(NVFP4), .becomes = ".weight", WITH(COMPANION(".scale", IS(F32), OPTIONAL, SCALE, .part = SCALE), OR(".weight.scale"),
            COMPANION(".input_scale", ANY, OPTIONAL, ACTIVATION)) },
            { .codes = "", .dtypes = IS(NVFP4), .becomes = "", WITH(COMPANION(".scale", IS(F32), OPTIONAL, SCALE, .part = SCALE),
            COMPANION(".input_scale", ANY, OPTIONAL, ACTIVATION)) },
            { .codes = "", .dtypes = BLOCKS, .becomes = "", .is = is_decoded }),
        .fit = ggml_fit,
        .need = { NEED_RUN, NEED_RUN, NEED_AGAIN },
        .run = ggml_run,
        .room = sizeof(struct ggml_room),
        .decode = ggml_decode,
        .describe = ggml_describe,
        .variant = ggml_variant,
        .grid = ggml_grid,
    }, {
        .code = "unknown-type",
        .name = "type",
        .ask = "safetensors has no such type: save the tensor as another type, or leave it out with --drop",
        ROWS({ .codes = "", .dtypes = IS(UNKNOWN), .becomes = "", .is = is_named }),
        .fit = fit_unknown,
        .describe = describe_named,
    }, {
        .code = "gguf-unknown",
        .name = "GGUF",
        ROWS({ .codes = "", .dtypes = FORKS, .becomes = "" }),
        .fit = fit_unknown,
        .describe = describe_unknown,
    },
    { 0 },
};
