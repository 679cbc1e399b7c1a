/* Modules of experts: one factor for all experts of a layer, or one for each where the base stacks them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/experts.h"
#include "adapter/match_priv.h"
#include "base/num.h"

/* Which way round the factors are: PEFT before 0.19 had A act on the second dimension of a parameter [experts, one, two], whatever it
 * was. */
enum sides { SIDES_NEW, SIDES_OLD, SIDES_UNKNOWN };

/* A module whose factors hold all experts. */
struct expert_factors {
    struct match_job *m;
    const struct adapter *a;
    const struct adapter_module *module;        /* with the path of the parameter */
    uint64_t rank, experts, in, out;
    struct factor l, r;                 /* of expert 0: L [out, rank], R [rank, in] */
    uint64_t next_l, next_r;            /* elements from one expert to the next */
    enum sides sides;
};

/* Exchanges L and R, and with them rows and columns. */
static void
exchange(struct expert_factors *f)
{
    const struct expert_factors was = *f;
    f->l = (struct factor){ was.r.t, was.r.first, was.r.dk, was.r.di };
    f->r = (struct factor){ was.l.t, was.l.first, was.l.dk, was.l.di };
    f->next_l = was.next_r;
    f->next_r = was.next_l;
    f->out = was.in;
    f->in = was.out;
}

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

/* Reads model_type of the base's config.json. *known: it has one; *transposed: this model stores experts as [in, out]. */
static bool
read_type(bool *known, bool *transposed, const struct match_job *m, struct err *err)
{
    static const char *const stored[] = { "gpt_oss", "llama4", "llama4_text", "aria", "aria_text", NULL };
    json_t *config;
    if (!match_config(&config, m, err))
        return false;
    const char *word = json_string_value(json_object_get(config, "model_type"));
    *known = word != NULL;
    *transposed = false;
    for (size_t i = 0; word && stored[i]; i++)
        *transposed = *transposed || strcmp(stored[i], word) == 0;
    json_decref(config);
    return true;
}

/* Decides if A and B of square experts are exchanged, for a model that stores them as [out, in]. */
static bool
is_old(const struct expert_factors *f)
{
    char shown[STR_SHOWN];
    if (f->sides == SIDES_UNKNOWN && !f->m->warned) {
        catalog_warn(f->m->job->model->catalog, "%s: module %s: its experts are square, and adapter_config.json has no peft_version: "
            "peft before 0.19 wrote their factors the other way round", f->a->shown, str_shown(shown, f->module->name, f->module->len));
        f->m->warned = true;
    }
    return f->sides == SIDES_OLD;
}

/* Decides if stacked experts [experts, x, y] are stored [in, out]: by the shape, or by the model if both fit. */
static bool
find_order(bool *transposed, const struct expert_factors *f, const struct shape *s, struct err *err)
{
    bool fits = s->rank == 3 && shape_dim(s, 0) == f->experts, known;
    bool plain = fits && shape_dim(s, 1) == f->out && shape_dim(s, 2) == f->in;
    bool other = fits && shape_dim(s, 1) == f->in && shape_dim(s, 2) == f->out;
    *transposed = !plain;
    if (!plain && !other)
        return misfit(f->module, s, err);
    if (!plain || !other)
        return true;
    if (!read_type(&known, transposed, f->m, err))
        return false;
    if (!known && f->sides != SIDES_OLD)
        return adapter_fail(f->module, ERR_UNSUPPORTED, err, "the experts are square, and without config.json their order is "
            "unknown");
    *transposed = *transposed || is_old(f);
    return true;
}

/* Exchanges the factors of experts that are matrices [rows, cols] each if that is the way round that they are. */
static bool
find_sides(struct expert_factors *f, uint64_t rows, uint64_t cols, struct err *err)
{
    bool plain = f->out == rows && f->in == cols, other = f->in == rows && f->out == cols, known, transposed = false;
    if (plain && other && f->sides != SIDES_NEW && !read_type(&known, &transposed, f->m, err))
        return false;
    if (other && f->sides != SIDES_NEW && (!plain || (!transposed && is_old(f))))
        exchange(f);
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

/* Adds the changes of experts that are separate tensors below `path`. Sets *none if the base has no such tensors. */
static bool
add_apart(bool *none, const struct expert_factors *factors, const char *path, size_t n, const struct parameter *p, struct err *err)
{
    struct expert_factors own = *factors;
    const struct expert_factors *f = &own;
    struct weight_place place;
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
            uint64_t rows = change_rows_count(&place.rows);
            if (e == 0 && i == 0 && !find_sides(&own, rows * p->parts, place.rows.cols, err))
                return false;
            if (place.shape.rank != 2 || rows * p->parts != f->out || place.rows.cols != f->in)
                return misfit(f->module, &place.shape, err);
            if (!add_expert(f, &place, e, i * rows, err))
                return false;
        }
    return find_part(&place, f, path, n, f->experts, p->part[0], WEIGHT_WHOLE, err) && (place.index == WEIGHT_NONE
        || adapter_fail(f->module, ERR_MALFORMED, err, "the factors are for %" PRIu64 " experts, but the base has more", f->experts));
}

/* --- adapters made with target_parameters */

/* Sets *sides by the version of PEFT. A version between two releases could be of either side. */
static bool
read_sides(enum sides *sides, const struct expert_factors *f, struct err *err)
{
    const char *word = json_string_value(adapter_member(f->a, "peft_version"));
    char shown[STR_SHOWN], *end;
    *sides = SIDES_UNKNOWN;
    if (!word || !*word)
        return true;
    unsigned long major = strtoul(word, &end, 10), minor = *end == '.' ? strtoul(end + 1, &end, 10) : 0;
    if (word[0] < '0' || word[0] > '9' || *end != '.')
        return adapter_fail(f->module, ERR_UNSUPPORTED, err, "adapter_config.json: peft_version %s is not a version, which decides how "
            "factors of experts are stored", str_shown(shown, word, strlen(word)));
    if (major > 0 || minor >= 19)
        *sides = SIDES_NEW;
    else if (strstr(word, "dev"))
        *sides = SIDES_UNKNOWN;
    else
        *sides = SIDES_OLD;
    return true;
}

/* Sets the factors of all experts: A [rank * experts, in], expert by expert; B [out, rank * experts], rank by rank or grouped by
 * expert. */
static bool
set_joined(struct expert_factors *f, struct err *err)
{
    const struct tensor *a = f->module->factor[FACTOR_A], *b = f->module->factor[FACTOR_B];
    const char *layout = json_string_value(adapter_member(f->a, ADAPTER_B_LAYOUT));
    bool grouped = layout && strcmp(layout, ADAPTER_B_GROUPED) == 0;
    uint64_t na, nb, all = shape_dim(&a->shape, 0), r = f->module->rank;
    if (all != shape_dim(&b->shape, 1) || r == 0 || all % r != 0 || !shape_numel(&a->shape, &na) || !shape_numel(&b->shape, &nb))
        return adapter_fail(f->module, ERR_MALFORMED, err, "factors of rank %" PRIu64 " and %" PRIu64 ", expected a multiple of %"
            PRIu64, all, shape_dim(&b->shape, 1), r);
    f->rank = r;
    f->experts = all / r;
    f->in = na / all;
    f->out = nb / all;
    f->l = grouped ? (struct factor){ b, 0, all, 1 } : (struct factor){ b, 0, all, f->experts };
    f->r = (struct factor){ a, 0, f->in, 1 };
    if (grouped)
        f->next_l = r;
    else
        f->next_l = 1;
    f->next_r = r * f->in;
    return read_sides(&f->sides, f, err);
}

/* Makes a module with the path of a parameter. */
static bool
name_parameter(struct adapter_module *own, const struct match_job *m, const struct adapter_module *module, struct err *err)
{
    const char *last = module->parameter->name;
    size_t n = module->path, len = n + 1 + strlen(last);
    char *name = catalog_alloc(m->job->model->catalog, len + 1, err);
    if (!name)
        return false;
    memcpy(name, module->name, n);
    name[n] = '.';
    strcpy(name + n + 1, last);
    *own = *module;
    own->name = name;
    own->len = (uint32_t)len;
    return true;
}

/* Adds the changes of a parameter. *taken: it is one of experts; a weight with two dimensions belongs to an ordinary module. */
static bool
add_joined(bool *taken, struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
{
    struct expert_factors f = { .m = m, .a = a };
    struct adapter_module own;
    struct weight_place stack;
    bool none;
    if (!name_parameter(&own, m, module, err) || !match_find(&stack, m, a, own.name, own.len, WEIGHT_ENDS, err))
        return false;
    f.module = &own;
    *taken = module->parameter->parts != 0 || (stack.index != WEIGHT_NONE && stack.shape.rank == 3);
    if (!*taken)
        return true;
    if (module->factor[FACTOR_MAGNITUDE] || module->factor[FACTOR_B_BIAS])
        return adapter_fail(module, ERR_UNSUPPORTED, err, "DoRA and biases of target_parameters are not merged");
    if (!set_joined(&f, err))
        return false;
    if (stack.index != WEIGHT_NONE)
        return add_stacked(&f, &stack, err);
    return add_apart(&none, &f, own.name, module->path, module->parameter, err) && (!none || match_missing(m, a, &own, err));
}

/* --- factors of three dimensions: one matrix an expert */

/* Sets factors A [experts, rank, in] and B [experts, out, rank]; one can have a single matrix for all experts. Old files of MLX
 * have A [experts * rank, in]. */
static bool
set_stacked(struct expert_factors *f, struct err *err)
{
    const struct tensor *a = f->module->factor[FACTOR_A], *b = f->module->factor[FACTOR_B];
    uint64_t na, nb, ea, eb = shape_dim(&b->shape, 0), most;
    f->out = shape_dim(&b->shape, 1);
    f->rank = shape_dim(&b->shape, 2);
    if (a->shape.rank == 3)
        ea = shape_dim(&a->shape, 0);
    else
        ea = eb;
    most = num_max(ea, eb);
    if (!shape_numel(&a->shape, &na) || !shape_numel(&b->shape, &nb) || na == 0 || nb == 0 || na % (ea * f->rank) != 0
            || f->rank != f->module->rank || (ea != eb && ea != 1 && eb != 1)
            || (a->shape.rank == 3 && shape_dim(&a->shape, 1) != f->rank))
        return adapter_fail(f->module, ERR_MALFORMED, err, "the factors of its experts do not fit each other");
    f->experts = most;
    f->in = na / ea / f->rank;
    f->l = (struct factor){ b, 0, f->rank, 1 };
    f->r = (struct factor){ a, 0, f->in, 1 };
    if (eb == 1)
        f->next_l = 0;
    else
        f->next_l = f->out * f->rank;
    if (ea == 1)
        f->next_r = 0;
    else
        f->next_r = f->rank * f->in;
    return true;
}

/* Adds the changes of a stacked parameter, whose name has no ".weight". *taken: the base has it, as a stack or as single experts. */
static bool
add_stack(bool *taken, struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
{
    struct expert_factors f = { .m = m, .a = a, .module = module };
    struct weight_place stack;
    bool none = true;
    if (!match_module(&stack, m, a, module, false, err))
        return false;
    if (stack.index != WEIGHT_NONE)
        return true;                            /* of an ordinary module */
    if (!match_find(&stack, m, a, module->name, module->len, WEIGHT_ENDS, err))
        return false;
    *taken = stack.index != WEIGHT_NONE;
    if (*taken)
        return set_stacked(&f, err) && add_stacked(&f, &stack, err);
    for (size_t i = 0; i < EXPERTS_PARAMETERS && none; i++) {
        size_t n = module->len, tail = strlen(experts_parameters[i].name);
        if (experts_parameters[i].parts == 0 || !experts_ends_in(module->name, n, experts_parameters[i].name, tail) || n == tail)
            continue;
        if (!set_stacked(&f, err) || !add_apart(&none, &f, module->name, n - tail - 1, &experts_parameters[i], err))
            return false;
    }
    *taken = !none;
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
    if (place->shape.rank == 3)
        whole.experts = shape_dim(&place->shape, 0);
    else
        whole.experts = 0;
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

/* Finds the part of a stacked tensor that is the weight of a module of one expert; *place is unchanged if no expert has it. */
static bool
find_expert(struct weight_place *place, struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
{
    const struct tensor *fa = module->factor[FACTOR_A], *fb = module->factor[FACTOR_B];
    struct expert_factors f = { .m = m, .a = a, .module = module };
    size_t path, part;
    uint64_t e, na, nb;
    const struct parameter *p = experts_split(module->name, module->len, &path, &e, &part);
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
match_module(struct weight_place *place, struct match_job *m, const struct adapter *a, const struct adapter_module *module,
    bool bias, struct err *err)
{
    return match_named(place, m, a, module, bias, err)
        && (place->index != WEIGHT_NONE || bias || module->nhits != 0 || find_expert(place, m, a, module, err));
}

bool
match_experts(bool *taken, struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
{
    const struct tensor *b = module->factor[FACTOR_B];
    *taken = false;
    if (!module->factor[FACTOR_A])
        return true;
    if ((module->order == ORDER_MLX || a->family == ADAPTER_GGUF) && b->shape.rank == 3) {
        *taken = true;
        return add_switch(m, a, module, err);
    }
    if (module->parameter)
        return add_joined(taken, m, a, module, err);
    return !experts_is_stack(module) || add_stack(taken, m, a, module, err);
}
