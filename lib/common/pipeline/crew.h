/* crew: threads that share independent units of work, such as the tensors of a model. */
#ifndef PIPELINE_CREW_H
#define PIPELINE_CREW_H

#include "base/err.h"

struct crew {
    uint64_t units;
    unsigned jobs;              /* number of threads, at least 1 */
    void *of;                   /* argument of the functions below */
    void *(*enter)(void *of, struct err *err);                  /* makes what one thread owns; NULL on failure */
    bool (*work)(void *of, void *own, uint64_t unit, struct err *err);
    void (*leave)(void *own);
};

/* Does all units; each thread takes the next one. This thread is one of them; if another cannot be started or lacks memory,
 * the rest do its work. If several units fail, the error of the lowest one is reported, independent of timing. */
bool crew_run(const struct crew *crew, struct err *err);

#endif
