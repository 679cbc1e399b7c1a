#include "cli/progress.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "base/str.h"

#define SECOND UINT64_C(1000000000)
#define INTERVAL (SECOND / 10)
enum { MIN_COLUMNS = 20, DEFAULT_COLUMNS = 80, MAX_COLUMNS = 160, BAR_MIN = 10, BAR_MAX = 40 };

/* Set by the handler of SIGUSR1, taken by the next update: the one thing a handler can reach. */
static atomic_bool status_wanted;

static void
want_status(int sig)
{
    (void)sig;
    atomic_store(&status_wanted, true);
}

void
cli_progress_catch(void)
{
    struct sigaction action = { .sa_handler = want_status, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
}

static uint64_t
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static unsigned
terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return DEFAULT_COLUMNS;
    return size.ws_col < MIN_COLUMNS ? MIN_COLUMNS : size.ws_col > MAX_COLUMNS ? MAX_COLUMNS : size.ws_col;
}

void
cli_progress_start(struct cli_progress *p, const struct cli *cli)
{
    bool wanted = cli->progress == CLI_ALWAYS || (cli->progress == CLI_AUTO && isatty(STDERR_FILENO));
    *p = (struct cli_progress){ .tool = cli->tool, .bar = wanted && !cli->quiet };
    p->columns = p->bar ? terminal_columns() : DEFAULT_COLUMNS;
    p->began = now();
    p->next = p->began + INTERVAL;
}

/* "42%  1.21 GiB of 2.88 GiB  512.00 MiB/s  0:03 left" */
static void
status_text(char *buf, size_t room, const struct cli_progress *p, uint64_t done, uint64_t total, uint64_t time)
{
    char a[STR_SIZE], b[STR_SIZE], c[STR_SIZE];
    double seconds = (double)(time - p->began) / (double)SECOND;
    double rate = seconds > 0 ? (double)done / seconds : 0;
    unsigned percent = total ? (unsigned)((double)done / (double)total * 100) : 100;
    int n = snprintf(buf, room, "%3u%%  %s of %s  %s/s", percent, str_size(a, done), str_size(b, total),
        str_size(c, (uint64_t)rate));
    if (rate > 0 && n > 0 && (size_t)n < room) {
        double left = (double)(total - done) / rate;
        if (left < 360000)
            snprintf(buf + n, room - (size_t)n, "  %u:%02u left", (unsigned)left / 60, (unsigned)left % 60);
    }
}

/* Plain characters and a carriage return: no colour, no escape sequence, fit for any terminal. */
static void
draw(struct cli_progress *p, const char *text, uint64_t done, uint64_t total)
{
    char line[256];
    int width = (int)p->columns - 1;
    int bar = width - (int)strlen(text) - 4;
    if (bar > BAR_MAX)
        bar = BAR_MAX;
    if (bar >= BAR_MIN) {
        int full = total ? (int)((double)done / (double)total * bar) : bar;
        static const char marks[] = "########################################";
        static const char spaces[] = "........................................";
        snprintf(line, sizeof line, "[%.*s%.*s]  %s", full, marks, bar - full, spaces, text);
    } else {
        snprintf(line, sizeof line, "%s", text);
    }
    fprintf(stderr, "\r%-*.*s", width, width, line);
    p->shown = true;
}

void
cli_progress_stop(struct cli_progress *p)
{
    if (p->shown)
        fprintf(stderr, "\r%*s\r", (int)p->columns - 1, "");
    p->shown = false;
}

void
cli_progress_update(struct cli_progress *p, uint64_t done, uint64_t total)
{
    bool asked = atomic_load_explicit(&status_wanted, memory_order_relaxed)
        && atomic_exchange(&status_wanted, false);
    if (!asked && !p->bar)
        return;
    uint64_t time = now();
    if (!asked && time < p->next)
        return;
    char text[160];
    done = num_min(done, total);
    status_text(text, sizeof text, p, done, total, time);
    if (asked) {
        cli_progress_stop(p);
        fprintf(stderr, "%s: %s\n", p->tool, text);
    }
    if (p->bar) {
        draw(p, text, done, total);
        p->next = time + INTERVAL;
    }
}
