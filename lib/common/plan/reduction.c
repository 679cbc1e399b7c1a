#include "plan/reduction.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/expression.h"
#include "base/num.h"
#include "base/str.h"
#include "encode/ggml.h"
#include "encode/mix.h"
#include "kernel/encode_iq.h"
#include "plan/fused.h"

enum { LEAST = 32 };            /* least number of rows and of columns of a weight worth quantizing */

struct reduction_rule {
    regex_t re;
    const char *scheme;
    const char *text;                   /* REGEX=SCHEME, as typed; borrowed */
    bool matches;                       /* some tensor, */
    bool stored;                        /* by its name in the input */
    bool works;                         /* decides the type of a tensor */
    const struct encoder *encoder;      /* or NULL, and: */
    enum dtype plain;
};

/* --- rules */

bool
reduction_rule(struct reduction *r, const char *text, struct err *err)
{
    const char *equals = strrchr(text, '=');
    struct reduction_rule *rules = array_grow(r->rules, r->nrules, &r->rules_room, sizeof *rules, err);
    struct str re = { 0 };
    char shown[STR_SHOWN];
    if (!rules)
        return false;
    r->rules = rules;
    if (!equals || equals == text || equals[1] == '\0')
        return err_set(err, ERR_USAGE, "--tensor-type: '%s' is not REGEX=SCHEME",
            str_shown(shown, text, strlen(text)));
    str_add(&re, text, (size_t)(equals - text));
    bool ok;
    if (re.failed)
        ok = err_memory(err, re.len);
    else
        ok = expression_read(&rules[r->nrules].re, re.p, REG_NOSUB, "--tensor-type", err);
    if (ok) {
        rules[r->nrules] = (struct reduction_rule){ .re = rules[r->nrules].re, .scheme = equals + 1, .text = text };
        r->nrules++;
    }
    str_clear(&re);
    return ok;
}

bool
reduction_settle(struct reduction *r, struct err *err)
{
    char shown[STR_SHOWN];
    bool fuses = r->encoder->loaders.fuses;
    for (size_t i = 0; i < r->nrules; i++) {
        struct reduction_rule *rule = &r->rules[i];
        unsigned plain = 0;
        while (dtype_targets[plain] && strcasecmp(rule->scheme, dtype_targets[plain]) != 0)
            plain++;
        if (dtype_targets[plain]) {
            rule->encoder = NULL;
            rule->plain = dtype_target(plain);
        } else {
            rule->encoder = encode_find(rule->scheme, r->encoder->held);
            rule->plain = DTYPE_UNKNOWN;
        }
        if (!dtype_targets[plain] && (!rule->encoder || rule->encoder->held != r->encoder->held))
            return err_set(err, ERR_USAGE, "--tensor-type: '%s' is not a scheme that can share a file with %s",
                str_shown(shown, rule->scheme, strlen(rule->scheme)), r->encoder->label);
        fuses = fuses || (rule->encoder && rule->encoder->loaders.fuses);
    }
    return !r->apart || fuses || err_set(err, ERR_USAGE, "--no-fuse has no effect: loaders fuse no scales of %s",
        r->encoder->label);
}

void
reduction_clear(struct reduction *r)
{
    for (size_t i = 0; i < r->nrules; i++)
        regfree(&r->rules[i].re);
    free(r->rules);
    naming_clear(&r->which);
    importance_clear(&r->importance);
    *r = (struct reduction){ 0 };
}

/* A search for a rule's expression; `failed` without memory. */
struct rule_search {
    const regex_t *re;
    bool failed;
};

/* A name that contains NUL is matched up to there. */
static bool
rule_finds(const void *of, const struct tensor *t)
{
    struct rule_search *s = *(struct rule_search *const *)of;
    int code = expression_find(s->re, t->name, 0, NULL, 0);
    s->failed = s->failed || code == REG_ESPACE;
    return code == 0;
}

/* Sets *matches if a rule matches an entry, by its name, or with `stored` by its name in the input. False on ERR_MEMORY. */
static bool
rule_matches(bool *matches, const struct reduction_rule *rule, const struct chosen *c, bool stored, struct err *err)
{
    struct rule_search search = { &rule->re, false }, *of = &search;
    const struct tensor t = chosen_source(c);
    *matches = stored ? chosen_all_stored(c, rule_finds, &of) : rule_finds(&of, &t);
    return !search.failed || err_memory(err, t.name_len);
}

/* Finds the first rule that matches an entry, or NULL. False on ERR_MEMORY. */
static bool
find_rule(struct reduction_rule **rule, const struct reduction *r, const struct chosen *c, struct err *err)
{
    *rule = NULL;
    for (size_t i = 0; i < r->nrules && !*rule; i++) {
        bool matches;
        if (!rule_matches(&matches, &r->rules[i], c, r->rules[i].stored, err))
            return false;
        *rule = matches ? &r->rules[i] : NULL;
    }
    return true;
}

/* Decides which names the rules see: those of the output, or if a rule matches none of these, those of the input. */
static bool
meet_rules(const struct reduction *r, const struct choice *choice, struct err *err)
{
    for (size_t k = 0; k < r->nrules; k++) {
        struct reduction_rule *rule = &r->rules[k];
        rule->matches = rule->works = false;
        for (unsigned stored = 0; stored < 2 && !rule->matches; stored++) {
            rule->stored = stored;
            for (size_t i = 0; i < choice->n && !rule->matches; i++)
                if (!rule_matches(&rule->matches, rule, &choice->list[i], stored, err))
                    return false;
        }
    }
    return true;
}

bool
reduction_meet(const struct reduction *r, const struct choice *choice, struct err *err)
{
    return naming_check(&r->which, choice, err) && meet_rules(r, choice, err);
}

/* --- eligible tensors */

static bool
has_word(const struct tensor *t, const char *word)
{
    return memmem(t->name, t->name_len, word, strlen(word)) != NULL;
}

/* Returns true if `word` is one of the dotted components of a name. */
static bool
has_part(const struct tensor *t, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = t->name, *end = t->name + t->name_len; p + n <= end; p++)
        if (memcmp(p, word, n) == 0 && (p == t->name || p[-1] == '.') && (p + n == end || p[n] == '.'))
            return true;
    return false;
}

/* Returns true if a tensor holds the experts of a layer, one matrix each: P.experts.gate_up_proj. */
static bool
is_stack(const struct tensor *t)
{
    return t->shape.rank == 3 && has_part(t, "experts") && dtype_is_float(t->dtype) && shape_dim(&t->shape, 1) >= LEAST
        && shape_dim(&t->shape, 2) >= LEAST;
}

/* Returns why a tensor of a model without a mix is skipped, judging by its name and size, or NULL. */
static const char *
spared_by_name(const struct tensor *t, uint64_t cols, const struct encoder *e)
{
    size_t n = t->name_len;
    bool stack = e->loaders.stacks && is_stack(t);
    if (!stack && !str_strip(t->name, &n, "weight"))
        return "not named .weight";
    if (has_word(t, "norm") || has_part(t, "ln_1") || has_part(t, "ln_2") || has_part(t, "ln_f"))
        return "a norm";
    if (has_word(t, "embed") || has_part(t, "wte") || has_part(t, "wpe") || has_word(t, "embd"))
        return "an embedding";
    if (has_part(t, "lm_head") || has_part(t, "output"))
        return "the head";
    if (has_part(t, "gate") || has_part(t, "router") || has_word(t, "ffn_gate_inp"))
        return "a router";
    if (shape_dim(&t->shape, t->shape.rank - 2) < LEAST || cols < LEAST)
        return "too small";
    return NULL;
}

/* --- one tensor */

/* A tensor of the choice during the decision. */
struct one {
    struct chosen *chosen;
    struct tensor t;
    uint64_t rows, cols;
    struct reduction_rule *rule;
    const struct encoder *encoder;      /* or NULL: do not encode */
    bool cast;                          /* becomes plain: f32, f16 or bf16 */
    const char *misfit;                 /* why its shape does not fit the scheme, or NULL */
    enum dtype instead_of;              /* the type that it would have if its shape fitted, or DTYPE_UNKNOWN */
    size_t place;
};

/* Checks everything that does not depend on the type; sets *stays if the tensor is not encoded. `model`: whose names have a
 * meaning, or NULL. */
static bool
reduction_look(struct one *one, bool *stays, const struct reduction *r, const struct mix_model *model, struct err *err)
{
    const struct tensor *t = &one->t;
    bool blocks = r->encoder->held == KEEPS_BLOCKS;
    uint64_t numel = 0;
    const char **why = &one->chosen->why;
    *stays = true;
    if (!find_rule(&one->rule, r, one->chosen, err))
        return false;
    if (!dtype_is_float(t->dtype))
        return true;
    if (one->chosen->typed)
        return *why = "its type was given", true;
    if (t->shape.rank < 2 || (blocks && mix_is_vector(t)))
        return *why = "not a matrix", true;
    one->cols = shape_dim(&t->shape, t->shape.rank - 1);
    if (!shape_numel(&t->shape, &numel) || numel == 0)
        return *why = "no elements", true;
    one->rows = numel / one->cols;
    if (!naming_selects(&r->which, one->chosen))
        return *why = "not selected", true;
    if (!one->rule && !naming_includes(&r->which))
        *why = model ? mix_exempts(model, t) : r->pure ? NULL : spared_by_name(t, one->cols, r->encoder);
    *stays = *why;
    return true;
}

/* Sets the encoder of a type or of the one that replaces it for rows of this length, or none: the tensor is cast, or left as
 * it is. */
static void
take_type(struct one *one, const struct mix_model *model, enum dtype wanted)
{
    enum dtype type = mix_fallback(model, wanted, one->cols);
    if (type != wanted)
        one->instead_of = wanted;
    if (type == DTYPE_UNKNOWN)
        one->misfit = one->chosen->why = "row length is not a multiple of the block size";
    else if (type < DTYPE_SCALARS) {
        one->chosen->dtype = type;
        one->chosen->why = "row length is not a multiple of the block size";
        one->cast = true;
    } else
        one->encoder = encode_ggml_of(type);
}

static void
decide(struct one *one, const struct reduction *r, const struct mix_model *model, struct mix_state *mix)
{
    const struct encoder *e;
    if (one->rule)
        e = one->rule->encoder;
    else if (r->assigned)
        e = r->assigned[one->place];
    else
        e = r->encoder;
    if (!e && one->rule) {
        one->chosen->dtype = one->rule->plain;
        one->cast = true;
    } else if (!e || e->held != KEEPS_BLOCKS || r->uniform || r->assigned)
        one->encoder = e;
    else
        take_type(one, model, mix && !one->rule ? mix_type(mix, &one->t) : e->type);
    if (model->image && one->encoder && chosen_is_quantized(one->chosen))       /* a dequantized value is rounded once */
        one->chosen->dtype = one->t.dtype = DTYPE_F32;
}

/* Looks up the tensor's importance. Fails with ERR_USAGE if the encoder requires it and there is none. */
static bool
reduction_weigh(struct encoding *e, const struct reduction *r, struct err *err)
{
    uint64_t matrices = 1;
    char shown[STR_SHOWN];
    e->importance = importance_of(&r->importance, &e->weight, e->cols, &matrices, err);
    if (matrices > 1)
        e->matrix_rows = e->rows / matrices;
    else
        e->matrix_rows = 0;
    if (err->kind != ERR_NONE)
        return false;
    return e->importance || !encode_needs_importance(e->encoder->type) || err_set(err, ERR_USAGE,
        "tensor %s: %s requires an importance matrix%s", str_shown(shown, e->weight.name, e->weight.name_len), e->encoder->label,
        r->importance.n != 0 ? ", and --imatrix has no entry for it" : ": use --imatrix FILE");
}

/* Sets up the encoding of a tensor; none, with a reason, if it does not fit. Returns false on failure. */
static bool
reduction_encode(struct one *one, const struct reduction *r, const struct exact_terms *exact, struct catalog *memory, struct err *err)
{
    struct encode_part parts[ENCODE_PARTS];
    struct encoding e = { .encoder = one->encoder, .options = r->how, .memory = memory, .weight = one->t, .rows = one->rows, .cols = one->cols,
        .part = parts, .place = one->place, .exact = exact };
    if (!exact && e.encoder->held == KEEPS_BLOCKS && (!reduction_weigh(&e, r, err) || !encode_grids_build(e.encoder->type, err)))
        return false;
    enum encode_fit fit = e.encoder->fit(&e, &r->how, err);
    if (fit == ENCODE_NO)
        one->misfit = e.why;
    else
        one->misfit = NULL;
    one->chosen->why = one->misfit;
    if (fit != ENCODE_YES)
        return fit == ENCODE_NO;
    struct encoding *kept = catalog_alloc(memory, sizeof e + e.nparts * sizeof *parts, err);
    if (!kept)
        return false;
    e.part = memcpy(kept + 1, parts, e.nparts * sizeof *parts);
    *kept = e;
    one->chosen->encoding = kept;
    return true;
}

/* A part whose size depends on the data is compared without its shape. */
bool
reduction_is_stored(const struct encoding *e, const struct weight *w, const struct choice *choice, const unsigned *owned)
{
    for (unsigned i = 0; i < e->nparts; i++) {
        const struct encode_part *part = &e->part[i];
        const struct tensor *t = catalog_find(choice->input, part->name, part->name_len);
        bool sized = !e->encoder->survey.finish_parts || part->shape.rank != 1 || part->dtype != DTYPE_U8;
        if (!t || t->dtype != part->dtype || roles_owner(choice->roles, catalog_index(choice->input, t)) != w
            || (sized && !shape_same(&t->shape, &part->shape, part->shape.rank)) || t->shape.rank != part->shape.rank)
            return false;
    }
    return owned[catalog_index(choice->input, w->part[0])] == e->nparts;
}

unsigned *
reduction_count_owned(const struct choice *choice)
{
    size_t n = catalog_count(choice->input);
    unsigned *owned = calloc(n + 1, sizeof *owned);
    for (size_t i = 0; owned && i < n; i++) {
        const struct weight *w = roles_owner(choice->roles, i);
        if (w)
            owned[catalog_index(choice->input, w->part[0])]++;
    }
    return owned;
}

/* Keeps the weights that are stored as they would be encoded, unless options say how: then the stored form is unknown. */
static bool
keep_stored(const struct reduction *r, struct choice *choice, struct err *err)
{
    static const struct encode_options none = { 0 };
    size_t stored = 0, encoded = 0, n = catalog_count(choice->input);
    bool joint = r->encoder->loaders.joint || r->encoder->loaders.fuses, all;
    if (r->encoder->held == KEEPS_BLOCKS || r->uniform || memcmp(&r->how, &none, sizeof none) != 0)
        return true;
    unsigned *owned = reduction_count_owned(choice);
    if (!owned)
        return err_memory(err, n * sizeof *owned);
    for (size_t i = 0; i < choice->n; i++) {
        struct chosen *c = &choice->list[i];
        encoded += c->encoding != NULL;
        if (c->encoding && c->decode && roles_is_kept(c->decode, r->keeps) && reduction_is_stored(c->encoding, c->decode, choice, owned)) {
            c->stored = c->encoding;
            stored++;
        }
    }
    all = stored == encoded;
    for (size_t i = 0; i < choice->n; i++) {
        struct chosen *c = &choice->list[i];
        if (!c->stored || (joint && !all)) {
            c->stored = NULL;
            continue;
        }
        c->kept = c->decode;
        c->encoding = NULL;
        c->same = true;
        c->why = "has this type already";
        choice->same++;
    }
    free(owned);
    return true;
}

/* Keeps a quantized weight as it is stored if it is not encoded, or if its block type is the one it would get. While the
 * candidates of a target are measured, each is encoded. */
static void
reduction_keep(struct one *one, const struct reduction *r, struct choice *choice)
{
    const struct weight *w = one->chosen->decode;
    bool same = one->encoder && w && one->encoder->type == w->part[0]->dtype && (!r->uniform || r->assigned);
    if (one->cast || (one->encoder && !same) || !w || !roles_is_kept(w, r->keeps))
        return;
    one->chosen->kept = w;
    one->encoder = NULL;
    one->chosen->same = same;
    choice->same += same;
    if (same)
        one->chosen->why = "has this type already";
}

/* Keeps the biases as they are stored whose weights are kept, and no others. */
static void
keep_followers(const struct one *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct weight *w = list[i].chosen->decode;
        size_t at = w ? w->name_len : 0;
        if (!w || !w->scheme->follows || !str_strip(w->name, &at, "bias"))
            continue;
        list[i].chosen->kept = NULL;
        for (size_t k = 0; k < n; k++) {
            const struct weight *other = list[k].chosen->decode;
            if (other && other != w && list[k].chosen->kept && other->name_len == at + 6 && memcmp(other->name, w->name, at) == 0
                    && memcmp(other->name + at, "weight", 6) == 0)
                list[i].chosen->kept = w;
        }
    }
}

/* --- entire choice */

/* Warns once about types that llama-quantize refuses to write without importance. */
static void
warn_of_few_bits(const struct reduction *r, const struct one *list, size_t n, struct catalog *memory)
{
    const struct one *first = NULL;
    size_t others = 0;
    char shown[STR_SHOWN];
    for (size_t i = 0; i < n; i++) {
        const struct encoding *e = list[i].chosen->encoding;
        if (!e || e->importance || !mix_wants_importance(&list[i].t, e->encoder->type, r->encoder->name))
            continue;
        others += first != NULL;
        if (!first)
            first = &list[i];
    }
    if (!first)
        return;
    str_shown(shown, first->t.name, first->t.name_len);
    if (others == 0)
        catalog_warn(memory, "%s: %s without an importance matrix (use --imatrix FILE); llama-quantize refuses this",
            shown, dtype_name(first->encoder->type));
    else
        catalog_warn(memory, "%s and %zu other weights: %s without an importance matrix (use --imatrix FILE); "
            "llama-quantize refuses this", shown, others, dtype_name(first->encoder->type));
}

/* Returns the type of a weight that is not encoded with the wanted one, for messages. */
static const char *
reduction_type_of(const struct one *one)
{
    if (one->chosen->encoding)
        return one->chosen->encoding->encoder->label;
    return dtype_name(one->chosen->dtype);
}

/* Returns true if two weights do not fit for the same reason, with the same result. */
static bool
is_alike(const struct one *a, const struct one *b)
{
    return a->misfit == b->misfit && strcmp(reduction_type_of(a), reduction_type_of(b)) == 0;
}

/* Warns of weights that are not quantized, or get another type, because of their shape: once for each reason. */
static void
warn_of_misfits(const struct reduction *r, const struct one *list, size_t n, struct catalog *memory)
{
    char shown[STR_SHOWN];
    size_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += list[i].encoder || list[i].misfit || list[i].instead_of != DTYPE_UNKNOWN;
    for (size_t i = 0; i < n; i++) {
        const struct one *one = &list[i];
        size_t alike = 0, before = 0;
        if ((!one->misfit && one->instead_of == DTYPE_UNKNOWN) || (is_stack(&one->t) && !r->encoder->loaders.stacks))
            continue;
        for (size_t k = 0; k < n; k++)
            if ((list[k].misfit || list[k].instead_of != DTYPE_UNKNOWN) && is_alike(one, &list[k])) {
                alike++;
                before += k < i;
            }
        if (before != 0)
            continue;
        str_shown(shown, one->t.name, one->t.name_len);
        if (one->misfit)
            catalog_warn(memory, "%zu of %zu weights not quantized: %s (first: %s, %" PRIu64 " x %" PRIu64 ")", alike, all,
                one->misfit, shown, one->rows, one->cols);
        else
            catalog_warn(memory, "%zu of %zu weights written as %s instead of %s: their rows are not multiples of %" PRIu32
                " (first: %s, %" PRIu64 " x %" PRIu64 ")", alike, all, reduction_type_of(one), dtype_name(one->instead_of),
                (uint32_t)dtype_facts(one->instead_of)->elems, shown, one->rows, one->cols);
    }
}

/* Warns once about types that the loaders of image models read slowly or not at all. */
static void
warn_of_slow(const struct one *list, size_t n, struct catalog *memory)
{
    const struct one *first = NULL;
    size_t slow = 0;
    char shown[STR_SHOWN];
    for (size_t i = 0; i < n; i++)
        if (list[i].chosen->encoding && !image_mix_is_fast(list[i].chosen->encoding->encoder->type)) {
            if (slow == 0)
                first = &list[i];
            slow++;
        }
    if (slow != 0)
        catalog_warn(memory, "%zu weights written as %s (the first: %s): ComfyUI dequantizes this type with slow code, and diffusers "
            "refuses it", slow, reduction_type_of(first), str_shown(shown, first->t.name, first->t.name_len));
}

/* Warns of matrices of an image model that become F16, because the block does not divide their rows. */
static void
warn_of_fallback(const struct one *list, size_t n, struct catalog *memory)
{
    const struct one *first = NULL;
    uint64_t nbytes = 0, all = 0;
    size_t fallen = 0;
    char shown[STR_SHOWN];
    for (size_t i = 0; i < n; i++) {
        const struct tensor t = chosen_tensor(list[i].chosen);
        uint64_t size = 0;
        bool whole;
        shape_nbytes(&t.shape, t.dtype, &size, &whole);
        all += size;
        if (list[i].instead_of == DTYPE_UNKNOWN)
            continue;
        nbytes += size;
        if (fallen == 0)
            first = &list[i];
        fallen++;
    }
    if (fallen != 0)
        catalog_warn(memory, "%zu weights written as F16 instead of %s, %.0f%% of the bytes: their rows are not multiples of %" PRIu32 " (the "
            "first: %s, %" PRIu64 " x %" PRIu64 "); q8_0, q5_1, q5_0, q4_1 and q4_0 have blocks of 32", fallen,
            dtype_name(first->instead_of), all != 0 ? 100.0 * (double)nbytes / (double)all : 0, (uint32_t)dtype_facts(first->instead_of)->elems,
            str_shown(shown, first->t.name, first->t.name_len), first->rows, first->cols);
}

/* Fails because a rule matches no tensor, or only tensors whose type it does not decide. */
static bool
complain_of_rule(const struct reduction_rule *rule, const struct choice *choice, struct err *err)
{
    char shown[STR_SHOWN], name[STR_SHOWN];
    struct str names = { 0 };
    size_t i = 0;
    str_shown(shown, rule->text, strlen(rule->text));
    if (!rule->matches) {
        naming_add_examples(&names, choice);
        err_set(err, ERR_USAGE, "--tensor-type '%s': no tensor matches%s", shown, str_or(names.p, ""));
        str_clear(&names);
        return false;
    }
    for (bool matches = false; rule_matches(&matches, rule, &choice->list[i], rule->stored, err) && !matches;)
        i++;
    const struct tensor t = chosen_source(&choice->list[i]);
    const char *why = str_or(choice->list[i].why, "its type is decided elsewhere");
    return err_set(err, ERR_USAGE, "--tensor-type '%s' has no effect: %s: %s; --dtype GLOB=TYPE sets the type of floats that are "
        "not quantized", shown, str_shown(name, t.name, t.name_len), why);
}

/* Checks that every rule decides the type of a tensor. */
static bool
check_rules(const struct reduction *r, const struct choice *choice, struct err *err)
{
    for (size_t i = 0; i < r->nrules; i++)
        if (!r->rules[i].works)
            return complain_of_rule(&r->rules[i], choice, err);
    return true;
}

static int
reduction_compare(const void *a, const void *b)
{
    return mix_order(&((const struct one *)a)->t, &((const struct one *)b)->t);
}

/* Weights that are not quantized because of their shape: the first of them, and why. */
struct misfits {
    size_t n;
    struct tensor first;
    const char *why;
};

static void
count_misfits(struct misfits *found, const struct one *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].misfit && found->n++ == 0) {
            found->first = list[i].t;
            found->why = list[i].misfit;
        }
}

/* Fails for a type that image models are not quantized to, unless the user asks for it by rules or for all matrices. */
static bool
check_image(const struct reduction *r, const struct mix *mix, struct err *err)
{
    if (r->pure || r->uniform || (mix && image_mix_offers(mix->name)))
        return true;
    return err_set(err, ERR_UNSUPPORTED, "image models are not quantized to %s: their loaders lack fast code for it, or refuse it; "
        "use --scheme q8_0, q6_k, q5_k_m, q4_k_m or iq4_xs, or --pure to have it anyway", r->encoder->name);
}

static bool
decide_all(const struct reduction *r, struct choice *choice, struct misfits *misfits, struct catalog *memory, struct err *err)
{
    bool blocks = r->encoder->held == KEEPS_BLOCKS, ok = true;
    const struct mix *mix = NULL;
    if (blocks && !r->assigned && !r->uniform)
        mix = mix_find(r->encoder->name);
    struct mix_state state;
    const struct mix_model model = choice->model.arch ? choice->model : mix_model_of(choice->input);
    bool keyed = blocks && model.arch, mixed = keyed && mix && !r->pure;
    if (model.image && !r->assigned && !check_image(r, mix, err))
        return false;
    if (mixed)
        mix_begin(&state, mix, &model, r->importance.n != 0);
    struct one *list = calloc(choice->n + 1, sizeof *list);
    if (!list)
        return err_memory(err, (choice->n + 1) * sizeof *list);
    for (size_t i = 0; i < choice->n; i++)
        list[i] = (struct one){ .chosen = &choice->list[i], .t = chosen_source(&choice->list[i]), .place = i,
            .instead_of = DTYPE_UNKNOWN };
    if (mixed && !model.image)
        qsort(list, choice->n, sizeof *list, reduction_compare);
    for (size_t i = 0; mixed && i < choice->n; i++)
        mix_count(&state, &list[i].t);
    for (size_t i = 0; ok && i < choice->n; i++) {
        bool stays;
        ok = reduction_look(&list[i], &stays, r, keyed ? &model : NULL, err);
        if (ok && !stays) {
            decide(&list[i], r, &model, mixed ? &state : NULL);
            if (mixed && !list[i].rule)
                list[i].chosen->rule = state.rule;
            else
                list[i].chosen->rule = NULL;
            if (list[i].rule)
                list[i].rule->works = true;
            choice->mix = list[i].rule || !keyed ? choice->mix : mix;   /* not if rules alone chose the types */
        }
        reduction_keep(&list[i], r, choice);
        ok = ok && (!list[i].encoder || reduction_encode(&list[i], r, NULL, memory, err));
    }
    ok = ok && keep_stored(r, choice, err);
    keep_followers(list, choice->n);
    ok = ok && (r->uniform || check_rules(r, choice, err));
    if (ok && !r->uniform && model.image) {
        warn_of_slow(list, choice->n, memory);
        warn_of_fallback(list, choice->n, memory);
    }
    if (ok && blocks && !r->uniform)
        warn_of_few_bits(r, list, choice->n, memory);
    if (ok && !r->uniform && !model.image)
        warn_of_misfits(r, list, choice->n, memory);
    count_misfits(misfits, list, choice->n);
    free(list);
    return ok;
}

/* Builds the list again, with all parts of encoded weights, which are numbered, and the codes of weights that stay as they are
 * stored. */
static bool
spread(struct choice *choice, struct err *err)
{
    size_t n = 0;
    bool decodes = false;
    for (size_t i = 0; i < choice->n; i++)
        n += choice->list[i].encoding ? choice->list[i].encoding->nparts : 1;
    struct chosen *list = malloc((n + 1) * sizeof *list);
    if (!list)
        return err_memory(err, (n + 1) * sizeof *list);
    n = 0;
    for (size_t i = 0; i < choice->n; i++) {
        struct chosen *c = &choice->list[i];
        if (c->decode && c->kept)
            *c = (struct chosen){ .copy = c->kept->part[0], .kept = c->kept, .dtype = c->kept->part[0]->dtype, .same = c->same,
                .stored = c->stored, .why = c->why };
        decodes = decodes || c->decode || c->composed;
        if (c->encoding)
            c->encoding->number = choice->encoded++;
        do
            list[n++] = *c;
        while (c->encoding && ++c->part < c->encoding->nparts);
    }
    free(choice->list);
    choice->list = list;
    choice->n = n;
    choice->decodes = choice->decodes && decodes;
    return true;
}

/* Orders entries as their codes are ordered in the input. */
static int
compare_places(const void *a, const void *b)
{
    const struct chosen *x = a, *y = b;
    const struct tensor *s = x->copy ? x->copy : x->decode->part[0], *t = y->copy ? y->copy : y->decode->part[0];
    if (s != t)
        return (s > t) - (s < t);
    return (x->part > y->part) - (x->part < y->part);
}

/* Marks the tensors of weights that stay as they are stored: the codes, and the companions, which other weights may share. */
static size_t
mark_stored(bool *stored, const struct choice *choice)
{
    size_t n = 0;
    for (size_t i = 0; i < choice->n; i++)
        for (unsigned part = 0; choice->list[i].kept && part < SCHEME_PARTS; part++)
            if (choice->list[i].kept->part[part]) {
                stored[catalog_index(choice->input, choice->list[i].kept->part[part])] = true;
                n++;
            }
    return n;
}

/* Returns true if the choice has companions of weights that stay as they are stored; it then has all of them. */
static bool
has_companions(const struct choice *choice)
{
    for (size_t i = 0; i < choice->n; i++)
        if (choice->list[i].kept && choice->list[i].copy && choice->list[i].copy != choice->list[i].kept->part[0])
            return true;
    return false;
}

/* Adds the companions of the weights that stay as they are stored, each once, where the input has them; and renames these weights
 * and companions from the names that the input has. */
static bool
add_companions(const struct reduction *r, struct choice *choice, struct err *err)
{
    size_t ntensors = catalog_count(choice->input), n = choice->n, room = (n + ntensors + 1) * sizeof *choice->list;
    bool *stored = calloc(ntensors + 1, sizeof *stored), ok = true;
    if (!stored)
        return err_memory(err, ntensors + 1);
    if (mark_stored(stored, choice) == 0) {
        free(stored);
        return true;
    }
    struct chosen *list = realloc(choice->list, room);
    if (!list) {
        free(stored);
        return err_memory(err, room);
    }
    choice->list = list;
    for (size_t i = choice->n = 0; i < n; i++)          /* without those that are there */
        if (!list[i].kept || list[i].copy == list[i].kept->part[0])
            list[choice->n++] = list[i];
    n = choice->n;
    for (size_t i = 0; i < ntensors; i++) {
        const struct tensor *t = catalog_at(choice->input, i);
        const struct weight *w = roles_owner(choice->roles, i);
        if (roles_is_companion(choice->roles, i) && (stored[i] || stored[catalog_index(choice->input, w->part[0])]))
            list[choice->n++] = (struct chosen){ .copy = t, .kept = w, .dtype = t->dtype };
    }
    if (choice->n != n)
        qsort(list, choice->n, sizeof *list, compare_places);
    for (size_t i = 0; ok && r->names && i < choice->n; i++)
        ok = !list[i].kept || list[i].name || naming_name(r->names, choice, &list[i], err);
    free(stored);
    return ok;
}

/* Finds the first stack of experts that is skipped because the encoder handles matrices only; *n: the number of such stacks. */
static struct tensor
find_stack(const struct reduction *r, const struct choice *choice, size_t *n)
{
    struct tensor first = { 0 };
    *n = 0;
    for (size_t i = 0; i < choice->n && !r->encoder->loaders.stacks && r->encoder->held != KEEPS_BLOCKS; i++) {
        const struct tensor t = chosen_source(&choice->list[i]);
        if (!choice->list[i].encoding && is_stack(&t) && naming_selects(&r->which, &choice->list[i]) && (*n)++ == 0)
            first = t;
    }
    return first;
}

/* Fails if nothing is encoded, and warns about experts that are skipped. */
static bool
check_encoded(const struct reduction *r, const struct choice *choice, const struct misfits *misfits, struct catalog *catalog,
    struct err *err)
{
    char shown[STR_SHOWN], shape[SHAPE_TEXT];
    size_t n;
    const struct tensor t = find_stack(r, choice, &n);
    str_shown(shown, str_or(t.name, ""), t.name_len);
    if (choice->encoded != 0 && n != 0)
        catalog_warn(catalog, "%s%s: experts in one three-dimensional tensor are left unquantized: %s supports only matrices "
            "(--scheme fp8 supports both)", shown, n > 1 ? " and others" : "", r->encoder->label);
    if (choice->encoded != 0 || choice->same != 0)
        return true;
    if (n != 0)
        return err_set(err, ERR_USAGE, "tensor %s: %s supports only matrices, not experts in one "
            "three-dimensional tensor: use --scheme fp8", shown, r->encoder->label);
    if (misfits->n != 0)
        return err_set(err, ERR_USAGE, "no weight can be quantized as %s: %s (%zu weight%s, the first: %s %s); "
            "choose another --scheme",
            r->encoder->label, misfits->why, misfits->n, str_plural(misfits->n),
            str_shown(shown, misfits->first.name, misfits->first.name_len), shape_text(shape, &misfits->first.shape));
    return err_set(err, ERR_USAGE, "no weight to quantize as %s; use --include GLOB to select tensors that are skipped "
        "by default", r->encoder->label);
}

bool
reduction_apply(const struct reduction *r, struct choice *choice, struct catalog *memory, struct err *err)
{
    struct misfits misfits = { 0 };
    return reduction_meet(r, choice, err) && decide_all(r, choice, &misfits, memory, err)
        && (r->apart || fused_find(choice, memory, err)) && spread(choice, err) && add_companions(r, choice, err)
        && check_encoded(r, choice, &misfits, memory, err) && choice_distinct(choice, err);
}

/* --- exact encodings */

bool
reduction_offers(const struct reduction *r, const struct choice *choice, size_t place, bool *offers, struct err *err)
{
    struct chosen copy = choice->list[place];
    struct one one = { .chosen = &copy, .t = chosen_source(&copy), .place = place };
    const struct mix_model model = choice->model.arch ? choice->model : mix_model_of(choice->input);
    bool stays = true, quantized = chosen_is_quantized(&copy);
    if (quantized)
        stays = !dtype_is_float(one.t.dtype) || one.t.shape.rank < 2 || copy.typed || !naming_selects(&r->which, &copy);
    else if (!reduction_look(&one, &stays, r, r->encoder->held == KEEPS_BLOCKS && model.arch ? &model : NULL, err))
        return false;
    *offers = !stays;
    return true;
}

bool
reduction_ruled(const struct reduction *r, const struct chosen *c, enum keeps held, const struct encoder **encoder, struct err *err)
{
    struct reduction_rule *rule;
    char shown[STR_SHOWN];
    *encoder = NULL;
    if (!find_rule(&rule, r, c, err))
        return false;
    if (!rule)
        return true;
    rule->works = true;
    *encoder = encode_exact_find(rule->scheme, held);
    return *encoder || err_set(err, ERR_USAGE, "--tensor-type: '%s' is not a target of --exact",
        str_shown(shown, rule->scheme, strlen(rule->scheme)));
}

bool
reduction_try(const struct reduction *r, struct chosen *c, size_t place, const struct encode_options *how, const struct encoder *encoder,
    const struct exact_terms *exact, enum dtype dtype, struct catalog *memory, struct err *err)
{
    struct reduction own = { .how = *how, .importance = r->importance };
    struct one one = { .chosen = c, .t = chosen_source(c), .encoder = encoder, .place = place };
    uint64_t numel = 0;
    one.t.dtype = dtype;
    one.cols = shape_dim(&one.t.shape, one.t.shape.rank - 1);
    c->encoding = NULL;
    if (!shape_numel(&one.t.shape, &numel) || numel == 0) {
        c->why = "no elements";
        return true;
    }
    one.rows = numel / one.cols;
    return reduction_encode(&one, &own, exact, memory, err);
}

bool
reduction_finish(const struct reduction *r, struct choice *choice, struct err *err)
{
    return check_rules(r, choice, err) && spread(choice, err) && (has_companions(choice) || add_companions(r, choice, err))
        && choice_distinct(choice, err);
}
