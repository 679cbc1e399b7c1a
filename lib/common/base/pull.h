/* pull: the tokens of a JSON text in memory, one by one. No tree, no recursion, no allocation.
 *
 * Strict RFC 8259 as serde_json reads it: UTF-8 only, no byte order mark, no lone surrogate, no number out of range of a
 * double, not even in skipped values. \u0000 is legal. All calls together are O(n). Names begin with pull_, because json_*
 * belongs to jansson.
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
    PULL_BAD,                       /* see `fault`; every later call returns it, too */
    PULL_END,                       /* the value was followed by nothing but white space */
    PULL_OBJECT, PULL_OBJECT_END,
    PULL_ARRAY, PULL_ARRAY_END,
    PULL_KEY, PULL_STRING, PULL_NUMBER,     /* its text is in `token` */
    PULL_TRUE, PULL_FALSE, PULL_NULL,
};

enum pull_fault { PULL_OK, PULL_NOT_UTF8, PULL_SYNTAX, PULL_RANGE, PULL_TOO_DEEP };

/* The content of a string between its quotes, still escaped, or the characters of a number. */
struct pull_text {
    const char *p;                  /* borrowed from the text */
    size_t n;
    bool escaped;                   /* has a backslash: call pull_unescape() before use */
};

enum { PULL_DEPTH_MAX = 127 };      /* maximum depth of open objects and arrays, as in serde_json */

struct pull {
    const char *text, *p, *end;     /* first byte, next byte, end; borrowed */
    uint64_t at;                    /* file offset of the first byte */
    const char *start;              /* first byte of the last token */
    struct pull_text token;
    uint32_t depth;                 /* number of open objects and arrays */
    bool words;                     /* set after pull_init() to allow NaN, Infinity and -Infinity as numbers, as Python does */
    int state;
    uint64_t is_array[PULL_DEPTH_MAX / 64 + 1];     /* one bit per level: an array, else an object */
    enum pull_fault fault;
    const char *fault_p, *want;     /* position of the fault, and what was expected there; static */
};

/* Begins with text[0..n), which must outlive `json`. `at` is its file offset. Checks the whole text for valid UTF-8 first. */
void pull_init(struct pull *json, const char *text, size_t n, uint64_t at);

enum pull_token pull_next(struct pull *json);

/* Skips the next value, whatever it is, and checks it as strictly. Returns false on a fault. */
bool pull_skip(struct pull *json);

/* Returns true if a string is spelled exactly like this. A string with escapes never is. */
bool pull_text_is(const struct pull_text *text, const char *plain);

/* Sets *out to the last token, a number, if it is an integer in 0 .. 2^64-1 without sign, fraction or exponent; returns
 * false otherwise. */
bool pull_as_u64(const struct pull *json, uint64_t *out);

/* Decodes a string returned by pull_next() into out. Returns its length, at most text->n. */
size_t pull_unescape(char *out, const struct pull_text *text);

/* Skips the next value like pull_skip() and returns its text: *n bytes at *p, without surrounding white space. */
bool pull_value_text(struct pull *json, const char **p, size_t *n);

/* Sets *out to the last token, a number or one of the words, as a double. Returns false for more than 63 characters, which
 * no program writes. */
bool pull_as_double(const struct pull *json, double *out);

uint64_t pull_token_at(const struct pull *json);        /* file offset of the last token */
uint64_t pull_fault_at(const struct pull *json);

enum { PULL_EXPLAIN = 96 };
/* Formats a fault as "found '}', expected a value". Returns buf. */
const char *pull_explain(char buf[PULL_EXPLAIN], const struct pull *json);

const char *pull_token_name(enum pull_token token);     /* Returns the name of a token for messages: "a string". */

#endif
