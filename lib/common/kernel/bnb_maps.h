/* bnb_maps: the values of bitsandbytes' codes, as the bits of floats, in the order in which its files store them. */
#ifndef KERNEL_BNB_MAPS_H
#define KERNEL_BNB_MAPS_H

#include <stdint.h>

extern const uint32_t bnb_nf4_map[16];
extern const uint32_t bnb_fp4_map[16];          /* code 8, which kernels take for -0, has +0 */
extern const uint32_t bnb_dynamic_map[256];     /* of absmax that is quantized itself; ascending */

#endif
