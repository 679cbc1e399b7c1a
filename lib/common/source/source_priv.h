/* The inside of a source, for source.c, pipe.c, spool.c and drop.c. */
#ifndef SOURCE_SOURCE_PRIV_H
#define SOURCE_SOURCE_PRIV_H

#include <pthread.h>
#include <sys/stat.h>

#include "source/source.h"

struct kept {
    uint64_t at, n;
    uint8_t *p;                 /* owned, n bytes */
};

/* What source_drop() was told and has not given back yet. */
struct behind {
    pthread_mutex_t lock;
    uint64_t from, to;
};

struct source {
    int fd;                     /* the input; -1 when closed */
    bool own_fd;                /* close it */
    bool seekable;
    uint64_t size;              /* SOURCE_SIZE_UNKNOWN for a pipe */
    struct stat opened;         /* what it was when it was opened */
    char *name;                 /* owned, escaped */

    uint8_t *head;              /* owned; the bytes [gone, have) of the input, in `room` bytes */
    uint64_t gone, have, room;

    uint64_t pos;               /* pipe: offset of the next byte the descriptor gives */
    bool ended;                 /* pipe: the descriptor gave its end */
    struct kept *kept;          /* pipe: ranges in rising order; owned */
    size_t nkept, room_kept;
    size_t passing;             /* first kept range that has not passed yet */
    uint8_t back[SOURCE_BACK];  /* pipe: the bytes just before pos */
    size_t nback;

    int spool;                  /* descriptor of the spool, or -1 */
    uint64_t spool_base;        /* file offset of its first byte */

    struct behind behind;       /* file */
};

/* One read(2): at most n bytes, 0 at the end; retries EINTR. False and ERR_IO on failure. */
bool pipe_some(struct source *src, void *buf, size_t n, size_t *got, struct err *err);

/* Exactly n bytes at `at`, which is behind the head. */
bool pipe_read(struct source *src, uint64_t at, void *buf, size_t n, struct err *err);

/* Go on to offset `to` (UINT64_MAX: to the end), dropping what is not kept. Stops early at the end. */
bool pipe_skip(struct source *src, uint64_t to, struct err *err);

/* The end of source_drop(): give back what it still gathers. */
void drop_rest(struct source *src);

#endif
