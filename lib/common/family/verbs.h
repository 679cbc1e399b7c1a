/* verbs: the part of a row, applied to a tensor: movements and arithmetic, forwards and backwards. */
#ifndef FAMILY_VERBS_H
#define FAMILY_VERBS_H

#include "family/moves.h"
#include "family/scope.h"

enum { VERBS_OPERATIONS = 8 };          /* limit on the arithmetic of one part */

/* What the verbs of a weight [rows, columns] are applied to: the weight, or a factor of a low-rank change of it. The factor [rows,
 * rank] takes part in what moves rows, and in arithmetic; the factor [rank, columns] in what moves columns. */
enum verbs_side { VERBS_WEIGHT, VERBS_ROWS, VERBS_COLUMNS };

/* A part while it is applied. Set moves; zero the rest, except for the fields about the row. */
struct verbs {
    const struct family_row *row;
    const struct row_part *part;
    struct scope *scope;
    uint64_t b;
    const struct tensor *tensor;        /* for messages */
    enum verbs_side side;
    uint32_t rank;                      /* dimensions of the weight after the verbs so far, for a factor */
    bool columns;                       /* a verb moved columns */

    struct moves moves;
    struct operation op[VERBS_OPERATIONS];      /* nops of them, in order */
    size_t nops;
    const struct verb *type;            /* the verb that decides the type of the output, or NULL */
    uint64_t from, count;               /* backwards: the range of the open dimension that this part is; count 0: all */
    uint64_t skipped;                   /* backwards: elements of the open dimension before it that are 0 */
};

/* Applies the verbs in order. Fails with ERR_MALFORMED, naming tensor, shape and the verb's line, if a verb does not fit the
 * shape or an argument is null; with ERR_UNSUPPORTED for a verb that does not apply to a factor. */
bool verbs_forward(struct verbs *v, struct err *err);

/* Applies the inverses of the verbs, last one first: moves goes from the shape of the output to the shape of the source, with
 * the dimension of `part` open. Fails as above, and with ERR_UNSUPPORTED for a second `part`. */
bool verbs_backward(struct verbs *v, struct err *err);

/* Turns what verbs_backward() made, if it has skipped elements, into the part with them: as many elements of the output, times 0. Fails
 * with ERR_MALFORMED if the output has fewer. */
bool verbs_skipped(struct verbs *v, struct err *err);

/* Sets *n to the size of dimension d, 0 or 1, that a part results in, or to 0 if it depends on the source. */
bool verbs_length(uint64_t *n, const struct verbs *v, uint32_t d, struct err *err);

/* Sets the shape of the source, whose open dimension has `whole` elements in all. */
void verbs_shape(uint64_t dim[LAYOUT_RANK], const struct verbs *v, uint64_t whole);

#endif
