/* Adapters in safetensors: the factors under the names of PEFT or MLX, and adapter_config.json. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/recast.h"
#include "base/names.h"

static const char config_name[] = "adapter_config.json", root[] = "base_model.model.";

/* Appends a tensor of a pair: its name is PREFIX, the module, END. */
static bool
append_named(struct choice *choice, const struct recast *r, const struct recast_pair *p, const struct chosen *c, const char *prefix,
    const char *end, struct err *err)
{
    struct chosen out = *c;
    struct str name = { 0 };
    str_text(&name, prefix);
    str_add(&name, p->name, p->n);
    str_text(&name, end);
    return recast_name(&out, r, &name, err) && choice_append(choice, &out, err);
}

/* --- what the config says */

/* Returns the part of a module's name by which configs select it: after the number of the layer, or the last component. */
static const char *
local_name(const struct recast_pair *p, bool layer, size_t *n)
{
    size_t at = p->n, found = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (p->name[i] != '.')
            continue;
        size_t k = i;
        while (k != 0 && p->name[k - 1] >= '0' && p->name[k - 1] <= '9')
            k--;
        if (layer && k != i && k != 0 && p->name[k - 1] == '.' && found == 0)
            found = i + 1;
        at = i;
    }
    if (!layer)
        found = at == p->n ? 0 : at + 1;
    *n = p->n - found;
    return p->name + found;
}

/* Lists the local names of all modules, sorted. */
static bool
list_local(struct names *names, const struct recast *r, bool layer, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < r->npairs; i++) {
        size_t n;
        const char *p = local_name(&r->pair[i], layer, &n);
        ok = names_add(names, p, n, err);
    }
    names_sort(names);
    return ok;
}

static void
push_names(struct push *json, const char *key, const struct names *names)
{
    push_key(json, key);
    push_array(json);
    for (size_t i = 0; i < names->n; i++)
        push_text(json, names->name[i]);
    push_end(json);
}

/* Writes a whole number without a point. */
static void
push_number(struct push *json, double x)
{
    if (x == floor(x) && fabs(x) < 1e15)
        push_i64(json, (int64_t)x);
    else
        push_real(json, x);
}

/* Writes the ranks, or the alphas, of the modules that differ from the first one. */
static void
push_pattern(struct push *json, const char *key, const struct recast *r, bool alpha)
{
    const struct recast_pair *first = r->pair;
    push_key(json, key);
    push_object(json);
    for (size_t i = 1; i < r->npairs; i++) {
        const struct recast_pair *p = &r->pair[i];
        if (alpha ? p->alpha == first->alpha : p->rank == first->rank)
            continue;
        push_name(json, p->name, p->n);
        push_number(json, alpha ? p->alpha : (double)p->rank);
    }
    push_end(json);
}

/* --- PEFT */

static bool
write_peft(struct recast *r, struct err *err)
{
    struct names targets = { 0 }, saved = { 0 };
    struct str *text = texts_add(&r->texts, config_name, err);
    if (!text || !list_local(&targets, r, false, err))
        return false;
    struct push json = { .out = text };
    bool ok = true;
    for (size_t i = 0; ok && i < r->plain.n; i++) {
        const struct recast_pair p = { .name = r->plain.list[i].name, .n = r->plain.list[i].name_len - 7 };
        size_t n;
        const char *name = local_name(&p, false, &n);
        ok = names_add(&saved, name, n, err);
    }
    names_sort(&saved);
    push_object(&json);
    push_pattern(&json, "alpha_pattern", r, true);
    push_key(&json, "base_model_name_or_path");
    recast_push_base(&json, r);
    push_key(&json, "bias");
    push_text(&json, "none");
    push_key(&json, "fan_in_fan_out");
    push_bool(&json, adapter_flag(&r->adapter, "fan_in_fan_out"));
    push_key(&json, "inference_mode");
    push_bool(&json, true);
    push_key(&json, "lora_alpha");
    push_number(&json, r->pair->alpha);
    push_key(&json, "lora_dropout");
    push_real(&json, 0);
    if (saved.n != 0)
        push_names(&json, "modules_to_save", &saved);
    push_key(&json, "peft_type");
    push_text(&json, "LORA");
    push_key(&json, "r");
    push_u64(&json, r->pair->rank);
    push_pattern(&json, "rank_pattern", r, false);
    push_names(&json, "target_modules", &targets);
    push_key(&json, "task_type");
    push_text(&json, "CAUSAL_LM");
    push_end(&json);
    names_clear(&targets);
    names_clear(&saved);
    return ok && texts_check(&r->texts, err);
}

static bool
to_peft(struct recast *r, struct choice *choice, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < r->npairs; i++) {
        const struct recast_pair *p = &r->pair[i];
        ok = append_named(choice, r, p, &p->a, root, p->embedding ? ".lora_embedding_A" : ".lora_A.weight", err)
            && append_named(choice, r, p, &p->b, root, p->embedding ? ".lora_embedding_B" : ".lora_B.weight", err);
    }
    for (size_t i = 0; ok && i < r->plain.n; i++) {
        struct chosen *c = &r->plain.list[i];
        const struct recast_pair p = { .name = c->name, .n = c->name_len };
        ok = append_named(choice, r, &p, c, root, "", err);
    }
    return ok && write_peft(r, err);
}

/* --- MLX */

/* Checks that rank and scale are the same for all modules, as mlx-lm has one of each. */
static bool
check_mlx(const struct recast *r, struct err *err)
{
    const struct recast_pair *first = r->pair;
    char one[STR_SHOWN], two[STR_SHOWN];
    for (size_t i = 0; i < r->npairs; i++) {
        const struct recast_pair *p = &r->pair[i];
        if (p->rank != first->rank || p->alpha != first->alpha)
            return err_set(err, ERR_UNSUPPORTED, "modules %s and %s: MLX has one rank and one scale for all, but theirs differ",
                str_shown(one, first->name, first->n), str_shown(two, p->name, p->n));
    }
    return r->plain.n == 0 || err_set(err, ERR_UNSUPPORTED, "tensor %s: an adapter of MLX does not replace tensors",
        str_shown(one, r->plain.list->name, r->plain.list->name_len));
}

static bool
write_mlx(struct recast *r, struct err *err)
{
    struct names keys = { 0 };
    struct str *text = texts_add(&r->texts, config_name, err);
    if (!text || !list_local(&keys, r, true, err))
        return false;
    struct push json = { .out = text };
    push_object(&json);
    push_key(&json, "fine_tune_type");
    push_text(&json, "lora");
    push_key(&json, "lora_parameters");
    push_object(&json);
    push_key(&json, "dropout");
    push_real(&json, 0);
    push_names(&json, "keys", &keys);
    push_key(&json, "rank");
    push_u64(&json, r->pair->rank);
    push_key(&json, "scale");
    push_real(&json, r->pair->alpha / (double)r->pair->rank);
    push_end(&json);
    push_key(&json, "model");
    recast_push_base(&json, r);
    push_key(&json, "num_layers");
    push_i64(&json, -1);
    push_end(&json);
    names_clear(&keys);
    return texts_check(&r->texts, err);
}

static bool
to_mlx(struct recast *r, struct choice *choice, struct err *err)
{
    bool ok = check_mlx(r, err);
    for (size_t i = 0; ok && i < r->npairs; i++) {
        const struct recast_pair *p = &r->pair[i];
        struct chosen a, b;
        ok = recast_transpose(&a, r, &p->a, err) && recast_transpose(&b, r, &p->b, err)
            && append_named(choice, r, p, &a, "", ".lora_a", err) && append_named(choice, r, p, &b, "", ".lora_b", err);
    }
    return ok && write_mlx(r, err);
}

bool
recast_to_names(struct recast *r, struct choice *choice, struct err *err)
{
    choice->n = 0;
    choice->matrices = DTYPE_UNKNOWN;
    return r->job->to == RECAST_PEFT ? to_peft(r, choice, err) : to_mlx(r, choice, err);
}
