/* megatron: mp_rank_TT[_PPP]/model_optim_rng.pt of Megatron-LM: tensor ranks TT, whose parts a rule of the name joins, and pipeline stages
 * PPP, whose layers are counted on. Source: Megatron-LM, training/checkpointing.py; megatron/core/tensor_parallel/layers.py. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/sharded/composed_ranks.h"
#include "container/sharded/json_facts.h"
#include "container/torch/objects.h"

enum { TP_MAX = 1024, PP_MAX = 1024, CHUNKS_MAX = 64, DEPTH_MAX = 16 };

/* Reads the numbers in mp_rank_00_001. Returns how many there are; 0 for another name. */
static int
read_rank(const char *name, unsigned *tp, unsigned *pp)
{
    unsigned ep;
    int used = 0;
    *pp = 0;
    if (strncmp(name, "mp_rank_", 8) != 0 || !isdigit((unsigned char)name[8]))
        return 0;
    if (sscanf(name, "mp_rank_%u_%u_%u%n", tp, pp, &ep, &used) == 3 && name[used] == '\0')
        return 3;
    if (sscanf(name, "mp_rank_%u_%u%n", tp, pp, &used) == 2 && name[used] == '\0')
        return 2;
    *pp = 0;
    used = 0;
    return sscanf(name, "mp_rank_%u%n", tp, &used) == 1 && name[used] == '\0' ? 1 : 0;
}

static bool
megatron_probe(const struct sharded *s)
{
    unsigned tp, pp;
    bool found = false;
    for (size_t i = 0; i < s->names.n; i++)
        found = found || read_rank(s->names.name[i], &tp, &pp) != 0;
    return found;
}

struct megatron {
    struct sharded *s;
    struct err *err;
    unsigned tp, pp;            /* numbers of ranks */
    bool staged;                /* names have the stage */
    unsigned stage;             /* the open one */
    struct torch_file *f;       /* one for each tensor rank; owned */
    uint32_t *file;
    struct torch_tensor *part;  /* room for one tensor of each; owned */
    uint64_t layer;             /* the number of the first layer of what is open */
    uint64_t layers[PP_MAX];    /* of each stage, of the open chunk of it */
    bool first_word, padded;    /* stage 0 has word embeddings; the vocabulary may have padding */
};

/* --- files */

static void
rank_name(const struct megatron *m, char name[64], unsigned tp, unsigned pp)
{
    if (m->staged)
        snprintf(name, 64, "mp_rank_%02u_%03u", tp, pp);
    else
        snprintf(name, 64, "mp_rank_%02u", tp);
}

static bool
check_ranks(struct megatron *m)
{
    struct names all = { 0 };
    char name[64];
    bool ok = true;
    for (unsigned p = 0; ok && p < m->pp; p++)
        for (unsigned t = 0; ok && t < m->tp; t++) {
            rank_name(m, name, t, p);
            ok = names_add(&all, name, strlen(name), m->err);
        }
    ok = ok && sharded_check_files(m->s, &all, m->err);
    names_clear(&all);
    return ok;
}

static bool
count_ranks(struct megatron *m)
{
    for (size_t i = 0; i < m->s->names.n; i++) {
        unsigned tp, pp;
        int n = read_rank(m->s->names.name[i], &tp, &pp);
        if (n == 3)
            return err_set(m->err, ERR_UNSUPPORTED, "%s: expert parallelism is not supported", m->s->names.name[i]);
        if (n == 0)
            continue;
        if (tp >= TP_MAX || pp >= PP_MAX)
            return err_set(m->err, ERR_LIMIT, "number of ranks exceeds the limit of %d (built in)", TP_MAX);
        m->staged = m->staged || n == 2;
        m->tp = tp + 1 > m->tp ? tp + 1 : m->tp;
        m->pp = pp + 1 > m->pp ? pp + 1 : m->pp;
    }
    m->s->ranks = (uint64_t)m->tp * m->pp;
    return check_ranks(m);
}

static bool
megatron_bad(const struct megatron *m, unsigned t, enum err_kind kind, const char *what)
{
    err_set(m->err, kind, "%s", what);
    return err_in_file(m->err, source_name(m->s->src[m->file[t]]));
}

/* Raises a number of ranks to what the arguments of the training say, so that ranks after the last are missed, too. */
static bool
check_args(struct megatron *m)
{
    static const char *const names[] = { "tensor_model_parallel_size", "pipeline_model_parallel_size" };
    unsigned *const have[] = { &m->tp, &m->pp };
    const struct pickle *k = m->f[0].pickle;
    const struct pickle_value *args = object_item(k, m->f[0].root, "args");
    for (size_t i = 0; i < 2 && args && args->kind == PICKLE_CALL; i++) {
        const struct pickle_value *v = object_attribute(k, args, names[i]);
        uint64_t n;
        if (!v || !object_count(v, &n) || n == *have[i])
            continue;
        if (n < *have[i] || n > TP_MAX)
            return megatron_bad(m, 0, ERR_MALFORMED, "the directory has other ranks than the arguments of the training");
        *have[i] = (unsigned)n;
        m->staged = m->staged || i == 1;
        return check_ranks(m);
    }
    return true;
}

static bool
check_version(struct megatron *m)
{
    const struct pickle_value *v = object_item(m->f[0].pickle, m->f[0].root, "checkpoint_version");
    double version = 0;
    if (v && v->kind == PICKLE_FLOAT)
        version = v->of.real;
    else if (v && v->kind == PICKLE_INT)
        version = (double)v->of.integer;
    return version >= 2 || megatron_bad(m, 0, ERR_UNSUPPORTED, "checkpoint_version is below 2.0, whose queries, keys and values are in "
        "another order");
}

static void
close_stage(struct megatron *m, unsigned n)
{
    for (unsigned t = 0; t < n; t++)
        torch_file_clear(&m->f[t]);
}

/* Opens the files of tensor ranks [0, n) of a stage. */
static bool
open_stage(struct megatron *m, unsigned stage, unsigned n)
{
    bool ok = true;
    m->stage = stage;
    for (unsigned t = 0; ok && t < n; t++) {
        char name[64 + 32];
        rank_name(m, name, t, stage);
        strcat(name, "/model_optim_rng.pt");
        ok = sharded_torch(m->s, &m->f[t], name, &m->file[t], m->err);
        if (ok && m->f[t].root->kind != PICKLE_DICT)
            ok = megatron_bad(m, t, ERR_MALFORMED, "the file does not hold a dictionary");
    }
    return ok && check_version(m);
}

/* --- names */

static bool
name_ends(const char *name, const char *ending)
{
    return str_ends(name, ending);
}

/* Returns true if a name ends in one of some words, each after a dot, and `weight` or `bias`. */
static bool
is_of(const char *name, const char *const *words, bool bias)
{
    for (; *words; words++) {
        char ending[64];
        snprintf(ending, sizeof ending, "%s.weight", *words);
        if (name_ends(name, ending))
            return true;
        snprintf(ending, sizeof ending, "%s.bias", *words);
        if (bias && name_ends(name, ending))
            return true;
    }
    return false;
}

static bool
is_norm(const char *name)
{
    const char *last = strrchr(name, '.'), *word = last;
    if (!last || (strcmp(last, ".weight") != 0 && strcmp(last, ".bias") != 0))
        return false;
    while (word > name && word[-1] != '.')
        word--;
    for (; word + 4 <= last; word++)
        if (strncmp(word, "norm", 4) == 0)
            return true;
    return false;
}

/* Returns how the parts of a tensor are joined. RANK_GATED stands for all that may be. */
static enum rank_rule
rule_of(const char *name)
{
    static const char *const rows[] = { "linear_qkv", "query_key_value", "linear_q", "linear_kv", NULL },
        *const vocabulary[] = { "word_embeddings", "output_layer", NULL }, *const gated[] = { "linear_fc1", "dense_h_to_4h", NULL },
        *const columns[] = { "linear_proj", "linear_fc2", "dense_4h_to_h", "attention.dense", NULL };
    static const char *const same[] = { "layer_norm_weight", "layer_norm_bias", "position_embeddings.weight", "router.weight",
        "router.expert_bias" };
    if (is_norm(name))
        return RANK_SAME;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (name_ends(name, same[i]))
            return RANK_SAME;
    if (is_of(name, vocabulary, false) || is_of(name, rows, true))
        return RANK_ROWS;
    if (is_of(name, gated, true))
        return RANK_GATED;
    if (is_of(name, columns, false))
        return RANK_COLUMNS;
    return is_of(name, columns, true) ? RANK_SAME : RANK_UNKNOWN;
}

/* Finds the number of a layer in a name: *at is its first digit. */
static bool
find_layer(const char *name, size_t *at, uint64_t *number)
{
    const char *p = name;
    while ((p = strstr(p, "layers.")) != NULL) {
        if ((p == name || p[-1] == '.') && isdigit((unsigned char)p[7])) {
            *at = (size_t)(p + 7 - name);
            *number = strtoul(p + 7, NULL, 10);
            return !strstr(name, "mtp.");
        }
        p++;
    }
    return false;
}

static bool
add_output_name(const struct megatron *m, struct str *out, const char *name)
{
    size_t at;
    uint64_t number;
    struct str own = { 0 };
    if (find_layer(name, &at, &number)) {
        str_add(&own, name, at);
        str_format(&own, "%" PRIu64, number + m->layer);
        at += strspn(name + at, "0123456789");
        str_text(&own, name + at);
    } else {
        str_text(&own, name);
    }
    bool ok = !own.failed || err_memory(m->err, own.room);
    if (ok)
        sharded_add_name(out, own.p, own.len);
    str_clear(&own);
    return ok;
}

/* --- tensors */

/* A dictionary, as each tensor rank has it. */
struct level {
    const struct pickle_value **dict;   /* m->tp */
    struct str *path;
    unsigned depth;
};

/* Returns true if the rows of a projection are gate and up: as many as twice the columns of the next one, which is fetched by name. */
static bool
find_gate(struct megatron *m, const struct level *l, const char *key, const char *shown, enum rank_rule *rule)
{
    static const char *const pairs[][2] = { { "linear_fc1", "linear_fc2" }, { "dense_h_to_4h", "dense_4h_to_h" } };
    struct torch_tensor t;
    struct str name = { 0 };
    const struct pickle_value *v = NULL;
    for (size_t i = 0; i < 2; i++) {
        const char *at = strstr(key, pairs[i][0]);
        if (!at)
            continue;
        str_add(&name, key, (size_t)(at - key));
        str_format(&name, "%s.weight", pairs[i][1]);
    }
    if (!name.failed && name.p)
        v = object_item(m->f[0].pickle, l->dict[0], name.p);
    str_clear(&name);
    if (!v || !torch_file_tensor(&m->f[0], v, shown, &t, m->err))
        return v ? false : err_set(m->err, ERR_UNSUPPORTED, ERR_TENSOR "the projection after it, whose columns would tell how it is split, is "
            "not here", shown);
    *rule = t.rank == 2 && m->part[0].rank != 0 && m->part[0].shape[0] == 2 * t.shape[1] ? RANK_GATED : RANK_ROWS;
    return true;
}

static bool
add_tensor(struct megatron *m, const struct level *l, const char *key)
{
    char shown[STR_SHOWN];
    const char *path = l->path->p;
    enum rank_rule rule = RANK_SAME;
    str_shown(shown, path, l->path->len);
    for (unsigned t = 0; t < m->tp; t++) {
        const struct pickle_value *v = object_item(m->f[t].pickle, l->dict[t], key);
        if (!v || !torch_file_is_tensor(&m->f[t], v)) {
            err_set(m->err, ERR_MALFORMED, ERR_TENSOR "not all tensor ranks have it", shown);
            return err_in_file(m->err, source_name(m->s->src[m->file[t]]));
        }
        if (!torch_file_tensor(&m->f[t], v, shown, &m->part[t], m->err))
            return err_in_file(m->err, source_name(m->s->src[m->file[t]]));
    }
    bool word = name_ends(path, "word_embeddings.weight");
    if (word && m->stage == 0)
        m->first_word = true;
    else if (word && m->pp > 1 && m->stage == m->pp - 1 && m->first_word)
        return true;                    /* a copy, for the output */
    if (m->tp > 1)
        rule = rule_of(path);
    if (rule == RANK_UNKNOWN)
        return err_set(m->err, ERR_UNSUPPORTED, ERR_TENSOR "nothing says how it is split over %u tensor ranks", shown, m->tp);
    if (rule == RANK_GATED && !find_gate(m, l, key, shown, &rule))
        return false;
    m->padded = m->padded || (word && m->tp > 1);
    struct str out = { 0 };
    bool ok = add_output_name(m, &out, path);
    const struct rank_parts p = { .name = str_or(out.p, ""), .name_len = out.len, .shown = shown, .rule = rule, .part = m->part,
        .file = m->file, .n = m->tp };
    ok = ok && rank_parts_add(m->s, &p, NULL, NULL, m->err);
    str_clear(&out);
    return ok;
}

static bool add_level(struct megatron *m, const struct level *l);

/* Adds the value of a key: a tensor, or a dictionary. */
static bool
add_item(struct megatron *m, const struct level *l, const char *key, const struct pickle_value *v)
{
    if (torch_file_is_tensor(&m->f[0], v))
        return add_tensor(m, l, key);
    if (v->kind != PICKLE_DICT || v->n == 0)
        return true;
    if (l->depth == DEPTH_MAX)
        return err_set(m->err, ERR_LIMIT, "nesting of dictionaries exceeds the limit of %d (built in)", DEPTH_MAX);
    struct level inner = { .path = l->path, .depth = l->depth + 1, .dict = calloc(m->tp, sizeof *inner.dict) };
    bool ok = inner.dict || err_memory(m->err, m->tp * sizeof *inner.dict);
    for (unsigned t = 0; ok && t < m->tp; t++)
        inner.dict[t] = object_item(m->f[t].pickle, l->dict[t], key);
    ok = ok && add_level(m, &inner);
    free(inner.dict);
    return ok;
}

static bool
add_level(struct megatron *m, const struct level *l)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *name, *v;
    size_t n = l->path->len;
    bool ok = true;
    while (ok && pickle_next(m->f[0].pickle, l->dict[0], &walk, &name, &v)) {
        char *key = NULL;
        if (name->kind != PICKLE_TEXT || name->odd)
            continue;
        key = strndup((const char *)name->of.text, name->n);
        l->path->len = n;
        if (n != 0)
            str_text(l->path, ".");
        str_add(l->path, (const char *)name->of.text, name->n);
        ok = (key && !l->path->failed) || err_memory(m->err, name->n);
        if (ok && !name_ends(key, "_extra_state"))
            ok = add_item(m, l, key, v);
        free(key);
    }
    l->path->len = n;
    return ok;
}

/* --- chunks of the pipeline */

/* Returns the key of a chunk of a stage: model, or model0, model1 ... */
static const struct pickle_value *
find_chunk(const struct megatron *m, unsigned t, unsigned chunk)
{
    char key[16];
    snprintf(key, sizeof key, "model%u", chunk);
    const struct pickle_value *v = object_item(m->f[t].pickle, m->f[t].root, key);
    if (!v && chunk == 0)
        v = object_item(m->f[t].pickle, m->f[t].root, "model");
    return v && v->kind == PICKLE_DICT ? v : NULL;
}

/* Counts the layers in a dictionary. */
static uint64_t
count_layers(const struct pickle *k, const struct pickle_value *dict, unsigned depth)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *name, *v;
    uint64_t most = 0;
    while (depth < DEPTH_MAX && dict && dict->kind == PICKLE_DICT && pickle_next(k, dict, &walk, &name, &v)) {
        size_t at;
        uint64_t number, n = count_layers(k, v, depth + 1);
        char text[256];
        if (name->kind == PICKLE_TEXT && name->n < sizeof text) {
            memcpy(text, name->of.text, name->n);
            text[name->n] = '\0';
            if (find_layer(text, &at, &number))
                n = number + 1;
        }
        most = n > most ? n : most;
    }
    return most;
}

static bool
add_chunk(struct megatron *m, unsigned chunk)
{
    struct str path = { 0 };
    struct level l = { .path = &path, .dict = calloc(m->tp, sizeof *l.dict) };
    bool ok = l.dict || err_memory(m->err, m->tp * sizeof *l.dict);
    for (unsigned t = 0; ok && t < m->tp; t++) {
        l.dict[t] = find_chunk(m, t, chunk);
        ok = l.dict[t] || megatron_bad(m, t, ERR_MALFORMED, "the file has no model");
    }
    ok = ok && add_level(m, &l);
    str_clear(&path);
    free(l.dict);
    return ok;
}

/* Counts the layers of all stages of a chunk; *more: the next chunk exists. */
static bool
count_stages(struct megatron *m, unsigned chunk, bool *more)
{
    bool ok = true;
    for (unsigned p = 0; ok && p < m->pp; p++) {
        ok = open_stage(m, p, 1);
        if (ok && p == 0 && chunk == 0)
            ok = check_args(m);
        if (ok) {
            m->layers[p] = count_layers(m->f[0].pickle, find_chunk(m, 0, chunk), 0);
            *more = find_chunk(m, 0, chunk + 1) != NULL;
        }
        close_stage(m, 1);
    }
    return ok;
}

static bool
read_all(struct megatron *m)
{
    bool more = true, ok = true;
    for (unsigned chunk = 0; ok && more && chunk < CHUNKS_MAX; chunk++) {
        ok = count_stages(m, chunk, &more);
        for (unsigned p = 0; ok && p < m->pp; p++) {
            ok = open_stage(m, p, m->tp) && add_chunk(m, chunk);
            close_stage(m, m->tp);
            m->layer += m->layers[p];
        }
    }
    return ok;
}

static bool
megatron_read(struct sharded *s, struct err *err)
{
    struct megatron *m = calloc(1, sizeof *m);
    if (!m)
        return err_memory(err, sizeof *m);
    m->s = s;
    m->err = err;
    m->f = calloc(TP_MAX, sizeof *m->f);
    m->file = calloc(TP_MAX, sizeof *m->file);
    bool ok = (m->f && m->file) || err_memory(err, TP_MAX * sizeof *m->f);
    ok = ok && count_ranks(m);
    if (ok)
        m->part = calloc(TP_MAX, sizeof *m->part);
    ok = ok && (m->part || err_memory(err, TP_MAX * sizeof *m->part)) && read_all(m);
    if (ok && m->padded)
        catalog_note(s->catalog, "the vocabulary keeps the rows that Megatron adds so that it divides by the ranks");
    free(m->f);
    free(m->file);
    free(m->part);
    free(m);
    return ok;
}

const struct sharded_format sharded_megatron = { .kind = "megatron", .probe = megatron_probe, .read = megatron_read };

/* --- zarr */

static bool
zarr_probe(const struct sharded *s)
{
    struct str text = { 0 };
    struct err ignored;
    err_init(&ignored);
    bool is = sharded_has(s, "metadata.json") && sharded_peek(&text, s->dir, "metadata.json", &ignored)
        && json_facts_is(str_or(text.p, ""), text.len, "sharded_backend", "zarr");
    str_clear(&text);
    return is;
}

static bool
zarr_read(struct sharded *s, struct err *err)
{
    (void)s;
    return err_set(err, ERR_UNSUPPORTED, "the checkpoint is stored with zarr, which is not supported: load it with Megatron and save it as "
        "torch_dist");
}

const struct sharded_format sharded_zarr = { .kind = "megatron", .probe = zarr_probe, .read = zarr_read };
