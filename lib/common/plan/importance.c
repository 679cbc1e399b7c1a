#include "plan/importance.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/num.h"
#include "base/str.h"

/* for struct table */
static const char *
importance_name_of(const void *of, uint32_t number, size_t *n)
{
    const struct importance *i = of;
    *n = i->list[number].name_len;
    return i->list[number].name;
}

bool
importance_add(struct importance *im, const struct importance_entry *entry, struct err *err)
{
    char shown[STR_SHOWN];
    bool again;
    uint32_t number = (uint32_t)im->n;
    for (uint64_t i = 0; i < entry->n; i++)
        if (!isfinite(entry->values[i]) || entry->values[i] < 0)
            return err_set(err, ERR_MALFORMED, "tensor %s: importance of column %" PRIu64 " is negative or "
                "not a number", str_shown(shown, entry->name, entry->name_len), i);
    struct importance_entry *list = array_grow(im->list, im->n, &im->room, sizeof *list, err);
    if (!list)
        return false;
    im->list = list;
    if (!table_add(&im->names, importance_name_of, im, entry->name, entry->name_len, &number, &again, err))
        return false;
    if (again)
        return err_set(err, ERR_MALFORMED, "tensor %s: duplicate entry in the importance matrix",
            str_shown(shown, entry->name, entry->name_len));
    list[im->n++] = *entry;
    return true;
}

void
importance_clear(struct importance *im)
{
    free(im->list);
    table_clear(&im->names);
    *im = (struct importance){ 0 };
}

bool
importance_of(const float **found, const struct importance *im, const struct tensor *t, uint64_t cols, uint64_t *matrices, struct err *err)
{
    uint32_t number;
    uint64_t many = t->shape.rank >= 3 ? shape_dim(&t->shape, t->shape.rank - 3) : 1, all;
    char shown[STR_SHOWN];
    *found = NULL;
    if (!table_find(&im->names, importance_name_of, im, t->name, t->name_len, &number))
        return true;
    const struct importance_entry *entry = &im->list[number];
    if (entry->n == cols)
        *matrices = 1;
    else
        *matrices = many;
    if (num_mul(&all, cols, *matrices) && entry->n == all) {
        *found = entry->values;
        return true;
    }
    return err_set(err, ERR_MALFORMED, "tensor %s: the importance matrix has %" PRIu64 " columns, the tensor %" PRIu64
        " (importance matrix of another model?)", str_shown(shown, t->name, t->name_len), entry->n, cols);
}
