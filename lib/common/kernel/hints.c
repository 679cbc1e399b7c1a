#include "kernel/hints.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "dtype/float8.h"
#include "dtype/ggml_block.h"
#include "dtype/half.h"
#include "kernel/blocks.h"

static inline unsigned
code4(const struct codes4 *c, const uint8_t *x, size_t at)
{
    if ((at % 2 != 0) == c->low_first)
        return x[at / 2] >> 4;
    return x[at / 2] & 15;
}

static inline void
hints_fill(float *restrict y, float v, size_t n)
{
    for (; n >= 8; n -= 8, y += 8)
        for (int i = 0; i < 8; i++)
            y[i] = v;
    for (size_t i = 0; i < n; i++)
        y[i] = v;
}

/* Writes the number of its group for each of n elements, the first of which is number `first` of the row; 0 if of_group is NULL. */
static void
spread(float *restrict y, const float *of_group, size_t first, size_t n, size_t group)
{
    if (!of_group) {
        hints_fill(y, 0.0f, n);
        return;
    }
    if (group == 1) {
        memcpy(y, of_group, n * sizeof *y);
        return;
    }
    for (size_t left = group - first % group; n != 0; of_group++, left = group) {
        size_t now = (size_t)num_min(n, left);
        hints_fill(y, *of_group, now);
        y += now;
        n -= now;
    }
}

/* Subtracts the zero points of groups. */
static void
less_zeros(float *restrict y, const float *zeros, size_t first, size_t n, size_t group)
{
    for (size_t i = 0, left = group - first % group; zeros && i < n; i++) {
        y[i] -= *zeros;
        if (--left == 0) {
            left = group;
            zeros++;
        }
    }
}

/* --- packs */

/* Writes member by member: one copy of the struct would wait for the stores before it. */
static inline void
put_pack(float *y, uint64_t code, float scale, float zero)
{
    const uint32_t mark = HINT_MARK;
    store_le64((uint8_t *)y, code);
    y[2] = scale;
    y[3] = zero;
    memcpy(y + 4, &mark, sizeof mark);
}

/* Returns the low nibbles of eight bytes, two by two. */
static inline uint32_t
join_low(uint64_t v)
{
    v &= UINT64_C(0x0F0F0F0F0F0F0F0F);
    v = (v | v >> 4) & UINT64_C(0x00FF00FF00FF00FF);
    v = (v | v >> 8) & UINT64_C(0x0000FFFF0000FFFF);
    return (uint32_t)(v | v >> 16);
}

/* Marks n elements as not packed. */
static void
no_packs(float *y, size_t n)
{
    for (size_t i = 0; i + HINT_PACKED <= n; i += HINT_PACKED)
        y[i + 4] = 0;
}

static void
codes4_pack(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c)
{
    if (first % HINT_PACKED != 0 || n % HINT_PACKED != 0 || c->group % HINT_PACKED != 0) {
        no_packs(y, n);
        return;
    }
    size_t left = c->group - first % c->group, g = 0;
    for (size_t i = 0; i < n; i += HINT_PACKED, x += 8) {
        uint64_t word = load_le64(x);
        if (!c->low_first)
            word = (word & UINT64_C(0x0F0F0F0F0F0F0F0F)) << 4 | (word >> 4 & UINT64_C(0x0F0F0F0F0F0F0F0F));
        put_pack(y + i, word, c->scales[g], (c->zeros ? c->zeros[g] : 0) - c->map[0]);
        if ((left -= HINT_PACKED) == 0) {
            left = c->group;
            g++;
        }
    }
}

static void
lanes_pack(float *restrict y, size_t stride, const struct codes4_lanes *l)
{
    for (size_t r = 0; r < l->rows; r++)
        no_packs(y + r * stride, l->cols);
}

/* Packs 16 codes of a byte. */
static inline void
put_bytes(float *restrict y, const uint8_t *restrict x, float scale, float zero, bool is_signed)
{
    const uint32_t mark = HINT_MARK_BYTES;
    uint8_t flip = 0x80;
    if (is_signed)
        flip = 0;
    uint8_t *code = (uint8_t *)y;
    for (size_t i = 0; i < HINT_PACKED; i++)
        code[i] = x[i] ^ flip;
    memcpy(y + HINT_BYTES_MARK, &mark, sizeof mark);
    y[HINT_BYTES_SCALE] = scale;
    if (is_signed)
        y[HINT_BYTES_ZERO] = zero;
    else
        y[HINT_BYTES_ZERO] = zero - 128;
}

/* Packs codes of a byte; those below 16 as codes of 4 bits. */
static void
codes8_pack(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes8 *c)
{
    if (first % HINT_PACKED != 0 || n % HINT_PACKED != 0 || c->group % HINT_PACKED != 0) {
        no_packs(y, n);
        return;
    }
    size_t left = c->group - first % c->group, g = 0;
    for (size_t i = 0; i < n; i += HINT_PACKED, x += HINT_PACKED) {
        float zero = 0;
        if (c->zeros)
            zero = c->zeros[g];
        if (c->narrow)
            put_pack(y + i, join_low(load_le64(x)) | (uint64_t)join_low(load_le64(x + 8)) << 32, c->scales[g], zero);
        else
            put_bytes(y + i, x, c->scales[g], zero, c->is_signed);
        if ((left -= HINT_PACKED) == 0) {
            left = c->group;
            g++;
        }
    }
}

/* Packs a block of 32 codes in 16 bytes, whose low nibbles hold the first half. */
static inline void
put_halves(float *y, const uint8_t *x, float scale, float zero)
{
    uint64_t a = load_le64(x), b = load_le64(x + 8);
    put_pack(y, join_low(a) | (uint64_t)join_low(b) << 32, scale, zero);
    put_pack(y + HINT_PACKED, join_low(a >> 4) | (uint64_t)join_low(b >> 4) << 32, scale, zero);
}

static void
q4_0_pack(float *restrict y, const uint8_t *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++, x += Q4_0_BYTES)
        put_halves(y + 32 * i, x + 2, half_load(x), 8);
}

static void
mxfp4_pack(float *restrict y, const uint8_t *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++, x += MXFP4_BYTES)
        put_halves(y + MXFP4_ELEMS * i, x + 1, 2 * mxfp4_scale(x[0]), 0);
}

static void
nvfp4_pack(float *restrict y, const uint8_t *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++, x += NVFP4_BYTES)
        for (size_t s = 0; s < 4; s++) {
            float scale = 0.0f;
            if (x[s] != 0x7F)
                scale = float8_to_float(DTYPE_F8_E4M3, x[s] & 0x7F);
            const uint8_t *p = x + 4 + 8 * s;
            uint64_t word = load_le64(p);
            put_pack(y + NVFP4_ELEMS * i + 16 * s, join_low(word) | (uint64_t)join_low(word >> 4) << 32, scale, 0);
        }
}

/* --- codes4 */

static void
codes4_scale(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c)
{
    (void)x;
    spread(y, c->scales, first, n, c->group);
}

static void
codes4_zero(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c)
{
    (void)x;
    spread(y, c->zeros, first, n, c->group);
}

static void
codes4_unit(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c)
{
    for (size_t i = 0; i < n; i++)
        y[i] = c->map[code4(c, x, first % 2 + i)];
    less_zeros(y, c->zeros, first, n, c->group);
}

static void
codes4_code(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes4 *c)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)code4(c, x, first % 2 + i);
}

/* --- lanes */

static void
lanes_scale(float *restrict y, size_t stride, const struct codes4_lanes *l)
{
    for (size_t r = 0; r < l->rows; r++)
        for (size_t c = 0; c < l->cols; c++)
            y[r * stride + c] = l->scales[c];
}

static inline unsigned
lane_code(const struct codes4_lanes *l, size_t r, size_t c)
{
    unsigned byte = l->x[(l->first + r) / 2 * l->x_stride + c];
    if ((l->first + r) % 2 != 0)
        return byte >> 4;
    return byte & 15;
}

static void
lanes_unit(float *restrict y, size_t stride, const struct codes4_lanes *l)
{
    for (size_t r = 0; r < l->rows; r++)
        for (size_t c = 0; c < l->cols; c++)
            y[r * stride + c] = l->map[lane_code(l, r, c)];
}

static void
lanes_code(float *restrict y, size_t stride, const struct codes4_lanes *l)
{
    for (size_t r = 0; r < l->rows; r++)
        for (size_t c = 0; c < l->cols; c++)
            y[r * stride + c] = (float)lane_code(l, r, c);
}

/* --- codes8 */

static void
codes8_scale(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes8 *c)
{
    (void)x;
    spread(y, c->scales, first, n, c->group);
}

static void
codes8_zero(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes8 *c)
{
    (void)x;
    spread(y, c->zeros, first, n, c->group);
}

static void
codes8_unit(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct codes8 *c)
{
    for (size_t i = 0; i < n; i++)
        y[i] = c->is_signed ? (float)(int8_t)x[i] : (float)x[i];
    less_zeros(y, c->zeros, first, n, c->group);
}

/* --- affine: only MLX's form has a single factor and term */

static void
affine_scale(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a)
{
    (void)x;
    if (a->fused || a->term_first)
        hints_fill(y, NAN, n);
    else
        spread(y, a->factors, first, n, a->group);
}

static void
affine_term(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a)
{
    (void)x;
    if (a->fused || a->term_first)
        hints_fill(y, NAN, n);
    else
        spread(y, a->terms, first, n, a->group);
}

static void
affine_unit(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a)
{
    (void)first, (void)a;
    for (size_t i = 0; i < n; i++)
        y[i] = (float)x[i];
}

/* For zero points and packs: integers with one scale may be decoded as a form of these. */
static void
affine_none(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, const struct affine *a)
{
    (void)x, (void)first, (void)a;
    hints_fill(y, 0.0f, n);
}

/* --- fp8 */

static void
fp8_scale(float *restrict y, size_t stride, const struct fp8_rows *m)
{
    for (size_t r = 0; r < m->rows; r++)
        spread(y + r * stride, m->scales, 0, m->cols, m->scale_cols);
}

static void
fp8_unit(float *restrict y, size_t stride, const struct fp8_rows *m)
{
    for (size_t r = 0; r < m->rows; r++)
        for (size_t c = 0; c < m->cols; c++)
            y[r * stride + c] = float8_to_float(m->dtype, m->x[r * m->x_stride + c]);
}

/* --- blocks of ggml */

/* For types whose blocks have `bytes` bytes, 32 elements, and F16 factors at the beginning: that at byte `at`. */
#define BLOCK_HALF(name, bytes, at) \
    static void name(float *restrict y, const uint8_t *restrict x, size_t n) \
    { \
        for (size_t i = 0; i < n; i++) \
            hints_fill(y + 32 * i, half_to_float(load_le16(x + (bytes) * i + (at))), 32); \
    }
BLOCK_HALF(q4_0_scale, Q4_0_BYTES, 0)
BLOCK_HALF(q4_1_scale, Q4_1_BYTES, 0)
BLOCK_HALF(q5_0_scale, Q5_0_BYTES, 0)
BLOCK_HALF(q5_1_scale, Q5_1_BYTES, 0)
BLOCK_HALF(q8_0_scale, Q8_0_BYTES, 0)
BLOCK_HALF(q4_1_term, Q4_1_BYTES, 2)
BLOCK_HALF(q5_1_term, Q5_1_BYTES, 2)

/* Q4_K and Q5_K begin with two factors and 12 bytes of six-bit scales and minima; the codes follow, nibbles last. Decodes a copy of
 * each block in which every code is `code`, or in which every scale is 1 and every minimum 0. */
static void
k_block(kernel_block_f32 *decode, float *y, const uint8_t *x, size_t n, size_t bytes, enum hint hint)
{
    static const uint8_t ones[12] = { 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1 };
    uint8_t block[Q5_K_BYTES];
    for (size_t i = 0; i < n; i++, x += bytes, y += 256) {
        memcpy(block, x, bytes);
        if (hint == HINT_UNIT) {
            store_le16(block, 0x3C00);
            memcpy(block + 4, ones, sizeof ones);
        } else {
            memset(block + 16, 0, bytes - 16);
            memset(block + bytes - 128, hint == HINT_SCALE ? 0x11 : 0, 128);
        }
        if (hint != HINT_TERM)
            store_le16(block + 2, 0);
        decode(y, block, 1);
    }
}

#define K_BLOCK(type, bytes) \
    static void type##_scale(float *restrict y, const uint8_t *restrict x, size_t n) \
    { \
        k_block(type##_dequantize, y, x, n, bytes, HINT_SCALE); \
    } \
    static void type##_term(float *restrict y, const uint8_t *restrict x, size_t n) \
    { \
        k_block(type##_dequantize, y, x, n, bytes, HINT_TERM); \
    } \
    static void type##_unit(float *restrict y, const uint8_t *restrict x, size_t n) \
    { \
        k_block(type##_dequantize, y, x, n, bytes, HINT_UNIT); \
    }
K_BLOCK(q4_k, Q4_K_BYTES)
K_BLOCK(q5_k, Q5_K_BYTES)

static void
mxfp4_factor(float *restrict y, const uint8_t *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++, x += MXFP4_BYTES)
        hints_fill(y + MXFP4_ELEMS * i, 2 * mxfp4_scale(x[0]), MXFP4_ELEMS);
}

static void
nvfp4_factor(float *restrict y, const uint8_t *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++, x += NVFP4_BYTES)
        for (int s = 0; s < 4; s++)
            hints_fill(y + NVFP4_ELEMS * i + 16 * s, x[s] == 0x7F ? 0.0f : float8_to_float(DTYPE_F8_E4M3, x[s] & 0x7F), 16);
}

/* Writes the value that a type's decoder yields for a copy of the blocks with other factors: `d` at the beginning, and a
 * minimum of 0. */
static void
unit_of(kernel_block_f32 *decode, float *y, const uint8_t *x, size_t n, size_t bytes, size_t factors, uint16_t d)
{
    uint8_t block[Q8_0_BYTES];
    for (size_t i = 0; i < n; i++, x += bytes, y += 32) {
        for (size_t k = 0; k < bytes; k++)
            block[k] = k < factors ? 0 : x[k];
        store_le16(block, d);
        decode(y, block, 1);
    }
}

#define BLOCK_UNIT(type, bytes, factors) \
    static void type##_unit(float *restrict y, const uint8_t *restrict x, size_t n) \
    { \
        unit_of(type##_dequantize, y, x, n, bytes, factors, 0x3C00); \
    }
BLOCK_UNIT(q4_0, Q4_0_BYTES, 2)
BLOCK_UNIT(q4_1, Q4_1_BYTES, 4)
BLOCK_UNIT(q5_0, Q5_0_BYTES, 2)
BLOCK_UNIT(q5_1, Q5_1_BYTES, 4)
BLOCK_UNIT(q8_0, Q8_0_BYTES, 2)

static void
mxfp4_code(float *restrict y, const uint8_t *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++, x += MXFP4_BYTES, y += MXFP4_ELEMS)
        for (int j = 0; j < 16; j++) {
            y[j] = (float)(x[1 + j] & 15);
            y[j + 16] = (float)(x[1 + j] >> 4);
        }
}

static void
nvfp4_code(float *restrict y, const uint8_t *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++, x += NVFP4_BYTES, y += NVFP4_ELEMS)
        for (int s = 0; s < 4; s++)
            for (int j = 0; j < 8; j++) {
                y[16 * s + j] = (float)(x[4 + 8 * s + j] & 15);
                y[16 * s + 8 + j] = (float)(x[4 + 8 * s + j] >> 4);
            }
}

static void
mxfp4_unit(float *restrict y, const uint8_t *restrict x, size_t n)
{
    mxfp4_code(y, x, n);
    for (size_t i = 0; i < n * MXFP4_ELEMS; i++)
        y[i] = 0.5f * (float)fp4_levels[(int)y[i]];
}

static void
nvfp4_unit(float *restrict y, const uint8_t *restrict x, size_t n)
{
    nvfp4_code(y, x, n);
    for (size_t i = 0; i < n * NVFP4_ELEMS; i++)
        y[i] = 0.5f * (float)fp4_levels[(int)y[i]];
}

/* --- the rest has no hints */

static void
int8_row_none(float *restrict y, const uint8_t *restrict x, size_t n, float absmax)
{
    (void)x, (void)absmax;
    hints_fill(y, NAN, n);
}

static void
convrot_none(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, size_t group, float scale,
    struct convrot_room *room)
{
    (void)x, (void)first, (void)group, (void)scale, (void)room;
    hints_fill(y, NAN, n);
}

/* The kernels of a block type, by hint. Here and below, those of hints that such codes do not have are left out: nobody reads these. */
static const struct hint_blocks {
    enum dtype type;
    kernel_block_f32 *kernel[HINTS];
} blocks[] = {
    { DTYPE_Q4_0, { [HINT_SCALE] = q4_0_scale, [HINT_UNIT] = q4_0_unit, [HINT_PACK] = q4_0_pack } },
    { DTYPE_Q4_1, { [HINT_SCALE] = q4_1_scale, [HINT_TERM] = q4_1_term, [HINT_UNIT] = q4_1_unit } },
    { DTYPE_Q5_0, { [HINT_SCALE] = q5_0_scale, [HINT_UNIT] = q5_0_unit } },
    { DTYPE_Q5_1, { [HINT_SCALE] = q5_1_scale, [HINT_TERM] = q5_1_term, [HINT_UNIT] = q5_1_unit } },
    { DTYPE_Q8_0, { [HINT_SCALE] = q8_0_scale, [HINT_UNIT] = q8_0_unit } },
    { DTYPE_Q4_K, { [HINT_SCALE] = q4_k_scale, [HINT_TERM] = q4_k_term, [HINT_UNIT] = q4_k_unit } },
    { DTYPE_Q5_K, { [HINT_SCALE] = q5_k_scale, [HINT_TERM] = q5_k_term, [HINT_UNIT] = q5_k_unit } },
    { DTYPE_MXFP4, { [HINT_SCALE] = mxfp4_factor, [HINT_UNIT] = mxfp4_unit, [HINT_CODE] = mxfp4_code, [HINT_PACK] = mxfp4_pack } },
    { DTYPE_NVFP4, { [HINT_SCALE] = nvfp4_factor, [HINT_UNIT] = nvfp4_unit, [HINT_CODE] = nvfp4_code, [HINT_PACK] = nvfp4_pack } },
};

static void
make_hint(struct kernels *set, const struct kernels *base, enum hint hint)
{
    static kernel_codes4_f32 *const four[HINTS] = { [HINT_SCALE] = codes4_scale, [HINT_ZERO] = codes4_zero, [HINT_UNIT] = codes4_unit,
        [HINT_CODE] = codes4_code, [HINT_PACK] = codes4_pack };
    static kernel_codes4_lanes_f32 *const lanes[HINTS] = { [HINT_SCALE] = lanes_scale, [HINT_UNIT] = lanes_unit, [HINT_CODE] = lanes_code,
        [HINT_PACK] = lanes_pack };
    static kernel_codes8_f32 *const eight[HINTS] = { [HINT_SCALE] = codes8_scale, [HINT_ZERO] = codes8_zero, [HINT_UNIT] = codes8_unit,
        [HINT_PACK] = codes8_pack };
    static kernel_affine_f32 *const affine[HINTS] = { [HINT_SCALE] = affine_scale, [HINT_TERM] = affine_term, [HINT_ZERO] = affine_none,
        [HINT_UNIT] = affine_unit, [HINT_PACK] = affine_none };
    static kernel_fp8_f32 *const fp8[HINTS] = { [HINT_SCALE] = fp8_scale, [HINT_UNIT] = fp8_unit };
    *set = *base;
    set->raw = hint == HINT_PACK;
    if (four[hint])
        set->codes4_f32 = four[hint];
    if (lanes[hint])
        set->codes4_lanes_f32 = lanes[hint];
    if (eight[hint])
        set->codes8_f32 = eight[hint];
    if (affine[hint])
        set->affine_f32 = affine[hint];
    if (fp8[hint])
        set->fp8_f32 = fp8[hint];
    set->int8_row_f32 = int8_row_none;
    set->convrot_f32 = convrot_none;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i].kernel[hint])
            set->block_f32[blocks[i].type] = blocks[i].kernel[hint];
}

struct kernels *
kernels_hints(const struct kernels *base, struct err *err)
{
    struct kernels *sets = malloc(HINTS * sizeof *sets);
    if (!sets)
        err_memory(err, HINTS * sizeof *sets);
    for (unsigned i = 0; sets && i < HINTS; i++)
        make_hint(&sets[i], base, (enum hint)i);
    return sets;
}
