/* Names: the path of keys from the root to a tensor, joined by dots. A shared value is visited each time it is reached, so
 * the number of steps is limited, and so is the length of the names. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "container/torch/checkpoint_priv.h"

enum { NODES_MAX = 4000000, DEEPEST = 64, NAME_MOST = 65535, NUMBER = 24, TEXT_RATIO = 16, TEXT_FREE = 1 << 20 };

/* A container on the path. */
struct frame {
    const struct pickle_value *v;
    struct pickle_walk walk;
    size_t path;                /* bytes of the path to it */
    uint8_t unnamed;
};

struct walker {
    struct checkpoint *c;
    struct budget *budget;
    struct err *err;
    struct str path;
    size_t first;               /* bytes of its first key */
    struct frame frame[DEEPEST];
    unsigned depth;
    uint64_t nodes, text;
};

static bool
is_container(const struct pickle_value *v)
{
    return v->kind == PICKLE_TUPLE || v->kind == PICKLE_LIST || v->kind == PICKLE_DICT || v->kind == PICKLE_SET;
}

/* Returns the text of a key, in buf or in place; NULL if it has none. */
static const char *
key_text(const struct pickle_value *key, char buf[NUMBER], size_t *n, uint8_t *unnamed)
{
    *unnamed = NAMED;
    switch (key->kind) {
    case PICKLE_TEXT:
    case PICKLE_BYTES:
        if (key->n > NAME_MOST)
            *unnamed = UNNAMED_LONG;
        else if (key->odd)
            *unnamed = UNNAMED_SURROGATE;
        else if (key->kind == PICKLE_BYTES && !str_is_utf8((const char *)key->of.text, key->n))
            *unnamed = UNNAMED_KEY;
        *n = key->n;
        if (*unnamed)
            return NULL;
        return (const char *)key->of.text;
    case PICKLE_INT:
        *n = (size_t)snprintf(buf, NUMBER, "%" PRId64, key->of.integer);
        return buf;
    case PICKLE_BOOL:
        *n = (size_t)snprintf(buf, NUMBER, "%s", key->of.integer ? "True" : "False");
        return buf;
    default:
        *unnamed = UNNAMED_KEY;
        return NULL;
    }
}

/* Charges n more bytes of names and paths. */
static bool
charge_text(struct walker *w, size_t n)
{
    uint64_t max = TEXT_RATIO * w->c->pickle->size + TEXT_FREE;
    w->text += n;
    return w->text <= max || err_set(w->err, ERR_LIMIT, "total length of the tensor names exceeds the limit of "
        "%" PRIu64 " bytes, %d times the size of the pickle (built in)", max, TEXT_RATIO);
}

/* Appends a key, or index i of a list, to the path. Sets *unnamed if that is not possible. */
static bool
extend(struct walker *w, const struct frame *f, const struct pickle_value *key, uint32_t i, uint8_t *unnamed)
{
    char buf[NUMBER];
    size_t n = 0;
    const char *text = NULL;
    *unnamed = f->unnamed;
    w->path.len = f->path;
    if (*unnamed == NAMED && f->v->kind == PICKLE_SET)
        *unnamed = UNNAMED_SET;
    if (*unnamed != NAMED)
        return true;
    if (key)
        text = key_text(key, buf, &n, unnamed);
    else
        n = (size_t)snprintf(buf, sizeof buf, "%" PRIu32, i);
    if (*unnamed != NAMED)
        return true;
    if (w->path.len + 1 + n > NAME_MOST) {
        *unnamed = UNNAMED_LONG;
        return true;
    }
    if (w->depth > 1)
        str_add(&w->path, ".", 1);
    str_add(&w->path, text ? text : buf, n);
    if (w->depth == 1)
        w->first = n;
    return (!w->path.failed || err_memory(w->err, w->path.room)) && charge_text(w, n + 1);
}

typedef bool walk_test(const struct walker *, const struct pickle_value *);

static bool holds(struct walker *w, const struct pickle_value *v, walk_test *is, unsigned depth);

/* Searches the parts of a value. */
static bool
parts_hold(struct walker *w, const struct pickle_value *v, walk_test *is, unsigned depth)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *value;
    if (v->kind == PICKLE_CALL)
        return holds(w, v->of.item[1], is, depth) || (v->of.item[2] && holds(w, v->of.item[2], is, depth));
    while (is_container(v) && pickle_next(w->c->pickle, v, &walk, &key, &value))
        if ((key && holds(w, key, is, depth)) || holds(w, value, is, depth))
            return true;
    return false;
}

/* Returns true if a value, or one inside it, is what the function finds, and for values too deep or too many to be searched. */
static bool
holds(struct walker *w, const struct pickle_value *v, walk_test *is, unsigned depth)
{
    return is(w, v) || depth >= DEEPEST || ++w->nodes > NODES_MAX || parts_hold(w, v, is, depth + 1);
}

static bool
is_of_tensor(const struct walker *w, const struct pickle_value *v)
{
    return v->kind == PICKLE_PERSISTENT || rebuild_is_tensor(w->c, v);
}

static bool
is_of_object(const struct walker *w, const struct pickle_value *v)
{
    (void)w;
    return pickle_is_opaque(v) || (v->kind == PICKLE_GLOBAL && v->of.name->facts.role == GLOBAL_UNKNOWN);
}

static bool
checkpoint_walk_add_tensor(struct walker *w, const struct pickle_value *v, uint8_t unnamed)
{
    struct checkpoint *c = w->c;
    struct checkpoint_tensor *tensor = NULL;
    if (budget_items(w->budget, 1, "tensors", w->err) && budget_bytes(w->budget, sizeof *tensor, "tensors", w->err))
        tensor = array_grow(c->tensor, c->ntensors, &c->room_tensors, sizeof *tensor, w->err);
    if (!tensor || !charge_text(w, w->path.len))
        return false;
    c->tensor = tensor;
    tensor[c->ntensors++] = (struct checkpoint_tensor){ .value = v, .name_at = c->names.len,
        .name_len = (uint32_t)w->path.len, .first = (uint32_t)w->first, .depth = (uint8_t)w->depth, .unnamed = unnamed };
    str_add(&c->names, w->path.len != 0 ? w->path.p : "", w->path.len);
    return !c->names.failed || err_memory(w->err, c->names.room);
}

static bool
enter(struct walker *w, const struct pickle_value *v, uint8_t unnamed)
{
    char shown[STR_SHOWN];
    for (unsigned i = 0; i < w->depth; i++)
        if (w->frame[i].v == v)
            return err_set(w->err, ERR_MALFORMED, "pickle is cyclic: %s contains itself",
                w->path.len != 0 ? str_shown(shown, w->path.p, w->path.len) : "the root");
    if (w->depth >= DEEPEST)
        return err_set(w->err, ERR_LIMIT, "nesting of dictionaries and lists in the pickle exceeds the limit "
            "of %d levels (walk_depth, built in)", DEEPEST);
    w->frame[w->depth++] = (struct frame){ .v = v, .path = w->path.len, .unnamed = unnamed };
    return true;
}

static bool
visit(struct walker *w, const struct pickle_value *v, uint8_t unnamed)
{
    if (rebuild_is_tensor(w->c, v))
        return checkpoint_walk_add_tensor(w, v, w->c->pickle->opaque && v->kind == PICKLE_CALL && parts_hold(w, v, is_of_object,
            0) ? UNNAMED_OBJECT : unnamed);
    if (is_container(v))
        return enter(w, v, unnamed);
    if (pickle_is_opaque(v) && parts_hold(w, v, is_of_tensor, 0))
        return checkpoint_walk_add_tensor(w, v, UNNAMED_OBJECT);
    if (v->kind == PICKLE_GLOBAL && pickle_role_is_opaque(v->of.name->facts.role))
        return checkpoint_walk_add_tensor(w, v, UNNAMED_OBJECT);
    if (pickle_is_opaque(v) && pickle_role(v) == GLOBAL_ARRAY)
        return checkpoint_walk_add_tensor(w, v, UNNAMED_ARRAY);
    w->c->others++;
    return true;
}

static bool
walk(struct walker *w, const struct pickle_value *root)
{
    bool ok = visit(w, root, NAMED);
    while (ok && w->depth != 0) {
        struct frame *f = &w->frame[w->depth - 1];
        struct pickle_value *key, *value;
        uint32_t i = f->walk.i;
        uint8_t unnamed = NAMED;
        if (!pickle_next(w->c->pickle, f->v, &f->walk, &key, &value)) {
            w->depth--;
            continue;
        }
        if (++w->nodes > NODES_MAX)
            return err_set(w->err, ERR_LIMIT, "number of values in the pickle exceeds the limit of %d, "
                "counting shared ones each time (walk_nodes, built in)", NODES_MAX);
        if (is_container(value) || pickle_is_opaque(value) || value->kind == PICKLE_GLOBAL || rebuild_is_tensor(w->c, value))
            ok = extend(w, f, key, i, &unnamed);
        ok = ok && visit(w, value, unnamed);
    }
    return ok;
}

bool
checkpoint_walk(struct checkpoint *c, const struct pickle_value *root, struct budget *budget, struct err *err)
{
    struct walker w = { .c = c, .budget = budget, .err = err };
    bool ok = walk(&w, root);
    str_clear(&w.path);
    return ok;
}

/* --- the root */

/* The keys under which trainers store the weights, most likely first. */
static const char *const roots[] = { "state_dict", "model_state_dict", "model", "module", "net", "ema", "params",
    "params_ema", "model_ema", "generator" };

static bool
first_is(const struct checkpoint *c, const struct checkpoint_tensor *t, const char *key)
{
    return t->depth > 1 && str_is(c->names.p + t->name_at, t->first, key);
}

/* Finds the root for --root auto: NULL if a tensor is at the top level, or no known root exists. */
static const char *
find_root(const struct checkpoint *c)
{
    for (size_t i = 0; i < c->ntensors; i++)
        if (c->tensor[i].depth <= 1 && c->tensor[i].unnamed < UNNAMED_ARRAY)
            return NULL;
    for (size_t k = 0; k < sizeof roots / sizeof *roots; k++)
        for (size_t i = 0; i < c->ntensors; i++)
            if (first_is(c, &c->tensor[i], roots[k]))
                return roots[k];
    return NULL;
}

static void
rename_tensor(struct checkpoint *c, struct checkpoint_tensor *t)
{
    static const char alone[] = "tensor";
    t->name_at = c->names.len;
    t->name_len = sizeof alone - 1;
    str_text(&c->names, alone);
}

/* Removes the root from the name of a tensor; false if the tensor is not under it. */
static bool
below(struct checkpoint_tensor *t, const char *name, const char *root, size_t n)
{
    if (t->name_len < n || memcmp(name, root, n) != 0 || (t->name_len > n && name[n] != '.'))
        return false;
    size_t cut = n;
    if (t->name_len > n)
        cut = n + 1;
    t->name_at += cut;
    t->name_len -= (uint32_t)cut;
    if (cut == n && t->unnamed == NAMED)
        t->depth = 0;           /* the tensor is the root */
    return true;
}

/* Writes `before` and the name of a tensor; nothing if it has none. */
static const char *
named_after(char out[STR_SHOWN + 16], const char *before, const struct checkpoint *c, const struct checkpoint_tensor *t)
{
    char name[STR_SHOWN];
    out[0] = '\0';
    if (t->name_len != 0)
        snprintf(out, STR_SHOWN + 16, "%s%s", before, str_shown(name, c->names.p + t->name_at, t->name_len));
    return out;
}

/* Fails for a tensor of an object, an object of a tensor or a class, naming the class, or the first opaque one. */
static bool
refuse_object(const struct checkpoint *c, const struct checkpoint_tensor *t, struct err *err)
{
    char shown[STR_SHOWN], path[STR_SHOWN + 16];
    bool bare = t->value->kind == PICKLE_GLOBAL;
    const struct pickle_name *name;
    if (bare)
        name = t->value->of.name;
    else
        name = t->value->of.item[0]->of.name;
    if (!pickle_role_is_opaque(name->facts.role) && c->pickle->opaque)
        name = c->pickle->opaque;
    return err_set(err, ERR_UNSAFE, "references %s, which torch.load(weights_only=True) would reject%s%s; choose "
        "other tensors with --root, or run 'amn-inspect --scan FILE' to list all references",
        str_shown(shown, name->text, strlen(name->text)), bare ? "" : ", for an object that holds tensors",
        named_after(path, ", at ", c, t));
}

static bool
check_named(const struct checkpoint *c, const struct checkpoint_tensor *t, struct err *err)
{
    static const char *const why[] = {
        [UNNAMED_KEY] = "is stored under a key that is neither a text nor an integer",
        [UNNAMED_SURROGATE] = "is stored under a key that is not valid Unicode (half of a surrogate pair)",
        [UNNAMED_LONG] = "is stored under keys of more than 65535 bytes",
        [UNNAMED_SET] = "is in a set",
    };
    char shown[STR_SHOWN + 16];
    if (t->unnamed == UNNAMED_OBJECT)
        return refuse_object(c, t, err);
    return t->unnamed == NAMED || err_set(err, t->unnamed == UNNAMED_LONG ? ERR_LIMIT : ERR_UNSUPPORTED,
        "a tensor %s%s, and so has no name", why[t->unnamed], named_after(shown, ", below ", c, t));
}

static const char *
name_of_tensor(const void *checkpoint, uint32_t i, size_t *n)
{
    const struct checkpoint *c = checkpoint;
    *n = c->tensor[i].name_len;
    return c->names.p + c->tensor[i].name_at;
}

static bool
check_names(const struct checkpoint *c, struct err *err)
{
    struct table names = { 0 };
    char shown[STR_SHOWN];
    bool ok = true;
    for (size_t i = 0; ok && i < c->ntensors; i++) {
        uint32_t number = (uint32_t)i;
        bool again = false;
        size_t n;
        const char *name = name_of_tensor(c, number, &n);
        ok = check_named(c, &c->tensor[i], err) && table_add(&names, name_of_tensor, c, name, n, &number, &again, err)
            && (!again || err_set(err, ERR_UNSUPPORTED, ERR_TENSOR "two tensors have this name, because keys "
                "are joined by dots and may contain dots themselves", str_shown(shown, name, n)));
    }
    table_clear(&names);
    return ok;
}

static bool
any_tensor(const struct checkpoint *c)
{
    for (size_t i = 0; i < c->ntensors; i++)
        if (c->tensor[i].unnamed != UNNAMED_ARRAY)
            return true;
    return false;
}

bool
checkpoint_choose(struct checkpoint *c, struct err *err)
{
    const char *root = c->options.root;
    char shown[STR_SHOWN];
    size_t kept = 0;
    if (!any_tensor(c) && !pickle_is_plain(c->pickle, err))
        return false;
    if (root && strcmp(root, "auto") == 0)
        root = find_root(c);
    for (size_t i = 0; i < c->ntensors; i++) {
        struct checkpoint_tensor t = c->tensor[i];
        if (root && !below(&t, c->names.p + t.name_at, root, strlen(root)))
            continue;
        if (t.unnamed == UNNAMED_ARRAY) {
            if (c->narrays++ == 0)
                str_add(&c->array, c->names.p + t.name_at, t.name_len);
            continue;
        }
        if (t.depth == 0)
            rename_tensor(c, &t);
        c->tensor[kept++] = t;
    }
    if (root && kept == 0)
        return err_set(err, ERR_USAGE, "no tensor under '%s', given as --root",
            str_shown(shown, root, strlen(root)));
    c->ntensors = kept;
    return ((!c->names.failed && !c->array.failed) || err_memory(err, c->names.room)) && check_names(c, err);
}
