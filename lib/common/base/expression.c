#include "base/expression.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

bool
expression_read(regex_t *re, const char *text, int flags, const char *option, struct err *err)
{
    char why[128], shown[STR_SHOWN];
    int code = regcomp(re, text, REG_EXTENDED | flags);
    if (code == 0 || code == REG_ESPACE)
        return code == 0 || err_memory(err, strlen(text));
    regerror(code, re, why, sizeof why);
    return err_set(err, ERR_USAGE, "%s: '%s': %s", option, str_shown(shown, text, strlen(text)), why);
}

int
expression_find(const regex_t *re, const char *text, size_t n, regmatch_t *match, int flags)
{
    int was = errno;
    errno = 0;
    int code = regexec(re, text, n, match, flags);
    if (code != 0 && errno == ENOMEM)           /* set by the malloc() that failed */
        code = REG_ESPACE;
    errno = was;
    return code;
}
