/* journal: what of a model directory is finished, so that a job that was interrupted can go on. A small text in the
 * directory, which goes when all is done:
 *
 *     amn 2 JOB N                      the fingerprint of all that the output depends on, and how many files it has
 *     NAME NBYTES CRC                  one line a finished file, added when it has its name
 *
 * A line that was cut counts as none. */
#ifndef OUTPUT_JOURNAL_H
#define OUTPUT_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define JOURNAL_NAME ".amn-journal"

struct journal_entry {
    char name[64];
    uint64_t nbytes;
    uint32_t crc;
};

/* Zeroed: closed. */
struct journal {
    int fd;                     /* + 1, so that 0 is none */
    char *path;                 /* owned */
    struct journal_entry *entry;        /* n of them, as found; owned */
    size_t n, room;
};

/* Begin a journal for a job of `files` files in a directory, or with `resume` go on with the one that is there, if any:
 * that of another job, or one that another process has open, is ERR_CREATE. Close it also after a failure. */
bool journal_open(struct journal *j, const char *dir, uint64_t job, size_t files, bool resume, struct err *err);

/* The entry for a file, or NULL. */
const struct journal_entry *journal_find(const struct journal *j, const char *name);

/* A file is finished. It is on the disk when this returns. */
bool journal_add(struct journal *j, const struct journal_entry *entry, struct err *err);

/* All is done: the journal goes. journal_drop(): for another reason, and without a word. */
bool journal_remove(struct journal *j, struct err *err);
void journal_drop(const struct journal *j);
void journal_close(struct journal *j);

#endif
