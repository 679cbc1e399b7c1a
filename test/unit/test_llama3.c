/* family/llama3: settings from frequency factors, which another implementation of the formula makes. */
#include <math.h>
#include <stdlib.h>

#include "base/real.h"
#include "check.h"
#include "family/llama3.h"

enum { PAIRS = 64 };

static void
make(float x[PAIRS], double theta, double factor, double low, double high, double length)
{
    for (size_t i = 0; i < PAIRS; i++) {
        float p = real_pow((float)theta, (float)(2 * i) / (float)(2 * PAIRS)), w = (1.0F / (1.0F / p)) * (float)(2 * M_PI);
        float s = ((1.0F / w) * (float)length - (float)low) / (float)(high - low), t = (1.0F - s) / (float)factor + s;
        x[i] = w < (float)(length / high) ? 1 : w > (float)(length / low) ? (float)factor : 1.0F / t;
    }
}

static void
check_settings(double theta, double factor, double low, double high, double length)
{
    float x[PAIRS];
    struct llama3_rope r = { .theta = theta };
    make(x, theta, factor, low, high, length);
    CHECK_ROW(llama3_solve(&r, x, PAIRS), "solved");
    CHECK_ROW(r.factor == factor && r.low == low && r.high == high && r.length == length, "the same settings");
}

static void
test_steps(void)
{
    float x[PAIRS];
    struct llama3_rope r = { .theta = 500000 };
    for (size_t i = 0; i < PAIRS; i++)
        x[i] = i < 32 ? 1 : 16;
    CHECK(llama3_solve(&r, x, PAIRS) && r.factor == 16 && r.low == 1 && r.high == 1 && r.length == 4096);
    for (size_t i = 0; i < PAIRS; i++)
        x[i] = (float)(i % 3 + 1);
    CHECK(!llama3_solve(&r, x, PAIRS));
    x[0] = NAN;
    x[PAIRS - 1] = -1;
    CHECK(!llama3_solve(&r, x, PAIRS) && !llama3_solve(&r, x, 0));
}

int
main(void)
{
    check_settings(500000, 8, 1, 4, 8192);
    check_settings(500000, 32, 1, 4, 8192);
    check_settings(10000, 4, 1, 8, 4096);
    check_settings(1000000, 2, 1, 2.5, 32768);
    test_steps();
    return check_done("llama3");
}
