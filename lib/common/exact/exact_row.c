#include "exact/exact_row.h"

#include <stdlib.h>

static const struct {
    const char *word, *phrase;
} states[EXACT_STATES] = {
    [EXACT_REFUSED] = { "refused", "refused" },
    [EXACT_KEPT] = { "kept", "unchanged" },
    [EXACT_INEXACT] = { "inexact", "inexact" },
    [EXACT_PLAIN] = { "dense", "not quantized" },
    [EXACT_BY_MOVE] = { "moved", "moved" },
    [EXACT_BY_HINT] = { "hint", "with the source's scales" },
    [EXACT_BY_SEARCH] = { "search", "with scales found by search" },
};

enum exact_state
exact_row_state(const struct exact_row *row)
{
    if (row->refused)
        return EXACT_REFUSED;
    if (row->kept || !row->to)
        return EXACT_KEPT;
    if (row->inexact)
        return EXACT_INEXACT;
    if (row->plain)
        return EXACT_PLAIN;
    return (enum exact_state)(EXACT_BY_MOVE + row->way);
}

const char *
exact_row_word(const struct exact_row *row)
{
    return states[exact_row_state(row)].word;
}

const char *
exact_row_phrase(enum exact_state state)
{
    return states[state].phrase;
}

bool
exact_row_add(struct exact_row *row, const struct exact_tried *tried, struct err *err)
{
    struct exact_tried *list = realloc(row->tried, (row->ntried + 1) * sizeof *list);
    if (!list)
        return err_memory(err, (row->ntried + 1) * sizeof *list);
    row->tried = list;
    list[row->ntried++] = *tried;
    return true;
}

void
exact_row_clear(struct exact_row *row)
{
    free(row->name);
    free(row->tried);
    *row = (struct exact_row){ 0 };
}
