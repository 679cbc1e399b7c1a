/* test_assign: the mix of encoders for a target size, compared with every possible mix; and the time for many weights. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "plan/assign.h"

enum { WEIGHTS = 6, EACH = 6, MIXES = 46656, CASES = 300, MANY = 1000 };

static uint32_t state = 1;

/* Returns a random number from 0 to 1. */
static double
next(void)
{
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) * 0x1p-24;
}

static const double bits[EACH] = { 2.625, 3.4375, 4.5, 5.5, 6.5625, 8.5 };

/* Makes options like q2_k to q8_0 for weights of different sizes, with errors that vary around the theoretical value. *least
 * and *most are the bytes of the smallest and the largest mix. */
static void
fill(struct assign_option *o, size_t n, int kind, uint64_t *least, uint64_t *most)
{
    *least = *most = 0;
    for (size_t i = 0; i < n; i++, o += EACH) {
        double elements = kind == 0 ? 8192 * (1 + (int)(next() * 16)) : kind == 1 ? 1048576 * (1 << (int)(next() * 4))
            : 256 * (1 + (int)(next() * 1000));
        double variance = exp(4 * next() - 2);

        for (int k = 0; k < EACH; k++) {
            o[k].nbytes = (uint64_t)(elements * bits[k] / 8);
            o[k].noise = elements * variance * pow(4, -bits[k]) * (0.7 + 0.6 * next());
        }
        if (kind == 2)
            o[1 + (int)(next() * 4)].nbytes = ASSIGN_NEVER;
        *least += o[0].nbytes;
        *most += o[EACH - 1].nbytes;
    }
}

static double
noise_of(const size_t *pick, const struct assign_option *o, size_t n, uint64_t *nbytes)
{
    double noise = 0;

    *nbytes = 0;
    for (size_t i = 0; i < n; i++) {
        noise += o[i * EACH + pick[i]].noise;
        *nbytes += o[i * EACH + pick[i]].nbytes;
    }
    return noise;
}

/* Returns the smallest noise of all mixes that fit. */
static double
least_noise(const struct assign_option *o, uint64_t most)
{
    double best = INFINITY;

    for (size_t mix = 0; mix < MIXES; mix++) {
        size_t rest = mix, i = 0;
        double noise = 0;
        uint64_t left = most;

        for (; i < WEIGHTS && o[i * EACH + rest % EACH].nbytes <= left; i++, rest /= EACH) {
            left -= o[i * EACH + rest % EACH].nbytes;
            noise += o[i * EACH + rest % EACH].noise;
        }
        if (i == WEIGHTS && noise < best)
            best = noise;
    }
    return best;
}

static void
test_six(void)
{
    static struct assign_option o[WEIGHTS * EACH];
    size_t pick[WEIGHTS];
    uint64_t small, large, used, least;

    for (int i = 0; i < CASES; i++) {
        fill(o, WEIGHTS, i % 3, &small, &large);
        uint64_t most = small + (uint64_t)((double)(large - small) * next());
        struct err err;

        err_init(&err);
        CHECK(assign_encoders(pick, o, WEIGHTS, EACH, most, &least, &err) && least == small);
        double noise = noise_of(pick, o, WEIGHTS, &used);
        CHECK(used <= most && noise <= least_noise(o, most) * (1 + 1e-12));
    }
}

/* A weight that no option can encode, a target that is too small, and one that is large enough for everything. */
static void
test_ends(void)
{
    struct assign_option o[2 * EACH];
    size_t pick[2];
    uint64_t small, large, used, least;
    struct err err;

    err_init(&err);
    fill(o, 2, 0, &small, &large);
    CHECK(assign_encoders(pick, o, 2, EACH, small - 1, &least, &err) && least == small);
    CHECK(assign_encoders(pick, o, 2, EACH, small, &least, &err));
    CHECK(noise_of(pick, o, 2, &used) > 0 && used == small);
    CHECK(assign_encoders(pick, o, 2, EACH, UINT64_MAX, &least, &err) && noise_of(pick, o, 2, &used) > 0);
    for (int k = 0; k < EACH; k++)
        CHECK(o[pick[0]].noise <= o[k].noise && o[EACH + pick[1]].noise <= o[EACH + k].noise);
    for (int k = 0; k < EACH; k++)
        o[k].nbytes = ASSIGN_NEVER;
    CHECK(assign_encoders(pick, o, 2, EACH, large, &least, &err) && pick[0] == EACH && pick[1] < EACH);
    CHECK(assign_encoders(pick, o, 0, EACH, 0, &least, &err) && least == 0);
}

static void
test_many(void)
{
    struct assign_option *o = malloc(MANY * EACH * sizeof *o);
    size_t *pick = malloc(MANY * sizeof *pick);
    uint64_t small, large, used, least;
    struct err err;
    clock_t began = clock();

    err_init(&err);
    for (int i = 0; i < 9 && CHECK(o && pick); i++) {
        fill(o, MANY, i % 3, &small, &large);
        uint64_t most = small + (large - small) / 10 * (uint64_t)(i + 1);

        CHECK(assign_encoders(pick, o, MANY, EACH, most, &least, &err));
        noise_of(pick, o, MANY, &used);
        CHECK(used <= most && most - used < most / 1000);
    }
    CHECK((double)(clock() - began) / CLOCKS_PER_SEC < 60);
    free(o);
    free(pick);
}

int
main(void)
{
    test_six();
    test_ends();
    test_many();
    return check_done("test_assign");
}
