#include "base/expression.h"

#include <errno.h>

int
expression_find(const regex_t *re, const char *text, size_t n, regmatch_t *match, int flags)
{
    int was = errno;
    errno = 0;
    int code = regexec(re, text, n, match, flags);
    if (code != 0 && errno == ENOMEM)           /* of the malloc() that failed */
        code = REG_ESPACE;
    errno = was;
    return code;
}
