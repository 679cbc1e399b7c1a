/* Warnings about weights that are not quantized as the user asked. */
#include <inttypes.h>
#include <string.h>

#include "plan/reduction_priv.h"

/* Warns once about types that llama-quantize refuses to write without importance. */
static void
warn_of_few_bits(const struct reduction *r, const struct reduction_one *list, size_t n, struct catalog *memory)
{
    const struct reduction_one *first = NULL;
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
reduction_type_of(const struct reduction_one *one)
{
    if (one->chosen->encoding)
        return one->chosen->encoding->encoder->label;
    return dtype_name(one->chosen->dtype);
}

/* Returns true if two weights do not fit for the same reason, with the same result. */
static bool
is_alike(const struct reduction_one *a, const struct reduction_one *b)
{
    return a->misfit == b->misfit && strcmp(reduction_type_of(a), reduction_type_of(b)) == 0;
}

/* Warns of weights that are not quantized, or get another type, because of their shape: once for each reason. */
static void
warn_of_misfits(const struct reduction *r, const struct reduction_one *list, size_t n, struct catalog *memory)
{
    char shown[STR_SHOWN];
    size_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += list[i].encoder || list[i].misfit || list[i].instead_of != DTYPE_UNKNOWN;
    for (size_t i = 0; i < n; i++) {
        const struct reduction_one *one = &list[i];
        size_t alike = 0, before = 0;
        if ((!one->misfit && one->instead_of == DTYPE_UNKNOWN) || (reduction_is_stack(&one->t) && !r->encoder->loaders.stacks))
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
warn_of_slow(const struct reduction_one *list, size_t n, struct catalog *memory)
{
    const struct reduction_one *first = NULL;
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
warn_of_fallback(const struct reduction_one *list, size_t n, struct catalog *memory)
{
    const struct reduction_one *first = NULL;
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

void
reduction_warn(const struct reduction *r, const struct reduction_one *list, size_t n, bool blocks, bool image, struct catalog *memory)
{
    if (image) {
        warn_of_slow(list, n, memory);
        warn_of_fallback(list, n, memory);
    }
    if (blocks)
        warn_of_few_bits(r, list, n, memory);
    if (!image)
        warn_of_misfits(r, list, n, memory);
}
