#include "adapter/match.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

bool
match_find(size_t *found, const struct match_job *m, const struct adapter *a, const struct adapter_module *module,
    enum match_kind kind, struct err *err)
{
    struct str name = { 0 };
    if (module->nhits != 0) {
        *found = module->hit->index[kind];
        return true;
    }
    str_add(&name, module->name, module->len);
    if (!module->whole)
        str_text(&name, kind == MATCH_BIAS ? ".bias" : ".weight");
    bool ok = (!name.failed || err_memory(err, name.room))
        && weight_names_find(found, m->names, name.p, name.len, a->family == ADAPTER_GGUF, err);
    str_clear(&name);
    return ok;
}

bool
match_measure(const struct tensor *t, uint64_t *rows, uint64_t *cols)
{
    uint64_t numel;
    *rows = t->shape.rank != 0 ? shape_dim(&t->shape, 0) : 1;
    *cols = 0;
    if (!shape_numel(&t->shape, &numel) || numel == 0)
        return false;
    *cols = numel / *rows;
    return true;
}

struct change *
match_change(const struct match_job *m, size_t index, struct err *err)
{
    struct chosen *c = &m->choice->list[index];
    const struct tensor t = chosen_source(c);
    struct catalog *memory = m->job->model->catalog;
    char shown[STR_SHOWN];
    if (m->change[index])
        return m->change[index];
    if (c->copy && !c->kept && !dtype_is_float(c->copy->dtype)) {
        err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, ERR_TENSOR "an adapter changes it, but its type is %s", str_shown(shown, t.name,
            t.name_len), dtype_name(c->copy->dtype));
        return NULL;
    }
    struct change *change = change_new(m->owner, c->copy && !c->kept ? c->copy->dtype : DTYPE_F32, err);
    m->change[index] = change;
    if (!change || !match_measure(&t, &change->rows, &change->cols))
        return change;
    if (c->kept) {
        *c = (struct chosen){ .decode = c->kept, .dtype = m->job->element, .name = c->name, .name_len = c->name_len };
    }
    if (c->decode) {
        struct weight *w = catalog_alloc(memory, sizeof *w, err);
        if (!w)
            return NULL;
        *w = *c->decode;
        w->delta = &change->delta;
        c->decode = w;
        return change;
    }
    struct tensor *copy = catalog_alloc(memory, sizeof *copy, err);
    if (!copy)
        return NULL;
    *copy = *c->copy;
    copy->delta = &change->delta;
    c->copy = copy;
    return change;
}

/* --- replaced tensors */

/* Returns true for the modules whose number of rows may change. */
static bool
is_vocabulary(const struct adapter_module *module)
{
    static const char *const last[] = { "embed_tokens", "lm_head", "wte", "word_embeddings", "embed_in", "embed_out", NULL };
    for (size_t i = 0; last[i]; i++) {
        size_t n = strlen(last[i]);
        if (module->len >= n && memcmp(module->name + module->len - n, last[i], n) == 0
                && (module->len == n || module->name[module->len - n - 1] == '.'))
            return true;
    }
    return false;
}

/* Returns true for an embedding by its name, where the shapes leave it open. */
static bool
is_embedding(const struct adapter_module *module)
{
    return is_vocabulary(module) && !memmem(module->name, module->len, "head", 4) && !memmem(module->name, module->len, "embed_out", 9);
}

/* Checks that a tensor can replace another one. */
static bool
check_shape(const struct match_job *m, const struct adapter_module *module, const struct tensor *was, const struct tensor *t,
    struct err *err)
{
    char one[SHAPE_TEXT], two[SHAPE_TEXT];
    bool same = was->shape.rank == t->shape.rank && shape_same(&was->shape, &t->shape, t->shape.rank);
    bool resized = !same && is_vocabulary(module) && was->shape.rank == 2 && t->shape.rank == 2
        && shape_dim(&was->shape, 1) == shape_dim(&t->shape, 1) && shape_dim(&t->shape, 0) != 0;
    bool gguf = strcmp(catalog_facts_of(m->job->model->catalog)->format, "GGUF") == 0;
    if (resized && gguf)
        return adapter_fail(module, ERR_UNSUPPORTED, err, "it resizes the vocabulary, which is not supported for GGUF");
    if (resized && m->job->dir)
        return adapter_fail(module, ERR_UNSUPPORTED, err, "it resizes the vocabulary, and config.json would contradict it: write one "
            "file with -o FILE, and change vocab_size yourself");
    return same || resized || adapter_fail(module, ERR_MALFORMED, err, "a tensor of shape %s cannot replace one of shape %s",
        shape_text(one, &t->shape), shape_text(two, &was->shape));
}

/* Checks that two tensors of an adapter have the same bytes. */
static bool
check_equal(const struct match_job *m, const struct adapter_module *module, const struct tensor *a, const struct tensor *b,
    struct err *err)
{
    enum { STEP = 2048 };
    uint8_t x[STEP], y[STEP];
    bool same = a->dtype == b->dtype && a->extent.nbytes == b->extent.nbytes && a->shape.rank == b->shape.rank
        && shape_same(&a->shape, &b->shape, a->shape.rank);
    for (uint64_t at = 0, n; same && at < a->extent.nbytes; at += n) {
        n = num_min(STEP, a->extent.nbytes - at);
        if (!model_bytes(m->job->model, a, at, x, (size_t)n, err) || !model_bytes(m->job->model, b, at, y, (size_t)n, err))
            return false;
        same = memcmp(x, y, (size_t)n) == 0;
    }
    return same || adapter_fail(module, ERR_MALFORMED, err, "two tensors replace it, and they differ");
}

/* Replaces one tensor. */
static bool
replace(const struct match_job *m, const struct adapter *a, const struct adapter_module *module, const struct tensor *t,
    enum match_kind kind, struct err *err)
{
    size_t index;
    if (!match_find(&index, m, a, module, kind, err))
        return false;
    if (index == WEIGHT_NONE)
        return adapter_fail(module, kind == MATCH_BIAS ? ERR_MALFORMED : ERR_UNSUPPORTED, err, "the adapter has a %s that the base has "
            "not", kind == MATCH_BIAS ? "bias" : "saved tensor");
    struct chosen *c = &m->choice->list[index];
    const struct tensor was = chosen_source(c);
    if (m->replaced[index])
        return adapter_fail(module, ERR_MALFORMED, err, "two adapters replace it");
    if (!check_shape(m, module, &was, t, err))
        return false;
    m->replaced[index] = true;
    *c = (struct chosen){ .copy = t, .dtype = c->kept ? m->job->element : c->dtype, .name = was.name, .name_len = was.name_len };
    if (a->c != 1)
        catalog_warn(m->job->model->catalog, "%.*s: replaced as a whole: the scale of the adapter has no effect on it", (int)module->len,
            module->name);
    return true;
}

bool
match_replace(const struct match_job *m, const struct adapter *a, struct err *err)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct adapter_module *module = &a->module[i];
        if (module->skipped)
            continue;
        for (enum match_kind kind = MATCH_WEIGHT; kind <= MATCH_BIAS; kind++) {
            const struct tensor *base = module->factor[kind == MATCH_BIAS ? FACTOR_BASE_BIAS : FACTOR_BASE];
            const struct tensor *set = module->factor[kind == MATCH_BIAS ? FACTOR_SET_BIAS : FACTOR_SET];
            const struct tensor *again = module->again[kind == MATCH_BIAS];
            if ((again && !check_equal(m, module, set, again, err)) || (base && set && !check_equal(m, module, set, base, err)))
                return false;
            if ((base || set) && !replace(m, a, module, set ? set : base, kind, err))
                return false;
        }
    }
    return true;
}

/* --- steps */

static bool
misfit(const struct adapter_module *module, const struct tensor *t, struct err *err)
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT], w[SHAPE_TEXT];
    return adapter_fail(module, ERR_MALFORMED, err, "factors of shapes %s and %s do not fit a weight of shape %s", shape_text(a,
        &module->factor[FACTOR_A]->shape), shape_text(b, &module->factor[FACTOR_B]->shape), shape_text(w, &t->shape));
}

/* Arranges the two factors of a module as L and R of a weight. `swap`: the weight is stored [in, out]. */
static bool
arrange(struct change_step *step, const struct adapter_module *module, const struct tensor *w, uint64_t rows, uint64_t cols,
    bool swap, struct err *err)
{
    const struct tensor *a = module->factor[FACTOR_A], *b = module->factor[FACTOR_B];
    uint64_t na, nb, r = module->rank, ra = shape_dim(&a->shape, 0), rb = shape_dim(&b->shape, 1);
    bool mlx = module->order == ORDER_MLX, rows_first = module->order == ORDER_ROWS;
    if (mlx || rows_first)
        ra = shape_dim(&a->shape, 1);
    rb = mlx ? shape_dim(&b->shape, 0) : rb;
    if (ra != r || rb != r)
        return adapter_fail(module, ERR_MALFORMED, err, "factors of rank %" PRIu64 " and %" PRIu64 ", expected %" PRIu64, ra, rb, r);
    if (!shape_numel(&a->shape, &na) || !shape_numel(&b->shape, &nb) || r == 0)
        return misfit(module, w, err);
    uint64_t in = na / r, out = nb / r;
    if (module->order == ORDER_LINEAR && a->shape.rank > 2 && w->shape.rank == a->shape.rank
            && shape_dim(&a->shape, 1) != shape_dim(&w->shape, 1))
        return adapter_fail(module, ERR_UNSUPPORTED, err, "grouped convolutions are not supported");
    bool embeds = module->order == ORDER_EMBEDDING || rows_first
        || (mlx && in == rows && out == cols && (in != out || is_embedding(module)));
    if (embeds || swap ? in != rows || out != cols : out != rows || in != cols)
        return misfit(module, w, err);
    *step = (struct change_step){ .form = &change_lowrank, .rows = rows, .s = module->scale, .rank = r };
    if (mlx)
        step->l = embeds ? (struct factor){ a, 0, r, 1 } : (struct factor){ b, 0, 1, out };
    else if (embeds || swap)
        step->l = rows_first ? (struct factor){ a, 0, r, 1 } : (struct factor){ a, 0, 1, in };
    else
        step->l = (struct factor){ b, 0, r, 1 };
    if (mlx)
        step->r = embeds ? (struct factor){ b, 0, out, 1 } : (struct factor){ a, 0, 1, r };
    else
        step->r = embeds || swap ? (struct factor){ b, 0, 1, r } : (struct factor){ a, 0, in, 1 };
    return true;
}

bool
match_fits(const struct match_job *m, const struct adapter_module *module, uint64_t rank, uint64_t cols, struct err *err)
{
    uint64_t floats;
    return (num_mul(&floats, rank, num_max(cols, LOWRANK_PANEL)) && floats <= SIZE_MAX / 2 / sizeof(float)
            && floats * sizeof(float) <= m->job->limits->alloc)
        || adapter_fail(module, ERR_LIMIT, err, "rank %" PRIu64 " and %" PRIu64 " columns exceed the limit of %" PRIu64
            " bytes (--max-alloc)", rank, cols, m->job->limits->alloc);
}

/* Adds the low-rank change of a module to a weight. */
static bool
add_lowrank(const struct match_job *m, const struct adapter *a, const struct adapter_module *module, size_t index, struct err *err)
{
    const struct tensor w = chosen_source(&m->choice->list[index]);
    uint64_t rows, cols;
    struct change_step step;
    if (w.shape.rank < 2 || !match_measure(&w, &rows, &cols))
        return misfit(module, &w, err);
    bool swap = adapter_flag(a, "fan_in_fan_out") && w.shape.rank == 2 && module->order == ORDER_LINEAR;
    if (!arrange(&step, module, &w, rows, cols, swap, err))
        return false;
    if (!match_fits(m, module, step.rank, cols, err))
        return false;
    struct change *change = a->c != 0 ? match_change(m, index, err) : NULL;
    return a->c == 0 || (change && change_step_add(change, &step, err));
}

/* Adds a tensor, times s, to a weight or a bias. */
static bool
add_plain(const struct match_job *m, const struct adapter *a, const struct adapter_module *module, const struct tensor *t, double s,
    enum match_kind kind, struct err *err)
{
    size_t index;
    uint64_t rows, cols, n;
    if (!match_find(&index, m, a, module, kind, err))
        return false;
    if (index == WEIGHT_NONE)
        return adapter_fail(module, ERR_MALFORMED, err, "the adapter changes a %s that the base has not", kind == MATCH_BIAS ? "bias"
            : "weight");
    const struct tensor w = chosen_source(&m->choice->list[index]);
    if (!match_measure(&w, &rows, &cols) || !shape_numel(&t->shape, &n) || n != rows * cols)
        return adapter_fail(module, ERR_MALFORMED, err, "a tensor of the adapter does not fit the %s", kind == MATCH_BIAS ? "bias"
            : "weight");
    const struct change_step step = { .form = &change_add, .rows = rows, .s = s, .l = { t, 0, cols, 1 } };
    struct change *change = a->c != 0 ? match_change(m, index, err) : NULL;
    return a->c == 0 || (change && change_step_add(change, &step, err));
}

/* Fails for a form that is not merged. */
static bool
check_forms(const struct adapter_module *module, struct err *err)
{
    static const struct { enum factor_role role; const char *name; } forms[] = { { FACTOR_MID, "lora_mid" },
        { FACTOR_MAGNITUDE, "DoRA" }, { FACTOR_DORA_SCALE, "DoRA" }, { FACTOR_HADA_1A, "LoHa" }, { FACTOR_LOKR_1, "LoKr" },
        { FACTOR_LOKR_1A, "LoKr" }, { FACTOR_IA3, "IA3" }, { FACTOR_TOKENS, "trainable tokens" } };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (module->factor[forms[i].role])
            return adapter_fail(module, ERR_UNSUPPORTED, err, "%s is not merged yet", forms[i].name);
    return true;
}

/* Fails for a module without a weight. */
static bool
missing(const struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
{
    struct str name = { 0 };
    size_t found = WEIGHT_NONE;
    str_add(&name, module->name, module->len);
    str_text(&name, ".in_proj_weight");
    bool ok = !name.failed && weight_names_find(&found, m->names, name.p, name.len, true, err);
    str_clear(&name);
    if (!ok)
        return err_memory(err, name.room);
    if (found != WEIGHT_NONE || memmem(module->name, module->len, "base_layer.out_proj", 19))
        return adapter_fail(module, ERR_UNSUPPORTED, err, "adapters of torch.nn.MultiheadAttention are not merged: peft adds a part of "
            "them twice");
    const json_t *parameters = adapter_member(a, "target_parameters");
    if (json_is_array(parameters) && json_array_size(parameters) != 0)
        return adapter_fail(module, ERR_UNSUPPORTED, err, "adapters made with target_parameters are not merged yet");
    const char *index = catalog_facts_of(m->job->model->catalog)->index;
    if (index)
        return adapter_fail(module, ERR_MALFORMED, err, "the base has no weight for it: this is one shard; give the directory or %s",
            index);
    return adapter_fail(module, ERR_MALFORMED, err, "the base has no weight of this name: the adapter belongs to another model, or "
        "its names are not supported");
}

/* Returns true if a module is the embedding or the head of a model whose head is tied to the embedding: config.json says so, and no
 * head is stored. */
static bool
is_tied(bool *tied, const struct match_job *m, const struct adapter_module *module, struct err *err)
{
    const struct catalog *c = m->job->model->catalog;
    size_t head = WEIGHT_NONE;
    json_t *config = NULL;
    *tied = false;
    static const char embedding[] = "token_embd.weight";
    if (module->whole && module->len == sizeof embedding - 1 && memcmp(module->name, embedding, module->len) == 0) {
        bool found = weight_names_find(&head, m->names, "output.weight", 13, true, err);
        *tied = head == WEIGHT_NONE;
        return found;
    }
    if (!is_vocabulary(module))
        return true;
    for (size_t i = 0; i < catalog_config_count(c) && !config; i++) {
        const struct catalog_config *one = catalog_config_at(c, i);
        if (strcmp(one->name, "config.json") == 0 && !tree_read(&config, one->text, one->n, one->name, err))
            return false;
    }
    bool said = json_is_true(json_object_get(config, "tie_word_embeddings"));
    json_decref(config);
    if (said && !weight_names_find(&head, m->names, "lm_head.weight", 14, false, err))
        return false;
    *tied = said && head == WEIGHT_NONE;
    return true;
}

/* Adds what a module changes. */
static bool
add_module(const struct match_job *m, const struct adapter *a, const struct adapter_module *module, struct err *err)
{
    size_t index;
    bool tied;
    if (!check_forms(module, err) || !is_tied(&tied, m, module, err))
        return false;
    if (tied)
        return adapter_fail(module, ERR_USAGE, err, "the head of the model is tied to its embedding, and the adapter changes one of "
            "them; writing a separate head is not supported yet");
    if (module->factor[FACTOR_A]) {
        if (!match_find(&index, m, a, module, MATCH_WEIGHT, err))
            return false;
        if (index == WEIGHT_NONE)
            return missing(m, a, module, err);
        if (!add_lowrank(m, a, module, index, err))
            return false;
    }
    return (!module->factor[FACTOR_DIFF] || add_plain(m, a, module, module->factor[FACTOR_DIFF], a->c, MATCH_WEIGHT, err))
        && (!module->factor[FACTOR_DIFF_BIAS] || add_plain(m, a, module, module->factor[FACTOR_DIFF_BIAS], a->c, MATCH_BIAS, err))
        && (!module->factor[FACTOR_B_BIAS] || add_plain(m, a, module, module->factor[FACTOR_B_BIAS], module->scale, MATCH_BIAS, err));
}

bool
match_steps(const struct match_job *m, const struct adapter *a, struct err *err)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct adapter_module *module = &a->module[i];
        bool parts = module->nhits != 0 && module->hit->part;
        if (!module->skipped && !(parts ? match_parts(m, a, module, err) : add_module(m, a, module, err)))
            return false;
    }
    return true;
}
