#include "model/archived.h"

#include <string.h>

#include "base/folder.h"
#include "base/str.h"
#include "container/container.h"
#include "model/candidates.h"

bool
archived_find(bool *found, struct bundle *b, struct source *src, const char *path, struct budget *budget, struct err *err)
{
    struct err why;
    bool models = false;
    err_init(&why);
    bool ok = archive_bundle(b, src, path, budget, &why);
    for (size_t i = 0; i < b->n; i++)
        models = models || candidates_is_model(folder_name(b->file[i].name));
    *found = ok && models;
    if (!*found)
        bundle_clear(b);
    if (ok || (!models && why.kind != ERR_MEMORY))
        return true;
    *err = why;
    return false;
}

/* Folders of ranks are named mp_rank_00 or tp_rank_00_pp_rank_000. */
static bool
is_of_rank(const char *name)
{
    return *name != '\0' && str_begins(name + 1, "p_rank_");
}

bool
archived_check_folder(const struct bundle *b, const char *folder, struct err *err)
{
    bool others = false;
    for (size_t i = 0; i < b->n; i++) {
        const char *name = b->file[i].name;
        others = others || (is_of_rank(name) && strchr(name, '/') && !str_begins(name, folder));
    }
    return !others || !is_of_rank(folder) || err_set(err, ERR_UNSUPPORTED,
        "%s has the slices of one rank of a parallel model, which are not joined: export the model with its own program first", folder);
}
