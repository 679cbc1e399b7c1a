/* The names that an image model gives to the modules of an adapter in a single file. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "adapter/recast.h"
#include "base/folder.h"

/* The folders of a pipeline of diffusers, each a tower of the same name. */
static const char *const folders[] = { "unet", "transformer", "text_encoder", "text_encoder_2", "text_encoder_3" };
enum { FOLDERS = sizeof folders / sizeof *folders };

/* The weights of the base. Headers are read, and no elements. */
struct recast_base {
    struct model model[FOLDERS];        /* n of them; owned */
    size_t n;
    struct choice choice;               /* their tensors, with the folder in front of the names */
    struct towers *towers;              /* owned */
};

void
recast_base_free(struct recast_base *base)
{
    if (!base)
        return;
    towers_free(base->towers);
    choice_clear(&base->choice);
    for (size_t i = 0; i < base->n; i++)
        model_clear(&base->model[i]);
    free(base);
}

/* Opens a model of the base, whose tensors get a prefix: a folder and a dot, or none. */
static bool
add_model(struct recast *r, const char *path, const char *folder, struct err *err)
{
    struct recast_base *base = r->base;
    const struct model_options how = { .limits = r->job->limits, .config = "none" };
    struct model *m = &base->model[base->n++];
    bool ok = model_open(m, path, &how, err);
    for (size_t i = 0; ok && i < catalog_count(m->catalog); i++) {
        const struct tensor *t = catalog_at(m->catalog, i);
        struct chosen c = { .copy = t, .dtype = t->dtype };
        struct str name = { 0 };
        if (folder) {
            str_format(&name, "%s.", folder);
            str_add(&name, t->name, t->name_len);
        }
        ok = (!folder || recast_name(&c, r, &name, err)) && choice_append(&base->choice, &c, err);
    }
    return ok || err_in_file(err, str_or(m->name, path));
}

/* Opens the base: a model, or the folders of a pipeline. */
static bool
open_base(struct recast *r, struct err *err)
{
    const char *path = r->job->base;
    struct stat st;
    char *index = folder_path(path, strlen(path), "model_index.json", err);
    r->base = calloc(1, sizeof *r->base);
    bool ok = index && (r->base || err_memory(err, sizeof *r->base)), pipeline = ok && stat(index, &st) == 0;
    free(index);
    for (size_t i = 0; ok && pipeline && i < FOLDERS; i++) {
        char *folder = folder_path(path, strlen(path), folders[i], err);
        ok = folder && (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode) || add_model(r, folder, folders[i], err));
        free(folder);
    }
    ok = ok && (pipeline || add_model(r, path, NULL, err));
    return ok && ((r->base->towers = towers_new(&r->base->choice)) != NULL || err_memory(err, 0));
}

/* --- names */

static bool
name_fail(const struct recast_pair *p, const char *why, struct err *err)
{
    char shown[STR_SHOWN];
    return err_set(err, ERR_UNSUPPORTED, "module %s: %s", str_shown(shown, p->name, p->n), why);
}

/* Sets *c to rows [from, from + n) of a factor. */
static bool
take_rows(struct chosen *c, const struct recast *r, uint64_t from, uint64_t n, struct err *err)
{
    struct catalog *memory = r->job->model->catalog;
    const struct tensor *t = c->copy;
    uint64_t rows = shape_dim(&t->shape, 0), dim[4];
    struct tensor *view = catalog_alloc(memory, sizeof *view, err);
    uint8_t *packed = catalog_alloc(memory, 4 * SHAPE_DIM + 1, err);
    if (!view || !packed)
        return false;
    for (uint32_t i = 0; i < t->shape.rank; i++)
        dim[i] = i == 0 ? n : shape_dim(&t->shape, i);
    shape_pack(packed, dim, t->shape.rank);
    *view = *t;
    view->shape = (struct shape){ t->shape.rank, packed };
    view->extent.at += t->extent.nbytes / rows * from;
    view->extent.nbytes = t->extent.nbytes / rows * n;
    c->copy = view;
    return true;
}

/* Appends a pair for what a module changes in the base. */
static bool
add_hit(struct recast *r, const struct recast_pair *of, const struct tower_hit *hit, struct err *err)
{
    const struct tensor b = chosen_source(&of->b);
    if (hit->index[0] == WEIGHT_NONE)
        return name_fail(of, "the base has only a bias of this name", err);
    const struct tensor t = chosen_tensor(&r->base->choice.list[hit->index[0]]);
    if (hit->transposed || hit->row != 0 || t.shape.rank == 0 || hit->rows != shape_dim(&t.shape, 0))
        return name_fail(of, "the base joins it with others in one weight, or has its rows in another order: only merging applies it "
            "(--adapter)", err);
    if (hit->from + hit->rows > shape_dim(&b.shape, 0) || of->a.composed || of->b.composed)
        return name_fail(of, "its rows are not those of the base", err);
    size_t n = t.name_len, prefix = towers_base_prefix(of->tower, t.name, t.name_len);
    str_strip(t.name, &n, ".weight");
    struct recast_pair *p = recast_add_pair(r, t.name + prefix, n - prefix, err);
    if (!p)
        return false;
    const char *name = p->name;
    uint32_t len = p->n;
    *p = *of;
    p->name = name;
    p->n = len;
    p->flat = false;
    return hit->rows == shape_dim(&b.shape, 0) || take_rows(&p->b, r, hit->from, hit->rows, err);
}

/* Replaces the pairs by those of the weights that the base has. */
static bool
use_base(struct recast *r, struct err *err)
{
    static const char *const prefix[TOWERS] = { "diffusion_model.", "text_encoder.", "text_encoder_2.", "text_encoder_3." };
    const struct recast_pair *list = r->pair;
    size_t n = r->npairs, hits;
    bool ok = open_base(r, err);
    r->pair = NULL;
    r->npairs = r->room = 0;
    for (size_t i = 0; ok && i < n; i++) {
        struct tower_hit hit[TOWER_HITS];
        struct str name = { 0 };
        str_text(&name, list[i].flat ? "" : prefix[list[i].tower]);
        str_add(&name, list[i].name - (list[i].flat ? list[i].prefix : 0), list[i].n + (list[i].flat ? list[i].prefix : 0));
        ok = (!name.failed || err_memory(err, name.room)) && towers_find(hit, &hits, r->base->towers, name.p, name.len, err)
            && (hits != 0 || name_fail(&list[i], "the base has no weight of this name", err));
        for (size_t k = 0; ok && k < hits; k++)
            ok = add_hit(r, &list[i], &hit[k], err);
        str_clear(&name);
    }
    free((void *)list);
    return ok;
}

/* Returns true if a module is of a language model, as PEFT and MLX name it. */
static bool
is_language(const struct recast_pair *p)
{
    static const char *const starts[] = { "model.layers.", "model.language_model.", "language_model.", "lm_head", "transformer.h.",
        "model.embed_tokens", "model.decoder." };
    bool is = false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        is = is || str_prefixed(p->name, p->n, starts[i]);
    return is;
}

/* Removes the tower from the name of a pair. A name without one is of the image model, or of its text encoder. */
static bool
split_name(struct recast *r, struct recast_pair *p, struct err *err)
{
    static const char text[] = "text_model.";
    bool single = r->job->to == RECAST_KOHYA || r->job->to == RECAST_DIFFUSERS;
    size_t prefix;
    p->tower = towers_split(&prefix, &p->flat, p->name, p->n);
    if (p->tower != TOWER_NONE && r->adapter.family == ADAPTER_SINGLE) {
        p->name += prefix;
        p->n -= (uint32_t)prefix;
        p->prefix = (uint32_t)prefix;
        return true;
    }
    p->flat = false;
    p->tower = p->n > sizeof text - 1 && str_prefixed(p->name, p->n, text);
    return !single || !is_language(p) || name_fail(p, "it is of a language model, for which kohya and diffusers have no names", err);
}

bool
recast_settle_names(struct recast *r, struct err *err)
{
    bool names = r->job->to == RECAST_KOHYA || r->job->to == RECAST_DIFFUSERS, flat = false, ok = true;
    if (r->adapter.family != ADAPTER_SINGLE && !names)
        return true;
    for (size_t i = 0; ok && i < r->npairs; i++) {
        ok = split_name(r, &r->pair[i], err);
        flat = flat || r->pair[i].flat;
    }
    if (ok && flat && !r->job->base && r->job->to != RECAST_KOHYA)
        return err_set(err, ERR_USAGE, "the names have underscores in place of dots: give the model that they are of, a pipeline or its "
            "file, with --base");
    ok = ok && (!r->job->base || use_base(r, err));
    for (size_t i = 0; ok && !names && i < r->npairs; i++) {
        if (r->pair[i].tower != r->pair->tower)
            ok = err_set(err, ERR_UNSUPPORTED, "the adapter changes %s and %s, and a directory of PEFT or MLX has one model: --to diffusers "
                "writes both", towers_name(r->pair->tower), towers_name(r->pair[i].tower));
    }
    for (size_t i = 0; ok && !names && i < r->npairs; i++)
        r->pair[i].tower = TOWER_NONE;
    return ok;
}
