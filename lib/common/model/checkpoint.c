#include "model/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "container/sharded/sharded.h"
#include "source/small_file.h"

bool
checkpoint_is(const char *dir)
{
    struct sharded *found = NULL;
    struct inputs none = { 0 };
    struct err ignored;
    err_init(&ignored);
    bool is = !sharded_find(&found, dir, &none, &ignored) || found;
    sharded_free(found);
    return is;
}

char *
checkpoint_folder(struct inputs *inputs, const char *dir, struct err *err)
{
    struct str path = { 0 };
    str_format(&path, "%s/huggingface/config.json", dir);
    char *inner = NULL, *outer = folder_path(dir, strlen(dir), "config.json", err);
    bool out = true, in = false;
    bool ok = (!path.failed || err_memory(err, path.room)) && outer && small_file_exists(&out, outer, inputs, err)
        && (out || small_file_exists(&in, path.p, inputs, err));
    if (ok && in)
        inner = strndup(path.p, strlen(path.p) - strlen("/config.json"));
    else if (ok)
        inner = strdup(dir);
    free(outer);
    str_clear(&path);
    if (ok && !inner)
        err_memory(err, strlen(dir));
    return inner;
}

bool
checkpoint_check_empty(const struct catalog *catalog, const char *dir, struct inputs *inputs, struct err *err)
{
    struct sharded *found = NULL;
    struct err ignored;
    err_init(&ignored);
    for (size_t i = 0; i < catalog_count(catalog); i++)
        if (catalog_at(catalog, i)->extent.nbytes != 0)
            return true;
    bool ok = catalog_count(catalog) == 0 || !sharded_find(&found, dir, inputs, &ignored) || !found
        || err_set(err, ERR_UNSUPPORTED, "the tensors of the model are empty, because the weights are in the checkpoint beside it: give "
            "that directory: %s", found->dir);
    sharded_free(found);
    return ok;
}
