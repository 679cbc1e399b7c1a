/* push: writes a JSON text value by value into a struct str, indented by two spaces. No tree and no recursion, except for a
 * jansson value. The counterpart of base/pull.h.
 *
 *      struct push json = { .out = &text };
 *      push_object(&json);
 *      push_key(&json, "name");
 *      push_text(&json, "value");
 *      push_end(&json);
 *
 * Failed allocations and the limit of the text show in out->failed; check it once at the end. */
#ifndef BASE_PUSH_H
#define BASE_PUSH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { PUSH_DEPTH_MAX = 63 };   /* maximum depth of open objects and arrays */

/* Zeroed except for `out`, a writer is at the start. */
struct push {
    struct str *out;            /* borrowed */
    uint32_t depth;
    uint64_t arrays;            /* one bit per level: an array, else an object */
    bool filled;                /* the innermost object or array has a member */
    bool keyed;                 /* a key was written, and its value comes next */
};

void push_object(struct push *p);
void push_array(struct push *p);
void push_end(struct push *p);          /* closes the innermost object or array; the outermost ends with a line feed */

/* Writes the key of the next value: a literal, or key[0..n). */
void push_key(struct push *p, const char *key);
void push_name(struct push *p, const char *key, size_t n);

/* Write a value. Bytes of a string must be UTF-8. */
void push_string(struct push *p, const char *text, size_t n);
void push_text(struct push *p, const char *text);
void push_u64(struct push *p, uint64_t n);
void push_i64(struct push *p, int64_t n);
void push_bool(struct push *p, bool yes);
void push_null(struct push *p);

/* Writes a number as the shortest decimal that gives the same double, with a point or an exponent: 10000.0, 1e-05. Infinity
 * and NaN, which JSON lacks, become Infinity, -Infinity and NaN, as in Python. */
void push_real(struct push *p, double x);

/* Writes a jansson value; members in the order of their names. Values nested deeper than PUSH_DEPTH_MAX become null. */
void push_value(struct push *p, const json_t *value);

/* Returns the double of the shortest decimal that gives the same float: 0.1 for 0.1f. */
double push_real_of(float x);

#endif
