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
    uint32_t file;              /* index in the `files` of mosaic_source() */
};

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

/* Adds the tensors to the catalog, as tensors of file n, and makes their source, which comes after the n files that it borrows. The
 * source then owns the mosaic. */
bool mosaic_source(struct source **src, struct mosaic *m, struct source *const *files, uint32_t n, const char *shown,
    struct err *err);

#endif
