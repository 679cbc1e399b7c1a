/* Experts: one factor for all experts of a layer, and adapters that name experts otherwise than the base does. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/match.h"
#include "base/num.h"

/* The parameters of transformers' experts, in the order of its modules, and the tensors that a file has of one expert. */
static const struct parameter {
    const char *name;
    size_t parts;
    const char *part[2][2];             /* each by two names */
} parameters[] = {
    { "gate_up_proj", 2, { { "gate_proj", "w1" }, { "up_proj", "w3" } } },
    { "down_proj", 1, { { "down_proj", "w2" } } },
};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };

/* A module whose factors are those of all experts. */
struct expert_factors {
    struct match_job *m;
    const struct adapter *a;
    const struct adapter_module *module;        /* with the path of the parameter */
    uint64_t rank, experts, in, out;
    struct factor l, r;                 /* of expert 0: L [out, rank], R [rank, in] */
    uint64_t next_l, next_r;            /* elements from one expert to the next */
};

/* Adds the change of expert e to a place, of rows [row, row + the place's) of L. */
static bool
add_expert(const struct expert_factors *f, const struct weight_place *place, uint64_t e, uint64_t row, struct err *err)
{
    const struct tensor *t = f->module->factor[FACTOR_A];
    const struct arranging w = match_arranging(f->m, f->a, f->module, place, t);
    struct change_step step;
    struct factor l = f->l, r = f->r;
    struct product *p = catalog_alloc(w.memory, sizeof *p, err);
    if (!p)
        return false;
    l.first += e * f->next_l + row * l.di;
    r.first += e * f->next_r;
    *p = (struct product){ .rank = f->rank, .cols = place->rows.cols, .l = l, .r = r };
    if (place->transposed) {
        p->l = (struct factor){ r.t, r.first, r.dk, r.di };
        p->r = (struct factor){ l.t, l.first, l.dk, l.di };
    }
    return form_product_fits(p, &w, err) && form_lowrank_step(&step, &w, p) && match_add(f->m, f->a, f->module, place, t, &step, err);
}

/* --- where the experts are */

static bool
misfit(const struct adapter_module *module, const struct shape *s, struct err *err)
{
    char shape[SHAPE_TEXT], a[SHAPE_TEXT], b[SHAPE_TEXT];
    return adapter_fail(module, ERR_MALFORMED, err, "factors of shapes %s and %s do not fit experts of shape %s", shape_text(a,
        &module->factor[FACTOR_A]->shape), shape_text(b, &module->factor[FACTOR_B]->shape), shape_text(shape, s));
}

/* Copies model_type of the base's config.json; "" without one. */
static bool
read_type(char type[64], const struct match_job *m, struct err *err)
{
    json_t *config;
    *type = '\0';
    if (!match_config(&config, m, err))
        return false;
    const char *word = json_string_value(json_object_get(config, "model_type"));
    if (word && strlen(word) < 64)
        strcpy(type, word);
    json_decref(config);
    return true;
}

/* Decides if stacked experts [experts, x, y] are stored [in, out]: by the shape, or by the model if both fit. */
static bool
find_order(bool *transposed, const struct expert_factors *f, const struct shape *s, struct err *err)
{
    static const char *const stored[] = { "gpt_oss", "llama4", "llama4_text", "aria", "aria_text", NULL };
    char type[64];
    bool fits = s->rank == 3 && shape_dim(s, 0) == f->experts;
    bool plain = fits && shape_dim(s, 1) == f->out && shape_dim(s, 2) == f->in;
    bool other = fits && shape_dim(s, 1) == f->in && shape_dim(s, 2) == f->out;
    *transposed = !plain;
    if (!plain && !other)
        return misfit(f->module, s, err);
    if (!plain || !other)
        return true;
    if (!read_type(type, f->m, err))
        return false;
    if (!*type)
        return adapter_fail(f->module, ERR_UNSUPPORTED, err, "the experts are square, and without config.json their order is "
            "unknown");
    for (size_t i = 0; stored[i]; i++)
        *transposed = *transposed || strcmp(stored[i], type) == 0;
    return true;
}

/* Adds the changes of all experts of a stacked tensor. */
static bool
add_stacked(const struct expert_factors *f, const struct weight_place *stack, struct err *err)
{
    bool transposed;
    if (!find_order(&transposed, f, &stack->shape, err))
        return false;
    uint64_t rows = transposed ? f->in : f->out, cols = transposed ? f->out : f->in;
    for (uint64_t e = 0; e < f->experts; e++) {
        struct weight_place place = *stack;
        if (!place_rows(&place, e * rows, rows, cols))
            return misfit(f->module, &stack->shape, err);
        place.transposed = transposed;
        if (!add_expert(f, &place, e, 0, err))
            return false;
    }
    return true;
}

/* Finds the tensor of one part of expert e: PATH.E.NAME.weight, by one of two names. */
static bool
find_part(struct weight_place *place, const struct expert_factors *f, const char *path, size_t n, uint64_t e, const char *const names[2],
    enum weight_search how, struct err *err)
{
    bool ok = true;
    place->index = WEIGHT_NONE;
    for (size_t i = 0; ok && i < 2 && names[i] && place->index == WEIGHT_NONE; i++) {
        struct str name = { 0 };
        str_add(&name, path, n);
        str_format(&name, ".%" PRIu64 ".%s.weight", e, names[i]);
        ok = (!name.failed || err_memory(err, name.room)) && match_find(place, f->m, f->a, name.p, name.len, how, err);
        str_clear(&name);
    }
    return ok;
}

/* Adds the changes of experts that are separate tensors: `path` is that of the experts. Sets *none if the base has no such tensors. */
static bool
add_apart(bool *none, const struct expert_factors *f, const char *path, size_t n, const struct parameter *p, struct err *err)
{
    struct weight_place place;
    uint64_t rows = f->out / p->parts;
    *none = false;
    for (uint64_t e = 0; e < f->experts; e++)
        for (size_t i = 0; i < p->parts; i++) {
            if (!find_part(&place, f, path, n, e, p->part[i], WEIGHT_ENDS, err))
                return false;
            *none = place.index == WEIGHT_NONE && e == 0 && i == 0;
            if (*none)
                return true;
            if (place.index == WEIGHT_NONE)
                return match_missing(f->m, f->a, f->module, err);
            if (place.shape.rank != 2 || change_rows_count(&place.rows) != rows || place.rows.cols != f->in
                    || rows * p->parts != f->out)
                return misfit(f->module, &place.shape, err);
            if (!add_expert(f, &place, e, i * rows, err))
                return false;
        }
    return find_part(&place, f, path, n, f->experts, p->part[0], WEIGHT_WHOLE, err) && (place.index == WEIGHT_NONE
        || adapter_fail(f->module, ERR_MALFORMED, err, "the factors are for %" PRIu64 " experts, but the base has more", f->experts));
}

/* --- adapters made with target_parameters */

/* Returns true if the config names a parameter of the experts at PATH. */
static bool
is_targeted(const struct adapter *a, const char *path, size_t n, const char *parameter)
{
    const json_t *list = adapter_member(a, "target_parameters"), *item;
    size_t i;
    json_array_foreach(list, i, item) {
        const char *text = json_string_value(item);
        size_t len = text ? strlen(text) : 0, tail = strlen(parameter), rest = len - tail - 1;
        if (len == tail ? strcmp(text, parameter) == 0
                : len > tail + 1 && text[rest] == '.' && strcmp(text + rest + 1, parameter) == 0 && rest <= n
                    && memcmp(path + n - rest, text, rest) == 0 && (rest == n || path[n - rest - 1] == '.'))
            return true;
    }
    return false;
}

/* Finds the parameter of a module: the last one that is named has no base_layer, the one before has one. */
static const struct parameter *
find_parameter(const struct adapter *a, const char *path, size_t n, size_t levels)
{
    for (size_t i = PARAMETERS; i-- != 0;)
        if (is_targeted(a, path, n, parameters[i].name) && levels-- == 0)
            return &parameters[i];
    return NULL;
}

/* Sets the factors of all experts: A [rank * experts, in], expert by expert; B [out, rank * experts], rank by rank. */
static bool
set_joined(struct expert_factors *f, struct err *err)
{
    const struct tensor *a = f->module->factor[FACTOR_A], *b = f->module->factor[FACTOR_B];
    uint64_t na, nb, all = shape_dim(&a->shape, 0), r = f->module->rank;
    if (all != shape_dim(&b->shape, 1) || r == 0 || all % r != 0 || !shape_numel(&a->shape, &na) || !shape_numel(&b->shape, &nb))
        return adapter_fail(f->module, ERR_MALFORMED, err, "factors of rank %" PRIu64 " and %" PRIu64 ", expected a multiple of %"
            PRIu64, all, shape_dim(&b->shape, 1), r);
    f->rank = r;
    f->experts = all / r;
    f->in = na / all;
    f->out = nb / all;
    f->l = (struct factor){ b, 0, all, f->experts };
    f->r = (struct factor){ a, 0, f->in, 1 };
    f->next_l = 1;
    f->next_r = r * f->in;
    return true;
}

/* Makes a module with the path of a parameter, and its rank and scale. */
static bool
name_parameter(struct adapter_module *own, const struct expert_factors *f, const char *path, size_t n, const struct parameter *p,
    struct err *err)
{
    struct catalog *memory = f->m->job->model->catalog;
    size_t len = n + 1 + strlen(p->name);
    char *name = catalog_alloc(memory, len + 1, err);
    if (!name)
        return false;
    memcpy(name, path, n);
    name[n] = '.';
    strcpy(name + n + 1, p->name);
    *own = *f->module;
    own->name = name;
    own->len = (uint32_t)len;
    return adapter_configure(own, f->a, name, len, err);
}

static bool
add_joined(struct match_job *m, const struct adapter *a, const struct adapter_module *module, const char *path, size_t n,
    const struct parameter *p, struct err *err)
{
    struct expert_factors f = { .m = m, .a = a, .module = module };
    struct adapter_module own;
    struct weight_place stack;
    bool none;
    if (module->factor[FACTOR_MAGNITUDE] || module->factor[FACTOR_B_BIAS])
        return adapter_fail(module, ERR_UNSUPPORTED, err, "DoRA and biases of target_parameters are not merged");
    if (!name_parameter(&own, &f, path, n, p, err))
        return false;
    f.module = &own;
    if (!set_joined(&f, err) || !match_find(&stack, m, a, own.name, own.len, WEIGHT_ENDS, err))
        return false;
    if (stack.index != WEIGHT_NONE)
        return add_stacked(&f, &stack, err);
    return add_apart(&none, &f, path, n, p, err) && (!none || match_missing(m, a, &own, err));
}

/* --- factors of three dimensions: one matrix an expert */

static bool
set_stacked(struct expert_factors *f, struct err *err)
{
    const struct tensor *a = f->module->factor[FACTOR_A], *b = f->module->factor[FACTOR_B];
    uint64_t na, nb;
    f->experts = shape_dim(&b->shape, 0);
    f->out = shape_dim(&b->shape, 1);
    f->rank = shape_dim(&b->shape, 2);
    if (!shape_numel(&a->shape, &na) || !shape_numel(&b->shape, &nb) || nb == 0 || na % (f->experts * f->rank) != 0
            || (a->shape.rank == 3 && (shape_dim(&a->shape, 0) != f->experts || shape_dim(&a->shape, 1) != f->rank)))
        return adapter_fail(f->module, ERR_MALFORMED, err, "the factors of its experts do not fit each other");
    f->in = na / f->experts / f->rank;
    f->l = (struct factor){ b, 0, f->rank, 1 };
    f->r = (struct factor){ a, 0, f->in, 1 };
    f->next_l = f->out * f->rank;
    f->next_r = f->rank * f->in;
    return true;
}

/* MLX: switch_mlp.NAME is NAME of all experts. */
static bool
add_switch(struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
{
    static const char switches[] = ".switch_mlp.";
    struct expert_factors f = { .m = m, .a = a, .module = module };
    struct weight_place stack;
    if (!set_stacked(&f, err) || !match_module(&stack, m, a, module, false, err))
        return false;
    if (stack.index != WEIGHT_NONE)
        return add_stacked(&f, &stack, err);
    const char *at = memmem(module->name, module->len, switches, sizeof switches - 1);
    struct parameter own = { .parts = 1 };
    struct str path = { 0 }, last = { 0 };
    bool none = true;
    if (at) {
        str_add(&path, module->name, (size_t)(at - module->name));
        str_text(&path, ".experts");
        at += sizeof switches - 1;
        str_add(&last, at, (size_t)(module->name + module->len - at));
    }
    own.part[0][0] = last.p;
    bool ok = (!path.failed && !last.failed) || err_memory(err, module->len);
    ok = ok && (!at || add_apart(&none, &f, path.p, path.len, &own, err)) && (!none || match_missing(m, a, module, err));
    str_clear(&path);
    str_clear(&last);
    return ok;
}

/* --- modules of single experts, on stacked tensors */

/* Splits PATH.experts.E.NAME. Returns NULL if a name is not of this form. */
static const struct parameter *
split_expert(const char *name, size_t len, size_t *path, uint64_t *e, size_t *part)
{
    static const char experts[] = "experts.";
    const char *at = NULL;
    for (size_t i = 0; i + sizeof experts - 1 < len; i++)
        if ((i == 0 || name[i - 1] == '.') && memcmp(name + i, experts, sizeof experts - 1) == 0)
            at = name + i;
    if (!at)
        return NULL;
    const char *p = at + sizeof experts - 1, *end = name + len;
    *path = (size_t)(p - 1 - name);
    for (*e = 0; p < end && *p >= '0' && *p <= '9' && *e < UINT32_MAX; p++)
        *e = *e * 10 + (uint64_t)(*p - '0');
    if (p == at + sizeof experts - 1 || p >= end || *p != '.')
        return NULL;
    p++;
    for (size_t i = 0; i < PARAMETERS; i++)
        for (*part = 0; *part < parameters[i].parts; (*part)++)
            for (size_t k = 0; k < 2; k++) {
                const char *word = parameters[i].part[*part][k];
                if (strlen(word) == (size_t)(end - p) && memcmp(word, p, (size_t)(end - p)) == 0)
                    return &parameters[i];
            }
    return NULL;
}

/* Limits a stack to one part of one expert. */
static bool
take_part(struct weight_place *place, const struct expert_factors *f, uint64_t e, const struct parameter *p, size_t part, struct err *err)
{
    bool transposed;
    struct expert_factors whole = *f;
    uint64_t dim[2] = { f->out, f->in };
    struct catalog *memory = f->m->job->model->catalog;
    uint8_t *packed = catalog_alloc(memory, 2 * SHAPE_DIM, err);
    if (!packed)
        return false;
    whole.out = f->out * p->parts;
    whole.experts = place->shape.rank == 3 ? shape_dim(&place->shape, 0) : 0;
    if (!find_order(&transposed, &whole, &place->shape, err))
        return false;
    bool fits = e < whole.experts && (transposed ? place_rows(place, e * f->in, f->in, whole.out)
        : place_rows(place, e * whole.out + part * f->out, f->out, f->in));
    if (!fits || (transposed && !place_cols(place, part * f->out, f->out)))
        return misfit(f->module, &place->shape, err);
    place->transposed = transposed;
    shape_pack(packed, dim, 2);
    place->shape = (struct shape){ 2, packed };
    return true;
}

bool
match_expert(struct weight_place *place, struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
{
    const struct tensor *fa = module->factor[FACTOR_A], *fb = module->factor[FACTOR_B];
    struct expert_factors f = { .m = m, .a = a, .module = module };
    size_t path, part;
    uint64_t e, na, nb;
    const struct parameter *p = split_expert(module->name, module->len, &path, &e, &part);
    if (!p || !fa || !fb || module->order != ORDER_LINEAR || module->rank == 0 || !shape_numel(&fa->shape, &na)
            || !shape_numel(&fb->shape, &nb))
        return true;
    f.in = na / module->rank;
    f.out = nb / module->rank;
    struct str name = { 0 };
    str_add(&name, module->name, path);
    str_format(&name, ".%s", p->name);
    bool ok = (!name.failed || err_memory(err, name.room)) && match_find(place, m, a, name.p, name.len, WEIGHT_ENDS, err)
        && (place->index == WEIGHT_NONE || take_part(place, &f, e, p, part, err));
    str_clear(&name);
    return ok;
}

bool
match_experts(bool *taken, struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
{
    const json_t *targets = adapter_member(a, "target_parameters");
    size_t n = module->len, levels = 0, end;
    const struct tensor *b = module->factor[FACTOR_B];
    *taken = false;
    if (!module->factor[FACTOR_A])
        return true;
    if ((module->order == ORDER_MLX || a->family == ADAPTER_GGUF) && b->shape.rank == 3) {
        *taken = true;
        return add_switch(m, a, module, err);
    }
    if (!json_is_array(targets) || json_array_size(targets) == 0)
        return true;
    for (end = n; str_strip(module->name, &end, ".base_layer"); levels++)
        n = end;
    const struct parameter *p = find_parameter(a, module->name, n, levels);
    *taken = p != NULL;
    return !p || add_joined(m, a, module, module->name, n, p, err);
}
