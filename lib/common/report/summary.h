/* summary: totals of a model: counts, sizes and schemes. A pure function of the catalog and the roles, used by both forms of
 * amn-inspect. */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

#include "base/str.h"
#include "report/tally.h"
#include "scheme/roles.h"

/* All weights with one name of a scheme. */
struct summary_scheme {
    char word[SCHEME_WORD];         /* "fp8", "q4_k": scheme_word() */
    size_t weights, companions;
    uint64_t nbytes;                /* of both, as stored */
    struct tally labels;            /* "FP8 (E4M3, 128x128 blocks)" -> weights, and bytes with their companions */
};

enum { SUMMARY_ROLES = ROLE_ACTIVATION + 1 };

struct summary {
    size_t tensors;
    size_t roles[SUMMARY_ROLES];    /* tensors with each role */
    uint64_t parameters;            /* elements of weights and plain tensors; companions do not count */
    size_t uncounted;               /* weights not in `parameters`, because their packing hides the shape */
    uint64_t nbytes;                /* of the data of all tensors, as stored */
    size_t unsized;                 /* tensors of unknown type, not in nbytes */
    struct tally dtypes;            /* "F8_E4M3" -> tensors */
    struct summary_scheme *schemes; /* nschemes elements, in order of first use */
    size_t nschemes, room;
    const char *code;               /* of the last weight added, or NULL */
    bool several;                   /* weights have several codes */
    const char *mix;                /* "q4_k_m": what general.file_type of a GGUF declares, if its weights agree; or NULL */
    struct tally names;             /* "FP8", "GGUF Q4_K" -> quantized tensors */
    struct tally details;           /* "E4M3, 128x128 blocks" -> quantized tensors */
};

bool summary_make(struct summary *s, const struct catalog *catalog, const struct roles *roles, struct err *err);
void summary_clear(struct summary *s);

/* Returns the number of companions. */
size_t summary_companions(const struct summary *s);

/* Returns the name of the scheme for programs: the mix, the name that all weights have, "mixed" if they have several; NULL if
 * nothing is quantized. */
const char *summary_word(const struct summary *s);

/* Appends the schemes in one phrase, most bytes first: "none", "FP8", "mixed: FP8, NF4". */
void summary_add_scheme(struct str *out, const struct summary *s);
/* Appends details such as "E4M3, 128x128 blocks"; nothing if they would only repeat summary_add_scheme(). */
void summary_add_detail(struct str *out, const struct summary *s);
/* Appends schemes and details, formatted as by summary_label(). */
void summary_add_label(struct str *out, const struct summary *s);

/* Appends a count such as "3.85 billion"; below a million with all digits. */
void summary_add_count(struct str *out, uint64_t n);

/* Sets the bits per parameter as stored. Returns false if they are unknown. */
bool summary_bits(double *bits, const struct summary *s);

/* Writes a type such as "BF16", or "unknown(77)" for an unknown ggml id. Returns buf. */
enum { SUMMARY_DTYPE = 48 };
const char *summary_dtype(char buf[SUMMARY_DTYPE], const struct tensor *t);
/* Returns true if the bytes of a row of `dtypes` are known: not for an unknown type. */
bool summary_dtype_sized(const struct tally_row *row);

/* Counts the parameters of tensor i of the catalog. Returns false for a weight whose packing hides the shape. */
bool summary_parameters(uint64_t *n, const struct catalog *catalog, const struct roles *roles, size_t i);

/* Writes the scheme of a weight for text, with details: "FP8 (E4M3, 128x128 blocks)", "GGUF Q4_K". Returns buf. */
enum { SUMMARY_LABEL = 4 * SCHEME_DETAIL };
const char *summary_label(char buf[SUMMARY_LABEL], const struct weight *w);
/* Writes the details of a weight's scheme; "" if they would only repeat its name or the type of its codes. Returns buf. */
const char *summary_describe(char buf[SCHEME_DETAIL], const struct weight *w);

#endif
