#include "adapter/recast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "adapter/experts.h"
#include "base/array.h"
#include "base/folder.h"
#include "family/pattern.h"
#include "model/store.h"
#include "source/small_file.h"

static const struct recast_row {
    const char *word, *stem;
} forms_of_output[RECAST_FORMS] = {
    [RECAST_GGUF] = { "gguf", NULL },
    [RECAST_PEFT] = { "peft", "adapter_model" },
    [RECAST_MLX] = { "mlx", "adapters" },
    [RECAST_KOHYA] = { "kohya", "pytorch_lora_weights" },
    [RECAST_DIFFUSERS] = { "diffusers", "pytorch_lora_weights" },
};

enum recast_form
recast_named(const char *word)
{
    for (enum recast_form i = RECAST_PEFT; i < RECAST_FORMS; i++)
        if (strcasecmp(word, forms_of_output[i].word) == 0)
            return i;
    return RECAST_NONE;
}

const char *
recast_stem(enum recast_form form)
{
    return forms_of_output[form].stem;
}

/* --- the base model */

/* Opens a file of the job; `path` is freed. */
static bool
open_text(struct hf_text *text, struct recast *r, enum hf_file file, char *path, struct err *err)
{
    struct model *m = r->job->model;
    bool ok = path && small_file_open(&r->text[file], path, false, SMALL_FILE_MAX, catalog_budget(m->catalog), hf_file_name(file),
        &text->p, &text->n, &m->inputs, err);
    text->name = hf_file_name(file);
    free(path);
    return ok;
}

bool
recast_open_text(struct hf_text *text, struct recast *r, enum hf_file file, struct err *err)
{
    const char *folder = r->adapter.folder;
    char *path = folder_path(folder, strlen(folder), hf_file_name(file), err);
    *text = (struct hf_text){ .name = hf_file_name(file) };
    bool exists = false, ok = path && small_file_exists(&exists, path, &r->job->model->inputs, err);
    if (exists)
        return open_text(text, r, file, path, err);
    free(path);
    return ok;
}

/* Sets *path to the config.json of a model: of a directory, a file, or a name in a store. The caller frees it. */
static bool
find_config(char **path, struct recast *r, const char *name, struct err *err)
{
    struct model *m = r->job->model;
    struct str of = { 0 };
    struct stat st;
    if (store_named(name) && stat(name, &st) != 0 && !store_resolve(&of, name, &m->inputs, m->catalog, err)) {
        str_clear(&of);
        return false;
    }
    const char *at = of.len != 0 ? of.p : name;
    char shown[STR_SHOWN];
    *path = NULL;
    if (stat(at, &st) != 0)
        err_sys(err, ERR_OPEN, errno, "--base: %s", str_shown(shown, at, strlen(at)));
    else if (S_ISDIR(st.st_mode))
        *path = folder_path(at, strlen(at), "config.json", err);
    else if (!(*path = strdup(at)))
        err_memory(err, strlen(at));
    str_clear(&of);
    return *path != NULL;
}

/* Appends the base model that the adapter names. */
static void
add_named_base(struct str *s, const struct recast *r)
{
    static const char hub[] = "https://huggingface.co/";
    const struct meta *url = catalog_meta_find(r->adapter.file.catalog, "general.base_model.0.repo_url");
    const json_t *peft = adapter_member(&r->adapter, "base_model_name_or_path"), *mlx = adapter_member(&r->adapter, "model");
    const json_t *named = peft ? peft : mlx;
    size_t n = 0;
    const char *p = url ? meta_bytes(&url->value, &n) : NULL;
    if (json_is_string(named))
        str_add(s, json_string_value(named), json_string_length(named));
    else if (p && n >= sizeof hub && memcmp(p, hub, sizeof hub - 1) == 0)
        str_add(s, p + sizeof hub - 1, n - sizeof hub + 1);
}

void
recast_push_base(struct push *json, const struct recast *r)
{
    struct str name = { 0 };
    add_named_base(&name, r);
    if (name.len != 0 && str_is_utf8(name.p, name.len))
        push_string(json, name.p, name.len);
    else if (r->job->base && str_is_utf8(r->job->base, strlen(r->job->base)))
        push_text(json, r->job->base);
    else
        push_null(json);
    str_clear(&name);
}

/* Finds the config.json of the base that the adapter names, on disk or in the cache of Hugging Face. */
static bool
find_named(char **path, struct recast *r, struct err *err)
{
    static const char give[] = "give the base model's directory, or its config.json, with --base";
    static const char store[] = "hf:";
    char shown[STR_SHOWN];
    struct stat st;
    struct str operand = { 0 };
    struct err found;
    err_init(&found);
    str_text(&operand, store);
    add_named_base(&operand, r);
    if (operand.failed)
        return err_memory(err, operand.room);
    const char *name = operand.p + sizeof store - 1;
    if (!*name)
        err_set(err, ERR_USAGE, "the adapter does not name its base model: %s", give);
    else if (!find_config(path, r, stat(name, &st) == 0 ? name : operand.p, &found))
        err_set(err, ERR_USAGE, "the base model %s is not on this machine: %s", str_shown(shown, name, strlen(name)), give);
    str_clear(&operand);
    return *path != NULL;
}

bool
recast_open_base(struct recast *r, const char *arch, size_t n, struct err *err)
{
    struct hf_folder folder = { .file[HF_CONFIG].name = hf_file_name(HF_CONFIG) };
    struct model_family *given = NULL;
    char *path = NULL;
    if (!(r->job->base ? find_config(&path, r, r->job->base, err) : find_named(&path, r, err))
            || (r->job->family && !family_given(&given, r->job->family, err))) {
        free(path);
        return false;
    }
    char shown[STR_SHOWN], own[STR_SHOWN];
    str_shown(shown, path, strlen(path));
    if (!open_text(&folder.file[HF_CONFIG], r, HF_CONFIG, path, err)) {
        family_free(given);
        return false;
    }
    if (!family_config_open(&r->config, FAMILY_LANGUAGE, &folder.file[HF_CONFIG], given, err)
            || (!r->config.family && !err_set(err, ERR_UNSUPPORTED, "config.json declares no class of a language model"))
            || !family_config_read(&r->config, &folder, r->job->model, err))
        return err_in_file(err, shown);
    return !arch || family_has_arch(r->config.family, arch, n) || err_set(err, ERR_MALFORMED, "the adapter is for the architecture %s, but "
        "the base model is %s", str_shown(own, arch, n), r->config.family->arch);
}

/* --- names and orders */

struct recast_pair *
recast_add_pair(struct recast *r, const char *name, size_t n, struct err *err)
{
    struct recast_pair *list = array_grow(r->pair, r->npairs, &r->room, sizeof *list, err);
    if (!list)
        return NULL;
    r->pair = list;
    list[r->npairs] = (struct recast_pair){ .name = name, .n = (uint32_t)n, .weight = 1, .tower = TOWER_NONE };
    return &list[r->npairs++];
}

bool
recast_name(struct chosen *chosen, const struct recast *r, struct str *text, struct err *err)
{
    return pattern_name(&chosen->name, &chosen->name_len, text, r->job->model->catalog, err);
}

bool
recast_transpose(struct chosen *chosen, const struct recast *r, const struct chosen *of, struct err *err)
{
    static const uint32_t swapped[] = { 1, 0 };
    struct catalog *memory = r->job->model->catalog;
    const struct tensor t = chosen_source(of);
    char shown[STR_SHOWN];
    if (of->composed || t.shape.rank != 2)
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: it is not transposed on the way; convert with --to peft first", str_shown(shown,
            t.name, t.name_len));
    uint64_t dim[] = { shape_dim(&t.shape, 0), shape_dim(&t.shape, 1) };
    struct composed *composed = catalog_alloc(memory, sizeof *composed, err);
    struct composed_part *part = catalog_alloc(memory, sizeof *part, err);
    uint8_t *packed = catalog_alloc(memory, 2 * SHAPE_DIM + 1, err);
    struct strided s;
    strided_init(&s, dim, 2);
    strided_permute(&s, 0, swapped, 2);
    if (!composed || !part || !packed || !composed_part_make(part, of->copy, of->decode, &s, memory, err))
        return false;
    shape_pack(packed, (const uint64_t[]){ dim[1], dim[0] }, 2);
    *chosen = *of;
    if (part->copy && part->copy != of->copy && !part->layout && part->first == 0) {         /* a tensor with a layout, which can be moved further */
        struct tensor *view = catalog_alloc(memory, sizeof *view, err);
        chosen->copy = view;
        if (view) {
            *view = *part->copy;
            view->shape = (struct shape){ 2, packed };
        }
        return view != NULL;
    }
    *composed = (struct composed){ .shape = { 2, packed }, .part = part, .n = 1 };
    chosen->copy = NULL;
    chosen->decode = NULL;
    chosen->composed = composed;
    return true;
}

/* --- the modules of an adapter */

/* Returns a factor as it is stored, in the type that the user chose. */
static struct chosen
chosen_factor(const struct recast *r, const struct tensor *t)
{
    struct chosen c = { .copy = t, .dtype = t->dtype };
    if (r->job->type != DTYPE_UNKNOWN)
        c.dtype = r->job->type;
    return c;
}

/* Fails if a module has more than two factors, or a tensor in place of one. */
static bool
check_module(const struct recast *r, const struct adapter_module *m, struct err *err)
{
    static const struct { enum factor_role role; const char *what; } forms[] = {
        { FACTOR_MAGNITUDE, "DoRA magnitudes" }, { FACTOR_DORA_SCALE, "DoRA scales" }, { FACTOR_B_BIAS, "a bias of lora_B" },
        { FACTOR_MID, "a convolution in three parts" }, { FACTOR_HADA_1A, "LoHa factors" }, { FACTOR_LOKR_1, "LoKr factors" },
        { FACTOR_LOKR_1A, "LoKr factors" }, { FACTOR_IA3, "IA3 factors" }, { FACTOR_DIFF, "a full difference" },
        { FACTOR_DIFF_BIAS, "a difference of the bias" }, { FACTOR_TOKENS, "trained token rows" },
        { FACTOR_BASE_BIAS, "a trained bias" }, { FACTOR_SET_BIAS, "a trained bias" },
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (m->factor[forms[i].role])
            return adapter_fail(m, ERR_UNSUPPORTED, err, "it has %s, which only merging applies: use --adapter with the base model",
                forms[i].what);
    if (m->factor[FACTOR_BASE])
        catalog_warn(r->job->model->catalog, "module %.*s: the embedding saved with the adapter (base_layer) is left out: the base model "
            "must have it", (int)m->len, m->name);
    return true;
}

/* Checks the shapes of two factors. Those of a convolution have four dimensions; only their names can change. */
static bool
check_pair(const struct recast *r, const struct recast_pair *p, const struct adapter_module *m, struct err *err)
{
    const struct tensor a = chosen_source(&p->a), b = chosen_source(&p->b);
    bool keeps = r->job->to != RECAST_GGUF && r->job->to != RECAST_MLX;
    if (a.shape.rank != b.shape.rank || (a.shape.rank != 2 && !(a.shape.rank == 4 && keeps)))
        return adapter_fail(m, ERR_UNSUPPORTED, err, "its factors are not matrices");
    uint64_t ra = shape_dim(&a.shape, 0), rb = shape_dim(&b.shape, 1);
    return (ra == rb && ra == p->rank) || adapter_fail(m, ERR_MALFORMED, err, "factors of rank %llu and %llu, expected %llu",
        (unsigned long long)ra, (unsigned long long)rb, (unsigned long long)p->rank);
}

/* Adds a tensor that replaces one of the model: a norm, which is not worth factors. */
static bool
add_plain(struct recast *r, const struct adapter_module *m, struct err *err)
{
    struct chosen c = chosen_factor(r, m->factor[FACTOR_SET]);
    const struct tensor t = chosen_source(&c);
    struct str name = { 0 };
    str_add(&name, m->name, m->len);
    if (t.shape.rank != 1 || (!memmem(m->name, m->len, "norm", 4))) {
        str_clear(&name);
        return adapter_fail(m, ERR_UNSUPPORTED, err, "it is saved whole (modules_to_save), which only merging applies: use --adapter with "
            "the base model");
    }
    str_text(&name, ".weight");
    return recast_name(&c, r, &name, err) && choice_append(&r->plain, &c, err);
}

/* Adds the pair of a module. */
static bool
add_module(struct recast *r, const struct adapter *a, const struct adapter_module *m, struct err *err)
{
    if (!check_module(r, m, err))
        return false;
    if ((m->parameter && m->parameter->parts != 0) || experts_is_stack(m))
        return adapter_fail(m, ERR_UNSUPPORTED, err, "it changes experts that are stacked in one parameter, which is only merged: use "
            "--adapter with the base model");
    if (m->factor[FACTOR_SET] && m->factor[FACTOR_A])
        return adapter_fail(m, ERR_UNSUPPORTED, err, "it has factors and a weight that replaces the model's");
    if (m->factor[FACTOR_SET])
        return add_plain(r, m, err);
    if (!m->factor[FACTOR_A])
        return true;
    struct recast_pair *p = recast_add_pair(r, m->name, m->len, err);
    if (!p)
        return false;
    p->a = chosen_factor(r, m->factor[FACTOR_A]);
    p->b = chosen_factor(r, m->factor[FACTOR_B]);
    p->rank = m->rank;
    p->scale = m->whole_scale;
    p->weight = a->c;
    p->alpha = m->whole_scale * (double)m->rank;
    if (a->family == ADAPTER_PEFT && !adapter_flag(a, "use_rslora"))
        p->alpha = m->alpha;
    p->embedding = m->order == ORDER_EMBEDDING || (m->order == ORDER_MLX && adapter_is_embedding(m));
    const struct chosen x = p->a, y = p->b;
    if (m->order == ORDER_MLX && (!recast_transpose(&p->a, r, &x, err) || !recast_transpose(&p->b, r, &y, err)))
        return false;
    return check_pair(r, p, m, err);
}

/* A module and the first of its tensors. */
struct placed_module {
    const struct adapter_module *module;
    const struct tensor *first;
};

static int
compare_names(const void *pa, const void *pb)
{
    const struct placed_module *a = pa, *b = pb;
    return str_compare(a->first->name, a->first->name_len, b->first->name, b->first->name_len);
}

static int
compare_listed(const void *pa, const void *pb)
{
    const struct placed_module *a = pa, *b = pb;
    return (a->first->listed > b->first->listed) - (a->first->listed < b->first->listed);
}

/* Returns the first tensor of a module, by name or as pickled. */
static const struct tensor *
first_tensor(const struct adapter_module *m, int (*compare)(const void *, const void *))
{
    struct placed_module first = { m, NULL };
    for (size_t i = 0; i < FACTOR_ROLES; i++) {
        const struct placed_module one = { m, m->factor[i] };
        if (one.first && (!first.first || compare(&one, &first) < 0))
            first = one;
    }
    return first.first;
}

/* Adds the pairs in the order in which convert_lora_to_gguf.py sees them: by the names of safetensors, or as pickled. */
static bool
read_modules(struct recast *r, const struct adapter *a, struct err *err)
{
    bool named = strcmp(catalog_facts_of(a->file.catalog)->format, "safetensors") == 0, ok = true;
    int (*compare)(const void *, const void *) = named ? compare_names : compare_listed;
    struct placed_module *list = calloc(a->n + 1, sizeof *list);
    if (!list)
        return err_memory(err, (a->n + 1) * sizeof *list);
    for (size_t i = 0; i < a->n; i++)
        list[i] = (struct placed_module){ &a->module[i], first_tensor(&a->module[i], compare) };
    qsort(list, a->n, sizeof *list, compare);
    for (size_t i = 0; ok && i < a->n; i++)
        ok = add_module(r, a, list[i].module, err);
    free(list);
    return ok && (r->npairs != 0 || err_set(err, ERR_UNSUPPORTED, "the adapter has no low-rank factors"));
}

/* Takes the tokens of an activated adapter out of the config, which GGUF can express. */
static void
take_alora(struct recast *r)
{
    static const char name[] = "alora_invocation_tokens";
    json_t *tokens = json_object_get(r->adapter.config, name);
    if (r->job->to != RECAST_GGUF || !json_is_array(tokens) || json_array_size(tokens) == 0)
        return;
    r->alora = json_incref(tokens);
    json_object_del(r->adapter.config, name);
}

/* Opens an adapter and sorts its tensors into modules. */
static bool
open_adapter(struct recast *r, struct adapter *a, const struct adapter_argument *arg, struct err *err)
{
    const struct recast_job *job = r->job;
    const struct adapter_job of = { .model = job->model, .kernels = job->kernels, .limits = job->limits, .element = DTYPE_F32 };
    if (!adapter_open(a, arg, &of, err))
        return false;
    if (a == &r->adapter)
        take_alora(r);
    return adapter_check_config(a, err) && adapter_check_gguf(a, err) && adapter_read_keys(a, &of, err)
        && adapter_settle_modules(a, &of, err);
}

/* Reads the adapters after the first one. */
static bool
read_more(struct recast *r, struct err *err)
{
    const struct recast_job *job = r->job;
    if (job->nfrom < 2)
        return true;
    r->more = calloc(job->nfrom - 1, sizeof *r->more);
    bool ok = r->more || err_memory(err, job->nfrom * sizeof *r->more);
    for (size_t i = 1; ok && i < job->nfrom; i++) {
        struct adapter *a = &r->more[i - 1];
        ok = open_adapter(r, a, &job->from[i], err) && (a->family != ADAPTER_GGUF || err_set(err, ERR_UNSUPPORTED, "a GGUF adapter is not "
            "joined with others: convert it with --to peft first")) && read_modules(r, a, err);
        if (ok && adapter_flag(a, "fan_in_fan_out") != adapter_flag(&r->adapter, "fan_in_fan_out"))
            ok = err_set(err, ERR_UNSUPPORTED, "fan_in_fan_out differs from the first adapter's");
        if (!ok)
            err_in_file(err, a->shown ? a->shown : job->from[i].path);
    }
    return ok;
}

bool
recast_choose(struct recast *r, struct choice *choice, const struct recast_job *job, struct err *err)
{
    struct adapter *a = &r->adapter;
    r->job = job;
    r->keys.max = job->limits->alloc;
    if (!open_adapter(r, a, job->from, err))
        return false;
    if (a->family == ADAPTER_GGUF && job->nfrom > 1)
        return err_set(err, ERR_UNSUPPORTED, "a GGUF adapter is not joined with others: convert it with --to peft first");
    bool read = a->family == ADAPTER_GGUF ? recast_from_gguf(r, choice, err) : read_modules(r, a, err);
    if (!read || !read_more(r, err) || !recast_settle_names(r, err) || (job->nfrom > 1 && !recast_join(r, err)))
        return false;
    if (job->to == RECAST_GGUF)
        return recast_to_gguf(r, choice, err);
    return job->to == RECAST_KOHYA || job->to == RECAST_DIFFUSERS ? recast_to_single(r, choice, err) : recast_to_names(r, choice, err);
}

void
recast_clear(struct recast *r)
{
    for (size_t i = 1; r->more && i < r->job->nfrom; i++)
        adapter_clear(&r->more[i - 1]);
    free(r->more);
    adapter_clear(&r->adapter);
    recast_base_free(r->base);
    choice_clear(&r->plain);
    family_config_clear(&r->config);
    for (size_t i = 0; i < HF_FILES; i++)
        source_close(r->text[i]);
    keys_clear(&r->keys);
    json_decref(r->alora);
    texts_clear(&r->texts);
    free(r->pair);
    *r = (struct recast){ 0 };
}
