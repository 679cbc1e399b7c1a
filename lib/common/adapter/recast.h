/* recast: an adapter written as an adapter: in another container, under the names of another program, or several as one. Its factors
 * are copied, moved and renamed, and scaled if several are joined; nothing is merged into a model. */
#ifndef ADAPTER_RECAST_H
#define ADAPTER_RECAST_H

#include "adapter/adapter_priv.h"
#include "base/push.h"
#include "base/texts.h"
#include "family/config.h"
#include "hf/folder.h"
#include "writer/keys.h"

/* Whose adapter it becomes. */
enum recast_form { RECAST_NONE, RECAST_GGUF, RECAST_PEFT, RECAST_MLX, RECAST_KOHYA, RECAST_DIFFUSERS, RECAST_FORMS };

/* Returns the form that a word of --to names, or RECAST_NONE. */
enum recast_form recast_named(const char *word);

/* Returns the file name without ".safetensors" that the loaders of a form need in a directory, or NULL. */
const char *recast_stem(enum recast_form form);

struct recast_job {
    struct model *model;        /* the adapter, opened as a model; borrowed */
    const struct kernels *kernels;
    const struct limits *limits;
    const struct adapter_argument *from;        /* nfrom of them: the adapters, of which `model` is the first; borrowed */
    size_t nfrom;
    const char *base;           /* --base: directory or config.json of the base model; of an image model, its weights; or NULL */
    const char *family;         /* --family, or NULL */
    enum recast_form to;
    enum dtype type;            /* of all factors; DTYPE_UNKNOWN: as they are, or F32 for GGUF */
};

/* A low-rank change of a weight, under the name of its module in the model. */
struct recast_pair {
    const char *name;           /* n bytes */
    uint32_t n;
    struct chosen a, b;         /* [rank, columns], [rows, rank]; of an embedding [rank, rows], [columns, rank] */
    bool embedding;
    uint64_t rank;
    double alpha;               /* the scale times the rank */
    double scale, weight;       /* alpha by rank, as the loader has it; what the user multiplies it by */
    int tower;                  /* part of an image model, or TOWER_NONE */
    bool flat;                  /* the name is one of kohya, with underscores in place of dots; */
    uint32_t prefix;            /* then this many bytes before it name the tower */
};

/* What an adapter becomes. Zeroed: nothing. */
struct recast {
    const struct recast_job *job;       /* borrowed */
    struct adapter adapter;
    struct adapter *more;       /* job->nfrom - 1 of them; owned */
    struct recast_base *base;   /* the base of an image model, or NULL; owned */
    struct recast_pair *pair;   /* npairs of them; owned */
    size_t npairs, room;
    struct choice plain;        /* tensors that replace one of the model, with their names */
    struct family_config config;        /* of the base */
    struct source *text[HF_FILES];      /* files read; owned */
    struct keys keys;           /* of a GGUF file, or one of diffusers */
    json_t *alora;              /* tokens after which an activated adapter applies, or NULL; owned */
    struct texts texts;         /* files beside the output */
};

/* Replaces a choice of all tensors of the adapter's file by those of the output, and makes its keys and files. `job` has to live as
 * long as *r. Fails with ERR_UNSUPPORTED, naming the module, for what the form cannot express, ERR_USAGE if the base model is needed,
 * ERR_OPEN, ERR_MALFORMED. Call recast_clear() even after a failure. */
bool recast_choose(struct recast *r, struct choice *choice, const struct recast_job *job, struct err *err);
void recast_clear(struct recast *r);

/* --- the steps; for the files of recast */

/* Reads the config of the base model; `arch`: the architecture of a GGUF adapter, n bytes, or NULL. */
bool recast_open_base(struct recast *r, const char *arch, size_t n, struct err *err);

/* Writes the name of the base model, or null. */
void recast_push_base(struct push *json, const struct recast *r);

/* Reads a file of the adapter's directory if it exists. */
bool recast_open_text(struct hf_text *text, struct recast *r, enum hf_file file, struct err *err);

/* Replace a choice by the tensors of a GGUF file, or of safetensors in one of the other forms. */
bool recast_to_gguf(struct recast *r, struct choice *choice, struct err *err);
bool recast_to_names(struct recast *r, struct choice *choice, struct err *err);

/* Splits the names of pairs of a single file into tower and module, and gives them the names that a base has. */
bool recast_settle_names(struct recast *r, struct err *err);
void recast_base_free(struct recast_base *base);        /* accepts NULL */

/* Replaces a choice by the tensors of a file of kohya or diffusers. */
bool recast_to_single(struct recast *r, struct choice *choice, struct err *err);

/* Joins the pairs of several adapters for one module, as PEFT's add_weighted_adapter does by "cat". */
bool recast_join(struct recast *r, struct err *err);

/* Write the ranks or alphas of modules that differ from the first one; a whole number without a point; names as an array. */
void recast_push_pattern(struct push *json, const char *key, const struct recast *r, int tower, bool alpha);
void recast_push_number(struct push *json, double x);

/* Writes the local names of the modules of a tower, sorted, as an array. */
bool recast_push_targets(struct push *json, const char *key, const struct recast *r, int tower, bool layer, struct err *err);

/* Makes pairs of the tensors of a GGUF adapter, under the names of its family. */
bool recast_from_gguf(struct recast *r, const struct choice *choice, struct err *err);

/* Appends a pair whose factors the caller sets; NULL on failure. */
struct recast_pair *recast_add_pair(struct recast *r, const char *name, size_t n, struct err *err);

/* Sets *chosen to a matrix transposed. Fails with ERR_UNSUPPORTED if its elements are moved already. */
bool recast_transpose(struct chosen *chosen, const struct recast *r, const struct chosen *of, struct err *err);

/* Sets the name of a tensor to a finished text, and clears it. */
bool recast_name(struct chosen *chosen, const struct recast *r, struct str *text, struct err *err);

#endif
