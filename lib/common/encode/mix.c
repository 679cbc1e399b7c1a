#include "encode/mix.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

enum mix_name {
    Q4_0, Q5_0, Q4_1, Q5_1, Q8_0, Q6_K, Q1_0, Q2_0, TQ1_0, TQ2_0, Q2_K, Q2_K_S, Q3_K_S, Q3_K_M, Q3_K_L, Q4_K_S, Q4_K_M,
    Q5_K_S, Q5_K_M, IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ2_M, IQ3_XXS, IQ3_XS, IQ3_S, IQ3_M, IQ4_NL, IQ4_XS, MXFP4_MOE,
    NVFP4, NAMES
};

_Static_assert(NAMES <= 64, "sets of names are 64 bits wide");

const struct mix mix_list[] = {
    [Q4_0] = { .name = "q4_0", 2, DTYPE_Q4_0 }, [Q4_1] = { .name = "q4_1", 3, DTYPE_Q4_1 },
    [Q8_0] = { .name = "q8_0", 7, DTYPE_Q8_0 }, [Q5_0] = { .name = "q5_0", 8, DTYPE_Q5_0 },
    [Q5_1] = { .name = "q5_1", 9, DTYPE_Q5_1 }, [Q2_K] = { .name = "q2_k", 10, DTYPE_Q2_K },
    [Q3_K_S] = { .name = "q3_k_s", 11, DTYPE_Q3_K }, [Q3_K_M] = { .name = "q3_k_m", 12, DTYPE_Q3_K },
    [Q3_K_L] = { .name = "q3_k_l", 13, DTYPE_Q3_K }, [Q4_K_S] = { .name = "q4_k_s", 14, DTYPE_Q4_K },
    [Q4_K_M] = { .name = "q4_k_m", 15, DTYPE_Q4_K }, [Q5_K_S] = { .name = "q5_k_s", 16, DTYPE_Q5_K },
    [Q5_K_M] = { .name = "q5_k_m", 17, DTYPE_Q5_K }, [Q6_K] = { .name = "q6_k", 18, DTYPE_Q6_K },
    [IQ2_XXS] = { .name = "iq2_xxs", 19, DTYPE_IQ2_XXS }, [IQ2_XS] = { .name = "iq2_xs", 20, DTYPE_IQ2_XS },
    [Q2_K_S] = { .name = "q2_k_s", 21, DTYPE_Q2_K }, [IQ3_XS] = { .name = "iq3_xs", 22, DTYPE_IQ3_S },
    [IQ3_XXS] = { .name = "iq3_xxs", 23, DTYPE_IQ3_XXS }, [IQ1_S] = { .name = "iq1_s", 24, DTYPE_IQ1_S },
    [IQ4_NL] = { .name = "iq4_nl", 25, DTYPE_IQ4_NL }, [IQ3_S] = { .name = "iq3_s", 26, DTYPE_IQ3_S },
    [IQ3_M] = { .name = "iq3_m", 27, DTYPE_IQ3_S }, [IQ2_S] = { .name = "iq2_s", 28, DTYPE_IQ2_XS },
    [IQ2_M] = { .name = "iq2_m", 29, DTYPE_IQ2_S }, [IQ4_XS] = { .name = "iq4_xs", 30, DTYPE_IQ4_XS },
    [IQ1_M] = { .name = "iq1_m", 31, DTYPE_IQ1_M }, [TQ1_0] = { .name = "tq1_0", 36, DTYPE_TQ1_0 },
    [TQ2_0] = { .name = "tq2_0", 37, DTYPE_TQ2_0 }, [MXFP4_MOE] = { .name = "mxfp4_moe", 38, DTYPE_MXFP4, .only = "experts" },
    [NVFP4] = { .name = "nvfp4", 39, DTYPE_NVFP4 }, [Q1_0] = { .name = "q1_0", 40, DTYPE_Q1_0 },
    [Q2_0] = { .name = "q2_0", 41, DTYPE_Q2_0 }, [NAMES] = { .name = NULL, .type = DTYPE_UNKNOWN },
};

const struct mix *
mix_find(const char *name)
{
    static const char *const short_for[][2] = { { "q3_k", "q3_k_m" }, { "q4_k", "q4_k_m" }, { "q5_k", "q5_k_m" } };
    for (size_t i = 0; i < sizeof short_for / sizeof *short_for; i++)
        if (strcasecmp(name, short_for[i][0]) == 0)
            name = short_for[i][1];
    for (const struct mix *m = mix_list; m->name; m++)
        if (strcasecmp(name, m->name) == 0)
            return m;
    return NULL;
}

/* --- the model */

/* Reads a number of the architecture: the first one of an array, which has one for each layer. */
static uint64_t
mix_number(const struct catalog *c, const char *architecture, size_t n, const char *suffix)
{
    struct str key = { 0 };
    uint64_t out = 0;
    str_add(&key, architecture, n);
    str_text(&key, suffix);
    const struct meta *m = NULL;
    if (!key.failed)
        m = catalog_meta_find(c, key.p);
    if (m && m->value.type == META_ARRAY) {
        struct meta_iter it = meta_first(&m->value.as.a);
        struct meta_value first;
        if (!meta_next(&it, &first) || !meta_as_u64(&first, &out))
            out = 0;
    } else if (m && !meta_as_u64(&m->value, &out)) {
        out = 0;
    }
    str_clear(&key);
    return out;
}

static bool
mix_is_one_of(const char *p, size_t n, const char *const names[])
{
    for (; *names; names++)
        if (str_is(p, n, *names))
            return true;
    return false;
}

struct mix_model
mix_model_of(const struct catalog *c)
{
    const struct meta *m = catalog_meta_find(c, "general.architecture");
    struct mix_model model = { 0 };
    if (!m || m->value.type != META_STRING)
        return model;
    model.arch = meta_bytes(&m->value, &model.n);
    model.layers = mix_number(c, model.arch, model.n, ".block_count");
    model.experts = mix_number(c, model.arch, model.n, ".expert_count");
    model.heads = mix_number(c, model.arch, model.n, ".attention.head_count");
    model.kv_heads = mix_number(c, model.arch, model.n, ".attention.head_count_kv");
    return model;
}

void
mix_begin(struct mix_state *s, const struct mix *mix, const struct mix_model *model, bool importance)
{
    static const char *const falcon[] = { "falcon", NULL }, *const sized[] = { "llama", "qwen2", "qwen2vl", "deci", NULL };
    *s = (struct mix_state){ .mix = mix, .importance = importance, .tied = true, .layers = model->layers,
        .experts = model->experts, .image = model->image, .gqa = model->kv_heads != 0 ? model->heads / model->kv_heads : 1 };
    s->falcon = mix_is_one_of(model->arch, model->n, falcon);
    s->big = mix_is_one_of(model->arch, model->n, sized) && s->layers == 80 && s->gqa > 1;
}

/* --- names */

enum mix_kind { OTHER, EMBEDDING, OUTPUT, VALUE, KEY, QUERY, ATTENTION, DOWN, GATE, UP };

static bool
has(const struct tensor *t, const char *word)
{
    return memmem(t->name, t->name_len, word, strlen(word)) != NULL;
}

static bool
mix_is(const struct tensor *t, const char *name)
{
    return str_is(t->name, t->name_len, name);
}

static enum mix_kind
kind_of(const struct tensor *t)
{
    static const struct {
        const char *word;
        enum mix_kind kind;
    } words[] = {
        { "attn_qkv.weight", VALUE }, { "attn_kv_b.weight", VALUE }, { "attn_v.weight", VALUE }, { "attn_k.weight", KEY },
        { "attn_q.weight", QUERY }, { "attn_output.weight", ATTENTION }, { "ffn_up", UP }, { "ffn_gate", GATE },
        { "ffn_down", DOWN },
    };
    if (mix_is(t, "output.weight"))
        return OUTPUT;
    if (mix_is(t, "token_embd.weight") || mix_is(t, "per_layer_token_embd.weight"))
        return EMBEDDING;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has(t, words[i].word))
            return words[i].kind;
    return OTHER;
}

bool
mix_is_vector(const struct tensor *t)
{
    for (uint32_t i = 0; i + 1 < t->shape.rank; i++)
        if (shape_dim(&t->shape, i) != 1)
            return false;
    return true;
}

/* Returns the reason of mix_exempts() for a language model. */
static const char *
spares(const struct tensor *t)
{
    static const char *const norms[] = { "_norm.weight", NULL };
    static const char *const routers[] = { "ffn_gate_inp.weight", "ffn_gate_tid2eid.weight", NULL };
    static const char *const small[] = {
        "altup", "laurel", "per_layer_model_proj", "ssm_conv1d", "shortconv.conv.weight", "indexer.k_proj.weight",
        "indexer.q_proj.weight", "time_mix_first.weight", "time_mix_w0.weight", "time_mix_w1.weight", "time_mix_w2.weight",
        "time_mix_v0.weight", "time_mix_v1.weight", "time_mix_v2.weight", "time_mix_a0.weight", "time_mix_a1.weight",
        "time_mix_a2.weight", "time_mix_g1.weight", "time_mix_g2.weight", "time_mix_decay_w1.weight",
        "time_mix_decay_w2.weight", "time_mix_lerp_fused.weight", "attn_rel_b.weight", NULL };
    static const char *const media[] = { ".position_embd", "sam.pos_embd", "sam.neck.", "sam.net_", ".rel_pos", ".patch_embd",
        ".patch_merger", "a.rvq.codebook", "mm.a.code_embd", NULL };
    static const struct {
        const char *const *words;
        const char *why;
    } spared[] = { { norms, "a norm" }, { routers, "a router" }, { small, "small and sensitive" },
        { media, "a vision or audio weight" } };
    size_t n = t->name_len;
    if (mix_is_vector(t))
        return "not a matrix";
    if (!str_strip(t->name, &n, "weight"))
        return "name does not end in weight";
    if (mix_is(t, "position_embd.weight") || mix_is(t, "token_types.weight"))
        return "a position or token-type embedding";
    for (size_t i = 0; i < sizeof spared / sizeof *spared; i++)
        for (const char *const *word = spared[i].words; *word; word++)
            if (has(t, *word))
                return spared[i].why;
    return NULL;
}

const char *
mix_exempts(const struct mix_model *model, const struct tensor *t)
{
    if (model->image)
        return image_exempts(model->image, t);
    return spares(t);
}

/* Returns the N of "blk.N.", or -1. */
static int64_t
block_of(const struct tensor *t)
{
    static const char begin[] = "blk.";
    int64_t n = 0;
    size_t i = sizeof begin - 1;
    if (t->name_len <= i || memcmp(t->name, begin, i) != 0 || t->name[i] < '0' || t->name[i] > '9')
        return -1;
    for (; i < t->name_len && t->name[i] >= '0' && t->name[i] <= '9' && n < INT32_MAX; i++)
        n = n * 10 + (t->name[i] - '0');
    if (i < t->name_len && t->name[i] == '.')
        return n;
    return -1;
}

int
mix_order(const struct tensor *a, const struct tensor *b)
{
    int64_t x = block_of(a), y = block_of(b);
    if (x != y)
        return (x > y) - (x < y);
    return str_compare(a->name, a->name_len, b->name, b->name_len);
}

void
mix_count(struct mix_state *s, const struct tensor *t)
{
    enum mix_kind kind = kind_of(t);
    s->values += kind == VALUE;
    s->tied = s->tied && kind != OUTPUT;
}

/* --- rules */

/* Conditions of a rule, for tensor i of n of its kind. All conditions that are or-ed must hold. */
enum when {
    ALWAYS = 0,
    GQA = 1 << 0,               /* at least four query heads share a key */
    SHARED = 1 << 1,            /* GQA, or at least four experts */
    FIRST2 = 1 << 2, FIRST4 = 1 << 3, EIGHTH = 1 << 4, SIXTEENTH = 1 << 5,      /* i is among the first 2, 4, n/8, n/16 */
    MORE = 1 << 6,              /* first or last eighth, or every third tensor between them */
    MIDDLE = 1 << 7,            /* neither the first nor the last eighth */
    PLAIN = 1 << 8,             /* no importance matrix */
    WEIGHED = 1 << 9,           /* importance matrix */
    EIGHT = 1 << 10,            /* eight experts */
    FALCON = 1 << 11, NOT_FALCON = 1 << 12, NOT_EIGHT = 1 << 13
};

#define IN(name) (UINT64_C(1) << (name))
#define LOW (IN(IQ2_XXS) | IN(IQ2_XS) | IN(IQ2_S) | IN(IQ2_M) | IN(IQ1_S) | IN(IQ1_M))
#define LOW_S (IN(IQ2_S) | IN(IQ2_M))
#define LOW_1 (IN(IQ1_S) | IN(IQ1_M))
#define IQ4 (IN(IQ4_NL) | IN(IQ4_XS))

/* The first rule that applies gives the type. */
static const struct mix_rule {
    enum mix_kind kind;
    uint64_t mixes;
    unsigned when;
    enum dtype type;
} rules[] = {
    { EMBEDDING, IN(IQ2_XXS) | IN(IQ2_XS) | LOW_1, ALWAYS, DTYPE_Q2_K },
    { EMBEDDING, LOW_S | IN(IQ3_XXS), ALWAYS, DTYPE_IQ3_S },
    { EMBEDDING, IN(TQ1_0) | IN(TQ2_0) | IN(Q2_0), ALWAYS, DTYPE_Q4_K },

    { VALUE, LOW, SHARED, DTYPE_Q4_K },
    { VALUE, LOW_S, ALWAYS, DTYPE_IQ3_S },
    { VALUE, LOW, ALWAYS, DTYPE_Q2_K },
    { VALUE, ~LOW, EIGHT, DTYPE_Q8_0 },
    { VALUE, IN(Q2_K) | IN(Q2_K_S) | IN(IQ3_XXS) | IN(IQ3_XS) | IN(IQ3_S), GQA, DTYPE_Q4_K },
    { VALUE, IN(Q2_K), ALWAYS, DTYPE_Q3_K },
    { VALUE, IN(IQ3_XXS), PLAIN, DTYPE_IQ3_S },
    { VALUE, IN(Q3_K_M), FIRST2, DTYPE_Q5_K },
    { VALUE, IN(Q3_K_M) | IN(IQ3_M), ALWAYS, DTYPE_Q4_K },
    { VALUE, IN(Q3_K_L), ALWAYS, DTYPE_Q5_K },
    { VALUE, IQ4, GQA, DTYPE_Q5_K },
    { VALUE, IN(Q4_K_M) | IN(Q5_K_M), MORE, DTYPE_Q6_K },
    { VALUE, IN(Q4_K_S), FIRST4, DTYPE_Q5_K },

    { KEY, LOW, EIGHT, DTYPE_Q4_K },
    { KEY, ~LOW, EIGHT, DTYPE_Q8_0 },
    { KEY, IN(IQ3_XS), ALWAYS, DTYPE_IQ3_XXS },
    { KEY, IN(IQ3_XXS), ALWAYS, DTYPE_IQ2_S },
    { QUERY, IN(IQ3_XS), ALWAYS, DTYPE_IQ3_XXS },
    { QUERY, IN(IQ3_XXS), ALWAYS, DTYPE_IQ2_S },

    { DOWN, LOW_S, EIGHTH, DTYPE_IQ3_S },
    { DOWN, LOW, EIGHTH, DTYPE_Q2_K },
    { DOWN, IN(Q2_K), ALWAYS, DTYPE_Q3_K },
    { DOWN, IN(Q2_K_S), EIGHTH, DTYPE_Q4_K },
    { DOWN, IN(IQ3_XXS), PLAIN | EIGHTH, DTYPE_Q4_K },
    { DOWN, IN(IQ3_XXS), PLAIN, DTYPE_Q3_K },
    { DOWN, IN(Q3_K_M), SIXTEENTH, DTYPE_Q5_K },
    { DOWN, IN(Q3_K_M), FALCON | MORE, DTYPE_Q4_K },
    { DOWN, IN(Q3_K_M), NOT_FALCON, DTYPE_Q4_K },
    { DOWN, IN(IQ3_M), EIGHTH, DTYPE_Q4_K },
    { DOWN, IN(IQ3_M), EIGHT | MORE, DTYPE_Q4_K },
    { DOWN, IN(Q3_K_L), FALCON, DTYPE_Q4_K },
    { DOWN, IN(Q3_K_L), ALWAYS, DTYPE_Q5_K },
    { DOWN, IN(Q4_K_M), FALCON | SIXTEENTH, DTYPE_Q6_K },
    { DOWN, IN(Q4_K_M), FALCON | MORE, DTYPE_Q5_K },
    { DOWN, IN(Q4_K_M), NOT_FALCON | MORE, DTYPE_Q6_K },
    { DOWN, IQ4, PLAIN | EIGHTH, DTYPE_Q5_K },
    { DOWN, IN(Q5_K_M), MORE, DTYPE_Q6_K },
    { DOWN, IN(Q4_K_S), NOT_FALCON | EIGHTH, DTYPE_Q5_K },
    { DOWN, IN(Q4_0), WEIGHED | EIGHTH, DTYPE_Q4_1 },
    { DOWN, IN(Q5_0), WEIGHED | EIGHTH, DTYPE_Q5_1 },

    { ATTENTION, LOW, EIGHT, DTYPE_Q5_K },
    { ATTENTION, LOW_1, ALWAYS, DTYPE_IQ2_XXS },
    { ATTENTION, LOW_S, ALWAYS, DTYPE_IQ3_S },
    { ATTENTION, IN(Q2_K) | IN(IQ3_XS) | IN(IQ3_XXS) | IN(Q3_K_S) | IN(Q3_K_M) | IQ4 | IN(Q4_K_S) | IN(Q4_K_M) | IN(IQ3_S)
        | IN(IQ3_M), NOT_FALCON | EIGHT, DTYPE_Q5_K },
    { ATTENTION, IN(Q2_K), NOT_FALCON | NOT_EIGHT, DTYPE_Q3_K },
    { ATTENTION, IN(IQ3_XXS), NOT_FALCON | NOT_EIGHT, DTYPE_IQ3_S },
    { ATTENTION, IN(Q3_K_M) | IN(IQ3_M), NOT_FALCON | NOT_EIGHT, DTYPE_Q4_K },
    { ATTENTION, IN(Q3_K_L), NOT_FALCON | NOT_EIGHT, DTYPE_Q5_K },
    { ATTENTION, IN(Q3_K_L), FALCON, DTYPE_Q4_K },

    { GATE, IN(IQ3_XS), MIDDLE, DTYPE_IQ3_XXS },
    { UP, IN(IQ3_XS), MIDDLE, DTYPE_IQ3_XXS },
};

/* Returns the conditions that hold for tensor i of n. */
static unsigned
holds(const struct mix_state *s, uint64_t i, uint64_t n)
{
    const bool outer = i < n / 8 || i >= 7 * n / 8;
    const struct { bool holds; unsigned yes, no; } conditions[] = {
        { s->gqa >= 4, GQA | SHARED, 0 },
        { s->experts >= 4, SHARED, 0 },
        { i < 2, FIRST2, 0 },
        { i < 4, FIRST4, 0 },
        { i < n / 8, EIGHTH, 0 },
        { i < n / 16, SIXTEENTH, 0 },
        { outer || (i - n / 8) % 3 == 2, MORE, 0 },
        { outer, 0, MIDDLE },
        { s->importance, WEIGHED, PLAIN },
        { s->experts == 8, EIGHT, NOT_EIGHT },
        { s->falcon, FALCON, NOT_FALCON },
    };
    unsigned all = 0;
    for (size_t k = 0; k < sizeof conditions / sizeof *conditions; k++)
        all |= conditions[k].holds ? conditions[k].yes : conditions[k].no;
    return all;
}

static enum dtype
by_rules(const struct mix_state *s, enum mix_kind kind, uint64_t i, uint64_t n)
{
    unsigned now = holds(s, i, n);
    uint64_t mix = IN(s->mix - mix_list);
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        if (rules[r].kind == kind && (rules[r].mixes & mix) && (rules[r].when & now) == rules[r].when)
            return rules[r].type;
    return s->mix->type;
}

static enum dtype
of_output(const struct mix_state *s, const struct tensor *t)
{
    uint64_t mix = IN(s->mix - mix_list), cols = shape_dim(&t->shape, t->shape.rank - 1);
    if (mix == IN(MXFP4_MOE) || s->falcon || cols % dtype_facts(s->mix->type)->elems != 0 || s->mix->type == DTYPE_Q8_0)
        return DTYPE_Q8_0;
    if (mix & (LOW | IN(IQ3_XXS)))
        return DTYPE_Q5_K;
    return DTYPE_Q6_K;
}

/* Returns the index that the rules use. Some files store the experts of a layer as several tensors, so with experts the
 * layer counts rather than the tensor. */
static uint64_t
ordinal(const struct mix_state *s, const struct tensor *t, uint64_t *count)
{
    int64_t block = block_of(t);
    uint64_t i = (*count)++;
    if (s->experts > 1 && block >= 0 && !(IN(s->mix - mix_list) & LOW))
        return (uint64_t)block;
    return i;
}

enum dtype
mix_type(struct mix_state *s, const struct tensor *t)
{
    enum mix_kind kind = kind_of(t);
    if (s->image)
        return image_type(s->image, s->mix->name, s->mix->type, &s->value, t, &s->rule);
    if (kind == OUTPUT || (kind == EMBEDDING && s->tied))
        return of_output(s, t);
    if (s->mix == &mix_list[MXFP4_MOE])
        return t->shape.rank >= 3 && shape_dim(&t->shape, t->shape.rank - 3) > 1 ? DTYPE_MXFP4 : DTYPE_Q8_0;
    if (kind == VALUE) {
        enum dtype type = by_rules(s, kind, s->value++, s->values);
        bool few = type == DTYPE_Q3_K || type == DTYPE_Q4_K;
        if (s->big && few && !(IN(s->mix - mix_list) & LOW))
            return DTYPE_Q5_K;
        return type;
    }
    switch (kind) {
    case DOWN:
        return by_rules(s, kind, ordinal(s, t, &s->down), s->layers);
    case GATE:
        return by_rules(s, kind, ordinal(s, t, &s->gate), s->layers);
    case UP:
        return by_rules(s, kind, ordinal(s, t, &s->up), s->layers);
    default:
        return by_rules(s, kind, 0, s->layers);
    }
}

enum dtype
mix_fallback(const struct mix_model *model, enum dtype type, uint64_t cols)
{
    enum dtype other;
    if (model->image)
        return image_fallback(type, cols);
    if (cols % dtype_facts(type)->elems == 0)
        return type;
    switch (type) {
    case DTYPE_IQ1_S: case DTYPE_IQ1_M: case DTYPE_IQ2_XXS: case DTYPE_IQ2_XS: case DTYPE_IQ2_S: case DTYPE_IQ3_XXS:
    case DTYPE_IQ3_S: case DTYPE_IQ4_XS:
        other = DTYPE_IQ4_NL;
        break;
    case DTYPE_Q2_0: case DTYPE_Q2_K: case DTYPE_Q3_K: case DTYPE_TQ1_0: case DTYPE_TQ2_0:
        other = DTYPE_Q4_0;
        break;
    case DTYPE_Q4_K:
        other = DTYPE_Q5_0;
        break;
    case DTYPE_Q5_K:
        other = DTYPE_Q5_1;
        break;
    case DTYPE_Q6_K:
        other = DTYPE_Q8_0;
        break;
    default:
        if (dtype_facts(type)->elems <= 32)
            return DTYPE_F16;
        return DTYPE_UNKNOWN;
    }
    if (cols % dtype_facts(other)->elems == 0)
        return other;
    return DTYPE_F16;
}

bool
mix_wants_importance(const struct tensor *t, enum dtype type, const char *name)
{
    enum mix_kind kind = kind_of(t);
    return kind != EMBEDDING && kind != OUTPUT && (type == DTYPE_IQ3_XXS || type == DTYPE_IQ2_S || type == DTYPE_IQ1_M
        || (type == DTYPE_Q2_K && strcasecmp(name, mix_list[Q2_K_S].name) == 0));
}
