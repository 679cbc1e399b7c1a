#include "cli/progress.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "base/screen.h"
#include "base/signals.h"
#include "base/thread.h"
#include "cli/gauge.h"

enum {
    INTERVAL_NS = 100000000,            /* between two updates of the bar */
    MAX_COLUMNS = 160
};

/* Set by the SIGUSR1 handler and cleared by the watcher; static, because a signal handler has no other way to reach it. */
static atomic_bool status_wanted;

/* SIGWINCH only wakes the watcher. */
static void
on_signal(int sig)
{
    if (sig == SIGUSR1)
        atomic_store(&status_wanted, true);
}

static void
own_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGUSR1);
    sigaddset(set, SIGWINCH);
}

void
cli_progress_catch(void)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigset_t own;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGWINCH, &action, NULL);
    own_signals(&own);
    pthread_sigmask(SIG_BLOCK, &own, NULL);
}

/* --- the bar */

static unsigned
terminal_columns(void)
{
    return (unsigned)num_min(screen_window(STDERR_FILENO), MAX_COLUMNS);
}

/* Returns true if this process may draw on the terminal: a background job does not. stderr that is not our controlling
 * terminal has no foreground group. */
static bool
in_foreground(void)
{
    pid_t group = tcgetpgrp(STDERR_FILENO);
    return group <= 0 || group == getpgrp();
}

/* The cursor stays at the start of the bar. When the window becomes narrower, a terminal may wrap the bar into rows; these
 * come after the cursor and are erased with it. Wrapping is off while a bar is drawn, so that one that is already too wide
 * is cut off. */
#define ERASE_REST "\033[J"
#define WRAP_OFF "\033[?7l"
#define WRAP_ON "\033[?7h"

/* A bar with escape sequences is on the screen; static, because a signal handler erases it. */
static atomic_bool on_screen;

/* Erases the bar before a signal ends the process, and with it the ^C that the terminal wrote at the cursor. */
static void
erase_at_end(void)
{
    static const char erase[] = "\r" ERASE_REST;
    if (atomic_load(&on_screen) && write(STDERR_FILENO, erase, sizeof erase - 1) < 0)
        return;
}

static void
draw(struct cli_progress *p)
{
    struct meter_reading r = meter_read(&p->meter);
    char line[GAUGE_ROOM];
    pthread_mutex_lock(&p->lock);
    if (!atomic_load(&p->bar)) {
        pthread_mutex_unlock(&p->lock);
        return;
    }
    unsigned width = terminal_columns() - 1, n = (unsigned)strlen(gauge_line(line, &r, width));
    unsigned old = (unsigned)num_min(p->shown, width);
    atomic_store(&on_screen, p->escapes);
    if (p->escapes)
        fprintf(stderr, WRAP_OFF "%s" WRAP_ON ERASE_REST "\r", line);
    else
        fprintf(stderr, "\r%s%*s", line, old > n ? (int)(old - n) : 0, "");
    p->shown = n;
    pthread_mutex_unlock(&p->lock);
}

static void
wipe(struct cli_progress *p)
{
    if (p->shown != 0 && p->escapes)
        fputs(ERASE_REST, stderr);
    else if (p->shown != 0)
        fprintf(stderr, "\r%*s\r", (int)num_min(p->shown, terminal_columns() - 1), "");
    p->shown = 0;
    atomic_store(&on_screen, false);
}

void
cli_progress_no_bar(struct cli_progress *p)
{
    pthread_mutex_lock(&p->lock);
    wipe(p);
    atomic_store(&p->bar, false);
    pthread_mutex_unlock(&p->lock);
}

bool
cli_progress_is_seen(struct cli_progress *p)
{
    return atomic_load(&p->bar) && p->escapes;
}

void
cli_progress_hold(struct cli_progress *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    wipe(p);
}

void
cli_progress_release(struct cli_progress *p)
{
    if (p)
        pthread_mutex_unlock(&p->lock);
}

/* --- the watcher */

static void
answer(struct cli_progress *p)
{
    struct meter_reading r = meter_read(&p->meter);
    char words[GAUGE_ROOM];
    cli_tell(p->cli, gauge_words(words, &r));
}

/* Signals arrive only while it sleeps in pselect(). */
static void *
watch(void *of)
{
    struct cli_progress *p = of;
    const struct timespec interval = { .tv_nsec = INTERVAL_NS };
    sigset_t others;
    sigfillset(&others);
    sigdelset(&others, SIGUSR1);
    sigdelset(&others, SIGWINCH);
    while (true) {
        pselect(0, NULL, NULL, NULL, atomic_load(&p->bar) ? &interval : NULL, &others);
        if (atomic_exchange(&status_wanted, false))
            answer(p);
        if (atomic_load(&p->stop))
            return NULL;
        if (in_foreground())
            draw(p);
    }
}

/* Starts the watcher with all signals blocked from its first instruction on. */
static bool
start_watcher(struct cli_progress *p)
{
    sigset_t old;
    signals_hold(&old);
    bool ok = thread_start(&p->watcher, watch, p);
    signals_release(&old);
    return ok;
}

void
cli_progress_start(struct cli_progress *p, struct cli *cli, bool bar)
{
    const char *term = getenv("TERM");
    bool terminal = isatty(STDERR_FILENO), clever = terminal && term && *term && strcmp(term, "dumb") != 0;
    bool wanted = cli->progress == CLI_ALWAYS || (cli->progress == CLI_AUTO && clever);
    *p = (struct cli_progress){ .cli = cli, .bar = bar && wanted && !cli->quiet, .escapes = clever,
        .lock = PTHREAD_MUTEX_INITIALIZER };
    meter_init(&p->meter, "beginning");
    cli->bar = p;
    if (cli_progress_is_seen(p))
        signals_clean_with(erase_at_end);
    p->watches = start_watcher(p);
}

void
cli_progress_stop(struct cli_progress *p)
{
    if (!p->watches)
        return;
    atomic_store(&p->stop, true);
    pthread_kill(p->watcher, SIGWINCH);
    pthread_join(p->watcher, NULL);
    p->watches = false;
    wipe(p);
}
