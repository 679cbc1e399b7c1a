/* real: logarithms and powers of doubles with the same bits on every libc. They are made of integers alone. */
#ifndef BASE_REAL_H
#define BASE_REAL_H

/* The binary logarithm of x, which is finite and positive; its error is below 2^-59 before it is rounded to a double. */
double real_log2(double x);

/* base to the power of x, with base >= 0 and 0 <= x <= 1; its relative error is below 2^-53 before it is rounded to a float. */
float real_pow(float base, float x);

#endif
