/* fetch_run: runs the command of a fetch once. Internal to this layer. */
#ifndef SOURCE_FETCH_RUN_H
#define SOURCE_FETCH_RUN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct fetch_run {
    const char *command, *file;         /* borrowed */
    uint64_t at;                        /* first byte */
    size_t n;                           /* bytes to ask for */
    uint8_t *p;                         /* receives them */
    size_t got;                         /* out: bytes that came */
    atomic_int *pid;                    /* process group of the running command, or 0, so that it can be killed */
};

/* Fails with ERR_IO, with the status of the command and the end of its standard error, or if more than n bytes come. */
bool fetch_run(struct fetch_run *r, struct err *err);

#endif
