#include "source/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/num.h"

struct fetch *
inputs_fetch(const struct inputs *list, const char *path)
{
    size_t n = 0;
    if (list->local)
        n = strlen(list->local);
    bool local = n != 0 && strncmp(path, list->local, n) == 0 && path[n] == '/';
    if (local)
        return NULL;
    return list->fetch;
}

bool
inputs_add(struct inputs *list, uint64_t dev, uint64_t ino, const char *shown, struct err *err)
{
    struct input *item = array_grow(list->item, list->n, &list->room, sizeof *item, err);
    if (!item)
        return false;
    list->item = item;
    char *name = strdup(shown);
    if (!name)
        return err_memory(err, strlen(shown));
    list->item[list->n++] = (struct input){ .dev = dev, .ino = ino, .name = name };
    return true;
}

const char *
inputs_find(const struct inputs *list, uint64_t dev, uint64_t ino)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->item[i].dev == dev && list->item[i].ino == ino)
            return list->item[i].name;
    return NULL;
}

bool
inputs_check(const struct inputs *list, uint64_t dev, uint64_t ino, struct err *err)
{
    const char *name = inputs_find(list, dev, ino);
    if (!name)
        return true;
    err_set(err, ERR_CREATE, "the output would overwrite this input: choose another file");
    return err_in_file(err, name);
}

bool
inputs_allow(size_t n, struct err *err)
{
    enum { OTHERS = 64 };               /* outputs, libraries, spools */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || n + OTHERS < limit.rlim_cur)
        return true;
    if (n + OTHERS >= limit.rlim_max)
        return err_set(err, ERR_LIMIT, "the checkpoint has more files than may be open (%" PRIu64 "): raise 'ulimit -n'",
            (uint64_t)limit.rlim_max);
    limit.rlim_cur = (rlim_t)num_min(limit.rlim_max, 2 * (n + OTHERS));
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 || err_sys(err, ERR_LIMIT, errno, "cannot raise the number of open files");
}

void
inputs_clear(struct inputs *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->item[i].name);
    free(list->item);
    bundle_clear(&list->bundle);
    *list = (struct inputs){ 0 };
}
