#include "base/push.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
line(struct push *p)
{
    str_text(p->out, "\n");
    for (uint32_t i = 0; i < p->depth; i++)
        str_add(p->out, "  ", 2);
}

/* Begins a member of the innermost object or array. */
static void
member(struct push *p)
{
    if (p->depth != 0) {
        str_add(p->out, ",", p->filled);
        line(p);
    }
    p->filled = true;
}

static void
value(struct push *p)
{
    if (!p->keyed)
        member(p);
    p->keyed = false;
}

static void
push_begin(struct push *p, bool array)
{
    value(p);
    str_text(p->out, array ? "[" : "{");
    if (p->depth == PUSH_DEPTH_MAX) {
        p->out->failed = true;
        return;
    }
    p->depth++;
    if (array)
        p->arrays = p->arrays | UINT64_C(1) << p->depth;
    else
        p->arrays = p->arrays & ~(UINT64_C(1) << p->depth);
    p->filled = false;
}

void
push_object(struct push *p)
{
    push_begin(p, false);
}

void
push_array(struct push *p)
{
    push_begin(p, true);
}

void
push_end(struct push *p)
{
    if (p->depth == 0)
        return;
    bool array = p->arrays >> p->depth & 1;
    p->depth--;
    if (p->filled)
        line(p);
    str_text(p->out, array ? "]" : "}");
    p->filled = true;
    if (p->depth == 0)
        str_text(p->out, "\n");
}

void
push_name(struct push *p, const char *key, size_t n)
{
    push_string(p, key, n);
    str_text(p->out, ": ");
    p->keyed = true;
}

void
push_key(struct push *p, const char *key)
{
    push_name(p, key, strlen(key));
}

void
push_string(struct push *p, const char *text, size_t n)
{
    value(p);
    str_text(p->out, "\"");
    str_add_json(p->out, text, n, false);
    str_text(p->out, "\"");
}

void
push_text(struct push *p, const char *text)
{
    push_string(p, text, strlen(text));
}

void
push_u64(struct push *p, uint64_t n)
{
    value(p);
    str_format(p->out, "%" PRIu64, n);
}

void
push_i64(struct push *p, int64_t n)
{
    value(p);
    str_format(p->out, "%" PRId64, n);
}

void
push_bool(struct push *p, bool yes)
{
    value(p);
    str_text(p->out, yes ? "true" : "false");
}

void
push_null(struct push *p)
{
    value(p);
    str_text(p->out, "null");
}

enum { NUMBER = 40 };

/* Prints a finite number with as few digits as give the same double. */
static void
shortest(char text[NUMBER], double x)
{
    if (x == trunc(x) && fabs(x) < 1e16) {
        snprintf(text, NUMBER, "%.1f", x);
        return;
    }
    int digits = 1;
    do
        snprintf(text, NUMBER, "%.*g", digits, x);
    while (digits++ < 17 && strtod(text, NULL) != x);
}

void
push_real(struct push *p, double x)
{
    char text[NUMBER];
    if (isfinite(x))
        shortest(text, x);
    else
        snprintf(text, NUMBER, "%s", isnan(x) ? "NaN" : x < 0 ? "-Infinity" : "Infinity");
    value(p);
    str_text(p->out, text);
}

double
push_real_of(float x)
{
    char text[NUMBER];
    if (!isfinite(x))
        return (double)x;
    int digits = 1;
    do
        snprintf(text, NUMBER, "%.*g", digits, (double)x);
    while (digits++ < 9 && strtof(text, NULL) != x);
    return strtod(text, NULL);
}

static int
compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Writes an object in the order of its names. */
static void
push_members(struct push *p, const json_t *object)
{
    size_t n = json_object_size(object), i = 0;
    const char **names = calloc(n + 1, sizeof *names), *name;
    const json_t *one;
    push_object(p);
    p->out->failed = p->out->failed || !names;
    json_object_foreach((json_t *)object, name, one)
        if (names && i < n)
            names[i++] = name;
    if (names)
        qsort(names, i, sizeof *names, compare_names);
    for (size_t k = 0; names && k < i; k++) {
        push_key(p, names[k]);
        push_value(p, json_object_get(object, names[k]));
    }
    push_end(p);
    free(names);
}

void
push_value(struct push *p, const json_t *of)
{
    if (json_is_object(of) && p->depth < PUSH_DEPTH_MAX) {
        push_members(p, of);
    } else if (json_is_array(of) && p->depth < PUSH_DEPTH_MAX) {
        push_array(p);
        for (size_t i = 0; i < json_array_size(of); i++)
            push_value(p, json_array_get(of, i));
        push_end(p);
    } else if (json_is_string(of)) {
        push_string(p, json_string_value(of), json_string_length(of));
    } else if (json_is_integer(of)) {
        push_i64(p, json_integer_value(of));
    } else if (json_is_real(of)) {
        push_real(p, json_real_value(of));
    } else if (json_is_boolean(of)) {
        push_bool(p, json_is_true(of));
    } else {
        push_null(p);
    }
}
