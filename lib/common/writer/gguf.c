/* Layout: container/gguf/gguf.c. Rules: src/gguf.cpp of ggml, which is stricter than the reader here: data in the order of
 * the infos, every tensor, including the last, padded to 32 bytes or general.alignment, names of at most 63 bytes, at most 4
 * dimensions. */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/num.h"
#include "writer/put.h"
#include "writer/writer.h"

enum { VERSION = 3, ALIGNMENT = 32 };

/* What a reader accepts. Source: ggml.h; for image models, the builds of ComfyUI-GGUF and stable-diffusion.cpp. */
struct gguf_limits {
    uint32_t name;              /* bytes */
    uint32_t rank;
};

static const struct gguf_limits limits_of_ggml = { .name = 63, .rank = 4 }, limits_of_images = { .name = 127, .rank = 5 };

/* --- numbers and keys, little-endian */

static void
put_value(struct str *out, const struct meta_value *v)
{
    switch (v->type) {
    case META_STRING:
        put_counted(out, v->as.s.p, v->as.s.n);
        break;
    case META_ARRAY: {
        struct meta_iter it = meta_first(&v->as.a);
        struct meta_value item;
        put(out, v->as.a.type, 4);
        put(out, v->as.a.count, 8);
        while (!out->failed && meta_next(&it, &item))
            put_value(out, &item);
        break;
    }
    case META_F32: case META_F64:
        put(out, meta_float_bits(v), meta_type_size(v->type));
        break;
    default:        /* a signed number has the same bits as the unsigned one */
        put(out, v->as.u, meta_type_size(v->type));
    }
}

/* Appends the number of keys, including `more` that the caller appends, and the keys. */
static bool
put_keys(struct str *out, const struct keys *keys, size_t more, struct err *err)
{
    put(out, (keys ? keys->n : 0) + more, 8);
    for (size_t i = 0; keys && i < keys->n && !out->failed; i++) {
        const struct meta *m = &keys->list[i];
        char shown[STR_SHOWN];
        if (m->key_len == 0 || m->key_len > META_KEY_MAX || memchr(m->key, '\0', m->key_len))
            return err_set(err, ERR_UNSUPPORTED, "key '%s': GGUF keys have 1 to %d bytes, none of them NUL",
                str_shown(shown, m->key, m->key_len), META_KEY_MAX);
        put_counted(out, m->key, m->key_len);
        put(out, m->value.type, 4);
        put_value(out, &m->value);
    }
    return true;
}

/* Appends the keys of each file of a split model, as gguf-split does. */
static void
put_split(struct str *out, const struct writer_split *split)
{
    static const char no[] = "split.no", count[] = "split.count", tensors[] = "split.tensors.count";
    put_counted(out, no, sizeof no - 1);
    put(out, META_U16, 4);
    put(out, split->no, 2);
    put_counted(out, count, sizeof count - 1);
    put(out, META_U16, 4);
    put(out, split->count, 2);
    put_counted(out, tensors, sizeof tensors - 1);
    put(out, META_I32, 4);
    put(out, split->tensors, 4);
}

/* Returns the alignment. The key was checked when it was set. */
static uint64_t
alignment_of(const struct keys *keys)
{
    const struct meta_value *v = NULL;
    if (keys)
        v = keys_find(keys, "general.alignment");
    if (v && v->type == META_U32)
        return v->as.u;
    return ALIGNMENT;
}

/* --- tensors */

/* Computes the size of a tensor, if the format can store it. */
static bool
gguf_measure(const struct tensor *t, uint64_t *nbytes, const struct gguf_limits *limits, struct err *err)
{
    char name[STR_SHOWN];
    bool whole = true;
    str_shown(name, t->name, t->name_len);
    if (t->name_len > limits->name)
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: name exceeds GGUF's limit of %" PRIu32 " bytes", name, limits->name);
    if (t->shape.rank > limits->rank)
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: %" PRIu32 " dimensions exceed GGUF's limit of %" PRIu32, name, t->shape.rank,
            limits->rank);
    if (dtype_facts(t->dtype)->ggml == DTYPE_NO_GGML)
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: GGUF has no type for %s", name, dtype_name(t->dtype));
    return (shape_nbytes(&t->shape, t->dtype, nbytes, &whole) && whole) || err_set(err, ERR_LIMIT,
        "tensor %s: size overflows 64 bits", name);
}

/* Appends the info of a tensor whose data begins at *at, counted from the first data byte, and advances *at to the next one. */
static bool
put_tensor(struct str *out, const struct chosen *chosen, const struct gguf_limits *limits, uint64_t alignment, uint64_t *at,
    struct err *err)
{
    const struct tensor t = chosen_tensor(chosen);
    uint32_t rank = t.shape.rank;
    uint64_t nbytes;
    if (!gguf_measure(&t, &nbytes, limits, err))
        return false;
    put_counted(out, t.name, t.name_len);
    put(out, rank ? rank : 1, 4);
    if (rank == 0)
        put(out, 1, 8);
    while (rank-- > 0)
        put(out, shape_dim(&t.shape, rank), 8);
    put(out, (uint64_t)dtype_facts(t.dtype)->ggml, 4);
    put(out, *at, 8);
    return (num_add(at, *at, nbytes) && num_align(at, *at, alignment))
        || err_set(err, ERR_LIMIT, "size of the output overflows 64 bits");
}

static bool
add_header(struct str *out, const struct choice *choice, const struct keys *keys, const struct writer_split *split,
    struct err *err)
{
    enum { SPLIT_KEYS = 3 };
    const struct gguf_limits *limits = &limits_of_ggml;
    if (choice->model.image)
        limits = &limits_of_images;
    uint64_t at = 0;
    out->max = catalog_limits(choice->input)->alloc;
    str_text(out, "GGUF");
    put(out, VERSION, 4);
    put(out, choice->n, 8);
    if (!put_keys(out, keys, split ? SPLIT_KEYS : 0, err))
        return false;
    if (split)
        put_split(out, split);
    for (size_t i = 0; i < choice->n; i++)
        if (!put_tensor(out, &choice->list[i], limits, alignment_of(keys), &at, err))
            return false;
    if (out->full)
        return err_set(err, ERR_LIMIT, "GGUF header of the output exceeds the limit of %zu bytes (%s)", out->max,
            limits_origin(out->max, limits_default.alloc, "--max-alloc"));
    return !out->failed || err_memory(err, out->len);
}

/* Appends zeros up to the next multiple of the alignment. */
static bool
pad(struct pieces *pieces, uint64_t alignment, struct err *err)
{
    return pieces_zero(pieces, -pieces_nbytes(pieces) % alignment, err);
}

static bool
gguf_lay_out(struct pieces *pieces, struct choice *choice, const struct writer_options *options, struct err *err)
{
    struct str header = { 0 };
    if (options->order != WRITER_ORDER_INPUT)
        return err_set(err, ERR_USAGE, "--order name is not supported for GGUF, which keeps the order of the "
            "input");
    const struct keys *keys = NULL;
    if (!options->split || options->split->no == 0)
        keys = options->keys;
    uint64_t alignment = alignment_of(keys);
    bool ok = add_header(&header, choice, keys, options->split, err) && pieces_text(pieces, &header, err)
        && (choice->n == 0 || pad(pieces, alignment, err));
    for (size_t i = 0; ok && i < choice->n; i++)
        ok = pieces_chosen(pieces, &choice->list[i], err) && pad(pieces, alignment, err);
    str_clear(&header);
    return ok;
}

const struct writer writer_gguf = { .name = "GGUF", .align = ALIGNMENT, .keeps = KEEPS_BLOCKS, .keys = KEYS_TYPED,
    .lay_out = gguf_lay_out };
