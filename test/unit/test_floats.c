/* test_floats: half, bfloat16 and float8, every code; the roundings on both sides of every tie. */
#include "check.h"

#include <math.h>

#include "dtype/bfloat16.h"
#include "dtype/float8.h"
#include "dtype/half.h"
#include "float8_expected.h"

static bool
same(float a, float b)
{
    return bits_of_float(a) == bits_of_float(b);
}

static void
test_float8(void)
{
    static const struct { enum dtype dtype; const uint32_t *expected; } types[] = {
        { DTYPE_F8_E4M3, expected_e4m3 }, { DTYPE_F8_E5M2, expected_e5m2 },
        { DTYPE_F8_E4M3FNUZ, expected_e4m3fnuz }, { DTYPE_F8_E5M2FNUZ, expected_e5m2fnuz },
        { DTYPE_F8_E8M0, expected_e8m0 },
    };

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (unsigned c = 0; c < 256; c++)
            CHECK_ROW(bits_of_float(float8_to_float(types[i].dtype, (uint8_t)c)) == types[i].expected[c],
                dtype_name(types[i].dtype));
}

static void
test_half(void)
{
    unsigned wrong_value = 0, wrong_back = 0, wrong_tie = 0, wrong_near = 0;

    for (unsigned h = 0; h < 0x10000; h++) {
        int e = h >> 10 & 31, m = h & 1023;
        double magnitude = e == 0 ? ldexp(m, -24) : e < 31 ? ldexp(1024 + m, e - 25) : INFINITY;
        float f = half_to_float((uint16_t)h);

        if (e == 31 && m != 0) {
            wrong_value += bits_of_float(f) != 0x7FC00000u;
            wrong_back += half_of_float(f) != 0x7E00;
        } else {
            wrong_value += !same(f, (float)(h & 0x8000 ? -magnitude : magnitude));
            wrong_back += half_of_float(f) != h;
        }
    }
    /* Values between each half and the next: below the midpoint down, above it up, the midpoint to the even one. */
    for (unsigned h = 0; h < 0x7C00; h++) {
        double low = half_to_float((uint16_t)h);
        double high = h == 0x7BFF ? 65536.0 : half_to_float((uint16_t)(h + 1));
        float middle = (float)((low + high) / 2);

        for (unsigned sign = 0; sign <= 0x8000; sign += 0x8000) {
            float s = sign ? -1.0f : 1.0f;

            wrong_tie += half_of_float(s * middle) != (sign | (h + (h & 1)));
            wrong_near += half_of_float(s * nextafterf(middle, 0.0f)) != (sign | h);
            wrong_near += half_of_float(s * nextafterf(middle, INFINITY)) != (sign | (h + 1));
        }
    }
    CHECK(wrong_value == 0);
    CHECK(wrong_back == 0);
    CHECK(wrong_tie == 0);
    CHECK(wrong_near == 0);
    CHECK(half_of_float(65519.996f) == 0x7BFF);
    CHECK(half_of_float(65520.0f) == 0x7C00 && half_of_float(-3.4e38f) == 0xFC00);
    CHECK(half_of_float(INFINITY) == 0x7C00 && half_of_float(-INFINITY) == 0xFC00);
    CHECK(half_of_float(0.0f) == 0 && half_of_float(-0.0f) == 0x8000);
    CHECK(half_of_float(0x1p-25f) == 0 && half_of_float(-0x1p-149f) == 0x8000);
    CHECK(half_of_float(float_of_bits(0xFF800001u)) == 0x7E00 && half_of_float(float_of_bits(0x7FFFFFFFu)) == 0x7E00);
    CHECK(half_is_finite(0x7BFF) && half_is_finite(0x8000) && !half_is_finite(0x7C00) && !half_is_finite(0xFE00));
}

static void
test_bfloat16(void)
{
    unsigned wrong_back = 0, wrong_tie = 0, wrong_near = 0, wrong_nan = 0;

    for (unsigned b = 0; b < 0x10000; b++) {
        unsigned magnitude = b & 0x7FFF, up = b + 1;

        if (magnitude > 0x7F80) {
            wrong_nan += bits_of_float(bfloat16_to_float((uint16_t)b)) != 0x7FC00000u;
            wrong_nan += bfloat16_of_float(float_of_bits(b << 16)) != 0x7FC0;
            wrong_nan += bfloat16_of_float(float_of_bits(b << 16 | 0xFFFF)) != 0x7FC0;
            continue;
        }
        wrong_back += bits_of_float(bfloat16_to_float((uint16_t)b)) != b << 16;
        wrong_back += bfloat16_of_float(float_of_bits(b << 16)) != b;
        if (magnitude == 0x7F80)
            continue;
        wrong_tie += bfloat16_of_float(float_of_bits(b << 16 | 0x8000)) != (b & 1 ? up : b);
        wrong_near += bfloat16_of_float(float_of_bits(b << 16 | 0x7FFF)) != b;
        wrong_near += bfloat16_of_float(float_of_bits(b << 16 | 0x8001)) != up;
    }
    CHECK(wrong_back == 0);
    CHECK(wrong_tie == 0);
    CHECK(wrong_near == 0);
    CHECK(wrong_nan == 0);
    CHECK(bfloat16_of_float(3.4028235e38f) == 0x7F80);          /* overflow */
    CHECK(bfloat16_of_float(float_of_bits(0x00008000u)) == 0);  /* half the smallest subnormal */
    CHECK(bfloat16_of_float(float_of_bits(0x80018000u)) == 0x8002);
    CHECK(bfloat16_of_float(float_of_bits(0x7F800001u)) == 0x7FC0);
    CHECK(bfloat16_of_float(float_of_bits(0xFFFF8000u)) == 0x7FC0);
}

int
main(void)
{
    test_half();
    test_bfloat16();
    test_float8();
    return check_done("test_floats");
}
