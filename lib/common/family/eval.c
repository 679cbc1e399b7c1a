/* Evaluates expressions. Recursion is limited by EXPR_DEPTH, time by EXPR_STEPS. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "family/expr_priv.h"

#define EXACT 9007199254740992.0        /* 2^53 */

json_t *
expr_real(double x)
{
    if (!isfinite(x))
        return json_null();
    if (fabs(x) <= EXACT && x == floor(x))
        return json_integer((json_int_t)x);
    return json_real(x);
}

bool
expr_is_true(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_NULL:
    case JSON_FALSE:
        return false;
    case JSON_STRING:
        return json_string_length(value) != 0;
    case JSON_INTEGER:
    case JSON_REAL:
        return json_number_value(value) != 0;
    case JSON_ARRAY:
        return json_array_size(value) != 0;
    case JSON_OBJECT:
        return json_object_size(value) != 0;
    case JSON_TRUE:
        break;
    }
    return true;
}

bool
scope_steps(struct scope *scope, size_t n, struct err *err)
{
    if (n > EXPR_STEPS - scope->steps)
        return err_set(err, ERR_LIMIT, "family %s: its expressions take more than %u steps", scope->family->name,
            (unsigned)EXPR_STEPS);
    scope->steps += (uint32_t)n;
    return true;
}

/* Stores a new value, which is NULL if out of memory. */
static bool
give(json_t **value, json_t *made, struct err *err)
{
    *value = made;
    return made || err_memory(err, 0);
}

/* --- operations */

static bool
is_equal(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

static json_t *
arithmetic(enum node_kind kind, double a, double b)
{
    switch (kind) {
    case NODE_ADD:
        return expr_real(a + b);
    case NODE_SUB:
        return expr_real(a - b);
    case NODE_MUL:
        return expr_real(a * b);
    case NODE_DIV:
        return expr_real(a / b);
    case NODE_FLOOR:
        return expr_real(floor(a / b));
    case NODE_MOD:
        return expr_real(a - floor(a / b) * b);
    case NODE_LT:
        return json_boolean(a < b);
    case NODE_GT:
        return json_boolean(a > b);
    case NODE_LE:
        return json_boolean(a <= b);
    case NODE_GE:
        return json_boolean(a >= b);
    default:
        return json_null();
    }
}

/* Returns a list with the results of an operation on each of its elements, null for one that is not a number. */
static json_t *
arithmetic_list(enum node_kind kind, const json_t *list, double b)
{
    json_t *out = json_array();
    for (size_t i = 0; out && i < json_array_size(list); i++) {
        const json_t *a = json_array_get(list, i);
        json_t *one = json_is_number(a) ? arithmetic(kind, json_number_value(a), b) : json_null();
        if (json_array_append_new(out, one) != 0) {
            json_decref(out);
            out = NULL;
        }
    }
    return out;
}

/* Finds a member by number, with or without zeros before it. */
static json_t *
numbered_member(const json_t *object, uint64_t i)
{
    char name[24];
    json_t *found = NULL;
    for (int width = 1; !found && width <= 20; width++) {
        snprintf(name, sizeof name, "%0*" PRIu64, width, i);
        found = json_object_get(object, name);
    }
    return found;
}

/* Returns character i of a string as a new string, or NULL after the last. */
static json_t *
character(const json_t *string, uint64_t i)
{
    const char *p = json_string_value(string);
    size_t left = json_string_length(string), n;
    uint32_t code;
    while ((n = str_utf8_char(p, left, &code)) != 0 && i-- != 0) {
        p += n;
        left -= n;
    }
    if (n != 0)
        return json_stringn(p, n);
    return NULL;
}

static bool
element(json_t **value, const json_t *of, const json_t *index, struct scope *scope, struct err *err)
{
    double x = json_number_value(index);
    json_t *found = NULL;
    if (json_is_string(of) && !scope_steps(scope, json_string_length(of), err))
        return false;
    if (json_is_number(index) && x >= 0 && x < EXACT && x == floor(x)) {
        uint64_t i = (uint64_t)x;
        if (json_is_string(of))
            found = character(of, i);
        else
            found = json_incref(json_is_array(of) ? json_array_get(of, (size_t)i) : numbered_member(of, i));
    } else if (json_is_string(index))
        found = json_incref(json_object_get(of, json_string_value(index)));
    return give(value, found ? found : json_null(), err);
}

/* Applies an operation on two values, which it releases. */
static bool
operate(json_t **value, enum node_kind kind, json_t *a, json_t *b, struct scope *scope, struct err *err)
{
    bool ok;
    if (kind == NODE_INDEX)
        ok = element(value, a, b, scope, err);
    else if (kind == NODE_EQ || kind == NODE_NE)
        ok = give(value, json_boolean(is_equal(a, b) == (kind == NODE_EQ)), err);
    else if (json_is_number(a) && json_is_number(b))
        ok = give(value, arithmetic(kind, json_number_value(a), json_number_value(b)), err);
    else if (json_is_array(a) && json_is_number(b))
        ok = scope_steps(scope, json_array_size(a), err) && give(value, arithmetic_list(kind, a, json_number_value(b)), err);
    else
        ok = give(value, json_null(), err);
    json_decref(a);
    json_decref(b);
    return ok;
}

static bool expr_node_value(json_t **value, const struct expr *e, uint32_t node, struct scope *scope, uint64_t b, struct err *err);

static bool
call(json_t **value, const struct expr *e, const struct expr_node *node, struct scope *scope, uint64_t b, struct err *err)
{
    json_t *arg[EXPR_ARGS];
    size_t n = 0;
    bool ok = true;
    for (uint32_t i = node->a; ok && i != EXPR_NONE; i = e->node[i].next) {
        ok = expr_node_value(&arg[n], e, i, scope, b, err);
        n += ok;
    }
    ok = ok && expr_call(value, node->function, arg, n, scope, b, err);
    while (n != 0)
        json_decref(arg[--n]);
    return ok;
}

/* Evaluates an operation whose first operand decides which of the rest is evaluated. */
static bool
eval_choose(json_t **value, const struct expr *e, const struct expr_node *node, struct scope *scope, uint64_t b, struct err *err)
{
    json_t *first;
    if (!expr_node_value(&first, e, node->a, scope, b, err))
        return false;
    bool yes;
    if (node->kind == NODE_ELSE)
        yes = !json_is_null(first);
    else
        yes = expr_is_true(first);
    if (node->kind == NODE_NOT || (node->kind != NODE_IF && yes == (node->kind != NODE_AND))) {
        if (node->kind == NODE_NOT)
            *value = json_boolean(!yes);
        else
            *value = json_incref(first);
        json_decref(first);
        return true;
    }
    json_decref(first);
    return expr_node_value(value, e, node->kind == NODE_IF && !yes ? node->c : node->b, scope, b, err);
}

static bool
node_value(json_t **value, const struct expr *e, const struct expr_node *node, struct scope *scope, uint64_t b,
    struct err *err)
{
    json_t *left, *right;
    switch (node->kind) {
    case NODE_VALUE:
        *value = json_incref(node->value);
        return true;
    case NODE_NAME:
        return scope_value(value, node->name, scope, b, err);
    case NODE_CALL:
        return call(value, e, node, scope, b, err);
    case NODE_IF:
    case NODE_NOT:
    case NODE_AND:
    case NODE_OR:
    case NODE_ELSE:
        return eval_choose(value, e, node, scope, b, err);
    case NODE_MINUS:
        if (!expr_node_value(&left, e, node->a, scope, b, err))
            return false;
        return operate(value, NODE_SUB, json_integer(0), left, scope, err);
    default:
        break;
    }
    if (!expr_node_value(&left, e, node->a, scope, b, err))
        return false;
    if (!expr_node_value(&right, e, node->b, scope, b, err)) {
        json_decref(left);
        return false;
    }
    return operate(value, node->kind, left, right, scope, err);
}

static bool
expr_node_value(json_t **value, const struct expr *e, uint32_t node, struct scope *scope, uint64_t b, struct err *err)
{
    *value = NULL;
    if (scope->depth >= EXPR_DEPTH)
        return err_set(err, ERR_MALFORMED, "%s: '%s' is nested too deep; a let may refer to itself", e->where,
            e->text);
    scope->depth++;
    bool ok = scope_steps(scope, 1, err) && node_value(value, e, &e->node[node], scope, b, err);
    scope->depth--;
    return ok;
}

/* --- the interface */

bool
expr_value(json_t **value, const struct expr *e, struct scope *scope, uint64_t b, struct err *err)
{
    return expr_node_value(value, e, e->root, scope, b, err);
}

bool
expr_true(bool *yes, const struct expr *e, struct scope *scope, uint64_t b, struct err *err)
{
    json_t *value;
    *yes = true;
    if (!e)
        return true;
    if (!expr_value(&value, e, scope, b, err))
        return false;
    *yes = expr_is_true(value);
    json_decref(value);
    return true;
}

bool
expr_number(double *x, const struct expr *e, struct scope *scope, uint64_t b, struct err *err)
{
    char shown[STR_SHOWN];
    json_t *value;
    if (!expr_value(&value, e, scope, b, err))
        return false;
    bool ok = json_is_number(value);
    const char *found = "another type";
    if (json_is_null(value))
        found = "null";
    *x = json_number_value(value);
    json_decref(value);
    return ok || err_set(err, ERR_MALFORMED, "%s: '%s' is %s, expected a number", e->where,
        str_shown(shown, e->text, strlen(e->text)), found);
}

bool
expr_size(uint64_t *n, const struct expr *e, struct scope *scope, uint64_t b, struct err *err)
{
    char shown[STR_SHOWN];
    double x;
    *n = 0;
    if (!expr_number(&x, e, scope, b, err))
        return false;
    if (!(x >= 0 && x < EXACT) || x != floor(x))
        return err_set(err, ERR_MALFORMED, "%s: '%s' is %g, expected a non-negative integer", e->where,
            str_shown(shown, e->text, strlen(e->text)), x);
    *n = (uint64_t)x;
    return true;
}
