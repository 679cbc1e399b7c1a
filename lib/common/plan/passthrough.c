#include "plan/passthrough.h"

#include <stdlib.h>

#include "base/str.h"

static bool
check_weight(const struct weight *w, enum passthrough_packed packed, const char *name, struct err *err)
{
    const struct tensor *t = w->part[0];
    bool blocks = t->dtype >= DTYPE_SCALARS;
    char shown[STR_SHOWN], detail[SCHEME_DETAIL] = "";
    str_shown(shown, t->name, t->name_len);
    if (t->dtype == DTYPE_UNKNOWN) {
        if (w->scheme->describe)
            w->scheme->describe(w, detail);
        return err_set(err, ERR_UNSUPPORTED, t->extent.at, ERR_TENSOR "unknown type (%s), so its length is "
            "unknown too: it cannot be copied", shown, detail);
    }
    if (packed != (blocks ? PASSTHROUGH_BLOCKS : PASSTHROUGH_CODES))
        return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, ERR_TENSOR "quantized as %s, which readers of %s do not "
            "support; without --keep-quantized it is dequantized", shown,
            blocks ? dtype_name(t->dtype) : w->scheme->name, name);
    return !blocks || !t->big_endian || err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, ERR_TENSOR "%s blocks are "
        "big-endian, which is not supported with --keep-quantized; without it they are dequantized", shown, dtype_name(t->dtype));
}

bool
passthrough_make(struct choice *choice, const struct catalog *input, const struct roles *roles, enum passthrough_packed packed,
    const char *name, struct err *err)
{
    size_t room = (catalog_count(input) + 1) * sizeof *choice->list;
    *choice = (struct choice){ .input = input };
    for (size_t i = 0; i < roles_weight_count(roles); i++)
        if (!check_weight(roles_weight(roles, i), packed, name, err))
            return false;
    choice->list = malloc(room);
    if (!choice->list)
        return err_memory(err, room);
    for (size_t i = 0; i < catalog_count(input); i++) {
        const struct tensor *t = catalog_at(input, i);
        choice->list[choice->n++] = (struct chosen){ .copy = t, .dtype = t->dtype };
    }
    return true;
}

bool
passthrough_check(const struct choice *choice, const struct roles *roles, struct err *err)
{
    char weight[STR_SHOWN], part[STR_SHOWN];
    bool *there = calloc(catalog_count(choice->input) + 1, sizeof *there), ok = true;
    if (!there)
        return err_memory(err, catalog_count(choice->input) + 1);
    for (size_t i = 0; i < choice->n; i++)
        there[catalog_index(choice->input, choice->list[i].copy)] = true;
    for (size_t i = 0; ok && i < roles_weight_count(roles); i++) {
        const struct weight *w = roles_weight(roles, i);
        bool codes = there[catalog_index(choice->input, w->part[0])];
        for (unsigned p = 1; ok && p < SCHEME_PARTS; p++)
            if (w->part[p] && (codes ? !there[catalog_index(choice->input, w->part[p])]
                : !w->shares && there[catalog_index(choice->input, w->part[p])]))
                ok = err_set(err, ERR_USAGE, ERR_NO_OFFSET, ERR_TENSORS "belong to one weight, but --include, --exclude "
                    "or --tensor selects only one of them", str_shown(weight, w->part[0]->name, w->part[0]->name_len),
                    str_shown(part, w->part[p]->name, w->part[p]->name_len));
    }
    free(there);
    return ok;
}
