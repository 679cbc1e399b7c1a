/* form: how the factors of a module become a step of its weight. Each form has one file, form_*.c, and one row in forms.c. */
#ifndef ADAPTER_FORM_H
#define ADAPTER_FORM_H

#include "adapter/change.h"
#include "adapter/place.h"

/* A module whose factors are being arranged as a step. */
struct arranging {
    const struct adapter *a;
    const struct adapter_module *module;
    const struct weight_place *place;
    const struct tensor *t;             /* the factor by which the form was recognised */
    struct catalog *memory;             /* the step's facts belong to it */
    uint64_t most;                      /* bytes of factors that may be held in memory for a weight */
};

/* Sets step->s and step->own. Leaves step->form NULL if the module does not change the tensor. */
typedef bool form_arrange(struct change_step *step, const struct arranging *w, struct err *err);

struct form_facts {
    enum factor_role sign;              /* a module with this factor has the form */
    bool bias;                          /* it changes the bias, not the weight */
    bool optional;                      /* the base may lack the tensor */
    bool norms;                         /* can be followed by norms (dora.h) */
    form_arrange *arrange;
};

/* Returns form i, or NULL after the last. */
const struct form_facts *form_at(size_t i);

form_arrange form_lowrank, form_hadamard, form_kronecker, form_scale, form_scale_bias, form_add, form_add_bias, form_tokens,
    form_set;

/* Sets a step that adds s times rows of w->t, beginning with row `row`. */
bool form_add_rows(struct change_step *step, const struct arranging *w, double s, uint64_t row, struct err *err);

/* Sets a step that adds module->scale times a product, which is borrowed; returns true. */
bool form_lowrank_step(struct change_step *step, const struct arranging *w, const struct product *p);

/* Returns true if two steps of rows of tokens replace one row. */
bool form_tokens_overlap(const struct change_step *a, const struct change_step *b);

/* Sets step->dora if the module has norms. */
form_arrange form_norms;

/* Returns a product with these factors. Fails with ERR_MALFORMED if they are not rows x rank and rank x cols, ERR_LIMIT if R
 * exceeds the memory. `core`: NULL or the tensor in the middle of three factors. `turned`: l is stored as [rank, rows]. */
struct product_parts {
    const struct tensor *l, *r, *core;
    uint64_t rows, cols;
    bool turned;
};
bool form_product(struct product *p, const struct product_parts *parts, const struct arranging *w, struct err *err);
bool form_product_fits(const struct product *p, const struct arranging *w, struct err *err);

/* Fails with ERR_MALFORMED: the shape of a factor does not fit the shape of the weight. */
bool form_misfit(const struct arranging *w, const struct tensor *t, struct err *err);

/* Returns true if the adapter declares that matrices are stored [in, out], and the place has such a matrix; a transposed place
 * has it the other way round. */
bool form_swaps(const struct arranging *w);

#endif
