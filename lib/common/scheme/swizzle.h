/* swizzle: the order in which a grid of block scales lies: row by row, or in the tiles of the tensor cores, as ComfyUI
 * stores it. Where the grid needs no padding, both have the same shape; both give plausible weights, so nothing here is
 * guessed (schemes.md 1.7). */
#ifndef SCHEME_SWIZZLE_H
#define SCHEME_SWIZZLE_H

#include "kernel/tiles.h"
#include "scheme/claims.h"

enum grid_kind {
    GRID_NONE,                  /* neither: malformed */
    GRID_PLAIN,
    GRID_SWIZZLED,
    GRID_EITHER,                /* the shape is that of both, and nothing tells which */
    GRID_DENIED                 /* one of the two, and --scheme or config.json says the other */
};

/* What --scheme calls a weight of the one and of the other order. */
#define SCHEME_NVFP4 "nvfp4-modelopt"
#define SCHEME_NVFP4_COMFY "nvfp4-comfy"
#define SCHEME_MXFP8 "mxfp8"
#define SCHEME_MXFP8_COMFY "mxfp8-comfy"

/* The tiled grid of rows x blocks scales: multiples of 128 and 4. False when it leaves 64 bits. */
bool swizzle_grid(uint64_t grid[2], uint64_t rows, uint64_t blocks);

/* What the shape of a scale says about codes with that many blocks a row. Dimensions before the last two are experts,
 * each with a grid of its own. */
enum grid_kind swizzle_kind(const struct shape *scale, const struct shape *codes, uint64_t blocks);

/* One look at all unmarked weights. */
struct grids swizzle_survey(const struct claims *c);

/* The order of the scales of an unmarked weight P.weight, U8 with 16 elements a scale or F8 with 32: its shape, and
 * where that leaves it open what --scheme or the rest of the model says. */
enum grid_kind swizzle_of(const struct claims *c, const struct tensor *codes, const struct tensor *scale);

#endif
