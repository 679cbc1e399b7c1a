/* matcher: checks whether a name matches a stranger's regular expression or a glob, in fixed memory and in time that grows with
 * the product of their lengths, whatever they are (R. Cox, Regular Expression Matching Can Be Simple And Fast: all
 * ways through the expression are walked at once).
 *
 * Of Python's expressions: characters, `.`, \ before punctuation, \d \w \s and their capitals, [a-z] and [^a-z], ( )
 * and (?: ), `|`, `*`, `+`, `?` and their lazy forms, ^ and $. Anything else, {m,n} and look-around among them, is
 * unknown: such a pattern is refused rather than read as something similar. Names are compared by byte.
 *
 * The user's own expressions promise all of POSIX (base/expression.h). The library of C reads those; it cannot read a
 * stranger's, for glibc keeps a state of kilobytes for each byte of the name.
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
    uint16_t set;                   /* of a class: its bits begin at sets[set] */
};

/* Plain storage; owns nothing. */
struct matcher {
    struct matcher_state state[MATCHER_STATES];
    uint16_t nstates, start;
    uint32_t sets[16][8];           /* bytes that a class matches, a bit each */
    uint16_t nsets;
    bool glob;
};

/* Reads an expression, or a glob (* ? [a-z] [!a-z]). Returns false for one that is unknown, or too long. */
bool matcher_read(struct matcher *p, const char *text, size_t n, bool glob);

/* Checks whether an expression matches at the start of name[0..n), as Python's re.match, or a glob all of it, as
 * fnmatchcase. Takes one step off *left for each byte and each state that waits for it, which is what the time
 * follows; with too few left it gives up: false, and *left is 0. */
bool matcher_match(const struct matcher *p, const char *name, size_t n, uint64_t *left);

#endif
