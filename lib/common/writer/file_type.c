#include "writer/file_type.h"

/* Values of enum llama_ftype, plus one, so that 0 means none. If a type exists in several sizes, the one that llama.cpp
 * guesses. */
static const uint8_t numbers[DTYPE_COUNT] = {
    [DTYPE_F32] = 0 + 1,      [DTYPE_F16] = 1 + 1,      [DTYPE_BF16] = 32 + 1,
    [DTYPE_Q4_0] = 2 + 1,     [DTYPE_Q4_1] = 3 + 1,     [DTYPE_Q8_0] = 7 + 1,     [DTYPE_Q5_0] = 8 + 1,
    [DTYPE_Q5_1] = 9 + 1,     [DTYPE_Q2_K] = 10 + 1,    [DTYPE_Q3_K] = 12 + 1,    [DTYPE_Q4_K] = 15 + 1,
    [DTYPE_Q5_K] = 17 + 1,    [DTYPE_Q6_K] = 18 + 1,    [DTYPE_IQ2_XXS] = 19 + 1, [DTYPE_IQ2_XS] = 20 + 1,
    [DTYPE_IQ3_XXS] = 23 + 1, [DTYPE_IQ1_S] = 24 + 1,   [DTYPE_IQ4_NL] = 25 + 1,  [DTYPE_IQ3_S] = 26 + 1,
    [DTYPE_IQ2_S] = 28 + 1,   [DTYPE_IQ4_XS] = 30 + 1,  [DTYPE_IQ1_M] = 31 + 1,   [DTYPE_TQ1_0] = 36 + 1,
    [DTYPE_TQ2_0] = 37 + 1,   [DTYPE_MXFP4] = 38 + 1,   [DTYPE_NVFP4] = 39 + 1,   [DTYPE_Q1_0] = 40 + 1,
    [DTYPE_Q2_0] = 41 + 1,
};

/* Returns the type of most elements of the tensors with at least this rank; DTYPE_COUNT if there are no such tensors. */
static enum dtype
most(const struct choice *choice, uint32_t rank)
{
    uint64_t count[DTYPE_COUNT + 1] = { 0 };
    enum dtype best = DTYPE_COUNT;
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor t = chosen_tensor(&choice->list[i]);
        uint64_t numel = 0;
        if (t.shape.rank < rank || !shape_numel(&t.shape, &numel))
            continue;
        count[t.dtype] += numel;
        if (best == DTYPE_COUNT || count[t.dtype] > count[best])
            best = t.dtype;
    }
    return best;
}

int
file_type(const struct choice *choice)
{
    if (choice->mix)
        return choice->mix->file_type;
    if (choice->matrices != DTYPE_UNKNOWN && choice->encoded == 0)
        return numbers[choice->matrices] - 1;
    enum dtype best = most(choice, 2);
    if (best == DTYPE_COUNT)
        best = most(choice, 0);
    if (best == DTYPE_COUNT)
        return FILE_TYPE_NONE;
    return numbers[best] - 1;
}

bool
file_type_is_quantized(const struct choice *choice)
{
    for (size_t i = 0; i < choice->n; i++)
        if (chosen_tensor(&choice->list[i]).dtype >= DTYPE_SCALARS)
            return true;
    return false;
}

bool
file_type_changed(const struct choice *choice)
{
    for (size_t i = 0; i < choice->n; i++) {
        const struct chosen *c = &choice->list[i];
        if (c->encoding || c->decode || c->composed || c->copy->dtype != c->dtype)
            return true;
    }
    return false;
}
