/* trim: gives back memory that only the beginning of a job needed, before the part that needs the most. */
#ifndef BASE_TRIM_H
#define BASE_TRIM_H

/* Frees unused pages of the heap, and drops the pages of the program's own code, which are read again from the page cache when
 * they run: together about 1 MiB of resident memory after the headers are read. Does nothing on systems without these calls. */
void trim_memory(void);

#endif
