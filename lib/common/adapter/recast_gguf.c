/* Adapters of llama.cpp: the factors under the names of GGUF, with rows and columns as the family has them there. Source of the
 * keys and of the order: convert_lora_to_gguf.py of llama.cpp. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/recast.h"
#include "base/num.h"
#include "base/tree.h"
#include "family/back_rows.h"
#include "family/rows.h"
#include "hf/card.h"
#include "hf/generation.h"
#include "writer/put.h"

/* --- to GGUF */

/* Returns true if the names of a family begin with a word. */
static bool
has_rows(const struct model_family *family, const char *word)
{
    for (size_t i = 0; i < family->rows.n; i++)
        if (str_begins(family->rows.at[i].hf, word))
            return true;
    return false;
}

/* Appends the name of a weight as the family knows it: an adapter of a model without a head lacks "model.". */
static void
add_weight(struct str *s, const struct model_family *family, const char *name, size_t n, const char *end)
{
    static const char *const bare[] = { "layers.", "embed_tokens", "norm" };
    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++)
        if (str_begins(name, bare[i]) && !has_rows(family, bare[i]))
            str_text(s, "model.");
    str_add(s, name, n);
    str_text(s, end);
}

/* Replaces a list of tensors under the names of weights by what its family makes of them. */
static bool
recast_rows(struct recast *r, struct choice *list, enum verbs_side side, bool back, struct err *err)
{
    enum dtype type = r->job->type != DTYPE_UNKNOWN ? r->job->type : DTYPE_F32;
    const struct family_tensors how = { .family = r->config.family, .scope = &r->config.scope, .config = NULL, .model = r->job->model,
        .matrices = type, .exact = true, .adapter = true, .side = side };
    return list->n == 0 || (back ? back_rows_choose(list, &how, err) : rows_choose(list, &how, err));
}

/* Fills a list with one factor of each pair, under the names of the weights. */
static bool
list_factors(struct choice *list, struct recast *r, bool b, struct err *err)
{
    for (size_t i = 0; i < r->npairs; i++) {
        struct chosen c = b ? r->pair[i].b : r->pair[i].a;
        char shown[STR_SHOWN];
        if (c.composed)
            return err_set(err, ERR_UNSUPPORTED, "module %s: its factors are not transposed on the way; convert with --to peft first",
                str_shown(shown, r->pair[i].name, r->pair[i].n));
        struct str name = { 0 };
        add_weight(&name, r->config.family, r->pair[i].name, r->pair[i].n, ".weight");
        if (!recast_name(&c, r, &name, err) || !choice_append(list, &c, err))
            return false;
    }
    return true;
}

static bool
is_embedding(const struct chosen *c)
{
    static const char name[] = "token_embd.weight";
    return str_is(c->name, c->name_len, name);
}

/* Appends a factor of an output tensor; lora_a of the embedding is transposed. */
static bool
append_factor(struct choice *choice, const struct recast *r, const struct chosen *c, const char *end, struct err *err)
{
    struct chosen out = *c;
    struct str name = { 0 };
    if (is_embedding(c) && end[6] == 'a' && !recast_transpose(&out, r, c, err))
        return false;
    str_add(&name, c->name, c->name_len);
    str_text(&name, end);
    return recast_name(&out, r, &name, err) && choice_append(choice, &out, err);
}

/* Adds the elements of the weight that two factors change. As gguf-py counts: of the embedding, rank times columns. */
static double
elements_of(const struct chosen *a, const struct chosen *b)
{
    const struct tensor x = chosen_source(a), y = chosen_source(b);
    double n = (double)shape_dim(&x.shape, x.shape.rank - 1);
    for (uint32_t i = 0; i + 1 < y.shape.rank; i++)
        n *= (double)shape_dim(&y.shape, i);
    return n;
}

/* Appends all tensors of the file: those that replace one, then the pairs. Sets *params to the number of elements that it changes. */
static bool
append_all(struct choice *choice, double *params, struct recast *r, const struct choice *a, const struct choice *b, struct err *err)
{
    *params = 0;
    for (size_t i = 0; i < r->plain.n; i++) {
        uint64_t n = 0;
        const struct tensor t = chosen_source(&r->plain.list[i]);
        shape_numel(&t.shape, &n);
        *params += (double)n;
        if (!choice_append(choice, &r->plain.list[i], err))
            return false;
    }
    if (a->n != b->n)
        return err_set(err, ERR_BUG, "the factors do not make the same weights");
    for (size_t i = 0; i < a->n; i++) {
        if (!append_factor(choice, r, &a->list[i], ".lora_a", err) || !append_factor(choice, r, &b->list[i], ".lora_b", err))
            return false;
        *params += elements_of(&choice->list[choice->n - 2], &b->list[i]);
    }
    return true;
}

/* Checks that one alpha serves all weights: llama.cpp scales each by alpha / rank. */
static bool
check_alpha(const struct recast *r, struct err *err)
{
    const struct recast_pair *first = r->pair;
    char one[STR_SHOWN], two[STR_SHOWN];
    for (size_t i = 0; i < r->npairs; i++) {
        const struct recast_pair *p = &r->pair[i];
        if ((float)p->alpha != (float)first->alpha)
            return err_set(err, ERR_UNSUPPORTED, "modules %s and %s: GGUF has one alpha for all, but their scales times their ranks are %g "
                "and %g; merge the adapter with --adapter", str_shown(one, first->name, first->n), str_shown(two, p->name, p->n),
                first->alpha, p->alpha);
    }
    if (adapter_flag(&r->adapter, "use_rslora"))
        catalog_tell(r->job->model->catalog, "use_rslora: alpha is written as %g, the scale times the rank, because llama.cpp divides by the "
            "rank", first->alpha);
    return isfinite((float)first->alpha) || err_set(err, ERR_MALFORMED, "alpha is not a number of F32");
}

static bool
put_alora(struct recast *r, struct err *err)
{
    struct str bytes = { 0 };
    size_t i;
    json_t *token;
    json_array_foreach(r->alora, i, token) {
        if (!json_is_integer(token) || json_integer_value(token) < 0 || json_integer_value(token) > UINT32_MAX) {
            str_clear(&bytes);
            return err_set(err, ERR_MALFORMED, "adapter_config.json: alora_invocation_tokens is not a list of tokens");
        }
        put(&bytes, (uint64_t)json_integer_value(token), 4);
    }
    return !r->alora || keys_put_array(&r->keys, "adapter.alora", "invocation_tokens", META_U32, json_array_size(r->alora), &bytes, err);
}

/* Sets `name` to the last component of a path without "/" and "/." at its end, as pathlib has it. */
static bool
folder_title(char **name, const char *path, struct err *err)
{
    size_t n = strlen(path), start;
    while ((n > 1 && path[n - 1] == '/') || (n > 1 && path[n - 1] == '.' && path[n - 2] == '/'))
        n--;
    n = n == 1 && (*path == '.' || *path == '/') ? 0 : n;
    for (start = n; start != 0 && path[start - 1] != '/'; start--)
        ;
    *name = strndup(path + start, n - start);
    return *name || err_memory(err, n);
}

/* Puts the keys of the files beside the adapter. */
static bool
put_folder(struct recast *r, double params, struct err *err)
{
    struct hf_text card, config, generation;
    json_t *sampling = NULL;
    char *name = NULL;
    bool ok = recast_open_text(&generation, r, HF_GENERATION, err) && recast_open_text(&card, r, HF_README, err);
    source_close(r->text[HF_CONFIG]);
    r->text[HF_CONFIG] = NULL;
    ok = ok && recast_open_text(&config, r, HF_CONFIG, err)
        && (!generation.p || tree_read(&sampling, generation.p, generation.n, generation.name, err))
        && (!sampling || hf_generation_keys(&r->keys, sampling, err)) && folder_title(&name, r->adapter.folder, err)
        && hf_card_put(&r->keys, &card, &config, name, -params, r->job->model->catalog, err);
    json_decref(sampling);
    free(name);
    return ok;
}

static bool
put_keys(struct recast *r, double params, struct err *err)
{
    static const char adapter[] = "adapter", lora[] = "lora";
    const char *arch = r->config.family->arch;
    struct keys *keys = &r->keys;
    return keys_put_text(keys, NULL, "general.architecture", arch, strlen(arch), err)
        && keys_put_text(keys, NULL, "general.type", adapter, sizeof adapter - 1, err)
        && keys_put_text(keys, adapter, "type", lora, sizeof lora - 1, err) && put_folder(r, params, err)
        && keys_put_f32(keys, adapter, "lora.alpha", (float)r->pair->alpha, err) && put_alora(r, err)
        && keys_put_u32(keys, NULL, "general.quantization_version", KEYS_QUANTIZATION_VERSION, err);
}

bool
recast_to_gguf(struct recast *r, struct choice *choice, struct err *err)
{
    struct choice a = { .input = choice->input }, b = a;
    double params = 0;
    bool ok = check_alpha(r, err) && (r->config.family || recast_open_base(r, NULL, 0, err)) && list_factors(&a, r, false, err)
        && list_factors(&b, r, true, err) && recast_rows(r, &r->plain, VERBS_WEIGHT, false, err)
        && recast_rows(r, &a, VERBS_COLUMNS, false, err) && recast_rows(r, &b, VERBS_ROWS, false, err);
    if (ok && r->plain.n != 0)
        catalog_warn(r->job->model->catalog, "%zu norms replace those of the model; llama.cpp ignores them in an adapter", r->plain.n);
    choice->n = 0;
    ok = ok && append_all(choice, &params, r, &a, &b, err) && put_keys(r, params, err);
    choice->matrices = DTYPE_UNKNOWN;
    choice_clear(&a);
    choice_clear(&b);
    return ok;
}

/* --- from GGUF */

/* Adds the tensors of the file to the list that they belong in, under the names of the weights. */
static bool
list_tensors(struct choice *a, struct choice *b, struct recast *r, const struct choice *choice, struct err *err)
{
    const struct adapter *of = &r->adapter;
    for (size_t i = 0; i < of->n; i++) {
        const struct adapter_module *m = &of->module[i];
        const struct tensor *const factor[] = { m->factor[FACTOR_A], m->factor[FACTOR_B], m->factor[FACTOR_SET] };
        struct choice *const list[] = { a, b, &r->plain };
        for (size_t k = 0; k < 3; k++) {
            struct str name = { 0 };
            if (!factor[k])
                continue;
            struct chosen c = choice->list[factor[k] - of->tensors];
            str_add(&name, m->name, m->len);
            if (!recast_name(&c, r, &name, err) || !choice_append(list[k], &c, err))
                return false;
        }
    }
    return true;
}

/* Returns the type that all factors have, or F32. */
static enum dtype
type_of_all(const struct choice *choice)
{
    enum dtype type = DTYPE_UNKNOWN;
    for (size_t i = 0; i < choice->n; i++) {
        enum dtype own = choice->list[i].copy ? choice->list[i].copy->dtype : DTYPE_F32;
        if (own != DTYPE_F16 && own != DTYPE_BF16)
            return DTYPE_F32;
        type = type == DTYPE_UNKNOWN || own == type ? own : DTYPE_F32;
    }
    return type == DTYPE_UNKNOWN ? DTYPE_F32 : type;
}

/* Adds the pair of two factors of a weight of the model. */
static bool
add_pair(struct recast *r, const struct chosen *a, const struct chosen *b, enum dtype type, struct err *err)
{
    static const char embedding[] = "embed_tokens.weight", weight[] = ".weight";
    const struct meta *alpha = catalog_meta_find(r->adapter.file.catalog, "adapter.lora.alpha");
    const struct tensor t = chosen_source(b);
    size_t n = b->name_len;
    if (!str_strip(b->name, &n, weight) || t.shape.rank != 2)
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: its factors are not matrices", b->name);
    struct recast_pair *p = recast_add_pair(r, b->name, n, err);
    if (!p)
        return false;
    p->a = *a;
    p->b = *b;
    p->rank = shape_dim(&t.shape, 1);
    p->alpha = alpha && alpha->value.as.f != 0 ? alpha->value.as.f : (double)p->rank;
    p->embedding = str_ends(b->name, embedding);
    p->a.dtype = p->b.dtype = type;
    return !p->embedding || recast_transpose(&p->a, r, a, err);
}

bool
recast_from_gguf(struct recast *r, const struct choice *choice, struct err *err)
{
    const struct meta *arch = catalog_meta_find(r->adapter.file.catalog, "general.architecture");
    struct choice a = { .input = choice->input }, b = a;
    enum dtype type = r->job->type != DTYPE_UNKNOWN ? r->job->type : type_of_all(choice);
    size_t n = 0;
    const char *word = arch ? meta_bytes(&arch->value, &n) : NULL;
    if (!word)
        return err_set(err, ERR_MALFORMED, "the adapter has no general.architecture");
    bool ok = recast_open_base(r, word, n, err) && list_tensors(&a, &b, r, choice, err)
        && recast_rows(r, &r->plain, VERBS_WEIGHT, true, err) && recast_rows(r, &a, VERBS_COLUMNS, true, err)
        && recast_rows(r, &b, VERBS_ROWS, true, err);
    ok = ok && (a.n == b.n || err_set(err, ERR_BUG, "the factors do not make the same weights"));
    for (size_t i = 0; ok && i < a.n; i++)
        ok = add_pair(r, &a.list[i], &b.list[i], type, err);
    choice_clear(&a);
    choice_clear(&b);
    return ok && (r->npairs != 0 || err_set(err, ERR_UNSUPPORTED, "the adapter has no low-rank factors"));
}
