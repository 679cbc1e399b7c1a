#include "plan/reduction.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "base/table.h"
#include "encode/ggml.h"
#include "kernel/encode_iq.h"
#include "plan/fused.h"
#include "plan/reduction_priv.h"

enum { LEAST = 32 };            /* least number of rows and of columns of a weight worth quantizing */

void
reduction_clear(struct reduction *r)
{
    reduction_clear_rules(r);
    naming_clear(&r->which);
    *r = (struct reduction){ 0 };
}

bool
reduction_meet(const struct reduction *r, const struct choice *choice, struct err *err)
{
    return naming_check(&r->which, choice, err) && reduction_meet_rules(r, choice, err);
}

/* --- eligible tensors */

static bool
name_contains(const struct tensor *t, const char *word)
{
    return memmem(t->name, t->name_len, word, strlen(word)) != NULL;
}

/* Returns true if `word` is one of the dotted components of a name. */
static bool
name_has_part(const struct tensor *t, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = t->name, *end = t->name + t->name_len; p + n <= end; p++)
        if (memcmp(p, word, n) == 0 && (p == t->name || p[-1] == '.') && (p + n == end || p[n] == '.'))
            return true;
    return false;
}

bool
reduction_is_stack(const struct tensor *t)
{
    return t->shape.rank == 3 && name_has_part(t, "experts") && dtype_is_float(t->dtype) && shape_dim(&t->shape, 1) >= LEAST
        && shape_dim(&t->shape, 2) >= LEAST;
}

/* Returns why a tensor of a model without a mix is skipped, judging by its name and size, or NULL. */
static const char *
spared_by_name(const struct tensor *t, uint64_t cols, const struct encoder *e)
{
    size_t n = t->name_len;
    bool stack = e->loaders.stacks && reduction_is_stack(t);
    if (!stack && !str_strip(t->name, &n, "weight"))
        return "not named .weight";
    if (name_contains(t, "norm") || name_has_part(t, "ln_1") || name_has_part(t, "ln_2") || name_has_part(t, "ln_f"))
        return "a norm";
    if (name_contains(t, "embed") || name_has_part(t, "wte") || name_has_part(t, "wpe") || name_contains(t, "embd"))
        return "an embedding";
    if (name_has_part(t, "lm_head") || name_has_part(t, "output"))
        return "the head";
    if (name_has_part(t, "gate") || name_has_part(t, "router") || name_contains(t, "ffn_gate_inp"))
        return "a router";
    if (shape_dim(&t->shape, t->shape.rank - 2) < LEAST || cols < LEAST)
        return "too small";
    return NULL;
}

/* --- one tensor */

/* Checks everything that does not depend on the type; sets *stays if the tensor is not encoded. `model`: whose names have a
 * meaning, or NULL. */
static bool
reduction_look(struct reduction_one *one, bool *stays, const struct reduction *r, const struct mix_model *model, struct err *err)
{
    const struct tensor *t = &one->t;
    bool blocks = r->encoder->held == KEEPS_BLOCKS;
    uint64_t numel = 0;
    const char **why = &one->chosen->why;
    *stays = true;
    if (!reduction_find_rule(&one->ruling, r, one->chosen, err))
        return false;
    if (!dtype_is_float(t->dtype))
        return true;
    if (one->chosen->typed)
        return *why = "its type was given", true;
    if (t->shape.rank < 2 || (blocks && mix_is_vector(t)))
        return *why = "not a matrix", true;
    one->cols = shape_dim(&t->shape, t->shape.rank - 1);
    if (!shape_numel(&t->shape, &numel) || numel == 0)
        return *why = "no elements", true;
    one->rows = numel / one->cols;
    if (!naming_selects(&r->which, one->chosen))
        return *why = "not selected", true;
    if (!one->ruling && !naming_includes(&r->which))
        *why = model ? mix_exempts(model, t) : r->pure ? NULL : spared_by_name(t, one->cols, r->encoder);
    *stays = *why;
    return true;
}

/* Sets the encoder of a type or of the one that replaces it for rows of this length, or none: the tensor is cast, or left as
 * it is. */
static void
take_type(struct reduction_one *one, const struct mix_model *model, enum dtype wanted)
{
    enum dtype type = mix_fallback(model, wanted, one->cols);
    if (type != wanted)
        one->instead_of = wanted;
    if (type == DTYPE_UNKNOWN)
        one->misfit = one->chosen->why = "row length is not a multiple of the block size";
    else if (type < DTYPE_SCALARS) {
        one->chosen->dtype = type;
        one->chosen->why = "row length is not a multiple of the block size";
        one->cast = true;
    } else
        one->encoder = encode_ggml_of(type);
}

static void
decide(struct reduction_one *one, const struct reduction *r, const struct mix_model *model, struct mix_state *mix)
{
    const struct encoder *e;
    if (one->ruling)
        e = one->ruling->encoder;
    else if (r->assigned)
        e = r->assigned[one->place];
    else
        e = r->encoder;
    if (!e && one->ruling) {
        one->chosen->dtype = one->ruling->plain;
        one->cast = true;
    } else if (!e || e->held != KEEPS_BLOCKS || r->uniform || r->assigned)
        one->encoder = e;
    else
        take_type(one, model, mix && !one->ruling ? mix_type(mix, &one->t) : e->type);
    if (model->image && one->encoder && chosen_is_quantized(one->chosen))       /* a dequantized value is rounded once */
        one->chosen->dtype = one->t.dtype = DTYPE_F32;
}

/* Looks up the tensor's importance. Fails with ERR_USAGE if the encoder requires it and there is none. */
static bool
reduction_weigh(struct encoding *e, const struct reduction *r, struct err *err)
{
    uint64_t matrices = 1;
    char shown[STR_SHOWN];
    if (!importance_of(&e->importance, &r->importance, &e->weight, e->cols, &matrices, err))
        return false;
    if (matrices > 1)
        e->matrix_rows = e->rows / matrices;
    else
        e->matrix_rows = 0;
    return e->importance || !encode_needs_importance(e->encoder->type) || err_set(err, ERR_USAGE,
        "tensor %s: %s requires an importance matrix%s", str_shown(shown, e->weight.name, e->weight.name_len), e->encoder->label,
        r->importance.n != 0 ? ", and --imatrix has no entry for it" : ": use --imatrix FILE");
}

/* Sets up the encoding of a tensor; none, with a reason, if it does not fit. Returns false on failure. */
static bool
reduction_encode(struct reduction_one *one, const struct reduction *r, const struct exact_terms *exact, struct catalog *memory, struct err *err)
{
    struct encode_part parts[ENCODE_PARTS];
    struct encoding e = { .encoder = one->encoder, .options = r->how, .memory = memory, .weight = one->t, .rows = one->rows, .cols = one->cols,
        .part = parts, .place = one->place, .exact = exact };
    if (!exact && e.encoder->held == KEEPS_BLOCKS && (!reduction_weigh(&e, r, err) || !encode_grids_build(e.encoder->type, err)))
        return false;
    enum encode_fit fit = e.encoder->fit(&e, &r->how, err);
    if (fit == ENCODE_NO)
        one->misfit = e.why;
    else
        one->misfit = NULL;
    one->chosen->why = one->misfit;
    if (fit != ENCODE_YES)
        return fit == ENCODE_NO;
    struct encoding *kept = catalog_alloc(memory, sizeof e + e.nparts * sizeof *parts, err);
    if (!kept)
        return false;
    e.part = memcpy(kept + 1, parts, e.nparts * sizeof *parts);
    *kept = e;
    one->chosen->encoding = kept;
    return true;
}

/* A part whose size depends on the data is compared without its shape. */
bool
reduction_is_stored(const struct encoding *e, const struct weight *w, const struct choice *choice, const unsigned *owned)
{
    for (unsigned i = 0; i < e->nparts; i++) {
        const struct encode_part *part = &e->part[i];
        const struct tensor *t = catalog_find(choice->input, part->name, part->name_len);
        bool sized = !e->encoder->survey.finish_parts || part->shape.rank != 1 || part->dtype != DTYPE_U8;
        if (!t || t->dtype != part->dtype || roles_owner(choice->roles, catalog_index(choice->input, t)) != w
            || (sized && !shape_same(&t->shape, &part->shape, part->shape.rank)) || t->shape.rank != part->shape.rank)
            return false;
    }
    return owned[catalog_index(choice->input, w->part[0])] == e->nparts;
}

unsigned *
reduction_count_owned(const struct choice *choice)
{
    size_t n = catalog_count(choice->input);
    unsigned *owned = calloc(n + 1, sizeof *owned);
    for (size_t i = 0; owned && i < n; i++) {
        const struct weight *w = roles_owner(choice->roles, i);
        if (w)
            owned[catalog_index(choice->input, w->part[0])]++;
    }
    return owned;
}

/* Keeps the weights that are stored as they would be encoded, unless options say how: then the stored form is unknown. */
static bool
keep_stored(const struct reduction *r, struct choice *choice, struct err *err)
{
    static const struct encode_options none = { 0 };
    size_t stored = 0, encoded = 0, n = catalog_count(choice->input);
    bool joint = r->encoder->loaders.joint || r->encoder->loaders.fuses, all;
    if (r->encoder->held == KEEPS_BLOCKS || r->uniform || memcmp(&r->how, &none, sizeof none) != 0)
        return true;
    unsigned *owned = reduction_count_owned(choice);
    if (!owned)
        return err_memory(err, n * sizeof *owned);
    for (size_t i = 0; i < choice->n; i++) {
        struct chosen *c = &choice->list[i];
        encoded += c->encoding != NULL;
        if (c->encoding && c->decode && roles_is_kept(c->decode, r->keeps) && reduction_is_stored(c->encoding, c->decode, choice, owned)) {
            c->stored = c->encoding;
            stored++;
        }
    }
    all = stored == encoded;
    for (size_t i = 0; i < choice->n; i++) {
        struct chosen *c = &choice->list[i];
        if (!c->stored || (joint && !all)) {
            c->stored = NULL;
            continue;
        }
        c->kept = c->decode;
        c->encoding = NULL;
        c->same = true;
        c->why = "has this type already";
        choice->same++;
    }
    free(owned);
    return true;
}

/* Keeps a quantized weight as it is stored if it is not encoded, or if its block type is the one it would get. While the
 * candidates of a target are measured, each is encoded. */
static void
reduction_keep(struct reduction_one *one, const struct reduction *r, struct choice *choice)
{
    const struct weight *w = one->chosen->decode;
    bool same = one->encoder && w && one->encoder->type == w->part[0]->dtype && (!r->uniform || r->assigned);
    if (one->cast || (one->encoder && !same) || !w || !roles_is_kept(w, r->keeps))
        return;
    one->chosen->kept = w;
    one->encoder = NULL;
    one->chosen->same = same;
    choice->same += same;
    if (same)
        one->chosen->why = "has this type already";
}

/* Implements table_name: the name of a weight without "weight". */
static const char *
kept_module(const void *of, uint32_t number, size_t *n)
{
    const struct weight *w = ((const struct reduction_one *)of)[number].chosen->decode;
    *n = w->name_len;
    str_strip(w->name, n, "weight");
    return w->name;
}

static bool
follows(const struct reduction_one *one)
{
    return one->chosen->decode && one->chosen->decode->scheme->follows;
}

/* Indexes the weights that are kept by their modules. */
static bool
index_kept(struct table *modules, const struct reduction_one *list, size_t n, struct err *err)
{
    bool ok = true, again;
    for (size_t i = 0; ok && i < n; i++) {
        const struct weight *w = list[i].chosen->decode;
        size_t len = w ? w->name_len : 0;
        uint32_t number = (uint32_t)i;
        if (w && list[i].chosen->kept && str_strip(w->name, &len, "weight"))
            ok = table_add(modules, kept_module, list, w->name, len, &number, &again, err);
    }
    return ok;
}

/* Keeps the biases as they are stored whose weights are kept, and no others. */
static bool
keep_followers(const struct reduction_one *list, size_t n, struct err *err)
{
    struct table modules = { 0 };
    size_t first = 0;
    uint32_t number;
    while (first < n && !follows(&list[first]))
        first++;
    bool ok = first == n || index_kept(&modules, list, n, err);
    for (size_t i = first; ok && i < n; i++) {
        const struct weight *w = list[i].chosen->decode;
        size_t len = w ? w->name_len : 0;
        if (!follows(&list[i]) || !str_strip(w->name, &len, "bias"))
            continue;
        list[i].chosen->kept = table_find(&modules, kept_module, list, w->name, len, &number) ? w : NULL;
    }
    table_clear(&modules);
    return ok;
}

/* --- entire choice */

static int
reduction_compare(const void *a, const void *b)
{
    return mix_order(&((const struct reduction_one *)a)->t, &((const struct reduction_one *)b)->t);
}

/* Weights that are not quantized because of their shape: the first of them, and why. */
struct misfits {
    size_t n;
    struct tensor first;
    const char *why;
};

static void
count_misfits(struct misfits *found, const struct reduction_one *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].misfit && found->n++ == 0) {
            found->first = list[i].t;
            found->why = list[i].misfit;
        }
}

/* Fails for a type that image models are not quantized to, unless the user asks for it by rules or for all matrices. */
static bool
check_image(const struct reduction *r, const struct mix *mix, struct err *err)
{
    if (r->pure || r->uniform || (mix && image_mix_offers(mix->name)))
        return true;
    return err_set(err, ERR_UNSUPPORTED, "image models are not quantized to %s: their loaders lack fast code for it, or refuse it; "
        "use --scheme q8_0, q6_k, q5_k_m, q4_k_m or iq4_xs, or --pure to have it anyway", r->encoder->name);
}

static bool
decide_all(const struct reduction *r, struct choice *choice, struct misfits *misfits, struct catalog *memory, struct err *err)
{
    bool blocks = r->encoder->held == KEEPS_BLOCKS, ok = true;
    const struct mix *mix = NULL;
    if (blocks && !r->assigned && !r->uniform)
        mix = mix_find(r->encoder->name);
    struct mix_state state;
    const struct mix_model model = choice->model.arch ? choice->model : mix_model_of(choice->input);
    bool keyed = blocks && model.arch, mixed = keyed && mix && !r->pure;
    if (model.image && !r->assigned && !check_image(r, mix, err))
        return false;
    if (mixed)
        mix_begin(&state, mix, &model, r->importance.n != 0);
    struct reduction_one *list = calloc(choice->n + 1, sizeof *list);
    if (!list)
        return err_memory(err, (choice->n + 1) * sizeof *list);
    for (size_t i = 0; i < choice->n; i++)
        list[i] = (struct reduction_one){ .chosen = &choice->list[i], .t = chosen_source(&choice->list[i]), .place = i,
            .instead_of = DTYPE_UNKNOWN };
    if (mixed && !model.image)
        qsort(list, choice->n, sizeof *list, reduction_compare);
    for (size_t i = 0; mixed && i < choice->n; i++)
        mix_count(&state, &list[i].t);
    for (size_t i = 0; ok && i < choice->n; i++) {
        bool stays;
        ok = reduction_look(&list[i], &stays, r, keyed ? &model : NULL, err);
        if (ok && !stays) {
            decide(&list[i], r, &model, mixed ? &state : NULL);
            if (mixed && !list[i].ruling)
                list[i].chosen->rule = state.rule;
            else
                list[i].chosen->rule = NULL;
            if (list[i].ruling)
                list[i].ruling->works = true;
            choice->mix = list[i].ruling || !keyed ? choice->mix : mix;   /* not if rules alone chose the types */
        }
        reduction_keep(&list[i], r, choice);
        ok = ok && (!list[i].encoder || reduction_encode(&list[i], r, NULL, memory, err));
    }
    ok = ok && keep_stored(r, choice, err) && keep_followers(list, choice->n, err)
        && (r->uniform || r->trial || reduction_check_rules(r, choice, err));
    if (ok && !r->uniform && !r->trial)
        reduction_warn(r, list, choice->n, blocks, model.image, memory);
    count_misfits(misfits, list, choice->n);
    free(list);
    return ok;
}

/* Finds the first stack of experts that is skipped because the encoder handles matrices only; *n: the number of such stacks. */
static struct tensor
find_stack(const struct reduction *r, const struct choice *choice, size_t *n)
{
    struct tensor first = { 0 };
    *n = 0;
    for (size_t i = 0; i < choice->n && !r->encoder->loaders.stacks && r->encoder->held != KEEPS_BLOCKS; i++) {
        const struct tensor t = chosen_source(&choice->list[i]);
        if (!choice->list[i].encoding && reduction_is_stack(&t) && naming_selects(&r->which, &choice->list[i]) && (*n)++ == 0)
            first = t;
    }
    return first;
}

/* Fails if nothing is encoded, and warns about experts that are skipped. */
static bool
check_encoded(const struct reduction *r, const struct choice *choice, const struct misfits *misfits, struct catalog *catalog,
    struct err *err)
{
    char shown[STR_SHOWN], shape[SHAPE_TEXT];
    size_t n;
    const struct tensor t = find_stack(r, choice, &n);
    str_shown(shown, str_or(t.name, ""), t.name_len);
    if (choice->encoded != 0 && n != 0)
        catalog_warn(catalog, "%s%s: experts in one three-dimensional tensor are left unquantized: %s supports only matrices "
            "(--scheme fp8 supports both)", shown, n > 1 ? " and others" : "", r->encoder->label);
    if (choice->encoded != 0 || choice->same != 0)
        return true;
    if (n != 0)
        return err_set(err, ERR_USAGE, "tensor %s: %s supports only matrices, not experts in one "
            "three-dimensional tensor: use --scheme fp8", shown, r->encoder->label);
    if (misfits->n != 0)
        return err_set(err, ERR_USAGE, "no weight can be quantized as %s: %s (%zu weight%s, the first: %s %s); "
            "choose another --scheme",
            r->encoder->label, misfits->why, misfits->n, str_plural(misfits->n),
            str_shown(shown, misfits->first.name, misfits->first.name_len), shape_text(shape, &misfits->first.shape));
    return err_set(err, ERR_USAGE, "no weight to quantize as %s; use --include GLOB to select tensors that are skipped "
        "by default", r->encoder->label);
}

bool
reduction_apply(const struct reduction *r, struct choice *choice, struct catalog *memory, struct err *err)
{
    struct misfits misfits = { 0 };
    return reduction_meet(r, choice, err) && decide_all(r, choice, &misfits, memory, err)
        && (r->apart || fused_find(choice, memory, err)) && reduction_spread(choice, err) && reduction_add_companions(r, choice, err)
        && check_encoded(r, choice, &misfits, memory, err) && choice_distinct(choice, err);
}

/* --- exact encodings */

bool
reduction_offers(const struct reduction *r, const struct choice *choice, size_t place, bool *offers, struct err *err)
{
    struct chosen copy = choice->list[place];
    struct reduction_one one = { .chosen = &copy, .t = chosen_source(&copy), .place = place };
    const struct mix_model model = choice->model.arch ? choice->model : mix_model_of(choice->input);
    bool stays = true, quantized = chosen_is_quantized(&copy);
    if (quantized)
        stays = !dtype_is_float(one.t.dtype) || one.t.shape.rank < 2 || copy.typed || !naming_selects(&r->which, &copy);
    else if (!reduction_look(&one, &stays, r, r->encoder->held == KEEPS_BLOCKS && model.arch ? &model : NULL, err))
        return false;
    *offers = !stays;
    return true;
}

bool
reduction_try(const struct reduction *r, struct chosen *c, size_t place, const struct encode_options *how, const struct encoder *encoder,
    const struct exact_terms *exact, enum dtype dtype, struct catalog *memory, struct err *err)
{
    struct reduction own = { .how = *how, .importance = r->importance };
    struct reduction_one one = { .chosen = c, .t = chosen_source(c), .encoder = encoder, .place = place };
    uint64_t numel = 0;
    one.t.dtype = dtype;
    one.cols = shape_dim(&one.t.shape, one.t.shape.rank - 1);
    c->encoding = NULL;
    if (!shape_numel(&one.t.shape, &numel) || numel == 0) {
        c->why = "no elements";
        return true;
    }
    one.rows = numel / one.cols;
    return reduction_encode(&one, &own, exact, memory, err);
}

bool
reduction_finish(const struct reduction *r, struct choice *choice, struct err *err)
{
    return reduction_check_rules(r, choice, err) && reduction_spread(choice, err)
        && (reduction_has_companions(choice) || reduction_add_companions(r, choice, err)) && choice_distinct(choice, err);
}
