/* encode_int: quantizes a group of floats to integers of 2 to 8 bits that share a scale and optionally a zero point, as six
 * families of round-to-nearest encoders do. Codes are unsigned fields, 0 to 2^bits - 1, one a byte.
 *
 *     find       computes the scale and zero point of a group
 *     codes      computes the code q[i] of x[i]
 *     back       computes the decoded value y[i] of q[i], from the scale and zero point as they are stored
 *
 * All operations are in F32, in the order of ref/encode_int.c. Infinite and NaN elements yield unspecified codes.
 */
#ifndef KERNEL_ENCODE_INT_H
#define KERNEL_ENCODE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

struct int_rule {
    enum dtype dtype;           /* type of the weight: F32, F16 or BF16 */
    unsigned bits;
    bool asymmetric;
};

struct int_group {
    float scale;                /* not yet rounded to the stored type */
    float zero;                 /* code of the value 0; for MLX, value of the code 0 */
};

struct int_method {
    void (*find)(struct int_group *g, const float *restrict x, size_t n, const struct int_rule *rule);
    void (*codes)(uint8_t *restrict q, const float *restrict x, size_t n, const struct int_group *g,
        const struct int_rule *rule);
    void (*back)(float *restrict y, const uint8_t *restrict q, size_t n, const struct int_group *g,
        const struct int_rule *rule);
};

extern const struct int_method encode_int_ct;       /* compressed-tensors: in the weight's type */
extern const struct int_method encode_int_absmax;   /* ModelSlim: in the weight's type; scales stored as F32 */
extern const struct int_method encode_int_quark;    /* Quark: scales in the weight's type, codes in F32 */
extern const struct int_method encode_int_gptq;     /* in F32; scales stored as F16 */
extern const struct int_method encode_int_awq;      /* in F16 */
extern const struct int_method encode_int_mlx;      /* in F32; scale and bias stored in the weight's type */

/* Packs n codes, a multiple of 8, into n * bits / 8 bytes: code j has bits [bits * j, bits * j + bits), the lowest first. */
void encode_int_pack(uint8_t *restrict y, const uint8_t *restrict q, size_t n, unsigned bits);

#endif
