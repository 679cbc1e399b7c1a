/* bnb_maps: the values of bitsandbytes' codes as the bits of floats, in the order in which its files store them. */
#ifndef KERNEL_BNB_MAPS_H
#define KERNEL_BNB_MAPS_H

#include <stdint.h>

extern const uint32_t bnb_nf4_map[16];
extern const uint32_t bnb_fp4_map[16];          /* code 8, which kernels decode as -0, is +0 here */
extern const uint32_t bnb_dynamic_map[256];     /* for nested absmax; ascending */

#endif
