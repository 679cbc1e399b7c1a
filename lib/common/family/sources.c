#include "family/sources_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "dtype/bfloat16.h"
#include "dtype/half.h"

/* --- names */

enum { RENAMES_MAX = 256 };

/* Rewrites a name in *in to *out. Returns false if nothing changes. */
static bool
rename_one(struct str *out, const struct str *in, const struct family_rename *r)
{
    size_t n = strlen(r->from), done = 0;
    const char *p = in->p, *end = p + in->len;
    bool changed = false;
    out->len = 0;
    if (n == 0 || n > in->len)
        return false;
    for (const char *found; (found = memmem(p + done, in->len - done, r->from, n)) != NULL; changed = true) {
        if (r->end)
            found = end - n;
        if ((r->start && found != p) || memcmp(found, r->from, n) != 0)
            break;
        str_add(out, p + done, (size_t)(found - p) - done);
        str_text(out, r->to);
        done = (size_t)(found - p) + n;
        if (r->start || r->end) {
            changed = true;
            break;
        }
    }
    if (changed)
        str_add(out, p + done, in->len - done);
    return changed;
}

static bool
rename_source(const struct family_sources *s, struct family_source *e, struct str *a, struct str *b, struct err *err)
{
    bool changed = false;
    a->len = 0;
    str_add(a, e->name, e->name_len);
    for (size_t i = 0; s->family && i < s->family->renames.n && !a->failed && !b->failed; i++)
        if (rename_one(b, a, &s->family->renames.at[i])) {
            const struct str was = *a;
            *a = *b;
            *b = was;
            changed = true;
        }
    if (a->full || b->full)
        return err_set(err, ERR_LIMIT, "%s: a renamed tensor has a name longer than %d bytes", s->family->name,
            META_KEY_MAX);
    if (a->failed || b->failed)
        return err_memory(err, e->name_len);
    if (!changed)
        return true;
    char *name = catalog_alloc(s->model->catalog, a->len + 1, err);
    if (!name)
        return false;
    memcpy(name, a->p, a->len);
    name[a->len] = '\0';
    e->t.name = name;
    e->t.name_len = (uint32_t)a->len;
    return true;
}

static const char *
sources_name_of(const void *of, uint32_t number, size_t *n)
{
    const struct family_sources *s = of;
    *n = s->list[number].t.name_len;
    return s->list[number].t.name;
}

static int
sources_compare(const void *pa, const void *pb)
{
    const struct family_source *a = pa, *b = pb;
    uint32_t fa = a->t.extent.file, fb = b->t.extent.file;
    if (fa != fb)
        return (fa > fb) - (fa < fb);
    return str_compare(a->name, a->name_len, b->name, b->name_len);
}

/* Renames and indexes the list, which is sorted first unless `sorted`. */
static bool
sources_settle(struct family_sources *s, bool sorted, struct err *err)
{
    struct str a = { .max = META_KEY_MAX }, b = { .max = META_KEY_MAX };
    bool ok = !s->family || s->family->renames.n <= RENAMES_MAX || err_set(err, ERR_LIMIT, "%s: more than %d "
        "renames", s->family->name, RENAMES_MAX);
    if (s->n != 0 && !sorted)
        qsort(s->list, s->n, sizeof *s->list, sources_compare);
    ok = ok && table_reserve(&s->names, s->n, err);
    for (size_t i = 0; ok && i < s->n; i++) {
        uint32_t number = (uint32_t)i;
        bool again;
        ok = rename_source(s, &s->list[i], &a, &b, err)
            && table_add(&s->names, sources_name_of, s, s->list[i].t.name, s->list[i].t.name_len, &number, &again, err);
    }
    str_clear(&a);
    str_clear(&b);
    return ok;
}

/* Makes a list of tensors, of a choice or of the catalog. */
static bool
sources_make(struct family_sources **out, const struct model_family *family, struct scope *gguf, const struct choice *choice,
    bool sorted, struct model *model, struct err *err)
{
    struct family_sources *s = calloc(1, sizeof *s);
    size_t n = choice ? choice->n : catalog_count(model->catalog);
    *out = s;
    if (!s)
        return err_memory(err, sizeof *s);
    *s = (struct family_sources){ .family = family, .model = model, .list = calloc(n + 1, sizeof *s->list) };
    bool ok = s->list || err_memory(err, (n + 1) * sizeof *s->list);
    for (; ok && s->n < n; s->n++) {
        struct family_source *e = &s->list[s->n];
        const struct tensor *t = NULL;
        if (!choice)
            t = catalog_at(model->catalog, s->n);
        e->chosen = choice ? choice->list[s->n] : (struct chosen){ .copy = t, .dtype = t->dtype };
        e->t = chosen_source(&e->chosen);
        e->name = e->t.name;
        e->name_len = e->t.name_len;
    }
    if (ok && (!gguf || sources_alias(s, gguf, err)) && sources_settle(s, sorted, err))
        return true;
    family_sources_free(s);
    *out = NULL;
    return false;
}

bool
family_sources_of_choice(struct family_sources **s, const struct model_family *family, const struct choice *choice,
    struct model *model, struct err *err)
{
    return sources_make(s, family, NULL, choice, false, model, err);
}

bool
family_sources_in_order(struct family_sources **s, const struct model_family *family, const struct choice *choice,
    struct model *model, struct err *err)
{
    return sources_make(s, family, NULL, choice, true, model, err);
}

bool
family_sources_of_catalog(struct family_sources **s, const struct model_family *family, struct model *model, struct err *err)
{
    return sources_make(s, family, NULL, NULL, false, model, err);
}

bool
family_sources_of_gguf(struct family_sources **s, struct scope *scope, const struct choice *choice, struct model *model,
    struct err *err)
{
    return sources_make(s, NULL, scope, choice, false, model, err);
}

void
family_sources_free(struct family_sources *s)
{
    if (!s)
        return;
    table_clear(&s->names);
    free(s->list);
    free(s);
}

size_t
family_sources_count(const struct family_sources *s)
{
    return s->n;
}

const struct family_source *
family_sources_at(const struct family_sources *s, size_t i)
{
    return &s->list[i];
}

const struct family_source *
family_sources_find(const struct family_sources *s, const char *name, size_t n)
{
    uint32_t number;
    if (table_find(&s->names, sources_name_of, s, name, n, &number))
        return &s->list[number];
    return NULL;
}

/* --- values */

bool
family_sources_read(struct family_sources *s, const struct tensor *t, uint64_t first, double *x, size_t n,
    struct err *err)
{
    enum { STEP = 4096, LARGEST = 8 };
    uint8_t buf[STEP];
    char name[STR_SHOWN];
    size_t size = dtype_facts(t->dtype)->bytes;
    const struct family_source *e = family_sources_find(s, t->name, t->name_len);
    const struct tensor *stored = t;
    if (e && e->chosen.copy)
        stored = e->chosen.copy;
    if (!dtype_is_float(stored->dtype) || (e && !e->chosen.copy))
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: its values are needed, but it is not stored as floats",
            str_shown(name, t->name, t->name_len));
    if (!model_spool(s->model, err))
        return false;
    size = dtype_facts(stored->dtype)->bytes;
    first += e ? e->first : 0;
    for (size_t done = 0, some; done < n; done += some) {
        some = num_min(n - done, STEP / LARGEST);
        if (!model_bytes(s->model, stored, (first + done) * size, buf, some * size, err))
            return false;
        if (stored->big_endian)
            bytes_swap(buf, size, some);
        for (size_t i = 0; i < some; i++)
            x[done + i] = dtype_number(stored->dtype, buf + i * size);
    }
    return true;
}

static const struct tensor *
find_tensor(void *of, const char *name, size_t n)
{
    const struct family_source *e = family_sources_find(of, name, n);
    if (e)
        return &e->t;
    return NULL;
}

static void
each_tensor(void *of, bool (*see)(void *see_of, const char *name, size_t n), void *see_of)
{
    const struct family_sources *s = of;
    for (size_t i = 0; i < s->n; i++)
        if (!see(see_of, s->list[i].t.name, s->list[i].t.name_len))
            return;
}

static bool
sources_read_tensor(void *of, const struct tensor *t, double *x, size_t n, struct err *err)
{
    return family_sources_read(of, t, 0, x, n, err);
}

static bool
sources_read_integers(void *of, const struct tensor *t, int64_t *x, size_t n, struct err *err)
{
    struct family_sources *s = of;
    return model_spool(s->model, err) && model_bytes(s->model, t, 0, (uint8_t *)x, n * sizeof *x, err);
}

struct scope_tensors
family_sources_scope(struct family_sources *s)
{
    return (struct scope_tensors){ s, find_tensor, each_tensor, sources_read_tensor, sources_read_integers };
}

/* --- names that no family converts */

bool
family_sources_drops(const char *name, size_t n, bool *media)
{
    static const char *const buffers[] = { ".attention.masked_bias", ".attention.bias", ".rotary_emb.inv_freq" };
    static const char *const starts[] = { "mlp", "vit.", "vpm.", "siglip2.", "conformer.", "merger.", "resampler.",
        "sound_encoder.", "sound_projection.", "speech_embeddings." };
    static const char *const anywhere[] = { "visual.", "vision.", "audio.", "talker.", "vision_", "audio_", "token2wav.",
        "code2wav.", "projector.", "pre_mm_projector_norm", "image_newline", "view_seperator", "patch_embed", "patch_merger.",
        "patch_merge_mlp.", "model.connector." };
    *media = false;
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (str_strip(name, &(size_t){ n }, buffers[i]))
            return true;
    for (size_t i = 0; i < sizeof starts / sizeof *starts && !*media; i++)
        *media = str_prefixed(name, n, starts[i]);
    for (size_t i = 0; i < sizeof anywhere / sizeof *anywhere && !*media; i++)
        *media = memmem(name, n, anywhere[i], strlen(anywhere[i])) != NULL;
    return *media;
}
