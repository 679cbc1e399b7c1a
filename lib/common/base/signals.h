/* signals: moments in which none arrives. What is made between the two calls is complete when one does. */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

#include <signal.h>

/* Hold all signals to this thread back; *old is what signals_release() needs. Other threads still get them, so this is
 * for when there are none that take any. */
void signals_hold(sigset_t *old);

/* Those that came meanwhile arrive now. Keeps errno. */
void signals_release(const sigset_t *old);

#endif
