#include "plan/fused.h"

#include <stdlib.h>
#include <string.h>

/* A weight that may belong to a group. */
struct candidate {
    const char *name;           /* name of the weight; the first `parent` bytes name the parent module */
    size_t parent;
    unsigned set;
    const struct chosen *chosen;
};

enum { MEMBERS = 4 };

static const char *const sets[][MEMBERS] = {
    { "q_proj", "k_proj", "v_proj" },
    { "gate_proj", "up_proj" },
    { "w1", "w3" },
    { "q_a_proj", "kv_a_proj_with_mqa" },
    { "wq_a", "wkv", "wgate", "wkv_a_with_mqa" },
    { "in_proj_qkv", "in_proj_z" },
    { "in_proj_b", "in_proj_a" },
    { "c_fc_0", "c_fc_1" },
    { "query", "key", "value" },
};

/* Finds the set that contains the last component of a module's name, and the length of the name before that component. */
static bool
find_set(struct candidate *c, const struct encoding *e)
{
    size_t n = encode_module(e), parent = n;
    while (parent != 0 && e->weight.name[parent - 1] != '.')
        parent--;
    const char *last = e->weight.name + parent;
    for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++)
        for (unsigned j = 0; j < MEMBERS && sets[i][j]; j++)
            if (strlen(sets[i][j]) == n - parent && memcmp(sets[i][j], last, n - parent) == 0) {
                c->name = e->weight.name;
                c->parent = parent;
                c->set = i;
                return true;
            }
    return false;
}

/* Compares what the weights of a group must have in common. */
static int
compare_keys(const struct candidate *a, const struct candidate *b)
{
    const struct encoding *x = a->chosen->encoding, *y = b->chosen->encoding;
    int order;
    if (a->parent != b->parent)
        order = (a->parent > b->parent) - (a->parent < b->parent);
    else
        order = memcmp(a->name, b->name, a->parent);
    if (order == 0)
        order = (a->set > b->set) - (a->set < b->set);
    if (order == 0)
        order = strcmp(x->encoder->name, y->encoder->name);
    if (order == 0)
        order = (x->cols > y->cols) - (x->cols < y->cols);
    if (order != 0)
        return order;
    return (x->weight.dtype > y->weight.dtype) - (x->weight.dtype < y->weight.dtype);
}

static int
fused_compare(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    int order = compare_keys(a, b);
    if (order != 0)
        return order;
    return (a->chosen > b->chosen) - (a->chosen < b->chosen);
}

/* Makes a group of n candidates. */
static bool
fused_join(const struct candidate *list, size_t n, struct catalog *memory, struct err *err)
{
    struct fused *fused = catalog_alloc(memory, sizeof *fused + n * sizeof *fused->member, err);
    if (!fused)
        return false;
    fused->all = *list->chosen->encoding;
    fused->all.nregions = fused->all.nfacts = 0;
    fused->all.fused = fused;
    fused->n = n;
    for (size_t i = 0; i < n; i++) {
        struct encoding *e = list[i].chosen->encoding;
        fused->member[i] = *list[i].chosen;
        fused->all.nregions += e->nregions;
        fused->all.nfacts += e->nfacts;
        e->fused = fused;
    }
    return true;
}

bool
fused_find(const struct choice *choice, struct catalog *memory, struct err *err)
{
    size_t n = 0;
    bool ok = true;
    struct candidate *list = malloc((choice->n + 1) * sizeof *list);
    if (!list)
        return err_memory(err, (choice->n + 1) * sizeof *list);
    for (size_t i = 0; i < choice->n; i++) {
        const struct encoding *e = choice->list[i].encoding;
        list[n].chosen = &choice->list[i];
        n += e && e->encoder->loaders.fuses && find_set(&list[n], e);
    }
    qsort(list, n, sizeof *list, fused_compare);
    for (size_t i = 0, end; ok && i < n; i = end) {
        for (end = i + 1; end < n && compare_keys(&list[i], &list[end]) == 0; end++)
            ;
        ok = end - i < 2 || fused_join(list + i, end - i, memory, err);
    }
    free(list);
    return ok;
}
