/* Tensors that are added, v + s * x, or that replace the weight: rows of tokens, or all of it. */
#include <inttypes.h>
#include <stdlib.h>

#include "adapter/form.h"
#include "base/num.h"

enum { FEW = 512 };

/* Does something with the elements of a tensor of the shape of the weight, a few at a time. */
static bool
each(const struct change_owner *o, const struct tensor *t, uint64_t cols, const struct product_part *part,
    void (*take)(double *v, const float *x, size_t n, double s), double s, struct err *err)
{
    float x[FEW];
    bool joined = part->cols == cols && part->stride == cols;
    size_t rows = joined ? 1 : part->rows, n = joined ? part->rows * part->cols : part->cols;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0, some; j < n; j += some) {
            some = num_min(n - j, FEW);
            if (!factor_elements(o->model, o->k, t, (part->row + i) * cols + part->col + j, some, x, err))
                return false;
            take(part->v + i * part->stride + j, x, some, s);
        }
    return true;
}

/* A tensor whose row `row` is added to the first row of the place. */
struct addend {
    const struct tensor *t;
    uint64_t row;
};

static void
take_sum(double *v, const float *x, size_t n, double s)
{
    for (size_t i = 0; i < n; i++) {
        double product = s * (double)x[i];
        v[i] += product;
    }
}

static bool
apply_add(const struct change_owner *o, const struct change_step *step, const struct product_part *part, struct err *err)
{
    const struct addend *addend = step->own;
    struct product_part own = *part;
    own.row += addend->row;
    return each(o, addend->t, step->rows.cols, &own, take_sum, step->s, err);
}

static const struct change_form add = { "sum", CHANGE_ADD, apply_add };

bool
form_add_rows(struct change_step *step, const struct arranging *w, double s, uint64_t row, struct err *err)
{
    struct addend *addend = catalog_alloc(w->memory, sizeof *addend, err);
    if (!addend)
        return false;
    *addend = (struct addend){ w->t, row };
    *step = (struct change_step){ .form = &add, .rows = w->place->rows, .s = s, .own = addend };
    return true;
}

/* Adds w->t, times s. */
static bool
arrange_add(struct change_step *step, const struct arranging *w, double s, struct err *err)
{
    uint64_t n;
    if (w->place->transposed)
        return adapter_fail(w->module, ERR_UNSUPPORTED, err, "the base stores its weight transposed");
    if (!shape_numel(&w->t->shape, &n) || n != change_rows_count(&w->place->rows) * w->place->rows.cols)
        return form_misfit(w, w->t, err);
    return form_add_rows(step, w, s, 0, err);
}

bool
form_add(struct change_step *step, const struct arranging *w, struct err *err)
{
    return arrange_add(step, w, w->a->c, err);
}

bool
form_add_bias(struct change_step *step, const struct arranging *w, struct err *err)
{
    return arrange_add(step, w, w->module->scale, err);
}

/* --- replaced, for bases that store the weight in another order than the adapter */

/* Operations that turn the adapter's value into the base's. */
struct set {
    const struct tensor *t;
    struct operation op;
    bool operates;
};

static void
take_value(double *v, const float *x, size_t n, double s)
{
    (void)s;
    for (size_t i = 0; i < n; i++)
        v[i] = x[i];
}

static bool
apply_set(const struct change_owner *o, const struct change_step *step, const struct product_part *part, struct err *err)
{
    const struct set *set = step->own;
    if (!each(o, set->t, step->rows.cols, part, take_value, 1, err))
        return false;
    for (size_t i = 0; set->operates && i < part->rows; i++)
        for (size_t j = 0; j < part->cols; j++) {
            double *v = part->v + i * part->stride + j;
            float x = (float)*v;
            operations_apply(&set->op, 1, &x, 1, false);
            *v = x;
        }
    return true;
}

static const struct change_form set_form = { "replaced", CHANGE_REPLACE, apply_set };

bool
form_set(struct change_step *step, const struct arranging *w, struct err *err)
{
    struct set *set = catalog_alloc(w->memory, sizeof *set, err);
    if (!set || !arrange_add(step, w, 1, err))
        return false;
    *set = (struct set){ .t = w->t, .operates = w->place->nops != 0 };
    if (w->place->nops > 1)
        return adapter_fail(w->module, ERR_UNSUPPORTED, err, "the base stores this weight transformed (such as norm + 1)");
    if (set->operates)
        set->op = operation_inverse(w->place->op[0]);
    step->form = &set_form;
    step->own = set;
    return true;
}

/* --- rows of tokens */

struct token {
    uint64_t row, saved;                /* row of the weight, row of the tensor */
};

struct tokens {
    const struct tensor *t;
    size_t n;
    struct token at[];                  /* n of them, by row */
};

static bool
apply_tokens(const struct change_owner *o, const struct change_step *step, const struct product_part *part, struct err *err)
{
    const struct tokens *tokens = step->own;
    size_t low = 0, high = tokens->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (tokens->at[mid].row < part->row)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < tokens->n && tokens->at[low].row - part->row < part->rows; low++) {
        struct product_part row = { .row = tokens->at[low].saved, .col = part->col, .rows = 1, .cols = part->cols,
            .stride = part->cols, .v = part->v + (tokens->at[low].row - part->row) * part->stride };
        if (!each(o, tokens->t, step->rows.cols, &row, take_value, 1, err))
            return false;
    }
    return true;
}

static const struct change_form tokens_form = { "trainable tokens", CHANGE_TOKENS, apply_tokens };

static int
compare_tokens(const void *pa, const void *pb)
{
    const struct token *a = pa, *b = pb;
    return (a->row > b->row) - (a->row < b->row);
}

/* Returns the row numbers of a module: of the whole config, or by the end of the module's path. */
static const json_t *
find_indices(const struct arranging *w)
{
    const json_t *list = adapter_member(w->a, "token_indices"), *value;
    const char *key;
    if (!list)
        list = adapter_member(w->a, "trainable_token_indices");
    if (!json_is_object(list))
        return list;
    json_object_foreach((json_t *)list, key, value) {
        size_t n = w->module->len;
        if (str_strip(w->module->name, &n, key))
            return value;
    }
    return NULL;
}

bool
form_tokens(struct change_step *step, const struct arranging *w, struct err *err)
{
    const struct adapter_module *m = w->module;
    const json_t *list = find_indices(w), *item;
    const uint64_t rows = change_rows_count(&w->place->rows);
    size_t i, n = json_array_size(list);
    uint64_t numel;
    if (w->place->transposed || w->t->shape.rank != 2 || !shape_numel(&w->t->shape, &numel)
            || numel != n * w->place->rows.cols || n == 0 || shape_dim(&w->t->shape, 0) != n)
        return !json_is_array(list) ? adapter_fail(m, ERR_MALFORMED, err, "adapter_config.json does not list its token indices")
            : form_misfit(w, w->t, err);
    struct tokens *tokens = catalog_alloc(w->memory, sizeof *tokens + n * sizeof *tokens->at, err);
    if (!tokens)
        return false;
    *tokens = (struct tokens){ w->t, n };
    json_array_foreach(list, i, item) {
        if (!json_is_integer(item) || json_integer_value(item) < 0 || (uint64_t)json_integer_value(item) >= rows)
            return adapter_fail(m, ERR_MALFORMED, err, "adapter_config.json lists a token index that is not one of the base's %"
                PRIu64 " rows", rows);
        tokens->at[i] = (struct token){ (uint64_t)json_integer_value(item), i };
    }
    qsort(tokens->at, n, sizeof *tokens->at, compare_tokens);
    for (i = 1; i < n; i++)
        if (tokens->at[i].row == tokens->at[i - 1].row)
            return adapter_fail(m, ERR_MALFORMED, err, "adapter_config.json lists token index %" PRIu64 " twice", tokens->at[i].row);
    *step = (struct change_step){ .form = &tokens_form, .rows = w->place->rows, .s = 1, .own = tokens };
    for (i = 0; i < n; i++)
        step->more = (step->more ^ tokens->at[i].row ^ tokens->at[i].saved << 32) * 0x9E3779B97F4A7C15u;
    return true;
}

bool
form_tokens_overlap(const struct change_step *a, const struct change_step *b)
{
    const struct tokens *x = a->own, *y = b->own;
    for (size_t i = 0, j = 0; i < x->n && j < y->n;) {
        if (x->at[i].row == y->at[j].row)
            return true;
        if (x->at[i].row < y->at[j].row)
            i++;
        else
            j++;
    }
    return false;
}
