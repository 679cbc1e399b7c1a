/* matcher: matches names against a regular expression or a glob from a file, which is untrusted. Takes fixed memory, and
 * time proportional at most to the product of their lengths (R. Cox, Regular Expression Matching Can Be Simple And Fast: all
 * paths through the expression are followed at once).
 *
 * Supports these parts of Python's syntax: characters, `.`, \ before punctuation, \d \w \s and their capitals, [a-z] and
 * [^a-z], ( ) and (?: ), `|`, `*`, `+`, `?` and their lazy forms, ^ and $. Any other syntax, such as {m,n} and look-around,
 * is refused rather than misread. Names are compared by byte.
 *
 * Expressions from the command line support all of POSIX (base/expression.h) and are left to the C library. It is not suited
 * for untrusted ones: glibc keeps kilobytes of state for each byte of the name.
 */
#ifndef BASE_MATCHER_H
#define BASE_MATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MATCHER_STATES = 256 };

struct matcher_state {
    uint8_t op;
    uint8_t c;
    uint16_t to, or_to;             /* next states */
    uint16_t set;                   /* for a class: its bits begin at sets[set] */
};

/* Plain storage; owns nothing. */
struct matcher {
    struct matcher_state state[MATCHER_STATES];
    uint16_t nstates, start;
    uint32_t sets[16][8];           /* bitmaps of the bytes that classes match */
    uint16_t nsets;
    bool glob;
};

/* Compiles an expression, or a glob (* ? [a-z] [!a-z]). Returns false if it is not supported or too long. */
bool matcher_read(struct matcher *p, const char *text, size_t n, bool glob);

/* Returns true if an expression matches at the start of name[0..n), like Python's re.match, or a glob matches all of it,
 * like fnmatchcase. Deducts from *left one step for each byte and each state that waits for it, which is proportional to the
 * time taken. If too few are left, sets *left to 0 and returns false. */
bool matcher_match(const struct matcher *p, const char *name, size_t n, uint64_t *left);

/* Sets *at to the first place where an expression matches, like Python's re.search. Returns false without one. *left as above. */
bool matcher_find(const struct matcher *p, const char *name, size_t n, size_t *at, uint64_t *left);

#endif
