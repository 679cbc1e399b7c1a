/* tiles: the order of block scales for tensor cores, as ComfyUI stores them: tiles of 128 rows by 4 blocks. */
#ifndef KERNEL_TILES_H
#define KERNEL_TILES_H

#include <stdint.h>

enum { TILE_ROWS = 128, TILE_BLOCKS = 4, TILE = TILE_ROWS * TILE_BLOCKS };

/* Returns the index of the scale of block b in row r, in a grid that is `tiles` tiles wide. */
static inline uint64_t
swizzle_at(uint64_t r, uint64_t b, uint64_t tiles)
{
    uint64_t tile = r / TILE_ROWS * tiles + b / TILE_BLOCKS;
    return tile * TILE + r % 32 * 16 + r % TILE_ROWS / 32 * TILE_BLOCKS + b % TILE_BLOCKS;
}

#endif
