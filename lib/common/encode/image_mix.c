#include "encode/image_mix.h"

#include <string.h>

#include "base/str.h"

/* --- names */

/* Returns true if a name contains text[0..n), at its end if the text ends with '$'. */
static bool
contains_part(const struct tensor *t, const char *text, size_t n)
{
    bool at_end = n != 0 && text[n - 1] == '$';
    if (!at_end)
        return memmem(t->name, t->name_len, text, n) != NULL;
    return t->name_len >= n - 1 && memcmp(t->name + t->name_len - (n - 1), text, n - 1) == 0;
}

/* Returns true if a name contains all parts of a text, which '*' separates. */
static bool
contains(const struct tensor *t, const char *text)
{
    for (size_t part; *text; text += part + (text[part] == '*')) {
        part = strcspn(text, "*");
        if (!contains_part(t, text, part))
            return false;
    }
    return true;
}

bool
image_has(const struct image_texts *texts, const struct tensor *t)
{
    for (size_t i = 0; i < texts->n; i++) {
        const char *text = texts->at[i];
        bool whole = text[0] == '=';
        if (whole && str_is(t->name, t->name_len, text + 1))
            return true;
        if (!whole && contains(t, text))
            return true;
    }
    return false;
}

/* Returns true for exactly two dimensions after those of 1 that lead. */
static bool
is_matrix(const struct tensor *t)
{
    uint32_t first = 0;
    while (first < t->shape.rank && shape_dim(&t->shape, first) == 1)
        first++;
    return t->shape.rank - first == 2;
}

const char *
image_exempts(const struct image_rules *rules, const struct tensor *t)
{
    static const char *always[] = { "_norm.weight", "ffn_gate_inp.weight", "attn_rel_b.weight", "ssm_conv1d.weight" };
    const struct image_texts spared = { always, sizeof always / sizeof *always };
    size_t n = t->name_len;
    if (!is_matrix(t))
        return "not a matrix";
    if (!str_strip(t->name, &n, "weight"))
        return "name does not end in weight";
    if (image_has(&spared, t))
        return "a norm or a router";
    if (image_has(&rules->keep, t))
        return "sensitive";
    return NULL;
}

/* --- types */

/* Block types of the groups; 0: the type of the mix. The first `few` tensors of the group `value` have a type of their own. */
static const struct image_row {
    const char *mix;
    uint64_t few;
    enum dtype first, value, qkv, down;
} rows[] = {
    { .mix = "q8_0" }, { .mix = "q6_k" }, { .mix = "q5_k_s" }, { .mix = "q4_1" }, { .mix = "q5_1" },
    { .mix = "iq4_nl" }, { .mix = "iq4_xs" }, { .mix = "q3_k_s" },
    { .mix = "q5_k_m", .value = DTYPE_Q6_K, .qkv = DTYPE_Q6_K, .down = DTYPE_Q6_K },
    { .mix = "q5_0", .down = DTYPE_Q5_1 },
    { .mix = "q4_k_m", .value = DTYPE_Q6_K, .qkv = DTYPE_Q5_K, .down = DTYPE_Q6_K },
    { .mix = "q4_k_s", .few = 4, .first = DTYPE_Q5_K, .down = DTYPE_Q5_K },
    { .mix = "q4_0", .down = DTYPE_Q4_1 },
    { .mix = "q3_k_l", .value = DTYPE_Q5_K, .qkv = DTYPE_Q4_K, .down = DTYPE_Q5_K },
    { .mix = "q3_k_m", .few = 2, .first = DTYPE_Q5_K, .value = DTYPE_Q4_K, .qkv = DTYPE_Q4_K, .down = DTYPE_Q4_K },
    { .mix = "q2_k", .value = DTYPE_Q3_K },
};

static const struct image_row *
row_of(const char *mix)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].mix, mix) == 0)
            return &rows[i];
    return NULL;
}

bool
image_mix_offers(const char *mix)
{
    return row_of(mix) != NULL;
}

bool
image_mix_is_fast(enum dtype type)
{
    static const enum dtype fast[] = { DTYPE_Q4_0, DTYPE_Q4_1, DTYPE_Q5_0, DTYPE_Q5_1, DTYPE_Q8_0, DTYPE_Q2_K, DTYPE_Q3_K, DTYPE_Q4_K,
        DTYPE_Q5_K, DTYPE_Q6_K, DTYPE_IQ4_NL, DTYPE_IQ4_XS };
    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++)
        if (fast[i] == type)
            return true;
    return false;
}

/* Returns the type of the group of a tensor, or 0, and the name of the group. */
static enum dtype
of_group(const struct image_rules *rules, const struct image_row *row, uint64_t *values, const struct tensor *t, const char **rule)
{
    if (image_has(&rules->value, t)) {
        bool first = (*values)++ < row->few;
        if (first) {
            *rule = "among the first of group v";
            return row->first;
        }
        *rule = "group v";
        return row->value;
    }
    if (image_has(&rules->qkv, t)) {
        *rule = "group qkv";
        return row->qkv;
    }
    *rule = "group down";
    if (image_has(&rules->down, t))
        return row->down;
    return 0;
}

enum dtype
image_type(const struct image_rules *rules, const char *mix, enum dtype usual, uint64_t *values, const struct tensor *t,
    const char **rule)
{
    const struct image_row *row = row_of(mix);
    enum dtype type = 0;
    if (row)
        type = of_group(rules, row, values, t, rule);
    for (size_t i = 0; i < rules->blocks.n; i++)
        if (strcmp(rules->blocks.at[i].mix, mix) == 0 && image_has(&rules->blocks.at[i].in, t)) {
            *rule = "a block of its own";
            return rules->blocks.at[i].type;
        }
    if (type != 0)
        return type;
    *rule = NULL;
    return usual;
}

enum dtype
image_fallback(enum dtype type, uint64_t cols)
{
    if (cols % dtype_facts(type)->elems == 0)
        return type;
    return DTYPE_F16;
}
