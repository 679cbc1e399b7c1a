#include "plan/choice.h"

#include <stdlib.h>

#include "base/num.h"

struct tensor
chosen_tensor(const struct chosen *chosen)
{
    const struct weight *w = chosen->decode;
    struct tensor t = w ? *w->part[0] : *chosen->copy;
    t.big_endian = false;
    t.layout = NULL;
    t.sign = 0;
    t.dtype = chosen->dtype;
    if (w) {
        t.name = w->name;
        t.name_len = w->name_len;
        t.shape = w->shape;
    }
    if (chosen->name) {
        t.name = chosen->name;
        t.name_len = chosen->name_len;
    }
    return t;
}

bool
choice_make(struct choice *choice, const struct catalog *input, const struct roles *roles, enum dtype to,
    struct err *err)
{
    size_t room = (catalog_count(input) + 1) * sizeof *choice->list;
    *choice = (struct choice){ .input = input, .decodes = roles_weight_count(roles) != 0 };
    if (!roles_decodable(roles, err))
        return false;
    choice->list = malloc(room);
    if (!choice->list)
        return err_memory(err, room);
    for (size_t i = 0; i < catalog_count(input); i++) {
        if (roles_is_companion(roles, i))
            continue;
        const struct weight *w = roles_weight_of(roles, i);
        const struct tensor *t = catalog_at(input, i);
        choice->list[choice->n++] = (struct chosen){ .copy = w ? NULL : t, .decode = w, .dtype = w ? to : t->dtype };
    }
    return true;
}

void
choice_clear(struct choice *choice)
{
    free(choice->list);
    names_clear(&choice->names);
    *choice = (struct choice){ 0 };
}

bool
choice_nbytes(const struct choice *choice, uint64_t *nbytes, struct err *err)
{
    *nbytes = 0;
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor t = chosen_tensor(&choice->list[i]);
        uint64_t n = 0;
        bool whole = true, fits = shape_nbytes(&t.shape, t.dtype, &n, &whole);
        if (!whole)
            return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "a tensor of the output has elements that do not fill "
                "whole bytes");
        if (!fits || !num_add(nbytes, *nbytes, n) || *nbytes > INT64_MAX)
            return err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "output: more than 2^63 bytes, which no file can have");
    }
    return true;
}
