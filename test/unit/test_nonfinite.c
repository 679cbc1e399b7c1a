/* kernel/nonfinite.h against the C library's isnan() and isinf(), and against every code of 16 bits. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "dtype/bfloat16.h"
#include "dtype/half.h"
#include "kernel/nonfinite.h"

static bool
is(enum dtype dtype, const void *x, size_t n, uint64_t nan, uint64_t infinite)
{
    struct nonfinite sum = { .nan = 5, .infinite = 7 };
    nonfinite_add(&sum, dtype, x, n);
    return sum.nan == nan + 5 && sum.infinite == infinite + 7;
}

/* All codes at once, at an odd address, and each one separately. */
static void
test_16(enum dtype dtype, float of_code(uint16_t))
{
    enum { CODES = 1 << 16 };
    uint8_t *x = malloc(CODES * 2 + 1);
    uint64_t nan = 0, infinite = 0;
    bool each = true;
    for (uint32_t c = 0; c < CODES; c++) {
        uint16_t code = (uint16_t)c;
        float f = of_code(code);
        memcpy(x + 1 + 2 * c, &code, 2);
        nan += isnan(f) != 0;
        infinite += isinf(f) != 0;
        each = each && is(dtype, &code, 1, isnan(f) != 0, isinf(f) != 0);
    }
    CHECK(each && nan != 0 && infinite == 2);
    CHECK(is(dtype, x + 1, CODES, nan, infinite));
    CHECK(is(dtype, x + 1, 0, 0, 0));
    free(x);
}

static void
test_wide(void)
{
    static const uint32_t odd[] = { 0x7F800000, 0xFF800000, 0x7F800001, 0xFFC00000, 0x7FFFFFFF };
    static const uint32_t even[] = { 0, 0x80000000, 0x7F7FFFFF, 0xFF7FFFFF, 1, 0x3F800000 };
    static const double odd64[] = { INFINITY, -INFINITY, NAN }, even64[] = { 0, -0.0, 1.7976931348623157e308, 5e-324 };
    enum { N = 10000 };
    uint8_t *x = calloc(N, 8);
    CHECK(is(DTYPE_F32, odd, 5, 3, 2) && is(DTYPE_C64, odd, 5, 3, 2) && is(DTYPE_F32, even, 6, 0, 0));
    CHECK(is(DTYPE_F64, odd64, 3, 1, 2) && is(DTYPE_F64, even64, 4, 0, 0));
    for (size_t i = 0; i < N; i += 997) {           /* one value at a time, at any position */
        memcpy(x + 4 * i, &odd[0], 4);
        CHECK(is(DTYPE_F32, x, N, 0, 1));
        memset(x + 4 * i, 0, 4);
        memcpy(x + 8 * i, &odd64[2], 8);
        CHECK(is(DTYPE_F64, x, N, 1, 0));
        memset(x + 8 * i, 0, 8);
    }
    free(x);
}

int
main(void)
{
    test_16(DTYPE_BF16, bfloat16_to_float);
    test_16(DTYPE_F16, half_to_float);
    test_wide();
    CHECK(nonfinite_size(DTYPE_U8) == 0 && nonfinite_size(DTYPE_F8_E4M3) == 0 && nonfinite_size(DTYPE_Q4_K) == 0);
    return check_done("nonfinite");
}
