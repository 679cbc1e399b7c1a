/* faults: a library to preload that makes one call of a tool fail, for test/faults/run. GNU libc on Linux.
 *
 *     AMN_FAULT=CALLS:N:WHAT      fails the Nth call of this class; N+ fails it and all later ones. WHAT is the name of
 *                                 an errno, or "short": a read or write of one byte, direct of one sector; "KILL": the
 *                                 process is killed in its place; "torn": short, and the next call of the class is its end.
 *     AMN_FAULT_COUNTS=FILE       writes the number of calls of each class to FILE at exit, one line for each class.
 *
 * Only calls from main to exit are counted, not the calls of the loader and the start of libc. Allocations of libarchive itself
 * and the start of lzma are not counted either: without them, libarchive crashes in archive_read_open1(), or exits with its
 * own messages. Allocations of zstd, and of lzma for its dictionary, are counted. libc's internal calls cannot be
 * intercepted; therefore stdout is replaced by a stream on the write() and close() of this file, and functions in which libc
 * opens and reads files itself (opendir, mkostemp) fail as a whole.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum calls {
    MEMORY, READ, PREAD, WRITE, PWRITE, PRINT, OPEN, DIRECT, STAT, CLOSE, CONTROL, TEMP, RESERVE, TRUNCATE, MODE, SYNC, RENAME,
    UNLINK, FOLDER, ENTRY, RANDOM, THREAD, LIBRARY, LOCK, CALLS
};

static const char *const names[CALLS] = {
    [MEMORY] = "memory", [READ] = "read",     [PREAD] = "pread",       [WRITE] = "write",
    [PRINT] = "print",   [OPEN] = "open",       [STAT] = "stat",     [CLOSE] = "close",       [CONTROL] = "control",
    [TEMP] = "temp",     [RESERVE] = "reserve", [TRUNCATE] = "truncate", [MODE] = "mode",     [SYNC] = "sync",
    [RENAME] = "rename", [UNLINK] = "unlink",   [FOLDER] = "folder", [ENTRY] = "entry",       [RANDOM] = "random",
    [THREAD] = "thread", [PWRITE] = "pwrite",   [DIRECT] = "direct", [LIBRARY] = "library",
    [LOCK] = "lock",
};

enum { KILLS = -1, TEARS = -2 };

static const struct { const char *name; int sys; } whats[] = {
    { "KILL", KILLS },      { "torn", TEARS },
    { "short", 0 },         { "EINTR", EINTR },   { "EIO", EIO },       { "EAGAIN", EAGAIN }, { "ENOMEM", ENOMEM },
    { "ENOSPC", ENOSPC },   { "EDQUOT", EDQUOT }, { "EACCES", EACCES }, { "EPERM", EPERM },   { "EMFILE", EMFILE },
    { "EOPNOTSUPP", EOPNOTSUPP }, { "EPIPE", EPIPE }, { "EROFS", EROFS }, { "ENOSYS", ENOSYS }, { "EINVAL", EINVAL },
    { "ENOLCK", ENOLCK },
};

static struct {
    int calls;                  /* -1: no fault */
    unsigned long nth;
    bool onwards;
    int sys;                    /* 0: short; KILLS, TEARS */
} fault = { .calls = -1 };

static atomic_ulong count[CALLS];
static atomic_bool working;

/* Counts a call. Returns true if it must fail. */
static bool
struck(enum calls c)
{
    if (!atomic_load(&working))
        return false;
    unsigned long n = atomic_fetch_add(&count[c], 1) + 1;
    if ((int)c == fault.calls && fault.sys < 0 && n == fault.nth + (fault.sys == TEARS))
        kill(getpid(), SIGKILL);
    return (int)c == fault.calls && (n == fault.nth || (fault.onwards && n > fault.nth));
}

static bool
fails(enum calls c)
{
    if (!struck(c))
        return false;
    errno = fault.sys;
    return true;
}

/* Same for a call that moves *n bytes, which may also be shortened to one. */
static bool
fails_or_cuts(enum calls c, size_t *n)
{
    if (!struck(c))
        return false;
    if (fault.sys <= 0 && *n > 1)
        *n = 1;
    errno = fault.sys;
    return fault.sys > 0;
}

/* Returns libc's function of this name. */
#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

/* ---- memory ---- */

enum { LZMA_BEGINS = 4096 };

/* Returns true if an allocation of n bytes by the code at this address must fail. */
static bool
no_memory(size_t n, const void *caller)
{
    Dl_info where;
    if (!atomic_load(&working))
        return false;
    const char *file = dladdr(caller, &where) != 0 ? where.dli_fname : "";
    if (strstr(file, "/libarchive.so") || (n < LZMA_BEGINS && strstr(file, "/liblzma.so")))
        return false;
    return fails(MEMORY);
}

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

void *
malloc(size_t n)
{
    return no_memory(n, __builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
    return no_memory(n * size, __builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
    return no_memory(n, __builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}

void *
aligned_alloc(size_t align, size_t n)
{
    return fails(MEMORY) ? NULL : __libc_memalign(align, n);
}

int
posix_memalign(void **p, size_t align, size_t n)
{
    void *new = struck(MEMORY) ? NULL : __libc_memalign(align, n);
    if (!new)
        return ENOMEM;
    *p = new;
    return 0;
}

/* ---- bytes ---- */

ssize_t
read(int fd, void *buf, size_t n)
{
    return fails_or_cuts(READ, &n) ? -1 : NEXT(read)(fd, buf, n);
}

ssize_t
pread64(int fd, void *buf, size_t n, off64_t at)
{
    return fails_or_cuts(PREAD, &n) ? -1 : NEXT(pread64)(fd, buf, n, at);
}

ssize_t
write(int fd, const void *buf, size_t n)
{
    return fails_or_cuts(WRITE, &n) ? -1 : NEXT(write)(fd, buf, n);
}

/* direct I/O cannot transfer single bytes */
ssize_t
pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
    enum { SECTOR = 512 };
    bool direct = NEXT(fcntl64)(fd, F_GETFL) & O_DIRECT;
    size_t part = n;
    if (fails_or_cuts(direct ? DIRECT : PWRITE, &part))
        return -1;
    return NEXT(pwrite64)(fd, buf, direct && part == 1 ? SECTOR : part, at);
}

/* ---- files ---- */

int
open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails(flags & O_DIRECT ? DIRECT : OPEN) ? -1 : NEXT(open64)(path, flags, mode);
}

int
openat64(int folder, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails(OPEN) ? -1 : NEXT(openat64)(folder, path, flags, mode);
}

int
flock(int fd, int operation)
{
    return fails(LOCK) ? -1 : NEXT(flock)(fd, operation);
}

int
stat64(const char *restrict path, struct stat64 *restrict st)
{
    return fails(STAT) ? -1 : NEXT(stat64)(path, st);
}

int
lstat64(const char *restrict path, struct stat64 *restrict st)
{
    return fails(STAT) ? -1 : NEXT(lstat64)(path, st);
}

int
fstat64(int fd, struct stat64 *st)
{
    return fails(STAT) ? -1 : NEXT(fstat64)(fd, st);
}

/* A close that fails still closes the descriptor, as on Linux. */
int
close(int fd)
{
    int status = NEXT(close)(fd);
    return fails(CLOSE) ? -1 : status;
}

/* The test for an open standard descriptor must not fail. */
int
fcntl64(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *arg = va_arg(args, void *);
    va_end(args);
    return command != F_GETFD && fails(CONTROL) ? -1 : NEXT(fcntl64)(fd, command, arg);
}

int
mkostemp64(char *template, int flags)
{
    return fails(TEMP) ? -1 : NEXT(mkostemp64)(template, flags);
}

int
fallocate64(int fd, int mode, off64_t at, off64_t n)
{
    return fails(RESERVE) ? -1 : NEXT(fallocate64)(fd, mode, at, n);
}

int
ftruncate64(int fd, off64_t n)
{
    return fails(TRUNCATE) ? -1 : NEXT(ftruncate64)(fd, n);
}

int
fchmod(int fd, mode_t mode)
{
    return fails(MODE) ? -1 : NEXT(fchmod)(fd, mode);
}

int
fsync(int fd)
{
    return fails(SYNC) ? -1 : NEXT(fsync)(fd);
}

int
rename(const char *from, const char *to)
{
    return fails(RENAME) ? -1 : NEXT(rename)(from, to);
}

int
renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    return fails(RENAME) ? -1 : NEXT(renameat2)(from_dir, from, to_dir, to, flags);
}

int
unlink(const char *path)
{
    return fails(UNLINK) ? -1 : NEXT(unlink)(path);
}

int
unlinkat(int folder, const char *path, int flags)
{
    return fails(UNLINK) ? -1 : NEXT(unlinkat)(folder, path, flags);
}

DIR *
opendir(const char *path)
{
    return fails(FOLDER) ? NULL : NEXT(opendir)(path);
}

struct dirent64 *
readdir64(DIR *dir)
{
    return fails(ENTRY) ? NULL : NEXT(readdir64)(dir);
}

/* ---- other ---- */

/* Calls of the loader are not counted. */
void *
dlopen(const char *path, int flags)
{
    if (fails(LIBRARY))
        return NULL;
    bool was = atomic_exchange(&working, false);
    void *handle = NEXT(dlopen)(path, flags);
    atomic_store(&working, was);
    return handle;
}

int
getentropy(void *buf, size_t n)
{
    return fails(RANDOM) ? -1 : NEXT(getentropy)(buf, n);
}

int
pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr, void *(*start)(void *),
    void *restrict arg)
{
    return struck(THREAD) ? fault.sys : NEXT(pthread_create)(thread, attr, start, arg);
}

/* ---- stdout, as libc implements it over write(): no second try after EINTR ---- */

static ssize_t
print(void *cookie, const char *p, size_t n)
{
    (void)cookie;
    size_t left = n;
    while (left != 0) {
        size_t part = left;
        ssize_t put = fails_or_cuts(PRINT, &part) ? -1 : NEXT(write)(STDOUT_FILENO, p, part);
        if (put < 0)
            break;
        p += put;
        left -= (size_t)put;
    }
    return (ssize_t)(n - left);
}

static int
print_close(void *cookie)
{
    (void)cookie;
    return close(STDOUT_FILENO);
}

/* ---- from main to exit ---- */

static void
read_fault(const char *text)
{
    char calls[16], onwards[2] = "", what[16];
    bool known = false;
    if (sscanf(text, "%15[a-z]:%lu%1[+]:%15s", calls, &fault.nth, onwards, what) != 4
        && sscanf(text, "%15[a-z]:%lu:%15s", calls, &fault.nth, what) != 3)
        strcpy(calls, "");
    for (int c = 0; c < CALLS; c++)
        if (strcmp(names[c], calls) == 0)
            fault.calls = c;
    for (size_t i = 0; fault.calls >= 0 && i < sizeof whats / sizeof *whats; i++)
        if (strcmp(what, whats[i].name) == 0) {
            fault.sys = whats[i].sys;
            known = true;
        }
    fault.onwards = onwards[0] == '+';
    if (known)
        return;
    fprintf(stderr, "AMN_FAULT: %s\n", text);
    abort();
}

static int (*tool_main)(int, char **, char **);

/* Calls after main's end are not the tool's, such as those for the files of --coverage. */
static void
stop(void)
{
    atomic_store(&working, false);
}

static int
main_with_faults(int argc, char **argv, char **envp)
{
    static char buf[1 << 12];
    const char *text = getenv("AMN_FAULT");
    if (text)
        read_fault(text);
    stdout = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = print, .close = print_close });
    if (!stdout)
        abort();
    setvbuf(stdout, buf, _IOFBF, sizeof buf);
    atexit(stop);
    atomic_store(&working, true);
    return tool_main(argc, argv, envp);
}

int
__libc_start_main(int (*real_main)(int, char **, char **), int argc, char **argv, void (*init)(void),
    void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
    __typeof__(&__libc_start_main) start = NEXT(__libc_start_main);
    tool_main = real_main;
    return start(main_with_faults, argc, argv, init, fini, loader_fini, stack_end);
}

__attribute__((destructor)) static void
write_counts(void)
{
    const char *path = getenv("AMN_FAULT_COUNTS");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (!f)
        return;
    for (int c = 0; c < CALLS; c++)
        fprintf(f, "%s %lu\n", names[c], atomic_load(&count[c]));
    fclose(f);
}
