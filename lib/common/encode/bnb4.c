/* bitsandbytes NF4 and FP4, in the layout that scheme/bnb4.c reads. For a weight X of n elements in B blocks:
 *
 *     X                                     [ceil(n / 2), 1] U8     two codes a byte, the high nibble first
 *     X.absmax                              [B] F32, or nested U8   bnb4_nested.h
 *     X.quant_map                           [16] F32
 *     X.nested_absmax, X.nested_quant_map   [ceil(B / 256)], [256] F32
 *     X.quant_state.bitsandbytes__nf4       U8, JSON; or __fp4
 *
 * The formula is in kernel/encode_bnb.h. The companions are in the order of QuantState.as_dict (bitsandbytes functional.py).
 *
 * Double quantization subtracts the mean of all absmax values. The JSON of the quant state contains that mean, so the weight
 * is read once before the output is laid out.
 */
#include "encode/table.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "encode/bnb4_nested.h"
#include "encode/solve_nf4.h"
#include "kernel/bnb_maps.h"
#include "kernel/encode_bnb.h"

enum bnb4_rule { NF4, FP4, FP4_CPU };
enum { CODES, ABSMAX, QUANT_MAP, NESTED_ABSMAX, MINUS_ZERO = 8 };

struct bnb4_form {
    enum bnb4_rule rule;
    bool nested;
};

struct bnb4_encoding {
    uint64_t blocksize, blocks;
    struct bnb4_sum sum;
    float offset;
};

static const struct bnb4_form *
form(const struct encoding *e)
{
    return e->encoder->numbers;
}

static const struct bnb4_encoding *
own(const struct encoding *e)
{
    return e->own;
}

/* --- parts */

static bool
take_blocksize(const struct encoding *e, const struct encode_options *options, uint64_t *blocksize, struct err *err)
{
    uint64_t n = options->group_size;
    if (n == 0)
        n = 64;
    *blocksize = n;
    return encode_plain(e, options, true, err) && ((n >= 32 && n <= 4096 && (n & (n - 1)) == 0)
        || err_set(err, ERR_USAGE, "--group-size %llu: %s supports powers of two from 32 to 4096",
            (unsigned long long)n, e->encoder->label));
}

static const char *
quant_type(const struct encoding *e)
{
    if (form(e)->rule == NF4)
        return "nf4";
    return "fp4";
}

/* Returns PyTorch's name of the weight's type. */
static const char *
dtype_word(const struct encoding *e)
{
    if (e->weight.dtype == DTYPE_BF16)
        return "bfloat16";
    if (e->weight.dtype == DTYPE_F16)
        return "float16";
    return "float32";
}

/* Adds the last part. Its text is final unless finish_parts() replaces it. */
static bool
add_state(struct encoding *e, struct err *err)
{
    struct str text = { 0 };
    str_format(&text, "{\"quant_type\": \"%s\", \"blocksize\": %u, \"dtype\": \"%s\", \"shape\": [", quant_type(e),
        (unsigned)own(e)->blocksize, dtype_word(e));
    for (uint32_t i = 0; i < e->weight.shape.rank; i++)
        str_format(&text, "%s%llu", i != 0 ? ", " : "", (unsigned long long)shape_dim(&e->weight.shape, i));
    str_text(&text, "]");
    if (form(e)->nested) {
        str_format(&text, ", \"nested_blocksize\": %d, \"nested_dtype\": \"float32\", \"nested_offset\": ", BNB4_NESTED);
        bnb4_add_number(&text, own(e)->offset);
    }
    str_text(&text, "}");
    uint8_t *bytes = NULL;
    if (!text.failed)
        bytes = encode_alloc(e, text.len, err);
    const uint64_t len = text.len;
    struct encode_part *part = NULL;
    if (bytes)
        part = encode_add_part(e, e->weight.name_len, form(e)->rule == NF4 ? ".quant_state.bitsandbytes__nf4"
            : ".quant_state.bitsandbytes__fp4", DTYPE_U8, &len, 1, err);
    if (part) {
        memcpy(bytes, text.p, text.len);
        part->bytes = bytes;
    } else if (text.failed) {
        err_memory(err, text.len);
    }
    str_clear(&text);
    return part != NULL;
}

static bool
add_map(struct encoding *e, const char *suffix, const uint32_t *map, uint64_t n, struct err *err)
{
    struct encode_part *part = encode_add_part(e, e->weight.name_len, suffix, DTYPE_F32, &n, 1, err);
    if (part)
        part->bytes = (const uint8_t *)map;
    return part != NULL;
}

static bool
add_absmax(struct encoding *e, struct err *err)
{
    struct encode_part *part = encode_add_part(e, e->weight.name_len, ".absmax", form(e)->nested ? DTYPE_U8 : DTYPE_F32,
        &own(e)->blocks, 1, err);
    if (!part)
        return false;
    if (!form(e)->nested) {
        part->elems = part->most = (uint32_t)own(e)->blocksize;
        return true;
    }
    part->grain = BNB4_NESTED;              /* bnb4_encode() reads the elements */
    part->down = 1;
    part->across = (uint32_t)e->bands.cols;
    return true;
}

static bool
add_nested(struct encoding *e, struct err *err)
{
    uint64_t n = num_ceil_div(own(e)->blocks, BNB4_NESTED);
    struct encode_part *part = encode_add_part(e, e->weight.name_len, ".nested_absmax", DTYPE_F32, &n, 1, err);
    if (!part)
        return false;
    part->down = 1;
    part->across = (uint32_t)e->bands.cols;
    return add_map(e, ".nested_quant_map", bnb_dynamic_map, 256, err);
}

static enum encode_fit
bnb4_fit(struct encoding *e, const struct encode_options *options, struct err *err)
{
    uint64_t numel = e->rows * e->cols, dim[] = { num_ceil_div(numel, 2), 1 };
    struct bnb4_encoding *b = encode_alloc(e, sizeof *b, err);
    if (!b || !take_blocksize(e, options, &b->blocksize, err))
        return ENCODE_FAIL;
    if (e->weight.shape.rank != 2) {
        e->why = "not the weight of a linear layer";
        return ENCODE_NO;
    }
    b->blocks = num_ceil_div(numel, b->blocksize);
    b->offset = 0.0f;
    e->own = b;
    struct encode_part *codes = encode_add_part(e, e->weight.name_len, "", DTYPE_U8, dim, 2, err);
    if (!codes)
        return ENCODE_FAIL;
    codes->codes = true;
    codes->elems = (uint32_t)b->blocksize;
    codes->grain = codes->elems / 2;
    if (form(e)->nested) {
        b->sum = bnb4_sum_of(b->blocks);
        e->nregions = b->sum.regions;
        e->nfacts = 1 + b->sum.floats;
        e->bands = (struct encode_bands){ .rows = 1, .cols = BNB4_NESTED * b->blocksize };
    }
    return encode_yes_if(add_absmax(e, err)
        && add_map(e, ".quant_map", form(e)->rule == NF4 ? bnb_nf4_map : bnb_fp4_map, 16, err)
        && (!form(e)->nested || add_nested(e, err)) && add_state(e, err));
}

/* --- absmax */

/* Returns the absmax of a block of n elements, of which `most` is the largest: that of a short last block of the weight is at least
 * ENCODE_BNB_LEAST. */
static float
absmax_of(const struct encoding *e, size_t n, float most)
{
    if (n % own(e)->blocksize != 0 && most < ENCODE_BNB_LEAST)
        return ENCODE_BNB_LEAST;
    return most;
}

enum { AT_ONCE = ENCODE_FLOATS / 32 };

_Static_assert(AT_ONCE * sizeof(float) <= ENCODE_ROOM, "the absmax of a buffer fit in the scratch memory");

/* Computes the absmax of blocks [first, first + count), at most AT_ONCE of them. */
static bool
read_absmax(const struct encoding *e, const struct encode_run *run, uint64_t first, uint64_t count, float *absmax,
    struct err *err)
{
    uint64_t blocksize = own(e)->blocksize, numel = e->rows * e->cols;
    uint64_t at = first * blocksize, end = num_min(numel, (first + count) * blocksize);
    for (uint64_t n; at < end; at += n) {
        n = num_min(end - at, ENCODE_FLOATS);
        const struct encode_extent blocks = { at, 1, (size_t)n, (size_t)blocksize };
        if (!run->largest(run->of, &blocks, absmax, run->x, err))
            return false;
        absmax += num_ceil_div(n, blocksize);
        absmax[-1] = absmax_of(e, (size_t)n, absmax[-1]);
    }
    return true;
}

/* --- mean of all absmax values */

static bool
bnb4_survey(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts, struct err *err)
{
    uint64_t first, end;
    float *absmax = run->room;
    struct bnb4_lanes lanes = { 0 };
    bnb4_sum_region(&own(e)->sum, region, &first, &end);
    for (uint64_t n; first < end; first += n) {
        n = num_min(end - first, ENCODE_FLOATS / own(e)->blocksize);
        if (!read_absmax(e, run, first, n, absmax, err))
            return false;
        bnb4_sum_add(&own(e)->sum, &lanes, absmax, (size_t)n);
    }
    bnb4_sum_keep(&own(e)->sum, &lanes, region, facts + 1);
    return true;
}

static void
bnb4_settle(const struct encoding *e, float *facts)
{
    facts[0] = bnb4_sum_mean(&own(e)->sum, facts + 1);
}

/* Keeps the mean and discards its sums. */
static bool
finish_parts(struct encoding *e, const float *facts, struct err *err)
{
    struct bnb4_encoding *b = e->own;
    b->offset = facts[0];
    e->nfacts = 0;
    e->nparts--;
    return add_state(e, err);
}

/* --- encoding */

/* Computes the absmax of blocks [first, first + count) as a reader will decode them. That takes all blocks that share a
 * nested absmax with them. run->back serves as the buffer for elements. */
static bool
stored_absmax(const struct encoding *e, const struct encode_run *run, uint64_t first, uint64_t count, float *absmax,
    struct err *err)
{
    struct encode_run other = *run;
    other.x = run->back;
    for (uint64_t end = first + count, n; first < end; first += n, absmax += n) {
        float all[BNB4_NESTED];
        uint8_t codes[BNB4_NESTED];
        uint64_t from = first - first % BNB4_NESTED, of = num_min(BNB4_NESTED, own(e)->blocks - from);
        n = num_min(end, from + of) - first;
        if (!read_absmax(e, &other, from, of, all, err))
            return false;
        float mean = own(e)->offset, most = bnb4_nested_absmax(all, (size_t)of, mean);
        bnb4_nested_codes(codes, all, (size_t)of, mean, most);
        bnb4_nested_values(absmax, codes + (first - from), (size_t)n, mean, most);
    }
    return true;
}

static bool
encode_codes(const struct encoding *e, const struct encode_run *run, uint64_t first, uint8_t *y, struct err *err)
{
    static const uint32_t *const maps[] = { [NF4] = bnb_nf4_map, [FP4] = bnb_fp4_map, [FP4_CPU] = bnb_fp4_map };
    const struct kernels *k = run->kernels;
    kernel_encode_bnb4 *const kernel[] = { [NF4] = k->encode_nf4, [FP4] = k->encode_fp4, [FP4_CPU] = k->encode_fp4_cpu };
    float *absmax = run->room, map[16];
    kernel[form(e)->rule](y, absmax, run->x, run->n, (size_t)own(e)->blocksize);
    if (!run->compare)
        return true;
    if (form(e)->nested && !stored_absmax(e, run, first, num_ceil_div(run->n, own(e)->blocksize), absmax, err))
        return false;
    memcpy(map, maps[form(e)->rule], sizeof map);
    const struct codes4 c = { .map = map, .scales = absmax, .group = (size_t)own(e)->blocksize };
    if (form(e)->rule != NF4)
        map[MINUS_ZERO] = -0.0f;
    k->codes4_f32(run->back, y, 0, run->n, &c);
    run->compare(run->of, first * own(e)->blocksize, run->x, run->back, run->n);
    return true;
}

static void
encode_scales(const struct encoding *e, const struct encode_run *run, uint64_t count, uint8_t *y)
{
    const size_t last = (size_t)count - 1;
    float absmax = absmax_of(e, run->n, run->most[last]);
    memcpy(y, run->most, last * sizeof absmax);
    memcpy(y + last * sizeof absmax, &absmax, sizeof absmax);
}

/* Encodes grains of either nested part: 256 codes, or their absmax. */
static bool
encode_nested(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count,
    uint8_t *y, struct err *err)
{
    float absmax[BNB4_NESTED], most;
    for (uint64_t end = first + count; first < end; first++, y += e->part[part].grain) {
        uint64_t block = first * BNB4_NESTED, n = num_min(BNB4_NESTED, own(e)->blocks - block);
        if (!read_absmax(e, run, block, n, absmax, err))
            return false;
        most = bnb4_nested_absmax(absmax, (size_t)n, own(e)->offset);
        if (part == NESTED_ABSMAX)
            memcpy(y, &most, sizeof most);
        else
            bnb4_nested_codes(y, absmax, (size_t)n, own(e)->offset, most);
    }
    return true;
}

static bool
bnb4_encode(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    if (part == CODES)
        return encode_codes(e, run, first, y, err);
    if (form(e)->nested)
        return encode_nested(e, run, part, first, count, y, err);
    encode_scales(e, run, count, y);
    return true;
}

/* --- exact, of plain NF4 */

enum { SOLVED = 2048 };                 /* elements that are solved together, or the elements of a block */

/* Solves one block of n elements: sets its absmax, and its codes unless y is NULL. */
static bool
solve_block(const struct encoding *e, const struct encode_run *run, const float *x, size_t n, uint64_t at, float *absmax, uint8_t *y)
{
    uint8_t *q = (uint8_t *)run->back;          /* one a byte */
    struct solve_block b;
    solve_begin(&b, e, run, x, n, at);
    if (!solve_nf4(&b, absmax, q))
        return false;
    for (size_t i = 0; y && i < n; i += 2)
        y[i / 2] = (uint8_t)(q[i] << 4 | (i + 1 < n ? q[i + 1] : 0));
    return true;
}

/* Solves whole blocks of a dense weight by a kernel, with the largest magnitude as the scale, as solve_nf4() tries it first. Returns the number of
 * blocks before the first one that it leaves to solve_block(). */
static size_t
solve_dense(const struct encoding *e, const struct encode_run *run, const float *x, size_t nblocks, float *absmax, uint8_t *y)
{
    const enum exact_level level = e->exact->level;
    if (e->exact->source.codes != EXACT_DENSE || (level != EXACT_F32 && level != EXACT_BF16))
        return 0;
    return solve_found(run, run->kernels->same_nf4(absmax, y, x, nblocks, (size_t)own(e)->blocksize,
        level == EXACT_BF16 ? DTYPE_BF16 : DTYPE_F32));
}

/* Solves blocks of n elements. */
static bool
solve_blocks(const struct encoding *e, const struct encode_run *run, const float *x, size_t n, uint64_t at, float *absmax, uint8_t *y)
{
    const size_t size = (size_t)own(e)->blocksize;
    for (size_t i = 0; i < n; i += size, absmax++) {
        size_t held = solve_dense(e, run, x + i, (n - i) / size, absmax, y ? y + i / 2 : NULL);
        i += held * size;
        absmax += held;
        if (i < n && !solve_block(e, run, x + i, num_min(size, n - i), at + i, absmax, y ? y + i / 2 : NULL))
            return false;
    }
    return true;
}

/* Solves blocks, and decodes them while they are in the cache. */
static bool
bnb4_solve(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const uint64_t size = own(e)->blocksize, at = first * size, step = num_max(size, SOLVED);
    const bool writes = part == CODES && run->compare;
    float *absmax = run->room, map[16];
    memcpy(map, bnb_nf4_map, sizeof map);
    (void)count, (void)err;
    for (size_t i = 0, n; i < run->n; i += n) {
        uint8_t *to = NULL;
        if (writes)
            to = y + i / 2;
        n = (size_t)num_min(run->n - i, step);
        if (!solve_blocks(e, run, run->x + i, n, at + i, absmax, to))
            return false;
        if (part == ABSMAX)
            memcpy(y + i / size * sizeof *absmax, absmax, (size_t)num_ceil_div(n, size) * sizeof *absmax);
        if (!writes)
            continue;
        run->kernels->codes4_f32(run->back, to, 0, n, &(struct codes4){ .map = map, .scales = absmax, .group = (size_t)size });
        run->compare(run->of, at + i, run->x + i, run->back, n);
    }
    return true;
}

static const struct bnb4_form nf4 = { NF4, false }, fp4 = { FP4, false }, fp4_cpu = { FP4_CPU, false }, nf4_nested = { NF4, true },
    fp4_nested = { FP4, true }, fp4_cpu_nested = { FP4_CPU, true };

#define BNB4(code, text, form) .name = code, .label = "bitsandbytes " text, .held = KEEPS_CODES, .type = DTYPE_UNKNOWN, .numbers = &form, \
    .fit = bnb4_fit, .encode = bnb4_encode
#define PLAIN(code, text, form) { BNB4(code, text, form) }
#define EXACT(code, text, form, bits_) { BNB4(code, text, form), \
    .grid = { .groups = GROUPS_ALIKE, .most_group = 64, .bits = bits_ }, .exact.solve = bnb4_solve }
#define NESTED(code, text, form) { BNB4(code, text ", double-quantized", form), \
    .survey = { .region = bnb4_survey, .settle = bnb4_settle, .finish_parts = finish_parts } }

/* "fp4" rounds like the CUDA kernel of bitsandbytes, "fp4-cpu" like its CPU kernel. */
const struct encoder encode_bnb4[] = {
    EXACT("nf4", "NF4", nf4, 4500), EXACT("bnb-nf4", "NF4", nf4, 0),
    PLAIN("fp4", "FP4", fp4), PLAIN("bnb-fp4", "FP4", fp4), PLAIN("fp4-cpu", "FP4 of the CPU", fp4_cpu),
    NESTED("nf4-double-quant", "NF4", nf4_nested), NESTED("bnb-nf4-double-quant", "NF4", nf4_nested),
    NESTED("fp4-double-quant", "FP4", fp4_nested), NESTED("bnb-fp4-double-quant", "FP4", fp4_nested),
    NESTED("fp4-cpu-double-quant", "FP4 of the CPU", fp4_cpu_nested),
    { .name = NULL },
};
