/* Small floats with a scale for each block of columns, of compressed-tensors (ct), ModelOpt, MiniMax and AutoRound; the weight is
 * [out, in]:
 *
 *                     codes                           P.weight_scale          of the tensor
 *     mxfp4           P.weight_packed U8 [out, in/2]  U8 [out, in/32]
 *     modelopt-mxfp4  P.weight U8 [out, in/2]         U8 [out, in/32]
 *     mxfp8           P.weight F8_E4M3 [out, in]      U8 [out, in/32]
 *     nvfp4           P.weight_packed U8 [out, in/2]  F8_E4M3 [out, in/16]    P.weight_global_scale F32 [1]
 *     modelopt-nvfp4  P.weight U8 [out, in/2]         F8_E4M3 [out, in/16]    P.weight_scale_2 F32 []
 *     minimax-mxfp8   P.weight F8_E4M3 [out, in]      U8 [out, in/32], called P.weight_scale_inv
 *     nvfp4-e5m3      P.weight_packed U8 [out, in/2]  U8 [out, in/16], unsigned E5M3
 *
 * and, as targets of exact transcoding only:
 *
 *     deepseek-fp4    P.weight I8 [out, in/2]         P.scale F8_E8M0 [out, in/32]
 *     gptoss-mxfp4    X_blocks U8 [E, out, in/32, 16] X_scales U8 [E, out, in/32]
 *     mlx-mxfp4       P.weight U32 [out, in/8]        P.scales U8 [out, in/32]
 *     mlx-mxfp8       P.weight U32 [out, in/4]        P.scales U8 [out, in/32]
 *     mlx-nvfp4       P.weight U32 [out, in/8]        P.scales U8 [out, in/16]        P.global_scale F32 [], unless it is 2688
 *
 * The even column is in the low nibble. A is the largest magnitude of the block, T of the tensor, D the weight's type:
 *
 *     MXFP4, MXFP8    the scale is a power of two: kernel/encode_mx.h
 *     NVFP4, ct       g = RN_D(RN_D(1/T) * 2688), 1 if that is infinite; s = E4M3(g * RN_D(A/6)), 0.125 if that is 0;
 *                     code of x / RN32(s/g)
 *     NVFP4, ModelOpt s2 = T/2688; s = E4M3(A/(6 s2)), 1 if A/(6 s2) is 0, at least 2^-9; code of x / (s s2)
 *
 *     MXFP8, MiniMax  s = 2^ceil(log2(1/(448/A))), 1 if A is 0; code of x * (1/s), which keeps the sign of 0
 *     NVFP4-E5M3      s = E5M3(A * RN32(1/6)), at most 114688; code of x / s
 *
 * Sources: compressed-tensors quantization/utils/helpers.py, generate_gparam and calculate_qparams; ModelOpt
 * torch/quantization/qtensor/nvfp4_tensor.py and mxfp4_tensor.py; transformers integrations/finegrained_fp8.py, Fp8Quantize, with
 * blocks of 1 x 32; auto-round data_type/nvfp.py, nvfp4_v2, and export/export_to_autoround/qlinear_fp.py.
 */
#include "encode/table.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "dtype/float8.h"
#include "encode/groups.h"
#include "encode/move.h"
#include "encode/solve_mx.h"
#include "kernel/encode_mx.h"
#include "kernel/rounded.h"

enum mx_kind { MXFP4, MXFP8, NVFP4, FP4_E5M3 };
enum mx_form { CT, MODELOPT, DEEPSEEK, GPTOSS, MLX, MINIMAX };

/* Parameters of an encoder. */
struct mx_numbers {
    enum mx_kind kind;
    enum mx_form form;
};

enum { BLOCK_MX = 32, BLOCK_NV = 16 };

/* Code of a block's scale, and the factor of its codes. */
struct mx_block {
    uint8_t code;
    float scale;
};

static const struct mx_numbers *
numbers_of(const struct encoding *e)
{
    return e->encoder->numbers;
}

static uint32_t
block_of(const struct encoding *e)
{
    if (numbers_of(e)->kind == NVFP4 || numbers_of(e)->kind == FP4_E5M3)
        return BLOCK_NV;
    return BLOCK_MX;
}

/* Names and types of the parts in a form. */
static const struct mx_names {
    const char *second, *scale, *codes;
    enum dtype of_scale, of_codes;
} names[] = {
    [CT] = { ".weight_global_scale", ".weight_scale", ".weight_packed", DTYPE_U8, DTYPE_U8 },
    [MODELOPT] = { ".weight_scale_2", ".weight_scale", ".weight", DTYPE_U8, DTYPE_U8 },
    [DEEPSEEK] = { NULL, ".scale", ".weight", DTYPE_F8_E8M0, DTYPE_I8 },
    [GPTOSS] = { NULL, "_scales", "_blocks", DTYPE_U8, DTYPE_U8 },
    [MLX] = { ".global_scale", ".scales", ".weight", DTYPE_U8, DTYPE_U32 },
    [MINIMAX] = { NULL, ".weight_scale_inv", ".weight", DTYPE_U8, DTYPE_F8_E4M3 },
};

static enum solve_nvfp4_reader
reader_of(const struct encoding *e)
{
    enum mx_form form = numbers_of(e)->form;
    if (form == CT)
        return SOLVE_NVFP4_DIVIDES;
    if (form == MLX)
        return SOLVE_NVFP4_OVER;
    return SOLVE_NVFP4_MULTIPLIES;
}

static bool
add_parts(struct encoding *e, struct err *err)
{
    const struct mx_numbers *n = numbers_of(e);
    const struct mx_names *f = &names[n->form];
    uint32_t block = block_of(e), elems = groups_elems(e, block);
    const uint64_t one = 1;
    uint64_t scale[3], codes[3];
    const uint32_t rank = groups_dims(e, e->cols / block, scale);
    const bool eight = n->kind == MXFP8, e4m3 = n->kind == NVFP4 && n->form != MLX;
    groups_dims(e, e->cols / ((n->form == MLX ? 4 : 1) * (eight ? 1 : 2)), codes);
    if (n->kind == NVFP4 && e->exact && n->form != MLX && !solve_nvfp4_add_input(e, reader_of(e), n->form == CT, err))
        return false;
    if (n->kind == NVFP4 && f->second && !groups_part(e, f->second, DTYPE_F32, &one, n->form == CT ? 1 : 0, 0, 4, err))
        return false;
    if (!groups_part(e, f->scale, e4m3 ? DTYPE_F8_E4M3 : f->of_scale, scale, rank, block, 1, err))
        return false;
    if (eight && n->form == CT)
        return groups_codes(e, ".weight", DTYPE_F8_E4M3, codes, rank, elems, elems, err);
    return groups_codes(e, f->codes, f->of_codes, codes, rank, elems, eight ? elems : elems / 2, err);
}

/* Stacked experts X [E, out, in] keep their dimensions. */
static enum encode_fit
fit_stack(struct encoding *e, const struct encode_options *options, struct err *err)
{
    const uint64_t dim[4] = { e->weight.shape.rank == 3 ? shape_dim(&e->weight.shape, 0) : 0,
        shape_dim(&e->weight.shape, e->weight.shape.rank - 2), e->cols / BLOCK_MX, BLOCK_MX / 2 };
    if (!encode_plain(e, options, false, err))
        return ENCODE_FAIL;
    if (e->weight.shape.rank != 3)
        e->why = "not stacked experts";
    else
        e->why = "row length is not a multiple of the group size";
    if (e->weight.shape.rank != 3 || e->cols % BLOCK_MX != 0)
        return ENCODE_NO;
    for (unsigned p = 0; p < 2; p++) {
        struct encode_part *part = encode_add_part(e, e->weight.name_len, p == 0 ? "_scales" : "_blocks", DTYPE_U8, dim, 3 + p,
            err);
        if (!part)
            return ENCODE_FAIL;
        part->elems = BLOCK_MX;
        if (p == 0)
            part->grain = 1;
        else
            part->grain = BLOCK_MX / 2;
        part->codes = p == 1;
    }
    return ENCODE_YES;
}

static enum encode_fit
mx_fit(struct encoding *e, const struct encode_options *options, struct err *err)
{
    const struct groups_choice choice = { .group = block_of(e), .symmetric = true, .stacks = numbers_of(e)->form == MLX };
    uint32_t block;
    if (numbers_of(e)->form == GPTOSS)
        return fit_stack(e, options, err);
    enum encode_fit fit = groups_fit(e, options, &choice, &block, err);
    if (fit != ENCODE_YES)
        return fit;
    if (groups_elems(e, block) > ENCODE_FLOATS) {
        e->why = "rows longer than 131072 elements";
        return ENCODE_NO;
    }
    if (numbers_of(e)->kind == NVFP4 && e->exact && !solve_nvfp4_fit(e))
        return ENCODE_NO;
    if (numbers_of(e)->kind == NVFP4 && !e->exact)
        groups_absmax_fit(e);
    e->bands = (struct encode_bands){ .rows = 1, .cols = groups_elems(e, block) };
    return encode_yes_if(add_parts(e, err));
}

/* --- NVFP4 */

static float
ct_global(enum dtype d, float most)
{
    float tiny = rounded_tiny(d), g = rounded(d, rounded(d, 1.0f / (most > tiny ? most : tiny)) * 2688.0f);
    if (isfinite(g))
        return g;
    return 1.0f;
}

/* Returns the value of weight_global_scale or weight_scale_2. */
static float
tensor_scale(const struct encoding *e, const float *facts)
{
    if (numbers_of(e)->form == MODELOPT)
        return facts[0] / 2688.0f;
    return ct_global(groups_dtype(e), facts[0]);
}

static struct mx_block
nvfp4_ct(enum dtype d, float most, float global)
{
    float s = global * rounded(d, most / 6.0f);
    uint8_t code = e4m3_of_float(s > 448 ? 448 : s);
    struct mx_block b = { code != 0 ? code : 0x20, 0 };
    b.scale = float8_to_float(DTYPE_F8_E4M3, b.code) / global;
    return b;
}

/* For a tensor of zeros the product is 0, whatever the scale of the block. */
static struct mx_block
nvfp4_modelopt(float most, float scale_2)
{
    float s = 0.0f;
    if (scale_2 > 0)
        s = most / (6.0f * scale_2);
    if (s == 0)
        s = 1.0f;
    struct mx_block b = { e4m3_of_float(s > 448 ? 448 : s < 0x1p-9f ? 0x1p-9f : s), 0 };
    b.scale = float8_to_float(DTYPE_F8_E4M3, b.code) * scale_2;
    return b;
}

/* --- scales of unsigned E5M3: 5 bits of exponent with a bias of 15, 3 of mantissa */

enum { E5M3_MOST = 0xFE };

static float
e5m3_value(uint8_t code)
{
    unsigned e = code >> 3, m = code & 7;
    return e != 0 ? ldexpf((float)(8 + m), (int)e - 18) : ldexpf((float)m, -17);
}

/* Returns the code nearest to v, which is not negative; ties to even. */
static uint8_t
e5m3_of(float v)
{
    if (!(v < e5m3_value(E5M3_MOST)))
        return isnan(v) ? 0xFF : E5M3_MOST;
    if (v < 0x1p-14f)
        return (uint8_t)rintf(v * 0x1p17f);
    uint32_t bits = bits_of_float(v), rest = bits & 0xFFFFF;
    uint32_t code = (bits >> 20) - ((127u - 15) << 3);
    return (uint8_t)(code + (rest > 0x80000 || (rest == 0x80000 && (code & 1) != 0)));
}

/* --- all */

/* Returns the number that a code of a scale without a second one denotes. */
static float
scale_value(const struct encoding *e, uint8_t code)
{
    return numbers_of(e)->kind == FP4_E5M3 ? e5m3_value(code) : float8_e8m0(code);
}

static struct mx_block
mx_find(const struct encoding *e, const struct encode_run *run, const float *x)
{
    const struct mx_numbers *n = numbers_of(e);
    enum dtype d = groups_dtype(e);
    float most = run->kernels->encode_most(x, block_of(e));
    struct mx_block b = { 0 };
    if (n->kind == NVFP4)
        return n->form == MODELOPT ? nvfp4_modelopt(most, tensor_scale(e, run->facts))
            : nvfp4_ct(d, most, tensor_scale(e, run->facts));
    if (n->kind == FP4_E5M3)
        b.code = e5m3_of(most * (1.0f / 6.0f));
    else if (n->form == MINIMAX)
        b.code = most > 0 ? encode_mx_ceil(1.0f / (448.0f / most)) : 127;
    else if (n->form == MODELOPT)
        b.code = encode_mx_ceil(most / 6.0f);
    else
        b.code = encode_mx_nearest(most, n->kind == MXFP8 ? 8 : 2, d);
    b.scale = scale_value(e, b.code);
    return b;
}

/* Encodes one block of MXFP8. The reciprocal of a power of two is exact. */
static void
put_e4m3(const struct encode_run *run, uint8_t *y, float *back, const float *x, const struct mx_block *b, enum dtype d, bool multiplies)
{
    run->kernels->encode_e4m3(y, x, BLOCK_MX, &(const struct encode_fp8){ .scale = multiplies ? 1.0f / b->scale : b->scale,
        .multiplies = multiplies, .adds_zero = !multiplies, .quotient = multiplies ? DTYPE_F32 : d });
    if (back)
        run->kernels->fp8_f32(back, BLOCK_MX, &(const struct fp8_rows){ .dtype = DTYPE_F8_E4M3, .rows = 1,
            .cols = BLOCK_MX, .x = y, .scales = &b->scale, .scale_cols = BLOCK_MX });
}

static void
put_codes(const struct encoding *e, const struct encode_run *run, uint64_t first, uint8_t *y)
{
    const struct mx_numbers *n = numbers_of(e);
    const enum dtype d = groups_dtype(e);
    uint32_t block = block_of(e);
    struct encode_e2m1 how = { .quotient = n->kind == MXFP4 && n->form != MODELOPT ? d : DTYPE_F32,
        .rule = n->kind == MXFP4 && n->form == MODELOPT ? E2M1_DOWN : E2M1_PLAIN, .plus_zero = n->kind == NVFP4 && n->form == MODELOPT };
    for (size_t i = 0; i < run->n; i += block) {
        struct mx_block b = mx_find(e, run, run->x + i);
        float *back = NULL;
        if (run->compare)
            back = run->back + i;
        how.scale = b.scale;
        if (n->kind == MXFP8)
            put_e4m3(run, y, back, run->x + i, &b, d, n->form == MINIMAX);
        else
            run->kernels->encode_e2m1(y, back, run->x + i, block, &how);
        y += n->kind == MXFP8 ? block : block / 2;
    }
    if (run->compare)
        run->compare(run->of, first, run->x, run->back, run->n);
}

static bool
mx_encode(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count,
    uint8_t *y, struct err *err)
{
    (void)err;
    if (part + 1 == e->nparts) {
        put_codes(e, run, first * e->part[part].elems, y);
        return true;
    }
    if (part + 2 != e->nparts) {
        groups_store(y, DTYPE_F32, tensor_scale(e, run->facts));
        return true;
    }
    for (uint64_t i = 0; i < count; i++)
        y[i] = mx_find(e, run, run->x + i * block_of(e)).code;
    return true;
}

/* --- exact */

static bool
solve_survey(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts, struct err *err)
{
    if (e->exact)
        return solve_nvfp4_survey(e, run, region, reader_of(e), facts, err);
    return groups_absmax(e, run, region, facts, err);
}

static void
solve_settle(const struct encoding *e, float *facts)
{
    if (!e->exact)
        groups_absmax_settle(e, facts);
}

/* Leaves the scale of the whole weight out if it is what MLX takes without one. */
static bool
mx_resolve(struct encoding *e, float *facts, struct exact_fail *fail)
{
    if (!solve_nvfp4_settle(e, reader_of(e), facts, fail))
        return false;
    if (numbers_of(e)->form == MLX && facts[0] == SOLVE_NVFP4_UNIT)
        memmove(e->part, e->part + 1, --e->nparts * sizeof *e->part);
    return true;
}

/* Solves a block of MXFP4 or MXFP8: sets its exponent, and the codes, one a byte. */
static bool
solve_powers(const struct encoding *e, const struct solve_block *b, int *t, uint8_t *q)
{
    const bool eight = numbers_of(e)->kind == MXFP8;
    if (!solve_mx_power(t, b, eight ? &solve_e4m3 : &solve_e2m1, -127, 127))
        return false;
    if (!eight)
        solve_mx_e2m1(q, b, ldexp(1, *t));
    for (size_t i = 0; eight && i < BLOCK_MX; i++)
        q[i] = e4m3_of_float(b->x[i] == 0 ? b->x[i] : (float)(solve_value(b, i) / ldexp(1, *t)));
    return true;
}

/* Sets the code of an E5M3 scale. Returns false if there is none. */
static bool
e5m3_is(float v, uint8_t *code)
{
    *code = v >= 0 ? e5m3_of(v) : 0xFF;
    return *code != 0xFF && e5m3_value(*code) == v && (v != 0 || !signbit(v));
}

/* Returns true if all values of a block are E2M1 codes times a scale. */
static bool
e2m1_holds(const struct solve_block *b, double scale)
{
    for (size_t i = 0; i < b->n; i++) {
        double twice = fabs(solve_value(b, i)) / scale * 2;
        bool holds = twice == 0 || twice == 1 || twice == 2 || twice == 3 || twice == 4 || twice == 6 || twice == 8 || twice == 12;
        if (!holds)
            return false;
    }
    return true;
}

/* Solves a block of NVFP4-E5M3: keeps the scale of the source, or takes the smallest one. */
static bool
solve_e5m3(const struct solve_block *b, uint8_t *scale, uint8_t *q)
{
    static const float codes[7] = { 6, 4, 3, 2, 1.5f, 1, 0.5f };
    size_t most = solve_most(b);
    double v = fabs(solve_value(b, most)), exact;
    bool hinted = b->source.codes == EXACT_E2M1 && !b->source.two && e5m3_is(solve_hint(b), scale), found;
    if (!solve_finite(b))
        return false;
    exact = hinted ? (double)e5m3_value(*scale) : 1;
    found = v == 0 || (hinted && exact > 0 && e2m1_holds(b, exact));
    if (v == 0 && !hinted)
        *scale = 0;
    solve_way(b, found && hinted ? EXACT_MOVED : EXACT_SEARCH);
    for (size_t i = 0; !found && i < 7; i++) {
        exact = v / (double)codes[i];
        found = exact == (double)(float)exact && e5m3_is((float)exact, scale) && *scale != 0 && e2m1_holds(b, exact);
    }
    if (!found)
        return solve_fail(b, EXACT_SPAN, most, (double)NAN);
    solve_mx_e2m1(q, b, (double)e5m3_value(*scale));
    return true;
}

/* Solves or moves a block: sets the code of its scale, and its codes as they are stored, unless y is NULL. */
static bool
solve_one(const struct encoding *e, const struct encode_run *run, const float *x, uint64_t at, uint8_t *scale, uint8_t *y)
{
    const enum mx_kind kind = numbers_of(e)->kind;
    struct solve_block b;
    uint8_t q[BLOCK_MX], p[BLOCK_MX / 2];
    int t = 0;
    solve_begin(&b, e, run, x, block_of(e), at);
    bool moved = kind == MXFP4 && solve_mx_move(p, &t, &b), powers = kind == MXFP4 || kind == MXFP8;
    bool solved = moved || (kind == NVFP4 && solve_nvfp4(&b, reader_of(e), run->facts[0], scale, q))
        || (kind == FP4_E5M3 && solve_e5m3(&b, scale, q)) || (powers && solve_powers(e, &b, &t, q));
    if (!solved)
        return false;
    if (powers)
        *scale = (uint8_t)(t + 127);
    if (y && (moved || kind == MXFP8))
        memcpy(y, moved ? p : q, kind == MXFP8 ? BLOCK_MX : BLOCK_MX / 2);
    else if (y)
        solve_mx_pack(y, q, block_of(e));
    return true;
}

/* Solves n blocks of a dense weight by a kernel. Returns the number of blocks before the first one that it leaves to solve_one(). */
static size_t
solve_dense(const struct encoding *e, const struct encode_run *run, const float *x, size_t n, uint8_t *scale, uint8_t *y)
{
    switch (numbers_of(e)->kind) {
    case MXFP4:
        return solve_mx_dense(e, run, x, n, scale, y, false);
    case MXFP8:
        return solve_mx_dense_e4m3(e, run, x, n, scale, y);
    case FP4_E5M3:
        return 0;
    default:
        return solve_nvfp4_dense(e, run, reader_of(e), x, n, scale, y ? y : run->room, false);
    }
}

/* Decodes n blocks as readers do, for comparison. `room` has space for n floats. */
static void
prove(const struct encoding *e, const struct encode_run *run, const uint8_t *scale, const uint8_t *y, size_t n, float *room, float *back)
{
    static const float map[16] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6 };
    const size_t block = block_of(e);
    for (size_t i = 0; i < n; i++)
        room[i] = numbers_of(e)->kind != NVFP4 ? scale_value(e, scale[i])
            : solve_nvfp4_value(reader_of(e), 1, float8_to_float(DTYPE_F8_E4M3, scale[i]), run->facts[0]);
    if (numbers_of(e)->kind == MXFP8)
        run->kernels->fp8_f32(back, n * block, &(struct fp8_rows){ .dtype = DTYPE_F8_E4M3, .rows = 1, .cols = n * block, .x = y,
            .scales = room, .scale_cols = block });
    else
        run->kernels->codes4_f32(back, y, 0, n * block, &(struct codes4){ map, NULL, room, block, true });
}

/* Blocks that are solved together, and decoded while they are in the cache. */
enum { AT_ONCE = 128 };

static bool
mx_solve(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const size_t block = block_of(e), size = numbers_of(e)->kind == MXFP8 ? block : block / 2, all = run->n / block;
    const bool codes = part + 1 == e->nparts, writes = codes && run->compare;
    const uint64_t at = first * e->part[part].elems;
    float *room = run->room;
    (void)err, (void)count;
    if (part + 2 < e->nparts) {
        groups_store(y, DTYPE_F32, run->facts[0]);
        return true;
    }
    for (size_t done = 0, n; done < all; done += n) {
        const float *x = run->x + done * block;
        uint8_t own[AT_ONCE], *scale = codes ? own : y + done, *to = writes ? y + done * size : NULL;
        n = (size_t)num_min(all - done, AT_ONCE);
        for (size_t i = 0; i < n; i++) {
            i += solve_dense(e, run, x + i * block, n - i, scale + i, to ? to + i * size : NULL);
            if (i < n && !solve_one(e, run, x + i * block, at + (done + i) * block, scale + i, to ? to + i * size : NULL))
                return false;
        }
        if (writes) {
            prove(e, run, scale, to, n, room, run->back);
            run->compare(run->of, at + done * block, x, run->back, n * block);
        }
    }
    return true;
}

/* Writes the codes of MXFP4, times the same scales, as E4M3. */
static bool
move_to_e4m3(const struct encoding *e, const struct encode_run *run, uint64_t at, uint8_t *y)
{
    struct move_all all;
    uint8_t table[16];
    int t;
    if (!move_e4m3(table, e, 0) || !move_take_all(&all, e, run, BLOCK_MX, y != NULL))
        return false;
    for (size_t i = 0; i < run->n / BLOCK_MX; i++)
        if (!move_power(&t, all.scale[i]))
            return false;
    if (!y)
        return true;
    run->kernels->bits_table(y, all.code, run->n, table);
    run->kernels->fp8_f32(run->back, run->n, &(struct fp8_rows){ .dtype = DTYPE_F8_E4M3, .rows = 1, .cols = run->n, .x = y,
        .scales = all.scale, .scale_cols = BLOCK_MX });
    move_prove(&all, e, run, at, BLOCK_MX);
    return true;
}

static bool
move_blocks(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y)
{
    enum mx_kind kind = numbers_of(e)->kind;
    size_t block = block_of(e);
    bool codes = part + 1 == e->nparts;
    struct move_nvfp4 m;
    (void)count;
    if (kind == NVFP4)
        move_nvfp4_begin(&m, e, reader_of(e), run->facts);
    else if (!move_is_e2m1(e) && !(kind == FP4_E5M3 && move_is_e2m1_any(e)))
        return false;
    if (kind == MXFP8 && codes)
        return move_to_e4m3(e, run, first * e->part[part].elems, y);
    for (size_t i = 0; i < run->n; i += block) {
        struct hint_pack pack;
        uint8_t code[BLOCK_MX / 2], scale;
        int t;
        if (!move_take(&pack, code, run->hints.pack, i, block))
            return false;
        bool moves = kind == NVFP4 ? move_nvfp4(&m, &pack, false, &scale)
            : kind == FP4_E5M3 ? e5m3_is(pack.scale, &scale) : move_power(&t, pack.scale);
        if (!moves)
            return false;
        if (y && !codes) {
            *y++ = kind == NVFP4 || kind == FP4_E5M3 ? scale : (uint8_t)(t + 127);
        } else if (y) {
            memcpy(y, code, block / 2);
            y += block / 2;
        }
    }
    return true;
}

static const struct mx_numbers mxfp4 = { MXFP4, CT }, mxfp8 = { MXFP8, CT }, nvfp4 = { NVFP4, CT },
    mxfp4_modelopt = { MXFP4, MODELOPT }, nvfp4_modelopt_row = { NVFP4, MODELOPT }, deepseek_fp4 = { MXFP4, DEEPSEEK },
    minimax_mxfp8 = { MXFP8, MINIMAX }, nvfp4_e5m3 = { FP4_E5M3, CT }, gptoss_mxfp4 = { MXFP4, GPTOSS }, mlx_mxfp4 = { MXFP4, MLX }, mlx_mxfp8 = { MXFP8, MLX }, mlx_nvfp4 = { NVFP4, MLX };

#define MX(code, label_, numbers_) .name = code, .label = label_, .held = KEEPS_CODES, .type = DTYPE_UNKNOWN, .numbers = &numbers_, .fit = mx_fit, \
    .encode = mx_encode, .exact.solve = mx_solve, .exact.move = move_blocks
#define OF_TENSOR .survey = { .region = solve_survey, .settle = solve_settle }, .exact.resolve = mx_resolve

const struct encoder encode_mx[] = {
    { MX("mxfp4", "compressed-tensors MXFP4", mxfp4), .exact.offer = 1 },
    { MX("mxfp8", "compressed-tensors MXFP8", mxfp8), .grid.bits = 8250, .exact.offer = 8 },
    { MX("nvfp4", "compressed-tensors NVFP4", nvfp4), .grid = { .bits = 4505, .two = true }, OF_TENSOR, .exact.offer = 3,
        .loaders.fuses = true },
    { MX("modelopt-mxfp4", "ModelOpt MXFP4", mxfp4_modelopt) },
    { MX("modelopt-nvfp4", "ModelOpt NVFP4", nvfp4_modelopt_row), .grid = { .bits = 4504, .two = true }, OF_TENSOR, .loaders.fuses = true },
    { MX("minimax-mxfp8", "MiniMax MXFP8", minimax_mxfp8) },
    { MX("nvfp4-e5m3", "NVFP4 with scales of E5M3", nvfp4_e5m3) },
    { .name = NULL },
};

#define EXACT(code, label_, numbers_) .name = code, .label = label_, .held = KEEPS_CODES, .type = DTYPE_UNKNOWN, .numbers = &numbers_, .fit = mx_fit, \
    .exact.solve = mx_solve, .exact.move = move_blocks

const struct encoder encode_mx_exact[] = {
    { EXACT("deepseek-fp4", "DeepSeek FP4", deepseek_fp4) },
    { EXACT("gptoss-mxfp4", "gpt-oss MXFP4", gptoss_mxfp4), .loaders = { .as_stored = true, .stacks = true } },
    { EXACT("mlx-mxfp4", "MLX MXFP4", mlx_mxfp4), .loaders.as_stored = true },
    { EXACT("mlx-mxfp8", "MLX MXFP8", mlx_mxfp8), .loaders.as_stored = true },
    { EXACT("mlx-nvfp4", "MLX NVFP4", mlx_nvfp4), .grid.two = true, OF_TENSOR, .loaders = { .no_input = true, .as_stored = true } },
    { .name = NULL },
};
