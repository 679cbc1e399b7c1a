/* modules: a list of module names in the syntax of config.json, and the test whether it contains a module. An entry is one
 * of
 *
 *     model.layers.0.mlp      the module itself, or a dotted part of its path, as transformers compares
 *     model.layers.0*         any name with this prefix
 *     *.mlp.gate              a glob, matched against the whole name
 *     re:.*self_attn.*        a Python expression, matched from the start of the name (base/matcher.h)
 *
 * A query takes time in proportion to the length of the name, whatever the number of plain entries. Expressions are tried
 * one by one. All lists of a config share one limit on their states and one on their steps.
 */
#ifndef SCHEME_MODULES_H
#define SCHEME_MODULES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/matcher.h"

struct module_name {
    const char *p;                      /* borrowed */
    size_t n;
};

/* The budget that the expressions of all lists have left. */
struct modules_cost {
    uint64_t states;                    /* of the expressions */
    uint64_t steps;                     /* of matching them */
};
extern const struct modules_cost modules_cost_most;

/* Fails with ERR_LIMIT once the steps are used up. */
bool modules_cost_left(const struct modules_cost *cost, struct err *err);

/* Zero-initialise it and set `cost`; modules_clear frees what it owns. Names are borrowed from the JSON trees they were
 * added from. */
struct modules {
    struct modules_cost *cost;          /* borrowed */
    struct module_name *plain, *prefix; /* sorted once sealed */
    size_t nplain, room_plain, nprefix, room_prefix;
    struct matcher *matchers;
    size_t nmatchers, room_matchers;
    const char *unknown;                /* the first expression that is not understood, or NULL */
};

/* Adds an entry. Fails with ERR_LIMIT if all expressions together have more than 4096 states. Seal once, after the last
 * entry. */
bool modules_add(struct modules *m, const json_t *name, struct err *err);
void modules_seal(struct modules *m);
void modules_clear(struct modules *m);

/* Sets *have to whether the module is in the list. Fails with ERR_UNSUPPORTED if the answer depends on an expression that is
 * not understood, and with ERR_LIMIT if matching took more steps than any model needs. */
bool modules_have(const struct modules *m, const char *module, size_t n, bool *have, struct err *err);

#endif
