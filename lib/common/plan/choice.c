#include "plan/choice.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "base/table.h"
#include "plan/naming.h"

struct tensor
chosen_source(const struct chosen *chosen)
{
    const struct composed *composed = chosen->composed;
    const struct weight *w = composed && composed->n != 0 ? composed->part[0].decode : chosen->decode;
    struct tensor t = { 0 };
    if (w)
        t = *w->part[0];
    else if (composed && composed->n != 0 && composed->part[0].repack)
        t = *composed->part[0].repack->input[0];
    else if (chosen->copy || (composed && composed->n != 0))
        t = composed ? *composed->part[0].copy : *chosen->copy;
    t.big_endian = false;
    t.layout = NULL;
    t.sign = 0;
    t.changed = false;
    t.dtype = chosen->dtype;
    if (w) {
        t.name = w->name;
        t.name_len = w->name_len;
        t.shape = w->shape;
    }
    if (composed)
        t.shape = composed->shape;
    if (composed && composed->n == 0) {
        t.name = composed->name;
        t.name_len = (uint32_t)strlen(composed->name);
    }
    if (chosen->name) {
        t.name = chosen->name;
        t.name_len = chosen->name_len;
    }
    return t;
}

bool
chosen_is_quantized(const struct chosen *chosen)
{
    return chosen->decode || (chosen->composed && chosen->composed->n != 0 && chosen->composed->part[0].decode);
}

const struct encoding *
chosen_weight(const struct chosen *chosen)
{
    if (chosen->part == 0)
        return chosen->encoding;
    return NULL;
}

struct tensor
chosen_tensor(const struct chosen *chosen)
{
    struct tensor t = chosen_source(chosen);
    if (chosen->encoding) {
        const struct encode_part *part = &chosen->encoding->part[chosen->part];
        t.name = part->name;
        t.name_len = part->name_len;
        t.dtype = part->dtype;
        t.shape = part->shape;
    }
    return t;
}

static bool
is_left_out(const void *of, const struct weight *w)
{
    const struct tensor t = { .name = w->name, .name_len = w->name_len };
    return !naming_keeps(of, &t);
}

bool
choice_make(struct choice *choice, const struct catalog *input, const struct roles *roles, enum keeps keeps, enum dtype to,
    bool all, struct err *err)
{
    return choice_make_named(choice, input, roles, keeps, to, all, &(struct naming){ 0 }, err);
}

bool
choice_make_named(struct choice *choice, const struct catalog *input, const struct roles *roles, enum keeps keeps, enum dtype to,
    bool all, const struct naming *naming, struct err *err)
{
    const struct roles_left_out left_out = { is_left_out, naming };
    bool kept = false;
    size_t room = (catalog_count(input) + 1) * sizeof *choice->list;
    *choice = (struct choice){ .input = input, .roles = roles, .matrices = DTYPE_UNKNOWN };
    if (!roles_decodable(roles, keeps, &left_out, err))
        return false;
    choice->list = malloc(room);
    if (!choice->list)
        return err_memory(err, room);
    for (size_t i = 0; i < catalog_count(input); i++) {
        const struct tensor *t = catalog_at(input, i);
        const struct weight *w = roles_owner(roles, i);
        struct chosen *c = &choice->list[choice->n];
        if (w && roles_is_kept(w, keeps))
            *c = (struct chosen){ .copy = t, .kept = w, .dtype = t->dtype };
        else if (roles_is_companion(roles, i))
            continue;
        else
            *c = (struct chosen){ .copy = w ? NULL : t, .decode = w,
                .dtype = w || (all && dtype_is_float(t->dtype)) ? to : t->dtype };
        choice->n++;
        kept = kept || c->kept;
        choice->decodes = choice->decodes || w;
    }
    choice->decodes = choice->decodes && !kept;
    return true;
}

bool
choice_append(struct choice *choice, const struct chosen *chosen, struct err *err)
{
    size_t size = (choice->n + 1) * sizeof *choice->list;
    struct chosen *list = realloc(choice->list, size);
    if (!list)
        return err_memory(err, size);
    choice->list = list;
    list[choice->n++] = *chosen;
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
            return err_set(err, ERR_UNSUPPORTED, "the elements of an output tensor do not fill "
                "whole bytes");
        if (!fits || !num_add(nbytes, *nbytes, n) || *nbytes > INT64_MAX)
            return err_set(err, ERR_LIMIT, "output size exceeds 2^63 bytes");
    }
    return true;
}

/* For struct table: the name of an output tensor. */
static const char *
output_name(const void *of, uint32_t number, size_t *n)
{
    const struct choice *choice = of;
    const struct tensor t = chosen_tensor(&choice->list[number]);
    *n = t.name_len;
    return t.name;
}

bool
choice_distinct_or(const struct choice *choice, enum err_kind kind, const char *why, struct err *err)
{
    struct table table = { 0 };
    bool ok = table_reserve(&table, choice->n, err), again = false;
    char shown[STR_SHOWN];
    for (size_t i = 0; ok && i < choice->n; i++) {
        const struct tensor t = chosen_tensor(&choice->list[i]);
        uint32_t number = (uint32_t)i;
        ok = table_add(&table, output_name, choice, t.name, t.name_len, &number, &again, err)
            && (!again || err_set(err, kind, "two output tensors would be named %s: %s",
                str_shown(shown, t.name, t.name_len), why));
    }
    table_clear(&table);
    return ok;
}

bool
choice_distinct(const struct choice *choice, struct err *err)
{
    return choice_distinct_or(choice, ERR_USAGE, "use --rename, --strip-prefix and --add-prefix so that names stay distinct", err);
}
