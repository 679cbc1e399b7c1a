/* product: the product of two thin matrices of an adapter, L of rows x rank and R of rank x cols, row by row. R is held in memory
 * while the weight is made, and shared by all workers; rows of L are read when they are needed. */
#ifndef ADAPTER_PRODUCT_H
#define ADAPTER_PRODUCT_H

#include "adapter/factor.h"
#include "base/cache.h"

/* What all changes of a job share. */
struct change_owner {
    const struct model *model;
    const struct kernels *k;
    struct cache *resident;             /* factors that all workers use while they change a weight */
};

struct product {
    uint64_t rank, cols;
    struct factor l, r;
    const struct tensor *core;          /* NULL, or a tensor [rank, inner, positions]: r is then b [inner, cols / positions], and
                                         * R[k,(q,x)] the sum of core[k,j,x] * b[j,q] over j, rounded to F32 */
    uint64_t inner, positions;
};

/* Returns false if what is held in memory exceeds `most` bytes. */
bool product_fits(const struct product *p, uint64_t most);

enum { PRODUCT_CODE = 2 };              /* bytes of a code in BF16 */

/* Sets v[i * stride + j] to element (row + i, col + j), or adds s times the element to it, for rows * cols elements. If there
 * are codes instead of v, product_add() changes these. */
struct product_part {
    uint64_t row, col;
    size_t rows, cols, stride;
    double *v;
    uint8_t *codes;                     /* BF16 */
    struct lowrank_sums *sums;          /* of the codes */
};
bool product_set(const struct change_owner *o, const struct product *p, const struct product_part *part, struct err *err);
bool product_add(const struct change_owner *o, const struct product *p, const struct product_part *part, double s,
    struct err *err);

#endif
