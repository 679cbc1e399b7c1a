/* swizzle: the order of a grid of block scales: row by row, or in the tiles of the tensor cores, as ComfyUI stores it. If
 * the grid needs no padding, both orders have the same shape and both give plausible weights, so the order is never guessed. */
#ifndef SCHEME_SWIZZLE_H
#define SCHEME_SWIZZLE_H

#include "kernel/tiles.h"
#include "scheme/claims.h"

enum grid_kind {
    GRID_NONE,                  /* neither: malformed */
    GRID_PLAIN,
    GRID_SWIZZLED,
    GRID_EITHER,                /* the shape fits both, and nothing decides */
    GRID_DENIED                 /* the shape fits one, but --input-scheme or config.json requires the other */
};

/* The --input-scheme names of weights in plain and in tiled order. */
#define SCHEME_NVFP4 "modelopt-nvfp4"
#define SCHEME_NVFP4_COMFY "comfy-nvfp4"
#define SCHEME_MXFP8 "mxfp8"
#define SCHEME_MXFP8_COMFY "comfy-mxfp8"

/* Computes the tiled grid of rows x blocks scales, rounded up to multiples of 128 and 4. Returns false if a size overflows
 * 64 bits. */
bool swizzle_grid(uint64_t grid[2], uint64_t rows, uint64_t blocks);

/* Returns the whole tiles that contain the scales from index `from` to index `to`, both included, of a byte each. */
static inline struct span
swizzle_span(uint64_t from, uint64_t to)
{
    return (struct span){ .at = from / TILE * TILE, .len = (to / TILE + 1 - from / TILE) * TILE };
}

/* Looks at all unmarked weights once. */
struct grids swizzle_survey(const struct claims *c);

/* Determines the order of the scales of an unmarked weight P.weight (U8 with 16 elements a scale, or F8 with 32): from the
 * shape, and if that is ambiguous from --input-scheme or from the rest of the model. */
enum grid_kind swizzle_of(const struct claims *c, const struct tensor *codes, const struct tensor *scale);

#endif
