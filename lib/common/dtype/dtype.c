#include "dtype/dtype.h"

#include <string.h>

#include "base/num.h"
#include "dtype/ggml_block.h"

#define NOT DTYPE_NO_GGML

/* Scalars: safetensors, tensor.rs, Dtype. Blocks and ids: ggml.h, ggml_type; ggml.c, type_traits. */
static const struct dtype_facts facts[DTYPE_COUNT] = {
    /*                      tag            elems bytes word ggml */
    [DTYPE_BOOL]        = { "BOOL",          1,    1,   1,  NOT, DTYPE_IS_BOOL },
    [DTYPE_F4]          = { "F4",            2,    1,   1,  NOT, DTYPE_IS_FLOAT },
    [DTYPE_F6_E2M3]     = { "F6_E2M3",       4,    3,   1,  NOT, DTYPE_IS_FLOAT },
    [DTYPE_F6_E3M2]     = { "F6_E3M2",       4,    3,   1,  NOT, DTYPE_IS_FLOAT },
    [DTYPE_U8]          = { "U8",            1,    1,   1,  NOT, DTYPE_IS_INT },
    [DTYPE_I8]          = { "I8",            1,    1,   1,   24, DTYPE_IS_INT },
    [DTYPE_F8_E5M2]     = { "F8_E5M2",       1,    1,   1,  NOT, DTYPE_IS_FLOAT },
    [DTYPE_F8_E4M3]     = { "F8_E4M3",       1,    1,   1,  NOT, DTYPE_IS_FLOAT },
    [DTYPE_F8_E8M0]     = { "F8_E8M0",       1,    1,   1,  NOT, DTYPE_IS_FLOAT },
    [DTYPE_F8_E4M3FNUZ] = { "F8_E4M3FNUZ",   1,    1,   1,  NOT, DTYPE_IS_FLOAT },
    [DTYPE_F8_E5M2FNUZ] = { "F8_E5M2FNUZ",   1,    1,   1,  NOT, DTYPE_IS_FLOAT },
    [DTYPE_I16]         = { "I16",           1,    2,   2,   25, DTYPE_IS_INT },
    [DTYPE_U16]         = { "U16",           1,    2,   2,  NOT, DTYPE_IS_INT },
    [DTYPE_F16]         = { "F16",           1,    2,   2,    1, DTYPE_IS_FLOAT },
    [DTYPE_BF16]        = { "BF16",          1,    2,   2,   30, DTYPE_IS_FLOAT },
    [DTYPE_I32]         = { "I32",           1,    4,   4,   26, DTYPE_IS_INT },
    [DTYPE_U32]         = { "U32",           1,    4,   4,  NOT, DTYPE_IS_INT },
    [DTYPE_F32]         = { "F32",           1,    4,   4,    0, DTYPE_IS_FLOAT },
    [DTYPE_C64]         = { "C64",           1,    8,   4,  NOT, DTYPE_IS_COMPLEX },
    [DTYPE_F64]         = { "F64",           1,    8,   8,   28, DTYPE_IS_FLOAT },
    [DTYPE_I64]         = { "I64",           1,    8,   8,   27, DTYPE_IS_INT },
    [DTYPE_U64]         = { "U64",           1,    8,   8,  NOT, DTYPE_IS_INT },
#define BLOCK(type, id) [DTYPE_##type] = { #type, type##_ELEMS, type##_BYTES, 0, id, DTYPE_IS_BLOCK }
    BLOCK(Q4_0, 2),     BLOCK(Q4_1, 3),     BLOCK(Q5_0, 6),     BLOCK(Q5_1, 7),    BLOCK(Q8_0, 8),
    BLOCK(Q8_1, 9),     BLOCK(Q2_K, 10),    BLOCK(Q3_K, 11),    BLOCK(Q4_K, 12),   BLOCK(Q5_K, 13),
    BLOCK(Q6_K, 14),    BLOCK(Q8_K, 15),    BLOCK(IQ2_XXS, 16), BLOCK(IQ2_XS, 17), BLOCK(IQ3_XXS, 18),
    BLOCK(IQ1_S, 19),   BLOCK(IQ4_NL, 20),  BLOCK(IQ3_S, 21),   BLOCK(IQ2_S, 22),  BLOCK(IQ4_XS, 23),
    BLOCK(IQ1_M, 29),   BLOCK(TQ1_0, 34),   BLOCK(TQ2_0, 35),   BLOCK(MXFP4, 39),  BLOCK(NVFP4, 40),
    BLOCK(Q1_0, 41),    BLOCK(Q2_0, 42),
#undef BLOCK
    [DTYPE_UNKNOWN]     = { "unknown",       1,    0,   0,  NOT, DTYPE_IS_UNKNOWN },
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
        if (strlen(facts[i].name) == n && memcmp(facts[i].name, tag, n) == 0) {
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

bool
dtype_row_bytes(uint64_t *nbytes, enum dtype dtype, uint64_t n)
{
    const struct dtype_facts *f = dtype_facts(dtype);
    return num_mul(nbytes, n / f->elems, f->bytes);
}

bool
dtype_rows_bytes(uint64_t *nbytes, enum dtype dtype, uint64_t rows, uint64_t n)
{
    uint64_t row;
    *nbytes = 0;
    return rows == 0 || n == 0 || (dtype_row_bytes(&row, dtype, n) && num_mul(nbytes, rows, row));
}

uint64_t
dtype_row_offset(enum dtype dtype, uint64_t i)
{
    const struct dtype_facts *f = dtype_facts(dtype);
    return i / f->elems * f->bytes;
}

const char *
dtype_ggml_removed(uint32_t id)
{
    static const char *const removed[] = {
        [4] = "Q4_2",      [5] = "Q4_3",         [31] = "Q4_0_4_4",     [32] = "Q4_0_4_8",
        [33] = "Q4_0_8_8", [36] = "IQ4_NL_4_4",  [37] = "IQ4_NL_4_8",   [38] = "IQ4_NL_8_8",
    };
    return id < sizeof removed / sizeof *removed ? removed[id] : NULL;
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
