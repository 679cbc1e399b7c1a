/* signals: sections without signals, and termination by one. Anything created between signals_hold() and signals_release()
 * is complete before a signal arrives. */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

#include <signal.h>

/* Blocks all signals to this thread; *old is for signals_release(). Other threads still receive them, so call this only
 * while no other thread accepts signals. */
void signals_hold(sigset_t *old);

/* Delivers the signals that arrived meanwhile. Preserves errno. */
void signals_release(const sigset_t *old);

/* Sets the function that removes temporary files if the process ends early. It must be async-signal-safe. */
void signals_clean_with(void (*clean)(void));

/* Calls that function and ends the process with `status`, without exit handlers, as a fatal signal would. */
_Noreturn void signals_end(int status);

#endif
