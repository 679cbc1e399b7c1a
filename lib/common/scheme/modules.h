/* modules: a list of module names as config.json writes them, to be asked whether a module is in it. An entry is
 *
 *     model.layers.0.mlp      the module itself, or a dotted part of its path, as transformers compares
 *     model.layers.0*         what begins so
 *     *.mlp.gate              a glob, on the whole name
 *     re:.*self_attn.*        a Python expression, from the start of the name (base/matcher.h)
 *
 * The time of an answer grows with the length of the name and not with the number of plain entries; expressions are
 * tried one after the other, and all lists of a config share one bound of their states and of their steps. */
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

/* What the expressions of all lists may still cost. */
struct modules_cost {
    uint64_t states;                    /* of the expressions */
    uint64_t steps;                     /* of matching them */
};
extern const struct modules_cost modules_cost_most;

/* False, with ERR_LIMIT, once the steps are used up. */
bool modules_cost_left(const struct modules_cost *cost, struct err *err);

/* Zero-initialise and set `cost`; modules_clear gives back what it owns. Names are borrowed from the trees they were
 * added from. */
struct modules {
    struct modules_cost *cost;          /* borrowed */
    struct module_name *plain, *prefix; /* sorted once sealed */
    size_t nplain, room_plain, nprefix, room_prefix;
    struct matcher *matchers;
    size_t nmatchers, room_matchers;
    const char *unknown;                /* the first expression that is not understood, or NULL */
};

/* Add an entry; over 4096 states of expressions together: ERR_LIMIT. Then seal, once. */
bool modules_add(struct modules *m, const json_t *name, struct err *err);
void modules_seal(struct modules *m);
void modules_clear(struct modules *m);

/* Whether the module is in the list. ERR_UNSUPPORTED when only an expression that is not understood could tell;
 * ERR_LIMIT when matching took more steps than any model needs. */
bool modules_have(const struct modules *m, const char *module, size_t n, bool *have, struct err *err);

#endif
