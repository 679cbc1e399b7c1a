/* Logarithms and powers against Python's decimal module with 60 digits: Decimal(x).ln() / Decimal(2).ln(),
 * Decimal(base) ** Decimal(x), Decimal(x).exp() and Decimal(x).ln(), rounded once by float() or to a float. Sines and cosines against
 * mpmath with 300 bits. */
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
    double base, x, y;
} any_powers[] = {
    { 0x1.9000000000000p+5, 0x1.0410410410410p+0, 0x1.a9a02919baecdp+5 },
    { 0x1.3880000000000p+13, 0x1.0000000000000p-1, 0x1.9000000000000p+6 },
    { 0x1.0000000000000p+1, 0x1.4000000000000p+3, 0x1.0000000000000p+10 },
    { 0x1.4000000000000p+3, -0x1.8000000000000p+1, 0x1.0624dd2f1a9fcp-10 },
    { 0x1.0000000000000p+0, 0x1.e000000000000p+2, 0x1.0000000000000p+0 },
    { 0x1.f400000000000p+9, 0x1.0842108421084p+0, 0x1.3866fc2bc1ee8p+10 },
    { 0x1.999999999999ap-4, 0x1.4000000000000p+1, 0x1.9e7c6e43390b8p-9 },
    { 0x1.7e43c8800759cp+996, 0x1.0624dd2f1a9fcp-10, 0x1.fec982d5bb8b0p+0 },
    { 0x1.8000000000000p+1, 0x1.0000000000000p+0, 0x1.8000000000000p+1 },
    { 0x1.0000000000000p+1, -0x1.0c80000000000p+10, 0x0.0000000000001p-1022 },
    { 0x1.8000000000000p+0, 0x0.0p+0, 0x1.0000000000000p+0 },
    { 0x1.3026b63fa0292p+19, 0x1.357cc2b95d9d4p+3, 0x1.1e98ace2ed4a6p+186 },
    { 0x1.8447321acabe0p+19, 0x1.1b2b0df352250p+4, 0x1.dcfa0254f497bp+346 },
    { 0x1.694752666677ap+19, 0x1.0e49ba3a67374p+4, 0x1.49137faae34cfp+329 },
    { 0x1.c534eac1b8693p+14, -0x1.6006261ec5e70p+0, 0x1.883c2466ee34ap-21 },
    { 0x1.cc9f96f21d3cbp+19, 0x1.7d5ff69097d14p+2, 0x1.34ceaf47b40a2p+118 },
    { 0x1.b7e48fbd3ba0fp+19, -0x1.ef18ab6483584p+3, 0x1.ef933ca8f4310p-307 },
    { 0x1.ca1343178fce6p+18, -0x1.446303a31427ep+3, 0x1.041b1e8a6f4a7p-191 },
    { 0x1.09821b8299272p+19, 0x1.7a94319f92580p+1, 0x1.467e7a1ad7b94p+56 },
    { 0x1.99d1864c99476p+13, -0x1.6a95fa9eb2222p+3, 0x1.015db127fb821p-155 },
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

static const struct {
    float x, sine, cosine;
} angles[] = {
    { 0x0.0p+0, 0x0.0p+0, 0x1.0000000000000p+0 },
    { 0x1.0000000000000p+0, 0x1.aed5480000000p-1, 0x1.14a2800000000p-1 },
    { -0x1.0000000000000p+0, -0x1.aed5480000000p-1, 0x1.14a2800000000p-1 },
    { 0x1.0000000000000p-1, 0x1.eaee880000000p-2, 0x1.c152800000000p-1 },
    { 0x1.76c0000000000p+10, -0x1.c6e1ca0000000p-2, -0x1.cab5b00000000p-1 },
    { 0x1.921fb60000000p+0, 0x1.0000000000000p+0, -0x1.777a5c0000000p-25 },
    { 0x1.921fb60000000p+1, -0x1.777a5c0000000p-24, -0x1.0000000000000p+0 },
    { 0x1.6300000000000p+9, 0x1.f9bd040000000p-15, 0x1.0000000000000p+0 },
    { 0x1.a36e2e0000000p-14, 0x1.a36e2e0000000p-14, 0x1.0000000000000p+0 },
    { 0x1.869f000000000p+16, 0x1.b872760000000p-1, -0x1.050e620000000p-1 },
    { 0x1.921fb60000000p-1, 0x1.6a09e60000000p-1, 0x1.6a09e60000000p-1 },
    { 0x1.9c511e0000000p-29, 0x1.9c511e0000000p-29, 0x1.0000000000000p+0 },
    { 0x1.d32d200000000p+9, -0x1.ed46b00000000p-1, -0x1.1264360000000p-2 },
    { 0x1.162b8e0000000p+10, 0x1.0e8d880000000p-1, 0x1.b2ada00000000p-1 },
    { 0x1.2a32960000000p+10, -0x1.b2e17e0000000p-1, 0x1.0e3a200000000p-1 },
    { 0x1.616b3a0000000p+10, -0x1.520fea0000000p-5, 0x1.ff90580000000p-1 },
    { 0x1.1576440000000p+10, -0x1.85e93a0000000p-1, -0x1.4bd5560000000p-1 },
    { 0x1.59df340000000p+10, 0x1.dab5c00000000p-1, 0x1.7fa33c0000000p-2 },
    { 0x1.5c10100000000p+5, -0x1.d3d1420000000p-2, 0x1.c772140000000p-1 },
    { 0x1.5d378c0000000p+9, 0x1.aef0f40000000p-1, 0x1.1477640000000p-1 },
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
    for (size_t i = 0; i < sizeof any_powers / sizeof *any_powers; i++) {
        double y = real_power(any_powers[i].base, any_powers[i].x);
        snprintf(what, sizeof what, "power(%a, %a)", any_powers[i].base, any_powers[i].x);
        CHECK_ROW(fabs(y - any_powers[i].y) <= any_powers[i].y * 0x1p-50, what);
    }
    CHECK(isnan(real_power(-1, 1)) && isinf(real_power(2, 1e300)) && real_power(2, -1e300) == 0 && real_power(0.5, 1e9) == 0);
    for (size_t i = 0; i < sizeof exponentials / sizeof *exponentials; i++)
        CHECK(real_exp(exponentials[i].x) == exponentials[i].y);
    for (size_t i = 0; i < sizeof natural / sizeof *natural; i++)
        CHECK(real_log(natural[i].x) == natural[i].y);
    CHECK(isnan(real_exp(NAN)) && isnan(real_log(NAN)) && isnan(real_log(-1)));
    for (size_t i = 0; i < sizeof angles / sizeof *angles; i++) {
        float sine, cosine;
        real_sincos(angles[i].x, &sine, &cosine);
        snprintf(what, sizeof what, "sincos(%a)", (double)angles[i].x);
        CHECK_ROW(sine == angles[i].sine && cosine == angles[i].cosine, what);
    }
    return check_done("test_real");
}
