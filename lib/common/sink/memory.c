#include "sink/memory.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

enum { TEXT_MAX = 8192 };       /* buffer for a file below; the values needed are in its first half */

/* Control groups v2 and v1 at their usual mount points. A process belongs to one group of each, and the ancestors of that
 * group limit it as well. In a container without a cgroup namespace the path does not exist, but the mount point is the
 * group itself. */
static const struct hierarchy {
    const char *controller;             /* as in /proc/self/cgroup */
    const char *mount;
    const char *limit[2];               /* the smaller one counts */
    const char *usage;                  /* including page cache, */
    const char *cache[2];               /* whose reclaimable part is in memory.stat under these names */
} hierarchies[] = {
    { "", "/sys/fs/cgroup", { "memory.max", "memory.high" }, "memory.current", { "inactive_file", "active_file" } },
    { "memory", "/sys/fs/cgroup/memory", { "memory.limit_in_bytes", NULL }, "memory.usage_in_bytes",
        { "total_inactive_file", "total_active_file" } },
};

/* Buffers, too large for the stack. */
struct memory_room {
    char path[PATH_MAX], folder[PATH_MAX];
    char text[TEXT_MAX], groups[TEXT_MAX];
};

/* Reads the start of a small file as text; "" if it cannot be read. */
static void
read_text(char text[TEXT_MAX], const char *path)
{
    size_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && n < TEXT_MAX - 1) {
        ssize_t got = read(fd, text + n, TEXT_MAX - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            n = 0;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    text[n] = '\0';
    if (fd >= 0)
        close(fd);
}

/* Parses the number at the start of a text. */
static bool
number_at(const char *p, uint64_t *n)
{
    p += strspn(p, " \t");
    if (!isdigit((unsigned char)*p))
        return false;
    *n = strtoull(p, NULL, 10);
    return true;
}

/* Returns the next line, or NULL after the last. */
static const char *
next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    if (end)
        return end + 1;
    return NULL;
}

/* Parses the number after the word that starts a line. */
static bool
number_after(const char *text, const char *word, uint64_t *n)
{
    size_t len = strlen(word);
    for (const char *line = text; line; line = next_line(line))
        if (strncmp(line, word, len) == 0)
            return number_at(line + len, n);
    return false;
}

static bool
number_in(struct memory_room *room, const char *name, uint64_t *n)
{
    if (!name || snprintf(room->path, sizeof room->path, "%s/%s", room->folder, name) >= (int)sizeof room->path)
        return false;
    read_text(room->text, room->path);
    return number_at(room->text, n);
}

/* Returns the bytes that the group in room->folder can still allocate. */
static uint64_t
left_in(const struct hierarchy *h, struct memory_room *room)
{
    char word[32];
    uint64_t limit = MEMORY_UNKNOWN, usage, n;
    for (int i = 0; i < 2; i++)
        if (number_in(room, h->limit[i], &n))
            limit = num_min(limit, n);
    if (limit == MEMORY_UNKNOWN || !number_in(room, h->usage, &usage)
        || snprintf(room->path, sizeof room->path, "%s/memory.stat", room->folder) >= (int)sizeof room->path)
        return MEMORY_UNKNOWN;
    read_text(room->text, room->path);
    for (int i = 0; i < 2; i++) {
        snprintf(word, sizeof word, "%s ", h->cache[i]);
        if (number_after(room->text, word, &n))
            usage -= num_min(usage, n);
    }
    return limit - num_min(limit, usage);
}

/* Returns true if a list such as "cpu,memory" contains a word. The empty list contains the empty word. */
static bool
lists(const char *list, size_t n, const char *word)
{
    size_t len = strlen(word);
    for (const char *end = list + n; list <= end; list += strcspn(list, ",:") + 1)
        if (strcspn(list, ",:") == len && strncmp(list, word, len) == 0)
            return true;
    return false;
}

/* Returns the minimum over the group of this process and its ancestors. room->groups has lines NUMBER:LIST:PATH. */
static uint64_t
left_in_hierarchy(const struct hierarchy *h, const char *root, struct memory_room *room)
{
    const size_t size = sizeof room->folder;
    char *folder = room->folder;
    uint64_t left = MEMORY_UNKNOWN;
    for (const char *line = room->groups; line; line = next_line(line)) {
        const char *list = line + strcspn(line, ":\n");
        const char *path = list;
        if (*list == ':')
            path = list + 1 + strcspn(list + 1, ":\n");
        if (*path != ':' || !lists(list + 1, (size_t)(path - list - 1), h->controller))
            continue;
        int top = snprintf(folder, size, "%s%s", root, h->mount);
        int n = snprintf(folder, size, "%s%s%.*s", root, h->mount, (int)strcspn(path + 1, "\n"), path + 1);
        for (char *end = folder + n; n < (int)size && end >= folder + top; end = strrchr(folder, '/')) {
            *end = '\0';
            left = num_min(left, left_in(h, room));
        }
    }
    return left;
}

uint64_t
memory_free(const char *root)
{
    struct memory_room *room = malloc(sizeof *room);
    uint64_t kib, left = MEMORY_UNKNOWN;
    if (!room || snprintf(room->path, sizeof room->path, "%s/proc/meminfo", root) >= (int)sizeof room->path) {
        free(room);
        return MEMORY_UNKNOWN;
    }
    read_text(room->text, room->path);
    if (number_after(room->text, "MemAvailable:", &kib) && kib <= MEMORY_UNKNOWN / 1024)
        left = kib * 1024;
    snprintf(room->path, sizeof room->path, "%s/proc/self/cgroup", root);
    read_text(room->groups, room->path);
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++)
        left = num_min(left, left_in_hierarchy(&hierarchies[i], root, room));
    free(room);
    return left;
}

bool
memory_holds(uint64_t free, uint64_t nbytes)
{
    return nbytes <= free / 2;
}
