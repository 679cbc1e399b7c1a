#include "source/bundle.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/folder.h"
#include "base/str.h"
#include "source/inputs.h"

bool
bundle_begin(struct bundle *b, const char *path, struct err *err)
{
    b->path = strdup(path);
    return b->path || err_memory(err, strlen(path));
}

bool
bundle_add(struct bundle *b, const struct bundled *file, struct err *err)
{
    struct bundled *list = array_grow(b->file, b->n, &b->room, sizeof *list, err);
    if (!list)
        return false;
    b->file = list;
    list[b->n] = *file;
    list[b->n].name = strdup(file->name);
    list[b->n].path = strdup(file->path);
    b->n++;
    return (list[b->n - 1].name && list[b->n - 1].path) || err_memory(err, strlen(file->path));
}

static int
compare_bundled(const void *a, const void *b)
{
    return strcmp(((const struct bundled *)a)->name, ((const struct bundled *)b)->name);
}

bool
bundle_seal(struct bundle *b, struct err *err)
{
    char shown[STR_SHOWN];
    array_sort(b->file, b->n, sizeof *b->file, compare_bundled);
    for (size_t i = 1; i < b->n; i++)
        if (strcmp(b->file[i - 1].name, b->file[i].name) == 0)
            return err_set(err, ERR_MALFORMED, "it lists two files of the name %s", str_shown(shown, b->file[i].name,
                strlen(b->file[i].name)));
    return true;
}

void
bundle_strip(struct bundle *b)
{
    const char *first = b->n != 0 ? b->file[0].name : "", *slash = strrchr(first, '/');
    size_t n = slash ? (size_t)(slash - first) + 1 : 0;
    for (size_t i = 1; i < b->n && n != 0;) {
        if (strncmp(b->file[i].name, first, n) == 0) {
            i++;
            continue;
        }
        do
            n--;
        while (n != 0 && first[n - 1] != '/');
    }
    for (size_t i = 0; i < b->n; i++)
        memmove(b->file[i].name, b->file[i].name + n, strlen(b->file[i].name + n) + 1);
}

enum bundle_kind
bundle_kind(const struct bundle *b, const char *name)
{
    size_t n = strlen(name);
    enum bundle_kind kind = BUNDLE_NONE;
    for (size_t i = 0; n != 0 && i < b->n && kind != BUNDLE_FILE; i++)
        if (strncmp(b->file[i].name, name, n) == 0 && (b->file[i].name[n] == '\0' || b->file[i].name[n] == '/'))
            kind = b->file[i].name[n] == '\0' ? BUNDLE_FILE : BUNDLE_FOLDER;
    return kind;
}

void
bundle_clear(struct bundle *b)
{
    for (size_t i = 0; i < b->n; i++) {
        free(b->file[i].name);
        free(b->file[i].path);
    }
    free(b->file);
    free(b->path);
    *b = (struct bundle){ 0 };
}

/* Returns what follows the bundle's path and a slash, or NULL. */
static const char *
inside(const struct bundle *b, const char *path)
{
    size_t n = b && b->path ? strlen(b->path) : 0;
    if (n == 0 || strncmp(path, b->path, n) != 0 || path[n] != '/')
        return NULL;
    return path + n + 1;
}

const struct bundled *
bundle_find(const struct bundle *b, const char *path)
{
    const struct bundled key = { .name = (char *)inside(b, path) };
    if (!key.name || b->n == 0)
        return NULL;
    return bsearch(&key, b->file, b->n, sizeof key, compare_bundled);
}

bool
bundle_list_open(struct bundle_list *l, const char *dir, const struct inputs *inputs)
{
    const struct bundle *b = &inputs->bundle;
    *l = (struct bundle_list){ .in = inside(b, dir) };
    if (!l->in && (!b->path || strcmp(dir, b->path) != 0)) {
        l->d = opendir(dir);
        return l->d != NULL;
    }
    l->bundle = b;
    if (l->in)
        l->n = strlen(l->in);
    if (l->n != 0 && l->in[l->n - 1] == '/')
        l->n--;
    return true;
}

const char *
bundle_list_next(struct bundle_list *l, struct err *err)
{
    if (l->d)
        return folder_next(l->d, err);
    while (l->i < l->bundle->n) {
        const struct bundled *f = &l->bundle->file[l->i++];
        const char *name = f->name;
        if (f->tensors || (l->n != 0 && (strncmp(name, l->in, l->n) != 0 || name[l->n] != '/')))
            continue;
        name += l->n != 0 ? l->n + 1 : 0;
        if (!strchr(name, '/'))
            return name;
    }
    return NULL;
}

void
bundle_list_close(struct bundle_list *l)
{
    if (l->d)
        closedir(l->d);
}
