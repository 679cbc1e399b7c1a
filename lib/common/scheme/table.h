/* table: every scheme that is known, as rows: what the codes of a weight are called, what lies beside them, and what
 * that is for. A scheme that is decoded has more members than one that is only recognised, there is no other
 * difference. One engine reads the rows (table.c); they stand with their scheme, in arrays that end with one without a
 * name. bnb8.c is a small example of a decoded scheme, recognised_words.c has such as are only named. */
#ifndef SCHEME_TABLE_H
#define SCHEME_TABLE_H

#include "scheme/claims.h"

/* Sets of types; HAS is a member of one, as in DTYPE_SET(HAS(I8), HAS(U8)). */
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

/* Whether a companion has to be there. A row with neither of the first two claims whatever is called like its codes. */
enum presence {
    EVIDENCE,                   /* not there, or of another type: no weight of this row */
    NAMED,                      /* not there: no weight of this row; of another type: malformed */
    REQUIRED,                   /* else malformed */
    OPTIONAL,
    ALIAS                       /* another name of the companion above, all but `left` is said there; both: malformed */
};

/* What a tensor of this name is when no weight claims it (leftover.h). */
enum left {
    LEFT_ITSELF,                /* a name that anyone may use */
    LEFT_SCALES,                /* only a quantizer's: harmless beside a float weight */
    LEFT_BLOCK_SCALES,          /* the same, but not as F8, which are the scales of codes */
    LEFT_GRID,                  /* only U8 of rank 2 or more is a quantizer's */
    LEFT_PACKED                 /* codes, or what says that the weight beside it is codes: never harmless */
};

/* A tensor beside the codes: base + suffix. */
struct companion {
    const char *suffix;
    const bool *dtypes;         /* a set of types */
    enum presence presence;
    enum role role;
    unsigned part;              /* of the weight that it becomes; 0: none */
    enum left left;
    unsigned shapes;            /* a set that the scheme's fit() knows */
};

enum { COMPANIONS = 9 };

struct scheme_row {
    const char *codes;          /* suffix of the codes' name; what is before it is the base. NULL: another row of the
                                 * file chooses this one */
    const bool *dtypes;         /* of the codes */
    const char *becomes;        /* suffix of the decoded weight, behind the base */
    enum left left;             /* of the codes */
    bool bare;                  /* leaves what every other weight takes besides (schemes.md 1.4) */

    /* NULL, or what looks at the codes before anything beside them: goes on with table_match, or does not. */
    enum claim (*choose)(struct table_match *f, struct weight *w, struct err *err);

    bool (*is)(const struct table_match *f);          /* NULL, or whether the shapes are those of this row */
    bool (*fits)(const struct table_match *f);        /* NULL, or whether the shapes agree; else ERR_MALFORMED ... */
    const char *shapes;                         /* ... which says what they are: "scales of ..." */
    struct companion companions[COMPANIONS];
    const struct companion *also;               /* NULL, or more that belongs to the weight, by name alone */
};

/* A companion: its suffix, types, presence and role, perhaps .part, .left and .shapes; another name of it; and what
 * belongs to a weight whatever it is. */
#define COMPANION(suffix_, dtypes_, presence_, role_, ...) { .suffix = suffix_, .dtypes = dtypes_, .presence = presence_, \
    .role = ROLE_##role_, __VA_ARGS__ }
#define OR(suffix_, ...) { .suffix = suffix_, .presence = ALIAS, __VA_ARGS__ }
#define BELONGS(suffix_, role_) { .suffix = suffix_, .dtypes = ANY, .presence = OPTIONAL, .role = ROLE_##role_ }
#define ALSO(...) .also = (const struct companion[]){ __VA_ARGS__, { 0 } }

/* The rows of a scheme. */
#define ROWS(...) .rows = (const struct scheme_row[]){ __VA_ARGS__ }, \
    .nrows = sizeof (const struct scheme_row[]){ __VA_ARGS__ } / sizeof(struct scheme_row)

/* A scheme that is not decoded: code, name, rows. */
#define RECOGNISED(code_, name_, ...) { .code = code_, .name = name_, .describe = table_describe, ROWS(__VA_ARGS__) }

/* A weight while it is looked at. */
struct table_match {
    struct claims *claims;
    const struct scheme *scheme;
    const struct scheme_row *row;
    const struct tensor *codes;
    struct part_name base;
    const struct tensor *with[COMPANIONS];      /* by row->companions; what an alias found is at the first name */
    const void *hint;                           /* what choose() tells fit() */
};

/* Whether the row holds for the codes: companions are found and set as parts, types, `fits` and fit() asked. Takes
 * nothing. */
enum claim table_look(struct table_match *f, struct weight *w, struct err *err);
/* Take what was found, and give the weight its name. */
bool table_take(struct table_match *f, struct weight *w, struct err *err);
/* Both. */
enum claim table_match(struct table_match *f, struct weight *w, struct err *err);

/* The first companion of a role that was found, or NULL. */
const struct tensor *table_found(const struct table_match *f, enum role role);

/* ERR_MALFORMED: "tensor T: is F32 [3], expected EXPECTED for its weight W.weight I8 [4, 8]"; t may be the codes
 * themselves. */
bool table_wrong(const struct tensor *t, const struct tensor *codes, struct err *err, const char *expected, ...)
    __attribute__((format(printf, 4, 5)));

/* Give the weight the shape of its codes, with so many columns; 2^64 elements or more: ERR_MALFORMED. */
bool table_set_cols(const struct table_match *f, struct weight *w, uint64_t cols, struct err *err);

/* Whether a companion is of one of these types; else ERR_MALFORMED, which names them. */
bool table_check_type(const struct table_match *f, const struct tensor *t, const bool *dtypes, enum role role, struct err *err);

/* Let the rows of a scheme look at codes that nobody has claimed. */
enum claim table_claim(const struct scheme *scheme, struct claims *c, const struct tensor *codes, struct weight *w,
    struct err *err);

/* The schemes in the order in which they are tried, then NULL. */
const struct scheme *table_scheme(size_t i);

/* Names that only quantizers use: the tensor base + suffix belongs to the weight base + weight. */
struct left_name {
    const char *suffix, *weight;
    enum left left;
};
enum { LEFT_NAMES = 48 };
size_t table_left_names(struct left_name names[LEFT_NAMES]);

/* What every weight P.weight takes that is there, for it does not alter the weight; ends with one without a name. */
extern const struct companion table_idle[];
enum { TABLE_IDLE = 22 };

/* For `fits` of a row that only says what is wrong. */
bool table_never(const struct table_match *f);

/* For `strip`: a matrix whose columns are output rows. */
void table_strip(struct strip *s, const struct weight *w, unsigned part);

/* For `fits`: the first companion has a scale for each row of the codes. */
bool table_row_scales(const struct table_match *f);

/* For `describe`: the words at w->own, or nothing. */
void table_describe(const struct weight *w, char buf[SCHEME_DETAIL]);

/* The arrays, in order. */
extern const struct scheme comfy_schemes[], sdnq_schemes[], bnb4_schemes[], bnb8_schemes[];
extern const struct scheme paroquant_schemes[], gptq_schemes[], awq_schemes[], word_schemes[], quark_schemes[];
extern const struct scheme int4_modelopt_schemes[], fp6_schemes[], fp4_schemes[], bitnet_schemes[], block_schemes[];
extern const struct scheme ct_packed_schemes[];
extern const struct scheme mlx_schemes[], hqq_schemes[], quanto_schemes[], eetq_schemes[], torchao_schemes[];
extern const struct scheme int8_schemes[], exl2_schemes[], aqlm_schemes[], vptq_schemes[], other_schemes[], fp8_schemes[], ggml_schemes[], unclaimed_schemes[];

#endif
