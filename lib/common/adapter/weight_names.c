#include "adapter/weight_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/str.h"
#include "base/table.h"

/* A name, or the end of one, with the first two tensors that have it. */
struct weight_name {
    const char *p;
    size_t n, index, second;
};

struct name_list {
    struct weight_name *item;           /* n of them; owned */
    size_t n, room;
    struct table table;
};

enum { EXACT, SHORT, ENDS, LISTS };     /* whole names; without leading components; all ends after a dot */

struct weight_names {
    const struct choice *choice;
    struct name_list list[LISTS];
};

static const char *
weight_names_name_of(const void *owner, uint32_t number, size_t *n)
{
    const struct name_list *list = owner;
    *n = list->item[number].n;
    return list->item[number].p;
}

static bool
list_add(struct name_list *l, const char *p, size_t n, size_t index, struct err *err)
{
    uint32_t number = (uint32_t)l->n;
    bool again = false;
    struct weight_name *item = array_grow(l->item, l->n, &l->room, sizeof *item, err);
    if (!item)
        return false;
    l->item = item;
    if (!table_add(&l->table, weight_names_name_of, l, p, n, &number, &again, err))
        return false;
    if (!again)
        item[l->n++] = (struct weight_name){ p, n, index, WEIGHT_NONE };
    else if (item[number].second == WEIGHT_NONE)
        item[number].second = index;
    return true;
}

static const struct weight_name *
list_find(const struct name_list *l, const char *p, size_t n)
{
    uint32_t number;
    if (table_find(&l->table, weight_names_name_of, l, p, n, &number))
        return &l->item[number];
    return NULL;
}

/* Drops the components in front that versions of transformers add and remove. */
static void
shorten(const char **p, size_t *n)
{
    static const char *const leading[] = { "model.", "language_model.", "transformer.", "base_model." };
    for (size_t i = 0; i < sizeof leading / sizeof *leading;) {
        size_t len = strlen(leading[i]);
        bool has = *n > len && memcmp(*p, leading[i], len) == 0;
        i++;
        if (has) {
            *p += len;
            *n -= len;
            i = 0;
        }
    }
}

bool
weight_names_add(struct weight_names *w, const char *p, size_t n, size_t index, struct err *err)
{
    enum { DEPTH = 24 };
    if (!list_add(&w->list[EXACT], p, n, index, err))
        return false;
    unsigned depth = 0;
    for (size_t i = 1; i < n && depth < DEPTH; i++)
        if (p[i - 1] == '.' && (depth++, !list_add(&w->list[ENDS], p + i, n - i, index, err)))
            return false;
    shorten(&p, &n);
    return list_add(&w->list[SHORT], p, n, index, err);
}

struct weight_names *
weight_names_new(const struct choice *choice, struct err *err)
{
    struct weight_names *w = calloc(1, sizeof *w);
    bool ok = w || err_memory(err, sizeof *w);
    if (w)
        w->choice = choice;
    for (size_t i = 0; ok && i < choice->n; i++) {
        const struct tensor t = chosen_tensor(&choice->list[i]);
        ok = weight_names_add(w, t.name, t.name_len, i, err);
    }
    if (ok)
        return w;
    weight_names_free(w);
    return NULL;
}

void
weight_names_free(struct weight_names *w)
{
    for (size_t i = 0; w && i < LISTS; i++) {
        table_clear(&w->list[i].table);
        free(w->list[i].item);
    }
    free(w);
}

/* Looks up a name whose tail is one of the tensors' names. */
static const struct weight_name *
find_tail(const struct weight_names *w, const char *p, size_t n)
{
    const struct weight_name *found = NULL;
    for (size_t i = 1; i < n && !found; i++)
        if (p[i - 1] == '.')
            found = list_find(&w->list[EXACT], p + i, n - i);
    return found;
}

/* Tries the steps in turn. *room receives the changed name of a Mixtral. */
static const struct weight_name *
find(const struct weight_names *w, const char *p, size_t n, enum weight_search how, struct str *room)
{
    static const char mlp[] = ".mlp.", sparse[] = ".block_sparse_moe.";
    const struct weight_name *found = NULL;
    const char *tail = p, *at;
    size_t len = n;
    shorten(&tail, &len);
    if ((found = list_find(&w->list[SHORT], tail, len)) != NULL)
        return found;
    if ((at = memmem(tail, len, mlp, sizeof mlp - 1)) != NULL) {
        str_add(room, tail, (size_t)(at - tail));
        str_text(room, sparse);
        str_add(room, at + sizeof mlp - 1, len - (size_t)(at - tail) - (sizeof mlp - 1));
        if (room->failed)
            found = NULL;
        else
            found = list_find(&w->list[SHORT], room->p, room->len);
    }
    if (found || how == WEIGHT_WHOLE)
        return found;
    found = list_find(&w->list[ENDS], p, n);
    if (found)
        return found;
    return find_tail(w, p, n);
}

bool
weight_names_find(size_t *found, const struct weight_names *w, const char *name, size_t n, enum weight_search how, struct err *err)
{
    struct str room = { 0 };
    const struct weight_name *one = list_find(&w->list[EXACT], name, n);
    if (!one && how != WEIGHT_EXACT)
        one = find(w, name, n, how, &room);
    str_clear(&room);
    if (one)
        *found = one->index;
    else
        *found = WEIGHT_NONE;
    if (!one || one->second == WEIGHT_NONE)
        return true;
    const struct tensor a = chosen_tensor(&w->choice->list[one->index]), b = chosen_tensor(&w->choice->list[one->second]);
    char shown[STR_SHOWN], first[STR_SHOWN], second[STR_SHOWN];
    return err_set(err, ERR_MALFORMED, "%s could be %s or %s", str_shown(shown, name, n),
        str_shown(first, a.name, a.name_len), str_shown(second, b.name, b.name_len));
}
