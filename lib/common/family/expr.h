/* expr: expressions of a family file: parsed once, evaluated with the names of one model (scope.h). Language: amn-family(5).
 *
 * A value is a jansson value. Numbers are doubles, so an integer is exact up to 2^53; it is stored as a JSON integer if it is
 * one, so that 4 and 4.0 are the same value. */
#ifndef FAMILY_EXPR_H
#define FAMILY_EXPR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct expr;
struct scope;

/* Parses text[0..n). `where` is "FILE:LINE", for messages; text and where are borrowed as long as the expression. Fails with
 * ERR_MALFORMED: "FILE:LINE: found X, expected Y". The caller frees *e. */
bool expr_parse(struct expr **e, const char *text, size_t n, const char *where, struct err *err);
void expr_free(struct expr *e);                         /* accepts NULL */

/* Returns the text of an expression, for messages; NUL-terminated, borrowed. */
const char *expr_text(const struct expr *e);

/* Returns "FILE:LINE". */
const char *expr_where(const struct expr *e);

/* Returns the name if the expression is only a name, or begins "NAME ??", as the way back needs it; else NULL. */
const char *expr_member(const struct expr *e);

/* Returns true for a number, string, true, false or null. */
bool expr_is_literal(const struct expr *e);

/* Returns name i in the expression, in the order of the text, with its dots; NULL after the last. */
const char *expr_name_at(const struct expr *e, size_t i);

/* Returns true if the expression calls a function. */
bool expr_calls(const struct expr *e, const char *function);

/* Evaluates for layer b. *value is a new reference; JSON null for null. Fails with ERR_MALFORMED (a `let` that refers to
 * itself, nesting too deep) or ERR_MEMORY. */
bool expr_value(json_t **value, const struct expr *e, struct scope *scope, uint64_t b, struct err *err);

/* Sets *yes to the truth of an expression; NULL is true. */
bool expr_true(bool *yes, const struct expr *e, struct scope *scope, uint64_t b, struct err *err);

/* Set a number. Fail with ERR_MALFORMED, naming place and expression, for anything else, null included; expr_size() also for
 * a number that is negative or not an integer. */
bool expr_size(uint64_t *n, const struct expr *e, struct scope *scope, uint64_t b, struct err *err);
bool expr_number(double *x, const struct expr *e, struct scope *scope, uint64_t b, struct err *err);

#endif
