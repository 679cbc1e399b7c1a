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

bool
chosen_all_stored(const struct chosen *chosen, bool (*is)(const void *of, const struct tensor *t), const void *of)
{
    struct composed_part one = { .copy = chosen->copy, .decode = chosen->decode };
    const struct composed_part *part = &one;
    size_t n = 1;
    if (chosen->kept)
        one = (struct composed_part){ .decode = chosen->kept };
    if (chosen->composed) {
        part = chosen->composed->part;
        n = chosen->composed->n;
    }
    for (size_t i = 0; i < n; i++) {
        const struct weight *w = part[i].decode;
        const struct tensor weight = { .name = w ? w->name : NULL, .name_len = w ? w->name_len : 0 };
        const struct tensor *source = part[i].repack ? part[i].repack->input[0] : part[i].copy;
        if (!is(of, w ? &weight : source))
            return false;
    }
    return n != 0;
}

/* --- making a choice */

/* Returns true if a weight is changed: it is selected, or gets a type by name. */
static bool
changes(const struct choice_how *how, const struct weight *w, bool *typed)
{
    const struct chosen c = { .decode = w };
    *typed = how->types && naming_type(how->types, &c) != DTYPE_UNKNOWN;
    return *typed || !how->selected || naming_selects(how->selected, &c);
}

/* Returns true if a weight stays as it is stored. */
static bool
stays(const struct choice_how *how, const struct weight *w)
{
    bool typed, changed = changes(how, w, &typed);
    return !typed && roles_is_kept(w, changed ? how->keeps : how->others);
}

static bool
is_left_out(const void *of, const struct weight *w)
{
    const struct choice_how *how = of;
    const struct tensor t = { .name = w->name, .name_len = w->name_len };
    return (how->written && !naming_keeps(how->written, &t)) || stays(how, w);
}

/* Marks the tensors of the weights that stay as they are stored; companions can belong to several. Fails if one cannot stay. */
static bool
mark_stored(bool *stored, const struct choice *choice, const struct choice_how *how, struct err *err)
{
    char shown[STR_SHOWN];
    for (size_t i = 0; i < roles_weight_count(choice->roles); i++) {
        const struct weight *w = roles_weight(choice->roles, i);
        const struct tensor t = { .name = w->name, .name_len = w->name_len };
        bool typed, kept = stays(how, w);
        if (!kept && !changes(how, w, &typed) && (!how->written || naming_keeps(how->written, &t)))
            return err_set(err, ERR_USAGE, "tensor %s: the output cannot hold it as it is stored; select it, too, or leave it out "
                "with --drop", str_shown(shown, w->name, w->name_len));
        for (unsigned part = 0; kept && part < SCHEME_PARTS; part++)
            if (w->part[part])
                stored[catalog_index(choice->input, w->part[part])] = true;
    }
    return true;
}

/* Returns an entry for an input tensor that is no companion, or the codes of a weight. */
static struct chosen
choose_one(const struct choice_how *how, const struct tensor *t, const struct weight *w, bool kept)
{
    struct chosen c = { .copy = t, .dtype = t->dtype };
    if (kept)
        c.kept = w;
    else if (w)
        c = (struct chosen){ .decode = w, .dtype = how->to };
    else if (how->all && dtype_is_float(t->dtype) && (!how->selected || naming_selects(how->selected, &c)))
        c.dtype = how->to;
    if (!kept && how->types && dtype_is_float(c.dtype) && naming_type(how->types, &c) != DTYPE_UNKNOWN)
        c.dtype = naming_type(how->types, &c);
    return c;
}

/* Fills the list. `stored` has a flag for each tensor of the input. */
static void
fill(struct choice *choice, const struct choice_how *how, const bool *stored)
{
    bool kept = false;
    for (size_t i = 0; i < catalog_count(choice->input); i++) {
        const struct tensor *t = catalog_at(choice->input, i);
        const struct weight *w = roles_owner(choice->roles, i);
        bool keeps = w && (stored[i] || stored[catalog_index(choice->input, w->part[0])]);
        if (!keeps && roles_is_companion(choice->roles, i))
            continue;
        choice->list[choice->n++] = choose_one(how, t, w, keeps);
        kept = kept || keeps;
        choice->decodes = choice->decodes || w;
    }
    choice->decodes = choice->decodes && !kept;
}

bool
choice_make_of(struct choice *choice, const struct catalog *input, const struct roles *roles, const struct choice_how *how,
    struct err *err)
{
    const struct roles_left_out left_out = { is_left_out, how };
    size_t n = catalog_count(input), room = (n + 1) * sizeof *choice->list;
    *choice = (struct choice){ .input = input, .roles = roles, .matrices = DTYPE_UNKNOWN };
    if (!roles_decodable(roles, how->keeps, &left_out, err))
        return false;
    choice->list = malloc(room);
    bool *stored = calloc(n + 1, sizeof *stored), ok = (choice->list && stored) || err_memory(err, room);
    ok = ok && mark_stored(stored, choice, how, err);
    if (ok)
        fill(choice, how, stored);
    free(stored);
    return ok;
}

bool
choice_make(struct choice *choice, const struct catalog *input, const struct roles *roles, enum keeps keeps, enum dtype to,
    bool all, struct err *err)
{
    return choice_make_of(choice, input, roles, &(const struct choice_how){ .keeps = keeps, .to = to, .all = all }, err);
}

bool
choice_type(struct choice *choice, const struct naming *types, struct err *err)
{
    size_t typed = 0;
    for (size_t i = 0; i < choice->n; i++) {
        struct chosen *c = &choice->list[i];
        enum dtype dtype = c->kept || !dtype_is_float(c->dtype) ? DTYPE_UNKNOWN : naming_type(types, c);
        c->typed = dtype != DTYPE_UNKNOWN;
        c->dtype = c->typed ? dtype : c->dtype;
        typed += c->typed;
    }
    return typed != 0 || types->nglobs == 0
        || err_set(err, ERR_USAGE, "--dtype GLOB=DTYPE and --keep-f32 have no effect: no tensor of floats matches");
}

void
choice_cast(struct choice *choice, const struct naming *selected, enum dtype to)
{
    for (size_t i = 0; i < choice->n; i++) {
        struct chosen *c = &choice->list[i];
        if (!c->kept && c->dtype == choice->matrices && chosen_source(c).shape.rank > 1 && naming_selects(selected, c))
            c->dtype = to;
    }
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
