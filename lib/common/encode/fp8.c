/* FP8: codes in the shape of the weight, and scales that multiply them.
 *
 *     X                float8 codes, the weight's shape
 *     X_scale_inv      [ceil(R / 128), ceil(C / 128)], preceded by the number of matrices if the rank is three: F32, or E8M0
 *     X_scale          [R, 1] or [1], of the weight's own type: compressed-tensors
 *
 * A is the largest magnitude of the elements that share a scale, max the largest code; quotients are clamped to max.
 *
 *     multiplied       k = (1 / A) * max, code of x * k, 1 / k is stored: all in F32, each step rounded. transformers 5.23
 *                      writes max / A, and torch computes a number divided by a tensor this way
 *     divided          s = A / max, code of x / s; all in F32: DeepSeek's own tools, and more
 *     powers of two    divided, with s rounded up to a power of two
 *     compressed       s = A / max and x / s, each rounded to the weight's type; if s is 0, the type's epsilon;
 *                      a zero point of 0 is added, so no quotient is -0
 *
 * A block of zeros has the scale 1, as does a block too small to be divided. Sources: transformers
 * integrations/finegrained_fp8.py; DeepSeek-V3 inference/kernel.py; compressed-tensors quantization/utils/helpers.py.
 */
#include "encode/table.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "dtype/bfloat16.h"
#include "dtype/float8.h"
#include "dtype/half.h"
#include "encode/solve_fp8.h"

enum { FP8_BLOCK = 128, FP8_GRAIN = 32, FP8_REGION = 1 << 20 };
enum { FP8_CODES, FP8_SCALES };                 /* parts */
enum fp8_share { FP8_BLOCKS, FP8_ROWS, FP8_TENSOR };
enum fp8_rule { FP8_DIVIDED, FP8_MULTIPLIED, FP8_POWER, FP8_COMPRESSED };

struct fp8_form {
    enum dtype codes;
    enum fp8_share share;
    enum fp8_rule rule;
};

struct fp8_encoding {
    uint64_t rows, grid_rows, grid_cols;        /* of one matrix */
};

static inline const struct fp8_form *
fp8_form(const struct encoding *e)
{
    return e->encoder->numbers;
}

static inline const struct fp8_encoding *
fp8_own(const struct encoding *e)
{
    return e->own;
}

/* Returns the target of an exact encoding. */
static struct solve_fp8
exact_of(const struct encoding *e)
{
    static const enum solve_fp8_share shares[] = { [FP8_BLOCKS] = SOLVE_FP8_TILES, [FP8_ROWS] = SOLVE_FP8_ROWS,
        [FP8_TENSOR] = SOLVE_FP8_WEIGHT };
    struct solve_fp8 how = { .codes = fp8_form(e)->codes, .scale = e->part[FP8_SCALES].dtype, .share = shares[fp8_form(e)->share] };
    if (fp8_form(e)->share == FP8_BLOCKS) {
        how.rows = fp8_own(e)->rows;
        how.grid_rows = fp8_own(e)->grid_rows;
        how.grid_cols = fp8_own(e)->grid_cols;
    }
    return how;
}

/* --- parts */

static bool
add_parts(struct encoding *e, enum dtype scales, const uint64_t *dim, uint32_t rank, struct err *err)
{
    struct encode_part *codes = &e->part[e->nparts++];
    uint32_t grain = FP8_GRAIN;
    if (fp8_form(e)->share == FP8_ROWS)
        grain = (uint32_t)e->cols;
    *codes = (struct encode_part){ .name = e->weight.name, .name_len = e->weight.name_len, .dtype = fp8_form(e)->codes,
        .shape = e->weight.shape, .grain = grain, .elems = grain, .codes = true };
    bool named = e->options.short_name && fp8_form(e)->rule != FP8_COMPRESSED && encode_module(e) != e->weight.name_len;
    struct encode_part *part;
    if (named)
        part = encode_add_part(e, encode_module(e), ".scale", scales, dim, rank, err);
    else
        part = encode_add_part(e, e->weight.name_len, fp8_form(e)->rule == FP8_COMPRESSED ? "_scale" : "_scale_inv", scales,
            dim, rank, err);
    if (part && fp8_form(e)->share == FP8_ROWS)
        part->elems = part->most = (uint32_t)e->cols;
    return part != NULL;
}

static bool
fit_blocks(struct encoding *e, struct err *err)
{
    struct fp8_encoding *f = encode_alloc(e, sizeof *f, err);
    uint32_t rank = e->weight.shape.rank;
    if (!f)
        return false;
    f->rows = shape_dim(&e->weight.shape, rank - 2);
    f->grid_rows = num_ceil_div(f->rows, FP8_BLOCK);
    f->grid_cols = num_ceil_div(e->cols, FP8_BLOCK);
    const uint64_t dim[] = { e->rows / f->rows, f->grid_rows, f->grid_cols };
    e->own = f;
    e->nregions = dim[0] * dim[1];
    e->nfacts = e->nregions * dim[2];
    e->bands = (struct encode_bands){ FP8_BLOCK, e->cols, f->rows };
    if (!add_parts(e, fp8_form(e)->rule == FP8_POWER ? DTYPE_F8_E8M0 : DTYPE_F32, dim + 3 - rank, rank, err))
        return false;
    e->part[FP8_SCALES].down = e->part[FP8_SCALES].across = FP8_BLOCK;
    return true;
}

/* Returns the type in which a compressed-tensors weight is divided. */
static enum dtype
arithmetic(const struct encoding *e)
{
    if (e->options.scale_type != 0)
        return (enum dtype)(e->options.scale_type - 1);
    if (e->weight.dtype == DTYPE_BF16 || e->weight.dtype == DTYPE_F16)
        return e->weight.dtype;
    return DTYPE_F32;
}

static enum encode_fit
fit_form(struct encoding *e, const struct encode_options *options, struct err *err)
{
    const uint64_t dim[] = { e->rows, 1 };
    uint32_t rank = e->weight.shape.rank;
    if (!encode_plain(e, options, false, err))
        return ENCODE_FAIL;
    if (fp8_form(e)->share == FP8_BLOCKS ? rank < 2 || rank > 3 : rank != 2) {
        e->why = "not a matrix";
        return ENCODE_NO;
    }
    if (fp8_form(e)->share == FP8_BLOCKS)
        return encode_yes_if(fit_blocks(e, err));
    if (fp8_form(e)->share == FP8_ROWS && e->cols > ENCODE_FLOATS) {
        e->why = "rows longer than 131072 elements";
        return ENCODE_NO;
    }
    if (fp8_form(e)->share == FP8_TENSOR) {
        e->nfacts = e->nregions = num_ceil_div(e->rows * e->cols, FP8_REGION);
        e->bands = (struct encode_bands){ .rows = 1, .cols = FP8_GRAIN };
    }
    bool ok;
    if (fp8_form(e)->share == FP8_ROWS)
        ok = add_parts(e, arithmetic(e), dim, 2, err);
    else
        ok = add_parts(e, arithmetic(e), dim + 1, 1, err);
    return encode_yes_if(ok);
}

static enum encode_fit
fp8_fit(struct encoding *e, const struct encode_options *options, struct err *err)
{
    enum encode_fit fit = fit_form(e, options, err);
    if (fit != ENCODE_YES || !e->exact)
        return fit;
    const struct solve_fp8 how = exact_of(e);
    solve_fp8_fit(e, &how);
    return fit;
}

/* --- scales */

static float
in_type(float v, enum dtype type)
{
    if (type == DTYPE_BF16)
        return bfloat16_to_float(bfloat16_of_float(v));
    if (type == DTYPE_F16)
        return half_to_float(half_of_float(v));
    return v;
}

/* Returns the smallest power of two that is not below s. */
static float
power_above(float s)
{
    uint32_t bits = bits_of_float(s < FLT_MIN ? FLT_MIN : s);
    return float_of_bits((bits + 0x7FFFFFu) & 0x7F800000u);
}

/* Returns the divisor or multiplier for elements of this largest magnitude. */
static float
factor_of(const struct encoding *e, float most)
{
    float max = fp8_form(e)->codes == DTYPE_F8_E4M3 ? 448.0f : 57344.0f, s;
    enum dtype type = arithmetic(e);
    switch (fp8_form(e)->rule) {
    case FP8_COMPRESSED:
        s = in_type(most / max, type);
        if (s != 0.0f)
            return s;
        if (type == DTYPE_BF16)
            return 0x1p-7f;
        if (type == DTYPE_F16)
            return 0x1p-10f;
        return 0x1p-23f;
    case FP8_MULTIPLIED:
        s = 1.0f / most * max;
        if (most > 0.0f && s <= FLT_MAX)
            return s;
        return 1.0f;
    default:
        s = most / max;
        if (!(s > 0.0f))
            return 1.0f;
        if (fp8_form(e)->rule == FP8_POWER)
            return power_above(s);
        return s;
    }
}

/* Returns the stored scale, which multiplies the codes. */
static float
scale_of(const struct encoding *e, float factor)
{
    if (fp8_form(e)->rule == FP8_MULTIPLIED)
        return 1.0f / factor;
    return factor;
}

/* Returns the larger of two magnitudes; NaN is the largest. */
static float
larger(float a, float b)
{
    if (bits_of_float(a) > bits_of_float(b))
        return a;
    return b;
}

/* Surveys a band of blocks, which is a row of them: most[i] is the largest magnitude of block i, and in the end its factor. */
static bool
survey_band(const struct encoding *e, const struct encode_run *run, uint64_t band, float *most, struct err *err)
{
    float *found = run->room;
    uint64_t row = band / fp8_own(e)->grid_rows * fp8_own(e)->rows + band % fp8_own(e)->grid_rows * FP8_BLOCK;
    uint64_t rows = num_min(FP8_BLOCK, fp8_own(e)->rows - row % fp8_own(e)->rows);
    uint64_t cols = num_min(e->cols, ENCODE_MOVED), step = num_min(ENCODE_MOVED / cols, FP8_BLOCK), groups;
    for (uint64_t done = 0; done < rows; done += step)
        for (uint64_t c = 0, n; c < e->cols; c += n) {
            n = num_min(cols, e->cols - c);
            uint64_t count = n < e->cols ? 1 : num_min(step, rows - done);
            const struct encode_extent at = { (row + done) * e->cols + c, (size_t)count, (size_t)n, FP8_BLOCK };
            if (!run->largest(run->of, &at, found, run->x, err))
                return false;
            groups = num_ceil_div(n, FP8_BLOCK);
            for (uint64_t r = 0; r < count; r++)
                for (uint64_t i = 0; i < groups; i++)
                    most[c / FP8_BLOCK + i] = larger(most[c / FP8_BLOCK + i], found[r * groups + i]);
        }
    for (uint64_t i = 0; i < fp8_own(e)->grid_cols; i++)
        most[i] = factor_of(e, most[i]);
    return true;
}

static bool
survey_run(const struct encoding *e, const struct encode_run *run, uint64_t first, float *most, struct err *err)
{
    uint64_t end = num_min(first + FP8_REGION, e->rows * e->cols);
    for (uint64_t n; first < end; first += n) {
        float found;
        n = num_min(end - first, ENCODE_FLOATS);
        const struct encode_extent at = { first, 1, (size_t)n, (size_t)n };
        if (!run->largest(run->of, &at, &found, run->x, err))
            return false;
        *most = larger(*most, found);
    }
    return true;
}

static bool
fp8_survey(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts, struct err *err)
{
    const struct solve_fp8 how = exact_of(e);
    if (e->exact)
        return solve_fp8_survey(e, &how, run, region, facts, err);
    if (fp8_form(e)->share == FP8_BLOCKS)
        return survey_band(e, run, region, facts + region * fp8_own(e)->grid_cols, err);
    return survey_run(e, run, region * FP8_REGION, facts + region, err);
}

/* Leaves the factor of a tensor at facts[0]. */
static void
fp8_settle(const struct encoding *e, float *facts)
{
    if (e->exact || fp8_form(e)->share != FP8_TENSOR)
        return;
    for (uint64_t i = 1; i < e->nfacts; i++)
        facts[0] = larger(facts[0], facts[i]);
    facts[0] = factor_of(e, facts[0]);
}

/* --- encoding */

/* Returns the factor of an element, and reduces *n to the number of elements that share it. With factors by row, x holds the row. */
static float
factor_at(const struct encoding *e, const struct encode_run *run, uint64_t row, uint64_t col, const float *x, uint64_t *n)
{
    const struct fp8_encoding *own = fp8_own(e);
    float most;
    switch (fp8_form(e)->share) {
    case FP8_TENSOR:
        return run->facts[0];
    case FP8_ROWS:
        *n = e->cols;
        run->kernels->encode_absmax(&most, x, (size_t)e->cols, (size_t)e->cols);
        return factor_of(e, most);
    default:
        *n = num_min(*n, num_min(FP8_BLOCK - col % FP8_BLOCK, e->cols - col));
        row = row / own->rows * own->grid_rows + row % own->rows / FP8_BLOCK;
        return run->facts[row * own->grid_cols + col / FP8_BLOCK];
    }
}

static void
encode_codes(const struct encoding *e, const struct encode_run *run, uint64_t first, uint8_t *y)
{
    enum dtype type = fp8_form(e)->codes;
    struct encode_fp8 how = { .multiplies = fp8_form(e)->rule == FP8_MULTIPLIED, .adds_zero = fp8_form(e)->rule == FP8_COMPRESSED,
        .quotient = fp8_form(e)->rule == FP8_COMPRESSED ? arithmetic(e) : DTYPE_F32 };
    uint64_t row = first / e->cols, col = first % e->cols;
    for (uint64_t done = 0, n; done < run->n; done += n) {
        n = run->n - done;
        how.scale = factor_at(e, run, row, col, run->x + done, &n);
        if ((col += n) == e->cols) {
            row++;
            col = 0;
        }
        float scale = scale_of(e, how.scale);
        (type == DTYPE_F8_E4M3 ? run->kernels->encode_e4m3 : run->kernels->encode_e5m2)(y + done, run->x + done, (size_t)n,
            &how);
        if (run->compare)
            run->kernels->fp8_f32(run->back + done, (size_t)n, &(const struct fp8_rows){ .dtype = type, .rows = 1,
                .cols = (size_t)n, .x = y + done, .scales = &scale, .scale_cols = (size_t)n });
    }
    if (run->compare)
        run->compare(run->of, first, run->x, run->back, run->n);
}

static void
store(uint8_t *y, enum dtype type, float scale)
{
    uint16_t half = type == DTYPE_BF16 ? bfloat16_of_float(scale) : half_of_float(scale);
    if (type == DTYPE_F8_E8M0)
        *y = (uint8_t)(bits_of_float(scale) >> 23);
    else if (type == DTYPE_F32)
        memcpy(y, &scale, sizeof scale);
    else
        memcpy(y, &half, sizeof half);
}

static bool
fp8_encode(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    (void)err;
    if (part == FP8_CODES) {
        encode_codes(e, run, first * e->part[FP8_CODES].elems, y);
        return true;
    }
    for (uint64_t i = 0; i < count; i++, y += e->part[part].grain) {
        float factor;
        if (fp8_form(e)->share == FP8_ROWS)
            factor = factor_of(e, run->most[i]);
        else
            factor = run->facts[first + i];
        store(y, e->part[part].dtype, scale_of(e, factor));
    }
    return true;
}

static bool
fp8_solve(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const struct solve_fp8 how = exact_of(e);
    (void)err;
    if (part == FP8_CODES)
        return solve_fp8_codes(e, &how, run, first * e->part[part].elems, y);
    return solve_fp8_scales(e, &how, run, first, count, y);
}

static bool
fp8_move(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y)
{
    const struct solve_fp8 how = exact_of(e);
    (void)count;
    return solve_fp8_move(e, &how, run, part == FP8_CODES, first * e->part[part].elems, y);
}

static bool
fp8_resolve(struct encoding *e, float *facts, struct exact_fail *fail)
{
    const struct solve_fp8 how = exact_of(e);
    e->solved = solve_fp8_resolve(e, &how, facts, fail);
    return e->solved;
}

static const struct fp8_form divided = { DTYPE_F8_E4M3, FP8_BLOCKS, FP8_DIVIDED }, fine_e5m2 = { DTYPE_F8_E5M2, FP8_BLOCKS, FP8_DIVIDED },
    multiplied = { DTYPE_F8_E4M3, FP8_BLOCKS, FP8_MULTIPLIED }, power = { DTYPE_F8_E4M3, FP8_BLOCKS, FP8_POWER },
    rows = { DTYPE_F8_E4M3, FP8_ROWS, FP8_COMPRESSED }, rows_e5m2 = { DTYPE_F8_E5M2, FP8_ROWS, FP8_COMPRESSED },
    tensor = { DTYPE_F8_E4M3, FP8_TENSOR, FP8_COMPRESSED }, tensor_e5m2 = { DTYPE_F8_E5M2, FP8_TENSOR, FP8_COMPRESSED };

/* Schemes by rows have fp8_survey() too, but no regions to survey. */
#define FP8(code, text, form) .name = code, .label = text, .held = KEEPS_CODES, .type = DTYPE_UNKNOWN, .numbers = &form, .fit = fp8_fit, \
    .survey = { .region = fp8_survey, .settle = fp8_settle }, .encode = fp8_encode, \
    .exact.solve = fp8_solve, .exact.resolve = fp8_resolve, .exact.move = fp8_move

const struct encoder encode_fp8[] = {
    { FP8("fp8", "FP8 E4M3 by blocks", multiplied), .grid.bits = 8004, .exact.offer = 7, .loaders.stacks = true, .survey.bands = true },
    { FP8("fp8-fine-grained", "FP8 E4M3 by blocks", multiplied), .loaders.stacks = true, .survey.bands = true },
    { FP8("fp8-division", "FP8 E4M3 by blocks, divided", divided), .loaders.stacks = true, .survey.bands = true },
    { FP8("fp8-e5m2", "FP8 E5M2 by blocks", fine_e5m2), .loaders.stacks = true, .survey.bands = true },
    { FP8("fp8-fine-grained-e5m2", "FP8 E5M2 by blocks", fine_e5m2), .loaders.stacks = true, .survey.bands = true },
    { FP8("fp8-ue8m0", "FP8 E4M3 by blocks with powers of two", power), .grid.bits = 8003, .exact.offer = 6, .loaders.stacks = true,
        .survey.bands = true },
    { FP8("fp8-per-channel", "FP8 E4M3 by rows", rows), .grid = { .bits = 8001, .types = true } },
    { FP8("fp8-per-channel-e5m2", "FP8 E5M2 by rows", rows_e5m2), .grid.types = true },
    { FP8("fp8-per-tensor", "FP8 E4M3 by tensors", tensor), .grid = { .bits = 8000, .types = true }, .loaders.fuses = true },
    { FP8("fp8-per-tensor-e5m2", "FP8 E5M2 by tensors", tensor_e5m2), .grid.types = true },
    { .name = NULL },
};
