/* meter: how far a job has come, in phases. Whoever works tells it, whoever watches reads it, from any threads. A meter
 * that is NULL is one that nobody watches: it can be told, not read. */
#ifndef BASE_METER_H
#define BASE_METER_H

#include <pthread.h>
#include <stdint.h>

#define METER_UNKNOWN UINT64_MAX

struct meter {
    void (*spools)(void *of, uint64_t nbytes);      /* or NULL: so many bytes are about to go to a temporary file */
    void *of;

    pthread_mutex_t lock;       /* of what follows */
    const char *phase;
    uint64_t done, total;
    uint64_t made, began;       /* clock, ns: the meter, and the phase */
};

struct meter_reading {
    const char *phase;          /* "writing": what is being done */
    uint64_t done;              /* bytes of it */
    uint64_t total;             /* bytes it will be; METER_UNKNOWN; 0: it has none to speak of */
    double seconds;             /* since the phase began */
    double age;                 /* since the meter was made */
};

/* In a phase without bytes. Nothing to clear. */
void meter_init(struct meter *m, const char *phase);

/* A phase begins, of so many bytes, or METER_UNKNOWN, or 0. Its name lives for ever. */
void meter_phase(struct meter *m, const char *phase, uint64_t total);

/* The phase in which nbytes go to a temporary file; m->spools is told. */
void meter_spool(struct meter *m, uint64_t nbytes);

/* So many bytes more are done. */
void meter_add(struct meter *m, uint64_t nbytes);

struct meter_reading meter_read(struct meter *m);

#endif
