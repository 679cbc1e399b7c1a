/* differences: the tensors of two models, paired by name, and how they differ. Values are compared, so quantized weights are
 * dequantized to F32.
 *
 * A tensor of A and one of B with the same name and shape are comparable if both are floating-point, quantized included, if
 * both are integers or booleans, or if both have one other type. */
#ifndef PLAN_DIFFERENCES_H
#define PLAN_DIFFERENCES_H

#include "encode/losses.h"
#include "plan/naming.h"

enum difference_status {
    DIFFERENCE_EQUAL,           /* of one type, and the values have the same bits */
    DIFFERENCE_VALUES,          /* equal values: of other types, or zeros of other signs, or other NaN; or one is quantized, the
                                 * other F16 or BF16, and rounding to that type makes them equal */
    DIFFERENCE_SOME,            /* different values */
    DIFFERENCE_ONLY_A, DIFFERENCE_ONLY_B,
    DIFFERENCE_SHAPE,           /* other shapes; not compared */
    DIFFERENCE_DTYPE,           /* types that are not comparable */
    DIFFERENCE_STATUSES
};

/* Returns the word for a status: "equal", "equal-values", "different", "only-a", "only-b", "shape", "dtype". */
const char *difference_word(enum difference_status status);

/* How the elements are compared. */
enum difference_kind {
    DIFFERENCE_FLOATS,          /* as F32 */
    DIFFERENCE_DOUBLES,         /* as F64, because one is F64 */
    DIFFERENCE_INTS,
    DIFFERENCE_BYTES            /* bytes of one type without figures: complex and small types */
};

#define DIFFERENCE_NOWHERE UINT64_MAX

struct difference {
    enum difference_status status;
    enum difference_kind kind;
    const struct chosen *a, *b;         /* NULL if a model lacks it; in the choices of struct differences */
    uint64_t n;                         /* elements */
    /* of a compared pair: */
    uint64_t first;                     /* the first element that differs, row-major, or DIFFERENCE_NOWHERE */
    uint64_t count;                     /* elements that differ */
    uint64_t nonfinite;                 /* elements that are NaN or infinite in A or B; the figures leave them out */
    bool bits;                          /* an element has other bits */
    enum dtype rounded;                 /* of the side that is not quantized, F16 or BF16; else DTYPE_UNKNOWN */
    bool rounds_a;                      /* A is the quantized side */
    bool unexplained;                   /* an element differs from the rounded one of the quantized side */
    double most;                        /* largest absolute difference */
};

/* Zeroed: empty. */
struct differences {
    struct choice a, b;                 /* owned */
    struct difference *list;            /* n of them: in the order of A, then the tensors that only B has; owned */
    size_t n;
    size_t common;                      /* names in both */
    size_t count[DIFFERENCE_STATUSES];  /* set by differences_count() */
    struct losses *losses;              /* sums of each compared pair, by its number in the list; owned */
};

/* One of the two models, borrowed. `translate`, if it is not NULL, replaces its tensors by those of another naming scheme. */
struct difference_side {
    const struct catalog *catalog;
    const struct roles *roles;
    bool (*translate)(void *of, struct choice *choice, struct err *err);
    void *of;
};

/* Pairs the tensors. `naming` renames the tensors of A; its patterns select tensors by their new names. Fails with ERR_UNSUPPORTED if a weight cannot be dequantized, and with ERR_USAGE for a pattern that matches no
 * tensor. Clear it also after a failure. */
bool differences_pair(struct differences *d, const struct difference_side *a, const struct difference_side *b,
    const struct naming *naming, struct err *err);
void differences_clear(struct differences *d);

/* After all pairs are compared: sets the status of each, and the counts. */
void differences_count(struct differences *d);

/* Returns true if the pair is compared. */
bool difference_is_pair(const struct difference *d);

/* Returns the figures of a compared pair: A is the signal, and A - B the noise. n is the number of finite elements. */
struct loss difference_loss(const struct differences *d, size_t i);

/* Returns the tensor or weight that a chosen one is stored as, in *copy or *decode; of one that is composed, its first part. Both are
 * NULL for generated numbers. */
void difference_stored(const struct chosen *chosen, const struct tensor **copy, const struct weight **decode);

/* Returns the tensor, of A if it has it. */
struct tensor difference_tensor(const struct difference *d);

#endif
