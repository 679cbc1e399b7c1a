/* signals: sections without signals, and what is cleaned up if one ends the process. Anything created between signals_hold() and signals_release()
 * is complete before a signal arrives. */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

#include <signal.h>

/* Blocks all signals to this thread; *old is for signals_release(). Other threads still receive them, so call this only
 * while no other thread accepts signals. */
void signals_hold(sigset_t *old);

/* Delivers the signals that arrived meanwhile. Preserves errno. */
void signals_release(const sigset_t *old);

/* Adds a function that is called if the process ends early, and from now on catches all signals that end it, real-time ones
 * included, except those that are handled or ignored already. It must be async-signal-safe. Adding it again does nothing. */
void signals_clean_with(void (*clean)(void));

/* Calls these functions and ends the process with `status`, without exit handlers, as a fatal signal would. */
_Noreturn void signals_end(int status);

#endif
