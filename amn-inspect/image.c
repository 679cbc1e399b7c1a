#include "image.h"

/* Returns the loaders of the GGUF file that amn-convert makes: stable-diffusion.cpp does not know tensors in other rows. */
static const char *const *
loaders_of(const struct image_model *model)
{
    static const char *const all[] = { "ComfyUI-GGUF", "stable-diffusion.cpp", "diffusers", NULL };
    static const char *const reshaped[] = { "ComfyUI-GGUF", NULL };
    if (!model->family)
        return all + 3;
    if (model->family->image->row != 0)
        return reshaped;
    return all;
}

static void
count_others(struct image_description *d, const struct catalog *catalog)
{
    for (size_t i = 0; d->model.family && i < catalog_count(catalog); i++) {
        const struct tensor *t = catalog_at(catalog, i);
        uint64_t nbytes = 0;
        bool whole;
        if (image_owns(&d->model, t))
            continue;
        shape_nbytes(&t->shape, t->dtype, &nbytes, &whole);
        d->shown.nleft++;
        d->shown.nbytes_left += nbytes;
    }
}

bool
image_describe(struct image_description *d, const struct catalog *catalog, struct err *err)
{
    const struct image_options how = { .given = NULL };
    *d = (struct image_description){ .found = false };
    err_init(&d->refusal);
    bool ok = image_open(&d->model, catalog, NULL, &how, &d->refusal);
    if (!ok && d->refusal.kind != ERR_UNSUPPORTED && d->refusal.kind != ERR_MALFORMED) {
        *err = d->refusal;
        return false;
    }
    count_others(d, catalog);
    d->found = !ok || d->model.family;
    if (d->model.family)
        d->shown.family = d->model.family->name;
    else
        d->shown.family = NULL;
    if (ok)
        d->shown.refusal = NULL;
    else
        d->shown.refusal = d->refusal.text;
    d->shown.loaders = loaders_of(&d->model);
    return true;
}
