/* meter: the progress of a job, in phases. Workers update it and observers read it, from any thread. A NULL meter may be
 * updated, but not read. */
#ifndef BASE_METER_H
#define BASE_METER_H

#include <pthread.h>
#include <stdint.h>

#define METER_UNKNOWN UINT64_MAX

struct meter {
    void (*spools)(void *of, uint64_t nbytes);      /* called when so many bytes are about to be spooled, or NULL */
    void *of;

    pthread_mutex_t lock;       /* protects all that follows */
    const char *phase;
    uint64_t done, total;
    uint64_t made, began;       /* start times in ns: of the meter, and of the phase */
};

struct meter_reading {
    const char *phase;          /* name of the phase: "writing" */
    uint64_t done;              /* bytes done */
    uint64_t total;             /* bytes in total; METER_UNKNOWN; or 0 if the phase has none worth showing */
    double seconds;             /* since the phase began */
    double age;                 /* since the meter was made */
};

/* Starts in a phase without bytes. Needs no cleanup. */
void meter_init(struct meter *m, const char *phase);

/* Begins a phase of so many bytes, or METER_UNKNOWN, or 0. Its name must be static. */
void meter_phase(struct meter *m, const char *phase, uint64_t total);

/* Begins the phase in which nbytes are spooled to a temporary file, and calls m->spools. */
void meter_spool(struct meter *m, uint64_t nbytes);

/* Adds to the bytes done. */
void meter_add(struct meter *m, uint64_t nbytes);

struct meter_reading meter_read(struct meter *m);

#endif
