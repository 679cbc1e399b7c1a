/* ggml block types: a tensor is its blocks in order, and any run of blocks can be decoded independently (the formulas are in
 * kernel/). NVFP4 has a second level: X.scale, F32 [1] or one per matrix of stacked experts, multiplies the decoded value;
 * X.input_scale does not affect the weight. Source: llama.cpp, llama-model.cpp. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/str.h"
#include "dtype/ggml_block.h"
#include "scheme/table.h"

enum { CODES, SCALE };          /* parts */

/* Returns the number of elements that share a scale. The weight must have one. */
static uint64_t
per_matrix(const struct weight *w)
{
    return *(const uint64_t *)w->own;
}

static bool
fit(struct table_match *f, struct weight *w, struct err *err)
{
    const struct tensor *codes = w->part[CODES], *scale = w->part[SCALE];
    const struct shape *s = &codes->shape;
    uint64_t experts = s->rank >= 3 ? shape_dim(s, s->rank - 3) : 1, numel, total;
    if (!scale)
        return true;
    if (scale->shape.rank > 1 || !shape_numel(&scale->shape, &numel) || !shape_numel(s, &total)
        || (numel != 1 && numel != experts) || numel == 0)
        return table_wrong(scale, codes, err, "[1] or [%" PRIu64 "]", experts);
    uint64_t *own = claims_alloc(f->claims, sizeof *own, err);
    if (!own)
        return false;
    *own = numel == 1 ? total : shape_dim(s, s->rank - 1) * shape_dim(s, s->rank - 2);
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

static void
run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct tensor *codes = w->part[CODES];
    if (part == CODES) {
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

/* Decodes whole blocks directly. Partial blocks, and those with a scale or in another byte order, are converted through
 * floats. */
static uint64_t
decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct tensor *codes = d->w->part[CODES];
    const struct dtype_facts *f = dtype_facts(codes->dtype);
    struct ggml_room *room = d->room;
    uint64_t cut = at % f->elems, whole = count / f->elems;
    const uint8_t *x = decoding_bytes(d, CODES, block_at(codes, at));
    bool careful = d->w->part[SCALE] || codes->big_endian;
    if (!careful && cut == 0 && whole != 0) {
        kernels_block(d->k, codes->dtype, d->to, y, x, (size_t)whole);
        return whole * f->elems;
    }
    uint64_t blocks = careful ? num_min(num_ceil_div(cut + count, f->elems), STEP / f->elems) : 1;
    uint64_t n = num_min(count, blocks * f->elems - cut);
    if (codes->big_endian) {
        memcpy(room->swapped, x, (size_t)blocks * f->bytes);
        ggml_block_swap(codes->dtype, room->swapped, (size_t)blocks);
        x = room->swapped;
    }
    d->k->block_f32[codes->dtype](room->v, x, (size_t)blocks);
    if (d->w->part[SCALE])
        apply_scale(d, at, room->v + cut, (size_t)n);
    kernels_round(d->k, d->to, y, room->v + cut, (size_t)n);
    return n;
}

static void
describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    snprintf(buf, SCHEME_DETAIL, "%s%s", dtype_name(w->part[CODES]->dtype), w->part[SCALE] ? " with scale" : "");
}

static void
variant(const struct weight *w, char buf[SCHEME_WORD])
{
    str_lower(buf, SCHEME_WORD, dtype_name(w->part[CODES]->dtype));
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
    snprintf(buf, SCHEME_DETAIL, "ggml type %" PRIu32, w->part[CODES]->ggml_id);
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

#define BLOCKS DTYPE_SET([DTYPE_SCALARS ... DTYPE_UNKNOWN - 1] = true)

const struct scheme ggml_schemes[] = {
    {
        .code = "gguf",
        .name = "GGUF",
        ROWS({ .codes = ".weight", .dtypes = IS(NVFP4), .becomes = ".weight", .bare = true, .companions = {
            COMPANION(".scale", IS(F32), OPTIONAL, SCALE, .part = SCALE), OR(".weight.scale"),
            COMPANION(".input_scale", ANY, OPTIONAL, ACTIVATION) } },
            { .codes = "", .dtypes = IS(NVFP4), .becomes = "", .bare = true, .companions = {
            COMPANION(".scale", IS(F32), OPTIONAL, SCALE, .part = SCALE) } },
            { .codes = "", .dtypes = BLOCKS, .becomes = "", .bare = true }),
        .fit = fit,
        .need = { NEED_RUN, NEED_RUN },
        .run = run,
        .room = sizeof(struct ggml_room),
        .decode = decode,
        .describe = describe,
        .variant = variant,
    }, {
        .code = "unknown-type",
        .name = "type",
        .ask = "safetensors has no such type: save the tensor as another type",
        ROWS({ .codes = "", .dtypes = IS(UNKNOWN), .becomes = "", .bare = true, .is = is_named }),
        .fit = fit_unknown,
        .describe = describe_named,
    }, {
        .code = "gguf-unknown",
        .name = "GGUF",
        ROWS({ .codes = "", .dtypes = IS(UNKNOWN), .becomes = "", .bare = true }),
        .fit = fit_unknown,
        .describe = describe_unknown,
    },
    { 0 },
};
