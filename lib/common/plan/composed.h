/* composed: a tensor of the output that is put together: parts of input tensors and weights, one after the other, then
 * operations on each element, then one rounding to the output type or an encoder. An element depends on its place alone, so
 * that any range can be made by itself. */
#ifndef PLAN_COMPOSED_H
#define PLAN_COMPOSED_H

#include "catalog/catalog.h"
#include "scheme/scheme.h"

/* Elements of a row-major source in another order, or some of them: those at `first` and the places of the layout, counted
 * row-major over its dimensions. A dimension of one element is a dimension here. */
struct strided {
    uint64_t first;
    struct layout layout;
};

/* All elements of a source of these dimensions. */
void strided_init(struct strided *s, const uint64_t *dim, uint32_t rank);

/* Makes `parts` dimensions of n[] elements of dimension d. False: their product is not that of d, or there are too many. */
bool strided_split(struct strided *s, uint32_t d, const uint64_t *n, uint32_t parts);

/* Exchanges dimensions: d + i becomes the one that was d + from[i], for i below n. The inverse is the inverse permutation. */
void strided_permute(struct strided *s, uint32_t d, const uint32_t *from, uint32_t n);

/* Takes places [from, from + n) of dimension d. False: there are fewer. The inverse is to join the slices. */
bool strided_slice(struct strided *s, uint32_t d, uint64_t from, uint64_t n);

/* Arithmetic in F32, each result rounded once; after each operation a part that is stored as F16 is rounded to F16, as torch
 * does. Sources: torch's add, mul, div; NEGATIVE_EXP is -exp(x), LOG_NEGATIVE is log(-x), made with base/real. */
enum operation_kind { OPERATION_ADD, OPERATION_MULTIPLY, OPERATION_DIVIDE, OPERATION_NEGATIVE_EXP, OPERATION_LOG_NEGATIVE };

struct operation {
    enum operation_kind kind;
    float value;                /* that is added, or multiplied or divided by */
};

/* Returns the operation that undoes this one, up to rounding. */
struct operation operation_inverse(struct operation operation);

/* Applies operations to x[0..n), in order. `half`: results are rounded to F16. */
void operations_apply(const struct operation *op, size_t nops, float *x, size_t n, bool half);

/* Elements of an input tensor or a weight: one of these is not NULL. */
struct composed_part {
    const struct tensor *copy;
    const struct weight *decode;
    uint64_t first;                     /* element of the source */
    const struct layout *layout;        /* of the elements from there on; NULL: one after the other. Lives as long as the part */
    uint64_t end;                       /* elements of the composed tensor in this part and those before it */
};

/* Makes a part of elements of a tensor or a weight, and sets its end to their number: there is at least one. What it points to
 * lives as long as the catalog. Where a tensor without a layout is transposed, the part is a tensor with this layout, which the
 * pipeline reads by panels. */
bool composed_part_make(struct composed_part *part, const struct tensor *copy, const struct weight *decode,
    const struct strided *s, struct catalog *memory, struct err *err);

/* Lives as long as the catalog, with all that it points to. */
struct composed {
    struct shape shape;
    const struct composed_part *part;   /* n of them, none of them empty; none: it is `numbers`, F32 */
    size_t n;
    const struct operation *op;         /* nops of them */
    size_t nops;
    const float *numbers;
    const char *name;                   /* of numbers */
};

/* Returns the part that holds an element, which is below the end of the last one. */
size_t composed_find(const struct composed *composed, uint64_t element);

/* Returns the composed tensor's element at which a part begins. */
uint64_t composed_begin(const struct composed *composed, size_t part);

/* Reads elements [first, first + n) of the source of a part; y needs no alignment. */
typedef bool composed_read(void *of, size_t part, uint64_t first, uint64_t n, uint8_t *y, struct err *err);

enum { COMPOSED_TILE = 256 << 10 };     /* bytes of scratch memory that composed_run() is lent */

/* Puts elements [first, first + n) at y, without the operations: by reads as long as the layout allows. `size`:
 * bytes of an element. Fails as `read` does. */
bool composed_run(const struct composed *composed, uint64_t first, uint64_t n, size_t size, uint8_t *y, uint8_t *tile,
    composed_read *read, void *of, struct err *err);

#endif
