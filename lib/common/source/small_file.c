#include "source/small_file.h"

#include <errno.h>
#include <sys/stat.h>

#include "source/fetch.h"

bool
small_file_open(struct source **src, const char *path, bool pipe_ok, uint64_t max, struct budget *budget, const char *what,
    const char **text, size_t *n, struct inputs *inputs, struct err *err)
{
    const uint8_t *p = NULL;
    uint64_t have = 0;
    struct fetch *fetch = inputs->fetch;        /* of the model, but not of a file that an option names */
    if (pipe_ok)
        inputs->fetch = NULL;
    else
        inputs->fetch = fetch;
    bool ok = source_open(src, path, pipe_ok, inputs, err);
    inputs->fetch = fetch;
    if (ok && source_size(*src) != SOURCE_SIZE_UNKNOWN)
        ok = limits_check(source_size(*src), max, what, err) && budget_bytes(budget, source_size(*src), what, err)
            && source_head(*src, source_size(*src), &p, &have, err);
    else            /* a pipe */
        ok = ok && source_head(*src, max + 1, &p, &have, err) && limits_check(have, max, what, err)
            && budget_bytes(budget, have, what, err);
    if (!ok && *src)
        return err_in_file(err, source_name(*src));
    *text = (const char *)p;
    *n = (size_t)have;
    return ok;
}

bool
small_file_exists(bool *exists, const char *path, struct inputs *inputs, struct err *err)
{
    struct source *src = NULL;
    const uint8_t *p;
    uint64_t have;
    struct err why;
    struct stat st;
    if (bundle_find(&inputs->bundle, path)) {
        *exists = true;
        return true;
    }
    if (!inputs_fetch(inputs, path)) {  /* a dangling link counts, too: it is an error */
        *exists = lstat(path, &st) == 0 || !(errno == ENOENT || errno == ENOTDIR);
        return true;
    }
    err_init(&why);
    fetch_once(inputs->fetch, true);
    *exists = source_open(&src, path, false, inputs, &why) && source_head(src, 1, &p, &have, &why) && have != 0;
    fetch_once(inputs->fetch, false);
    source_close(src);
    if (why.kind == ERR_MEMORY)
        *err = why;
    return why.kind != ERR_MEMORY;
}
