/* expression: POSIX extended regular expressions from the command line. Expressions from files go through base/matcher.h. */
#ifndef BASE_EXPRESSION_H
#define BASE_EXPRESSION_H

#include <regex.h>

#include "base/err.h"

/* Compiles with regcomp(), REG_EXTENDED and more. Fails with ERR_USAGE, which names the option, or ERR_MEMORY. */
bool expression_read(regex_t *re, const char *text, int flags, const char *option, struct err *err);

/* regexec(), but returns REG_ESPACE if out of memory, where glibc's reports no match. */
int expression_find(const regex_t *re, const char *text, size_t n, regmatch_t *match, int flags);

#endif
