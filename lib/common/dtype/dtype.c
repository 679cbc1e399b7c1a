#include "dtype/dtype.h"

#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "dtype/bfloat16.h"
#include "dtype/ggml_block.h"
#include "dtype/half.h"

#define NOT DTYPE_NO_GGML

/* Scalars: safetensors, tensor.rs, Dtype. Blocks and ids: ggml.h, ggml_type; ggml.c, type_traits, of llama.cpp and of the
 * forks. test/check-ggml-types compares the ids and sizes with such files. */
static const struct dtype_facts facts[DTYPE_COUNT] = {
#define SCALAR(type, elems_, bytes_, word_, id, class) [DTYPE_##type] = { .name = #type, .elems = elems_, .bytes = bytes_, \
    .word = word_, .ggml = id, .kind = DTYPE_IS_##class }
    /*     tag           elems bytes word ggml */
    SCALAR(BOOL,           1,    1,   1,  NOT, BOOL),
    SCALAR(F4,             2,    1,   1,  NOT, FLOAT),
    SCALAR(F6_E2M3,        4,    3,   1,  NOT, FLOAT),
    SCALAR(F6_E3M2,        4,    3,   1,  NOT, FLOAT),
    SCALAR(U8,             1,    1,   1,  NOT, INT),
    SCALAR(I8,             1,    1,   1,   24, INT),
    SCALAR(F8_E5M2,        1,    1,   1,  NOT, FLOAT),
    SCALAR(F8_E4M3,        1,    1,   1,  NOT, FLOAT),
    SCALAR(F8_E8M0,        1,    1,   1,  NOT, FLOAT),
    SCALAR(F8_E4M3FNUZ,    1,    1,   1,  NOT, FLOAT),
    SCALAR(F8_E5M2FNUZ,    1,    1,   1,  NOT, FLOAT),
    SCALAR(I16,            1,    2,   2,   25, INT),
    SCALAR(U16,            1,    2,   2,  NOT, INT),
    SCALAR(F16,            1,    2,   2,    1, FLOAT),
    SCALAR(BF16,           1,    2,   2,   30, FLOAT),
    SCALAR(I32,            1,    4,   4,   26, INT),
    SCALAR(U32,            1,    4,   4,  NOT, INT),
    SCALAR(F32,            1,    4,   4,    0, FLOAT),
    SCALAR(C64,            1,    8,   4,  NOT, COMPLEX),
    SCALAR(F64,            1,    8,   8,   28, FLOAT),
    SCALAR(I64,            1,    8,   8,   27, INT),
    SCALAR(U64,            1,    8,   8,  NOT, INT),
#undef SCALAR
#define FORK(type, id, ...) [DTYPE_##type] = { .name = #type, .elems = type##_ELEMS, .bytes = type##_BYTES, .ggml = id, \
    .kind = DTYPE_IS_BLOCK, __VA_ARGS__ }
#define BLOCK(type, id) FORK(type, id, .fork = NULL)
    BLOCK(Q4_0, 2),     BLOCK(Q4_1, 3),     BLOCK(Q5_0, 6),     BLOCK(Q5_1, 7),    BLOCK(Q8_0, 8),
    BLOCK(Q8_1, 9),     BLOCK(Q2_K, 10),    BLOCK(Q3_K, 11),    BLOCK(Q4_K, 12),   BLOCK(Q5_K, 13),
    BLOCK(Q6_K, 14),    BLOCK(Q8_K, 15),    BLOCK(IQ2_XXS, 16), BLOCK(IQ2_XS, 17), BLOCK(IQ3_XXS, 18),
    BLOCK(IQ1_S, 19),   BLOCK(IQ4_NL, 20),  BLOCK(IQ3_S, 21),   BLOCK(IQ2_S, 22),  BLOCK(IQ4_XS, 23),
    BLOCK(IQ1_M, 29),   BLOCK(TQ1_0, 34),   BLOCK(TQ2_0, 35),   BLOCK(MXFP4, 39),  BLOCK(NVFP4, 40),
    BLOCK(Q1_0, 41),    BLOCK(Q2_0, 42),
#define IK(type, id, ...) FORK(type, id, .fork = "ik_llama.cpp", __VA_ARGS__)
#define PRISM(type, id) FORK(type, id, .fork = "PrismML")
#define BITNET(type, id, ...) FORK(type, id, .fork = "bitnet.cpp", __VA_ARGS__)
#define ROCM(type, id) FORK(type, id, .fork = "ROCmFPX")
    IK(Q6_0, 133),                  IK(IQ2_K, 137),                 IK(IQ3_K, 138),
    IK(IQ4_K, 139),                 IK(IQ5_K, 140),                 IK(IQ6_K, 141),
    PRISM(PQ2_0, 142),              PRISM(PTQ1_0, 143),
    IK(IQ4_KS, 144, .prefix = 4),   IK(IQ2_KS, 145, .prefix = 2),   IK(IQ4_KSS, 146, .prefix = 4),
    IK(IQ5_KS, 152, .prefix = 4),   IK(IQ3_KS, 156, .prefix = 2),   IK(IQ2_KL, 157, .prefix = 2),
    IK(IQ1_KT, 158, .prefix = 4),   IK(IQ2_KT, 153, .prefix = 4),   IK(IQ3_KT, 154, .prefix = 4),
    IK(IQ4_KT, 155, .prefix = 4),
    IK(IQ1_S_R4, 219, .prefix = 2, .interleaved = 4),   IK(IQ1_M_R4, 229, .prefix = 2, .interleaved = 4),
    IK(IQ2_K_R4, 337, .interleaved = 4),                IK(IQ3_K_R4, 338, .interleaved = 4),
    IK(IQ4_K_R4, 339, .interleaved = 4),                IK(IQ5_K_R4, 340, .interleaved = 4),
    IK(IQ4_KS_R4, 344, .prefix = 4, .interleaved = 4),  IK(IQ5_KS_R4, 352, .prefix = 4, .interleaved = 4),

    BITNET(I2_S, 36, .tail = 32),   BITNET(I8_S, 37),               BITNET(TL1, 38, .tail = 32),
    IK(Q8_0_X4, 97),                IK(Q8_1_X4, 98),                IK(Q8_2_X4, 99),
    ROCM(Q4_0_ROCMFP4, 100),        ROCM(Q4_0_ROCMFP4_FAST, 101),   ROCM(Q6_0_ROCMFPX, 102),
    ROCM(Q8_0_ROCMFPX, 103),        ROCM(Q3_0_ROCMFPX, 104),        ROCM(Q2_0_ROCMFPX, 107),
    ROCM(Q4_0_ROCMI4, 108),
    IK(IQ1_BN, 134, .prefix = 2),   IK(IQ2_BN, 135, .prefix = 4),   IK(Q8_K64, 136),
    IK(Q8_K16, 147, .prefix = 20),  IK(Q8_K32, 148),                IK(Q8_KR8, 149),
    IK(Q8_K128, 150),               IK(Q8_KV, 151, .prefix = 8),
    IK(Q4_0_R8, 202, .interleaved = 8),                 IK(Q5_0_R4, 206, .interleaved = 4),
    IK(Q8_0_R8, 208, .interleaved = 8),                 IK(Q2_K_R4, 210, .interleaved = 4),
    IK(Q3_K_R4, 211, .interleaved = 4),                 IK(Q4_K_R4, 212, .interleaved = 4),
    IK(Q5_K_R4, 213, .interleaved = 4),                 IK(Q6_K_R4, 214, .interleaved = 4),
    IK(IQ2_XXS_R4, 216, .interleaved = 4),              IK(IQ2_XS_R4, 217, .interleaved = 4),
    IK(IQ3_XXS_R4, 218, .interleaved = 4),              IK(IQ4_NL_R4, 220, .interleaved = 4),
    IK(IQ3_S_R4, 221, .interleaved = 4),                IK(IQ2_S_R4, 222, .interleaved = 4),
    IK(IQ4_XS_R8, 223, .interleaved = 8),               IK(BF16_R16, 230, .interleaved = 16),
    IK(Q6_0_R4, 233, .interleaved = 4),                 IK(IQ2_BN_R4, 335, .prefix = 4, .interleaved = 4),
    IK(MXFP4_R8, 353, .interleaved = 8),                IK(Q8_K_R16, 397, .interleaved = 16),
    IK(Q8_KV_R8, 398, .prefix = 4, .interleaved = 8),   IK(Q8_K_R8, 399, .interleaved = 8),
#undef FORK
#undef BLOCK
#undef IK
#undef PRISM
#undef BITNET
#undef ROCM
    [DTYPE_UNKNOWN] = { .name = "unknown", .elems = 1, .ggml = NOT, .kind = DTYPE_IS_UNKNOWN },
};

const struct dtype_facts *
dtype_facts(enum dtype dtype)
{
    return &facts[dtype < DTYPE_COUNT ? dtype : DTYPE_UNKNOWN];
}

bool
dtype_from_tag(enum dtype *out, const char *tag, size_t n)
{
    for (int i = 0; i < DTYPE_SCALARS; i++)
        if (str_is(tag, n, facts[i].name)) {
            *out = (enum dtype)i;
            return true;
        }
    return false;
}

bool
dtype_from_ggml(enum dtype *out, uint32_t id)
{
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (facts[i].ggml >= 0 && (uint32_t)facts[i].ggml == id) {
            *out = (enum dtype)i;
            return true;
        }
    return false;
}

const char *
dtype_ggml_claimants(uint32_t id, bool *several)
{
    static const struct claimants {
        uint32_t id;
        bool several;
        const char *names;
    } claimed[] = {
        { .id = 43, .several = true, .names = "F8_E4M3 (stable-diffusion.cpp), BPOSIT8, Q2_0_G128, TURBO2_0, TURBO3_0, TURBO4_0, "
            "TBQ4_0, NF4DQ, T5B, MXFP8_E5M2" },
        { .id = 44, .several = true, .names = "F8_E5M2 (stable-diffusion.cpp), TQ3_1S, TURBO3_0, TURBO4_0, TBQ4_0" },
        { .id = 45, .several = true, .names = "TQ3_1S, TURBO4_0, Q4_POLAR" },
        { .id = 46, .several = true, .names = "TQ3_4S, TQ3_1S, TQ4_1S, QJL1_256" },
        { .id = 47, .several = true, .names = "TQ4_1S, Q4_0_ROCMFP4, Q2_0, TURBO4_0, TQ4P_D128" },
        { .id = 48, .several = true, .names = "Q4_0_ROCMFP4_FAST, TQ4P_D256" },
        { .id = 105, .names = "TURBO3_0 of ROCmFPX" },
        { .id = 106, .names = "TURBO4_0 of ROCmFPX" },
        { .id = 109, .names = "Q5_0_ROCMFPX of ROCmFPX" },
        { .id = 110, .names = "Q7_0_ROCMFPX of ROCmFPX" },
    };
    for (size_t i = 0; i < sizeof claimed / sizeof *claimed; i++)
        if (claimed[i].id == id) {
            *several = claimed[i].several;
            return claimed[i].names;
        }
    return NULL;
}

bool
dtype_row_bytes(uint64_t *nbytes, enum dtype dtype, uint64_t n)
{
    const struct dtype_facts *f = dtype_facts(dtype);
    return num_mul(nbytes, n / f->elems, f->bytes) && num_add(nbytes, *nbytes, f->prefix);
}

bool
dtype_rows_bytes(uint64_t *nbytes, enum dtype dtype, uint64_t rows, uint64_t n)
{
    uint64_t row;
    *nbytes = 0;
    return rows == 0 || n == 0 || (dtype_row_bytes(&row, dtype, n) && num_mul(nbytes, rows, row)
        && num_add(nbytes, *nbytes, dtype_facts(dtype)->tail));
}

/* Returns the rows that are stored as one: 1 unless they are interleaved. */
static uint32_t
rows_together(enum dtype dtype)
{
    uint32_t n = dtype_facts(dtype)->interleaved;
    if (n != 0)
        return n;
    return 1;
}

uint64_t
dtype_prefix_offset(enum dtype dtype, uint64_t n, uint64_t row)
{
    const struct dtype_facts *f = dtype_facts(dtype);
    uint64_t within = row % rows_together(dtype), nbytes = 0;
    dtype_row_bytes(&nbytes, dtype, n);
    return (row - within) * nbytes + within * f->prefix;
}

uint32_t
dtype_block_step(enum dtype dtype)
{
    return rows_together(dtype) * dtype_facts(dtype)->bytes;
}

uint64_t
dtype_block_offset(enum dtype dtype, uint64_t n, uint64_t row, uint64_t i)
{
    const struct dtype_facts *f = dtype_facts(dtype);
    uint32_t together = rows_together(dtype);
    return dtype_prefix_offset(dtype, n, row - row % together) + (uint64_t)together * f->prefix
        + i / f->elems * dtype_block_step(dtype);
}

const char *
dtype_ggml_removed(uint32_t id)
{
    static const char *const removed[] = {
        [4] = "Q4_2",      [5] = "Q4_3",         [31] = "Q4_0_4_4",     [32] = "Q4_0_4_8",
        [33] = "Q4_0_8_8",
    };
    if (id < sizeof removed / sizeof *removed)
        return removed[id];
    return NULL;
}

bool
dtype_is_float(enum dtype dtype)
{
    return dtype == DTYPE_F64 || dtype == DTYPE_F32 || dtype == DTYPE_F16 || dtype == DTYPE_BF16;
}

bool
dtype_is_float8(enum dtype dtype)
{
    return dtype == DTYPE_F8_E4M3 || dtype == DTYPE_F8_E5M2 || dtype == DTYPE_F8_E4M3FNUZ
        || dtype == DTYPE_F8_E5M2FNUZ;
}

const char *const dtype_targets[] = { "bf16", "f16", "f32", NULL };

enum dtype
dtype_target(unsigned i)
{
    static const enum dtype targets[] = { DTYPE_BF16, DTYPE_F16, DTYPE_F32 };
    return targets[i];
}

static double
number_of_integer(enum dtype dtype, const uint8_t *p)
{
    const size_t size = dtype_facts(dtype)->bytes;
    const bool is_signed = dtype == DTYPE_I8 || dtype == DTYPE_I16 || dtype == DTYPE_I32 || dtype == DTYPE_I64;
    const bool negative = is_signed && p[size - 1] & 0x80;
    uint8_t all[8];
    memset(all, negative ? 0xFF : 0, sizeof all);
    memcpy(all, p, size);
    if (negative)
        return (double)(int64_t)load_le64(all);
    return (double)load_le64(all);
}

double
dtype_number(enum dtype dtype, const uint8_t *p)
{
    uint64_t bits;
    double x;
    switch (dtype) {
    case DTYPE_F16:
        return half_load(p);
    case DTYPE_BF16:
        return bfloat16_to_float(load_le16(p));
    case DTYPE_F32:
        return float_of_bits(load_le32(p));
    case DTYPE_F64:
        bits = load_le64(p);
        memcpy(&x, &bits, sizeof x);
        return x;
    default:
        return number_of_integer(dtype, p);
    }
}
