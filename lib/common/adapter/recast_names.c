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

static void
push_names(struct push *json, const char *key, const struct names *names)
{
    push_key(json, key);
    push_array(json);
    for (size_t i = 0; i < names->n; i++)
        push_text(json, names->name[i]);
    push_end(json);
}

/* Returns where the last component of p[0..n) begins; a number counts as a part of the component before it: "to_out.0". */
static size_t
last_component(const char *p, size_t n)
{
    size_t at = n;
    while (at != 0 && p[at - 1] != '.')
        at--;
    bool number = at > 1 && at < n && strspn(p + at, "0123456789") >= n - at;
    return number ? last_component(p, at - 1) : at;
}

/* Returns the part of a module's name by which configs select it: after the number of the layer, or the last component. */
static const char *
local_name(const struct recast_pair *p, bool layer, size_t *n)
{
    size_t found = 0;
    for (size_t i = 0; layer && i < p->n; i++) {
        if (p->name[i] != '.')
            continue;
        size_t k = i;
        while (k != 0 && p->name[k - 1] >= '0' && p->name[k - 1] <= '9')
            k--;
        if (k != i && k != 0 && p->name[k - 1] == '.' && found == 0)
            found = i + 1;
    }
    if (!layer)
        found = last_component(p->name, p->n);
    *n = p->n - found;
    return p->name + found;
}

bool
recast_push_targets(struct push *json, const char *key, const struct recast *r, int tower, bool layer, struct err *err)
{
    struct names names = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < r->npairs; i++) {
        size_t n;
        const char *p = local_name(&r->pair[i], layer, &n);
        ok = r->pair[i].tower != tower || names_add(&names, p, n, err);
    }
    names_sort(&names);
    push_names(json, key, &names);
    names_clear(&names);
    return ok;
}

void
recast_push_number(struct push *json, double x)
{
    if (x == floor(x) && fabs(x) < 1e15)
        push_i64(json, (int64_t)x);
    else
        push_real(json, x);
}

void
recast_push_pattern(struct push *json, const char *key, const struct recast *r, int tower, bool alpha)
{
    const struct recast_pair *first = NULL;
    push_key(json, key);
    push_object(json);
    for (size_t i = 0; i < r->npairs; i++) {
        const struct recast_pair *p = &r->pair[i];
        if (p->tower != tower)
            continue;
        first = first ? first : p;
        if (alpha ? p->alpha == first->alpha : p->rank == first->rank)
            continue;
        push_name(json, p->name, p->n);
        recast_push_number(json, alpha ? p->alpha : (double)p->rank);
    }
    push_end(json);
}

/* --- PEFT */

static bool
write_peft(struct recast *r, struct err *err)
{
    struct names saved = { 0 };
    struct str *text = texts_add(&r->texts, config_name, err);
    struct push json = { .out = text };
    bool ok = text != NULL;
    for (size_t i = 0; ok && i < r->plain.n; i++) {
        const struct recast_pair p = { .name = r->plain.list[i].name, .n = r->plain.list[i].name_len - 7 };
        size_t n;
        const char *name = local_name(&p, false, &n);
        ok = names_add(&saved, name, n, err);
    }
    if (!ok) {
        names_clear(&saved);
        return false;
    }
    names_sort(&saved);
    push_object(&json);
    recast_push_pattern(&json, "alpha_pattern", r, TOWER_NONE, true);
    push_key(&json, "base_model_name_or_path");
    recast_push_base(&json, r);
    push_key(&json, "bias");
    push_text(&json, "none");
    push_key(&json, "fan_in_fan_out");
    push_bool(&json, adapter_flag(&r->adapter, "fan_in_fan_out"));
    push_key(&json, "inference_mode");
    push_bool(&json, true);
    push_key(&json, "lora_alpha");
    recast_push_number(&json, r->pair->alpha);
    push_key(&json, "lora_dropout");
    push_real(&json, 0);
    if (saved.n != 0)
        push_names(&json, "modules_to_save", &saved);
    push_key(&json, "peft_type");
    push_text(&json, "LORA");
    push_key(&json, "r");
    push_u64(&json, r->pair->rank);
    recast_push_pattern(&json, "rank_pattern", r, TOWER_NONE, false);
    ok = recast_push_targets(&json, "target_modules", r, TOWER_NONE, false, err);
    push_key(&json, "task_type");
    if (r->adapter.family == ADAPTER_SINGLE)
        push_null(&json);
    else
        push_text(&json, "CAUSAL_LM");
    push_end(&json);
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
    struct str *text = texts_add(&r->texts, config_name, err);
    if (!text)
        return false;
    struct push json = { .out = text };
    push_object(&json);
    push_key(&json, "fine_tune_type");
    push_text(&json, "lora");
    push_key(&json, "lora_parameters");
    push_object(&json);
    push_key(&json, "dropout");
    push_real(&json, 0);
    bool ok = recast_push_targets(&json, "keys", r, TOWER_NONE, true, err);
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
    return ok && texts_check(&r->texts, err);
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
