/* IA3: v * l, one value for each row or for each column. */
#include <string.h>

#include "adapter/form.h"
#include "base/num.h"

struct scale {
    const struct tensor *l;
    double c;
    bool columns;
    uint64_t each;                      /* adjacent columns that share a value */
};

/* Returns l, or a value between 1 and l. */
static double
value(float l, double c)
{
    double more = (double)l - 1, some = c * more;
    if (c == 1)
        return (double)l;
    return 1 + some;
}

static bool
apply_rows(const struct change_owner *o, const struct scale *scale, const struct product_part *part, struct err *err)
{
    float l;
    for (size_t i = 0; i < part->rows; i++) {
        if (!factor_elements(o->model, o->k, scale->l, part->row + i, 1, &l, err))
            return false;
        for (size_t j = 0; j < part->cols; j++)
            part->v[i * part->stride + j] *= value(l, scale->c);
    }
    return true;
}

static bool
apply_columns(const struct change_owner *o, const struct scale *scale, const struct product_part *part, struct err *err)
{
    enum { FEW = 512 };
    float l[FEW];
    for (size_t j = 0, n; j < part->cols; j += n) {
        uint64_t from = (part->col + j) / scale->each, to;
        n = num_min(part->cols - j, FEW);
        to = (part->col + j + n - 1) / scale->each + 1;
        if (!factor_elements(o->model, o->k, scale->l, from, (size_t)(to - from), l, err))
            return false;
        for (size_t i = 0; i < part->rows; i++)
            for (size_t e = 0; e < n; e++)
                part->v[i * part->stride + j + e] *= value(l[(part->col + j + e) / scale->each - from], scale->c);
    }
    return true;
}

static bool
form_scale_apply(const struct change_owner *o, const struct change_step *step, const struct product_part *part, struct err *err)
{
    const struct scale *scale = step->own;
    if (scale->columns)
        return apply_columns(o, scale, part, err);
    return apply_rows(o, scale, part, err);
}

static const struct change_form ia3 = { "IA3", CHANGE_ADD, form_scale_apply };

/* Sets *yes if the config declares a module as one whose inputs are scaled: the path ends with one of a list, or matches an
 * expression. */
static bool
is_feedforward(bool *yes, const struct arranging *w, struct err *err)
{
    const json_t *names = adapter_member(w->a, "feedforward_modules"), *name;
    size_t i;
    *yes = false;
    if (json_is_string(names))
        return adapter_matches(yes, w->module->name, w->module->len, "(%s)$",
            json_string_value(names), "feedforward_modules", err);
    json_array_foreach(names, i, name)
        *yes = *yes || (json_is_string(name) && json_string_length(name) <= w->module->len && memcmp(w->module->name + w->module->len
            - json_string_length(name), json_string_value(name), json_string_length(name)) == 0);
    return true;
}

static bool
arrange(struct change_step *step, const struct arranging *w, bool feedforward, struct err *err)
{
    uint64_t n, rows = change_rows_count(&w->place->rows), cols = w->place->rows.cols, inputs = cols;
    struct scale *scale = catalog_alloc(w->memory, sizeof *scale, err);
    if (!scale)
        return false;
    *scale = (struct scale){ w->t, w->a->c, feedforward != form_swaps(w), 1 };
    if (scale->columns && w->place->shape.rank > 2 && !w->place->transposed)
        inputs = shape_dim(&w->place->shape, 1);
    scale->each = cols / inputs;
    *step = (struct change_step){ .form = &ia3, .rows = w->place->rows, .s = w->a->c, .own = scale,
        .more = scale->columns };
    return (shape_numel(&w->t->shape, &n) && n == (scale->columns ? inputs : rows)) || form_misfit(w, w->t, err);
}

bool
form_scale(struct change_step *step, const struct arranging *w, struct err *err)
{
    bool feedforward;
    return is_feedforward(&feedforward, w, err) && arrange(step, w, feedforward, err);
}

bool
form_scale_bias(struct change_step *step, const struct arranging *w, struct err *err)
{
    bool feedforward;
    *step = (struct change_step){ 0 };
    return is_feedforward(&feedforward, w, err) && (feedforward || arrange(step, w, false, err));
}
