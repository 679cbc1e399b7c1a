/* tar_form: checkpoints of torch before 0.1.10, a tar archive of four members in any order:
 *
 *      sys_info   pickle of facts about the machine, not read
 *      storages   n | n times: (key, location, class) | numel i64 | elements |
 *                 then a list of views: (key, key of the storage, offset, numel), in elements
 *      tensors    n | n times: (key, key of the storage, class) | rank i32, 4 bytes | rank sizes i64 | rank strides i64 |
 *                 offset i64
 *      pickle     the object, whose persistent ids are the keys, as decimal texts
 *
 * n and each (...) are pickles. Source: torch, serialization.py, legacy_load().
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/num.h"
#include "container/torch/checkpoint_priv.h"
#include "container/container.h"
#include "source/tar.h"

enum { PAX_MOST = 64 << 10, SMALL_PICKLE = 4096, MEMBERS_MOST = 1024 };
enum { STORAGES, TENSORS, OBJECT, MEMBERS };

static const char *const member_names[MEMBERS] = { "storages", "tensors", "pickle" };

struct tar_place {
    uint64_t at, end;           /* offset and bytes of a member's data; at 0: missing */
};

/* A storage, or a view of one. */
struct tar_part {
    uint32_t storage;           /* index in the checkpoint */
    uint64_t offset, numel;     /* elements */
};

/* A tensor; its geometry is read again when needed. */
struct record {
    struct tar_part part;
    const uint8_t *geometry;    /* offset in the member */
};

struct tar_form {
    struct source *src;
    struct catalog *catalog;
    struct budget *budget;
    const struct container_options *options;
    struct err *err;
    struct tar_place member[MEMBERS];
    struct checkpoint checkpoint;
    struct names part_names, record_names;      /* keys, as texts */
    struct table parts, records;
    struct tar_part *part;
    struct record *record;
    size_t room_parts, room_records;
};

static bool
is_named(const uint8_t header[TAR_BLOCK], const char *name)
{
    return memcmp(header, name, strlen(name) + 1) == 0;
}

static bool
is_ours(const uint8_t header[TAR_BLOCK])
{
    for (int i = 0; i < MEMBERS; i++)
        if (is_named(header, member_names[i]))
            return true;
    return is_named(header, "sys_info");
}

/* Recognizes the archive by its first name, or by the extended header that Python may write first; check_first() looks
 * past that. */
static bool
tar_form_probe(const uint8_t *head, size_t n, uint64_t size)
{
    (void)size;
    return n >= TAR_BLOCK && memcmp(head + TAR_MAGIC_AT, "ustar", 5) == 0
        && (is_ours(head) || is_named(head, "././@PaxHeader"));
}

/* --- the archive */

static bool
bad_tar(struct tar_form *f, uint64_t at, const char *what)
{
    return err_at(f->err, ERR_MALFORMED, at, "tar archive %s: the file is truncated or damaged", what);
}

/* Checks that an extended header gives only times, as Python writes them, and does not change the name or size of the header
 * after it. */
static bool
check_extended(struct tar_form *f, const struct tar_member *m)
{
    uint64_t size = m->end - m->at;
    if (!limits_check(size, PAX_MOST, "bytes of an extended tar header", f->err))
        return false;
    char *text = malloc((size_t)size + 1);
    if (!text)
        return err_memory(f->err, size + 1);
    bool ok = source_read(f->src, m->at, text, (size_t)size, f->err);
    if (ok && (memmem(text, (size_t)size, " size=", 6) || memmem(text, (size_t)size, " path=", 6)
            || memmem(text, (size_t)size, " GNU.sparse", 11)))
        ok = err_at(f->err, ERR_UNSUPPORTED, m->at - TAR_BLOCK, "tar archive has a member with a long name or over 8 GiB, "
            "which is not supported: load the file with torch and save it again");
    free(text);
    return ok;
}

/* Notes the position of a member. */
static bool
take_member(struct tar_form *f, const struct tar_member *m)
{
    uint64_t at = m->at - TAR_BLOCK;
    char type = (char)m->head[TAR_TYPE_AT];
    if (type == 'x' || type == 'g')
        return check_extended(f, m);
    for (int i = 0; i < MEMBERS; i++) {
        if (!is_named(m->head, member_names[i]) || m->head[TAR_PREFIX_AT] != '\0')
            continue;
        if (type != '0' && type != '\0')
            return err_at(f->err, ERR_MALFORMED, at, "member %s of the tar archive is not a file", member_names[i]);
        if (f->member[i].at != 0)
            return err_at(f->err, ERR_MALFORMED, at, "duplicate member %s in the tar archive", member_names[i]);
        f->member[i] = (struct tar_place){ m->at, m->end };
    }
    return true;
}

/* Checks, before all of a pipe is spooled, that the first name, after any extended header, names a checkpoint's member. */
static bool
check_first(struct tar_form *f)
{
    const uint8_t *head;
    uint64_t have, size, at = 0;
    if (!source_head(f->src, TAR_BLOCK, &head, &have, f->err))
        return false;
    if (!is_ours(head) && tar_size(head, &size) && size <= PAX_MOST) {
        at = TAR_BLOCK + (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
        if (!source_head(f->src, at + TAR_BLOCK, &head, &have, f->err))
            return false;
    }
    return (have >= at + TAR_BLOCK && is_ours(head + at)) || err_set(f->err, ERR_UNSUPPORTED, "this is a tar "
        "archive without a model, compressed, or from a pipe: extract it with 'tar -xf FILE' and give the model in it");
}

static bool
find_members(struct tar_form *f)
{
    struct tar_member m;
    uint64_t total = source_size(f->src), at = 0;
    for (int n = 0; n < MEMBERS_MOST; n++) {
        enum tar_found found = tar_read(&m, f->src, at, f->err);
        if (found == TAR_ZEROS)
            break;
        if (found != TAR_MEMBER)
            return found == TAR_FAILED ? false : found == TAR_SHORT ? bad_tar(f, total, "ends without its two blocks of zeros")
                : bad_tar(f, at, "has a header whose checksum is wrong");
        if (m.next > total)
            return bad_tar(f, m.at, "ends within a member");
        if (!take_member(f, &m))
            return false;
        at = m.next;
    }
    for (int i = 0; i < MEMBERS; i++)
        if (f->member[i].at == 0)
            return err_set(f->err, ERR_MALFORMED, "tar archive has no member %s, expected storages, tensors "
                "and pickle, as in checkpoints of torch before 0.1.10", member_names[i]);
    return true;
}

/* --- small pickles between the data */

struct tar_reading {
    struct pickle *pickle;
    const struct pickle_value *root;
    uint8_t *bytes;             /* owned, or NULL if the member is in memory */
};

static void
reading_clear(struct tar_reading *r)
{
    pickle_free(r->pickle);
    free(r->bytes);
    *r = (struct tar_reading){ 0 };
}

/* Runs the pickle at *at, and moves *at past it. A pickle between the data is small; only the list of views may be long. */
static bool
read_pickle(struct tar_form *f, struct tar_reading *r, uint64_t *at, uint64_t end)
{
    size_t n = (size_t)num_min(end - *at, SMALL_PICKLE), from = 0, used;
    for (;; n = (size_t)num_min(end - *at, 2 * (uint64_t)n)) {
        uint8_t *more = NULL;
        if (budget_bytes(f->budget, n, "pickle bytes", f->err))
            more = realloc(r->bytes, n + 1);
        if (!more)
            return err_memory(f->err, n);
        r->bytes = more;
        if (!source_read(f->src, *at, r->bytes, n, f->err))
            return false;
        if (pickle_length(r->bytes, n, &from) != 0 || n == end - *at || n > PICKLE_MAX)
            break;
    }
    if (!pickle_run(&r->pickle, &r->root, r->bytes, n, &used, *at, f->budget, f->err) || !pickle_is_plain(r->pickle, f->err))
        return false;
    *at += used;
    return true;
}

static bool
bad_value(struct tar_form *f, uint64_t at, const char *what, const struct pickle_value *v, const char *expected)
{
    char shown[PICKLE_SHOWN];
    return err_at(f->err, ERR_MALFORMED, at, "%s is %s, expected %s", what, pickle_shown(shown, v), expected);
}

static bool
is_int(const struct pickle_value *v)
{
    return v->kind == PICKLE_INT;
}

static const char *
name_of_list(const void *names, uint32_t i, size_t *n)
{
    const char *name = ((const struct names *)names)->name[i];
    *n = strlen(name);
    return name;
}

/* Gives a key to the next entry of a list. */
static bool
add_key(struct tar_form *f, struct names *names, struct table *table, int64_t key, uint64_t at)
{
    char text[24];
    uint32_t number = (uint32_t)names->n;
    size_t n = (size_t)snprintf(text, sizeof text, "%" PRId64, key);
    bool again;
    return budget_items(f->budget, 1, "storages and tensors", f->err)
        && table_add(table, name_of_list, names, text, n, &number, &again, f->err)
        && (!again || err_at(f->err, ERR_MALFORMED, at, "duplicate key %s", text))
        && names_add(names, text, n, f->err);
}

static bool
find_key(const struct names *names, const struct table *table, int64_t key, uint32_t *number)
{
    char text[24];
    size_t n = (size_t)snprintf(text, sizeof text, "%" PRId64, key);
    return table_find(table, name_of_list, names, text, n, number);
}

static bool
add_part(struct tar_form *f, int64_t key, const struct tar_part *part, uint64_t at)
{
    struct tar_part *parts = array_grow(f->part, f->part_names.n, &f->room_parts, sizeof *parts, f->err);
    if (!parts)
        return false;
    f->part = parts;
    parts[f->part_names.n] = *part;
    return add_key(f, &f->part_names, &f->parts, key, at);
}

/* Reads a pickle that is a number: how many items follow. */
static bool
read_count(struct tar_form *f, uint64_t *at, uint64_t end, uint64_t *n)
{
    struct tar_reading r = { 0 };
    uint64_t begin = *at;
    bool ok = read_pickle(f, &r, at, end)
        && ((is_int(r.root) && r.root->of.integer >= 0) || bad_value(f, begin, "a count", r.root, "an integer of 0 or more"));
    if (ok)
        *n = (uint64_t)r.root->of.integer;
    reading_clear(&r);
    return ok;
}

/* --- storages */

/* Reads (key, location, class) | numel | elements. */
static bool
read_storage(struct tar_form *f, uint64_t *at, uint64_t end)
{
    struct checkpoint *c = &f->checkpoint;
    struct tar_reading r = { 0 };
    uint64_t begin = *at, numel;
    uint8_t count[8];
    bool ok = read_pickle(f, &r, at, end);
    const struct pickle_value *v = r.root;
    ok = ok && ((v->kind == PICKLE_TUPLE && v->n == 3 && is_int(v->of.item[0]) && v->of.item[2]->kind == PICKLE_GLOBAL
        && v->of.item[2]->of.name->facts.role == GLOBAL_STORAGE && !v->of.item[2]->of.name->facts.untyped)
        || bad_value(f, begin, "a storage", v, "a key, a location and a class"))
        && (end - *at >= sizeof count || bad_tar(f, *at, "has truncated storages"))
        && source_read(f->src, *at, count, sizeof count, f->err);
    struct checkpoint_storage *storage = NULL;
    if (ok)
        storage = array_grow(c->storage, c->nstorages, &c->room_storages, sizeof *storage, f->err);
    if (storage) {
        const struct torch_type *type = v->of.item[2]->of.name->facts.type;
        c->storage = storage;
        *at += sizeof count;
        numel = load_le64(count);
        ok = numel <= (end - *at) / type->item || err_at(f->err, ERR_MALFORMED, *at - sizeof count, "storage of %" PRId64 " "
            "elements of %d bytes, but only %" PRIu64 " bytes follow", (int64_t)numel, type->item, end - *at);
        const struct tar_part part = { .storage = (uint32_t)c->nstorages, .numel = numel };
        ok = ok && add_part(f, v->of.item[0]->of.integer, &part, begin);
        if (ok)
            storage[c->nstorages++] = (struct checkpoint_storage){ .key = "", .type = type, .numel = numel,
                .nbytes = numel * type->item, .at = *at };
        if (ok)
            *at += numel * type->item;
    }
    reading_clear(&r);
    return ok && storage;
}

/* Reads a view: (key, key of the storage, offset, numel). */
static bool
read_view(struct tar_form *f, const struct pickle_value *v, uint64_t at)
{
    uint32_t root;
    if (v->kind != PICKLE_TUPLE || v->n != 4 || !is_int(v->of.item[0]) || !is_int(v->of.item[1]) || !is_int(v->of.item[2])
        || !is_int(v->of.item[3]) || !find_key(&f->part_names, &f->parts, v->of.item[1]->of.integer, &root))
        return bad_value(f, at, "a view", v, "a key, the key of a storage, an offset and a length");
    struct tar_part part = { f->part[root].storage, (uint64_t)v->of.item[2]->of.integer, (uint64_t)v->of.item[3]->of.integer };
    if (part.offset > f->part[root].numel || part.numel > f->part[root].numel - part.offset)
        return err_at(f->err, ERR_MALFORMED, at, "view of %" PRId64 " elements from element %" PRId64 " of a storage of %"
            PRIu64, v->of.item[3]->of.integer, v->of.item[2]->of.integer, f->part[root].numel);
    part.offset += f->part[root].offset;
    return add_part(f, v->of.item[0]->of.integer, &part, at);
}

static bool
read_storages(struct tar_form *f)
{
    uint64_t at = f->member[STORAGES].at, end = f->member[STORAGES].end, n, begin;
    struct tar_reading r = { 0 };
    struct pickle_walk walk = { 0 };
    struct pickle_value *none, *view;
    if (!read_count(f, &at, end, &n))
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (!read_storage(f, &at, end))
            return false;
    begin = at;
    bool ok = read_pickle(f, &r, &at, end)
        && (r.root->kind == PICKLE_LIST || bad_value(f, begin, "the item after the storages", r.root, "a list of views"));
    while (ok && pickle_next(r.pickle, r.root, &walk, &none, &view))
        ok = read_view(f, view, begin);
    reading_clear(&r);
    return ok && (at == end || bad_tar(f, at, "has trailing bytes after its views"));
}

/* --- tensors */

static bool
read_geometry(const struct tar_form *f, const struct record *record, struct rebuilt *r)
{
    enum { RANK = 8 };
    const struct checkpoint_storage *s = &f->checkpoint.storage[record->part.storage];
    const uint8_t *p = record->geometry + RANK;
    *r = (struct rebuilt){ .type = s->type, .storage = s, .rank = load_le32(record->geometry),
        .room = (record->part.offset + record->part.numel) * s->type->item };
    for (uint32_t i = 0; i < r->rank; i++) {
        r->size[i] = load_le64(p + 8 * (size_t)i);
        r->stride[i] = load_le64(p + 8 * ((size_t)r->rank + i));
        if (r->size[i] > INT64_MAX || r->stride[i] > INT64_MAX)
            return false;
    }
    r->offset = load_le64(p + 16 * (size_t)r->rank);
    return r->offset <= INT64_MAX && num_add(&r->offset, r->offset, record->part.offset);
}

/* Implements checkpoint_options.tensor_of. All tensors were checked when they were read. */
static bool
tensor_of(const void *of, const struct pickle_value *id, struct rebuilt *r)
{
    const struct tar_form *f = of;
    struct err unsaid;
    uint32_t i;
    err_init(&unsaid);
    return id->kind == PICKLE_TEXT
        && table_find(&f->records, name_of_list, &f->record_names, (const char *)id->of.text, id->n, &i)
        && read_geometry(f, &f->record[i], r) && rebuild_check(r, "", &unsaid);
}

/* Reads (key, key of the storage, class) | rank | sizes | strides | offset from p[0..n), starting at *used. */
static bool
tar_form_read_tensor(struct tar_form *f, const uint8_t *p, size_t n, size_t *used)
{
    enum { RANK = 8, EACH = 16, OFFSET = 8 };
    uint64_t at = f->member[TENSORS].at + *used;
    struct tar_reading r = { 0 };
    struct rebuilt rebuilt;
    char key[24];
    uint32_t part = 0;
    size_t len = 0;
    bool ok = pickle_run(&r.pickle, &r.root, p + *used, n - *used, &len, at, f->budget, f->err)
        && pickle_is_plain(r.pickle, f->err);
    const struct pickle_value *v = r.root;
    ok = ok && ((v->kind == PICKLE_TUPLE && v->n == 3 && is_int(v->of.item[0]) && is_int(v->of.item[1])
        && find_key(&f->part_names, &f->parts, v->of.item[1]->of.integer, &part))
        || bad_value(f, at, "a tensor", v, "a key, the key of a storage and a class"));
    *used += len;
    ok = ok && (n - *used >= RANK || bad_tar(f, at, "has truncated tensors"));
    uint64_t rank = 0;
    if (ok)
        rank = load_le32(p + *used);
    ok = ok && limits_check(rank, LAYOUT_RANK, "dimensions of a tensor", f->err)
        && (n - *used >= RANK + EACH * rank + OFFSET || bad_tar(f, at, "has truncated tensors"));
    struct record *records = NULL;
    if (ok)
        records = array_grow(f->record, f->record_names.n, &f->room_records, sizeof *records, f->err);
    if (records) {
        f->record = records;
        records[f->record_names.n] = (struct record){ f->part[part], p + *used };
        *used += RANK + EACH * (size_t)rank + OFFSET;
        snprintf(key, sizeof key, "%" PRId64, v->of.item[0]->of.integer);
        ok = (read_geometry(f, &records[f->record_names.n], &rebuilt)
            || err_at(f->err, ERR_MALFORMED, at, "a tensor has a negative size, stride or offset"))
            && rebuild_check(&rebuilt, key, f->err)
            && add_key(f, &f->record_names, &f->records, v->of.item[0]->of.integer, at);
    }
    reading_clear(&r);
    return ok && records;
}

static bool
read_tensors(struct tar_form *f, const uint8_t *p, size_t n)
{
    struct tar_reading r = { 0 };
    size_t used = 0;
    bool ok = pickle_run(&r.pickle, &r.root, p, n, &used, f->member[TENSORS].at, f->budget, f->err)
        && pickle_is_plain(r.pickle, f->err) && ((is_int(r.root) && r.root->of.integer >= 0)
            || bad_value(f, f->member[TENSORS].at, "a count", r.root, "an integer of 0 or more"));
    int64_t count = 0;
    if (ok)
        count = r.root->of.integer;
    reading_clear(&r);
    for (int64_t i = 0; ok && i < count; i++)
        ok = tar_form_read_tensor(f, p, n, &used);
    return ok && (used == n || bad_tar(f, f->member[TENSORS].at + used, "has trailing bytes after its tensors"));
}

/* --- the object */

/* Checks that every id is a key. */
static bool
check_ids(struct tar_form *f, const struct pickle *k)
{
    for (size_t i = 0; i < k->npersistent; i++) {
        const struct pickle_value *id = k->persistent[i]->of.item[0];
        uint32_t number;
        if (id->kind != PICKLE_TEXT
            || (!table_find(&f->records, name_of_list, &f->record_names, (const char *)id->of.text, id->n, &number)
                && !table_find(&f->parts, name_of_list, &f->part_names, (const char *)id->of.text, id->n, &number)))
            return bad_value(f, f->member[OBJECT].at, "an id in the pickle", id, "the key of a tensor or a storage");
    }
    return true;
}

/* Reads all of a member. The caller frees it. */
static uint8_t *
load_member(struct tar_form *f, int which, size_t *n)
{
    const struct tar_place *m = &f->member[which];
    *n = (size_t)(m->end - m->at);
    if (!limits_check(*n, PICKLE_MAX, "bytes of a tar member", f->err)
        || !budget_bytes(f->budget, *n, "pickle bytes", f->err))
        return NULL;
    uint8_t *p = malloc(*n + 1);
    if (!p)
        err_memory(f->err, *n);
    else if (*n != 0 && !source_read(f->src, m->at, p, *n, f->err)) {
        free(p);
        p = NULL;
    }
    return p;
}

static bool
read_object(struct tar_form *f, uint32_t file)
{
    const struct checkpoint_options options = { .root = f->options->root, .tensor_of = tensor_of, .of = f };
    size_t n_tensors, n, used;
    uint8_t *tensors = load_member(f, TENSORS, &n_tensors), *p = tensors ? load_member(f, OBJECT, &n) : NULL;
    struct tar_reading r = { .bytes = p };
    bool ok = p && read_tensors(f, tensors, n_tensors)
        && pickle_run(&r.pickle, &r.root, p, n, &used, f->member[OBJECT].at, f->budget, f->err)
        && (used == n || bad_tar(f, f->member[OBJECT].at + used, "has trailing bytes after its object"))
        && check_ids(f, r.pickle) && checkpoint_read(&f->checkpoint, r.pickle, &options, f->budget, f->err)
        && checkpoint_add(&f->checkpoint, f->catalog, file, false, f->err);
    checkpoint_clear(&f->checkpoint);
    reading_clear(&r);
    free(tensors);
    return ok;
}

static bool
tar_form_read(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options,
    struct err *err)
{
    struct tar_form f = { .src = src, .catalog = c, .budget = catalog_budget(c), .options = options, .err = err };
    bool ended;
    bool ok = check_first(&f) && source_ended_by(src, SOURCE_SETTLE, &ended, err)
        && source_spool(src, SOURCE_SIZE_UNKNOWN, true, err) && find_members(&f) && read_storages(&f)
        && read_object(&f, file);
    struct catalog_facts *facts = catalog_facts(c);
    facts->format = "PyTorch";
    facts->header_end = 0;
    facts->file_end = source_size(src);
    checkpoint_clear(&f.checkpoint);
    names_clear(&f.part_names);
    names_clear(&f.record_names);
    table_clear(&f.parts);
    table_clear(&f.records);
    free(f.part);
    free(f.record);
    return ok;
}

const struct container container_tar_form = {
    .name = "PyTorch checkpoint (tar)",
    .probe = tar_form_probe,
    .read = tar_form_read,
    .has_configs = true,
};
