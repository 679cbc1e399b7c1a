/* dtype: the type of an element, or a block of elements, and the bytes that a row of them takes. This layer has facts and
 * exact conversions of single codes (half, bfloat16, float8). It knows neither tensors nor file formats nor kernels. Begin
 * here; ggml_block.h has the blocks of ggml. */
#ifndef DTYPE_DTYPE_H
#define DTYPE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Scalar types come first, in the order of the reference safetensors library, whose writer sorts tensors by this rank. The
 * block types of ggml follow, then the block types of its forks: first the ones that the kernels decode. */
enum dtype {
    DTYPE_BOOL, DTYPE_F4, DTYPE_F6_E2M3, DTYPE_F6_E3M2, DTYPE_U8, DTYPE_I8,
    DTYPE_F8_E5M2, DTYPE_F8_E4M3, DTYPE_F8_E8M0, DTYPE_F8_E4M3FNUZ, DTYPE_F8_E5M2FNUZ,
    DTYPE_I16, DTYPE_U16, DTYPE_F16, DTYPE_BF16, DTYPE_I32, DTYPE_U32, DTYPE_F32,
    DTYPE_C64, DTYPE_F64, DTYPE_I64, DTYPE_U64,

    DTYPE_Q4_0, DTYPE_Q4_1, DTYPE_Q5_0, DTYPE_Q5_1, DTYPE_Q8_0, DTYPE_Q8_1,
    DTYPE_Q2_K, DTYPE_Q3_K, DTYPE_Q4_K, DTYPE_Q5_K, DTYPE_Q6_K, DTYPE_Q8_K,
    DTYPE_IQ2_XXS, DTYPE_IQ2_XS, DTYPE_IQ3_XXS, DTYPE_IQ1_S, DTYPE_IQ4_NL, DTYPE_IQ3_S,
    DTYPE_IQ2_S, DTYPE_IQ4_XS, DTYPE_IQ1_M, DTYPE_TQ1_0, DTYPE_TQ2_0, DTYPE_MXFP4,
    DTYPE_NVFP4, DTYPE_Q1_0, DTYPE_Q2_0,

    DTYPE_Q6_0, DTYPE_IQ2_K, DTYPE_IQ3_K, DTYPE_IQ4_K, DTYPE_IQ5_K, DTYPE_IQ6_K, DTYPE_PQ2_0, DTYPE_PTQ1_0,
    DTYPE_IQ4_KS, DTYPE_IQ2_KS, DTYPE_IQ4_KSS, DTYPE_IQ5_KS, DTYPE_IQ3_KS, DTYPE_IQ2_KL,
    DTYPE_IQ1_KT, DTYPE_IQ2_KT, DTYPE_IQ3_KT, DTYPE_IQ4_KT,
    DTYPE_IQ1_S_R4, DTYPE_IQ1_M_R4, DTYPE_IQ2_K_R4, DTYPE_IQ3_K_R4, DTYPE_IQ4_K_R4, DTYPE_IQ5_K_R4, DTYPE_IQ4_KS_R4,
    DTYPE_IQ5_KS_R4,

    DTYPE_I2_S, DTYPE_I8_S, DTYPE_TL1, DTYPE_Q8_0_X4, DTYPE_Q8_1_X4, DTYPE_Q8_2_X4,
    DTYPE_Q4_0_ROCMFP4, DTYPE_Q4_0_ROCMFP4_FAST, DTYPE_Q6_0_ROCMFPX, DTYPE_Q8_0_ROCMFPX, DTYPE_Q3_0_ROCMFPX,
    DTYPE_Q2_0_ROCMFPX, DTYPE_Q4_0_ROCMI4,
    DTYPE_IQ1_BN, DTYPE_IQ2_BN, DTYPE_Q8_K64, DTYPE_Q8_K16, DTYPE_Q8_K32, DTYPE_Q8_KR8, DTYPE_Q8_K128, DTYPE_Q8_KV,
    DTYPE_Q4_0_R8, DTYPE_Q5_0_R4, DTYPE_Q8_0_R8, DTYPE_Q2_K_R4, DTYPE_Q3_K_R4, DTYPE_Q4_K_R4, DTYPE_Q5_K_R4,
    DTYPE_Q6_K_R4, DTYPE_IQ2_XXS_R4, DTYPE_IQ2_XS_R4, DTYPE_IQ3_XXS_R4, DTYPE_IQ4_NL_R4, DTYPE_IQ3_S_R4,
    DTYPE_IQ2_S_R4, DTYPE_IQ4_XS_R8, DTYPE_BF16_R16, DTYPE_Q6_0_R4, DTYPE_IQ2_BN_R4, DTYPE_MXFP4_R8,
    DTYPE_Q8_K_R16, DTYPE_Q8_KV_R8, DTYPE_Q8_K_R8,

    DTYPE_UNKNOWN,          /* any other type: listed by its ggml id or name, without a size */
    DTYPE_COUNT,
    DTYPE_SCALARS = DTYPE_Q4_0,
    DTYPE_FORKS = DTYPE_Q6_0,           /* the first type of a fork */
    DTYPE_UNDECODED = DTYPE_I2_S        /* the first type that is sized, but not decoded */
};

enum dtype_class { DTYPE_IS_BOOL, DTYPE_IS_INT, DTYPE_IS_FLOAT, DTYPE_IS_COMPLEX, DTYPE_IS_BLOCK, DTYPE_IS_UNKNOWN };

enum { DTYPE_NO_GGML = -1 };

struct dtype_facts {
    const char *name;           /* safetensors tag, or name in gguf-py */
    uint16_t elems;             /* elements that share `bytes`; 1 for a scalar of whole bytes */
    uint16_t bytes;             /* size of those elements in bytes */
    uint8_t word;               /* unit of byte swapping of a scalar, in bytes; 1: nothing to swap */
    int32_t ggml;               /* id in a GGUF file, or DTYPE_NO_GGML */
    enum dtype_class kind;
    uint8_t prefix;             /* bytes before the blocks of each row */
    uint8_t tail;               /* bytes after the last row */
    uint8_t interleaved;        /* rows that are stored as one: all prefixes, then block by block; 0: none */
    const char *fork;           /* name of the fork that defines the type, or NULL */
};

/* Returns the facts of a type; never NULL for a value of the enum. */
const struct dtype_facts *dtype_facts(enum dtype dtype);

static inline const char *
dtype_name(enum dtype dtype)
{
    return dtype_facts(dtype)->name;
}

/* Sets *out to the scalar type of a safetensors tag, which is case-sensitive. Returns false for any other tag. */
bool dtype_from_tag(enum dtype *out, const char *tag, size_t n);

/* Sets *out to the type of a ggml id. Returns false for a removed or unknown id. */
bool dtype_from_ggml(enum dtype *out, uint32_t id);

/* Returns the name of a ggml id that has been removed ("Q4_2") and that no fork claims, or NULL. */
const char *dtype_ggml_removed(uint32_t id);

/* Returns what forks call a ggml id that several of them claim, or whose size is unknown, separated by commas; NULL for any
 * other id. `several` is set to whether there are several claimants. Such a type is DTYPE_UNKNOWN. */
const char *dtype_ggml_claimants(uint32_t id, bool *several);

/* Geometry. Only this file knows the size of a row: a tensor consists of the rows of its last dimension, and the size of a
 * row need not be proportional to its elements. */

/* Sets *nbytes to the size of a row of n elements, ignoring trailing elements that do not fill a block (or byte). Returns
 * false if it overflows 64 bits. */
bool dtype_row_bytes(uint64_t *nbytes, enum dtype dtype, uint64_t n);

/* Sets *nbytes to the size of a tensor of `rows` rows of n elements, which is 0 for an empty tensor. Returns false if it
 * overflows 64 bits. */
bool dtype_rows_bytes(uint64_t *nbytes, enum dtype dtype, uint64_t rows, uint64_t n);

/* Returns the offset of the block that contains element i of `row`, in a tensor with rows of n elements. If rows are
 * interleaved, they share the block. The tensor must have a valid size. */
uint64_t dtype_block_offset(enum dtype dtype, uint64_t n, uint64_t row, uint64_t i);

/* Returns the offset of a row's prefix, and the bytes between the starts of successive blocks of a row. */
uint64_t dtype_prefix_offset(enum dtype dtype, uint64_t n, uint64_t row);
uint32_t dtype_block_step(enum dtype dtype);

/* How a file holds quantized weights. */
enum keeps {
    KEEPS_NONE,
    KEEPS_CODES,                /* codes and scales as separate tensors */
    KEEPS_BLOCKS                /* ggml's block types */
};

/* A set of types, as an array of flags. NULL is the empty set. Example: DTYPE_SET([DTYPE_F16] = true, [DTYPE_BF16] = true) */
#define DTYPE_SET(...) ((const bool[DTYPE_COUNT]){ __VA_ARGS__ })

static inline bool
dtype_in(const bool *set, enum dtype dtype)
{
    return set != NULL && set[dtype];
}

/* The arguments of --to, terminated by NULL, and the type that argument i names: the types that weights are dequantized to. */
extern const char *const dtype_targets[];
enum dtype dtype_target(unsigned i);

/* Returns the number at p, little-endian, of one element of F64, F32, F16, BF16, an integer or a boolean. */
double dtype_number(enum dtype dtype, const uint8_t *p);

/* Types of unquantized weights, and the FP8 types. */
bool dtype_is_float(enum dtype dtype);      /* F64 F32 F16 BF16 */
bool dtype_is_float8(enum dtype dtype);     /* E4M3, E5M2 and their FNUZ forms; not E8M0 */

#endif
