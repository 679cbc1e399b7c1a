/* expression: POSIX expressions of the user. */
#ifndef BASE_EXPRESSION_H
#define BASE_EXPRESSION_H

#include <regex.h>

/* As regexec(), but want of memory is REG_ESPACE: the one of glibc says that nothing was found. */
int expression_find(const regex_t *re, const char *text, size_t n, regmatch_t *match, int flags);

#endif
