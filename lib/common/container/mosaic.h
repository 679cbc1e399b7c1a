/* mosaic: tensors that lie in tiles in several files, as one file in which they follow each other in row-major order. That file is a
 * source like any other, so nothing above this layer knows about tiles.
 *
 * A tensor has a grid, whose dimensions multiply to the number of its elements: its own shape, or one dimension of that many
 * elements. The elements of a grid are bytes if the type has two in one. A tile is a box of the grid; its elements lie in a file in row-major order, or in a layout of their own.
 */
#ifndef CONTAINER_MOSAIC_H
#define CONTAINER_MOSAIC_H

#include "catalog/catalog.h"
#include "source/source.h"

struct mosaic;

struct mosaic_tensor {
    const char *name;
    const char *shown;          /* name in messages, escaped; borrowed until mosaic_end(); NULL: the name */
    uint32_t name_len;
    enum dtype dtype;
    const uint64_t *shape;      /* rank dimensions; NULL: those of the grid */
    const uint64_t *grid;       /* axes dimensions */
    uint32_t rank, axes;
};

enum { MOSAIC_AXES = LAYOUT_RANK };

struct mosaic_tile {
    const uint64_t *from, *size;        /* of the box, one for each axis */
    const struct layout *layout;        /* NULL: row-major; copied */
    uint64_t at;                /* offset of its first element in the file, in bytes */
    uint32_t file;              /* index in the `files` of mosaic_source(), or MOSAIC_LATER: see below */
    uint32_t crc;               /* CRC-32 of its bytes, which have no layout; 0: unknown */
};
#define MOSAIC_LATER UINT32_MAX

/* Makes an empty mosaic, whose tensors go to the catalog. NULL on failure. It takes 32 bytes and 16 for each
 * axis for a tile, charged to the catalog's budget. Free it unless mosaic_source() succeeds. */
struct mosaic *mosaic_new(struct catalog *catalog, struct err *err);
void mosaic_free(struct mosaic *m);             /* NULL is allowed */

/* Begins a tensor. Fails with ERR_MALFORMED if its size overflows. */
bool mosaic_begin(struct mosaic *m, const struct mosaic_tensor *t, struct err *err);

/* Adds a tile to it. An empty one is ignored. Fails with ERR_MALFORMED if it is not inside of the grid. */
bool mosaic_add(struct mosaic *m, const struct mosaic_tile *tile, struct err *err);

/* Ends it. Of tiles with the same box the first counts. Fails with ERR_MALFORMED unless the tiles fill the tensor without overlap. */
bool mosaic_end(struct mosaic *m, struct err *err);

/* A tile that was added without a file gets a range of bytes first, which is not its own, and then its place. So a reader whose files
 * describe tiles and their places apart keeps nothing but the tiles. */
struct mosaic_range {
    uint64_t at, nbytes;
    uint32_t file;              /* any number; MOSAIC_LATER: it has no range yet */
};
/* Makes room for tiles with this number of axes in total. */
bool mosaic_reserve(struct mosaic *m, size_t tiles, size_t axes, struct err *err);
/* Finds the tile of tensor i, counted in the order of mosaic_begin(), that begins at an index; false if there is none. */
bool mosaic_find(const struct mosaic *m, size_t i, const uint64_t *from, size_t *tile);
struct mosaic_range mosaic_range(const struct mosaic *m, size_t tile);
void mosaic_set_range(struct mosaic *m, size_t tile, const struct mosaic_range *range);
/* Returns the first tile of tensor i, or the one after *tile, and its box; false if there is none. Zeroed: before the first. */
struct mosaic_walk {
    size_t n, tile;             /* tile: for the functions above */
    const uint64_t *from, *size;
};
bool mosaic_walk(const struct mosaic *m, size_t i, struct mosaic_walk *walk);
/* Gives a tile its place; `from` and `size` of `place` are not read. */
bool mosaic_settle(struct mosaic *m, size_t tile, const struct mosaic_tile *place, struct err *err);

/* Adds the tensors to the catalog, as tensors of file n, and makes their source, which comes after the n files that it borrows. The
 * source then owns the mosaic. */
bool mosaic_source(struct source **src, struct mosaic *m, struct source *const *files, uint32_t n, const char *shown,
    struct err *err);

#endif
