/* Sorts the tensors of an adapter by their names: the module in front, the role of the factor behind. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter_priv.h"
#include "adapter/factor.h"
#include "base/array.h"

static const char module_of_factor[] = "module %s: ";

/* Components of names that say what a tensor is. */
static const struct key_word {
    const char *word;
    enum factor_role role;
    enum factor_order order;
} words[] = {
    { "lora_A", FACTOR_A, ORDER_LINEAR }, { "lora_B", FACTOR_B, ORDER_LINEAR },
    { "lora_embedding_A", FACTOR_A, ORDER_EMBEDDING }, { "lora_embedding_B", FACTOR_B, ORDER_EMBEDDING },
    { "lora_down", FACTOR_A, ORDER_LINEAR }, { "lora_up", FACTOR_B, ORDER_LINEAR }, { "lora_mid", FACTOR_MID, ORDER_LINEAR },
    { "lora_magnitude_vector", FACTOR_MAGNITUDE, ORDER_LINEAR }, { "dora_scale", FACTOR_DORA_SCALE, ORDER_LINEAR },
    { "alpha", FACTOR_ALPHA, ORDER_LINEAR }, { "ia3_l", FACTOR_IA3, ORDER_LINEAR },
    { "hada_w1_a", FACTOR_HADA_1A, ORDER_LINEAR }, { "hada_w1_b", FACTOR_HADA_1B, ORDER_LINEAR },
    { "hada_w2_a", FACTOR_HADA_2A, ORDER_LINEAR }, { "hada_w2_b", FACTOR_HADA_2B, ORDER_LINEAR },
    { "hada_t1", FACTOR_HADA_T1, ORDER_LINEAR }, { "hada_t2", FACTOR_HADA_T2, ORDER_LINEAR },
    { "lokr_w1", FACTOR_LOKR_1, ORDER_LINEAR }, { "lokr_w1_a", FACTOR_LOKR_1A, ORDER_LINEAR },
    { "lokr_w1_b", FACTOR_LOKR_1B, ORDER_LINEAR }, { "lokr_w2", FACTOR_LOKR_2, ORDER_LINEAR },
    { "lokr_w2_a", FACTOR_LOKR_2A, ORDER_LINEAR }, { "lokr_w2_b", FACTOR_LOKR_2B, ORDER_LINEAR },
    { "lokr_t2", FACTOR_LOKR_T2, ORDER_LINEAR },
    { "diff", FACTOR_DIFF, ORDER_LINEAR }, { "diff_b", FACTOR_DIFF_BIAS, ORDER_LINEAR },
    { "w_norm", FACTOR_DIFF, ORDER_LINEAR }, { "b_norm", FACTOR_DIFF_BIAS, ORDER_LINEAR },
    { "set_weight", FACTOR_SET, ORDER_LINEAR }, { "trainable_tokens_delta", FACTOR_TOKENS, ORDER_LINEAR },
    { "base_layer", FACTOR_BASE, ORDER_LINEAR }, { "modules_to_save", FACTOR_SET, ORDER_LINEAR },
    { "ln_tuning_layers", FACTOR_SET, ORDER_LINEAR }, { "original_module", FACTOR_ROLES, ORDER_LINEAR },
};

/* Endings of older diffusers files. */
static const struct key_ending {
    const char *ending;
    enum factor_role role;
} endings[] = {
    { "_lora.down", FACTOR_A }, { "_lora.up", FACTOR_B }, { ".lora.down", FACTOR_A }, { ".lora.up", FACTOR_B },
    { ".lora_linear_layer.down", FACTOR_A }, { ".lora_linear_layer.up", FACTOR_B },
};

/* Parts of the names of forms that are recognised and not merged. */
static const char *const refused[] = { "lora_", "hada_", "lokr_", "vera_", "oft_", "boft_", "reshape_weight", ".a1.", ".a2.", ".b1.",
    ".b2.", "miss_", "bone_", "shira_", "randlora_", "delora_", "fourierft_", "waveft_", "c3a_", "hra_", "road_" };

enum key_tail { TAIL_NONE, TAIL_WEIGHT, TAIL_BIAS };

bool
adapter_fail(const struct adapter_module *m, enum err_kind kind, struct err *err, const char *format, ...)
{
    char shown[STR_SHOWN], before[STR_SHOWN + 16];
    va_list args;
    va_start(args, format);
    snprintf(before, sizeof before, module_of_factor, str_shown(shown, m->name, m->len));
    err_vset(err, kind, ERR_NO_OFFSET, before, format, args);
    va_end(args);
    return false;
}

static const char *
keys_name_of(const void *owner, uint32_t number, size_t *n)
{
    const struct adapter *a = owner;
    *n = a->module[number].len;
    return a->module[number].name;
}

/* Returns true if the last component of a module's name is one of these. */
static bool
ends_with(const struct adapter_module *m, const char *const last[])
{
    for (size_t i = 0; last[i]; i++) {
        size_t n = strlen(last[i]);
        if (m->len >= n && memcmp(m->name + m->len - n, last[i], n) == 0 && (m->len == n || m->name[m->len - n - 1] == '.'))
            return true;
    }
    return false;
}

bool
adapter_is_embedding(const struct adapter_module *m)
{
    static const char *const last[] = { "embed_tokens", "wte", "word_embeddings", "embed_in", NULL };
    static const char gguf[] = "token_embd.weight";
    return ends_with(m, last) || (m->whole && str_is(m->name, m->len, gguf));
}

bool
adapter_is_head(const struct adapter_module *m)
{
    static const char *const last[] = { "lm_head", "embed_out", NULL };
    return ends_with(m, last);
}

/* Returns the module of this name, adding it if necessary; `name` is borrowed. NULL on failure. */
static struct adapter_module *
adapter_module_of(struct adapter *a, const char *name, size_t n, struct err *err)
{
    uint32_t number = (uint32_t)a->n;
    bool again = false;
    struct adapter_module *list = array_grow(a->module, a->n, &a->room, sizeof *list, err);
    if (!list)
        return NULL;
    a->module = list;
    if (!table_add(&a->names, keys_name_of, a, name, n, &number, &again, err))
        return NULL;
    if (!again)
        list[a->n++] = (struct adapter_module){ .name = name, .len = (uint32_t)n };
    return &list[number];
}

/* Sets a factor. Fails with ERR_MALFORMED if the module has it already. */
static bool
adapter_set_factor(struct adapter_module *m, enum factor_role role, const struct tensor *t, struct err *err)
{
    char shown[STR_SHOWN];
    if (m->factor[role])
        return adapter_fail(m, ERR_MALFORMED, err, "two tensors have the role of %s", str_shown(shown, t->name, t->name_len));
    m->factor[role] = t;
    return true;
}

/* Returns the word that p[0..n) is, or NULL. */
static const struct key_word *
find_word(const char *p, size_t n)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(p, n, words[i].word))
            return &words[i];
    return NULL;
}

/* Returns the position after the last dot before n, or 0. */
static size_t
last_component(const char *p, size_t n)
{
    while (n != 0 && p[n - 1] != '.')
        n--;
    return n;
}

/* Remembers the name of the adapter inside its file. A file may contain only one. */
static bool
see_variant(struct adapter *a, const char *p, size_t n, struct err *err)
{
    char one[STR_SHOWN], two[STR_SHOWN];
    if (a->variant && str_compare(a->variant, a->nvariant, p, n) != 0)
        return err_set(err, ERR_UNSUPPORTED, "the file contains several adapters, %s and %s: save them one by one",
            str_shown(one, a->variant, a->nvariant), str_shown(two, p, n));
    a->variant = p;
    a->nvariant = n;
    return true;
}

/* Fails about a tensor that has no place in an adapter. */
static bool
keys_unknown(const struct tensor *t, struct err *err)
{
    char shown[STR_SHOWN];
    str_shown(shown, t->name, t->name_len);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (memmem(t->name, t->name_len, refused[i], strlen(refused[i])))
            return err_set(err, ERR_UNSUPPORTED, ERR_TENSOR "this form of adapter is not merged", shown);
    return err_set(err, ERR_MALFORMED, ERR_TENSOR "not a part of an adapter", shown);
}

/* Finds the word of a name without its tail, the last component or the one before, which the name of the adapter follows. */
static const struct key_word *
split(struct adapter *a, const char *p, size_t n, size_t *module, bool *ok, struct err *err)
{
    size_t last = last_component(p, n), before = last > 1 ? last_component(p, last - 1) : 0;
    const struct key_word *word = find_word(p + last, n - last);
    *module = last;
    if (word || last < 2)
        return word;
    if ((word = find_word(p + before, last - 1 - before)) == NULL || word->role == FACTOR_BASE)
        return NULL;
    *module = before;
    *ok = see_variant(a, p + last, n - last, err);
    return word;
}

bool
adapter_names_factor(const struct tensor *t)
{
    static const char *const starts[] = { "lora_", "hada_", "lokr_", "oft_", "boft_", "vera_" };
    const char *p = t->name;
    size_t n = t->name_len, at;
    if (!str_strip(p, &n, ".weight"))
        str_strip(p, &n, ".bias");
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (str_strip(p, &n, endings[i].ending))
            return true;
    for (unsigned depth = 0; depth < 2 && n != 0; depth++, n = at != 0 ? at - 1 : 0) {
        at = last_component(p, n);
        const struct key_word *word = NULL;
        if (at != 0)
            word = find_word(p + at, n - at);
        if (word && word->role <= FACTOR_DIFF_BIAS && word->role != FACTOR_ALPHA)
            return true;
        for (size_t i = 0; at != 0 && i < sizeof starts / sizeof *starts; i++)
            if (n - at > strlen(starts[i]) && memcmp(p + at, starts[i], strlen(starts[i])) == 0)
                return true;
    }
    return false;
}

/* Adds a factor to its module: `role` as for a weight. */
static bool
keys_add(struct adapter *a, const struct tensor *t, const char *name, size_t n, enum factor_role role, enum factor_order order,
    enum key_tail tail, struct err *err)
{
    static const enum factor_role bias_of[FACTOR_ROLES] = { [FACTOR_B] = FACTOR_B_BIAS, [FACTOR_BASE] = FACTOR_BASE_BIAS,
        [FACTOR_SET] = FACTOR_SET_BIAS };
    if (tail == TAIL_BIAS && (role = bias_of[role]) == 0)
        return keys_unknown(t, err);
    struct adapter_module *m = NULL;
    if (n != 0)
        m = adapter_module_of(a, name, n, err);
    if (!m)
        return n == 0 ? keys_unknown(t, err) : false;
    if (role == FACTOR_A || role == FACTOR_B)
        m->order = order;
    if (m->factor[role] && (role == FACTOR_SET || role == FACTOR_SET_BIAS)) {
        m->again[role == FACTOR_SET_BIAS] = t;          /* must be equal, which is checked later */
        return true;
    }
    return adapter_set_factor(m, role, t, err);
}

/* Returns true if a component of a name starts with a word of another form. */
static bool
is_of_other_form(const char *p, size_t n)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        size_t len = strlen(refused[i]);
        for (size_t at = 0; refused[i][len - 1] == '_' && at + len <= n; at++)
            if ((at == 0 || p[at - 1] == '.') && memcmp(p + at, refused[i], len) == 0)
                return true;
    }
    return false;
}

/* Reads M.modules_to_save.NAME.REST, a part of a module that was saved as a whole: M.REST. *nested is false for other names. */
static bool
read_nested(bool *nested, struct adapter *a, const struct tensor *t, const char *p, size_t n, enum key_tail tail,
    struct catalog *memory, struct err *err)
{
    static const char saved[] = ".modules_to_save.";
    const char *at = memmem(p, n, saved, sizeof saved - 1), *name = at ? at + sizeof saved - 1 : p, *end = p + n;
    const char *rest = NULL;
    if (at)
        rest = memchr(name, '.', (size_t)(end - name));
    *nested = rest != NULL;
    if (!rest)
        return true;
    size_t front = (size_t)(at - p), len = front + (size_t)(end - rest);
    char *own = catalog_alloc(memory, len, err);
    if (!own)
        return false;
    memcpy(own, p, front);
    memcpy(own + front, rest, len - front);
    return see_variant(a, name, (size_t)(rest - name), err) && keys_add(a, t, own, len, FACTOR_SET, ORDER_LINEAR, tail, err);
}

/* Reads a name of PEFT, kohya, LyCORIS or diffusers. */
static bool
read_key(struct adapter *a, const struct tensor *t, struct catalog *memory, struct err *err)
{
    static const char root[] = "base_model.model.", tokens[] = ".token_adapter";
    const char *p = t->name;
    size_t n = t->name_len, module;
    bool ok = true;
    if (n > sizeof root - 1 && str_prefixed(p, n, root)) {
        p += sizeof root - 1;
        n -= sizeof root - 1;
    }
    enum key_tail tail = TAIL_NONE;
    if (str_strip(p, &n, ".weight"))
        tail = TAIL_WEIGHT;
    else if (str_strip(p, &n, ".bias"))
        tail = TAIL_BIAS;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (str_strip(p, &n, endings[i].ending))
            return keys_add(a, t, p, n, endings[i].role, ORDER_LINEAR, tail, err);
    bool nested;
    if (memmem(p, n, ".original_module.", 17))
        return true;                            /* a part of an untrained copy */
    if (!read_nested(&nested, a, t, p, n, tail, memory, err))
        return false;
    if (nested)
        return true;
    const struct key_word *word = split(a, p, n, &module, &ok, err);
    if (!ok)
        return false;
    if (!word)
        return a->family == ADAPTER_PEFT && tail != TAIL_NONE && !is_of_other_form(p, n)
            ? keys_add(a, t, p, n, FACTOR_SET, ORDER_LINEAR, tail, err) : keys_unknown(t, err);
    if (word->role == FACTOR_ROLES)
        return true;                            /* the untrained copy */
    module -= module != 0;
    if (word->role == FACTOR_TOKENS)
        str_strip(p, &module, tokens);
    return keys_add(a, t, p, module, word->role, word->order, tail, err);
}

/* Removes the end of a name of MLX or GGUF that says what the tensor is. */
static enum factor_role
strip_role(const char *p, size_t *n, bool gguf)
{
    if (str_strip(p, n, ".lora_a"))
        return FACTOR_A;
    if (str_strip(p, n, ".lora_b"))
        return FACTOR_B;
    if (!gguf && str_strip(p, n, ".m"))
        return FACTOR_MAGNITUDE;
    return FACTOR_SET;
}

/* Reads a name of MLX or GGUF: NAME.lora_a, NAME.lora_b, NAME.m, or a tensor that replaces one. */
static bool
read_short_key(struct adapter *a, const struct tensor *t, struct err *err)
{
    const char *p = t->name;
    size_t n = t->name_len;
    bool gguf = a->family == ADAPTER_GGUF;
    enum factor_role role = strip_role(p, &n, gguf);
    enum key_tail tail = TAIL_NONE;
    if (role == FACTOR_SET && !gguf)
        tail = str_strip(p, &n, ".weight") ? TAIL_WEIGHT : str_strip(p, &n, ".bias") ? TAIL_BIAS : TAIL_NONE;
    if (role == FACTOR_SET && !gguf && tail == TAIL_NONE)
        return keys_unknown(t, err);
    if (!keys_add(a, t, p, n, role, gguf ? ORDER_LINEAR : ORDER_MLX, tail, err))
        return false;
    struct adapter_module *m = adapter_module_of(a, p, n, err);
    static const char embedding[] = "token_embd.weight";
    if (m && gguf)
        m->whole = true;
    if (m && gguf && str_is(p, n, embedding))
        m->order = ORDER_ROWS;
    return m != NULL;
}

bool
adapter_tolerates(struct adapter *a, struct err *err)
{
    if (!a->faults || (err->kind != ERR_MALFORMED && err->kind != ERR_UNSUPPORTED && err->kind != ERR_LIMIT))
        return false;
    struct err own = *err;
    err_init(err);
    bool again = a->faults->n != 0 && strcmp(a->faults->name[a->faults->n - 1], own.text) == 0;
    return again || names_add(a->faults, own.text, strlen(own.text), err);
}

static bool
keys_read_tensor(struct adapter *a, const struct tensor *t, const struct adapter_job *job, struct err *err)
{
    char shown[STR_SHOWN];
    bool integer = t->dtype == DTYPE_I64 && !t->big_endian && str_ends(t->name, ".alpha");
    if (!factor_decodes(job->kernels, t) && !integer)
        return err_set(err, t->dtype < DTYPE_SCALARS ? ERR_MALFORMED : ERR_UNSUPPORTED, ERR_TENSOR "factors of type %s "
            "are not supported", str_shown(shown, t->name, t->name_len), dtype_name(t->dtype));
    if (a->family == ADAPTER_GGUF || a->family == ADAPTER_MLX)
        return read_short_key(a, t, err);
    return read_key(a, t, job->model->catalog, err);
}

bool
adapter_read_keys(struct adapter *a, const struct adapter_job *job, struct err *err)
{
    struct catalog *memory = job->model->catalog;
    bool bare = a->family == ADAPTER_SINGLE && catalog_count(a->file.catalog) != 0;
    struct tensor *list = catalog_alloc(memory, (catalog_count(a->file.catalog) + 1) * sizeof *list, err);
    if (!list)
        return false;
    a->tensors = list;
    for (size_t i = 0; i < catalog_count(a->file.catalog); i++) {
        struct tensor *t = &list[i];
        *t = *catalog_at(a->file.catalog, i);
        t->extent.file += a->first;
        bare = bare && t->name_len > 17 && str_prefixed(t->name, t->name_len, "base_model.model.");
        if (!keys_read_tensor(a, t, job, err) && !adapter_tolerates(a, err))
            return false;
    }
    for (size_t i = 0; bare && i < a->n; i++)
        bare = a->module[i].factor[FACTOR_ALPHA] == NULL;
    if (bare && catalog_meta_count(a->file.catalog) <= 1)
        return err_set(err, ERR_MALFORMED, "adapter_config.json is missing beside this file: rank and alpha are "
            "unknown");
    return a->n != 0 || (a->faults && a->faults->n != 0) || err_set(err, ERR_MALFORMED, "the file has no tensors");
}
