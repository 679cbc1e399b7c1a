#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "sink/sink_priv.h"

enum { LINKS_MAX = 40 };        /* the kernel's limit */

/* Returns true if the first n bytes of a path, or the working directory if n is 0, are /proc/PID/fd of this process or
 * thread. Opening a name in there would open the file again at its start, so such names must be recognized as descriptors. */
static bool
holds_descriptors(const char *path, size_t n)
{
    char *folder = strndup(n ? path : ".", n ? n : 1);
    char *real = folder ? realpath(folder, NULL) : NULL, *self = realpath("/proc/self", NULL);
    size_t own = self ? strlen(self) : 0, len = real ? strlen(real) : 0;
    bool does = own > 1 && len >= own + 3 && strncmp(real, self, own) == 0 && real[own] == '/'
        && strcmp(real + len - 3, "/fd") == 0;
    free(folder);
    free(real);
    free(self);
    return does;
}

/* Replaces a symbolic link by its target; the first `folder` bytes of the name are its directory. Returns false if it is not
 * a link or if the result is too long. Not inlined, because both PATH_MAX buffers in one frame would exceed the limit of
 * -Wframe-larger-than. */
__attribute__((noinline)) static bool
follow(char name[PATH_MAX], size_t folder)
{
    char target[PATH_MAX];
    ssize_t n = readlink(name, target, sizeof target - 1);
    if (n < 0)
        return false;
    size_t at = folder;
    if (*target == '/')
        at = 0;
    if (at + (size_t)n >= PATH_MAX)
        return false;
    memcpy(name + at, target, (size_t)n);
    name[at + (size_t)n] = '\0';
    return true;
}

int
descriptor_of(const char *path)
{
    char name[PATH_MAX];
    uint64_t number;
    if (snprintf(name, sizeof name, "%s", path) >= (int)sizeof name)
        return -1;
    for (int links = 0; links < LINKS_MAX; links++) {
        const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
        if (str_to_u64(&number, base) && number <= INT_MAX && holds_descriptors(name, (size_t)(base - name)))
            return (int)number;
        if (!follow(name, (size_t)(base - name)))
            return -1;
    }
    return -1;
}
