/* composed: an output tensor made of several sources: parts of input tensors and weights, one after the other or joined along
 * an inner dimension, with operations on each element, then one rounding to the output type or an encoder. An element
 * depends only on its position, so any range can be made independently. */
#ifndef PLAN_COMPOSED_H
#define PLAN_COMPOSED_H

#include "catalog/catalog.h"
#include "plan/repack.h"
#include "scheme/scheme.h"

/* A selection or reordering of the elements of a row-major source: element i is the source's element first + layout_at(layout,
 * i). Unlike layout_make(), dimensions of one element are kept. */
struct strided {
    uint64_t first;
    struct layout layout;
};

/* Sets the layout to all elements of a source with these dimensions. */
void strided_init(struct strided *s, const uint64_t *dim, uint32_t rank);

/* Splits dimension d into `parts` dimensions of n[] elements. False if their product is not the size of d, or the rank would
 * exceed LAYOUT_RANK. */
bool strided_split(struct strided *s, uint32_t d, const uint64_t *n, uint32_t parts);

/* Permutes n dimensions: dimension d + i becomes the former d + from[i]. The inverse is the inverse permutation. */
void strided_permute(struct strided *s, uint32_t d, const uint32_t *from, uint32_t n);

/* Keeps indices [from, from + n) of dimension d. Returns false if d has fewer. The inverse is to join the slices, as parts. */
bool strided_slice(struct strided *s, uint32_t d, uint64_t from, uint64_t n);

/* Arithmetic in F32, each result rounded once; after each operation a part that is stored as F16 is rounded to F16, as torch
 * does. Sources: torch's add, mul, div; NEGATIVE_EXP is -exp(x), LOG_NEGATIVE is log(-x), computed with base/real. */
enum operation_kind { OPERATION_ADD, OPERATION_MULTIPLY, OPERATION_DIVIDE, OPERATION_NEGATIVE_EXP, OPERATION_LOG_NEGATIVE };

struct operation {
    enum operation_kind kind;
    float value;                /* the second operand of ADD, MULTIPLY and DIVIDE */
};

/* Returns the inverse operation, exact except for rounding. */
struct operation operation_inverse(struct operation operation);

/* Applies operations to x[0..n), in order. `half`: results are rounded to F16. */
void operations_apply(const struct operation *op, size_t nops, float *x, size_t n, bool half);

/* Elements of an input tensor or a weight, or units of quantized data; exactly one of the three is not NULL. If one part has
 * units, all have, of the same size, and everything here counts units instead of elements. */
struct composed_part {
    const struct tensor *copy;
    const struct weight *decode;
    const struct repack *repack;
    uint64_t first;                     /* element of the source */
    const struct layout *layout;        /* order of the elements, relative to `first`; NULL: contiguous. Borrowed */
    uint64_t end;                       /* number of elements up to the end of this part, in the composed tensor or, if the
                                         * parts alternate, in a period */
    const struct operation *op;         /* nops operations; borrowed */
    size_t nops;
};

/* Turns a selection of elements into one of units of `elems` elements. Returns false if they do not consist of whole units. */
bool strided_units(struct strided *s, uint32_t elems);

/* Sets a part, and its end to the number of its elements, which must not be 0. Memory belongs to the catalog. A transposed part
 * of a tensor without a layout becomes a tensor with this layout, which the pipeline reads in panels. ERR_MEMORY, ERR_LIMIT. */
bool composed_part_make(struct composed_part *part, const struct tensor *copy, const struct weight *decode,
    const struct strided *s, struct catalog *memory, struct err *err);

/* Owned by the catalog, with everything it points to. */
struct composed {
    struct shape shape;
    const struct composed_part *part;   /* n parts, none of them empty; n 0: generated from `numbers`: F32, or I64 */
    size_t n;
    uint64_t period;                    /* 0: each part is contiguous. Else the parts alternate, as tensors do that are joined
                                         * along an inner dimension: of every `period` elements, which is the end of the last
                                         * part, each part provides its next `end` minus begin */
    const void *numbers;                /* `size` bytes */
    size_t size;
    const char *name;                   /* length of `numbers` */
};

/* Returns the bytes of an element of a composed tensor of this type, or of a unit. */
size_t composed_size(const struct composed *composed, enum dtype dtype);

/* Returns the part that holds an element, which is below the end of the last one. */
size_t composed_find(const struct composed *composed, uint64_t element);

/* Returns the element at which a part begins, of the composed tensor or of a period. */
uint64_t composed_begin(const struct composed *composed, size_t part);

/* Returns the number of elements of the composed tensor from `element` on that follow each other in the same part. */
uint64_t composed_run_length(const struct composed *composed, uint64_t element);

/* Sets [*from, *to) to a range of the elements of a part, in its order, that includes the part's share of elements [first, last)
 * of the composed tensor. Returns false if the part has none of them. */
bool composed_part_range(const struct composed *composed, size_t part, uint64_t first, uint64_t last, uint64_t *from,
    uint64_t *to);

/* Reads elements [first, first + n) of the source of a part; y needs no alignment. */
typedef bool composed_read(void *of, size_t part, uint64_t first, uint64_t n, uint8_t *y, struct err *err);

enum { COMPOSED_TILE = 256 << 10 };     /* bytes of scratch memory that composed_run() needs */

/* Writes elements [first, first + n), before any operation, to y, with reads as long as the layout allows. `size` is the
 * number of bytes per element. Fails as `read` does. */
bool composed_run(const struct composed *composed, uint64_t first, uint64_t n, size_t size, uint8_t *y, uint8_t *tile,
    composed_read *read, void *of, struct err *err);

#endif
