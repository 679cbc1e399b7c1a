/* pull: the tokens of a JSON text in memory, one after the other. No tree, no recursion, no allocation.
 *
 * Strict RFC 8259 as serde_json reads it: UTF-8 only, no byte order mark, no lone surrogate, no number beyond
 * a double, not even in a value that is passed over. \u0000 is legal. All calls together are O(n).
 * Names begin with pull_, because json_* belongs to jansson.
 *
 *      struct pull json;
 *      pull_init(&json, text, n, at);
 *      if (pull_next(&json) == PULL_OBJECT)
 *          while (pull_next(&json) == PULL_KEY)
 *              ... json.token is the key; read the value with pull_next() or pull_skip() ...
 *      if (json.fault) ... pull_explain() says what is wrong at pull_fault_at() ...
 */
#ifndef BASE_PULL_H
#define BASE_PULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pull_token {
    PULL_BAD,                       /* see `fault`; every later call says so too */
    PULL_END,                       /* nothing but white space follows the value */
    PULL_OBJECT, PULL_OBJECT_END,
    PULL_ARRAY, PULL_ARRAY_END,
    PULL_KEY, PULL_STRING, PULL_NUMBER,     /* `token` is its text */
    PULL_TRUE, PULL_FALSE, PULL_NULL,
};

enum pull_fault { PULL_OK, PULL_NOT_UTF8, PULL_SYNTAX, PULL_RANGE, PULL_TOO_DEEP };

/* A string between its quotes, still escaped, or the characters of a number. */
struct pull_text {
    const char *p;                  /* borrowed from the text */
    size_t n;
    bool escaped;                   /* it has a backslash: pull_unescape() before use */
};

enum { PULL_DEPTH_MAX = 127 };      /* objects and arrays that may be open, as in serde_json */

struct pull {
    const char *text, *p, *end;     /* the first byte, the next, past the last; borrowed */
    uint64_t at;                    /* file offset of the first byte */
    const char *start;              /* first byte of the last token */
    struct pull_text token;
    uint32_t depth;                 /* open objects and arrays */
    bool words;                     /* set it after pull_init: NaN, Infinity and -Infinity are numbers, as in Python */
    int state;
    uint64_t is_array[PULL_DEPTH_MAX / 64 + 1];     /* one bit a level, else an object */
    enum pull_fault fault;
    const char *fault_p, *want;     /* where, and what is expected there; static */
};

/* Begin with text[0..n), which must outlive `json`. `at` is its file offset. Checks the whole text for
 * UTF-8 first. */
void pull_init(struct pull *json, const char *text, size_t n, uint64_t at);

enum pull_token pull_next(struct pull *json);

/* Pass over the next value, whatever it holds, checking it as strictly. False at a fault. */
bool pull_skip(struct pull *json);

/* Whether a string is spelled so; one with escapes is not. */
bool pull_text_is(const struct pull_text *text, const char *plain);

/* The last token, a number: a plain integer in 0 .. 2^64-1 without sign, fraction or exponent? */
bool pull_as_u64(const struct pull *json, uint64_t *out);

/* Write the characters of a string that pull_next() gave; returns their bytes, at most text->n. */
size_t pull_unescape(char *out, const struct pull_text *text);

/* Pass over the next value like pull_skip, and give the text that it has: *n bytes at *p, without the white space
 * around it. */
bool pull_value_text(struct pull *json, const char **p, size_t *n);

/* The last token, a number or one of the words, as a double. False for more than 63 characters, which no program
 * writes. */
bool pull_as_double(const struct pull *json, double *out);

uint64_t pull_token_at(const struct pull *json);        /* file offset of the last token */
uint64_t pull_fault_at(const struct pull *json);

enum { PULL_EXPLAIN = 96 };
/* "found '}', expected a value". Returns buf. */
const char *pull_explain(char buf[PULL_EXPLAIN], const struct pull *json);

const char *pull_token_name(enum pull_token token);     /* "a string"; for messages */

#endif
