/* host: properties of host and compiler that output bytes depend on, checked at compile time. The Makefile includes this
 * before every file. */
#ifndef BASE_HOST_H
#define BASE_HOST_H

#if __SIZEOF_POINTER__ != 8 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "amn supports 64-bit little-endian hosts only: kernels read the elements of a file in place"
#elif defined(__FAST_MATH__) || __FINITE_MATH_ONLY__ || __ASSOCIATIVE_MATH__ || __RECIPROCAL_MATH__ || __NO_SIGNED_ZEROS__ \
    || __FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2      /* 2: x87 registers */
#error "output bytes must not depend on the compiler: remove -Ofast, -ffast-math, -mfpmath=387 and the like from CFLAGS"
#endif

#endif
