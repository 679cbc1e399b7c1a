/* ticket: the turn that goes from block to block, so that what several threads make is written in order. */
#ifndef PIPELINE_TICKET_H
#define PIPELINE_TICKET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ticket {
    atomic_uint_fast64_t turn;          /* the block whose turn it is */
    atomic_uint sleepers;               /* threads that sleep until theirs */
    bool looks;
    pthread_mutex_t lock;
    pthread_cond_t turned;
};

/* `looks`: whoever is next looks at the ticket for a while before he sleeps; for turns that are short. */
void ticket_init(struct ticket *t, bool looks);
void ticket_clear(struct ticket *t);

/* Wait until it is this block's turn, and give the turn to the next one. */
void ticket_wait(struct ticket *t, uint64_t block);
void ticket_pass(struct ticket *t, uint64_t block);

#endif
