/* Private to the files of reduction. */
#ifndef PLAN_REDUCTION_PRIV_H
#define PLAN_REDUCTION_PRIV_H

#include "encode/mix.h"
#include "plan/reduction.h"

/* A tensor of the choice during the decision. */
struct reduction_one {
    struct chosen *chosen;
    struct tensor t;
    uint64_t rows, cols;
    struct reduction_ruling *ruling;    /* of the first rule that matches, or NULL */
    const struct encoder *encoder;      /* or NULL: do not encode */
    bool cast;                          /* becomes plain: f32, f16 or bf16 */
    const char *misfit;                 /* why its shape does not fit the scheme, or NULL */
    enum dtype instead_of;              /* the type that it would have if its shape fitted, or DTYPE_UNKNOWN */
    size_t place;
};

/* Returns true if a tensor holds the experts of a layer, one matrix each: P.experts.gate_up_proj. */
bool reduction_is_stack(const struct tensor *t);

/* --- reduction_rules.c */

/* What a job decides about a rule. */
struct reduction_ruling {
    const struct reduction_rule *rule;  /* borrowed */
    bool matches;                       /* some tensor, */
    bool stored;                        /* by its name in the input */
    bool works;                         /* decides the type of a tensor */
    const struct encoder *encoder;      /* or NULL, and: */
    enum dtype plain;                   /* the type that it gives a tensor */
};

/* Finds the first rule that matches an entry, or NULL. Fails with ERR_MEMORY. */
bool reduction_find_rule(struct reduction_ruling **ruling, const struct reduction *r, const struct chosen *c, struct err *err);

/* Decides which names each rule sees: the names of the output or, if it matches none of them, the names of the input. */
bool reduction_meet_rules(const struct reduction *r, const struct choice *choice, struct err *err);

/* Checks that every rule decides the type of a tensor. */
bool reduction_check_rules(const struct reduction *r, const struct choice *choice, struct err *err);

void reduction_clear_rules(struct reduction *r);

/* --- reduction_warn.c */

/* Warns of types that are not those that the user asked for, or that loaders read badly. `blocks`: the output has block types. */
void reduction_warn(const struct reduction *r, const struct reduction_one *list, size_t n, bool blocks, bool image,
    struct catalog *memory);

/* --- reduction_spread.c */

/* Builds the list of a choice again, with all parts of encoded weights, which are numbered, and the codes of weights that stay as
 * they are stored. */
bool reduction_spread(struct choice *choice, struct err *err);

/* Adds the companions of the weights that stay as they are stored, each once, where the input has them, and renames
 * these weights and companions from the names that the input has. */
bool reduction_add_companions(const struct reduction *r, struct choice *choice, struct err *err);

/* Returns true if the choice has companions of weights that stay as they are stored; it then has all of them. */
bool reduction_has_companions(const struct choice *choice);

#endif
