/* Exact encodings from codes: the steps of any set of E2M1 codes are those that the search finds among their values. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "encode/move.h"
#include "encode/solve.h"

static const float values[16] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6 };

static const struct kernels *kernels;

/* A block has the codes of a set in order, beginning with the last. Returns false if the steps differ from the search's. */
static bool
is_found(const struct encoding *e, unsigned found, unsigned bits, unsigned *refused)
{
    const struct solve_steps how = { .bits = bits, .type = DTYPE_F32 };
    const uint8_t *numbers = move_numbers(e);
    struct exact_fail fail = { 0 };
    struct move_steps s;
    struct int_group g;
    float x[32];
    uint8_t q[32], wanted[32];
    for (int i = 0, c = 15; i < 32; i++) {
        while ((found >> c & 1) == 0)
            c = (c + 15) % 16;
        x[i] = values[c] * 0x1p-3f;
        q[i] = numbers[c];
        c = (c + 15) % 16;
    }
    const struct solve_block b = { .x = x, .n = 32, .level = EXACT_F32, .source = e->exact->source, .kernels = kernels, .fail = &fail };
    if (!move_find_steps(&s, found, bits)) {
        *refused += solve_steps(&b, &how, &g, wanted) && !(found >> 8 & 1);      /* 0 of both signs is left to the search */
        return true;
    }
    uint8_t number[32];
    memcpy(number, q, sizeof number);
    move_put_steps(q, &s);
    if (!solve_steps(&b, &how, &g, wanted) || memcmp(q, wanted, sizeof q) != 0)
        return false;
    return g.scale == s.step * 0x1p-3f && g.zero == s.least * 0x1p-3f && move_take_steps(q, &s) && memcmp(q, number, sizeof q) == 0;
}

int
main(void)
{
    const struct exact_terms terms = { .level = EXACT_F32, .source = { .codes = EXACT_E2M1, .scale = DTYPE_F8_E8M0, .bits = 4, .group = 32 } };
    const struct encoding e = { .exact = &terms };
    struct err err;
    err_init(&err);
    kernels = kernels_pick(NULL, &err);
    for (unsigned bits = 4; bits <= 8; bits++) {
        unsigned refused = 0;
        bool ok = true;
        for (unsigned found = 1; found < 1u << 16; found++)
            ok = ok && is_found(&e, found, bits, &refused);
        CHECK(ok && refused == 0);
    }
    return check_done("test_move");
}
