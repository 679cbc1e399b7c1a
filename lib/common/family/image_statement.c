/* The statements of a family file of `kind image`. */
#include <stdlib.h>
#include <string.h>

#include "dtype/dtype.h"
#include "family/read_priv.h"

/* The lists of texts, by their statements. A group of the family replaces the usual one, which comes from a fragment. */
static const struct list_row {
    const char *word;
    size_t at;
    bool group;
} lists[] = {
    { .word = "leave", .at = offsetof(struct family_image, leave) },
    { .word = "hint", .at = offsetof(struct family_image, hint) },
    { .word = "adapter", .at = offsetof(struct family_image, adapter) },
    { .word = "diffusers", .at = offsetof(struct family_image, diffusers) },
    { .word = "drop", .at = offsetof(struct family_image, drop) },
    { .word = "f32", .at = offsetof(struct family_image, f32) },
    { .word = "keep", .at = offsetof(struct family_image, rules.keep) },
    { .word = "v", .at = offsetof(struct family_image, rules.value), .group = true },
    { .word = "qkv", .at = offsetof(struct family_image, rules.qkv), .group = true },
    { .word = "down", .at = offsetof(struct family_image, rules.down), .group = true },
};

static struct image_texts *
list_of(struct family_image *image, const struct list_row *row)
{
    return (struct image_texts *)((char *)image + row->at);
}

void
family_free_image(struct family_image *image)
{
    if (!image)
        return;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(list_of(image, &lists[i])->at);
    for (size_t i = 0; i < image->detect.n; i++)
        free(image->detect.at[i].at);
    for (size_t i = 0; i < image->prefixes.n; i++)
        free(image->prefixes.at[i].words.at);
    for (size_t i = 0; i < image->rules.blocks.n; i++)
        free(image->rules.blocks.at[i].in.at);
    free(image->detect.at);
    free(image->prefixes.at);
    free(image->rules.blocks.at);
}

/* Appends words [from, to). */
static bool
add_texts(struct family_reader *r, struct image_texts *list, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const char *text = family_copy(r, r->word[i].p, r->word[i].n);
        if (!text || !FAMILY_ADD(r, *list, text))
            return false;
    }
    return true;
}

bool
family_run_kind(struct family_reader *r, struct expr *when)
{
    (void)when;
    if (!family_word_is(r, 1, "image") && !family_word_is(r, 1, "tower"))
        return family_expected(r, r->word[1].p, r->word[1].n, "the kind 'image' or 'tower'");
    if (r->family->image || r->family->tower || r->family->classes.n != 0)
        return family_expected(r, "kind", 4, "it once, before other statements");
    r->family->tower = family_word_is(r, 1, "tower");
    if (r->family->tower)
        return true;
    r->family->image = family_alloc(r->owner, sizeof *r->family->image, r->err);
    return r->family->image && family_read_include(r, "_image");
}

bool
family_run_texts(struct family_reader *r, struct expr *when)
{
    struct family_image *image = r->family->image;
    size_t i = 0;
    if (when)
        return family_expected(r, "when", 4, "the end of the statement");
    while (!family_word_is(r, 0, lists[i].word))
        i++;
    struct image_texts *list = list_of(image, &lists[i]);
    if (lists[i].group && !r->fragment && !(image->own & 1u << i)) {
        image->own |= 1u << i;
        list->n = 0;
    }
    return add_texts(r, list, 1, r->nwords);
}

bool
family_run_detect(struct family_reader *r, struct expr *when)
{
    struct family_image *image = r->family->image;
    (void)when;
    return FAMILY_ADD(r, image->detect, (struct image_texts){ NULL, 0 })
        && add_texts(r, &image->detect.at[image->detect.n - 1], 1, r->nwords);
}

bool
family_run_prefix(struct family_reader *r, struct expr *when)
{
    struct family_image *image = r->family->image;
    const struct family_prefix prefix = { .all = family_word_is(r, 1, "all") && r->nwords > 2 };
    (void)when;
    return FAMILY_ADD(r, image->prefixes, prefix)
        && add_texts(r, &image->prefixes.at[image->prefixes.n - 1].words, 1 + prefix.all, r->nwords);
}

static bool
is_block_type(enum dtype *type, const char *name)
{
    for (*type = DTYPE_SCALARS; *type < DTYPE_FORKS; ++*type)
        if (strcmp(dtype_name(*type), name) == 0)
            return true;
    return false;
}

/* Reads MIX:TYPE as the last element of the list. */
static bool
take_type(struct family_reader *r, size_t word)
{
    struct image_blocks *blocks = &r->family->image->rules.blocks.at[r->family->image->rules.blocks.n - 1];
    const struct family_word *w = &r->word[word];
    const char *colon = memchr(w->p, ':', w->n);
    size_t n = 0;
    const char *type = NULL;
    if (colon) {
        n = (size_t)(colon - w->p);
        type = family_copy(r, colon + 1, w->n - n - 1);
    }
    blocks->mix = family_copy(r, w->p, n);
    if (!blocks->mix || (colon && !type))
        return false;
    if (!type || !is_block_type(&blocks->type, type) || !image_mix_offers(blocks->mix))
        return family_expected(r, w->p, w->n, "SCHEME:TYPE, such as q4_k_m:Q5_K");
    return true;
}

bool
family_run_blocks(struct family_reader *r, struct expr *when)
{
    struct family_image *image = r->family->image;
    size_t equals = 1;
    (void)when;
    while (equals < r->nwords && !family_word_is(r, equals, "="))
        equals++;
    if (equals == 1 || equals + 1 >= r->nwords)
        return family_expected(r, r->word[1].p, r->word[1].n, "TEXT ... = SCHEME:TYPE ...");
    for (size_t i = equals + 1; i < r->nwords; i++)
        if (!FAMILY_ADD(r, image->rules.blocks, (struct image_blocks){ .mix = NULL }) || !take_type(r, i)
                || !add_texts(r, &image->rules.blocks.at[image->rules.blocks.n - 1].in, 1, equals))
            return false;
    return true;
}

bool
family_run_number(struct family_reader *r, struct expr *when)
{
    const struct family_word *w = &r->word[1];
    uint64_t *n;
    if (family_word_is(r, 0, "order"))
        n = &r->family->image->order;
    else
        n = &r->family->image->row;
    (void)when;
    *n = 0;
    for (size_t i = 0; i < w->n; i++) {
        if (w->p[i] < '0' || w->p[i] > '9' || *n > INT32_MAX / 10)
            return family_expected(r, w->p, w->n, "a number");
        *n = *n * 10 + (uint64_t)(w->p[i] - '0');
    }
    return true;
}
