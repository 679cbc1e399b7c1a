/* journal: which files of a model directory are finished, so that an interrupted job can resume. A small text file in the
 * directory, removed at the end:
 *
 *     amn 2 JOB N                      fingerprint of everything the output depends on, and the number of files
 *     NAME NBYTES CRC                  one line per finished file, added after it is renamed
 *
 * A truncated line is ignored.
 */
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

/* A zeroed struct is closed. */
struct journal {
    int fd;                     /* + 1, so that 0 means none */
    char *path;                 /* owned */
    struct journal_entry *entry;        /* n of them, read at the start; owned */
    size_t n, room;
};

/* What to do with the journal of an earlier job: JOURNAL_NEW fails, JOURNAL_RESUME continues it, JOURNAL_AGAIN empties it. */
enum journal_start { JOURNAL_NEW, JOURNAL_RESUME, JOURNAL_AGAIN };

/* Opens the journal for a job of `files` files. Fails with ERR_CREATE if it belongs to another job that is to be continued, or
 * is open in another process. Close it even after a failure. */
bool journal_open(struct journal *j, const char *dir, uint64_t job, size_t files, enum journal_start start, struct err *err);

/* Returns the entry of a file, or NULL. */
const struct journal_entry *journal_find(const struct journal *j, const char *name);

/* Records a finished file. The entry is on disk when this returns. */
bool journal_add(struct journal *j, const struct journal_entry *entry, struct err *err);

/* journal_remove() deletes the journal of a finished job. journal_drop() does the same after a failure and ignores errors. */
bool journal_remove(struct journal *j, struct err *err);
void journal_drop(const struct journal *j);
void journal_close(struct journal *j);

#endif
