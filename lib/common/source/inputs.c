#include "source/inputs.h"

#include <stdlib.h>
#include <string.h>

bool
inputs_add(struct inputs *list, uint64_t dev, uint64_t ino, const char *shown, struct err *err)
{
    if (list->n == list->room) {
        size_t room = list->room ? 2 * list->room : 16;
        struct input *item = realloc(list->item, room * sizeof *item);
        if (!item)
            return err_memory(err, room * sizeof *item);
        list->item = item;
        list->room = room;
    }
    char *name = strdup(shown);
    if (!name)
        return err_memory(err, strlen(shown));
    list->item[list->n++] = (struct input){ .dev = dev, .ino = ino, .name = name };
    return true;
}

const char *
inputs_find(const struct inputs *list, uint64_t dev, uint64_t ino)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->item[i].dev == dev && list->item[i].ino == ino)
            return list->item[i].name;
    return NULL;
}

void
inputs_clear(struct inputs *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->item[i].name);
    free(list->item);
    *list = (struct inputs){ 0 };
}
