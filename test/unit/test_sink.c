/* The two modes of a sink: which one is chosen, and direct writes from several threads. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "sink/memory.h"
#include "sink/sink.h"

static char top[1024];                  /* this test's folder */

/* ---- available memory, with a tree in place of / ---- */

static void
put(const char *root, const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s", top, root, name);
    for (char *slash = path + strlen(top) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        perror(path), exit(2);
}

static uint64_t
free_in(const char *root)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", top, root);
    return memory_free(path);
}

static const char meminfo[] = "MemTotal:       24684096 kB\nMemFree:        100 kB\nMemAvailable:   20000 kB\n";
static const uint64_t AVAILABLE = 20000 * 1024;

static void
check_machine(void)
{
    put("empty", "none", "");
    CHECK(free_in("empty") == MEMORY_UNKNOWN);
    put("plain", "proc/meminfo", meminfo);
    CHECK(free_in("plain") == AVAILABLE);
    put("plain", "proc/self/cgroup", "0::/\n");
    CHECK(free_in("plain") == AVAILABLE);
    put("odd", "proc/meminfo", "MemAvailable: none\nNot MemAvailable: 5 kB\n");
    put("odd", "proc/self/cgroup", "no line of this kind\n0\n:\n::\n0::relative\n");
    CHECK(free_in("odd") == MEMORY_UNKNOWN);
    CHECK(memory_free("") > 0);
}

static void
check_second_generation(void)
{
    put("v2", "proc/meminfo", meminfo);
    put("v2", "proc/self/cgroup", "1:name=systemd:/other\n0::/a/b\n");
    put("v2", "sys/fs/cgroup/a/b/memory.max", "max\n");
    put("v2", "sys/fs/cgroup/a/b/memory.high", "max\n");
    put("v2", "sys/fs/cgroup/a/b/memory.current", "4096\n");
    CHECK(free_in("v2") == AVAILABLE);
    put("v2", "sys/fs/cgroup/a/b/memory.max", "10000000\n");
    CHECK(free_in("v2") == 10000000 - 4096);
    put("v2", "sys/fs/cgroup/a/b/memory.high", "9000000\n");
    CHECK(free_in("v2") == 9000000 - 4096);
    /* Pages of files can be reclaimed. */
    put("v2", "sys/fs/cgroup/a/b/memory.stat", "anon 96\nfile 4000\ninactive_file 3000\nactive_file 1000\n");
    CHECK(free_in("v2") == 9000000 - 96);
    put("v2", "sys/fs/cgroup/a/b/memory.stat", "inactive_file 30000\n");
    CHECK(free_in("v2") == 9000000);
    /* A parent group, also with more in use than its limit. */
    put("v2", "sys/fs/cgroup/a/memory.max", "8000000\n");
    CHECK(free_in("v2") == 9000000);            /* the memory in use is unknown */
    put("v2", "sys/fs/cgroup/a/memory.current", "7000000\n");
    CHECK(free_in("v2") == 1000000);
    put("v2", "sys/fs/cgroup/a/memory.current", "8000001\n");
    CHECK(free_in("v2") == 0);
    /* Without a cgroup namespace, the path is the host's, but this group is mounted. */
    put("inside", "proc/meminfo", meminfo);
    put("inside", "proc/self/cgroup", "0::/host/pod/x\n");
    put("inside", "sys/fs/cgroup/memory.max", "5000000\n");
    put("inside", "sys/fs/cgroup/memory.current", "1000000\n");
    CHECK(free_in("inside") == 4000000);
}

static void
check_first_generation(void)
{
    put("v1", "proc/meminfo", meminfo);
    put("v1", "proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/a\n3:cpuset:/c\n0::/\n");
    put("v1", "sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1\n");
    put("v1", "sys/fs/cgroup/memory/c/memory.usage_in_bytes", "1\n");
    CHECK(free_in("v1") == AVAILABLE);
    put("v1", "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
    put("v1", "sys/fs/cgroup/memory/a/memory.usage_in_bytes", "2000000\n");
    CHECK(free_in("v1") == AVAILABLE);
    put("v1", "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "6000000\n");
    CHECK(free_in("v1") == 4000000);
    put("v1", "sys/fs/cgroup/memory/a/memory.stat",
        "inactive_file 5\nactive_file 5\ntotal_inactive_file 400000\ntotal_active_file 600000\n");
    CHECK(free_in("v1") == 5000000);
}

static void
check_holds(void)
{
    CHECK(memory_holds(MEMORY_UNKNOWN, UINT64_C(1) << 62));
    CHECK(memory_holds(AVAILABLE, AVAILABLE / 2));
    CHECK(!memory_holds(AVAILABLE, AVAILABLE / 2 + 1));
    CHECK(memory_holds(0, 0) && !memory_holds(0, 1));
}

/* ---- a sink ---- */

enum { BLOCK = 64 << 10, BLOCKS = 13, TAIL = 777, SIZE = BLOCKS * BLOCK + TAIL, THREADS = 4 };

static uint8_t
byte_at(uint64_t at)
{
    return (uint8_t)(at * 31 + at / 4096);
}

struct sink_writer {
    struct sink *sink;
    unsigned first;             /* first block; then every THREADS-th, written last to first */
    unsigned skew;              /* offset of the buffer from a page boundary */
    bool ok;
    struct err err;
};

static void *
write_blocks(void *of)
{
    struct sink_writer *w = of;
    uint8_t *buf = aligned_alloc(SINK_ALIGN, BLOCK + SINK_ALIGN);
    w->ok = buf != NULL;
    for (int b = BLOCKS; w->ok && b >= 0; b--) {
        uint64_t at = (uint64_t)b * BLOCK;
        size_t n = b == BLOCKS ? TAIL : BLOCK;
        if ((unsigned)b % THREADS != w->first)
            continue;
        for (size_t i = 0; i < n; i++)
            buf[w->skew + i] = byte_at(at + i);
        w->ok = sink_write_at(w->sink, at, buf + w->skew, n, &w->err);
    }
    free(buf);
    return NULL;
}

static bool
holds_bytes(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint64_t n = 0;
    int c;
    while (f && (c = getc(f)) != EOF && (uint8_t)c == byte_at(n))
        n++;
    bool ok = f && feof(f) && n == SIZE;
    if (f)
        fclose(f);
    return ok;
}

/* One output written by several threads, the last block first. */
static void
check_threads(unsigned skew)
{
    char path[PATH_MAX + 16];
    struct sink *sink = NULL;
    struct err err;
    err_init(&err);
    snprintf(path, sizeof path, "%s/out", top);
    const struct sink_options options = { .path = path, .direct = SINK_DIRECT_ALWAYS };
    if (!CHECK(sink_open(&sink, &options, &err) && sink_expect(sink, SIZE, &err)))
        return;
    if (!sink_is_direct(sink)) {
        check_skip("direct writes", "the file system of TMPDIR takes none");
        sink_close(sink);
        return;
    }
    pthread_t threads[THREADS];
    struct sink_writer writers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        writers[i] = (struct sink_writer){ .sink = sink, .first = i, .skew = skew };
        err_init(&writers[i].err);
        CHECK(pthread_create(&threads[i], NULL, write_blocks, &writers[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_ROW(writers[i].ok, writers[i].err.text);
    }
    CHECK(access(path, F_OK) != 0);
    CHECK(sink_commit(sink, &err));
    sink_close(sink);
    CHECK(holds_bytes(path));
    unlink(path);
}

/* If a block is missing, the file has its full size but is not renamed to its final name. */
static void
check_promise(void)
{
    char path[PATH_MAX + 16];
    struct sink *sink = NULL;
    struct err err;
    err_init(&err);
    snprintf(path, sizeof path, "%s/out", top);
    const struct sink_options options = { .path = path, .direct = SINK_DIRECT_ALWAYS };
    CHECK(sink_open(&sink, &options, &err) && sink_expect(sink, SIZE, &err));
    struct sink_writer w = { .sink = sink, .first = BLOCKS % THREADS };
    err_init(&w.err);
    if (sink_is_direct(sink)) {
        write_blocks(&w);
        CHECK(w.ok && !sink_commit(sink, &err) && err.kind == ERR_BUG);
    }
    sink_close(sink);
    CHECK(access(path, F_OK) != 0);
}

/* The mode that each kind of output gets, including an empty one. */
static void
check_regimes(void)
{
    static const struct {
        const char *path;
        enum sink_direct direct;
        uint64_t nbytes;
    } cached[] = {
        { "out", SINK_DIRECT_NEVER, SIZE }, { "out", SINK_DIRECT_ALWAYS, 0 }, { "out", SINK_DIRECT_AUTO, 1 },
        { "/dev/null", SINK_DIRECT_ALWAYS, SIZE },
    };
    for (size_t i = 0; i < sizeof cached / sizeof *cached; i++) {
        char path[PATH_MAX + 16];
        struct sink *sink = NULL;
        struct err err;
        err_init(&err);
        snprintf(path, sizeof path, "%s/out", top);
        const struct sink_options options = { .path = *cached[i].path == '/' ? cached[i].path : path,
            .direct = cached[i].direct };
        CHECK(sink_open(&sink, &options, &err) && sink_expect(sink, cached[i].nbytes, &err) && !sink_is_direct(sink));
        sink_close(sink);
    }
}

/* ---- comparing, and names of temporary files ---- */

/* Writes `text` in two parts and returns whether it equals the file. */
static bool
is_same(const char *path, const char *text, size_t first)
{
    struct sink *sink = NULL;
    struct err err;
    err_init(&err);
    size_t n = strlen(text);
    bool ok = sink_compare(&sink, path, &err) && sink_expect(sink, n, &err) && sink_write(sink, text, first, &err)
        && sink_write(sink, text + first, n - first, &err) && sink_commit(sink, &err);
    CHECK(ok || err.kind == ERR_CREATE);
    sink_close(sink);
    return ok;
}

static void
check_compare(void)
{
    enum { LONG = 10000 };              /* more than one read */
    static char text[LONG + 1], path[PATH_MAX];
    memset(text, 'a', LONG);
    put("compare", "file", text);
    snprintf(path, sizeof path, "%s/compare/file", top);
    CHECK(is_same(path, text, 0) && is_same(path, text, 4096) && is_same(path, text, LONG));
    text[LONG - 1] = '\0';
    CHECK(!is_same(path, text, 1));     /* the file is longer */
    text[LONG - 1] = 'b';
    CHECK(!is_same(path, text, 4097));
    text[LONG - 1] = 'a';
    put("compare", "short", "aaa");
    snprintf(path, sizeof path, "%s/compare/short", top);
    CHECK(!is_same(path, text, 2) && !is_same(path, "aab", 2) && is_same(path, "aaa", 2) && !is_same(path, "", 0));
    snprintf(path, sizeof path, "%s/compare", top);
    CHECK(!is_same(path, "", 0));
    snprintf(path, sizeof path, "%s/compare/none", top);
    CHECK(!is_same(path, "", 0));
}

static void
check_temp_names(void)
{
    static const char *const others[] = { "", ".", ".amn-aB3dE6", "..amn-aB3dE", "a.amn-aB3dE6", ".a.amn-aB3dE", ".a.amn-aB3dE67",
        ".a.amn-aB3d_6", ".a.aB3dE6", ".a.backup", ".a.amn_aB3dE6" };
    char name[SINK_TEMP_NAME], entry[2 * SINK_TEMP_NAME] = ".";
    CHECK(sink_temp_name(name, ".a.amn-aB3dE6") && strcmp(name, "a") == 0);
    CHECK(sink_temp_name(name, ".a.b.amn-000000.amn-zzzzzz") && strcmp(name, "a.b.amn-000000") == 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(!sink_temp_name(name, others[i]));
    memset(entry + 1, 'x', SINK_TEMP_NAME - 1);
    strcpy(entry + SINK_TEMP_NAME, ".amn-aB3dE6");
    CHECK(sink_temp_name(name, entry) && strlen(name) == SINK_TEMP_NAME - 1);
    memset(entry + 1, 'x', SINK_TEMP_NAME);
    strcpy(entry + SINK_TEMP_NAME + 1, ".amn-aB3dE6");
    CHECK(!sink_temp_name(name, entry));
}

int
main(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(top, sizeof top, "%s/amn-sink.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(top))
        perror(top), exit(2);
    check_machine();
    check_second_generation();
    check_first_generation();
    check_holds();
    check_threads(0);
    check_threads(1);
    check_promise();
    check_regimes();
    check_compare();
    check_temp_names();
    char command[PATH_MAX + 32];
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    CHECK(system(command) == 0);
    return check_done("test_sink");
}
