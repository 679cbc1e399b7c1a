/* The tensors and keys of an image model in GGUF. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "catalog/layout.h"
#include "dtype/half.h"
#include "family/builtin.h"
#include "family/compose.h"
#include "family/image.h"
#include "writer/stale.h"

enum {
    RANK = 5,                   /* dimensions that the loaders read */
    NAME = 127,                 /* bytes of a name that stable-diffusion.cpp and the patched llama-quantize read */
    SHORT_NAME = 63,            /* and ggml as it is */
    SMALL = 1024,               /* elements of a tensor that stays F32 */
    ROW_LEAST = 512,            /* elements of a tensor that is written in rows of another length */
    NUMBERS = 1 << 20           /* elements of a tensor of integers */
};

/* --- the input */

static bool
is_gguf(const struct catalog *catalog)
{
    const char *format = catalog_facts_of(catalog)->format;
    return format && strcmp(format, "GGUF") == 0;
}

/* Returns the type that a tensor counts as: BF16 for a dequantized weight, but not for plain 8-bit floats. */
static enum dtype
stored_type(const struct chosen *c)
{
    const struct weight *w = c->decode;
    if (!w)
        return c->copy->dtype;
    bool plain = dtype_is_float8(w->part[0]->dtype);
    for (size_t i = 1; i < SCHEME_PARTS; i++)
        plain = plain && !w->part[i];
    if (plain)
        return DTYPE_F16;
    return DTYPE_BF16;
}

/* --- names */

/* Removes the words of the prefix. */
static void
strip(struct chosen *c, const struct tensor *t, const struct family_prefix *prefix)
{
    size_t at = 0;
    for (size_t i = 0; i < prefix->words.n; i++) {
        /* a later word contains the earlier ones */
        size_t n = strlen(prefix->words.at[i]);
        if (t->name_len > n && str_prefixed(t->name, n, prefix->words.at[i]))
            at = n;
    }
    c->name = t->name + at;
    c->name_len = t->name_len - (uint32_t)at;
}

static bool
image_begins(const struct tensor *t, const struct image_texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        if (t->name_len > strlen(texts->at[i]) && str_prefixed(t->name, t->name_len, texts->at[i]))
            return true;
    return false;
}

bool
image_owns(const struct image_model *image, const struct tensor *t)
{
    const struct image_texts *all = NULL;
    if (image->prefix)
        all = &image->prefix->words;
    const struct image_texts first = { all ? all->at : NULL, 1 };
    return (!all || image_begins(t, &first)) && !image_begins(t, &image->family->image->leave);
}

/* Orders tensors as the safetensors library stores them. */
static int
compare_stored(const void *pa, const void *pb)
{
    const struct tensor a = chosen_source(pa), b = chosen_source(pb);
    enum dtype x = stored_type(pa), y = stored_type(pb);
    if (x != y)
        return (x < y) - (x > y);
    return str_compare(a.name, a.name_len, b.name, b.name_len);
}

/* Puts the tensors of a quantized safetensors model in the order of the file that it was before: the first tensors of some kinds
 * get another type, and the library orders tensors by type. */
static void
order_dequantized(struct choice *choice, const struct catalog *catalog)
{
    const char *format = catalog_facts_of(catalog)->format;
    bool dequantized = false;
    for (size_t i = 0; i < choice->n; i++) {
        const struct chosen *c = &choice->list[i];
        if (c->kept || !(c->copy || c->decode))
            return;
        dequantized = dequantized || (c->decode && stored_type(c) == DTYPE_BF16);
    }
    if (dequantized && format && strcmp(format, "safetensors") == 0)
        qsort(choice->list, choice->n, sizeof *choice->list, compare_stored);
}

/* Leaves out what the file does not get, and names the rest. */
static void
select_tensors(struct image_model *image, struct choice *choice)
{
    size_t n = 0;
    for (size_t i = 0; i < choice->n; i++) {
        struct chosen *c = &choice->list[i];
        struct tensor t = chosen_source(c);
        uint64_t nbytes = 0;
        bool whole;
        if (!image_owns(image, &t)) {
            if (image->nleft++ == 0)
                image->first_left = t;
            shape_nbytes(&t.shape, t.dtype, &nbytes, &whole);
            image->nbytes_left += nbytes;
            continue;
        }
        if (image->prefix)
            strip(c, &t, image->prefix);
        t = chosen_source(c);
        if (!image_has(&image->family->image->drop, &t))
            choice->list[n++] = *c;
    }
    choice->n = n;
}

/* --- types */

/* Returns true for a parameter that a model uses itself: loaders dequantize only within their layers. */
static bool
is_parameter(const struct tensor *t)
{
    size_t n = t->name_len;
    return t->shape.rank >= 2 && !str_strip(t->name, &n, ".weight") && !str_strip(t->name, &n, ".bias");
}

static enum dtype
base_type(const struct image_model *image, const struct chosen *c, const struct tensor *t)
{
    enum dtype stored = stored_type(c);
    uint64_t numel = 0;
    if (t->shape.rank == RANK)
        return DTYPE_F32;
    if (stored != DTYPE_F32 && stored != DTYPE_BF16)
        return DTYPE_F16;
    bool small = t->shape.rank <= 1 || (shape_numel(&t->shape, &numel) && numel <= SMALL);
    if (small || image_has(&image->family->image->f32, t) || (image->foreign && is_parameter(t)))
        return DTYPE_F32;
    if (stored == DTYPE_F32)
        return DTYPE_F16;
    return DTYPE_BF16;
}

/* Makes F16 of a tensor of integers or F64, which must hold its numbers. */
static bool
take_numbers(struct chosen *c, const struct tensor *t, struct model *model, struct err *err)
{
    uint64_t dim[LAYOUT_RANK] = { 1 }, numel = 0;
    char shown[STR_SHOWN];
    const struct chosen was = *c;
    size_t size = dtype_facts(c->copy->dtype)->bytes;
    str_shown(shown, t->name, t->name_len);
    if (!shape_numel(&t->shape, &numel) || numel > NUMBERS || numel == 0 || c->copy->sign != 0 || size == 0 || size > 8
            || dtype_facts(c->copy->dtype)->kind == DTYPE_IS_COMPLEX)
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: %s cannot be written as F16, which image models require; leave it out with --exclude",
            shown, dtype_name(c->copy->dtype));
    for (uint32_t i = 0; i < t->shape.rank; i++)
        dim[i] = shape_dim(&t->shape, i);
    uint8_t *bytes = malloc((size_t)numel * size);
    float *x = malloc((size_t)numel * sizeof *x);
    bool ok = (bytes && x) || err_memory(err, (size_t)numel * sizeof *x);
    ok = ok && model_read(model, c->copy, bytes, err);
    if (ok && c->copy->big_endian)
        bytes_swap(bytes, size, (size_t)numel);
    for (size_t i = 0; ok && i < numel; i++) {
        double v = dtype_number(c->copy->dtype, bytes + i * size);
        x[i] = (float)v;
        ok = isnan(v) || (double)half_to_float(half_of_float(x[i])) == v || err_set(err, ERR_UNSUPPORTED,
            "tensor %s: element %zu is %.17g, which F16 cannot hold", shown, i, v);
    }
    ok = ok && compose_numbers(c, t->name, x, dim, t->shape.rank != 0 ? t->shape.rank : 1, model->catalog, err);
    if (ok) {
        c->dtype = DTYPE_F16;
        c->name = was.name;
        c->name_len = was.name_len;
    }
    free(bytes);
    free(x);
    return ok;
}

/* Returns true for types that are converted without a look at the values. */
static bool
is_float(const struct chosen *c)
{
    return c->decode || (dtype_is_float(c->copy->dtype) && c->copy->dtype != DTYPE_F64);
}

/* --- shapes */

static const char shape_key[] = "comfy.gguf.orig_shape.";

/* Makes a tensor of all elements of another, with these dimensions. */
static bool
set_shape(struct chosen *c, const struct tensor *t, const uint64_t *dim, uint32_t rank, struct catalog *memory, struct err *err)
{
    struct strided all;
    uint64_t numel = 0;
    struct composed *composed = catalog_alloc(memory, sizeof *composed, err);
    struct composed_part *part = catalog_alloc(memory, sizeof *part, err);
    uint8_t *packed = catalog_alloc(memory, (size_t)rank * SHAPE_DIM + 1, err);
    shape_numel(&t->shape, &numel);
    strided_init(&all, &numel, 1);
    if (!composed || !part || !packed || !composed_part_make(part, c->copy, c->decode, &all, memory, err))
        return false;
    shape_pack(packed, dim, rank);
    *composed = (struct composed){ .shape = { rank, packed }, .part = part, .n = 1 };
    c->composed = composed;
    c->copy = NULL;
    c->decode = NULL;
    return true;
}

static bool
put_shape(struct image_model *image, const struct tensor *t, struct err *err)
{
    struct str key = { 0 }, bytes = { 0 };
    uint8_t dim[4];
    str_text(&key, shape_key);
    str_add(&key, t->name, t->name_len);
    for (uint32_t i = 0; i < t->shape.rank; i++) {
        store_le32(dim, (uint32_t)shape_dim(&t->shape, i));
        str_add(&bytes, (const char *)dim, sizeof dim);
    }
    bool ok;
    if (key.failed || bytes.failed)
        ok = err_memory(err, key.room);
    else
        ok = keys_put_array(&image->keys, NULL, key.p, META_I32, t->shape.rank, &bytes, err);
    str_clear(&key);
    str_clear(&bytes);
    return ok;
}

/* Writes a tensor in rows of `row` elements, if its own rows are not a multiple of it; or only counts it. */
static bool
reshape(struct image_model *image, struct chosen *c, const struct tensor *t, bool count, struct catalog *memory, struct err *err)
{
    uint64_t row = image->family->image->row, numel = 0;
    if (row == 0 || t->shape.rank < 2 || !shape_numel(&t->shape, &numel) || numel < ROW_LEAST || numel % row != 0
            || shape_dim(&t->shape, t->shape.rank - 1) % row == 0)
        return true;
    const uint64_t dim[] = { numel / row, row };
    image->nreshaped++;
    if (count)
        return true;
    if (!set_shape(c, t, dim, 2, memory, err))
        return false;
    return put_shape(image, t, err);
}

/* Reads the shape that a key has. */
static bool
read_shape(uint64_t dim[LAYOUT_RANK], uint32_t *rank, const struct meta *m, const struct tensor *t)
{
    uint64_t numel = 0, all = 1;
    struct meta_value value;
    *rank = 0;
    if (m->value.type != META_ARRAY || !shape_numel(&t->shape, &numel))
        return false;
    struct meta_iter it = meta_first(&m->value.as.a);
    while (meta_next(&it, &value)) {
        if (*rank == LAYOUT_RANK || !meta_as_u64(&value, &dim[*rank]) || !num_mul(&all, all, dim[*rank]))
            return false;
        (*rank)++;
    }
    return *rank != 0 && all == numel;
}

bool
image_restore(struct choice *choice, struct model *model, struct err *err)
{
    struct str key = { 0 };
    char shown[STR_SHOWN];
    bool ok = true;
    for (size_t i = 0; ok && is_gguf(model->catalog) && i < choice->n; i++) {
        struct chosen *c = &choice->list[i];
        const struct chosen stored = { .copy = c->copy, .decode = c->decode };
        if (c->composed)
            continue;
        const struct tensor t = chosen_source(&stored);
        uint64_t dim[LAYOUT_RANK];
        uint32_t rank;
        choice->restored = true;
        key.len = 0;
        str_text(&key, shape_key);
        str_add(&key, t.name, t.name_len);
        const struct meta *m = NULL;
        if (!key.failed)
            m = catalog_meta_find(model->catalog, key.p);
        if (key.failed)
            ok = err_memory(err, key.room);
        else if (m && !read_shape(dim, &rank, m, &t))
            ok = err_set(err, ERR_MALFORMED, "key %s: not a shape of the tensor", str_shown(shown, key.p, key.len));
        else if (m)
            ok = set_shape(c, &t, dim, rank, model->catalog, err);
    }
    str_clear(&key);
    return ok;
}

/* --- keys */

/* Puts the keys that do not depend on the tensors: those of a GGUF file, or those of the reference. */
static bool
put_keys(struct image_model *image, const struct catalog *catalog, struct err *err)
{
    static const char arch[] = "general.architecture";
    const struct choice unchanged = { .n = 0 };         /* only keys about the layout of the file are stale */
    const char *name = image->family->arch;
    const struct meta *config = NULL;
    if (!is_gguf(catalog))
        config = catalog_meta_find(catalog, "config");
    if (is_gguf(catalog)) {
        bool ok = true;
        for (size_t i = 0; ok && i < catalog_meta_count(catalog); i++) {
            const struct meta *m = catalog_meta_at(catalog, i);
            ok = stale_key(m, &unchanged) || keys_set(&image->keys, m->key, m->key_len, &m->value, err);
        }
        return ok && keys_put_text(&image->keys, NULL, arch, name, strlen(name), err);
    }
    return keys_put_text(&image->keys, NULL, arch, name, strlen(name), err)
        && keys_put_u32(&image->keys, NULL, "general.quantization_version", KEYS_QUANTIZATION_VERSION, err)
        && keys_put_u32(&image->keys, NULL, "general.file_type", 0, err)
        && (!config || config->value.type != META_STRING || keys_set(&image->keys, config->key, config->key_len, &config->value, err));
}

/* --- the model */

static bool
check_stored(const struct tensor *t, struct err *err)
{
    char shown[STR_SHOWN];
    if (t->name_len > NAME)
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: its name has %" PRIu32 " bytes, and loaders of image models read at most %d; "
            "shorten it with --rename", str_shown(shown, t->name, t->name_len), t->name_len, NAME);
    return t->shape.rank <= RANK || err_set(err, ERR_UNSUPPORTED, "tensor %s: %" PRIu32 " dimensions; loaders of image models read at "
        "most %d", str_shown(shown, t->name, t->name_len), t->shape.rank, RANK);
}

/* Returns true if a built-in family has the architecture: ComfyUI-GGUF reads only these. */
static bool
has_loader(const char *arch)
{
    const char *name;
    for (size_t i = 0; (name = family_name_at(i)) != NULL; i++)
        if (family_builtin_kind(name) == FAMILY_IMAGE && family_declares(family_builtin_text(name)->text, "arch", arch, strlen(arch)))
            return true;
    return false;
}

/* Warns of a text of a family from a file that no tensor has: a typing error would quantize what should be kept. */
static void
warn_of_unused(const struct image_texts *texts, const char *statement, const struct choice *choice, struct catalog *catalog)
{
    char shown[STR_SHOWN];
    for (size_t i = 0; i < texts->n; i++) {
        const struct image_texts one = { &texts->at[i], 1 };
        bool used = false;
        for (size_t k = 0; k < choice->n && !used; k++) {
            const struct tensor t = chosen_source(&choice->list[k]);
            used = image_has(&one, &t);
        }
        if (!used)
            catalog_warn(catalog, "no tensor has the text '%s' of the family's %s", str_shown(shown, texts->at[i], strlen(texts->at[i])), statement);
    }
}

static void
warn(const struct image_model *image, const struct choice *choice, const struct image_options *how, struct catalog *catalog)
{
    char shown[STR_SHOWN], size[STR_SIZE];
    size_t nlong = 0;
    struct tensor first = { 0 };
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor t = chosen_source(&choice->list[i]);
        if (t.name_len > SHORT_NAME && nlong++ == 0)
            first = t;
    }
    if (image->nleft != 0)
        catalog_warn(catalog, "left out: %zu tensor%s of other models in the file (%s; the first: %s)", image->nleft,
            str_plural(image->nleft), str_size(size, image->nbytes_left), str_shown(shown, image->first_left.name, image->first_left.name_len));
    if (image->foreign) {
        warn_of_unused(&image->family->image->rules.keep, "keep", choice, catalog);
        warn_of_unused(&image->family->image->f32, "f32", choice, catalog);
    }
    if (image->foreign && !has_loader(image->family->arch))
        catalog_warn(catalog, "ComfyUI-GGUF refuses architecture %s; it reads those of amn list families", image->family->arch);
    if (nlong != 0)
        catalog_warn(catalog, "%zu names have more than %d bytes, which llama.cpp refuses; ComfyUI-GGUF and stable-diffusion.cpp read "
            "them (the first: %s)", nlong, SHORT_NAME, str_shown(shown, first.name, first.name_len));
    if (image->nreshaped != 0 && !how->keep_shapes)
        catalog_warn(catalog, "%zu tensors are written in rows of %" PRIu64 ", which ComfyUI-GGUF reads and stable-diffusion.cpp reads with "
            "a wrong shape; --keep-shapes keeps them", image->nreshaped, image->family->image->row);
}

/* Gives one tensor its type and shape. */
static bool
take(struct image_model *image, struct chosen *c, struct model *model, const struct image_options *how, struct err *err)
{
    const struct tensor t = chosen_source(c);
    if (!check_stored(&t, err))
        return false;
    if (c->kept || !(c->copy || c->decode) || is_gguf(model->catalog))
        return true;
    if (!is_float(c))
        return take_numbers(c, &t, model, err);
    if (!how->keep_types)
        c->dtype = base_type(image, c, &t);
    return reshape(image, c, &t, how->keep_shapes, model->catalog, err);
}

bool
image_choose(struct image_model *image, struct model *model, struct choice *choice, const struct image_options *how, struct err *err)
{
    size_t nbf16 = 0, n = 0;
    bool kept = false, ok = true;
    if (!image->family)
        return true;
    select_tensors(image, choice);
    order_dequantized(choice, model->catalog);
    if (!choice_distinct_or(choice, ERR_MALFORMED, "names of the file differ only in their prefix", err)
            || !put_keys(image, model->catalog, err))
        return false;
    for (size_t i = 0; i < choice->n; i++) {
        const struct chosen *c = &choice->list[i];
        enum dtype stored = c->copy || c->decode ? stored_type(c) : DTYPE_F16;
        nbf16 += stored == DTYPE_BF16;
        n += !is_gguf(model->catalog) || stored != DTYPE_F32;       /* a GGUF file has its small tensors as F32 */
        kept = kept || c->kept;
    }
    for (size_t i = 0; ok && i < choice->n; i++)
        ok = take(image, &choice->list[i], model, how, err);
    choice->model = (struct mix_model){ .image = &image->family->image->rules, .arch = image->family->arch, .n = strlen(image->family->arch) };
    if (!kept && !how->keep_types)
        choice->matrices = 2 * nbf16 >= n ? DTYPE_BF16 : DTYPE_F16;
    if (ok)
        warn(image, choice, how, model->catalog);
    return ok;
}
