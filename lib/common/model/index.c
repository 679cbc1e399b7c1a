/* { "metadata": {...}, "weight_map": { "tensor name": "file name", ... } } */
#include "model/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/pull.h"

struct index_reader {
    struct pull json;
    struct index *index;
    size_t room;
    char *free;                 /* points into index->texts */
    struct budget *budget;
    struct err *err;
};

static bool
broken(struct index_reader *r)
{
    char why[PULL_EXPLAIN];
    return err_at(r->err, ERR_MALFORMED, pull_fault_at(&r->json), "invalid JSON in the index: %s",
        pull_explain(why, &r->json));
}

static bool
unexpected(struct index_reader *r, const char *what)
{
    if (r->json.fault != PULL_OK)
        return broken(r);
    return err_at(r->err, ERR_MALFORMED, pull_token_at(&r->json), "not a model index: %s", what);
}

/* Appends the last token, a string, to the texts, followed by a NUL. */
static const char *
index_keep(struct index_reader *r, size_t *n)
{
    char *p = r->free;
    *n = pull_unescape(p, &r->json.token);
    p[*n] = '\0';
    r->free = p + *n + 1;
    return p;
}

/* Like index_keep(), but names a file once if entries of one file follow each other, as they do. */
static const char *
keep_shard(struct index_reader *r, size_t *n)
{
    const struct index *x = r->index;
    const char *last = NULL;
    if (x->count != 0)
        last = x->entry[x->count - 1].shard;
    char *end = r->free;
    const char *p = index_keep(r, n);
    if (!last || strlen(last) != *n || memcmp(last, p, *n) != 0)
        return p;
    r->free = end;
    return last;
}

static bool
is_plain_name(const char *name, size_t n)
{
    if (n == 0 || name[0] == '-' || strcmp(name, "..") == 0 || strcmp(name, ".") == 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (name[i] == '/' || (unsigned char)name[i] < 0x20 || name[i] == 0x7F)
            return false;
    return true;
}

static bool
index_add(struct index_reader *r, const struct index_entry *e)
{
    struct index *x = r->index;
    if (!limits_check(x->count + 1, r->budget->limits.items, "tensors in the index", r->err)
        || !budget_bytes(r->budget, sizeof *e + sizeof *x->shard, "tensors in the index", r->err))
        return false;
    struct index_entry *entry = array_grow(x->entry, x->count, &r->room, sizeof *entry, r->err);
    if (!entry)
        return false;
    x->entry = entry;
    x->entry[x->count++] = *e;
    return true;
}

static bool
read_map(struct index_reader *r)
{
    if (pull_next(&r->json) != PULL_OBJECT)
        return unexpected(r, "weight_map is not an object, expected { \"TENSOR\": \"FILE\", ... }");
    enum pull_token token;
    while ((token = pull_next(&r->json)) == PULL_KEY) {
        struct index_entry e = { 0 };
        size_t n;
        e.tensor = index_keep(r, &e.tensor_len);
        if (pull_next(&r->json) != PULL_STRING)
            return unexpected(r, "a value in weight_map is not a string, expected a file name");
        e.shard = keep_shard(r, &n);
        if (!is_plain_name(e.shard, n)) {
            char shown[STR_SHOWN];
            return err_at(r->err, ERR_MALFORMED, pull_token_at(&r->json),
                "invalid shard name %s in the index: expected a file in the same directory", str_shown(shown, e.shard, n));
        }
        if (!index_add(r, &e))
            return false;
    }
    return token == PULL_OBJECT_END || broken(r);
}

static int
compare_tensor(const void *pa, const void *pb)
{
    const struct index_entry *a = pa, *b = pb;
    return str_compare(a->tensor, a->tensor_len, b->tensor, b->tensor_len);
}

static int
compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Collects the distinct file names, in order. Neighbours in the file mostly name the same one. */
static bool
collect_shards(struct index *x, struct err *err)
{
    size_t n = 0, kept = 0;
    x->shard = malloc((x->count + 1) * sizeof *x->shard);
    if (!x->shard)
        return err_memory(err, x->count * sizeof *x->shard);
    for (size_t i = 0; i < x->count; i++)
        if (n == 0 || x->entry[i].shard != x->shard[n - 1])
            x->shard[n++] = x->entry[i].shard;
    array_sort(x->shard, n, sizeof *x->shard, compare_text);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(x->shard[i], x->shard[kept - 1]) != 0)
            x->shard[kept++] = x->shard[i];
    x->nshards = kept;
    return true;
}

/* Sorts the entries, fails if a tensor is listed twice, and collects the file names. */
static bool
arrange(struct index *x, struct err *err)
{
    if (!collect_shards(x, err))
        return false;
    array_sort(x->entry, x->count, sizeof *x->entry, compare_tensor);
    for (size_t i = 1; i < x->count; i++)
        if (compare_tensor(&x->entry[i - 1], &x->entry[i]) == 0) {
            char shown[STR_SHOWN];
            return err_set(err, ERR_MALFORMED, ERR_TENSOR "duplicate entry in the index",
                str_shown(shown, x->entry[i].tensor, x->entry[i].tensor_len));
        }
    return limits_check(x->nshards, INDEX_SHARDS_MAX, "files of the model", err);
}

bool
index_read(struct index *index, const char *text, size_t n, struct budget *budget, struct err *err)
{
    struct index_reader r = { .index = index, .budget = budget, .err = err };
    *index = (struct index){ 0 };
    if (!budget_bytes(budget, (uint64_t)n + 1, "names in the index", err))
        return false;
    index->texts = malloc(n + 1);       /* a decoded string loses its quotes and gains a NUL, so it fits */
    if (!index->texts)
        return err_memory(err, n);
    r.free = index->texts;
    pull_init(&r.json, text, n, 0);
    bool mapped = false;
    if (pull_next(&r.json) != PULL_OBJECT)
        return unexpected(&r, "expected a JSON object");
    enum pull_token token;
    while ((token = pull_next(&r.json)) == PULL_KEY) {
        bool is_map = pull_text_is(&r.json.token, "weight_map");
        if (is_map && mapped)
            return unexpected(&r, "duplicate key weight_map");
        mapped = mapped || is_map;
        if (is_map ? !read_map(&r) : !pull_skip(&r.json))
            return broken(&r);          /* unless read_map() has said why */
    }
    if (token != PULL_OBJECT_END || pull_next(&r.json) != PULL_END)
        return broken(&r);
    if (!mapped || index->count == 0)
        return unexpected(&r, "weight_map is missing or empty");
    return arrange(index, err);
}

void
index_clear(struct index *index)
{
    free(index->entry);
    free(index->shard);
    free(index->texts);
    *index = (struct index){ 0 };
}

/* --- copies and unlisted tensors ------------------------------------------------------------------------ */

/* Tensors of one kind: their number, and the first one. */
struct index_odd {
    size_t n;
    char name[STR_SHOWN], file[STR_SHOWN], counts[STR_SHOWN];
};

struct index_applying {
    struct index *index;
    struct index_odd copies, unlisted;
};

static void
add_odd(struct index_odd *odd, const struct tensor *t, const char *file, const char *counts)
{
    if (odd->n++ != 0)
        return;
    str_shown(odd->name, t->name, t->name_len);
    str_shown(odd->file, file, strlen(file));
    str_shown(odd->counts, counts, strlen(counts));
}

/* Returns false for a copy of a tensor that the index lists in another shard. */
static bool
counts(void *ctx, const struct tensor *t)
{
    struct index_applying *a = ctx;
    const struct index *x = a->index;
    const struct index_entry key = { .tensor = t->name, .tensor_len = t->name_len };
    const char *shard = x->shard[t->extent.file];
    struct index_entry *e = bsearch(&key, x->entry, x->count, sizeof key, compare_tensor);
    if (!e) {
        add_odd(&a->unlisted, t, shard, "");
        return true;
    }
    if (strcmp(e->shard, shard) == 0) {
        e->found = INDEX_LISTED;
        return true;
    }
    if (e->found == INDEX_NOWHERE)
        e->found = INDEX_ELSEWHERE;
    e->elsewhere = t->extent.file;
    add_odd(&a->copies, t, shard, e->shard);
    return false;
}

static bool
refuse_lacking(const struct index *x, const struct index_entry *e, struct err *err)
{
    char name[STR_SHOWN], file[STR_SHOWN], other[STR_SHOWN] = "";
    if (e->found == INDEX_ELSEWHERE)
        str_shown(other, x->shard[e->elsewhere], strlen(x->shard[e->elsewhere]));
    return err_set(err, ERR_MALFORMED, ERR_TENSOR "not in %s, where the index lists it%s%s; the index and the "
        "shards may come from different downloads", str_shown(name, e->tensor, e->tensor_len),
        str_shown(file, e->shard, strlen(e->shard)), *other ? ", but in " : "", other);
}

bool
index_apply(struct index *x, struct catalog *catalog, bool strict, struct err *err)
{
    struct index_applying a = { .index = x };
    catalog_filter(catalog, counts, &a);
    for (size_t i = 0; i < x->count; i++)
        if (x->entry[i].found != INDEX_LISTED)
            return refuse_lacking(x, &x->entry[i], err);
    if (a.unlisted.n != 0 && strict)
        return err_set(err, ERR_MALFORMED, ERR_TENSOR "in %s, but not in the index (%zu such tensors): add it to "
            "the index, or omit --strict to read it", a.unlisted.name, a.unlisted.file, a.unlisted.n);
    if (a.unlisted.n != 0)
        catalog_warn(catalog, "tensors that are in the shards, but not in the index: %zu (first: %s in %s); they are read "
            "(--strict refuses them)", a.unlisted.n, a.unlisted.name, a.unlisted.file);
    if (a.copies.n != 0)
        catalog_note(catalog, "tensors with copies in several shards: %zu (first: %s in %s); the copy that the index lists is "
            "read, here from %s", a.copies.n, a.copies.name, a.copies.file, a.copies.counts);
    return true;
}
