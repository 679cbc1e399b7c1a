/* fence: memory that ends at an inaccessible page, so that an access beyond a buffer is fatal and is reported. Call
 * fence_guard() once, then set fence_what to what is running. Also fills memory with random bytes. */
#ifndef FENCE_H
#define FENCE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct fence {
    uint8_t *start, *end;
};

static const char *fence_program = "", *fence_what[2] = { "", "" };     /* a set of kernels, and a member of it */

static void
fence_on_crash(int sig)
{
    const char *const words[] = { fence_program, ": access beyond a buffer: ", fence_what[0], " ", fence_what[1], "\n" };

    (void)sig;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        (void)!write(1, words[i], strlen(words[i]));
    _exit(1);
}

static inline void
fence_guard(const char *program)
{
    struct sigaction action = { .sa_handler = fence_on_crash };

    fence_program = program;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

/* Allocates at least nbytes, zeroed. Never freed. */
static inline struct fence
fence_new(size_t nbytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (nbytes + page - 1) / page * page;
    uint8_t *p = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mprotect(p + size, page, PROT_NONE) != 0) {
        perror(fence_program);
        exit(1);
    }
    return (struct fence){ p, p + size };
}

static inline uint32_t
fence_random(void)
{
    static uint64_t state = 0x9E3779B97F4A7C15u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static inline void
fence_fill(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)fence_random();
}

#endif
