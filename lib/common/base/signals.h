/* signals: moments in which none arrives, and the end that one brings. What is made between the first two calls is complete
 * when one does. */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

#include <signal.h>

/* Hold all signals to this thread back; *old is what signals_release() needs. Other threads still get them, so this is
 * for when there are none that take any. */
void signals_hold(sigset_t *old);

/* Those that came meanwhile arrive now. Keeps errno. */
void signals_release(const sigset_t *old);

/* Notes what removes the files that must not outlive the process early: something that a signal handler may call. */
void signals_clean_with(void (*clean)(void));

/* Ends the process as a fatal signal does, after that, but with a status. */
_Noreturn void signals_end(int status);

#endif
