#include "report/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"

void
tally_clear(struct tally *tally)
{
    for (size_t i = 0; i < tally->n; i++)
        free(tally->rows[i].label);
    free(tally->rows);
    free(tally->slots);
    *tally = (struct tally){ 0 };
}

/* FNV-1a, 64 bits. */
static uint64_t
hash(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

/* The slot that holds the label, or the empty one where it belongs. */
static size_t *
slot_of(const struct tally *tally, const char *label)
{
    size_t mask = 2 * tally->room - 1;
    size_t i = (size_t)hash(label) & mask;
    while (tally->slots[i] != 0 && strcmp(tally->rows[tally->slots[i] - 1].label, label) != 0)
        i = (i + 1) & mask;
    return &tally->slots[i];
}

static bool
grow(struct tally *tally, struct err *err)
{
    size_t room = tally->room ? 2 * tally->room : 16;
    struct tally_row *rows = realloc(tally->rows, room * sizeof *rows);
    if (!rows)
        return err_memory(err, room * sizeof *rows);
    tally->rows = rows;
    size_t *slots = calloc(2 * room, sizeof *slots);
    if (!slots)
        return err_memory(err, 2 * room * sizeof *slots);
    free(tally->slots);
    tally->slots = slots;
    tally->room = room;
    for (size_t i = 0; i < tally->n; i++)
        *slot_of(tally, rows[i].label) = i + 1;
    return true;
}

bool
tally_add(struct tally *tally, const char *label, uint64_t nbytes, struct err *err)
{
    if (tally->n == tally->room && !grow(tally, err))
        return false;
    size_t *slot = slot_of(tally, label);
    if (*slot == 0) {
        char *copy = strdup(label);
        if (!copy)
            return err_memory(err, strlen(label) + 1);
        tally->rows[tally->n++] = (struct tally_row){ .label = copy };
        *slot = tally->n;
    }
    struct tally_row *row = &tally->rows[*slot - 1];
    row->count++;
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
        size_t keep = n < max ? n : max - 1;
        memmove(top + at + 1, top + at, (keep - at) * sizeof *top);
        top[at] = i;
        n = keep + 1;
    }
    return n;
}
