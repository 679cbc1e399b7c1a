/* Symmetric integers of a weight [out, in] with a scale for each row, of ModelSlim and Gemma; both store scales in F32:
 *
 *                       codes                           P.weight_scale  also
 *     modelslim-w8a8    P.weight I8 [out, in]           [out, 1]        P.weight_offset F32 [out, 1], zeros
 *     modelslim-w4a8    P.weight I8 [out/2, in]         [out, 1]        the same, and P.scale_bias F32 [out, 1] or [out, 16]
 *     gemma-8bit        P.weight I8 [out, in]           [out, 1]        P.input_activation_scale, P.output_activation_scale F32 [], 0:
 *     gemma-4bit        P.weight U8 [out, in/2]         [out, 1]        the loader expects them, and 0 quantizes no activations
 *
 * A byte of modelslim-w4a8 has two rows, the even one in the low half, in two's complement; one of gemma-4bit has two columns, the
 * even one in the low half, plus 8. scale_bias is 8 times the sum of a row's values, for a kernel with unsigned codes; of inputs that
 * servers divide among devices (o_proj, down_proj) for each sixteenth of the row.
 *
 * The scale is the largest magnitude of the row / 127 or 7: kernel/encode_int.h. It is a number of the weight's type, to which
 * transformers rounds Gemma's scales before it multiplies. Sources: msmodelslim ir/api/impl/int_quantization.py and
 * core/quant_service/modelslim_v1/save/ascendv1.py; transformers integrations/gemma_quant.py, which only decodes.
 */
#include "encode/table.h"

#include <string.h>

#include "base/num.h"
#include "encode/groups.h"
#include "encode/solve.h"
#include "kernel/encode_int.h"

enum rows_kind { SCALES, OFFSETS, BIASES, CODES };
enum { PARTS_OF_BIAS = 16 };

struct rows_numbers {
    unsigned bits;
    bool modelslim;
};

struct rows_own {
    struct int_rule rule;
    uint32_t biases;                    /* parts of a row in scale_bias */
    uint8_t kind[ENCODE_PARTS];
};

static const struct rows_numbers *
numbers_of(const struct encoding *e)
{
    return e->encoder->numbers;
}

/* Returns true if a byte has codes of two rows. */
static bool
is_paired(const struct encoding *e)
{
    return numbers_of(e)->bits == 4 && numbers_of(e)->modelslim;
}

/* Returns true for a module whose inputs servers divide. */
static bool
is_divided(const struct encoding *e)
{
    static const char *const before[] = { "up_proj", "gate_proj", "q_proj", "k_proj", "v_proj", "w1", "w3" };
    static const char *const names[] = { "down_proj", "o_proj", "w2" };
    bool divided = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        divided = divided || memmem(e->weight.name, e->weight.name_len, names[i], strlen(names[i]));
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        divided = divided && !memmem(e->weight.name, e->weight.name_len, before[i], strlen(before[i]));
    return divided && e->cols % PARTS_OF_BIAS == 0;
}

static bool
rows_add(struct encoding *e, enum rows_kind kind, const char *suffix, enum dtype dtype, uint64_t rows, uint64_t cols, uint32_t elems,
    uint32_t grain, struct err *err)
{
    struct rows_own *own = e->own;
    const uint64_t dim[2] = { rows, cols };
    own->kind[e->nparts] = (uint8_t)kind;
    return (kind == CODES ? groups_codes : groups_part)(e, suffix, dtype, dim, 2, elems, grain, err);
}

/* Adds a scale of activations that is 0. */
static bool
add_zero(struct encoding *e, const char *suffix, struct err *err)
{
    static const uint8_t zero[4];
    if (!groups_part(e, suffix, DTYPE_F32, NULL, 0, 0, sizeof zero, err))
        return false;
    e->part[e->nparts - 1].bytes = zero;
    return true;
}

static bool
add_parts(struct encoding *e, struct err *err)
{
    const struct rows_numbers *n = numbers_of(e);
    const struct rows_own *own = e->own;
    const uint32_t cols = (uint32_t)e->cols;
    if (!rows_add(e, SCALES, ".weight_scale", DTYPE_F32, e->rows, 1, cols, 4, err))
        return false;
    if (n->modelslim && !rows_add(e, OFFSETS, ".weight_offset", DTYPE_F32, e->rows, 1, cols, 4, err))
        return false;
    if (own->biases != 0 && !rows_add(e, BIASES, ".scale_bias", DTYPE_F32, e->rows, own->biases, cols, 4 * own->biases, err))
        return false;
    if (!n->modelslim && (!add_zero(e, ".input_activation_scale", err) || !add_zero(e, ".output_activation_scale", err)))
        return false;
    if (is_paired(e))
        return rows_add(e, CODES, ".weight", DTYPE_I8, e->rows / 2, cols, 2 * cols, cols, err);
    if (n->bits == 4)
        return rows_add(e, CODES, ".weight", DTYPE_U8, e->rows, cols / 2, cols, cols / 2, err);
    return rows_add(e, CODES, ".weight", DTYPE_I8, e->rows, cols, cols, cols, err);
}

static enum encode_fit
rows_fit(struct encoding *e, const struct encode_options *options, struct err *err)
{
    static const struct groups_choice choice = { .symmetric = true };
    const bool paired = is_paired(e);
    uint32_t none;
    enum encode_fit fit = groups_fit(e, options, &choice, &none, err);
    if (fit != ENCODE_YES)
        return fit;
    if (e->cols > ENCODE_FLOATS / 2)
        e->why = "rows longer than 65536 elements";
    else if (paired && e->rows % 2 != 0)
        e->why = "number of rows is not a multiple of 2";
    else if (numbers_of(e)->bits == 4 && e->cols % 8 != 0)
        e->why = "row length is not a multiple of 8";
    if (e->why)
        return ENCODE_NO;
    struct rows_own *own = e->own = encode_alloc(e, sizeof *own, err);
    if (!own)
        return ENCODE_FAIL;
    *own = (struct rows_own){ .rule = { groups_dtype(e), numbers_of(e)->bits, false } };
    if (paired)
        own->biases = is_divided(e) ? PARTS_OF_BIAS : 1;
    return add_parts(e, err) ? ENCODE_YES : ENCODE_FAIL;
}

/* Finds the scale of the row at x, and its codes as fields in q unless that is NULL. */
static bool
find_row(const struct encoding *e, const struct encode_run *run, const float *x, uint64_t row, struct int_group *g, uint8_t *q,
    struct err *err)
{
    const struct rows_own *own = e->own;
    const size_t cols = (size_t)e->cols;
    if (e->exact) {
        const struct solve_int how = { own->rule.bits, false, -(1 << (own->rule.bits - 1)), DTYPE_F32 };
        struct solve_block b;
        solve_begin(&b, e, run, x, cols, row * cols);
        return solve_int(&b, &how, g, q);
    }
    encode_int_absmax.find(g, x, cols, &own->rule);
    if (!groups_scale_fits(e, g->scale, own->rule.dtype, x, cols, row * cols, err))
        return false;
    if (q)
        encode_int_absmax.codes(q, x, cols, g, &own->rule);
    return true;
}

/* Writes the scale_bias of a row. */
static uint8_t *
put_biases(const struct encoding *e, const struct int_group *g, const uint8_t *q, uint8_t *y)
{
    const uint32_t parts = ((const struct rows_own *)e->own)->biases;
    const size_t n = (size_t)e->cols / parts;
    for (uint32_t p = 0; p < parts; p++, q += n) {
        int64_t sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += q[i];
        sum -= 8 * (int64_t)n;
        y += groups_store(y, DTYPE_F32, (float)((double)sum * 8 * (double)g->scale));
    }
    return y;
}

/* Writes the codes of a row, which are fields in q, to the bytes of its grain. */
static void
put_codes(const struct encoding *e, const uint8_t *q, uint64_t row, uint8_t *y)
{
    const size_t cols = (size_t)e->cols;
    if (!is_paired(e) && numbers_of(e)->bits == 4) {
        encode_int_pack(y, q, cols, 4);
        return;
    }
    for (size_t i = 0; i < cols; i++) {
        if (!is_paired(e))
            y[i] = q[i] ^ 0x80;
        else if (row % 2 == 0)
            y[i] = q[i] ^ 8;
        else
            y[i] |= (uint8_t)((q[i] ^ 8) << 4);
    }
}

/* Reports the values that the codes of a row decode to. */
static void
compare_row(const struct encoding *e, const struct encode_run *run, const float *x, uint64_t row, const struct int_group *g, const uint8_t *q)
{
    const size_t cols = (size_t)e->cols;
    run->kernels->codes8_f32(run->back, q, 0, cols, &(const struct codes8){ &g->zero, &g->scale, cols, false, false });
    run->compare(run->of, row * cols, x, run->back, cols);
}

static bool
rows_encode(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const enum rows_kind kind = ((const struct rows_own *)e->own)->kind[part];
    const bool paired = kind == CODES && is_paired(e);
    const uint64_t rows = paired ? 2 * count : count;
    const size_t cols = (size_t)e->cols, size = kind == CODES && numbers_of(e)->bits == 4 && !paired ? cols / 2 : cols;
    if (kind == OFFSETS) {
        memset(y, 0, count * 4);
        return true;
    }
    if (paired)
        first *= 2;
    for (uint64_t i = 0; i < rows; i++) {
        const float *x = run->x + i * cols;
        uint8_t *q = (uint8_t *)(run->back + ENCODE_FLOATS / 2);       /* values for comparison need less than the first half */
        struct int_group g;
        if (!find_row(e, run, x, first + i, &g, q, err))
            return false;
        if (kind == SCALES) {
            y += groups_store(y, DTYPE_F32, g.scale);
        } else if (kind == BIASES) {
            y = put_biases(e, &g, q, y);
        } else {
            put_codes(e, q, first + i, y);
            if (run->compare)
                compare_row(e, run, x, first + i, &g, q);
            y += paired && i % 2 == 0 ? 0 : size;
        }
    }
    return true;
}

static const struct rows_numbers w8a8 = { 8, true }, w4a8 = { 4, true }, gemma8 = { 8, false }, gemma4 = { 4, false };

#define ROWS(code, label_, numbers_) { .name = code, .label = label_, .held = KEEPS_CODES, .type = DTYPE_UNKNOWN, .numbers = &numbers_, \
    .fit = rows_fit, .encode = rows_encode, .exact.solve = rows_encode }

const struct encoder encode_by_rows[] = {
    ROWS("modelslim-w8a8", "ModelSlim W8A8_DYNAMIC", w8a8),
    ROWS("modelslim-w4a8", "ModelSlim W4A8_DYNAMIC", w4a8),
    ROWS("gemma-8bit", "Gemma INT8", gemma8),
    ROWS("gemma-4bit", "Gemma INT4", gemma4),
    { .name = NULL },
};
