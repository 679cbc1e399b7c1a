#include "family/pattern.h"

#include <string.h>

#include "base/num.h"

/* Reads a number at *p and moves *p after its digits. Returns false without digits or on overflow. */
static bool
read_layer(uint64_t *b, const char **p, const char *end)
{
    const char *begin = *p;
    uint64_t n = 0;
    for (; *p < end && **p >= '0' && **p <= '9'; ++*p)
        if (!num_mul(&n, n, 10) || !num_add(&n, n, (uint64_t)(**p - '0')))
            return false;
    *b = n;
    return *p > begin;
}

/* Matches like a glob: after a failure, the last star takes one character more. */
bool
pattern_matches(const char *pattern, const char *name, size_t n, uint64_t *b)
{
    const char *end = name + n, *star = NULL, *from = NULL;
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
            continue;
        }
        if (*pattern == '\0' && name == end)
            return true;
        if (*pattern != '\0' && strncmp(pattern, "{b}", 3) == 0 && read_layer(b, &name, end)) {
            pattern += 3;
            continue;
        }
        if (*pattern != '\0' && *pattern != '{' && name < end && *pattern == *name) {
            pattern++;
            name++;
            continue;
        }
        if (!star || from >= end)
            return false;
        pattern = star;
        name = ++from;
    }
}
