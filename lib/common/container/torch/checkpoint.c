#include "container/torch/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/num.h"
#include "container/torch/checkpoint_priv.h"

enum { STORAGE_FIELDS = 5 };            /* 'storage', class, key, location, numel; stacked pickles add a view */

/* --- storages */

static bool
bad_id(struct err *err, const char *what, const struct pickle_value *found, const char *expected)
{
    char shown[PICKLE_SHOWN];
    return err_set(err, ERR_MALFORMED, "pickle has a storage with %s that is %s, expected %s", what,
        pickle_shown(shown, found), expected);
}

static bool
is_count(const struct pickle_value *v)
{
    return v->kind == PICKLE_INT && v->of.integer >= 0;
}

static bool
read_key(struct storage_id *id, const struct pickle_value *key, struct err *err)
{
    if (key->kind == PICKLE_TEXT) {
        id->key = (const char *)key->of.text;
        id->key_len = key->n;
        return true;
    }
    if (!is_count(key))
        return bad_id(err, "a key", key, "a text");
    id->key_len = (uint32_t)snprintf(id->number, sizeof id->number, "%" PRId64, key->of.integer);
    return true;
}

/* Reads a view: None, or (key, offset, numel), a part of the storage, in files older than 0.4. */
static bool
read_view(struct storage_id *id, const struct pickle_value *view, struct err *err)
{
    uint64_t end;
    if (view->kind == PICKLE_NONE)
        return true;
    struct pickle_value **item = view->of.item;
    if (view->kind != PICKLE_TUPLE || view->n != 3 || !is_count(item[1]) || !is_count(item[2]))
        return bad_id(err, "a view", view, "None or a key, an offset and a length");
    id->view = true;
    id->view_offset = (uint64_t)item[1]->of.integer;
    id->view_numel = (uint64_t)item[2]->of.integer;
    if (!num_add(&end, id->view_offset, id->view_numel) || end > id->numel)
        return err_set(err, ERR_MALFORMED, "pickle has a view of %" PRIu64 " elements from element %" PRIu64 " "
            "of a storage of %" PRIu64, id->view_numel, id->view_offset, id->numel);
    return true;
}

bool
storage_id_read(const struct checkpoint *c, const struct pickle_value *persistent, struct storage_id *id, struct err *err)
{
    const struct pickle_value *v = persistent->of.item[0];
    uint32_t fields = STORAGE_FIELDS + c->options.stacked;
    *id = (struct storage_id){ 0 };
    if (v->kind != PICKLE_TUPLE || v->n != fields || !pickle_is_text(v->of.item[0], "storage"))
        return bad_id(err, "an id", v, c->options.stacked ? "'storage' and five values" : "'storage' and four values");
    const struct pickle_value *class = v->of.item[1], *numel = v->of.item[4];
    if (class->kind == PICKLE_GLOBAL && class->of.name->facts.role == GLOBAL_UNKNOWN)
        return pickle_refuse(err, c->pickle->at, (const uint8_t *)class->of.name->text, strlen(class->of.name->text), NULL, 0);
    if (class->kind != PICKLE_GLOBAL || class->of.name->facts.role != GLOBAL_STORAGE)
        return bad_id(err, "a class", class, "one of torch's storages");
    if (!is_count(numel))
        return bad_id(err, "an element count", numel, "an integer of 0 or more");
    id->type = class->of.name->facts.type;
    id->untyped = class->of.name->facts.untyped;
    id->numel = (uint64_t)numel->of.integer;
    if (id->numel > INT64_MAX / id->type->item)
        return err_set(err, ERR_MALFORMED, "size of a storage overflows 63 bits: %" PRIu64 " elements of %d "
            "bytes", id->numel, id->type->item);
    return read_key(id, v->of.item[2], err) && (!c->options.stacked || read_view(id, v->of.item[5], err));
}

static const char *
name_of_storage(const void *checkpoint, uint32_t i, size_t *n)
{
    const struct checkpoint_storage *s = &((const struct checkpoint *)checkpoint)->storage[i];
    *n = s->key_len;
    return s->key;
}

struct checkpoint_storage *
checkpoint_find(const struct checkpoint *c, const char *key, size_t n)
{
    uint32_t i;
    if (table_find(&c->keys, name_of_storage, c, key, n, &i))
        return &c->storage[i];
    return NULL;
}

/* Adds a storage. One that exists already must have the same type and size. Bytes without a type and uint8 are the same:
 * torch declares both for an array of bytes that is viewed as FP8, too. */
static bool
add_storage(struct checkpoint *c, const struct storage_id *id, struct budget *budget, struct err *err)
{
    const char *key;
    if (id->key)
        key = id->key;
    else
        key = id->number;
    uint32_t i = (uint32_t)c->nstorages;
    char shown[PICKLE_SHOWN];
    bool again;
    struct checkpoint_storage *storage = array_grow(c->storage, c->nstorages, &c->room_storages, sizeof *storage, err);
    if (!storage)
        return false;
    c->storage = storage;
    if (!table_add(&c->keys, name_of_storage, c, key, id->key_len, &i, &again, err))
        return false;
    if (again)
        return (storage[i].numel == id->numel && storage[i].type == id->type) || err_set(err, ERR_MALFORMED, "pickle declares storage %s twice: with %" PRIu64 " elements of %s "
                "and with %" PRIu64 " of %s",
                pickle_quoted(shown, (const uint8_t *)key, id->key_len), storage[i].numel,
                storage[i].untyped ? "no type" : storage[i].type->name, id->numel, id->untyped ? "no type" : id->type->name);
    if (!budget_bytes(budget, sizeof *storage, "storages", err) || (!id->key && !names_add(&c->numbers, key, id->key_len, err)))
        return false;
    storage[c->nstorages++] = (struct checkpoint_storage){
        .key = id->key ? key : c->numbers.name[c->numbers.n - 1], .key_len = id->key_len, .untyped = id->untyped,
        .type = id->type, .numel = id->numel, .nbytes = id->numel * id->type->item };
    return true;
}

/* Adds all storages that the pickle names, whether a tensor uses them or not. */
static bool
add_storages(struct checkpoint *c, struct budget *budget, struct err *err)
{
    const struct pickle *k = c->pickle;
    for (size_t i = 0; i < k->npersistent && !c->options.tensor_of; i++) {
        struct storage_id id;
        if (!storage_id_read(c, k->persistent[i], &id, err) || !add_storage(c, &id, budget, err))
            return false;
    }
    return true;
}

/* --- limits */

static const char *
shown_name(const struct checkpoint *c, const struct checkpoint_tensor *t, char buf[STR_SHOWN])
{
    return str_shown(buf, c->names.p + t->name_at, t->name_len);
}

/* Limits the output that few bytes can produce: by views that expand a storage, and by many views of one. */
static bool
check_expansion(const struct checkpoint *c, struct err *err)
{
    enum { FREE_EACH = 1 << 20, FREE_ALL = 64 << 20, EXPAND_MAX = 64, SHARED_MAX = 16 };
    uint64_t stored = 0, made = 0, max;
    char name[STR_SHOWN];
    struct rebuilt r;
    for (size_t i = 0; i < c->nstorages; i++)
        if (!num_add(&stored, stored, c->storage[i].nbytes))
            return err_set(err, ERR_MALFORMED, "total size of the storages overflows 64 bits");
    if (!num_mul(&max, stored, SHARED_MAX) || !num_add(&max, max, FREE_ALL))
        max = UINT64_MAX;
    for (size_t i = 0; i < c->ntensors; i++) {
        uint64_t most;
        if (!rebuild(c, c->tensor[i].value, shown_name(c, &c->tensor[i], name), &r, err))
            return false;
        if (!r.storage)
            continue;
        if (!num_mul(&most, r.storage->nbytes, EXPAND_MAX) || !num_add(&most, most, FREE_EACH))
            most = UINT64_MAX;
        if (r.nbytes > most)
            return err_set(err, ERR_LIMIT, ERR_TENSOR "size of %" PRIu64 " bytes, expanded from a storage of %"
                PRIu64 ", exceeds the limit of %d times that plus 1 MiB (expand, built in)", name, r.nbytes, r.storage->nbytes,
                EXPAND_MAX);
        if (!num_add(&made, made, r.nbytes) || made > max)
            return err_set(err, ERR_LIMIT, "total size of the tensors exceeds the limit of %" PRIu64 " bytes "
                "(storage size %" PRIu64 " times %d, plus 64 MiB; shared, built in)", max, stored, SHARED_MAX);
    }
    return true;
}

bool
checkpoint_storages(struct checkpoint *c, const struct pickle *pickle, struct budget *budget, struct err *err)
{
    c->pickle = pickle;
    c->budget = budget;
    return add_storages(c, budget, err);
}

bool
checkpoint_read(struct checkpoint *c, const struct pickle *pickle, const struct checkpoint_options *options,
    struct budget *budget, struct err *err)
{
    c->pickle = pickle;
    c->options = *options;
    c->budget = budget;
    return add_storages(c, budget, err) && checkpoint_walk(c, pickle->root, budget, err) && checkpoint_choose(c, err)
        && check_expansion(c, err);
}

void
checkpoint_clear(struct checkpoint *c)
{
    free(c->storage);
    free(c->tensor);
    table_clear(&c->keys);
    names_clear(&c->numbers);
    str_clear(&c->names);
    str_clear(&c->array);
    *c = (struct checkpoint){ 0 };
}

/* --- the catalog */

static bool
check_order(const struct rebuilt *r, const char *name, struct err *err)
{
    uint8_t class = r->storage->type->word;
    return class == r->type->word || err_set(err, ERR_UNSUPPORTED, ERR_TENSOR "dtype %s in a storage of %s in "
        "a big-endian file is not supported: torch does not swap these bytes either, so their order is unknown", name,
        r->type->name, r->storage->untyped ? "no type" : r->storage->type->name);
}

/* Returns the bytes from the start of the storage to the tensor's first element. */
static uint64_t
begin_of(const struct rebuilt *r)
{
    if (r->numel != 0)
        return r->offset / r->type->codes * r->type->item;
    return 0;
}

/* Counts single elements in the last dimension of a tensor whose elements are pairs for torch, as safetensors does: [2, 4] is
 * [2, 8]. Returns false if it has no such form, because it is a scalar or its rows are not contiguous. */
static bool
unpair(struct rebuilt *r, const struct layout *layout)
{
    uint32_t pair = dtype_facts(r->type->dtype)->elems;
    if (pair == 1)
        return true;
    if (r->rank == 0 || !layout_is_plain(layout) || !num_mul(&r->size[r->rank - 1], r->size[r->rank - 1], pair))
        return false;
    r->numel *= pair;
    return true;
}

static bool
checkpoint_add_tensor(const struct checkpoint *c, const struct checkpoint_tensor *t, struct catalog *catalog, uint32_t file,
    bool big_endian, struct err *err)
{
    uint8_t packed[LAYOUT_RANK * SHAPE_DIM];
    char name[STR_SHOWN];
    struct layout layout;
    struct rebuilt r;
    if (!rebuild(c, t->value, shown_name(c, t, name), &r, err)
        || (big_endian && r.storage && !check_order(&r, name, err)))
        return false;
    layout_make(&layout, r.size, r.stride, r.rank);
    bool held = !r.form && r.type->dtype != DTYPE_UNKNOWN && unpair(&r, &layout);
    shape_pack(packed, r.size, r.rank);
    struct tensor tensor = {
        .name = c->names.p + t->name_at,
        .name_len = t->name_len,
        .dtype = DTYPE_UNKNOWN,
        .big_endian = big_endian && r.type && r.type->word > 1,
        .sign = r.sign,
        .shape = { .rank = r.rank, .packed = packed },
        .extent = { .file = file, .at = r.storage ? r.storage->at + begin_of(&r) : 0,
            .nbytes = r.nbytes },
    };
    if (held) {
        tensor.dtype = r.type->dtype;
        if (layout_is_plain(&layout))
            tensor.layout = NULL;
        else
            tensor.layout = &layout;
    } else {
        if (r.form)
            tensor.type_name = r.form;
        else
            tensor.type_name = r.type->name;
    }
    return catalog_add(catalog, &tensor, err);
}

bool
checkpoint_add(const struct checkpoint *c, struct catalog *catalog, uint32_t file, bool big_endian, struct err *err)
{
    char shown[STR_SHOWN];
    for (size_t i = 0; i < c->ntensors; i++)
        if (!checkpoint_add_tensor(c, &c->tensor[i], catalog, file, big_endian, err))
            return false;
    if (c->narrays != 0)
        catalog_warn(catalog, "left out arrays of NumPy, which are not tensors: %" PRIu64 " (the first is %s)", c->narrays,
            str_shown(shown, c->array.p, c->array.len));
    return true;
}
