/* The inside of a sink, for sink.c, compare.c, direct.c, temp.c and descriptor.c. */
#ifndef SINK_SINK_PRIV_H
#define SINK_SINK_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* direct.c: a second descriptor of the file, past the page cache. */
struct direct {
    int fd;                     /* -1: there is none */
    atomic_bool refused;        /* the file system takes no such write after all */
};

/* Open the file `name`, which `fd` is already; false when that cannot be, or not in this way. */
bool direct_open(struct direct *direct, const char *name, int fd);

/* One pwrite(2) of at most n bytes: past the page cache what can go there, through `fd` what cannot. Any thread. */
ssize_t direct_write(struct direct *direct, int fd, const void *p, size_t n, uint64_t at);

/* False and errno. */
bool direct_close(struct direct *direct);

/* compare.c: counts the first bytes of p[0..n) that a file has at offset `at`: all n, or fewer where it differs or ends.
 * False and errno when the file cannot be read. */
enum { COMPARE_STEP = 4096 };
bool compare_bytes(int fd, uint64_t at, const void *p, size_t n, uint64_t *same);

/* temp.c: the files whose names are not their last ones. From temp_make() to temp_rename() or temp_remove(), each called
 * while no other thread takes signals, every signal that ends the process removes them first. */

/* Makes a new file for writing; `name` ends in XXXXXX and becomes its name. The descriptor holds an exclusive flock(2),
 * where the file system has locks: a file without one was left by a job that was killed. -1 and errno. */
int temp_make(char *name);

/* Give the file its last name, in the place of what has it unless `keep`; then it fails with EEXIST. False and errno. */
bool temp_rename(const char *name, const char *path, bool keep);

void temp_remove(const char *name);

/* descriptor.c: the descriptor of this process that a path stands for, as /dev/stdout, /dev/fd/3, /proc/self/fd/1 and
 * links to them do; -1 for any other path. It need not be open. */
int descriptor_of(const char *path);

#endif
