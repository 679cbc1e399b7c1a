/* line: multiplies or divides a line of floats by one number, for values that have two scales or are divided by theirs. One F32
 * operation each. Cannot fail. */
#ifndef KERNEL_LINE_H
#define KERNEL_LINE_H

#include <stddef.h>

void line_multiply(float *v, size_t n, float factor);
void line_divide(float *v, size_t n, float divisor);

#endif
