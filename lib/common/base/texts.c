#include "base/texts.h"

#include <stdlib.h>

#include "base/array.h"

struct str *
texts_add(struct texts *texts, const char *name, struct err *err)
{
    struct named_text *list = array_grow(texts->list, texts->n, &texts->room, sizeof *list, err);
    if (!list)
        return NULL;
    texts->list = list;
    list[texts->n] = (struct named_text){ .name = name, .text.max = texts->max };
    return &list[texts->n++].text;
}

bool
texts_check(const struct texts *texts, struct err *err)
{
    for (size_t i = 0; i < texts->n; i++) {
        const struct str *text = &texts->list[i].text;
        if (text->full)
            return err_set(err, ERR_LIMIT, "%s would exceed %zu bytes", texts->list[i].name, text->max);
        if (text->failed)
            return err_memory(err, text->room);
    }
    return true;
}

void
texts_clear(struct texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        str_clear(&texts->list[i].text);
    free(texts->list);
    *texts = (struct texts){ 0 };
}
