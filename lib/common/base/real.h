/* real: logarithms, powers, sines and cosines that have the same bits with every libc: they are computed with integers, or with sums and
 * products of doubles, which IEEE 754 defines. */
#ifndef BASE_REAL_H
#define BASE_REAL_H

/* Returns the binary logarithm of x, which must be finite and positive. The error is below 2^-59 before rounding to a
 * double. */
double real_log2(double x);

/* Returns base to the power of x, for base >= 0 and 0 <= x <= 1. The relative error is below 2^-53 before rounding to a
 * float. */
float real_pow(float base, float x);

/* Returns base to the power of x, for any x and a base > 0 that is finite, else NaN. The relative error is below 2^-50 for a
 * result that is a normal float. */
double real_power(double base, double x);

/* The exponential function and the natural logarithm. The relative error, or the absolute error of logarithms near 0, is
 * below 2^-50 before rounding to a float. The logarithm of a negative number is NaN. */
float real_exp(float x);
float real_log(float x);

/* Computes the sine and the cosine of x, for |x| below 2^20, else NaN. The absolute error is below 2^-50 before rounding to a float, and
 * the relative error too, because no float lies so near a multiple of pi. */
void real_sincos(float x, float *sine, float *cosine);

#endif
