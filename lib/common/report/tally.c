#include "report/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"

void
tally_clear(struct tally *tally)
{
    for (size_t i = 0; i < tally->n; i++)
        free(tally->rows[i].label);
    free(tally->rows);
    table_clear(&tally->labels);
    *tally = (struct tally){ 0 };
}

static const char *
label_of(const void *tally, uint32_t i, size_t *n)
{
    const char *label = ((const struct tally *)tally)->rows[i].label;
    *n = strlen(label);
    return label;
}

bool
tally_add(struct tally *tally, const char *label, size_t more, uint64_t nbytes, struct err *err)
{
    uint32_t i = (uint32_t)tally->n;
    bool again;
    struct tally_row *rows = array_grow(tally->rows, tally->n, &tally->room, sizeof *rows, err);
    if (!rows)
        return false;
    tally->rows = rows;
    if (!table_add(&tally->labels, label_of, tally, label, strlen(label), &i, &again, err))
        return false;
    if (!again) {
        rows[i] = (struct tally_row){ .label = strdup(label) };
        if (!rows[i].label)
            return err_memory(err, strlen(label) + 1);
        tally->n++;
    }
    struct tally_row *row = &rows[i];
    row->count += more;
    if (!num_add(&row->nbytes, row->nbytes, nbytes))
        row->nbytes = UINT64_MAX;
    return true;
}

size_t
tally_top(const struct tally *tally, size_t *top, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < tally->n; i++) {
        size_t at = n;
        while (at > 0 && tally->rows[top[at - 1]].nbytes < tally->rows[i].nbytes)
            at--;
        if (at == max)
            continue;
        size_t keep;
        if (n < max)
            keep = n;
        else
            keep = max - 1;
        memmove(top + at + 1, top + at, (keep - at) * sizeof *top);
        top[at] = i;
        n = keep + 1;
    }
    return n;
}
