/* The compiler makes vectors of these loops, so that no other variant is worth its lines. */
#include "kernel/line.h"

void
line_multiply(float *v, size_t n, float factor)
{
    for (size_t i = 0; i < n; i++)
        v[i] *= factor;
}

void
line_divide(float *v, size_t n, float divisor)
{
    for (size_t i = 0; i < n; i++)
        v[i] /= divisor;
}
