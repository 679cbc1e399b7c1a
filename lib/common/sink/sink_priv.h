/* The inside of a sink, for sink.c, temp.c and descriptor.c. */
#ifndef SINK_SINK_PRIV_H
#define SINK_SINK_PRIV_H

#include <stdbool.h>

/* temp.c: the file whose name is not its last one. There is one in a process; from temp_make() to temp_rename() or
 * temp_remove(), each called while no other thread runs, every signal that ends the process removes it first. */

/* A new file, for writing; `name` ends in XXXXXX and becomes its name. -1 and errno. */
int temp_make(char *name);

/* Give the file its last name, in the place of what has it unless `keep`; then it fails with EEXIST. False and errno. */
bool temp_rename(const char *name, const char *path, bool keep);

void temp_remove(const char *name);

/* descriptor.c: the descriptor of this process that a path stands for, as /dev/stdout, /dev/fd/3, /proc/self/fd/1 and
 * links to them do; -1 for any other path. It need not be open. */
int descriptor_of(const char *path);

#endif
