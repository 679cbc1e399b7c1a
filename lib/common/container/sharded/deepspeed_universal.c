/* deepspeed_universal: a universal checkpoint: a directory zero/NAME/ for each parameter, whose fp32.pt has the parameter, alone or under
 * 'param'; buffers are in the model states beside it, in their own type. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "container/sharded/deepspeed_priv.h"
#include "container/torch/objects.h"

static const char states[] = "mp_rank_00_model_states.pt";

static bool
universal_probe(const struct sharded *s)
{
    return sharded_has(s, "zero");
}

/* Lists the directories in zero/. */
static bool
list_parameters(struct sharded *s, struct names *list, struct err *err)
{
    struct str path = { 0 };
    const char *name;
    bool ok = true;
    str_format(&path, "%s/zero", s->dir);
    DIR *d = NULL;
    if (!path.failed)
        d = opendir(path.p);
    size_t n = path.len;
    while (d && ok && (name = folder_next(d, err)) != NULL) {
        struct stat st;
        path.len = n;
        str_format(&path, "/%s", name);
        ok = !path.failed || err_memory(err, path.room);
        if (ok && name[0] != '.' && stat(path.p, &st) == 0 && S_ISDIR(st.st_mode))
            ok = names_add(list, name, strlen(name), err);
    }
    if (d)
        closedir(d);
    str_clear(&path);
    names_sort(list);
    return ok && err->kind == ERR_NONE && (list->n != 0 || err_set(err, ERR_OPEN, "zero/ has no parameters"));
}

/* The tensors of one file. */
struct universal {
    struct sharded *s;
    struct err *err;
    struct torch_file f;        /* the model states, or empty */
    uint32_t file;
    struct ds_names buffers;
};

static bool
open_buffers(struct universal *u)
{
    struct sharded *s = u->s;
    if (!sharded_has(s, states))
        return true;
    return sharded_torch(s, &u->f, states, &u->file, u->err)
        && (ds_names_add(&u->buffers, u->f.pickle, object_item(u->f.pickle, u->f.root, "buffer_names"), u->err)
            || err_in_file(u->err, source_name(s->src[u->file])));
}

/* Adds a tensor of an open file. */
static bool
add_value(struct universal *u, const struct torch_file *f, uint32_t file, const char *name, const struct pickle_value *v)
{
    struct str out = { 0 };
    char shown[STR_SHOWN];
    struct torch_tensor t;
    sharded_add_name(&out, name, strlen(name));
    bool ok = (!out.failed || err_memory(u->err, out.room))
        && torch_file_tensor(f, v, str_shown(shown, name, strlen(name)), &t, u->err)
        && sharded_add_whole(u->s, file, out.p, out.len, &t, u->err);
    str_clear(&out);
    return ok || err_in_file(u->err, source_name(u->s->src[file]));
}

static bool
add_file(struct universal *u, const char *name)
{
    struct sharded *s = u->s;
    struct torch_file f = { 0 };
    struct str path = { 0 };
    uint32_t file = 0;
    str_format(&path, "zero/%s/fp32.pt", name);
    bool ok = (!path.failed || err_memory(u->err, path.room)) && sharded_torch(s, &f, path.p, &file, u->err);
    if (ok) {
        const struct pickle_value *v = f.root;
        if (v->kind == PICKLE_DICT)
            v = object_item(f.pickle, v, "param");
        ok = v ? add_value(u, &f, file, name, v) : err_set(u->err, ERR_MALFORMED, "it has no param");
        if (!ok)
            err_in_file(u->err, source_name(s->src[file]));
    }
    torch_file_clear(&f);
    str_clear(&path);
    return ok;
}

static int
compare_name(const void *key, const void *item)
{
    return strcmp(key, *(char *const *)item);
}

/* Checks that all tensors of the module have a directory. */
static bool
check_module(const struct universal *u, const struct pickle_value *module, const struct names *list)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *value;
    while (module && module->kind == PICKLE_DICT && pickle_next(u->f.pickle, module, &walk, &key, &value)) {
        char shown[STR_SHOWN], *name = NULL;
        if (key->kind != PICKLE_TEXT || !torch_file_is_tensor(&u->f, value))
            continue;
        name = strndup((const char *)key->of.text, key->n);
        if (!name)
            return err_memory(u->err, key->n);
        bool there = bsearch(name, list->name, list->n, sizeof *list->name, compare_name) != NULL;
        str_shown(shown, name, key->n);
        free(name);
        if (!there)
            return err_set(u->err, ERR_OPEN, "a file of the checkpoint is missing: zero/%s/fp32.pt", shown);
    }
    return true;
}

static bool
universal_read(struct sharded *s, struct err *err)
{
    struct universal u = { .s = s, .err = err };
    struct names list = { 0 };
    bool ok = list_parameters(s, &list, err) && open_buffers(&u);
    const struct pickle_value *module = NULL;
    if (ok && u.f.pickle)
        module = object_item(u.f.pickle, u.f.root, "module");
    ok = ok && check_module(&u, module, &list);
    for (size_t i = 0; ok && i < list.n; i++) {
        const struct pickle_value key = { .kind = PICKLE_TEXT, .n = (uint32_t)strlen(list.name[i]),
            .of.text = (const uint8_t *)list.name[i] };
        uint32_t k;
        const struct pickle_value *v = NULL;
        if (ds_names_find(&u.buffers, &key, &k))
            v = object_item(u.f.pickle, module, list.name[i]);
        ok = v ? add_value(&u, &u.f, u.file, list.name[i], v) : add_file(&u, list.name[i]);
    }
    if (ok && !sharded_wants(s, "master"))
        catalog_tell(s->catalog, "the checkpoint has the weights as F32 only, as the optimizer keeps them; --dtype bf16 gives those of the "
            "forward pass");
    torch_file_clear(&u.f);
    ds_names_clear(&u.buffers);
    names_clear(&list);
    return ok;
}

const struct sharded_format sharded_universal = { .kind = "deepspeed-universal", .master = true, .probe = universal_probe,
    .read = universal_read };
