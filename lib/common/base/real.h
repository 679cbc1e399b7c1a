/* real: logarithms and powers with the same bits on every libc. They are made of integers alone. */
#ifndef BASE_REAL_H
#define BASE_REAL_H

/* The binary logarithm of x, which is finite and positive; its error is below 2^-59 before it is rounded to a double. */
double real_log2(double x);

/* base to the power of x, with base >= 0 and 0 <= x <= 1; its relative error is below 2^-53 before it is rounded to a float. */
float real_pow(float base, float x);

/* The exponential function and the natural logarithm; their relative error, and of logarithms near 0 their absolute one, is below
 * 2^-50 before they are rounded to a float. The logarithm of a negative number is NaN. */
float real_exp(float x);
float real_log(float x);

#endif
