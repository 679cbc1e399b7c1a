#include "plan/model_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_pull.h"
#include "base/str.h"
#include "encode/roster.h"

/* Modules while they are collected. */
struct collected {
    struct roster m;
    struct names experts;       /* "P.experts" some of which are encoded */
    struct names joined;        /* experts of their own that are encoded and that transformers does not join */
    const struct encoder *joins_not;    /* of the last of these */
    struct names apart;         /* experts of their own that stay */
    struct names embeddings;    /* that are encoded */
    struct names differ;        /* of which a loader makes something else */
    const char *differs;        /* what; static */
    struct names refused;       /* that a loader refuses */
    const char *why;            /* of the last of these; static */
};

/* --- one tensor */

/* Length of P of a tensor P.weight, else 0. Of a name that holds NUL no module is called. */
static size_t
module_of(const struct tensor *t)
{
    size_t n = t->name_len;
    return str_strip(t->name, &n, ".weight") && !memchr(t->name, '\0', t->name_len) ? n : 0;
}

/* Length of "P.experts" of what is called "P.experts.N.q.weight", a matrix, or "P.experts.q", several; else 0. */
static size_t
experts_of(const struct tensor *t)
{
    static const char word[] = ".experts.";
    const char *p = memmem(t->name, t->name_len, word, sizeof word - 1);
    bool is = p && (t->shape.rank == 3 || (t->shape.rank == 2 && module_of(t) != 0)) && !memchr(t->name, '\0', t->name_len);
    return is ? (size_t)(p - t->name) + sizeof word - 2 : 0;
}

static struct roster_group *
group_of(struct roster *m, const struct encoding *e, struct err *err)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->group[i].e->encoder == e->encoder)
            return &m->group[i];
    struct roster_group *all = realloc(m->group, (m->n + 1) * sizeof *all);
    if (!all) {
        err_memory(err, (m->n + 1) * sizeof *all);
        return NULL;
    }
    m->group = all;
    all[m->n] = (struct roster_group){ .e = e };
    return &all[m->n++];
}

static bool
add_encoded(struct collected *c, const struct encoding *e, struct err *err)
{
    const struct tensor *t = &e->weight;
    size_t n = module_of(t), experts = experts_of(t);
    if (!e->encoder->config)
        return true;
    const char *differs = e->encoder->differs ? e->encoder->differs(e) : NULL;
    c->differs = differs ? differs : c->differs;
    if (differs && !names_add(&c->differ, t->name, t->name_len, err))
        return false;
    const char *refused = e->encoder->refused ? e->encoder->refused(e) : NULL;
    c->why = refused ? refused : c->why;
    if (refused && !names_add(&c->refused, t->name, t->name_len, err))
        return false;
    struct roster_group *group = group_of(&c->m, e, err);
    if (!group || !names_add(&group->names, t->name, n != 0 ? n : t->name_len, err))
        return false;
    if (roster_is_embedding(group->names.name[group->names.n - 1]) && !names_add(&c->embeddings, t->name, n, err))
        return false;
    if (experts != 0 && !names_add(&c->experts, t->name, experts, err))
        return false;
    if (experts == 0 || n == 0 || !e->encoder->joins_experts || e->encoder->joins_experts(e))
        return true;
    c->joins_not = e->encoder;
    return names_add(&c->joined, t->name, n, err);
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
    if (experts != 0 && !names_add(&c->apart, t->name, n, err))
        return false;
    if (!names_add(kept, t->name, n, err))
        return false;
    if (roster_is_embedding(kept->name[kept->n - 1]))
        free(kept->name[--kept->n]);
    return true;
}

/* --- all of them */

/* The largest group comes first; of those as large that of `named`, else the one that was there before. */
static void
order(struct roster *m, const struct encoder *named)
{
    size_t most = 0;
    for (size_t i = 0; i < m->n; i++) {
        names_sort(&m->group[i].names);
        if (m->group[i].names.n + (m->group[i].e->encoder == named) > m->group[most].names.n
            + (m->group[most].e->encoder == named))
            most = i;
    }
    struct roster_group first = m->n != 0 ? m->group[most] : (struct roster_group){ 0 };
    for (; most > 0; most--)
        m->group[most] = m->group[most - 1];
    if (m->n != 0)
        m->group[0] = first;
}

/* Leave those out of `list` that are in `other`, both sorted; how many these were, and the first of them. */
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
find_head(struct roster *m)
{
    for (size_t i = 0; !m->head && i < m->kept.n; i++)
        m->head = roster_is_head(m->kept.name[i]);
    for (size_t i = 0; i < m->n; i++)
        for (size_t j = 0; !m->head_encoded && j < m->group[i].names.n; j++)
            m->head_encoded = roster_is_head(m->group[i].names.name[j]);
    m->head = m->head || m->head_encoded;
}

static bool
collect(struct collected *c, const struct choice *choice, const struct encoder *named, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < choice->n; i++) {
        const struct chosen *chosen = &choice->list[i];
        struct tensor t = chosen_tensor(chosen);
        ok = chosen->encoding ? chosen->part != 0 || add_encoded(c, chosen->encoding, err) : add_kept(c, &t, err);
    }
    order(&c->m, named);
    names_sort(&c->m.kept);
    names_sort(&c->m.experts);
    names_sort(&c->experts);
    names_sort(&c->joined);
    names_sort(&c->apart);
    names_sort(&c->embeddings);
    names_sort(&c->differ);
    names_sort(&c->refused);
    find_head(&c->m);
    return ok;
}

/* --- what no loader reads */

static void
warn_of(struct catalog *catalog, const struct names *list, const char *why)
{
    char shown[STR_SHOWN];
    if (list->n != 0)
        catalog_warn(catalog, "%s%s: %s", str_shown(shown, list->name[0], strlen(list->name[0])),
            list->n > 1 ? " and others" : "", why);
}

/* The groups of which one config does not speak go. */
static void
leave_strangers(struct roster *m, struct catalog *catalog)
{
    size_t kept = 1;
    char shown[STR_SHOWN];
    for (size_t i = 1; i < m->n; i++) {
        const struct encoder *a = m->group[0].e->encoder, *b = m->group[i].e->encoder;
        if (a->config == b->config && a->config_mixes && a->config_mixes(m->group[0].e, m->group[i].e)) {
            m->group[kept++] = m->group[i];
            continue;
        }
        const char *name = m->group[i].names.name[0];
        catalog_warn(catalog, "config.json speaks of %s alone: its loader does not read %s%s, %s", a->label,
            str_shown(shown, name, strlen(name)), m->group[i].names.n > 1 ? " and others" : "", b->label);
        names_clear(&m->group[i].names);
    }
    m->n = kept;
}

/* Whether config.json says a model of transformers whose matrices are Conv1D: [in, out]. */
static bool
is_turned(const struct catalog *c)
{
    static const char *const types[] = { "gpt2", "openai-gpt", "imagegpt", "decision_transformer", "clvp" };
    bool turned = false;
    for (size_t i = 0; i < catalog_config_count(c); i++) {
        const struct catalog_config *config = catalog_config_at(c, i);
        struct pull json;
        pull_init(&json, config->text, config->n, 0);
        json.words = true;
        if (strcmp(config->name, "config.json") != 0 || pull_next(&json) != PULL_OBJECT)
            continue;
        while (pull_next(&json) == PULL_KEY) {
            bool is = pull_text_is(&json.token, "model_type");
            if (!is && !pull_skip(&json))
                break;
            if (!is || pull_next(&json) != PULL_STRING)
                continue;
            for (size_t j = 0; j < sizeof types / sizeof *types; j++)
                turned = turned || pull_text_is(&json.token, types[j]);
        }
    }
    return turned;
}

static void
warn(const struct collected *c, size_t split, const char *shown, struct catalog *catalog)
{
    const struct encoder *encoder = c->m.group[0].e->encoder;
    char why[192];
    if (split != 0)             /* said once, whichever of them stay */
        catalog_warn(catalog, "%s%s: some of these experts are encoded and some are not, which no loader reads that joins "
            "them: --exclude '*.experts.*' leaves all of them", shown, split > 1 ? " and others" : "");
    snprintf(why, sizeof why, "transformers 5, which joins experts, does not read them as %s",
        c->joins_not ? c->joins_not->label : "");
    warn_of(catalog, &c->joined, why);
    snprintf(why, sizeof why, "transformers 5, which joins experts, reads none that stay as they are beside %s",
        encoder->label);
    if (encoder->loses_experts && split == 0)
        warn_of(catalog, &c->apart, why);
    warn_of(catalog, &c->differ, c->differs);
    warn_of(catalog, &c->refused, c->why);
    if (!encoder->config_too && !encoder->config_group)
        warn_of(catalog, &c->embeddings, "loaders of this scheme read no embedding that is encoded");
    if (!encoder->config_too && is_turned(catalog))
        catalog_warn(catalog, "the matrices of this model lie turned, as Conv1D of transformers has them: bitsandbytes would "
            "take them for other ones, and other loaders read none that are encoded");
}

static void
clear(struct collected *c)
{
    roster_clear(&c->m);
    names_clear(&c->experts);
    names_clear(&c->joined);
    names_clear(&c->apart);
    names_clear(&c->embeddings);
    names_clear(&c->differ);
    names_clear(&c->refused);
}

bool
model_config_make(struct model_config *config, const struct choice *choice, const struct encoder *named,
    struct catalog *catalog, struct err *err)
{
    struct collected c = { .m.catalog = catalog };
    char shown[STR_SHOWN];
    bool ok = collect(&c, choice, named, err);
    if (ok && c.m.n != 0) {
        size_t split = subtract(&c.m.experts, &c.experts, shown);
        warn(&c, split, shown, catalog);
        leave_strangers(&c.m, catalog);
        const struct encoder *encoder = c.m.group[0].e->encoder;
        encoder->config(&config->quantization, &c.m);
        config->too = encoder->config_too;
        ok = !config->quantization.failed || err_memory(err, config->quantization.len);
    }
    clear(&c);
    return ok;
}

bool
model_config_of_files(struct str *out, const struct choice *choice, const struct encoder *named, struct err *err)
{
    struct collected c = { .m.n = 0 };
    bool ok = collect(&c, choice, named, err);
    size_t n = 0;
    for (size_t i = 0; i < c.m.n; i++) {
        struct roster_group group = c.m.group[i];
        if (!group.e->encoder->config_too)
            continue;
        c.m.group[i] = c.m.group[n];
        c.m.group[n++] = group;
    }
    size_t all = c.m.n;
    c.m.n = n;
    if (ok && n != 0)
        c.m.group[0].e->encoder->config(out, &c.m);
    c.m.n = all;
    clear(&c);
    return ok && (!out->failed || err_memory(err, out->len));
}

void
model_config_clear(struct model_config *config)
{
    str_clear(&config->quantization);
    *config = (struct model_config){ 0 };
}
