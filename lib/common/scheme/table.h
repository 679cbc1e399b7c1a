/* table: all known schemes as rows. A row defines the name of the codes of a weight and the names and roles of its
 * companions. A scheme that is decoded has more members than one that is only recognised; there is no other difference.
 * table.c is the engine that reads the rows. Each scheme's file has its rows, in arrays that end with an entry without a
 * name. bnb8.c is a small example of a decoded scheme; recognised_words.c has schemes that are only recognised. */
#ifndef SCHEME_TABLE_H
#define SCHEME_TABLE_H

#include "scheme/claims.h"

/* Sets of types. HAS is a member of a set, as in DTYPE_SET(HAS(I8), HAS(U8)). */
#define HAS(type) [DTYPE_##type] = true
#define HAS_FLOAT_16 HAS(F16), HAS(BF16), HAS(F32)
#define HAS_FLOAT8 HAS(F8_E4M3), HAS(F8_E5M2), HAS(F8_E4M3FNUZ), HAS(F8_E5M2FNUZ)
#define IS(type) DTYPE_SET(HAS(type))
#define ANY DTYPE_SET([0 ... DTYPE_COUNT - 1] = true)
#define SCALARS DTYPE_SET([0 ... DTYPE_SCALARS - 1] = true)
#define FLOAT_16 DTYPE_SET(HAS_FLOAT_16)
#define FLOAT DTYPE_SET(HAS_FLOAT_16, HAS(F64))
#define FLOAT8 DTYPE_SET(HAS_FLOAT8)
#define E8M0 DTYPE_SET(HAS(U8), HAS(F8_E8M0))
#define FP4 DTYPE_SET(HAS(U8), HAS(F4))

/* Whether a companion must exist. A row without EVIDENCE or NAMED companions claims every tensor that is named like its
 * codes. */
enum presence {
    EVIDENCE,                   /* missing or of another type: not a weight of this row */
    NAMED,                      /* missing: not a weight of this row; of another type: malformed */
    REQUIRED,                   /* missing: malformed */
    OPTIONAL,
    ALIAS                       /* another name of the companion above, which defines everything but `left`; malformed if
                                 * both exist */
};

/* How to treat a tensor of this name that no weight claims (leftover.c). */
enum left {
    LEFT_ITSELF,                /* plain: other software uses the name too */
    LEFT_SCALES,                /* from a quantizer, but harmless beside a float weight */
    LEFT_BLOCK_SCALES,          /* like LEFT_SCALES, unless F8: those are scales of codes */
    LEFT_GRID,                  /* from a quantizer only if U8 of rank 2 or more */
    LEFT_E8M0,                  /* from a quantizer only if F8_E8M0 */
    LEFT_METHOD,                /* from a quantizer only if config.json declares its method */
    LEFT_WORDS,                 /* like LEFT_PACKED, unless it has a float type: a norm of PLaMo 2 has the name of EXL2's codes */
    LEFT_PACKED                 /* codes, or a sign that the weight beside it is codes: never harmless */
};

/* A tensor that belongs to the codes. Its name is base + suffix. */
struct companion {
    const char *suffix;
    const bool *dtypes;         /* a set of types */
    enum presence presence;
    enum role role;
    unsigned part;              /* index in w->part; 0: not used for decoding */
    enum left left;
    unsigned shapes;            /* a set whose meaning the scheme's fit() defines */
};

enum { COMPANIONS = 10 };      /* of a row, at most */

struct scheme_row {
    const char *codes;          /* suffix of the codes' name; the base is what precedes it. NULL: another row of the file
                                 * chooses this one */
    const bool *dtypes;         /* of the codes */
    const char *becomes;        /* suffix of the decoded weight, after the base */
    enum left left;             /* of the codes */

    /* Looks at the codes before any companion. Either continues with table_match, or does not. May be NULL. */
    enum claim (*choose)(struct table_match *f, struct weight *w, struct err *err);

    bool (*is)(const struct table_match *f);          /* returns true if the shapes fit this row; may be NULL */
    bool (*fits)(const struct table_match *f);        /* checks the shapes; false is ERR_MALFORMED; may be NULL */
    const char *shapes;                         /* the expected shapes, for the error: "scales of ..." */
    const struct companion *companions;         /* up to one without a suffix; NULL: none */
    const struct companion *also;               /* further tensors of the weight, matched by name only; or NULL */
};

/* COMPANION: suffix, types, presence and role, optionally .part, .left and .shapes. OR: another name of the companion above.
 * BELONGS: a tensor that belongs to a weight, of any type. */
#define COMPANION(suffix_, dtypes_, presence_, role_, ...) { .suffix = suffix_, .dtypes = dtypes_, .presence = presence_, \
    .role = ROLE_##role_, __VA_ARGS__ }
#define OR(suffix_, ...) { .suffix = suffix_, .presence = ALIAS, __VA_ARGS__ }
#define BELONGS(suffix_, role_) { .suffix = suffix_, .dtypes = ANY, .presence = OPTIONAL, .role = ROLE_##role_ }
#define WITH(...) .companions = (const struct companion[]){ __VA_ARGS__, { 0 } }
#define ALSO(...) .also = (const struct companion[]){ __VA_ARGS__, { 0 } }

/* The rows of a scheme. */
#define ROWS(...) .rows = (const struct scheme_row[]){ __VA_ARGS__ }, \
    .nrows = sizeof (const struct scheme_row[]){ __VA_ARGS__ } / sizeof(struct scheme_row)

/* The words of a scheme. */
#define WORDS(...) .words = (const struct scheme_word_row[]){ __VA_ARGS__, { 0 } }

/* A scheme that is recognised but not decoded: code, name, rows. DECLARED also has words, before the rows; ONLY_DECLARED has
 * nothing else, because its tensors look like another scheme's. */
#define RECOGNISED(code_, name_, ...) { .code = code_, .name = name_, .describe = table_describe, ROWS(__VA_ARGS__) }
#define DECLARED(code_, name_, words_, ...) { .code = code_, .name = name_, .describe = table_describe, words_, \
    ROWS(__VA_ARGS__) }
#define ONLY_DECLARED(name_, ...) { .name = name_, .describe = table_describe, WORDS(__VA_ARGS__) }

/* Returns true if the row has companion i, and those before. */
static inline bool
table_has(const struct scheme_row *row, size_t i)
{
    return row->companions && i < COMPANIONS && row->companions[i].suffix;
}

/* A candidate weight while a row is matched. */
struct table_match {
    struct claims *claims;
    const struct scheme *scheme;
    const struct scheme_row *row;
    const struct tensor *codes;
    struct part_name base;
    const struct tensor *with[COMPANIONS];      /* indexed like row->companions; a tensor found by an alias is stored at the
                                                 * first name */
    const void *hint;                           /* passed from choose() to fit() */
    const struct doubt *doubt;                  /* found by blocks_find(), for the weight; or NULL */
};

/* Matches the row against the codes: finds companions, sets them as parts, checks types, calls `fits` and fit(). Takes
 * nothing. */
enum claim table_look(struct table_match *f, struct weight *w, struct err *err);
/* Takes the companions that were found, and names the weight. */
bool table_take(struct table_match *f, struct weight *w, struct err *err);
/* Calls table_look, then table_take. */
enum claim table_match(struct table_match *f, struct weight *w, struct err *err);

/* Returns the first companion of a role that was found, or NULL. */
const struct tensor *table_found(const struct table_match *f, enum role role);

/* Sets ERR_MALFORMED: "tensor T: expected EXPECTED for its weight W.weight (I8 [4, 8]), found F32 [3]". t may be the codes
 * themselves. Returns false. */
bool table_wrong(const struct tensor *t, const struct tensor *codes, struct err *err, const char *expected, ...)
    __attribute__((format(printf, 4, 5)));

/* Sets the shape of the weight to the shape of its codes, with `cols` columns. Fails with ERR_MALFORMED at 2^64 elements or
 * more. */
bool table_set_cols(const struct table_match *f, struct weight *w, uint64_t cols, struct err *err);

/* Checks that a companion has one of these types. Otherwise fails with ERR_MALFORMED, naming them. */
bool table_check_type(const struct table_match *f, const struct tensor *t, const bool *dtypes, enum role role, struct err *err);

/* Matches the rows of a scheme against codes that no weight has claimed. */
enum claim table_claim(const struct scheme *scheme, struct claims *c, const struct tensor *codes, struct weight *w,
    struct err *err);

/* Returns the schemes in the order in which they are tried, then NULL. */
const struct scheme *table_scheme(size_t i);

/* A name that only quantizers use: the tensor base + suffix belongs to the weight base + weight. */
struct left_name {
    const char *suffix, *weight;
    enum left left;
    const struct scheme *scheme;
};
enum { LEFT_NAMES = 96 };
size_t table_left_names(struct left_name names[LEFT_NAMES]);

/* Companions that any weight may have, because they do not alter it (siblings.c). Ends with an entry without a name. */
extern const struct companion table_idle[];

/* Returns true if a tensor has such a name. */
bool table_is_idle(const struct tensor *t);

/* For `fits` of a row that exists only to report an error. */
bool table_never(const struct table_match *f);

/* For `strip`: a matrix whose columns are output rows. */
void table_strip(struct strip *s, const struct weight *w, unsigned part);

/* For `fits`: the first companion has a scale for each row of the codes. */
bool table_row_scales(const struct table_match *f);

/* For `describe`: writes the text at w->own, or nothing. */
void table_describe(const struct weight *w, char buf[SCHEME_DETAIL]);

/* The arrays, in order. */
extern const struct scheme comfy_schemes[], sdnq_schemes[], bnb4_schemes[], bnb8_schemes[];
extern const struct scheme paroquant_schemes[], gptq_schemes[], awq_schemes[], ternary_schemes[], word_schemes[], quark_schemes[];
extern const struct scheme gemma_schemes[], int4_modelopt_schemes[], fp6_schemes[], fp4_schemes[], bitnet_schemes[];
extern const struct scheme block_schemes[];
extern const struct scheme ct_packed_schemes[];
extern const struct scheme mlx_schemes[], hqq_schemes[], quanto_schemes[], eetq_schemes[], torchao_schemes[];
extern const struct scheme modelslim_schemes[], w4afp8_schemes[], int8_schemes[], int8_static_schemes[], exl2_schemes[], aqlm_schemes[], vptq_schemes[];
extern const struct scheme other_schemes[], fp8_schemes[];
extern const struct scheme ggml_stored_schemes[], ggml_schemes[], unclaimed_schemes[];

#endif
