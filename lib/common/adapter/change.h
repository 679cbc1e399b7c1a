/* change: the delta of one weight: steps, each of a form (form.h), in the order of the command line except that replacing comes
 * first and rows of tokens last. */
#ifndef ADAPTER_CHANGE_H
#define ADAPTER_CHANGE_H

#include "adapter/product.h"
#include "plan/delta.h"

struct change;
struct change_step;
struct dora;

/* The rows of a step in the memory of a weight: rows of `cols` adjacent elements, at any distance from each other. */
enum { CHANGE_DIMS = 4 };
struct change_rows {
    uint64_t first, cols;               /* first: element of the weight at which row 0 begins */
    unsigned dims;                      /* at least 1 */
    struct { uint64_t n, stride; } dim[CHANGE_DIMS];    /* the number of a row is row-major over these; strides in elements */
};

/* Returns the number of rows, and the element of the weight at which row i begins. */
uint64_t change_rows_count(const struct change_rows *r);
uint64_t change_rows_at(const struct change_rows *r, uint64_t i);

enum change_phase { CHANGE_REPLACE, CHANGE_ADD, CHANGE_TOKENS };

/* How a step changes elements. Part: rows and columns of the step. */
struct change_form {
    const char *name;           /* for messages */
    enum change_phase phase;
    bool (*apply)(const struct change_owner *o, const struct change_step *step, const struct product_part *part, struct err *err);
};

struct change_step {
    const struct change_form *form;
    struct change_rows rows;
    double s;
    const void *own;                    /* facts of the form; borrowed */
    bool merges;                        /* the form accepts codes (product.h) */
    const struct dora *dora;            /* scales the result to other norms; or NULL; borrowed */
    const struct tensor *const *input;  /* the factors, ninputs of them; borrowed */
    size_t ninputs;
    uint64_t more;                      /* for the fingerprint: what decides about values besides all this */
    unsigned adapter;                   /* number of the adapter */
};

struct change {
    struct delta delta;         /* must be first: a delta is cast to its change */
    const struct change_owner *owner;
    size_t size;                /* bytes of an element of the source, or more */
    struct change_step *step;   /* n of them; owned */
    size_t n, room;
    bool norms, several;        /* a step has norms; steps are of several adapters */
};

/* Makes a change without steps of a source of this type; DTYPE_UNKNOWN: a quantized weight. NULL on failure. */
struct change *change_new(const struct change_owner *owner, enum dtype dtype, struct err *err);
void change_free(struct change *c);             /* accepts NULL */

/* Inserts a step; copied. Fails with ERR_UNSUPPORTED if two adapters change a weight and one of them has norms (dora.h). */
bool change_step_add(struct change *c, const struct change_step *step, struct err *err);

/* Returns true if each element is changed by one step, which accepts codes. */
bool change_merges(const struct change *c);

/* Applies the first n steps to the elements of a run. */
bool change_apply(const struct change *c, size_t n, const struct delta_run *run, struct err *err);

#endif
