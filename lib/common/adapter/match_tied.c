/* Heads that are tied to the embedding: one stored tensor for two weights. They stay tied unless an adapter changes them
 * differently; then the head becomes a tensor. */
#include <string.h>

#include "adapter/match_priv.h"
#include "base/num.h"

/* The modules of an adapter for the two. */
struct pair {
    struct adapter_module *embedding, *head;    /* or NULL */
};

/* Returns true if a module changes its weight otherwise than by rows of tokens. */
static bool
changes(const struct adapter_module *m)
{
    static const enum factor_role roles[] = { FACTOR_A, FACTOR_HADA_1A, FACTOR_LOKR_1, FACTOR_LOKR_1A, FACTOR_IA3, FACTOR_DIFF,
        FACTOR_BASE, FACTOR_SET };
    for (size_t i = 0; m && i < sizeof roles / sizeof *roles; i++)
        if (m->factor[roles[i]])
            return true;
    return false;
}

static struct pair
find_pair(const struct adapter *a)
{
    struct pair p = { 0 };
    for (size_t i = 0; i < a->n; i++) {
        if (adapter_is_embedding(&a->module[i]))
            p.embedding = &a->module[i];
        if (adapter_is_head(&a->module[i]))
            p.head = &a->module[i];
    }
    return p;
}

/* --- whether both change in the same way */

/* Compares two matrices [n, nk] of factors. */
static bool
same_factors(bool *same, const struct match_job *m, const struct factor *a, const struct factor *b, uint64_t n, uint64_t nk,
    struct err *err)
{
    enum { FEW = 512 };
    float x[FEW], y[FEW];
    const struct model *model = m->job->model;
    for (uint64_t i = 0, some; *same && i < n; i += some) {
        some = num_min(n - i, num_max(FEW / nk, 1));
        if (nk > FEW)
            *same = false;
        else if (!factor_read(model, m->job->kernels, a, i, (size_t)some, (size_t)nk, x, err)
                || !factor_read(model, m->job->kernels, b, i, (size_t)some, (size_t)nk, y, err))
            return false;
        *same = *same && memcmp(x, y, (size_t)(some * nk) * sizeof *x) == 0;
    }
    return true;
}

/* Sets *same if an embedding and a head have low-rank changes that are the same, one stored as the transpose of the other. */
static bool
same_lowrank(bool *same, const struct match_job *m, const struct pair *p, struct err *err)
{
    const struct tensor *const *e = p->embedding->factor, *const *h = p->head->factor;
    uint64_t r = p->embedding->rank, vocabulary, dim;
    *same = e[FACTOR_A] && h[FACTOR_A] && e[FACTOR_B] && h[FACTOR_B] && r != 0 && r == p->head->rank
        && p->embedding->scale == p->head->scale && p->embedding->order == ORDER_EMBEDDING && p->head->order == ORDER_LINEAR
        && shape_numel(&e[FACTOR_A]->shape, &vocabulary) && shape_numel(&e[FACTOR_B]->shape, &dim);
    if (!*same)
        return true;
    uint64_t rows = vocabulary / r, cols = dim / r, n;
    *same = shape_numel(&h[FACTOR_B]->shape, &n) && n == vocabulary && shape_numel(&h[FACTOR_A]->shape, &n) && n == dim;
    const struct factor el = { e[FACTOR_A], 0, 1, rows }, hl = { h[FACTOR_B], 0, r, 1 };
    const struct factor er = { e[FACTOR_B], 0, r, 1 }, hr = { h[FACTOR_A], 0, 1, cols };
    return same_factors(same, m, &el, &hl, rows, r, err) && same_factors(same, m, &er, &hr, cols, r, err);
}

/* Sets *same if both modules have a tensor in this role, with the same bytes, or neither has. */
static bool
same_tensor(bool *same, const struct match_job *m, const struct pair *p, enum factor_role role, struct err *err)
{
    const struct tensor *e = p->embedding->factor[role], *h = p->head->factor[role];
    *same = !e && !h;
    return !e || !h || model_same(same, m->job->model, e, h, err);
}

static bool
same_changes(bool *same, const struct match_job *m, const struct pair *p, struct err *err)
{
    static const enum factor_role roles[] = { FACTOR_BASE, FACTOR_SET, FACTOR_DIFF };
    *same = true;
    for (enum factor_role i = 0; i < FACTOR_ROLES; i++) {
        bool compared = i <= FACTOR_B || i == FACTOR_BASE || i == FACTOR_SET || i == FACTOR_DIFF || i == FACTOR_TOKENS;
        *same = *same && (compared || (!p->embedding->factor[i] && !p->head->factor[i]));
    }
    for (size_t i = 0; *same && i < sizeof roles / sizeof *roles; i++)
        if (!same_tensor(same, m, p, roles[i], err))
            return false;
    if (*same && (p->embedding->factor[FACTOR_A] || p->head->factor[FACTOR_A]))
        return same_lowrank(same, m, p, err);
    return true;
}

/* --- whether the base ties them */

/* Reads config.json: it says that the two are tied, or says nothing about a model whose class ties them by default. */
static bool
config_ties(bool *ties, const struct match_job *m, struct err *err)
{
    json_t *config;
    *ties = false;
    if (!match_config(&config, m, err))
        return false;
    const json_t *own = json_object_get(config, "tie_word_embeddings");
    const json_t *inner = json_object_get(json_object_get(config, "text_config"), "tie_word_embeddings");
    const char *class = json_string_value(json_array_get(json_object_get(config, "architectures"), 0));
    bool generates = class && (strstr(class, "ForCausalLM") || strstr(class, "LMHeadModel")
        || strstr(class, "ForConditionalGeneration"));
    if (own)
        *ties = json_is_true(own);
    else if (inner)
        *ties = json_is_true(inner);
    else
        *ties = generates;
    json_decref(config);
    return true;
}

/* Finds the embedding of a base whose head is tied to it; WEIGHT_NONE if it has a head, or none is known. */
static bool
find_tied(size_t *embedding, const char **head, const struct match_job *m, struct err *err)
{
    static const char *const names[] = { "embed_tokens.weight", "wte.weight", "word_embeddings.weight", "embed_in.weight" };
    bool gguf = strcmp(catalog_facts_of(m->job->model->catalog)->format, "GGUF") == 0, ties = gguf;
    size_t found;
    *embedding = WEIGHT_NONE;
    if (gguf)
        *head = "output.weight";
    else
        *head = "lm_head.weight";
    if (!weight_names_find(&found, m->names, *head, strlen(*head), gguf ? WEIGHT_EXACT : WEIGHT_ENDS, err)
            || (!gguf && !config_ties(&ties, m, err)))
        return false;
    if (found != WEIGHT_NONE || !ties)
        return true;
    if (gguf)
        return weight_names_find(embedding, m->names, "token_embd.weight", 17, WEIGHT_EXACT, err);
    for (size_t i = 0; i < sizeof names / sizeof *names && *embedding == WEIGHT_NONE; i++)
        if (!weight_names_find(embedding, m->names, names[i], strlen(names[i]), WEIGHT_ENDS, err))
            return false;
    return true;
}

/* --- parting */

/* Decides what the modules of one adapter mean for a tied pair. *part: they have to be parted. */
static bool
see_adapter(bool *part, const struct match_job *m, const struct adapter *a, struct err *err)
{
    struct pair p = find_pair(a);
    bool same = false, tokens = p.head && p.head->factor[FACTOR_TOKENS];
    if (a->c == 0 || (!changes(p.embedding) && !changes(p.head) && !tokens))
        return true;
    for (enum factor_role r = FACTOR_MAGNITUDE; p.head && changes(p.head) && r <= FACTOR_DORA_SCALE; r++)
        if (p.head->factor[r])
            return adapter_fail(p.head, ERR_UNSUPPORTED, err, "DoRA on a head that is tied to the embedding is not merged");
    if (p.embedding && p.head && !same_changes(&same, m, &p, err))
        return false;
    if (tokens && p.embedding && p.embedding->factor[FACTOR_TOKENS] && (!same_tensor(&tokens, m, &p, FACTOR_TOKENS, err)
            || (!tokens && !adapter_fail(p.head, ERR_MALFORMED, err, "its token rows differ from those of the embedding, to which it "
            "is tied"))))
        return false;
    if (same || (p.head && !changes(p.head) && !changes(p.embedding)))
        p.head->skipped = true;
    else if (!(adapter_flag(a, "ensure_weight_tying") && !p.head))
        *part = true;
    return true;
}

/* Makes the head a copy of the embedding, under the name of a head. */
static bool
part_head(struct match_job *m, size_t embedding, const char *name, struct err *err)
{
    const struct chosen chosen = m->choice->list[embedding];
    if (!m->job->gguf && !m->job->dir && strcmp(name, "output.weight") != 0)
        return err_set(err, ERR_USAGE, "the head of the model is tied to its embedding, and the adapter changes them "
            "differently: config.json has to say so, so write a directory with -o DIR/");
    static const char other[] = "lm_head.weight";       /* the name of it in adapters for a GGUF base */
    m->effects->untied = true;
    return match_append(&m->head, m, &chosen, name, strlen(name), err)
        && (strcmp(name, other) == 0 || weight_names_add(m->names, other, sizeof other - 1, m->head, err));
}

bool
match_tied(struct match_job *m, struct err *err)
{
    size_t embedding;
    const char *head;
    bool part = false;
    if (!find_tied(&embedding, &head, m, err))
        return false;
    for (size_t i = 0; embedding != WEIGHT_NONE && i < m->n; i++)
        if (!see_adapter(&part, m, &m->list[i], err))
            return err_in_file(err, m->list[i].shown);
    return !part || part_head(m, embedding, head, err);
}
