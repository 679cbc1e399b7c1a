/* Internals of a sink, for sink.c, compare.c, direct.c, temp.c and descriptor.c. */
#ifndef SINK_SINK_PRIV_H
#define SINK_SINK_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* direct.c: a second descriptor of the file, opened with O_DIRECT. */
struct direct {
    int fd;                     /* -1: none */
    atomic_bool refused;        /* the file system rejected a direct write */
};

/* Opens the file `name`, which is already open as `fd`. Returns false if that fails, or if O_DIRECT is not supported. */
bool direct_open(struct direct *direct, const char *name, int fd);

/* Makes one pwrite(2) of at most n bytes: direct if open, aligned and supported, otherwise through `fd`. Callable from any thread. */
ssize_t direct_write(struct direct *direct, int fd, const void *p, size_t n, uint64_t at);

/* Returns false with errno. */
bool direct_close(struct direct *direct);

/* compare.c: sets *same to the number of leading bytes of p[0..n) that equal the file at offset `at`: n, or fewer if it
 * differs or ends. Returns false with errno if the file cannot be read. */
enum { COMPARE_STEP = 4096 };
bool compare_bytes(int fd, uint64_t at, const void *p, size_t n, uint64_t *same);

/* temp.c: files with temporary names. Between temp_make() and temp_rename() or temp_remove(), any signal that ends the
 * process removes them first. Call these while no other thread accepts signals. */

/* Creates a new file for writing; `name` ends in XXXXXX, which is replaced. The descriptor holds an exclusive flock(2) if
 * the file system supports locks, so an unlocked file is left over from a killed job. Returns -1 with errno on failure. */
int temp_make(char *name);

/* Renames the file to its final name and replaces an existing file; with `keep`, fails with EEXIST instead. Returns false
 * with errno. */
bool temp_rename(const char *name, const char *path, bool keep);

void temp_remove(const char *name);

/* descriptor.c: returns the descriptor of this process that a path refers to, such as /dev/stdout, /dev/fd/3,
 * /proc/self/fd/1 or a link to one of these; -1 for any other path. The descriptor need not be open. */
int descriptor_of(const char *path);

#endif
