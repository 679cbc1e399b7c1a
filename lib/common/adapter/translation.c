#include "adapter/translation.h"

#include <stdlib.h>

#include "base/num.h"
#include "family/back.h"

/* A tensor of the base, for finding it by its data. */
struct stored {
    uint32_t file;
    uint64_t at;
    size_t index;               /* chosen tensor */
};

struct translation {
    struct choice hf;
    struct weight_names *names; /* owned */
    struct stored *stored;      /* n of them, sorted; owned */
    size_t n;
};

static int
compare_stored(const void *pa, const void *pb)
{
    const struct stored *a = pa, *b = pb;
    if (a->file != b->file)
        return (a->file > b->file) - (a->file < b->file);
    return (a->at > b->at) - (a->at < b->at);
}

static bool
list_stored(struct translation *t, const struct choice *choice, size_t without, struct err *err)
{
    t->stored = calloc(choice->n + 1, sizeof *t->stored);
    if (!t->stored)
        return err_memory(err, (choice->n + 1) * sizeof *t->stored);
    for (size_t i = 0; i < choice->n; i++) {
        const struct chosen *c = &choice->list[i];
        const struct tensor *of;
        if (c->decode)
            of = c->decode->part[0];
        else
            of = c->copy;
        if (of && i != without)
            t->stored[t->n++] = (struct stored){ of->extent.file, of->extent.at, i };
    }
    qsort(t->stored, t->n, sizeof *t->stored, compare_stored);
    return true;
}

bool
translation_new(struct translation **out, struct model *model, const struct choice *choice, size_t without, struct err *err)
{
    const struct hf_model_options how = { .no_tokenizer = true, .dequantize = true, .skip_unknown = true };
    const struct back_options options = { .how = &how, .cast = true, .to = DTYPE_F32 };
    struct back_model back = { 0 };
    struct translation *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return err_memory(err, sizeof *t);
    bool ok = back_open(&back, model, &options, err), unknown = !ok && err->kind == ERR_UNSUPPORTED && !back.family;
    if (unknown)
        err_init(err);
    ok = ok && choice_make(&t->hf, choice->input, choice->roles, KEEPS_NONE, DTYPE_F32, true, err)
        && back_choose(&back, model, &t->hf, err) && list_stored(t, choice, without, err)
        && (t->names = weight_names_new(&t->hf, err)) != NULL;
    back_clear(&back);
    if (ok)
        *out = t;
    else
        translation_free(t);
    return ok || unknown;
}

void
translation_free(struct translation *t)
{
    if (!t)
        return;
    weight_names_free(t->names);
    choice_clear(&t->hf);
    free(t->stored);
    free(t);
}

const struct weight_names *
translation_names(const struct translation *t)
{
    return t->names;
}

/* --- places */

/* Adds a dimension of rows in front of the others. */
static bool
add_dim(struct change_rows *r, uint64_t n, uint64_t stride)
{
    if (n == 1 && r->dims != 0)
        return true;
    if (r->dims == CHANGE_DIMS)
        return false;
    for (unsigned d = r->dims++; d > 0; d--)
        r->dim[d] = r->dim[d - 1];
    r->dim[0].n = n;
    r->dim[0].stride = stride;
    return true;
}

/* Sets rows of `cols` elements from a layout. Returns false if the elements of a row are not adjacent. */
static bool
set_rows(struct change_rows *r, const struct layout *l, uint64_t first, uint64_t rows, uint64_t cols)
{
    uint64_t inner = 1;
    *r = (struct change_rows){ .first = first, .cols = cols };
    for (uint32_t d = l ? l->rank : 0; d-- != 0;) {
        uint64_t n = l->dim[d].n, stride = l->dim[d].stride, some = 1;
        if (inner < cols) {
            some = num_min(n, cols / inner);
            if (stride != inner || n % some != 0)
                return false;
            inner *= some;
        }
        if (n != some && !add_dim(r, n / some, stride * some))
            return false;
    }
    if (!l)
        return add_dim(r, rows, cols);
    return inner == cols && (r->dims != 0 || add_dim(r, rows, cols));
}

/* Returns true if a layout transposes a whole matrix. */
static bool
is_transposed(const struct layout *l, uint64_t rows, uint64_t cols)
{
    return l && l->rank == 2 && l->dim[0].n == rows && l->dim[0].stride == 1 && l->dim[1].n == cols && l->dim[1].stride == rows;
}

static bool
set_place(struct weight_place *place, const struct translation *t, const struct composed_part *part)
{
    const struct tensor *of;
    if (part->decode)
        of = part->decode->part[0];
    else
        of = part->copy;
    const struct layout *l = NULL;
    if (part->layout)
        l = part->layout;
    else if (part->copy)
        l = part->copy->layout;
    const struct stored key = { of->extent.file, of->extent.at, 0 };
    const struct stored *stored = bsearch(&key, t->stored, t->n, sizeof key, compare_stored);
    uint64_t numel, rows = place->shape.rank != 0 ? shape_dim(&place->shape, 0) : 1;
    if (!stored || !shape_numel(&place->shape, &numel) || numel == 0)
        return false;
    place->index = stored->index;
    place->op = part->op;
    place->nops = part->nops;
    place->transposed = place->shape.rank == 2 && is_transposed(l, rows, numel / rows);
    if (place->transposed)
        return set_rows(&place->rows, NULL, part->first, numel / rows, rows);
    return set_rows(&place->rows, l, part->first, rows, numel / rows);
}

bool
translation_place(struct weight_place *place, const struct translation *t, size_t found, struct err *err)
{
    const struct chosen *c = &t->hf.list[found];
    const struct tensor of = chosen_tensor(c);
    struct composed_part whole = { .copy = c->copy, .decode = c->decode };
    const struct composed_part *part = &whole;
    if (c->composed && c->composed->n == 1)
        part = &c->composed->part[0];
    char shown[STR_SHOWN];
    *place = (struct weight_place){ .shape = of.shape };
    return ((!c->composed || part != &whole) && !part->repack && (part->copy || part->decode) && set_place(place, t, part))
        || err_set(err, ERR_UNSUPPORTED, "%s: the base stores it in an order in which adapters are not merged",
            str_shown(shown, of.name, of.name_len));
}
