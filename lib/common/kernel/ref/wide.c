#include "kernel/wide.h"

#include <string.h>

void
wide_from(double *v, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float one;
        memcpy(&one, (const char *)x + i * sizeof one, sizeof one);
        v[i] = one;
    }
}

size_t
wide_beyond(const double *v, size_t n, double most)
{
    size_t beyond = 0;
    for (size_t i = 0; i < n; i++)
        beyond += !(v[i] <= most && v[i] >= -most);
    return beyond;
}

void
wide_to(float *x, const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)v[i];
}
