/* Which tensors of a checkpoint of torch.distributed.checkpoint are the model: those under a usual key of the nested dictionary that
 * was saved, else all but the state of the optimizer and the like. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "container/sharded/dcp_priv.h"

/* The keys under which trainers store the weights, in the order in which they are tried. */
static const char *const tops[] = { "model", "state_dict", "model_state_dict", "module", "net" };

/* First components of what is no weight; a number may follow each, after an underscore. */
static const char *const others[] = { "optim", "optimizer", "optimizers", "opt", "optimizer_state", "optimizer_states",
    "optimizer_state_dict", "lr_scheduler", "lr_schedulers", "scheduler", "train_state", "dataloader", "rng", "rng_state",
    "rerun_state_machine_state", "scaler", "grad_scaler" };

/* A part of a text. */
struct path_word {
    const char *p;
    size_t n;
};

static bool
word_is(struct path_word s, const char *text)
{
    return strlen(text) == s.n && memcmp(s.p, text, s.n) == 0;
}

static uint32_t
path_len(const struct dcp_key *key)
{
    if (key->path)
        return key->path->n;
    return 1;
}

/* Returns component i of the path of a key; empty for an integer. */
static struct path_word
component(const struct dcp_key *key, uint32_t i)
{
    const struct pickle_value *v = key->name;
    if (key->path)
        v = key->path->of.item[i];
    if (v->kind == PICKLE_TEXT)
        return (struct path_word){ (const char *)v->of.text, v->n };
    return (struct path_word){ "", 0 };
}

/* Returns the first of `tops` that is component `depth` of a path, if all such paths go on after it; else NULL. */
static const char *
find_top(const struct dcp *d, uint32_t depth)
{
    for (size_t t = 0; t < sizeof tops / sizeof *tops; t++) {
        bool occurs = false, ends = false;
        for (size_t i = 0; i < d->nkeys; i++)
            if (path_len(&d->key[i]) > depth && word_is(component(&d->key[i], depth), tops[t])) {
                occurs = true;
                ends = ends || path_len(&d->key[i]) == depth + 1;
            }
        if (occurs)
            return ends ? NULL : tops[t];
    }
    return NULL;
}

/* Returns true if all paths begin with the same component, and go on. */
static bool
has_one_top(const struct dcp *d)
{
    for (size_t i = 0; i < d->nkeys; i++) {
        struct path_word a = component(&d->key[0], 0), b = component(&d->key[i], 0);
        if (path_len(&d->key[i]) < 2 || a.n != b.n || memcmp(a.p, b.p, a.n) != 0)
            return false;
    }
    return d->nkeys != 0;
}

/* Returns the first component of a path, up to its first dot. */
static struct path_word
first_word(const struct dcp_key *key)
{
    struct path_word s = component(key, 0);
    const char *dot = memchr(s.p, '.', s.n);
    if (dot)
        s.n = (size_t)(dot - s.p);
    return s;
}

static bool
is_other(struct path_word s)
{
    size_t n = s.n;
    while (n > 0 && isdigit((unsigned char)s.p[n - 1]))
        n--;
    if (n > 1 && n < s.n && s.p[n - 1] == '_') {
        s.n = n - 1;
        if (word_is(s, "chained"))
            return true;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (word_is(s, others[i]))
            return true;
    return false;
}

/* Selects by the first or the second component, or all that is not state of the training. */
static void
select_model(struct dcp *d)
{
    const char *top = find_top(d, 0);
    uint32_t depth = 0;
    if (!top && has_one_top(d)) {
        top = find_top(d, 1);
        depth = 1;
    }
    if (top)
        d->cut = depth + 1;
    for (size_t i = 0; i < d->nkeys; i++) {
        struct dcp_key *key = &d->key[i];
        if (top)
            key->selected = path_len(key) > depth && word_is(component(key, depth), top);
        else
            key->selected = !is_other(first_word(key));
    }
}

static bool
is_under(const struct pickle_value *name, const char *root)
{
    size_t n = strlen(root);
    return name->n >= n && memcmp(name->of.text, root, n) == 0 && (name->n == n || name->of.text[n] == '.');
}

enum { TOPS_MAX = 32 };                 /* first components that are told apart */

/* Counts the tensors under each first component. */
static bool
count_tops(struct dcp *d)
{
    struct catalog_top top[TOPS_MAX] = { 0 }, *kept;
    size_t n = 0;
    for (size_t i = 0; i < d->nkeys; i++) {
        const struct dcp_key *key = &d->key[i];
        struct path_word word = first_word(key);
        size_t k = 0;
        while (k < n && (top[k].name_len != word.n || memcmp(top[k].name, word.p, word.n) != 0))
            k++;
        if (key->tensor == DCP_BYTES || k == TOPS_MAX)
            continue;
        if (k == n)
            top[n++] = (struct catalog_top){ .name = word.p, .name_len = word.n };
        top[k].tensors++;
        top[k].read += key->selected;
        if (!num_add(&top[k].nbytes, top[k].nbytes, dcp_nbytes(d, key)))
            top[k].nbytes = UINT64_MAX;
    }
    d->s->top = kept = catalog_alloc(d->s->catalog, n * sizeof *kept, d->err);
    if (!kept)
        return false;
    for (; d->s->ntops < n; d->s->ntops++) {
        struct catalog_top *to = &kept[d->s->ntops];
        char *name = catalog_alloc(d->s->catalog, top[d->s->ntops].name_len + 1, d->err);
        if (!name)
            return false;
        *to = top[d->s->ntops];
        to->name = memcpy(name, to->name, to->name_len);
    }
    return true;
}

/* Notes what is left out, by first component. */
static void
note_others(const struct dcp *d)
{
    for (size_t k = 0; k < d->s->ntops; k++) {
        const struct catalog_top *top = &d->s->top[k];
        char shown[STR_SHOWN];
        uint64_t left = top->tensors - top->read;
        str_shown(shown, top->name, top->name_len);
        if (left != 0 && is_other((struct path_word){ top->name, top->name_len }))
            catalog_tell(d->s->catalog, "left out: %" PRIu64 " tensors of %s", left, shown);
        else if (left != 0)
            catalog_warn(d->s->catalog, "left out: %" PRIu64 " tensors of %s (--root %s reads them)", left, shown, shown);
    }
}

bool
dcp_select(struct dcp *d)
{
    const char *root = d->s->how->root;
    char shown[STR_SHOWN];
    size_t n = 0;
    bool named = root && strcmp(root, "auto") != 0;
    d->full = named || sharded_wants(d->s, "all");
    if (named)
        d->root = strlen(root);
    if (!d->full)
        select_model(d);
    for (size_t i = 0; i < d->nkeys; i++) {
        struct dcp_key *key = &d->key[i];
        if (d->full)
            key->selected = !named || is_under(key->name, root);
        key->selected = key->selected && key->tensor != DCP_BYTES;
        n += key->selected;
    }
    if (n == 0 && named)
        return err_set(d->err, ERR_USAGE, "no tensor under '%s', given as --root", str_shown(shown, root, strlen(root)));
    if (n == 0)
        return err_set(d->err, ERR_UNSUPPORTED, "the checkpoint has no weights of a model, only state of the training; --root PATH reads "
            "what is under PATH");
    if (!count_tops(d))
        return false;
    if (!d->full)
        note_others(d);
    return true;
}

void
dcp_name(const struct dcp *d, const struct dcp_key *key, struct str *name)
{
    const char *p = (const char *)key->name->of.text;
    struct str path = { 0 };
    if (d->full && key->name->n == d->root && d->root != 0) {
        str_text(name, "tensor");
    } else if (d->full) {
        size_t cut = d->root + (d->root != 0);
        sharded_add_name(name, p + cut, key->name->n - cut);
    } else {
        for (uint32_t i = d->cut; i < path_len(key); i++) {
            struct path_word s = component(key, i);
            if (i > d->cut)
                str_add(&path, ".", 1);
            if (key->path && key->path->of.item[i]->kind == PICKLE_INT)
                str_format(&path, "%" PRId64, key->path->of.item[i]->of.integer);
            else
                str_add(&path, s.p, s.n);
        }
        sharded_add_name(name, path.p ? path.p : "", path.len);
        name->failed = name->failed || path.failed;
    }
    str_clear(&path);
}
