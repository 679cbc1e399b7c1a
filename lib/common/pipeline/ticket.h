/* ticket: lets several threads write blocks in order, one turn per block. */
#ifndef PIPELINE_TICKET_H
#define PIPELINE_TICKET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ticket {
    atomic_uint_fast64_t turn;          /* number of the current block */
    atomic_uint sleepers;               /* number of sleeping threads */
    bool spins;
    pthread_mutex_t lock;
    pthread_cond_t turned;
};

/* `spins`: the next thread spins for a while before it sleeps, which pays if turns are short. */
void ticket_init(struct ticket *t, bool spins);
void ticket_clear(struct ticket *t);

/* Waits for the turn of this block; passes the turn to the next block. */
void ticket_wait(struct ticket *t, uint64_t block);
void ticket_pass(struct ticket *t, uint64_t block);

#endif
