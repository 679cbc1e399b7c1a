/* Logarithms and powers against Python's decimal module with 60 digits: Decimal(x).ln() / Decimal(2).ln(),
 * Decimal(base) ** Decimal(x), Decimal(x).exp() and Decimal(x).ln(), rounded once by float() or to a float. */
#include "check.h"

#include <math.h>

#include "base/real.h"

static const struct {
    double x, log2;
} logarithms[] = {
    { 0x1.0000000000000p+1, 0x1.0000000000000p+0 },
    { 0x1.0000000000000p+0, 0x0.0p+0 },
    { 0x1.4000000000000p+3, 0x1.a934f0979a371p+1 },
    { 0x1.999999999999ap-4, -0x1.a934f0979a371p+1 },
    { 0x1.8000000000000p+1, 0x1.95c01a39fbd68p+0 },
    { 0x1.1ccf385ebc8a0p+1023, 0x1.ff93b176658a4p+9 },
    { 0x0.0000000000001p-1022, -0x1.0c80000000000p+10 },
    { 0x1.8000000000000p+0, 0x1.2b803473f7ad1p-1 },
    { 0x1.8000000000000p-1, -0x1.a8ff971810a5ep-2 },
    { 0x1.e848600000000p+19, 0x1.3ee7b8fb82f5dp+4 },
    { 0x1.e240c9fbe76c9p+16, 0x1.0e9e4bf2a1cb2p+4 },
    { 0x1.3c6da5c9b49f4p-47, -0x1.758ddadfdb4a9p+5 },
    { 0x1.b8a1abccac825p+1, 0x1.c88ecc20c9aafp+0 },
    { 0x1.27ac4342e219ep-52, -0x1.9e564e6ea1097p+5 },
    { 0x1.0512bd0cd9d56p+10, 0x1.40e7eb8296d99p+3 },
    { 0x1.eaff1a094290ep+42, 0x1.57843cb3964aap+5 },
    { 0x1.fd7244587c364p-53, -0x1.a00ec5fd2a9a6p+5 },
    { 0x1.38d048f0a69e8p+8, 0x1.0940cb65610adp+3 },
    { 0x1.5c3902a8da958p+39, 0x1.3b8d09d7aedbep+5 },
    { 0x1.2c33be1a75bbap-47, -0x1.762963acf778dp+5 },
};

static const struct {
    float x, y;
} exponentials[] = {
    { 0x1p-1f, 0x1.a61298p+0f }, { -0x1p-1f, 0x1.368b3p-1f }, { 0x1p+0f, 0x1.5bf0a8p+1f },
    { -0x1.44p+4f, 0x1.b93de2p-30f }, { 0x1.921fb6p+1f, 0x1.72404ap+4f }, { 0x1.62p+6f, 0x1.99b988p+127f },
    { -0x1.5cp+6f, 0x1.666d0ep-126f }, { 0x1.4f8b58p-17f, 0x1.0000a8p+0f }, { -0x1.4484cp-100f, 1 },
    { 0x1.62e43p+1f, 0x1p+4f }, { 0, 1 }, { 128, INFINITY }, { 89, INFINITY }, { -128, 0 }, { -INFINITY, 0 },
}, natural[] = {
    { 0x1p-1f, -0x1.62e43p-1f }, { 1, 0 }, { 0x1.8p+0f, 0x1.9f323ep-2f }, { 0x1.44p+4f, 0x1.810b38p+1f },
    { 0x1.921fb6p+1f, 0x1.250d06p+0f }, { 0x1.2ced32p+126f, 0x1.5dfe3p+6f }, { 0x1.b38fb8p-127f, -0x1.5dfe3p+6f },
    { 0x1p-149f, -0x1.9d1dap+6f }, { 0x1.000002p+0f, 0x1.fffffep-24f }, { 0x1.fffffep-1f, -0x1p-24f }, { 0, -INFINITY },
};

static const struct {
    float base, x, power;
} powers[] = {
    { 0x1.388000p+13f, 0x1.000000p-5f, 0x1.5561aap+0f },
    { 0x1.388000p+13f, 0x1.c00000p-3f, 0x1.dfeeaap+2f },
    { 0x1.388000p+13f, 0x1.f00000p-1f, 0x1.d4af12p+12f },
    { 0x1.e84800p+18f, 0x1.000000p-6f, 0x1.3a420ep+0f },
    { 0x1.e84800p+18f, 0x1.400000p-2f, 0x1.e31436p+5f },
    { 0x1.e84800p+18f, 0x1.f80000p-1f, 0x1.8dc328p+18f },
    { 0x1.e84800p+19f, 0x1.800000p-5f, 0x1.e93436p+0f },
    { 0x1.e84800p+19f, 0x1.900000p-1f, 0x1.7c7182p+15f },
    { 0x1.333334p-2f, 0x1.666666p-1f, 0x1.b8d80ap-2f },
    { 0x1.16c200p-133f, 0x1.000000p-1f, 0x1.79c9cep-67f },
    { 0x1.c363ccp+127f, 0x1.ff7ceep-1f, 0x1.9d1e76p+127f },
    { 0x1.000000p+1f, 0x1.000000p+0f, 0x1.000000p+1f },
    { 0x1.24f800p+17f, 0x1.000000p-4f, 0x1.0d98eep+1f },
    { 0x1.388000p+13f, 0x1.4484c0p-100f, 0x1.000000p+0f },
    { 0, 0, 1 }, { 0, 0.5f, 0 }, { INFINITY, 0, 1 }, { INFINITY, 0.5f, INFINITY }, { 1, 0.5f, 1 },
};

int
main(void)
{
    char what[64];
    for (size_t i = 0; i < sizeof logarithms / sizeof *logarithms; i++) {
        snprintf(what, sizeof what, "log2(%a)", logarithms[i].x);
        CHECK_ROW(real_log2(logarithms[i].x) == logarithms[i].log2, what);
    }
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
        snprintf(what, sizeof what, "pow(%a, %a)", (double)powers[i].base, (double)powers[i].x);
        CHECK_ROW(real_pow(powers[i].base, powers[i].x) == powers[i].power, what);
    }
    for (size_t i = 0; i < sizeof exponentials / sizeof *exponentials; i++)
        CHECK(real_exp(exponentials[i].x) == exponentials[i].y);
    for (size_t i = 0; i < sizeof natural / sizeof *natural; i++)
        CHECK(real_log(natural[i].x) == natural[i].y);
    CHECK(isnan(real_exp(NAN)) && isnan(real_log(NAN)) && isnan(real_log(-1)));
    return check_done("test_real");
}
