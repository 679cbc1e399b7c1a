/* summary: what a model amounts to: counts, sizes, and which schemes quantized it. A pure function of the
 * catalog and the roles; both forms of amn-inspect print it. */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

#include "base/str.h"
#include "report/tally.h"
#include "scheme/roles.h"

/* All weights of one code. */
struct summary_scheme {
    const char *code;               /* "fp8"; borrowed from the scheme */
    size_t weights, companions;
    uint64_t nbytes;                /* of both, as stored */
    struct tally labels;            /* "FP8 (E4M3, 128x128 blocks)" -> weights, and bytes with their companions */
};

enum { SUMMARY_ROLES = ROLE_ACTIVATION + 1 };

struct summary {
    size_t tensors;
    size_t roles[SUMMARY_ROLES];    /* tensors of each */
    uint64_t parameters;            /* elements of weights and plain tensors; companions have none */
    size_t uncounted;               /* weights that are not in it: packed in a way we do not read */
    uint64_t nbytes;                /* of all tensors' data, as stored */
    size_t unsized;                 /* tensors of unknown type: not in nbytes */
    struct tally dtypes;            /* "F8_E4M3" -> every tensor */
    struct summary_scheme *schemes; /* nschemes of them, in the order of first use */
    size_t nschemes, room;
    struct tally names;             /* "FP8", "GGUF Q4_K" -> quantized tensors */
    struct tally details;           /* "E4M3, 128x128 blocks" -> quantized tensors */
};

bool summary_make(struct summary *s, const struct catalog *catalog, const struct roles *roles, struct err *err);
void summary_clear(struct summary *s);

/* Tensors that are part of some weight and not its codes. */
size_t summary_companions(const struct summary *s);

/* The code of all weights, "mixed" when they have several; NULL when nothing is quantized. */
const char *summary_codes(const struct summary *s);

/* "none", "FP8", "mixed: FP8, NF4": the schemes in one phrase, those with most bytes first. */
void summary_add_scheme(struct str *out, const struct summary *s);
/* "E4M3, 128x128 blocks"; nothing when that would be no more than summary_add_scheme says. */
void summary_add_detail(struct str *out, const struct summary *s);
/* Both, as summary_label has them. */
void summary_add_label(struct str *out, const struct summary *s);

/* 3850000000 -> "3.85 billion"; below a million all digits. */
void summary_add_count(struct str *out, uint64_t n);

/* Bits a parameter takes as stored; false when there is no such number. */
bool summary_bits(double *bits, const struct summary *s);

/* "BF16", or "unknown(77)" for a ggml id that nobody knows. Returns buf. */
enum { SUMMARY_DTYPE = 48 };
const char *summary_dtype(char buf[SUMMARY_DTYPE], const struct tensor *t);
/* Whether the bytes of a row of `dtypes` mean anything: not those of an unknown type. */
bool summary_dtype_sized(const struct tally_row *row);

/* Parameters that tensor i of the catalog stands for. False for a weight packed in a way we do not read. */
bool summary_parameters(uint64_t *n, const struct catalog *catalog, const struct roles *roles, size_t i);

/* What programs call the scheme of a weight: "fp8". */
const char *summary_code(const struct weight *w);
/* What people call it, with what there is to say of the weight: "FP8 (E4M3, 128x128 blocks)", "GGUF Q4_K". Returns buf. */
enum { SUMMARY_LABEL = 4 * SCHEME_DETAIL };
const char *summary_label(char buf[SUMMARY_LABEL], const struct weight *w);
/* What the scheme says of a weight; "" when that is no more than its name, or the type of its codes. Returns buf. */
const char *summary_describe(char buf[SCHEME_DETAIL], const struct weight *w);

#endif
