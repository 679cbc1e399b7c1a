/* What a checkpoint holds besides the tensors that are read: for reports and messages. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "container/sharded/sharded_priv.h"

/* Adds up the files of a checkpoint in a directory, and in those below it. */
static bool
add_present(uint64_t *nbytes, const char *dir, unsigned depth, struct err *err)
{
    static const char *const endings[] = { ".distcp", ".pt", ".pth", ".safetensors" };
    enum { DEPTH = 2 };
    DIR *d = opendir(dir);
    const char *name;
    bool ok = true;
    while (d && ok && (name = folder_next(d, err)) != NULL) {
        char *path = folder_path(dir, strlen(dir), name, err);
        struct stat st;
        ok = path != NULL;
        bool there = ok && stat(path, &st) == 0, counts = false;
        for (size_t i = 0; there && i < sizeof endings / sizeof *endings; i++)
            counts = counts || str_ends(name, endings[i]);
        if (counts && S_ISREG(st.st_mode))
            *nbytes += (uint64_t)st.st_size;
        if (there && S_ISDIR(st.st_mode) && name[0] != '.' && depth < DEPTH)
            ok = add_present(nbytes, path, depth + 1, err);
        free(path);
    }
    if (d)
        closedir(d);
    return ok && err->kind == ERR_NONE;
}

bool
sharded_describe(struct sharded *s, struct err *err)
{
    char shown[STR_SHOWN], size[STR_SIZE], all[STR_SIZE];
    uint64_t read = 0, present = 0;
    struct catalog_checkpoint *facts = catalog_alloc(s->catalog, sizeof *facts, err);
    char *step = NULL;
    if (facts && s->step.len != 0) {
        str_shown(shown, s->step.p, s->step.len);
        step = catalog_alloc(s->catalog, strlen(shown) + 1, err);
    }
    if (!facts || (s->step.len != 0 && !step) || !add_present(&present, s->dir, 0, err))
        return false;
    if (step)
        strcpy(step, shown);
    *facts = (struct catalog_checkpoint){ .kind = sharded_kind(s), .step = step, .ranks = s->ranks, .master = s->format->master,
        .all = s->format->all, .top = s->top, .ntops = s->ntops };
    catalog_facts(s->catalog)->checkpoint = facts;
    for (size_t i = 0; i < catalog_count(s->catalog); i++)
        read += catalog_at(s->catalog, i)->extent.nbytes;
    catalog_note(s->catalog, "the tensors take %s of the %s in the files of the checkpoint", str_size(size, read), str_size(all, present));
    return true;
}

/* Names of files of ranks, and how many directories below the checkpoint they are. */
static const struct {
    const char *begin, *end;
    unsigned below;
} files[] = {
    { "model_world_size_", ".pt", .below = 0 }, { "", "_model_states.pt", .below = 0 }, { "", "_optim_states.pt", .below = 0 },
    { "model_optim_rng.pt", "", .below = 1 }, { "fp32.pt", "", .below = 2 },
};

char *
sharded_of_file(const char *path)
{
    const char *name = folder_name(path);
    struct sharded *found = NULL;
    struct err ignored;
    char *dir = NULL;
    err_init(&ignored);
    for (size_t i = 0; i < sizeof files / sizeof *files && !dir; i++) {
        if (!str_begins(name, files[i].begin) || !str_ends(name, files[i].end))
            continue;
        dir = strdup(path);
        for (unsigned k = 0; dir && k <= files[i].below; k++)
            dir[folder_len(dir)] = '\0';
    }
    if (dir && !*dir) {
        free(dir);
        dir = strdup(".");
    }
    if (dir && (!sharded_find(&found, dir, &(struct inputs){ 0 }, &ignored) || !found)) {
        free(dir);
        dir = NULL;
    }
    sharded_free(found);
    return dir;
}
