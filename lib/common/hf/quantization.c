#include "hf/quantization.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pull.h"
#include "hf/description.h"
#include "hf/folder.h"
#include "hf/quantizer.h"

/* State while modules are collected. */
struct collected {
    struct hf_modules m;
    struct names experts;       /* "P.experts" with some quantized experts */
    struct names apart;         /* quantized P.experts.N that transformers cannot merge */
    const char *apart_label;    /* scheme of the last of these; static */
    struct names stay;          /* unquantized P.experts.N */
    struct names embeddings;    /* quantized embeddings */
    struct names gap[HF_GAPS];  /* weights affected by each gap */
    const char *why[HF_GAPS];   /* message of the last of these; static */
    struct names rounded;       /* weights of --exact whose activations loaders round */
    const struct encoder *rounds;       /* encoder of the last of these */
    struct names silent;        /* weights that no config declares */
    const struct encoder *undeclared;   /* encoder of the last of these */
    struct names others;        /* weights that stay quantized with another scheme */
    const struct weight *other; /* the last of these */
};

/* --- one tensor */

/* Returns the length of P in P.weight, or 0. A name with a NUL is not a module. */
static size_t
module_of(const struct tensor *t)
{
    size_t n = t->name_len;
    if (str_strip(t->name, &n, ".weight") && !memchr(t->name, '\0', t->name_len))
        return n;
    return 0;
}

/* Returns the length of "P.experts" in "P.experts.N.q.weight", a matrix, or in "P.experts.q", a stack of matrices; else 0. */
static size_t
experts_of(const struct tensor *t)
{
    static const char word[] = ".experts.";
    const char *p = memmem(t->name, t->name_len, word, sizeof word - 1);
    bool is = p && (t->shape.rank == 3 || (t->shape.rank == 2 && module_of(t) != 0)) && !memchr(t->name, '\0', t->name_len);
    if (is)
        return (size_t)(p - t->name) + sizeof word - 2;
    return 0;
}

/* Returns true if one group can have both weights: it declares the options of all. */
static bool
is_alike(const struct hf_quantizer *q, const struct encoding *a, const struct encoding *b)
{
    const struct hf_loader *loader = q->loader;
    return !loader->groups || (hf_quantizer_activates(q, a) == hf_quantizer_activates(q, b) && a->options.asymmetric == b->options.asymmetric && a->options.group_size == b->options.group_size
        && (!loader->orders || !a->order == !b->order));
}

static struct hf_module_group *
group_of(struct hf_modules *m, const struct encoding *e, const struct hf_quantizer *q, struct err *err)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->group[i].quantizer == q && is_alike(q, m->group[i].e, e))
            return &m->group[i];
    struct hf_module_group *all = realloc(m->group, (m->n + 1) * sizeof *all);
    if (!all) {
        err_memory(err, (m->n + 1) * sizeof *all);
        return NULL;
    }
    m->group = all;
    all[m->n] = (struct hf_module_group){ .e = e, .quantizer = q, .inputs = true };
    return &all[m->n++];
}

/* Adds a weight that is encoded, or stored as it would be. */
static bool
add_encoded(struct collected *c, const struct encoding *e, bool stored, struct err *err)
{
    const struct tensor *t = &e->weight;
    size_t n = module_of(t), experts = experts_of(t);
    const struct hf_quantizer *q = hf_quantizer_of(e->encoder);
    if (!q)
        return true;
    if (!q->loader) {
        c->undeclared = e->encoder;
        return names_add(&c->silent, t->name, t->name_len, err);
    }
    for (unsigned i = 0; i < HF_GAPS; i++) {
        const char *why = hf_quantizer_gap(q, e, i);
        if (why)
            c->why[i] = why;
        if (why && !names_add(&c->gap[i], t->name, t->name_len, err))
            return false;
    }
    if (e->exact && !stored && e->exact->source.codes != EXACT_FP8 && hf_quantizer_activates(q, e)) {
        c->rounds = e->encoder;
        if (!names_add(&c->rounded, t->name, t->name_len, err))
            return false;
    }
    struct hf_module_group *group = group_of(&c->m, e, q, err);
    c->m.ordered = c->m.ordered || e->order;
    if (!group || !names_add(&group->names, t->name, n != 0 ? n : t->name_len, err))
        return false;
    group->inputs = group->inputs && e->exact && e->exact->source.has_input;
    if (hf_modules_is_embedding(group->names.name[group->names.n - 1]) && !names_add(&c->embeddings, t->name, n, err))
        return false;
    if (experts != 0 && !names_add(&c->experts, t->name, experts, err))
        return false;
    if (experts == 0 || n == 0 || q->apart == HF_JOINED || (q->apart == HF_APART_ASYMMETRIC && !e->options.asymmetric))
        return true;
    c->apart_label = e->encoder->label;
    return names_add(&c->apart, t->name, n, err);
}

static bool
add_kept(struct collected *c, const struct tensor *t, struct err *err)
{
    size_t n = t->shape.rank == 2 ? module_of(t) : 0, experts = experts_of(t);
    struct names *kept = &c->m.kept;
    if (experts != 0 && !names_add(&c->m.experts, t->name, experts, err))
        return false;
    if (n == 0)
        return true;
    if (experts != 0 && !names_add(&c->stay, t->name, n, err))
        return false;
    if (!names_add(kept, t->name, n, err))
        return false;
    if (hf_modules_is_embedding(kept->name[kept->n - 1]))
        free(kept->name[--kept->n]);
    return true;
}

/* Adds a weight that stays quantized with another scheme, by the name that it has without. */
static bool
add_other(struct collected *c, const struct chosen *chosen, struct err *err)
{
    const struct weight *w = chosen->kept;
    if (!w || chosen->same || chosen->copy != w->part[0])
        return true;
    c->other = w;
    return names_add(&c->others, w->name, w->name_len, err);
}

/* --- all tensors */

/* Moves the largest group to the front; on a tie, the group of `named`, else the first. */
static void
order(struct hf_modules *m, const struct encoder *named)
{
    size_t most = 0;
    for (size_t i = 0; i < m->n; i++) {
        names_sort(&m->group[i].names);
        if (m->group[i].names.n + (m->group[i].e->encoder == named) > m->group[most].names.n
            + (m->group[most].e->encoder == named))
            most = i;
    }
    struct hf_module_group first = m->n != 0 ? m->group[most] : (struct hf_module_group){ 0 };
    for (; most > 0; most--)
        m->group[most] = m->group[most - 1];
    if (m->n != 0)
        m->group[0] = first;
}

/* Removes the names of `other` from `list`; both are sorted. Returns the number removed, and the first of them in `shown`. */
static size_t
subtract(struct names *list, const struct names *other, char shown[STR_SHOWN])
{
    size_t kept = 0, both = 0, j = 0;
    for (size_t i = 0; i < list->n; i++) {
        while (j < other->n && strcmp(other->name[j], list->name[i]) < 0)
            j++;
        if (j == other->n || strcmp(other->name[j], list->name[i]) != 0) {
            list->name[kept++] = list->name[i];
            continue;
        }
        if (both++ == 0)
            str_shown(shown, list->name[i], strlen(list->name[i]));
        free(list->name[i]);
    }
    list->n = kept;
    return both;
}

static void
find_head(struct hf_modules *m)
{
    for (size_t i = 0; !m->head && i < m->kept.n; i++)
        m->head = hf_modules_is_head(m->kept.name[i]);
    for (size_t i = 0; i < m->n; i++)
        for (size_t j = 0; !m->head_encoded && j < m->group[i].names.n; j++)
            m->head_encoded = hf_modules_is_head(m->group[i].names.name[j]);
    m->head = m->head || m->head_encoded;
}

static bool
quantization_collect(struct collected *c, const struct choice *choice, const struct encoder *named, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < choice->n; i++) {
        const struct chosen *chosen = &choice->list[i];
        struct tensor t = chosen_tensor(chosen);
        if (chosen->encoding || chosen->stored)
            ok = chosen->part != 0 || add_encoded(c, chosen->encoding ? chosen->encoding : chosen->stored, !chosen->encoding, err);
        else
            ok = add_kept(c, &t, err) && add_other(c, chosen, err);
    }
    order(&c->m, named);
    names_sort(&c->m.kept);
    names_sort(&c->m.experts);
    names_sort(&c->experts);
    names_sort(&c->apart);
    names_sort(&c->stay);
    names_sort(&c->embeddings);
    names_sort(&c->silent);
    names_sort(&c->rounded);
    for (unsigned i = 0; i < HF_GAPS; i++)
        names_sort(&c->gap[i]);
    find_head(&c->m);
    return ok;
}

/* --- warnings */

enum { AND_MORE = 40 };

/* Formats " and 5 more" for the rest of n names, "" for one. Returns buf. */
static const char *
and_more(char buf[AND_MORE], size_t n)
{
    buf[0] = '\0';
    if (n > 1)
        snprintf(buf, AND_MORE, " and %zu more", n - 1);
    return buf;
}

static void
warn_of(struct catalog *catalog, const struct names *list, const char *why)
{
    char shown[STR_SHOWN], more[AND_MORE];
    if (list->n != 0)
        catalog_warn(catalog, "%s%s: %s", str_shown(shown, list->name[0], strlen(list->name[0])), and_more(more, list->n), why);
}

/* Drops the groups that a single config cannot describe, with a warning. */
static void
drop_other_loaders(struct hf_modules *m, struct catalog *catalog)
{
    size_t kept = 1;
    char shown[STR_SHOWN], more[AND_MORE];
    for (size_t i = 1; i < m->n; i++) {
        const struct encoder *a = m->group[0].e->encoder, *b = m->group[i].e->encoder;
        if (hf_quantizer_mixes(m->group[0].quantizer, m->group[i].quantizer)) {
            m->group[kept++] = m->group[i];
            continue;
        }
        const char *name = m->group[i].names.name[0];
        catalog_warn(catalog, "config.json can declare only %s, so its loader cannot read %s%s (%s)", a->label,
            str_shown(shown, name, strlen(name)), and_more(more, m->group[i].names.n), b->label);
        names_clear(&m->group[i].names);
    }
    m->n = kept;
}

/* Warns of weights that stay quantized with another scheme, which a single config cannot describe either. */
static void
warn_of_others(const struct collected *c, struct catalog *catalog)
{
    char shown[STR_SHOWN], more[AND_MORE];
    const struct names *list = &c->others;
    if (list->n != 0)
        catalog_warn(catalog, "config.json can declare only %s, so its loader cannot read %s%s (%s); amn-remember can",
            c->m.group[0].e->encoder->label, str_shown(shown, list->name[0], strlen(list->name[0])), and_more(more, list->n),
            c->other->scheme->name);
}

/* Returns true if config.json declares a model_type of transformers whose matrices are Conv1D: [in, out]. */
static bool
is_transposed(const struct catalog *c)
{
    static const char *const types[] = { "gpt2", "openai-gpt", "imagegpt", "decision_transformer", "clvp" };
    const struct catalog_config *config = hf_folder_config(c);
    struct pull json;
    if (!config)
        return false;
    pull_init(&json, config->text, config->n, 0);
    json.words = true;
    if (pull_next(&json) != PULL_OBJECT)
        return false;
    while (pull_next(&json) == PULL_KEY) {
        bool is = pull_text_is(&json.token, "model_type");
        if (is ? pull_next(&json) != PULL_STRING : !pull_skip(&json))
            return false;
        for (size_t i = 0; is && i < sizeof types / sizeof *types; i++)
            if (pull_text_is(&json.token, types[i]))
                return true;
    }
    return false;
}

/* Warns of weights whose scheme config.json cannot declare. */
static void
warn_of_undeclared(const struct collected *c, struct catalog *catalog)
{
    char why[192];
    if (c->silent.n == 0 || !hf_folder_config(catalog))
        return;
    const char *reader = hf_quantizer_of(c->undeclared)->word;
    snprintf(why, sizeof why, "config.json cannot declare %s, so %s%s can read the weights", c->undeclared->label,
        reader ? "only " : "no loader", str_or(reader, ""));
    warn_of(catalog, &c->silent, why);
}

static void
warn(const struct collected *c, size_t split, const char *shown, struct catalog *catalog)
{
    const struct hf_quantizer *q = c->m.group[0].quantizer;
    char why[192], more[AND_MORE];
    if (split != 0)             /* one warning covers unquantized experts too */
        catalog_warn(catalog, "%s%s: only some of these experts are quantized, which loaders that merge experts cannot "
            "read; --exclude '*.experts.*' leaves all of them unquantized", shown, and_more(more, split));
    snprintf(why, sizeof why, "transformers 5 merges experts, and cannot read them as %s",
        str_or(c->apart_label, ""));
    warn_of(catalog, &c->apart, why);
    snprintf(why, sizeof why, "transformers 5 merges experts, and cannot read unquantized ones in a model with %s",
        c->m.group[0].e->encoder->label);
    if (q->loses_experts && split == 0)
        warn_of(catalog, &c->stay, why);
    snprintf(why, sizeof why, "loaders of %s round activations to 8 bits: the weights are exact, but the output of the model is not",
        c->rounds ? c->rounds->label : "");
    warn_of(catalog, &c->rounded, why);
    for (unsigned i = 0; i < HF_GAPS; i++)
        warn_of(catalog, &c->gap[i], c->why[i]);
    if (!q->loader->embeddings)
        warn_of(catalog, &c->embeddings, "loaders of this scheme cannot read quantized embeddings");
    if (!q->loader->alias && is_transposed(catalog))
        catalog_warn(catalog, "the matrices of this model are transposed (Conv1D of transformers): bitsandbytes would misread "
            "them, and other loaders cannot read them quantized");
}

static void
clear(struct collected *c)
{
    hf_modules_clear(&c->m);
    names_clear(&c->experts);
    names_clear(&c->apart);
    names_clear(&c->stay);
    names_clear(&c->embeddings);
    names_clear(&c->silent);
    names_clear(&c->rounded);
    names_clear(&c->others);
    for (unsigned i = 0; i < HF_GAPS; i++)
        names_clear(&c->gap[i]);
}

bool
hf_quantization_make(struct hf_quantization *config, const struct choice *choice, const struct encoder *named,
    struct catalog *catalog, struct err *err)
{
    struct collected c = { .m.catalog = catalog };
    char shown[STR_SHOWN];
    bool ok = quantization_collect(&c, choice, named, err);
    if (ok)
        warn_of_undeclared(&c, catalog);
    if (ok && c.m.n != 0) {
        size_t split = subtract(&c.m.experts, &c.experts, shown);
        warn(&c, split, shown, catalog);
        drop_other_loaders(&c.m, catalog);
        warn_of_others(&c, catalog);
        const struct hf_loader *loader = c.m.group[0].quantizer->loader;
        loader->config(&config->text, &c.m);
        config->alias = loader->alias;
        config->file = loader->file;
        if (loader->file)
            hf_description(&config->file_text, choice, &c.m);
        if (loader->experts)
            config->experts = loader->experts(&c.m);
        else
            config->experts = NULL;
        ok = (!config->text.failed && !config->file_text.failed) || err_memory(err, config->text.len + config->file_text.len);
    }
    clear(&c);
    return ok;
}

bool
hf_quantization_of_files(struct str *out, const struct choice *choice, const struct encoder *named, bool in_dir, struct err *err)
{
    struct collected c = { .m.n = 0 };
    bool ok = quantization_collect(&c, choice, named, err);
    size_t n = 0;
    for (size_t i = 0; i < c.m.n; i++) {
        struct hf_module_group group = c.m.group[i];
        const struct hf_loader *loader = group.quantizer->loader;
        if (!loader->in_files || (in_dir && !loader->alias))
            continue;
        c.m.group[i] = c.m.group[n];
        c.m.group[n++] = group;
    }
    size_t all = c.m.n;
    c.m.n = n;
    if (ok && n != 0)
        c.m.group[0].quantizer->loader->config(out, &c.m);
    c.m.n = all;
    clear(&c);
    return ok && (!out->failed || err_memory(err, out->len));
}

void
hf_quantization_clear(struct hf_quantization *config)
{
    str_clear(&config->text);
    str_clear(&config->file_text);
    *config = (struct hf_quantization){ 0 };
}
