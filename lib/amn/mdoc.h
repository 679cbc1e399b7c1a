/* mdoc: a manual page as plain text, where there is neither man nor mandoc. It reads what our own pages are made of; of a macro
 * that it does not know the words are shown. */
#ifndef AMN_MDOC_H
#define AMN_MDOC_H

#include "base/str.h"

/* Append the text of the page p[0..n), filled to 78 columns, without control characters. Cannot fail but for memory, which
 * shows in `out`. */
void mdoc_text(struct str *out, const char *p, size_t n);

#endif
