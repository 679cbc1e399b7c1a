#include "model/trees.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "model/candidates.h"
#include "model/configs.h"

enum { DEPTH = 8, PLACES = 3 };

/* A folder: the value of a variable, and a path below it. */
struct tree_place {
    const char *variable, *below;
};

/* `first`: only the first place whose variable is set; otherwise all that exist. */
static const struct tree_program {
    const char *word;
    struct tree_place place[PLACES];
    bool first;
} programs[] = {
    { .word = "lmstudio", .place = { { "HOME", "/.lmstudio/models" }, { "HOME", "/.cache/lm-studio/models" } } },
    { .word = "llama.cpp", .place = { { "LLAMA_CACHE", "" }, { "XDG_CACHE_HOME", "/llama.cpp" }, { "HOME", "/.cache/llama.cpp" } },
        .first = true },
    { .word = "comfyui", .place = { { "COMFYUI_PATH", "/models" }, { "HOME", "/ComfyUI/models" }, { "HOME", "/comfy/ComfyUI/models" } } },
    { .word = "docker", .place = { { "HOME", "/.docker/models/blobs" } } },
};

const char *
trees_word(size_t i)
{
    if (i < sizeof programs / sizeof *programs)
        return programs[i].word;
    return NULL;
}

/* Returns true for a file that is named by its digest, as in stores of layers, and is GGUF. */
static bool
is_blob(const char *path, const char *name)
{
    char head[4];
    if (strlen(name) != 64 || name[strspn(name, "0123456789abcdef")] != '\0')
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool is = fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head && memcmp(head, "GGUF", sizeof head) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

/* Returns true for a file that is a model, or the first of several. */
static bool
is_listed(const char *path, const char *name)
{
    struct configs_part part;
    if (!candidates_is_model(name))
        return is_blob(path, name);
    return !str_ends(name, ".index.json") && (!(configs_part(&part, name, ".gguf") || configs_shard(&part, name)) || part.number == 1);
}

/* What a folder contains. */
struct tree_folder {
    struct names files, folders;
    bool config, model;
};

static bool
add_entry(struct tree_folder *f, const char *dir, const char *name, struct err *err)
{
    struct stat st;
    char *path = folder_path(dir, strlen(dir), name, err);
    bool ok = path != NULL;
    if (ok && lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        ok = names_add(&f->folders, path, strlen(path), err);
    else if (ok && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        f->config = f->config || strcmp(name, "config.json") == 0;
        f->model = f->model || candidates_is_model(name);
        ok = !is_listed(path, name) || names_add(&f->files, path, strlen(path), err);
    }
    free(path);
    return ok;
}

static bool
walk(struct names *list, const char *dir, unsigned depth, struct err *err)
{
    struct tree_folder f = { .config = false };
    char shown[STR_SHOWN];
    const char *name;
    DIR *d = opendir(dir);
    if (!d) {
        err_sys(err, ERR_OPEN, errno, "cannot list the directory");
        return err_in_file(err, str_shown(shown, dir, strlen(dir)));
    }
    bool ok = true;
    while (ok && (name = folder_next(d, err)) != NULL)
        ok = name[0] == '.' || add_entry(&f, dir, name, err);
    closedir(d);
    ok = ok && err->kind == ERR_NONE;
    if (ok && f.config && f.model)
        ok = names_add(list, dir, strlen(dir), err);
    for (size_t i = 0; ok && !(f.config && f.model) && i < f.files.n; i++)
        ok = names_add(list, f.files.name[i], strlen(f.files.name[i]), err);
    for (size_t i = 0; ok && depth != 0 && !(f.config && f.model) && i < f.folders.n; i++)
        ok = walk(list, f.folders.name[i], depth - 1, err);
    names_clear(&f.files);
    names_clear(&f.folders);
    return ok;
}

bool
trees_list(struct names *list, const char *dir, struct err *err)
{
    bool ok = walk(list, dir, DEPTH, err);
    names_sort(list);
    return ok;
}

bool
trees_of(struct names *list, struct str *roots, size_t i, struct err *err)
{
    const struct tree_program *program = &programs[i];
    struct str path = { 0 };
    bool ok = true, taken = false;
    for (size_t k = 0; ok && k < PLACES && program->place[k].variable && !(taken && program->first); k++) {
        const char *value = getenv(program->place[k].variable);
        struct stat st;
        if (!value || !*value)
            continue;
        taken = true;
        path.len = 0;
        str_format(&path, "%s%s", value, program->place[k].below);
        if (path.failed)
            ok = err_memory(err, path.room);
        else if (stat(path.p, &st) == 0 && S_ISDIR(st.st_mode)) {
            str_text(roots, roots->len ? ", " : "");
            str_add_escaped(roots, path.p, path.len);
            ok = trees_list(list, path.p, err);
        }
    }
    str_clear(&path);
    return ok;
}
