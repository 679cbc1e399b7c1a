#include "kernel/shift.h"

void
shift_add(struct shift_lanes *sum, const float *w, const float *v, const float *before, const float *after, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned lane = i % SHIFT_LANES;
        double base = w[i], d = (double)v[i] - base, r = (double)after[i] - (double)before[i], rest = r - d;
        sum->base[lane] += base * base;
        sum->change[lane] += d * d;
        sum->both[lane] += r * d;
        sum->rest[lane] += rest * rest;
        sum->moved += r != 0;
    }
}
