/* family: a model family as read from its file: what a Hugging Face model of some classes is in GGUF, and back. Facts only;
 * nothing here is evaluated. Language: amn-family(5); the built-in files are in families/. */
#ifndef FAMILY_FAMILY_H
#define FAMILY_FAMILY_H

#include "base/names.h"
#include "catalog/metadata.h"
#include "encode/image_mix.h"
#include "family/expr.h"

enum { FAMILY_VERB_ARGS = 16 };

/* Verbs of a row. Dimensions are counted from the outermost. */
enum verb_kind {
    VERB_VIEW,                  /* D F...: dimension D becomes dimensions F... */
    VERB_MERGE,                 /* D F...: dimensions from D on, of sizes F..., become one */
    VERB_ORDER,                 /* D F... : P...: D viewed as F..., permuted by P, merged; the shape stays */
    VERB_SWAP,                  /* D E */
    VERB_PART,                  /* D FROM COUNT */
    VERB_SKIP,                  /* D N: without the first N; backwards zeros */
    VERB_CUT,                   /* D N: one-way */
    VERB_PAIRS,                 /* N: order 0 N 2 * : 0 2 1 */
    VERB_ADD, VERB_MUL,         /* C */
    VERB_NEGEXP,
    VERB_BLANK,                 /* zeros of this shape; backwards nothing */
    VERB_BY,                    /* T: each element times the one of T at its place; backwards, T is ones */
    VERB_JOIN,                  /* N: members of a stack, N on the way back, are joined along dimension 0 */
    VERB_F32,
    VERB_F16,
    VERB_HALF
};

struct verb {
    enum verb_kind kind;
    const char *word;           /* "view"; static */
    struct expr *arg[FAMILY_VERB_ARGS];     /* nargs of them; owned by the family. NULL: '*', the size that remains */
    uint32_t nargs;             /* D, then F..., without P */
    uint32_t perm[FAMILY_VERB_ARGS];        /* ORDER: nargs - 1 of them */
};

/* One of the parts of a row that are joined along dimension 0, or that alternate. */
struct row_part {
    struct verb *verb;          /* n of them, in the order written */
    size_t n;
};

/* Returns true if a part has a verb of a kind. */
bool row_part_has(const struct row_part *part, enum verb_kind kind);

/* A tensor row. `.*` is expanded: one row each for .weight and .bias. */
struct family_row {
    const char *hf;             /* with {b}, {x}; without @SCHEME */
    const char *kept;           /* the scheme after '@', or NULL */
    const char *gguf;           /* with {b}, {b+EXPR}, {EXPR} */
    struct expr **shift;        /* the expressions inside {...} of gguf, in order (b is a name in them); nshift of them */
    size_t nshift;
    struct row_part *part;      /* nparts, at least 1 (which may have no verbs) */
    size_t nparts;
    struct expr *when;          /* or NULL */
    bool alternates;            /* the parts are joined along dimension 1, which is then merged into dimension 0 */
    bool stacks;                /* hf has {x} */
    struct expr *joined;        /* the N of `join`, or NULL; owned by the family */
    const struct expr *by;      /* the T of `by`, or NULL */
    bool layered;               /* hf has {b}, and gguf has it plain: applies to layers below `main` */
    bool bias;                  /* the second of the two rows of a `.*`: its output may be absent */
    const char *where;          /* "FILE:LINE" */
};

/* drop, zero, mtp; and the condition, which may use b. */
struct family_pattern {
    const char *text;           /* '*': any text, {b}: a layer number */
    struct expr *when;
    const char *where;
};

/* A source that must equal another one and is left out. */
struct family_same {
    const char *name, *other;
    struct expr *when;
};

/* Another architecture of a family, which some of its models have. */
struct family_variant {
    const char *arch;
    struct expr *when;
};

/* What {x} in the name of a row is instead of a number: a stack with named members. */
struct family_members {
    const char *hf;             /* ends in {x}; owned by the family, as are the words */
    const char **word;          /* n of them, in the order of the stack */
    size_t n, fewest;           /* fewest: without those at the end that a model may lack */
};

struct family_rename {
    const char *from, *to;      /* to: "" removes */
    bool start, end;            /* only at the start, at the end of the name */
};

struct family_make {
    const char *gguf;
    enum make_function { MAKE_LLAMA3, MAKE_LLAMA3_HALF, MAKE_LONG_FACTOR, MAKE_SHORT_FACTOR, MAKE_PROPORTIONAL,
        MAKE_SINUSOIDS } function;
    struct expr *when;
    const char *where;
};

/* need, optional: whether the outputs of rows must exist. The last one that matches a name and applies decides. */
struct family_need {
    const char *gguf;           /* like the text of a family_pattern */
    struct expr *when;
    bool optional;
};

/* ignore: a key that carries nothing on the way back. */
struct family_ignore {
    const char *key;            /* without the prefix of the architecture */
    struct expr *when;
};

/* older: a GGUF or HF name that only an older or another layout has, for messages. */
struct family_older {
    const char *text;           /* as in a family_pattern */
    const char *layout;
};

/* A key, or the place of the rope keys. Rows that `key NAME -` removed are not listed. */
struct family_key {
    const char *name;           /* without the prefix of the architecture; NULL: the rope keys */
    enum meta_type type;
    bool array;                 /* of that type */
    bool each;                  /* the value is a list over the layers */
    bool early;                 /* stands before `vocab` in the file */
    bool optional;              /* the type has a '?': a file may lack the key */
    struct expr *value, *when;
    const char *where;
};

/* default, back: a member of config.json ("rope.X": of rope_parameters). fallback: a key. */
struct family_member {
    const char *name;
    bool each;                  /* a list over num_hidden_layers */
    struct expr *value, *when;
    const char *where;
};

struct family_const {
    const char *name;
    json_t *value;              /* owned */
    struct expr *when;
};

struct family_let {
    const char *name;
    struct expr *value;
};

struct family_text {            /* refuse, malformed, warn */
    bool malformed;             /* the error is ERR_MALFORMED, else ERR_UNSUPPORTED */
    struct expr *when;
    const char *text;           /* with {NAME} */
};

struct family_hf {
    const char *class, *model_type;
    struct expr *when;
};

/* alias, split: a tensor that a GGUF file stores under another name, or several in one. */
struct family_stored {
    const char *other;          /* the name in the file, with {b} */
    struct stored_part {
        const char *name;       /* as in `tensor` rows, with {b} */
        struct expr *rows;      /* NULL: all */
    } *part;                    /* n of them, in the order of the rows */
    size_t n;
    struct expr *when;          /* may use b */
    const char *where;
};

struct tokenizer_pre;           /* tokenizer/vocabulary.h */
struct tokenizer_special;

/* n elements of a list that the family owns. */
#define FAMILY_LIST(of) struct { of *at; size_t n; }

/* prefix: where the names of an image model begin in a file. */
struct family_prefix {
    struct image_texts words;   /* the first decides; all are removed, in this order */
    bool all;                   /* every name begins with the first, not just one */
};

/* kind image: what image models of a family are in GGUF. Texts as in encode/image_mix.h. */
struct family_image {
    uint64_t order;             /* lower ones are tried first */
    FAMILY_LIST(struct image_texts) detect;         /* alternatives: names that must all exist */
    FAMILY_LIST(struct family_prefix) prefixes;     /* in the order in which they are tried */
    struct image_texts leave;   /* begin the names of other models in the file */
    struct image_texts hint;    /* in the names of all image models */
    struct image_texts adapter; /* in the names of adapters */
    struct image_texts diffusers;                   /* names that only the files of diffusers have */
    struct image_texts drop;    /* in the names of tensors that are not written */
    struct image_texts f32;     /* in the names of tensors that stay F32 */
    struct image_rules rules;
    uint64_t row;               /* tensors are written in rows of this length; 0: in their own */
    unsigned own;               /* groups that the family says itself, by place in the table of statements */
};

/* What a family describes: language models; image models, by their tensors; or the towers of models that see or hear, which are a
 * GGUF file of their own. */
enum family_kind { FAMILY_LANGUAGE, FAMILY_IMAGE, FAMILY_TOWER, FAMILY_KINDS };

/* Owned by its reader (families.h), with everything it points to. */
struct model_family {
    const char *name, *arch;
    bool tower;
    struct family_image *image;                     /* NULL: a language model, to which everything below belongs */
    FAMILY_LIST(struct family_variant) variants;    /* the first that applies replaces arch; all are in archs */
    FAMILY_LIST(const char *) archs;                /* other names of arch that GGUF files have */
    FAMILY_LIST(const char *) classes, vocab;       /* vocab: kinds of tokenizer, in order of preference */
    struct expr *vocab_size;    /* or NULL: the member vocab_size */
    FAMILY_LIST(struct family_hf) hf;
    FAMILY_LIST(struct tokenizer_pre) pre;
    FAMILY_LIST(struct tokenizer_special) special;
    FAMILY_LIST(struct family_member) defaults, back;
    FAMILY_LIST(struct family_member) fallbacks;    /* values of keys that a GGUF file lacks */
    FAMILY_LIST(struct family_stored) stored;
    FAMILY_LIST(struct family_const) consts;
    FAMILY_LIST(struct family_let) lets;            /* the last of a name only */
    FAMILY_LIST(struct family_rename) renames;
    FAMILY_LIST(struct family_members) members;
    FAMILY_LIST(struct family_pattern) mtp, drop, zero;
    FAMILY_LIST(struct family_same) same;
    FAMILY_LIST(struct family_row) rows;
    FAMILY_LIST(struct family_make) makes;
    FAMILY_LIST(struct family_need) needs;
    FAMILY_LIST(struct family_older) older;
    FAMILY_LIST(struct family_ignore) ignores;
    FAMILY_LIST(struct family_key) keys;
    FAMILY_LIST(struct family_text) refuses, warns;
};

/* Reads a family from its text, text[0..n), named `file` in messages. Fragments come from `include`, which sets *text to NULL
 * if there is none of this name; its errors are passed on. Fails with ERR_MALFORMED: "FILE:LINE: found X, expected Y", with
 * ERR_LIMIT or ERR_MEMORY. The caller frees *family with family_free(); NULL after a failure. */
typedef bool family_include(void *of, const char *name, const char **text, size_t *n, struct err *err);
bool family_read(struct model_family **family, const char *file, const char *text, size_t n, family_include *include, void *of,
    struct err *err);
void family_free(struct model_family *family);          /* accepts NULL */

/* Reads the family of an argument: a file, or the name or a class of a built-in one unless there is such a file. */
bool family_given(struct model_family **family, const char *arg, struct err *err);
bool family_is_builtin(const char *arg);

/* The built-in families: read from the texts compiled in, by class or architecture. */

/* Returns true if GGUF files of the family have this architecture. */
bool family_has_arch(const struct model_family *family, const char *arch, size_t n);

/* Returns true unless the models of the family have no text: `vocab none`. */
bool family_has_tokenizer(const struct model_family *family);

/* Makes the architecture of a file that of the family, if it is one of those that some of its models have. */
void family_take_arch(struct model_family *family, const char *arch, size_t n);

/* Returns the file name, such as "llama", of built-in family i in name order, or NULL after the last. */
const char *family_name_at(size_t i);

/* Reads built-in family `name`. */
bool family_builtin(struct model_family **family, const char *name, struct err *err);

/* Returns the prefix of a key from its name in a family file: the architecture, or NULL for the keys of every architecture
 * ("general.", "tokenizer.") and for a name that begins with '/', which it skips. */
const char *family_key_prefix(const struct model_family *family, const char **name);

/* Sets the full name of a key; returns false if it does not fit. */
enum { FAMILY_KEY = 512 };      /* bytes of the longest, with its NUL */
bool family_key_name(char full[FAMILY_KEY], const struct model_family *family, const char *name);

/* Returns the value of a key by its name in a family file, borrowed, or NULL. */
json_t *family_key_value(const json_t *keys, const struct model_family *family, const char *name);

/* Returns true if key row i decides whether its key must exist: the last one of a name whose condition holds. Sets *decides. */
bool family_key_decides(bool *decides, const struct model_family *family, size_t i, struct scope *scope, struct err *err);

/* Appends the names of an expression, directly or through lets, that have no value: "a, b and c". Sets *n to their number. */
bool family_lacking(struct str *out, size_t *n, const struct expr *e, struct scope *scope, struct err *err);

/* Calls `see` with each expression of keys, lets, rows, `refuse`, `warn` and `vocab size`, until it returns false. */
typedef bool family_see(void *of, const struct expr *e, struct err *err);
bool family_each_expr(const struct model_family *family, family_see *see, void *of, struct err *err);

/* Returns true if an expression uses a name, or a member of it; expressions of `refuse` and `warn` do not count. */
bool family_uses(const struct model_family *family, const char *word);

/* Appends the members of config.json that verbs need, and no row recovers on the way back, sorted. */
bool family_unrecovered(const struct model_family *family, struct names *out, struct err *err);

/* Sets *value to a new reference to the value of a `default` or `back` row; `each`: a list over num_hidden_layers. */
bool family_member_value(json_t **value, const struct family_member *m, struct scope *scope, struct err *err);

/* Appends the classes of all built-in families of language models, in the order of their names. */
bool family_classes(struct names *classes, struct err *err);

/* Appends the built-in classes nearest to a word, as nearest_hint() does. Fails with ERR_MEMORY. */
bool family_nearest_classes(struct str *hint, const char *word, struct err *err);

/* Sets *family to the built-in family of a kind and a class, class[0..n), or to NULL if there is none. */
bool family_of_class(struct model_family **family, enum family_kind kind, const char *class, size_t n, struct err *err);

#endif
