#include "base/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"

enum { WORD_MAX = 64, HINTS = 4 };

static int
folded(char c)
{
    if (c == '_')
        return '-';
    return tolower((unsigned char)c);
}

static unsigned
least(unsigned a, unsigned b)
{
    if (a < b)
        return a;
    return b;
}

/* Returns the number of letters inserted, deleted, changed or swapped with the next (optimal string alignment) between a and
 * b, each at most WORD_MAX long. Computed row by row; the last two rows are kept. */
static unsigned
distance(const char *a, size_t na, const char *b, size_t nb)
{
    unsigned rows[3][WORD_MAX + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= nb; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            bool same = folded(a[i - 1]) == folded(b[j - 1]);
            row[j] = least(above[j - 1] + !same, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *next = before;
        before = above;
        above = row;
        row = next;
    }
    return above[nb];
}

/* Returns true if two words differ only in case and in '-' and '_', such as q4km and Q4_K_M. */
static bool
is_spelled_alike(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "-_");
        b += strspn(b, "-_");
        if (folded(*a) != folded(*b))
            return false;
        if (*a == '\0')
            return true;
    }
}

unsigned
nearest_distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b);
    if (na <= WORD_MAX && nb <= WORD_MAX)
        return distance(a, na, b, nb);
    return UINT_MAX;
}

const char *
nearest_separator(size_t i, size_t n)
{
    if (i == 0)
        return "";
    if (i + 1 == n)
        return " or ";
    return ", ";
}

void
nearest_hint(struct str *hint, const char *prefix, const char *typed, const char *const words[], size_t nwords)
{
    const char *near[HINTS];
    size_t n = 0, len = strlen(typed);
    if (len == 0 || len > WORD_MAX)
        return;
    unsigned best = (unsigned)num_max(1, len / 3);
    for (size_t i = 0; i < nwords; i++) {
        size_t word_len = strlen(words[i]);
        unsigned d = WORD_MAX;
        if (word_len <= WORD_MAX)
            d = distance(typed, len, words[i], word_len);
        if (is_spelled_alike(typed, words[i]))
            d = 0;
        bool again = false;
        for (size_t k = 0; k < n; k++)
            again |= strcmp(near[k], words[i]) == 0;
        if (d > best || d >= len || again)
            continue;
        if (d < best)
            n = 0;
        best = d;
        if (n < HINTS)
            near[n++] = words[i];
    }
    for (size_t i = 0; i < n; i++)
        str_format(hint, "%s%s%s%s", i == 0 ? "; did you mean " : "", nearest_separator(i, n), prefix, near[i]);
    if (n != 0)
        str_text(hint, "?");
}

void
nearest_or_all(struct str *hint, const char *typed, const char *const words[], size_t nwords)
{
    size_t len = hint->len;
    nearest_hint(hint, "", typed, words, nwords);
    if (hint->len != len)
        return;
    for (size_t i = 0; i < nwords; i++)
        str_format(hint, "%s%s%s", i == 0 ? ": expected " : "", nearest_separator(i, nwords), words[i]);
}
