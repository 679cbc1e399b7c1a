/* expr_priv: the tree of a parsed expression, shared by the parser, the evaluator and the functions. */
#ifndef FAMILY_EXPR_PRIV_H
#define FAMILY_EXPR_PRIV_H

#include "family/scope.h"

enum {
    EXPR_HEIGHT = 48,           /* limit on the height of the tree of one expression */
    EXPR_DEPTH = 192,           /* limit on nodes inside each other while evaluating, over all lets */
    EXPR_STEPS = 1 << 29,       /* limit on nodes and list elements evaluated for one scope */
    EXPR_ARGS = 32
};

enum node_kind {
    NODE_VALUE, NODE_NAME, NODE_CALL, NODE_INDEX, NODE_NOT, NODE_MINUS, NODE_IF, NODE_OR, NODE_AND, NODE_ELSE, NODE_EQ, NODE_NE,
    NODE_LT, NODE_GT, NODE_LE, NODE_GE, NODE_ADD, NODE_SUB, NODE_MUL, NODE_DIV, NODE_FLOOR, NODE_MOD
};

struct expr_node {
    enum node_kind kind;
    unsigned height;
    json_t *value;              /* VALUE; owned */
    char *name;                 /* NAME; owned */
    uint32_t function;          /* CALL: row of the table of functions */
    uint32_t a, b, c;           /* operands. CALL: a is the first argument, or EXPR_NONE */
    uint32_t next;              /* the next argument of the same call, or EXPR_NONE */
};

#define EXPR_NONE UINT32_MAX

struct expr {
    char *text;                 /* NUL-terminated; owned */
    const char *where;          /* borrowed */
    struct expr_node *node;     /* n of them; owned */
    size_t n, room;
    uint32_t root;
};

/* Returns the row of a function's name, name[0..n), or EXPR_NONE. */
uint32_t expr_function(const char *name, size_t n);

/* Sets the fewest and the most arguments of a function, and returns its name. */
const char *expr_function_arguments(uint32_t function, unsigned *fewest, unsigned *most);

/* Calls a function with n values, borrowed. *value is a new reference; null for arguments of the wrong type. `b` replaces
 * "{b}" in the name of a tensor. Fails with ERR_MEMORY, ERR_LIMIT, or as the scope's callbacks do. */
bool expr_call(json_t **value, uint32_t function, json_t *const *arg, size_t n, struct scope *scope, uint64_t b,
    struct err *err);

/* Returns true if a name without dots is a built-in, or the object of built-ins such as rope.X. */
bool scope_is_builtin(const char *name);

/* Counts n steps of the evaluation. Fails with ERR_LIMIT. */
bool scope_steps(struct scope *scope, size_t n, struct err *err);

/* Returns a number as a value: an integer if it is one and below 2^53, null if it is infinite or not a number. NULL if out of
 * memory. */
json_t *expr_real(double x);

/* Returns the truth of a value. */
bool expr_is_true(const json_t *value);

#endif
