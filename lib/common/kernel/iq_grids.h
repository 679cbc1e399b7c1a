/* iq_grids: the six codebooks of the IQ types, indexed by entry. 33 KiB, built at start-up from 4 KiB of bitmaps. */
#ifndef KERNEL_IQ_GRIDS_H
#define KERNEL_IQ_GRIDS_H

#include <stdint.h>

struct iq_grids {
    int8_t iq2xxs[256][8];      /* IQ2_XXS: 8, 25 or 43 */
    int8_t iq2xs[512][8];       /* IQ2_XS: 8, 25 or 43 */
    int8_t iq2s[1024][8];       /* IQ2_S: 8, 25 or 43 */
    int8_t iq1s[2048][8];       /* IQ1_S, IQ1_M: -1, 0 or 1 */
    int8_t iq3xxs[256][4];      /* IQ3_XXS: 4 12 .. 44 52 62 */
    int8_t iq3s[512][4];        /* IQ3_S: 1 3 .. 15 */
};

/* Filled by iq_grids_build(), constant afterwards. */
extern struct iq_grids iq_grids;

/* Builds the codebooks. Must be called once, before threads start. */
void iq_grids_build(void);

#endif
