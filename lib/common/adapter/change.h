/* change: the delta of one weight: steps in the order of the command line, each of a form. A form is a row in change.c. */
#ifndef ADAPTER_CHANGE_H
#define ADAPTER_CHANGE_H

#include "adapter/factor.h"
#include "adapter/resident.h"
#include "plan/delta.h"

/* What all changes of a job share. */
struct change_owner {
    const struct model *model;
    const struct kernels *k;
    struct residents *residents;
};

enum { CHANGE_INPUTS = 2 };

struct change_step {
    const struct change_form *form;
    uint64_t row, rows;         /* rows of the weight that change */
    double s;
    uint64_t rank;
    struct factor l, r;         /* low rank: L of `rows` rows, R of all columns. Others: l is what is added */
};

struct change {
    struct delta delta;         /* must be first: a delta is cast to its change */
    const struct change_owner *owner;
    const char *name;           /* of the weight; len bytes; borrowed */
    uint32_t len;
    uint64_t rows, cols;        /* the weight as a matrix */
    struct change_step *step;   /* n of them; owned */
    size_t n, room;
};

extern const struct change_form change_lowrank;         /* v + s * (L R) */
extern const struct change_form change_add;             /* v + s * l, element by element */

/* Makes a change without steps of a source of this type. NULL on failure. */
struct change *change_new(const struct change_owner *owner, enum dtype dtype, struct err *err);
void change_free(struct change *c);             /* accepts NULL */

/* Appends a step; copied. */
bool change_step_add(struct change *c, const struct change_step *step, struct err *err);

#endif
