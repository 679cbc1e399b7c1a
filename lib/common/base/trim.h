/* trim: what the system is told about memory. */
#ifndef BASE_TRIM_H
#define BASE_TRIM_H

#include <stddef.h>

/* Frees unused pages of the heap, and drops the pages of the program's own code, which are read again from the page cache when
 * they run: together about 1 MiB of resident memory after the headers are read. Does nothing on systems without these calls. */
void trim_memory(void);

/* Asks for large pages for n bytes of new memory that will be filled: a vocabulary takes a thousand small ones, and the system
 * takes longer to find these than the copy takes. Does nothing for less than two large pages. */
void trim_coarsely(const void *p, size_t n);

#endif
