/* progress: what is shown while a job runs: a bar on stderr, and an answer to SIGUSR1.
 *
 *     struct cli_progress progress;
 *     cli_progress_start(&progress, &cli, true);
 *     ... the job updates cli.bar->meter ...
 *     cli_progress_stop(&progress);
 *
 * A separate thread watches the meter, so that it updates and answers at once even while the job waits for its input or its
 * reader. It receives SIGUSR1 and SIGWINCH only, and no other thread does; all other signals are delivered as if it did not
 * exist.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/meter.h"
#include "cli/cli.h"

struct cli_progress {
    struct meter meter;
    const struct cli *cli;      /* borrowed until cli_progress_stop() */
    atomic_bool bar;            /* show a bar: as set by --progress, never under -q */
    bool escapes;               /* the terminal understands escape sequences */
    pthread_mutex_t lock;       /* protects stderr and `shown` */
    unsigned shown;             /* columns of the bar on screen, 0 if there is none */
    pthread_t watcher;
    bool watches;               /* the watcher was started */
    atomic_bool stop;
};

/* Starts watching and sets cli->bar. `bar`: this tool shows one. If no thread can be started, nothing is shown. */
void cli_progress_start(struct cli_progress *p, struct cli *cli, bool bar);

/* Answers a pending SIGUSR1, erases the bar and stops watching. A second call does nothing. */
void cli_progress_stop(struct cli_progress *p);

/* Removes the bar because text goes to standard output, which may be the same terminal. SIGUSR1 is still answered. */
void cli_progress_no_bar(struct cli_progress *p);

/* Returns true if a bar is shown on a terminal. */
bool cli_progress_is_seen(struct cli_progress *p);

/* Enclose the output of a line on stderr: erase the bar before, and let it be redrawn after. Both accept NULL. */
void cli_progress_hold(struct cli_progress *p);
void cli_progress_release(struct cli_progress *p);

/* Holds SIGUSR1 until cli_progress_start(), so that it does not end the tool. cli_start() calls it. */
void cli_progress_catch(void);

#endif
