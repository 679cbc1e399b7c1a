#include "source/fetch_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/num.h"

extern char **environ;

enum { SAID = 256 };            /* bytes of standard error in a message */

/* The environment of the command: the variables of this process, and three of fetching, which replace variables of the same
 * name. */
struct fetch_environment {
    char **list;                /* owned */
    char *own[3];               /* owned */
};

static bool
is_own(const char *variable)
{
    return str_begins(variable, "AMN_FILE=") || str_begins(variable, "AMN_FROM=") || str_begins(variable, "AMN_TO=");
}

static void
environment_clear(struct fetch_environment *e)
{
    for (size_t i = 0; i < 3; i++)
        free(e->own[i]);
    free(e->list);
}

static bool
environment_make(struct fetch_environment *e, const struct fetch_run *r, struct err *err)
{
    size_t n = 0, used = 0;
    *e = (struct fetch_environment){ 0 };
    while (environ[n])
        n++;
    e->list = calloc(n + 4, sizeof *e->list);
    if (!e->list || asprintf(&e->own[0], "AMN_FILE=%s", r->file) < 0 || asprintf(&e->own[1], "AMN_FROM=%" PRIu64, r->at) < 0
        || asprintf(&e->own[2], "AMN_TO=%" PRIu64, r->at + r->n - 1) < 0)
        return err_memory(err, (n + 4) * sizeof *e->list);
    for (size_t i = 0; i < n; i++)
        if (!is_own(environ[i]))
            e->list[used++] = environ[i];
    for (size_t i = 0; i < 3; i++)
        e->list[used++] = e->own[i];
    return true;
}

/* Starts sh in a new process group, with default signals. Returns 0, or the errno value of a failure. */
static int
start(const struct fetch_run *r, char **environment, int out, int said, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    char *words[] = { "sh", "-c", (char *)r->command, NULL };
    sigemptyset(&none);
    sigfillset(&all);
    int sys = posix_spawn_file_actions_init(&files);
    if (sys != 0)
        return sys;
    sys = posix_spawnattr_init(&attributes);
    if (sys != 0) {
        posix_spawn_file_actions_destroy(&files);
        return sys;
    }
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    sys = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!sys)
        sys = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (!sys)
        sys = posix_spawn_file_actions_adddup2(&files, said, STDERR_FILENO);
    if (!sys)
        sys = posix_spawn(pid, "/bin/sh", &files, &attributes, words, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return sys;
}

/* Keeps the last SAID bytes of standard error. Returns false at its end. */
static bool
listen_to(int fd, char said[SAID], size_t *nsaid)
{
    char buf[SAID];
    ssize_t n = read(fd, buf, sizeof buf);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    size_t old = num_min(*nsaid, SAID - (size_t)n);
    memmove(said, said + (*nsaid - old), old);
    memcpy(said + old, buf, (size_t)n);
    *nsaid = old + (size_t)n;
    return true;
}

/* Reads one piece of standard output. Returns false at its end, or if more comes than was requested. */
static bool
receive(struct fetch_run *r, int fd, bool *more)
{
    uint8_t one;
    bool full = r->got == r->n;
    ssize_t n;
    if (full)
        n = read(fd, &one, 1);
    else
        n = read(fd, r->p + r->got, r->n - r->got);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    *more = full;
    r->got += full ? 0 : (size_t)n;
    return !full;
}

/* Reads both streams to their ends. */
static bool
read_both(struct fetch_run *r, int out, int err_fd, char said[SAID], size_t *nsaid)
{
    struct pollfd fds[2] = { { .fd = out, .events = POLLIN }, { .fd = err_fd, .events = POLLIN } };
    bool more = false;
    while (!more && fds[0].fd >= 0) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return false;
        if (fds[1].fd >= 0 && fds[1].revents != 0 && !listen_to(err_fd, said, nsaid))
            fds[1].fd = -1;
        if (fds[0].revents != 0 && !receive(r, out, &more))
            fds[0].fd = -1;
    }
    return more;
}

/* Reads what is left of standard error without waiting for processes that the command may have left behind. */
static void
read_rest(int fd, char said[SAID], size_t *nsaid)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    while (poll(&one, 1, 0) > 0 && listen_to(fd, said, nsaid))
        ;
}

static bool
fetch_run_failed(const struct fetch_run *r, int status, const char *said, size_t nsaid, struct err *err)
{
    char shown[STR_SHOWN], how[64];
    while (nsaid != 0 && (said[nsaid - 1] == '\n' || said[nsaid - 1] == '\r'))
        nsaid--;
    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "ended by signal %d", WTERMSIG(status));
    else
        snprintf(how, sizeof how, "failed with status %d", WEXITSTATUS(status));
    return err_at(err, ERR_IO, r->at, "the fetch command %s after %zu bytes%s%s", how, r->got, nsaid != 0 ? ": " : "",
        str_shown(shown, said, nsaid));
}

/* Runs the command with open pipes. */
static bool
fetch_run_run(struct fetch_run *r, int out[2], int said_pipe[2], char **environment, struct err *err)
{
    char said[SAID] = "";
    size_t nsaid = 0;
    pid_t pid;
    int status = 0, sys = start(r, environment, out[1], said_pipe[1], &pid);
    close(out[1]);
    close(said_pipe[1]);
    out[1] = said_pipe[1] = -1;
    if (sys != 0)
        return err_sys(err, ERR_IO, sys, "cannot start the fetch command");
    atomic_store(r->pid, pid);
    bool more = read_both(r, out[0], said_pipe[0], said, &nsaid);
    if (more)
        kill(-pid, SIGTERM);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    atomic_store(r->pid, 0);
    read_rest(said_pipe[0], said, &nsaid);
    if (more)
        return err_at(err, ERR_IO, r->at, "the fetch command returned more than the %zu bytes that it was asked for: does the "
            "server support ranges?", r->n);
    return status == 0 || fetch_run_failed(r, status, said, nsaid, err);
}

bool
fetch_run(struct fetch_run *r, struct err *err)
{
    struct fetch_environment e;
    int out[2] = { -1, -1 }, said[2] = { -1, -1 };
    r->got = 0;
    bool ok = environment_make(&e, r, err)
        && ((pipe2(out, O_CLOEXEC) == 0 && pipe2(said, O_CLOEXEC) == 0) || err_sys(err, ERR_IO, errno, "cannot make a pipe"));
    ok = ok && fetch_run_run(r, out, said, e.list, err);
    for (int i = 0; i < 2; i++) {
        if (out[i] >= 0)
            close(out[i]);
        if (said[i] >= 0)
            close(said[i]);
    }
    environment_clear(&e);
    return ok;
}
