#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "sink/sink_priv.h"

enum { LINKS_MAX = 40 };        /* as many as the kernel follows */

/* Whether a folder is /proc/PID/fd of this process or of its thread. Opening what lies in there gives a file afresh, at
 * its start; so the names must be known to be taken for the descriptors that they look like. */
static bool
holds_descriptors(const char *folder)
{
    char *real = realpath(folder, NULL), *self = realpath("/proc/self", NULL);
    size_t n = self ? strlen(self) : 0, len = real ? strlen(real) : 0;
    bool does = n > 1 && len >= n + 3 && strncmp(real, self, n) == 0 && real[n] == '/'
        && strcmp(real + len - 3, "/fd") == 0;
    free(real);
    free(self);
    return does;
}

int
descriptor_of(const char *path)
{
    char name[PATH_MAX], folder[PATH_MAX], target[PATH_MAX];
    uint64_t number;
    if (snprintf(name, sizeof name, "%s", path) >= (int)sizeof name)
        return -1;
    for (int links = 0; links < LINKS_MAX; links++) {
        const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(base - name) : 1, slash ? name : ".");
        if (str_to_u64(&number, base) && number <= INT_MAX && holds_descriptors(folder))
            return (int)number;
        ssize_t n = readlink(name, target, sizeof target - 1);
        if (n < 0)
            return -1;
        target[n] = '\0';
        bool whole = *target == '/';
        if (snprintf(name, sizeof name, "%s%s%s", whole ? "" : folder, whole ? "" : "/", target) >= (int)sizeof name)
            return -1;
    }
    return -1;
}
