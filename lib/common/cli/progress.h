/* progress: a bar on stderr, exact because the total is known, and the answer to SIGUSR1.
 *
 *     struct cli_progress bar;
 *     cli_progress_start(&bar, cli);
 *     ... cli_progress_update(&bar, done, total), often, from one thread at a time ...
 *     cli_progress_stop(&bar);             before anything else is said on stderr
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/cli.h"

/* Plain storage of the caller; owns nothing. */
struct cli_progress {
    const char *tool;
    bool bar;                   /* a bar is wanted: as --progress says, never under -q */
    bool shown;                 /* one stands on the terminal */
    unsigned columns;           /* of the terminal */
    uint64_t began, next;       /* clock, ns: start, and when the bar may change again */
};

void cli_progress_start(struct cli_progress *p, const struct cli *cli);

/* `done` bytes of `total` are out. Cheap when nothing is due; redraws at most ten times a second. After
 * SIGUSR1 prints one line that stays, bar or not. */
void cli_progress_update(struct cli_progress *p, uint64_t done, uint64_t total);

/* Wipe the bar away. */
void cli_progress_stop(struct cli_progress *p);

/* Let SIGUSR1 ask for a status line from now on. cli_start() calls it, so that no tool dies of one. */
void cli_progress_catch(void);

#endif
