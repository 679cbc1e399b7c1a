/* The grid of rows x B scales in the order that the block-scaled tensor cores read (cuBLAS, "1D block scaling factors
 * layout"; the eager code of comfy-kitchen): tiles of 128 rows by 4 blocks, 512 scales each, tile after tile along a row.
 * Rows and blocks are padded to whole tiles, so the stored shape is [128 * ceil(rows / 128), 4 * ceil(B / 4)]. */
#include "scheme/swizzle.h"

#include <string.h>

#include "base/num.h"
#include "scheme/comfy_marker.h"

bool
swizzle_grid(uint64_t grid[2], uint64_t rows, uint64_t blocks)
{
    return num_align(&grid[0], rows, TILE_ROWS) && num_align(&grid[1], blocks, TILE_BLOCKS);
}

/* Derives the order from the shape of a scale, for codes with `blocks` blocks a row. Dimensions before the last two are
 * experts, each with its own grid. */
static enum grid_kind
swizzle_kind(const struct shape *scale, const struct shape *codes, uint64_t blocks)
{
    uint32_t rank = codes->rank;
    uint64_t grid[2];
    if (rank < 2 || scale->rank != rank || !shape_same(scale, codes, rank - 2))
        return GRID_NONE;
    uint64_t rows = shape_dim(scale, rank - 2), cols = shape_dim(scale, rank - 1);
    bool plain = rows == shape_dim(codes, rank - 2) && cols == blocks;
    bool tiled = swizzle_grid(grid, shape_dim(codes, rank - 2), blocks) && rows == grid[0] && cols == grid[1];
    if (plain)
        return tiled ? GRID_EITHER : GRID_PLAIN;
    if (tiled)
        return GRID_SWIZZLED;
    return GRID_NONE;
}

/* Returns the kind for codes as they are stored: NVFP4 has 8 bytes per scale, MXFP8 32. */
static enum grid_kind
kind_of(const struct tensor *codes, const struct tensor *scale)
{
    const struct shape *s = &codes->shape;
    uint64_t each = 8;
    if (dtype_is_float8(codes->dtype))
        each = 32;
    else if (codes->dtype == DTYPE_F4)
        each = 16;
    if (s->rank < 2 || shape_dim(s, s->rank - 1) % each != 0)
        return GRID_NONE;
    return swizzle_kind(&scale->shape, s, shape_dim(s, s->rank - 1) / each);
}

/* Returns true if the config declares a method whose scales are in order, as ModelSlim's description file does. */
static bool
config_is_plain(const struct claims *c)
{
    static const char *const methods[] = { "modelopt", "compressed-tensors", "quark", "fp8", "mxfp8", NULL };
    bool plain = config_method_is(c->config, methods);
    for (size_t i = 0; i < catalog_config_count(c->catalog) && !plain; i++)
        plain = strncmp(catalog_config_at(c->catalog, i)->name, CATALOG_DESCRIPTION, strlen(CATALOG_DESCRIPTION)) == 0;
    return plain;
}

struct grids
swizzle_survey(const struct claims *c)
{
    const struct catalog *catalog = c->catalog;
    struct grids g = { .config = config_is_plain(c) };
    struct part_name p;
    for (size_t i = 0; i < catalog_count(catalog) && !g.config; i++) {
        const struct tensor *scale = catalog_at(catalog, i);
        bool e8m0 = scale->dtype == DTYPE_U8 || scale->dtype == DTYPE_F8_E8M0;
        if ((!e8m0 && scale->dtype != DTYPE_F8_E4M3) || !claims_strip_name(scale, ".weight_scale", &p))
            continue;
        const struct tensor *codes = claims_find(c, p.base, p.base_len, ".weight");
        if (!codes || comfy_marker_is_there(c, codes) || kind_of(codes, scale) != GRID_PLAIN)
            continue;
        g.mxfp8 = g.mxfp8 || (e8m0 && dtype_is_float8(codes->dtype));
        g.nvfp4 = g.nvfp4 || (!e8m0 && (codes->dtype == DTYPE_U8 || codes->dtype == DTYPE_F4));
    }
    return g;
}

enum grid_kind
swizzle_of(const struct claims *c, const struct tensor *codes, const struct tensor *scale)
{
    enum grid_kind kind = kind_of(codes, scale);
    const struct grids *g = &c->grids;
    bool mxfp8 = dtype_is_float8(codes->dtype);
    if (kind == GRID_NONE)
        return kind;
    if (claims_is_forced(c, mxfp8 ? SCHEME_MXFP8_COMFY : SCHEME_NVFP4_COMFY))
        return kind == GRID_PLAIN ? GRID_DENIED : GRID_SWIZZLED;
    if (g->config || claims_is_forced(c, mxfp8 ? SCHEME_MXFP8 : SCHEME_NVFP4))
        return kind == GRID_SWIZZLED ? GRID_DENIED : GRID_PLAIN;
    if (kind == GRID_EITHER && (mxfp8 ? g->mxfp8 : g->nvfp4))
        return GRID_PLAIN;
    return kind;
}
