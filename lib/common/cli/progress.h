/* progress: what is shown of a job while it runs: a bar on stderr, and an answer to SIGUSR1.
 *
 *     struct cli_progress progress;
 *     cli_progress_start(&progress, &cli, true);
 *     ... the job tells cli.bar->meter how far it is ...
 *     cli_progress_stop(&progress);
 *
 * A thread of its own watches the meter, so that it shows and answers at once, also while the job waits for its input
 * or its reader. It takes no signal but SIGUSR1 and SIGWINCH, which no other thread takes: to everything that is about
 * the others the process is as if it were not there.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/meter.h"
#include "cli/cli.h"

struct cli_progress {
    struct meter meter;
    const struct cli *cli;      /* borrowed until the stop */
    atomic_bool bar;            /* a bar is wanted: as --progress says, never under -q */
    bool escapes;               /* the terminal knows how to erase */
    pthread_mutex_t lock;       /* of stderr, and of: */
    unsigned shown;             /* columns of the bar that stands there, 0: none */
    pthread_t watcher;
    bool watches;               /* there is one */
    atomic_bool stop;
};

/* Begin to watch, and let cli->bar be this. `bar`: the tool has one. Without a thread to be had nothing is shown. */
void cli_progress_start(struct cli_progress *p, struct cli *cli, bool bar);

/* Answer what has been asked, wipe the bar away, and show nothing more. A second time it does nothing. */
void cli_progress_stop(struct cli_progress *p);

/* Answer SIGUSR1 as before, but show no bar any more: standard output, which may be the same terminal, gets text. */
void cli_progress_no_bar(struct cli_progress *p);

/* Around a line that goes to stderr: wipe the bar away, and let it come again. Both take NULL. */
void cli_progress_hold(struct cli_progress *p);
void cli_progress_release(struct cli_progress *p);

/* Let SIGUSR1 wait for cli_progress_start() from now on. cli_start() calls it, so that no tool dies of one. */
void cli_progress_catch(void);

#endif
