#include "scheme/sdnq_type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "dtype/float8.h"
#include "dtype/half.h"

static bool
set_packed(struct sdnq_type *type, unsigned bits, bool is_signed, unsigned exponent)
{
    *type = (struct sdnq_type){ .bits = bits, .is_signed = is_signed, .packed = true, .stored = DTYPE_U8, .exponent = exponent };
    return true;
}

/* Parses "float6_e3m2fn": bits, exponent, mantissa; a type with fnu has no sign bit. */
static bool
find_float(struct sdnq_type *type, const char *name)
{
    unsigned bits, e, m;
    char sign[4] = "", rest;
    int n = sscanf(name, "float%1u_e%1um%1uf%3[nu]%c", &bits, &e, &m, sign, &rest);
    bool is_signed = strcmp(sign, "n") == 0;
    bool ok = n == 4 && (is_signed || strcmp(sign, "nu") == 0) && e >= 1 && e <= 5 && bits >= 2 && bits <= 8;
    return ok && bits == e + m + is_signed && set_packed(type, bits, is_signed, e);
}

bool
sdnq_type_find(struct sdnq_type *type, const char *name)
{
    static const struct { const char *name; struct sdnq_type type; } plain[] = {
        { "int8", { .bits = 8, .is_signed = true, .stored = DTYPE_I8 } },
        { "uint8", { .bits = 8, .stored = DTYPE_U8 } },
        { "float8_e4m3fn", { .bits = 8, .is_signed = true, .stored = DTYPE_F8_E4M3 } },
        { "fp8", { .bits = 8, .is_signed = true, .stored = DTYPE_F8_E4M3 } },
        { "float8_e5m2", { .bits = 8, .is_signed = true, .stored = DTYPE_F8_E5M2 } },
        { "float8_e8m0fnu", { .bits = 8, .is_signed = true, .stored = DTYPE_F8_E8M0 } },
        { "float16", { .bits = 16, .is_signed = true, .stored = DTYPE_F16 } },
        { "fp16", { .bits = 16, .is_signed = true, .stored = DTYPE_F16 } },
        { "bfloat16", { .bits = 16, .is_signed = true, .stored = DTYPE_BF16 } },
        { "bf16", { .bits = 16, .is_signed = true, .stored = DTYPE_BF16 } },
        { "float32", { .bits = 32, .is_signed = true, .stored = DTYPE_F32 } },
        { "fp32", { .bits = 32, .is_signed = true, .stored = DTYPE_F32 } },
        { "uint1", { .bits = 1, .packed = true, .stored = DTYPE_I64 } },
        { "int1", { .bits = 1, .packed = true, .stored = DTYPE_I64 } },
        { "bool", { .bits = 1, .packed = true, .stored = DTYPE_I64 } },
        { "fp1", { .bits = 1, .packed = true, .stored = DTYPE_I64, .exponent = 1 } },
        { "ufp1", { .bits = 1, .packed = true, .stored = DTYPE_I64, .exponent = 1 } },
        { "float1_e1m0fnu", { .bits = 1, .packed = true, .stored = DTYPE_I64, .exponent = 1 } },
        { "float8_e4m3fn_sdnq", { .bits = 8, .is_signed = true, .packed = true, .stored = DTYPE_U8, .exponent = 4 } },
        { "fp7", { .bits = 7, .is_signed = true, .packed = true, .stored = DTYPE_U8, .exponent = 3 } },
        { "fp6", { .bits = 6, .is_signed = true, .packed = true, .stored = DTYPE_U8, .exponent = 3 } },
        { "fp5", { .bits = 5, .is_signed = true, .packed = true, .stored = DTYPE_U8, .exponent = 2 } },
        { "fp4", { .bits = 4, .is_signed = true, .packed = true, .stored = DTYPE_U8, .exponent = 2 } },
        { "fp3", { .bits = 3, .is_signed = true, .packed = true, .stored = DTYPE_U8, .exponent = 1 } },
        { "fp2", { .bits = 2, .is_signed = true, .packed = true, .stored = DTYPE_U8, .exponent = 1 } },
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i].name, name) == 0) {
            *type = plain[i].type;
            return true;
        }
    bool is_signed = name[0] != 'u';
    const char *digit = name + !is_signed;
    if (str_begins(digit, "int") && digit[3] >= '2' && digit[3] <= '7' && digit[4] == '\0')
        return set_packed(type, (unsigned)(digit[3] - '0'), is_signed, 0);
    return find_float(type, name);
}

/* Returns the value of a code of a packed float: never infinity, NaN or -0. */
static float
float_of_code(const struct sdnq_type *type, unsigned code)
{
    unsigned mantissa = type->bits - type->exponent - type->is_signed, size = type->bits - type->is_signed;
    int bias = (1 << (type->exponent - 1)) - 1, e = (int)(code >> mantissa & ((1U << type->exponent) - 1));
    unsigned m = code & ((1U << mantissa) - 1);
    float v;
    if (e == 0)
        v = ldexpf((float)m, 1 - bias - (int)mantissa);
    else
        v = ldexpf((float)(m + (1U << mantissa)), e - bias - (int)mantissa);
    if (type->is_signed && code >> size & 1 && v != 0)
        return -v;
    return v;
}

/* Returns the value of a code of any type. */
static float
value_of_code(const struct sdnq_type *type, enum dtype codes, unsigned code)
{
    if (type->exponent != 0)
        return float_of_code(type, code);
    if (dtype_is_float8(codes))
        return float8_to_float(codes, (uint8_t)code);
    if (type->packed)
        return (float)code - (float)(1U << (type->bits - 1));
    return (float)(int8_t)code;
}

void
sdnq_type_values(float values[256], const struct sdnq_type *type, enum dtype codes, enum dtype in)
{
    for (unsigned c = 0; c < 256; c++) {
        values[c] = value_of_code(type, codes, c);
        if (in == DTYPE_F16)
            values[c] = half_to_float(half_of_float(values[c]));
    }
}
