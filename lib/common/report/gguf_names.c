#include "report/gguf_facts.h"

#include <stddef.h>
#include <string.h>

#define UNKNOWN "unknown, may not work"

/* Indexed by the value of general.file_type. Gaps are types that llama.cpp removed. */
static const char *const file_types[] = {
    [0] = "all F32",
    [1] = "F16",
    [2] = "Q4_0",
    [3] = "Q4_1",
    [7] = "Q8_0",
    [8] = "Q5_0",
    [9] = "Q5_1",
    [10] = "Q2_K - Medium",
    [11] = "Q3_K - Small",
    [12] = "Q3_K - Medium",
    [13] = "Q3_K - Large",
    [14] = "Q4_K - Small",
    [15] = "Q4_K - Medium",
    [16] = "Q5_K - Small",
    [17] = "Q5_K - Medium",
    [18] = "Q6_K",
    [19] = "IQ2_XXS - 2.0625 bpw",
    [20] = "IQ2_XS - 2.3125 bpw",
    [21] = "Q2_K - Small",
    [22] = "IQ3_XS - 3.3 bpw",
    [23] = "IQ3_XXS - 3.0625 bpw",
    [24] = "IQ1_S - 1.5625 bpw",
    [25] = "IQ4_NL - 4.5 bpw",
    [26] = "IQ3_S - 3.4375 bpw",
    [27] = "IQ3_S mix - 3.66 bpw",
    [28] = "IQ2_S - 2.5 bpw",
    [29] = "IQ2_M - 2.7 bpw",
    [30] = "IQ4_XS - 4.25 bpw",
    [31] = "IQ1_M - 1.75 bpw",
    [32] = "BF16",
    [36] = "TQ1_0 - 1.69 bpw ternary",
    [37] = "TQ2_0 - 2.06 bpw ternary",
    [38] = "MXFP4 MoE",
    [39] = "NVFP4",
    [40] = "Q1_0",
    [41] = "Q2_0",
};

enum { FILE_TYPES = sizeof file_types / sizeof *file_types };

/* File types that ik_llama.cpp adds, except for its interleaved types. */
#define IK " (ik_llama.cpp)"
static const struct ik_file_type {
    uint8_t id;
    const char *shown;          /* the name of a type, then IK */
} ik_file_types[] = {
    { 135, "Q6_0" IK },   { 136, "IQ1_BN" IK },  { 137, "IQ2_BN" IK }, { 138, "IQ2_K" IK },  { 139, "IQ3_K" IK },
    { 140, "IQ4_K" IK },  { 141, "IQ5_K" IK },   { 142, "IQ6_K" IK },  { 145, "IQ4_KS" IK }, { 146, "IQ3_KL" IK },
    { 147, "IQ2_KS" IK }, { 148, "IQ4_KSS" IK }, { 149, "Q8_KV" IK },  { 150, "IQ5_KS" IK }, { 151, "IQ2_KT" IK },
    { 152, "IQ3_KT" IK }, { 153, "IQ4_KT" IK },  { 154, "IQ3_KS" IK }, { 155, "IQ2_KL" IK }, { 156, "IQ1_KT" IK },
};

enum { IK_FILE_TYPES = sizeof ik_file_types / sizeof *ik_file_types };

/* File type for each tensor type. 0 means both "all F32" and "none"; the code below distinguishes them. */
static const uint8_t guesses[DTYPE_COUNT] = {
    [DTYPE_F16] = 1,      [DTYPE_BF16] = 32,    [DTYPE_Q4_0] = 2,     [DTYPE_Q4_1] = 3,
    [DTYPE_Q5_0] = 8,     [DTYPE_Q5_1] = 9,     [DTYPE_Q8_0] = 7,     [DTYPE_Q2_K] = 10,
    [DTYPE_Q3_K] = 12,    [DTYPE_Q4_K] = 15,    [DTYPE_Q5_K] = 17,    [DTYPE_Q6_K] = 18,
    [DTYPE_IQ2_XXS] = 19, [DTYPE_IQ2_XS] = 20,  [DTYPE_IQ3_XXS] = 23, [DTYPE_IQ1_S] = 24,
    [DTYPE_IQ4_NL] = 25,  [DTYPE_IQ3_S] = 26,   [DTYPE_IQ2_S] = 28,   [DTYPE_IQ4_XS] = 30,
    [DTYPE_IQ1_M] = 31,   [DTYPE_TQ1_0] = 36,   [DTYPE_TQ2_0] = 37,   [DTYPE_MXFP4] = 38,
    [DTYPE_NVFP4] = 39,   [DTYPE_Q1_0] = 40,    [DTYPE_Q2_0] = 41,
};

const char *
gguf_names_file_type(uint64_t id)
{
    for (size_t i = 0; i < IK_FILE_TYPES; i++)
        if (ik_file_types[i].id == id)
            return ik_file_types[i].shown;
    if (id < FILE_TYPES && file_types[id])
        return file_types[id];
    return UNKNOWN;
}

const char *
gguf_names_guess(enum dtype dtype)
{
    size_t n = strlen(dtype_name(dtype));
    for (size_t i = 0; i < IK_FILE_TYPES && dtype_facts(dtype)->fork; i++)
        if (strncmp(ik_file_types[i].shown, dtype_name(dtype), n) == 0 && strcmp(ik_file_types[i].shown + n, IK) == 0)
            return ik_file_types[i].shown;
    if (guesses[dtype] == 0 && dtype != DTYPE_F32)
        return UNKNOWN;
    return file_types[guesses[dtype]];
}
