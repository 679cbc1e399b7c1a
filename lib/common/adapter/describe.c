#include "adapter/describe.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/experts.h"
#include "base/array.h"

static const struct form_row {
    const char *word, *name;
} forms[FORMS] = {
    [FORM_LORA] = { "lora", "LoRA" }, [FORM_DORA] = { "dora", "DoRA" }, [FORM_LOHA] = { "loha", "LoHa" },
    [FORM_LOKR] = { "lokr", "LoKr" }, [FORM_IA3] = { "ia3", "IA3" }, [FORM_DIFFERENCE] = { "difference", "difference" },
    [FORM_REPLACEMENT] = { "replacement", "replacement" }, [FORM_TOKENS] = { "tokens", "token rows" },
};

/* What each role is called in reports, and the form that it is of, if it is not a mere part of one. */
static const struct role_row {
    const char *name;
    int form;                   /* or -1 */
} roles[FACTOR_ROLES] = {
    [FACTOR_A] = { "lora_a", FORM_LORA }, [FACTOR_B] = { "lora_b", FORM_LORA }, [FACTOR_MID] = { "lora_mid", -1 },
    [FACTOR_B_BIAS] = { "lora_b_bias", -1 }, [FACTOR_ALPHA] = { "alpha", -1 }, [FACTOR_MAGNITUDE] = { "magnitude", FORM_DORA },
    [FACTOR_DORA_SCALE] = { "dora_scale", FORM_DORA }, [FACTOR_HADA_1A] = { "hada_w1_a", FORM_LOHA },
    [FACTOR_HADA_1B] = { "hada_w1_b", FORM_LOHA }, [FACTOR_HADA_2A] = { "hada_w2_a", FORM_LOHA },
    [FACTOR_HADA_2B] = { "hada_w2_b", FORM_LOHA }, [FACTOR_HADA_T1] = { "hada_t1", -1 }, [FACTOR_HADA_T2] = { "hada_t2", -1 },
    [FACTOR_LOKR_1] = { "lokr_w1", FORM_LOKR }, [FACTOR_LOKR_1A] = { "lokr_w1_a", FORM_LOKR },
    [FACTOR_LOKR_1B] = { "lokr_w1_b", FORM_LOKR }, [FACTOR_LOKR_2] = { "lokr_w2", FORM_LOKR },
    [FACTOR_LOKR_2A] = { "lokr_w2_a", FORM_LOKR }, [FACTOR_LOKR_2B] = { "lokr_w2_b", FORM_LOKR }, [FACTOR_LOKR_T2] = { "lokr_t2", -1 },
    [FACTOR_IA3] = { "ia3", FORM_IA3 }, [FACTOR_DIFF] = { "diff", FORM_DIFFERENCE }, [FACTOR_DIFF_BIAS] = { "diff_bias", FORM_DIFFERENCE },
    [FACTOR_BASE] = { "base_layer", FORM_REPLACEMENT }, [FACTOR_BASE_BIAS] = { "base_layer_bias", FORM_REPLACEMENT },
    [FACTOR_SET] = { "replacement", FORM_REPLACEMENT }, [FACTOR_SET_BIAS] = { "replacement_bias", FORM_REPLACEMENT },
    [FACTOR_TOKENS] = { "token_rows", FORM_TOKENS },
};

const char *
adapter_form_word(enum adapter_form form)
{
    return forms[form].word;
}

const char *
adapter_form_name(enum adapter_form form)
{
    return forms[form].name;
}

/* --- the whole */

/* Sets *copy to a text, escaped; NULL if it has no text. */
static bool
describe_keep(char **copy, const char *p, size_t n, struct err *err)
{
    struct str s = { 0 };
    if (p)
        str_add_escaped(&s, p, n);
    *copy = s.p;
    return !s.failed || err_memory(err, s.room);
}

static bool
keep_member(char **copy, const json_t *object, const char *name, struct err *err)
{
    const json_t *value = json_object_get(object, name);
    return describe_keep(copy, json_string_value(value), json_string_length(value), err);
}

static bool
keep_meta(char **copy, const struct adapter *a, const char *name, struct err *err)
{
    const struct meta *meta = catalog_meta_find(a->file.catalog, name);
    size_t n = 0;
    const char *p = NULL;
    if (meta && meta->value.type == META_STRING)
        p = meta_bytes(&meta->value, &n);
    return describe_keep(copy, p, n, err);
}

/* Finds kind, type and base model. */
static bool
describe_file(struct adapter_facts *f, const struct adapter *a, struct err *err)
{
    static const char *const kinds[] = { [ADAPTER_PEFT] = "peft", [ADAPTER_SINGLE] = "single", [ADAPTER_GGUF] = "gguf",
        [ADAPTER_MLX] = "mlx" };
    static const char *const bases[] = { "general.base_model.0.name", "ss_sd_model_name", "ss_base_model_version", "modelspec.architecture" };
    bool mlx = a->family == ADAPTER_MLX;
    f->kind = kinds[a->family];
    f->tokenizer = a->tokenizer;
    bool ok;
    if (a->family == ADAPTER_GGUF)
        ok = keep_meta(&f->type, a, "adapter.type", err);
    else
        ok = keep_member(&f->type, a->config, mlx ? "fine_tune_type" : "peft_type", err);
    ok = ok && keep_member(&f->base, a->config, mlx ? "model" : "base_model_name_or_path", err);
    for (size_t i = 0; ok && !f->base && i < sizeof bases / sizeof *bases; i++)
        ok = keep_meta(&f->base, a, bases[i], err);
    return ok;
}

/* --- modules */

/* Returns the forms of a module, one bit each. DoRA counts together with the form that it scales. */
static unsigned
forms_of(const struct adapter_module *m)
{
    unsigned bits = 0;
    for (size_t i = 0; i < FACTOR_ROLES; i++)
        if (m->factor[i] && roles[i].form >= 0)
            bits |= 1u << roles[i].form;
    return bits;
}

/* Writes the name of a module with "*" for each number. */
static char *
generalize(const char *p, size_t n)
{
    struct str s = { 0 };
    bool number = false;
    for (size_t i = 0; i < n; i++) {
        bool digit = p[i] >= '0' && p[i] <= '9', starts = i == 0 || p[i - 1] == '.' || p[i - 1] == '_';
        size_t end = i;
        while (starts && digit && end < n && p[end] >= '0' && p[end] <= '9')
            end++;
        number = end > i && (end == n || p[end] == '.' || p[end] == '_');
        if (number)
            str_text(&s, "*");
        else
            str_add_escaped(&s, p + i, 1);
        if (number)
            i = end - 1;
    }
    if (s.failed)
        str_clear(&s);
    return s.p;
}

static bool
same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool
add_module(struct adapter_facts *f, const struct adapter_module *m, struct err *err)
{
    unsigned bits = forms_of(m);
    enum adapter_form form = FORM_LORA;
    for (unsigned i = 0; i < FORMS; i++)
        f->forms[i] += bits >> i & 1;
    while (form < FORMS - 1 && !(bits >> form & 1))
        form++;
    if (bits >> FORM_DORA & 1)
        form = FORM_DORA;
    bool scaled = m->rank != 0 || form == FORM_LOKR;
    struct adapter_pattern one = { generalize(m->name, m->len), 1, form, m->rank, m->alpha != 0 ? m->alpha : NAN, scaled ? m->scale : NAN };
    if (!one.module)
        return err_memory(err, m->len + 1);
    for (size_t i = 0; i < f->npatterns; i++) {
        struct adapter_pattern *p = &f->pattern[i];
        if (strcmp(p->module, one.module) == 0 && p->form == form && p->rank == one.rank && same_number(p->alpha, one.alpha)
                && same_number(p->scale, one.scale)) {
            p->n++;
            free(one.module);
            return true;
        }
    }
    struct adapter_pattern *list = array_grow(f->pattern, f->npatterns, &f->room, sizeof *list, err);
    if (!list) {
        free(one.module);
        return false;
    }
    f->pattern = list;
    list[f->npatterns++] = one;
    return true;
}

/* Checks the ranks of two plain factors, which merging checks together with the shape of the weight. */
static bool
check_ranks(const struct adapter *a, const struct adapter_module *m, struct err *err)
{
    const struct tensor *one = m->factor[FACTOR_A], *two = m->factor[FACTOR_B];
    if (!one || !two || a->family != ADAPTER_PEFT || one->shape.rank < 2 || two->shape.rank < 2 || m->rank == 0
            || experts_is_stack(m))
        return true;
    uint64_t ra = shape_dim(&one->shape, 0), rb = shape_dim(&two->shape, 1);
    return (ra == m->rank && rb == m->rank) || (m->parameter && ra == rb && ra % m->rank == 0) || adapter_fail(m, ERR_MALFORMED, err, "factors of rank %" PRIu64 " and %" PRIu64
        ", expected %" PRIu64, ra, rb, m->rank);
}

/* Notes the places of the tensors of a module. */
static void
place(struct adapter_facts *f, const struct adapter *a, const struct adapter_module *m)
{
    for (size_t i = 0; i < FACTOR_ROLES; i++)
        if (m->factor[i])
            f->place[m->factor[i] - a->tensors] = (struct adapter_place){ roles[i].name, m->name, m->len };
    for (size_t i = 0; i < 2; i++)
        if (m->again[i])
            f->place[m->again[i] - a->tensors] = (struct adapter_place){ roles[i ? FACTOR_SET_BIAS : FACTOR_SET].name, m->name, m->len };
}

static bool
describe_describe(struct adapter_facts *f, const char *file, struct model *model, const struct kernels *k,
    const struct limits *limits, struct err *err)
{
    struct adapter *a = f->adapter;
    const struct adapter_argument arg = { (char *)file, 1 };
    const struct adapter_job job = { .model = model, .kernels = k, .limits = limits, .element = DTYPE_F32 };
    a->faults = &f->refused;
    if (!adapter_open(a, &arg, &job, err))
        return false;
    a->faults = &f->refused;
    if (!describe_file(f, a, err))
        return false;
    f->place = calloc(catalog_count(a->file.catalog) + 1, sizeof *f->place);
    if (!f->place)
        return err_memory(err, 0);
    if ((!adapter_check_config(a, err) && !adapter_tolerates(a, err)) || (!adapter_check_gguf(a, err) && !adapter_tolerates(a, err))
            || (!adapter_read_keys(a, &job, err) && !adapter_tolerates(a, err))
            || (!adapter_settle_modules(a, &job, err) && !adapter_tolerates(a, err)))
        return err_in_file(err, a->shown);
    f->modules = a->n;
    for (size_t i = 0; i < a->n; i++) {
        place(f, a, &a->module[i]);
        if ((!check_ranks(a, &a->module[i], err) && !adapter_tolerates(a, err)) || !add_module(f, &a->module[i], err))
            return false;
    }
    return true;
}

struct adapter_facts *
adapter_describe(const char *file, struct model *model, const struct kernels *k, const struct limits *limits, struct err *err)
{
    struct adapter_facts *f = calloc(1, sizeof *f);
    if (f)
        f->adapter = calloc(1, sizeof *f->adapter);
    bool ok = (f && f->adapter) || err_memory(err, sizeof *f);
    if (ok && describe_describe(f, file, model, k, limits, err))
        return f;
    adapter_facts_free(f);
    return NULL;
}

void
adapter_facts_free(struct adapter_facts *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->npatterns; i++)
        free(f->pattern[i].module);
    if (f->adapter)
        adapter_clear(f->adapter);
    free(f->adapter);
    free(f->pattern);
    free(f->place);
    free(f->type);
    free(f->base);
    names_clear(&f->refused);
    free(f);
}
