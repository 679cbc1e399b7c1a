/* test_thread: the stack of a thread: its size, its guard page, and that all of it can be used. */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"

struct seen {
    size_t stack, guard;
    int calls;
};

static void *
look(void *of)
{
    struct seen *f = of;
    pthread_attr_t attr;
    f->calls++;
    if (CHECK(pthread_getattr_np(pthread_self(), &attr) == 0)) {
        CHECK(pthread_attr_getstacksize(&attr, &f->stack) == 0);
        CHECK(pthread_attr_getguardsize(&attr, &f->guard) == 0);
        pthread_attr_destroy(&attr);
    }
    return of;
}

static void
test_facts(void)
{
    struct seen f = { 0 };
    void *result = NULL;
    pthread_t thread;
    if (!CHECK(thread_start(&thread, look, &f)))
        return;
    CHECK(pthread_join(thread, &result) == 0 && result == &f && f.calls == 1);
    CHECK(f.stack >= THREAD_STACK);
    CHECK(f.guard >= (size_t)sysconf(_SC_PAGESIZE));
}

/* Touches n bytes of stack below the caller, from the top down, page by page. */
__attribute__((noinline)) static unsigned
touch(size_t n)
{
    volatile unsigned char page[4000];
    memset((void *)page, (int)n, sizeof page);
    return n > sizeof page + 96 ? touch(n - sizeof page - 96) + page[n % sizeof page] : page[0];
}

static void *
use_stack(void *of)
{
    touch(*(const size_t *)of);
    return of;
}

/* Runs a child whose thread uses n bytes of its stack. Returns the child's wait status, or -1. */
static int
try_stack(size_t n)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        close(STDERR_FILENO);           /* a sanitizer describes the overflow at length */
        _exit(thread_start(&thread, use_stack, &n) && pthread_join(thread, NULL) == 0 ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

/* All of the stack except some KiB, which the frames above use; and more than all, which ends in the guard page. */
static void
test_use(void)
{
    int status = try_stack(THREAD_STACK - (8 << 10));
    CHECK(status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    struct seen f = { 0 };
    pthread_t thread;
    if (CHECK(thread_start(&thread, look, &f)) && CHECK(pthread_join(thread, NULL) == 0))
        status = try_stack(f.stack + (64 << 10));
    CHECK(status != -1 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

int
main(void)
{
    test_facts();
    test_use();
    return check_done("test_thread");
}
