/* wide: floats to doubles and back, rounded to nearest even. */
#ifndef KERNEL_WIDE_H
#define KERNEL_WIDE_H

#include <stddef.h>

/* Widens n floats, which may be the second half of the doubles. */
void wide_from(double *v, const float *x, size_t n);
void wide_to(float *x, const double *v, size_t n);

/* Returns the number of n doubles that are NaN or beyond -most or most. */
size_t wide_beyond(const double *v, size_t n, double most);

#endif
