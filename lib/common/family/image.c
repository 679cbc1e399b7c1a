/* Finds the family of an image model. */
#include "family/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/table.h"
#include "family/builtin.h"

enum { FAMILIES = 64 };         /* built-in families of images */

/* The names of a file. */
struct image_names {
    const struct choice *choice;        /* its tensors, or NULL: those of the catalog */
    const struct catalog *catalog;
    size_t n;
    struct table table;                 /* of the choice; the catalog has its own */
};

static struct tensor
tensor_at(const struct image_names *names, size_t i)
{
    if (names->choice)
        return chosen_source(&names->choice->list[i]);
    return *catalog_at(names->catalog, i);
}

static const char *
name_of(const void *of, uint32_t number, size_t *n)
{
    const struct tensor t = tensor_at(of, number);
    *n = t.name_len;
    return t.name;
}

static bool
index_names(struct image_names *names, struct err *err)
{
    bool ok = !names->choice || table_reserve(&names->table, names->n, err), again;
    for (size_t i = 0; ok && names->choice && i < names->n; i++) {
        const struct tensor t = tensor_at(names, i);
        uint32_t number = (uint32_t)i;
        ok = table_add(&names->table, name_of, names, t.name, t.name_len, &number, &again, err);
    }
    return ok;
}

/* Returns the prefix that decides, or NULL. */
static const struct family_prefix *
prefix_of(const struct image_names *names, const struct family_image *image)
{
    for (size_t k = 0; k < image->prefixes.n; k++) {
        const struct family_prefix *prefix = &image->prefixes.at[k];
        size_t found = 0;
        for (size_t i = 0; i < names->n; i++) {
            const struct tensor t = tensor_at(names, i);
            found += str_prefixed(t.name, t.name_len, prefix->words.at[0]);
        }
        if (prefix->all ? found == names->n && found != 0 : found != 0)
            return prefix;
    }
    return NULL;
}

static bool
image_has_name(const struct image_names *names, const char *name, size_t n)
{
    uint32_t number;
    if (names->choice)
        return table_find(&names->table, name_of, names, name, n, &number);
    return catalog_find(names->catalog, name, n) != NULL;
}

/* Returns true if the file has a name, behind the prefix if there is one, with as many of its words as the name has. */
static bool
has_name(const struct image_names *names, const struct family_prefix *prefix, const char *name)
{
    struct str full = { 0 };
    size_t words = 0;
    if (prefix)
        words = prefix->words.n;
    bool found = !prefix && image_has_name(names, name, strlen(name));
    for (size_t i = 0; i < words && !found; i++) {
        full.len = 0;
        str_format(&full, "%s%s", prefix->words.at[i], name);
        found = !full.failed && image_has_name(names, full.p, full.len);
    }
    str_clear(&full);
    return found;
}

/* Counts the names of the alternative that has most of them, and sets *missing to its first that the file lacks, or NULL. */
static size_t
best_match(const char **missing, const struct image_names *names, const struct family_prefix *prefix, const struct family_image *image)
{
    size_t best = 0;
    *missing = image->detect.at[0].at[0];
    for (size_t i = 0; i < image->detect.n && *missing; i++) {
        const struct image_texts *all = &image->detect.at[i];
        const char *first = NULL;
        size_t n = 0;
        for (size_t k = 0; k < all->n; k++) {
            bool has = has_name(names, prefix, all->at[k]);
            n += has;
            first = first || has ? first : all->at[k];
        }
        if (n > best || !first)
            *missing = first;
        if (n > best)
            best = n;
    }
    return best;
}

/* Fails if the file has a name that only the files of diffusers have. */
static bool
check_diffusers(const struct image_names *names, const struct family_prefix *prefix, const struct model_family *family, struct err *err)
{
    const struct image_texts *refused = &family->image->diffusers;
    for (size_t i = 0; i < refused->n; i++)
        if (has_name(names, prefix, refused->at[i]))
            return err_set(err, ERR_UNSUPPORTED, "this is %s with the names of diffusers, whose q, k and v are separate (%s): give the "
                "single file of the model, as its authors publish it for ComfyUI", family->arch, refused->at[i]);
    return true;
}

/* Returns the first tensor whose name shows an image model, if any. */
static bool
find_hint(struct tensor *hint, const struct image_names *names, const struct family_image *image)
{
    for (size_t i = 0; i < names->n; i++) {
        *hint = tensor_at(names, i);
        if (image_has(&image->hint, hint))
            return true;
    }
    return false;
}

/* --- built-in families */

static int
compare_orders(const void *pa, const void *pb)
{
    const struct model_family *const *a = pa, *const *b = pb;
    uint64_t x = (*a)->image->order, y = (*b)->image->order;
    return (x > y) - (x < y);
}

/* Reads the built-in families of images, in their order; `arch` not NULL: those of this architecture. */
static bool
read_families(struct model_family *all[FAMILIES], size_t *n, const struct meta_value *arch, struct err *err)
{
    const char *name, *p = NULL;
    size_t length = 0;
    if (arch)
        p = meta_bytes(arch, &length);
    *n = 0;
    for (size_t i = 0; (name = family_name_at(i)) != NULL && *n < FAMILIES; i++) {
        bool fits = family_builtin_kind(name) == FAMILY_IMAGE && (!p || family_declares(family_builtin_text(name)->text, "arch", p, length));
        if (fits && !family_builtin(&all[*n], name, err))
            return false;
        *n += fits;
    }
    qsort(all, *n, sizeof *all, compare_orders);
    return true;
}

/* Fails for an image model that no family knows, naming the nearest. */
static bool
refuse_unknown(struct model_family *const *all, size_t n, const struct image_names *names, const struct tensor *hint, struct err *err)
{
    const char *missing, *least = NULL;
    const struct model_family *nearest = NULL;
    const struct family_prefix *prefix = prefix_of(names, all[0]->image);
    size_t most = 0;
    char shown[STR_SHOWN];
    for (size_t i = 0; i < n; i++) {
        size_t has = best_match(&missing, names, prefix, all[i]->image);
        if (has > most) {
            most = has;
            nearest = all[i];
            least = missing;
        }
    }
    str_shown(shown, hint->name, hint->name_len);
    if (!nearest)
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: an image model that no family knows; write one (amn-family(5), kind image) and give "
            "it with --family FILE", shown);
    return err_set(err, ERR_UNSUPPORTED, "tensor %s: an image model that no family knows; the nearest is %s, which has a tensor %s; "
        "write a family (amn-family(5), kind image) and give it with --family FILE", shown, nearest->name, least);
}

/* Sets the family whose names the file has, as in the file or behind a prefix. */
static bool
match_names(struct image_model *image, const struct model_family **found, struct model_family *const *all, size_t n,
    const struct image_names *names, struct err *err)
{
    const char *missing;
    const struct family_prefix *prefix = prefix_of(names, all[0]->image);       /* built-in families share the fragment */
    for (size_t i = 0; i < n; i++) {
        if (prefix)
            image->prefix = &all[i]->image->prefixes.at[prefix - all[0]->image->prefixes.at];
        else
            image->prefix = NULL;
        if (!check_diffusers(names, image->prefix, all[i], err))
            return false;
        best_match(&missing, names, image->prefix, all[i]->image);
        if (!missing) {
            *found = all[i];
            return true;
        }
    }
    image->prefix = NULL;
    return true;
}

/* Returns the architecture that a file declares, or NULL; also for files marked `pig` and `cow`, which hold any image model. */
static const struct meta_value *
declared_arch(const struct catalog *catalog)
{
    const struct meta *m = catalog_meta_find(catalog, "general.architecture");
    size_t n = 0;
    const char *p = NULL;
    if (m && m->value.type == META_STRING)
        p = meta_bytes(&m->value, &n);
    if (!p || str_is(p, n, "pig") || str_is(p, n, "cow"))
        return NULL;
    return &m->value;
}

/* Fails if the file has only tensors of an adapter. */
static bool
check_adapter(const struct image_names *names, const struct family_image *image, struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < names->n; i++) {
        const struct tensor t = tensor_at(names, i);
        n += image_has(&image->adapter, &t);
    }
    return n != names->n || n == 0 || err_set(err, ERR_UNSUPPORTED, "this is an adapter, not a model: give the model, and this file with "
        "--adapter FILE");
}

/* Fails if the file has a tensor of the model twice, behind the prefix and without it. */
static bool
check_twice(const struct image_names *names, const struct family_prefix *prefix, struct err *err)
{
    char shown[STR_SHOWN];
    for (size_t i = 0; prefix && i < names->n; i++) {
        const struct tensor t = tensor_at(names, i);
        if (!str_prefixed(t.name, t.name_len, prefix->words.at[0]) && has_name(names, prefix, t.name))
            return err_set(err, ERR_MALFORMED, "tensor %s: the file has it with the prefix %s, too", str_shown(shown, t.name, t.name_len),
                prefix->words.at[0]);
    }
    return true;
}

static bool
image_find(struct image_model *image, const struct model_family **found, struct model_family *const *all, size_t n,
    const struct image_names *names, struct err *err)
{
    struct tensor hint;
    if (n == 0 || !match_names(image, found, all, n, names, err))
        return n == 0;
    if (*found || !names->choice)
        return true;
    return check_adapter(names, all[0]->image, err) && (!find_hint(&hint, names, all[0]->image)
        || (check_twice(names, prefix_of(names, all[0]->image), err) && refuse_unknown(all, n, names, &hint, err)));
}

/* Takes the family that the user gave. */
static bool
take_given(struct image_model *image, const struct image_options *how, const struct image_names *names, struct err *err)
{
    const struct model_family *given = how->given;
    const char *missing;
    image->prefix = prefix_of(names, given->image);
    best_match(&missing, names, image->prefix, given->image);
    image->family = given;
    image->foreign = how->foreign;
    return !missing || err_set(err, ERR_MALFORMED, "--family %s: the model lacks tensor %s", given->name, missing);
}

bool
image_open(struct image_model *image, const struct catalog *catalog, const struct choice *choice, const struct image_options *how,
    struct err *err)
{
    struct model_family *all[FAMILIES];
    struct image_names names = { .choice = choice, .catalog = catalog, .n = choice ? choice->n : catalog_count(catalog) };
    const struct meta_value *arch = declared_arch(catalog);
    const struct model_family *found = NULL;
    size_t n = 0;
    *image = (struct image_model){ .keys.max = catalog_limits(catalog)->alloc };
    bool ok = index_names(&names, err);
    if (ok && how->given)
        ok = take_given(image, how, &names, err);
    else if (ok)
        ok = read_families(all, &n, arch, err) && (arch || image_find(image, &found, all, n, &names, err));
    if (arch && n != 0)
        found = all[0];
    ok = ok && check_twice(&names, image->prefix, err);
    for (size_t i = 0; i < n; i++)
        if (all[i] == found)
            image->family = image->own = all[i];
        else
            family_free(all[i]);
    table_clear(&names.table);
    return ok;
}

void
image_clear(struct image_model *image)
{
    keys_clear(&image->keys);
    family_free(image->own);
    *image = (struct image_model){ .family = NULL };
}
