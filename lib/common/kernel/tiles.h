/* tiles: the order in which tensor cores want a grid of block scales, as ComfyUI has it: tiles of 128 rows, 4 blocks. */
#ifndef KERNEL_TILES_H
#define KERNEL_TILES_H

#include <stdint.h>

enum { TILE_ROWS = 128, TILE_BLOCKS = 4, TILE = TILE_ROWS * TILE_BLOCKS };

/* Where the scale of block b of row r lies in a grid of `tiles` tiles side by side. */
static inline uint64_t
swizzle_at(uint64_t r, uint64_t b, uint64_t tiles)
{
    uint64_t tile = r / TILE_ROWS * tiles + b / TILE_BLOCKS;
    return tile * TILE + r % 32 * 16 + r % TILE_ROWS / 32 * TILE_BLOCKS + b % TILE_BLOCKS;
}

#endif
