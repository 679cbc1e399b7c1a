/* peak-memory COMMAND...: print the peak resident memory of COMMAND in KiB, dropping its standard output. Exits with the
 * status of COMMAND, or 128 + n after a signal.
 *
 * Written in C because the kernel counts memory in use before the exec, so a process started by Python is never smaller than
 * Python. Here that is one or two megabytes, less than any tool needs. wait4() also reports the peak of a process that lives
 * for a millisecond. No process with a libc needs less than 1 MiB: a smaller reading is wrong and reported as an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAST_KIB = 1024, BROKEN = 125 };

#ifdef __APPLE__
enum { PER_KIB = 1024 };
#else
enum { PER_KIB = 1 };
#endif

extern char **environ;

static int
fail(const char *what, int sys)
{
    fprintf(stderr, "peak-memory: %s: %s\n", what, strerror(sys));
    return BROKEN;
}

int
main(int argc, char **argv)
{
    posix_spawn_file_actions_t actions;
    struct rusage usage;
    pid_t pid;
    int status;
    if (argc < 2)
        return fail("no command", EINVAL);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    int sys = posix_spawnp(&pid, argv[1], &actions, NULL, argv + 1, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (sys != 0)
        return fail(argv[1], sys);
    while (wait4(pid, &status, 0, &usage) < 0)
        if (errno != EINTR)
            return fail("wait4", errno);
    long kib = usage.ru_maxrss / PER_KIB;
    if (kib < LEAST_KIB) {
        fprintf(stderr, "peak-memory: implausible peak of %ld KiB: %s\n", kib, argv[1]);
        return BROKEN;
    }
    printf("%ld\n", kib);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
