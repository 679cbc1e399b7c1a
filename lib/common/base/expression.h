/* expression: POSIX extended expressions of the user. A stranger's go through base/matcher.h. */
#ifndef BASE_EXPRESSION_H
#define BASE_EXPRESSION_H

#include <regex.h>

#include "base/err.h"

/* regcomp(), REG_EXTENDED and more. A failure is ERR_USAGE that names the option, or ERR_MEMORY. */
bool expression_read(regex_t *re, const char *text, int flags, const char *option, struct err *err);

/* As regexec(), but lack of memory is REG_ESPACE: the one of glibc says that nothing was found. */
int expression_find(const regex_t *re, const char *text, size_t n, regmatch_t *match, int flags);

#endif
