/* kernels: quantization and dequantization as pure functions on buffers, and the set of them for this CPU. The layer must
 * not know tensors, schemes or files: buffers come with their sizes, and every variant yields the bits of the scalar one.
 * Start with struct kernels below. The functions in ref/ are the definitions; their variants in x86/ are tested against
 * them.
 *
 * Bits are the contract: every member of every set yields the same bytes for the same input. A NaN result is always the one
 * canonical NaN: BF16 0x7FC0, F16 0x7E00, F32 0x7FC00000. Only encoders can fail. No member allocates or needs alignment;
 * buffers never overlap. The caller has checked all sizes.
 */
#ifndef KERNEL_KERNELS_H
#define KERNEL_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dtype/dtype.h"
#include "kernel/affine.h"
#include "kernel/codes4.h"
#include "kernel/codes8.h"
#include "kernel/convrot.h"
#include "kernel/encode_fp8.h"
#include "kernel/encode_int.h"
#include "kernel/encode_mx.h"
#include "kernel/fp8.h"
#include "kernel/loss.h"
#include "kernel/same.h"
#include "kernel/same_floats.h"
#include "kernel/same_ints.h"
#include "kernel/shift.h"
#include "kernel/wide.h"
#include "kernel/lowrank.h"

/* Kernels are templates: once the pieces are inlined, the differences between types are constants. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Rounds n floats to 16-bit codes, to nearest, ties to even, keeping subnormals. */
typedef void kernel_round16(uint16_t *restrict y, const float *restrict x, size_t n);

/* widen.h: converts n scalars to floats. */
typedef void kernel_widen(float *restrict y, const uint8_t *restrict x, size_t n);

/* Rounds n floats to integers from -127 to 127, ties to even; NaN becomes 0. */
typedef void kernel_round8(int8_t *restrict y, const float *restrict x, size_t n);

/* Dequantizes nblocks blocks of one ggml type to nblocks * elems floats, bit-identical to ggml's C except for NaN. */
typedef void kernel_block_f32(float *restrict y, const uint8_t *restrict src, size_t nblocks);

/* Same, with rounding to BF16: y holds nblocks * elems codes. */
typedef void kernel_block_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks);

/* Same for nblocks blocks of one row, for types whose rows have a prefix or are interleaved. Blocks of interleaved rows are
 * as large as one of each row together. */
struct kernel_row {
    float scale;                /* the factor in the prefix; not used without one */
    unsigned row;               /* number of the row among the interleaved ones */
};
typedef void kernel_row_f32(float *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at);
typedef void kernel_row_bf16(uint16_t *restrict y, const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at);

/* fp8.h: rows of float8 codes times scales. */
typedef void kernel_fp8_f32(float *restrict y, size_t y_stride, const struct fp8_rows *m);
typedef void kernel_fp8_bf16(uint16_t *restrict y, size_t y_stride, const struct fp8_rows *m);

/* codes4.h: elements [first, first + n) of a row of 4-bit codes, with a table of 16 values, and a scale and optional zero
 * point for each group. */
typedef void kernel_codes4_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n,
    const struct codes4 *c);
typedef void kernel_codes4_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n,
    const struct codes4 *c);
typedef void kernel_codes4_lanes_f32(float *restrict y, size_t y_stride, const struct codes4_lanes *c);
typedef void kernel_codes4_lanes_bf16(uint16_t *restrict y, size_t y_stride, const struct codes4_lanes *c);

/* codes8.h: same for codes of a byte. */
typedef void kernel_codes8_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n,
    const struct codes8 *c);
typedef void kernel_codes8_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n,
    const struct codes8 *c);

/* affine.h: same in a type of 16 bits, with one or two roundings to it. */
typedef void kernel_affine_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n,
    const struct affine *a);
typedef void kernel_affine_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n,
    const struct affine *a);

/* bits.h: unpacks codes to one a byte. */
typedef void kernel_bits_stream(uint8_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, unsigned bits);
typedef void kernel_bits_lane(uint8_t *restrict y, const uint8_t *restrict x, size_t n, size_t unit, unsigned shift,
    unsigned bits);
typedef void kernel_bits_table(uint8_t *restrict y, const uint8_t *restrict x, size_t n, const uint8_t table[16]);
typedef void kernel_bits_found(uint16_t *restrict found, const uint8_t *restrict x, size_t nblocks, size_t block);
typedef void kernel_bits_blocks(uint8_t *restrict y, const uint8_t *restrict x, size_t nblocks, unsigned bits);

/* convrot.h: rows of INT8 codes that were rotated in groups. */
typedef void kernel_convrot_f32(float *restrict y, const uint8_t *restrict x, size_t first, size_t n, size_t group,
    float scale, struct convrot_room *room);
typedef void kernel_convrot_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t first, size_t n, size_t group,
    float scale, struct convrot_room *room);

/* packs.h: unpacks codes in SDNQ's layout. */
typedef void kernel_packs(uint8_t *restrict y, const uint8_t *restrict x, size_t n, unsigned bits);

/* int8_row.h: a row of INT8 codes with its absmax. */
typedef void kernel_int8_row_f32(float *restrict y, const uint8_t *restrict x, size_t n, float absmax);
typedef void kernel_int8_row_bf16(uint16_t *restrict y, const uint8_t *restrict x, size_t n, float absmax);

/* transpose.h: transposes, y[c][r] = x[r][c], units of `unit` bytes; strides count bytes. */
typedef void kernel_transpose(uint8_t *restrict y, size_t y_stride, const uint8_t *restrict x, size_t x_stride, size_t rows,
    size_t cols, size_t unit);

/* crc.h: extends a CRC-32 by n bytes. */
typedef uint32_t kernel_crc(uint32_t crc, const uint8_t *x, size_t n);

/* Quantizes rows of floats to rows * cols / elems blocks of `dtype`; cols is a multiple of elems. `importance` has cols
 * weights, not negative, that apply to every row. If it is NULL, any run of blocks may be passed as a row. y and x must not
 * overlap. Returns false if values are so large, or not finite, that no grid point is near. */
typedef bool kernel_encode(enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows, size_t cols,
    const float *restrict importance);

/* encode_q.h: codes and factors of blocks. */
typedef void kernel_q_join(enum dtype type, uint8_t *restrict y, const uint8_t *restrict q, const uint16_t *restrict factor, size_t nblocks);
typedef void kernel_q_split(enum dtype type, uint8_t *restrict q, uint16_t *restrict factor, const uint8_t *restrict y, size_t nblocks);

/* encode_fp8.h: rounds floats to float8 codes; finds the largest magnitude of each group. */
typedef void kernel_encode_fp8(uint8_t *restrict y, const float *restrict x, size_t n, const struct encode_fp8 *how);
typedef void kernel_encode_absmax(float *restrict y, const float *restrict x, size_t n, size_t group);
typedef void kernel_absmax_of(float *restrict y, const uint8_t *restrict x, size_t n, size_t group);

/* encode_mx.h: rounds floats to E2M1; finds the largest magnitude. */
typedef void kernel_encode_e2m1(uint8_t *restrict y, float *restrict back, const float *restrict x, size_t n,
    const struct encode_e2m1 *how);
typedef float kernel_encode_most(const float *x, size_t n);

/* encode_bnb.h: quantizes blocks of floats to 4-bit codes, or a row to INT8. */
typedef void kernel_encode_bnb4(uint8_t *restrict y, float *restrict absmax, const float *restrict x, size_t n,
    size_t block);
typedef float kernel_encode_int8_row(int8_t *restrict y, const float *restrict x, size_t n);

/* encode_int.h: packs codes. */
typedef void kernel_int_pack(uint8_t *restrict y, const uint8_t *restrict q, size_t n, unsigned bits);

/* shift.h: adds up how a change of n elements shows in the output. */
typedef void kernel_shift(struct shift_lanes *sum, const float *w, const float *v, const float *before, const float *after, size_t n);

/* wide.h */
typedef void kernel_wide_from(double *v, const float *x, size_t n);
typedef void kernel_wide_to(float *x, const double *v, size_t n);
typedef size_t kernel_wide_beyond(const double *v, size_t n, double most);

/* same.h */
typedef bool kernel_same_products(uint8_t *q, const float *x, size_t n, const struct same_codes *c);
typedef struct same_extent kernel_same_extent(const float *x, size_t n);
typedef bool kernel_same_rounded(enum dtype type, const float *x, const float *y, size_t n);
typedef size_t kernel_same_fp8(enum dtype codes, enum dtype type, const float *x, size_t n, float scale);

/* same_ints.h */
typedef size_t kernel_same_ints(uint8_t *q, uint16_t *factor, const float *x, size_t nblocks, unsigned bits);

/* same_nvfp4.h */
typedef size_t kernel_same_nvfp4(uint8_t *scale, uint8_t *code, uint8_t *found, const float *x, size_t nblocks, const struct same_nvfp4 *how);

/* same_mx.h */
typedef size_t kernel_same_e2m1(uint8_t *scale, uint8_t *code, const float *x, size_t nblocks, const struct same_e2m1 *how);
typedef size_t kernel_same_e4m3(uint8_t *scale, uint8_t *code, const float *x, size_t nblocks);
typedef size_t kernel_e2m1_range(struct e2m1_range *range, const float *x, size_t nblocks);

/* same_nf4.h */
typedef size_t kernel_same_nf4(float *absmax, uint8_t *code, const float *x, size_t nblocks, size_t block, enum dtype type);

/* loss.h: adds up the quantization error of n elements. */
typedef void kernel_loss(struct loss_lanes *sum, const float *x, const float *back, size_t n);

/* lowrank.h: products of thin matrices in F64. */
typedef void kernel_lowrank(double *v, size_t stride, const struct lowrank *p);
typedef void kernel_lowrank_merge(uint8_t *codes, size_t stride, const struct lowrank *p, struct lowrank_sums *sums);

struct kernels {
    const char *name;                               /* "scalar", "avx2" */
    bool raw;                                       /* floats are no numbers: keep their bits (hints.h) */
    kernel_round16 *round_bf16, *round_f16;         /* f32 -> BF16, f32 -> F16 */
    kernel_round8 *round_int8;
    kernel_widen *widen[DTYPE_COUNT];               /* F64 F32 F16 BF16, else NULL */
    kernel_block_f32 *block_f32[DTYPE_COUNT];       /* by block dtype; NULL: not decodable yet */
    kernel_block_bf16 *block_bf16[DTYPE_COUNT];     /* NULL: use block_f32, then round_bf16 */
    kernel_row_f32 *row_f32[DTYPE_COUNT];           /* for types without block_f32; NULL: not decodable */
    kernel_row_bf16 *row_bf16[DTYPE_COUNT];         /* NULL: use row_f32, then round_bf16 */
    kernel_encode *encode[DTYPE_COUNT];             /* by block dtype; NULL: no encoder */
    kernel_encode_fp8 *encode_e4m3, *encode_e5m2;
    kernel_encode_absmax *encode_absmax;
    kernel_absmax_of *absmax_of[DTYPE_COUNT];       /* F16 BF16, else NULL */
    kernel_encode_e2m1 *encode_e2m1;
    kernel_encode_most *encode_most;
    kernel_encode_bnb4 *encode_nf4, *encode_fp4, *encode_fp4_cpu;
    kernel_encode_int8_row *encode_int8_row;
    const struct int_method *int_ct, *int_gptq, *int_awq, *int_mlx;
    kernel_int_pack *int_pack;
    kernel_fp8_f32 *fp8_f32;
    kernel_fp8_bf16 *fp8_bf16;
    kernel_codes4_f32 *codes4_f32;
    kernel_codes4_bf16 *codes4_bf16;
    kernel_codes4_lanes_f32 *codes4_lanes_f32;
    kernel_codes4_lanes_bf16 *codes4_lanes_bf16;
    kernel_codes8_f32 *codes8_f32;
    kernel_codes8_bf16 *codes8_bf16;
    kernel_affine_f32 *affine_f32;
    kernel_affine_bf16 *affine_bf16, *affine4_bf16;
    kernel_bits_stream *bits_stream;
    kernel_bits_lane *bits_lane;
    kernel_bits_blocks *bits_blocks;
    kernel_bits_table *bits_table;
    kernel_bits_found *bits_found;
    kernel_convrot_f32 *convrot_f32;
    kernel_convrot_bf16 *convrot_bf16;
    kernel_packs *packs;
    kernel_int8_row_f32 *int8_row_f32;
    kernel_int8_row_bf16 *int8_row_bf16;
    kernel_transpose *transpose;
    kernel_crc *crc;
    kernel_q_join *q_join;
    kernel_q_split *q_split;
    kernel_same_products *same_products;
    kernel_same_extent *same_extent;
    kernel_same_rounded *same_rounded;
    kernel_same_fp8 *same_fp8;
    kernel_same_ints *same_int_powers, *same_int_steps, *same_int_rounded;
    kernel_same_nvfp4 *same_nvfp4;
    kernel_same_e2m1 *same_e2m1;
    kernel_same_e4m3 *same_e4m3;
    kernel_e2m1_range *e2m1_range;
    kernel_same_nf4 *same_nf4;
    kernel_loss *loss;
    kernel_shift *shift;
    kernel_wide_from *wide_from;
    kernel_wide_to *wide_to;
    kernel_wide_beyond *wide_beyond;
    kernel_lowrank *lowrank_product, *lowrank_add;
    kernel_lowrank_merge *lowrank_merge;
};

/* Returns the fastest set that this CPU runs, or the one named by AMN_CPU (scalar, avx2). Returns NULL with ERR_USAGE for
 * another name, or with ERR_UNSUPPORTED for a set that this CPU lacks. Call once at start-up; the result stays valid. */
const struct kernels *kernels_pick(const char *amn_cpu, struct err *err);

/* Returns a set that only decodes to F32: its encoders, its members named *_bf16 except round_bf16, and those for comparisons
 * (same_*, e2m1_range, q_join, q_split, loss, shift, lowrank_merge) are NULL. */
const struct kernels *kernels_values(const char *amn_cpu, struct err *err);

/* Dequantizes blocks of `dtype`, whose block_f32 must not be NULL, to nblocks * elems values of `to`: BF16, F16 or F32. */
void kernels_block(const struct kernels *k, enum dtype dtype, enum dtype to, void *restrict y,
    const uint8_t *restrict src, size_t nblocks);

/* Same for nblocks blocks of one row, with row_f32. */
void kernels_row(const struct kernels *k, enum dtype dtype, enum dtype to, void *restrict y,
    const uint8_t *restrict src, size_t nblocks, const struct kernel_row *at);

/* Rounds n floats to `to` (BF16, F16 or F32, the last with canonical NaN). x is scratch and may change. */
void kernels_round(const struct kernels *k, enum dtype to, void *restrict y, float *restrict x, size_t n);

/* Converts n scalars of `from` (F64, F32, F16, BF16) to `to` (BF16, F16, F32); F64 is rounded to F32 first, like in torch. x
 * and y may be unaligned. */
void kernels_cast(const struct kernels *k, enum dtype from, enum dtype to, uint8_t *restrict y, const uint8_t *restrict x,
    size_t n);

#endif
