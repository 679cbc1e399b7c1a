#include "base/folder.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

const char *
folder_next(DIR *d, struct err *err)
{
    errno = 0;
    const struct dirent *e = readdir(d);
    if (!e && errno != 0)
        err_sys(err, ERR_IO, errno, "cannot list the directory");
    if (e)
        return e->d_name;
    return NULL;
}

char *
folder_path(const char *dir, size_t n, const char *name, struct err *err)
{
    struct str s = { 0 };
    str_add(&s, dir, n);
    str_format(&s, "%s%s", n && dir[n - 1] != '/' ? "/" : "", name);
    if (!s.failed)
        return s.p;
    err_memory(err, n);
    str_clear(&s);
    return NULL;
}

size_t
folder_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash)
        return (size_t)(slash - path) + (slash == path);
    return 0;
}

const char *
folder_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash)
        return slash + 1;
    return path;
}
