#include "kernel/loss.h"

#include <math.h>

void
loss_add(struct loss_lanes *sum, const float *x, const float *back, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned lane = i % LOSS_LANES;
        float f = fabsf(x[i] - back[i]);
        double d = f, a = x[i], b = back[i];
        sum->distance[lane] += d;
        sum->noise[lane] += d * d;
        sum->signal[lane] += a * a;
        sum->back[lane] += b * b;
        sum->both[lane] += a * b;
        sum->most[lane] = f > sum->most[lane] ? f : sum->most[lane];
    }
}
