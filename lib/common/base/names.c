#include "base/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

bool
names_add(struct names *list, const char *p, size_t n, struct err *err)
{
    char **all = array_grow(list->name, list->n, &list->room, sizeof *all, err);
    if (!all)
        return false;
    list->name = all;
    char *name = malloc(n + 1);
    if (!name)
        return err_memory(err, n + 1);
    memcpy(name, p, n);
    name[n] = '\0';
    all[list->n++] = name;
    return true;
}

static int
names_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void
names_sort(struct names *list)
{
    size_t kept = 0;
    if (list->n == 0)
        return;
    qsort(list->name, list->n, sizeof *list->name, names_compare);
    for (size_t i = 1; i < list->n; i++) {
        if (strcmp(list->name[kept], list->name[i]) == 0)
            free(list->name[i]);
        else
            list->name[++kept] = list->name[i];
    }
    list->n = kept + 1;
}

void
names_clear(struct names *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->name[i]);
    free(list->name);
    *list = (struct names){ 0 };
}
