/* adapter_priv: an adapter file as modules, each with its factors. */
#ifndef ADAPTER_ADAPTER_PRIV_H
#define ADAPTER_ADAPTER_PRIV_H

#include <jansson.h>

#include "adapter/adapter.h"
#include "adapter/towers.h"
#include "base/table.h"
#include "base/names.h"
#include "base/tree.h"

enum adapter_family { ADAPTER_PEFT, ADAPTER_SINGLE, ADAPTER_GGUF, ADAPTER_MLX };

/* The purpose of a tensor of an adapter. */
enum factor_role {
    FACTOR_A, FACTOR_B,                 /* low rank: down and up */
    FACTOR_MID,                         /* the middle of a convolution in three parts */
    FACTOR_B_BIAS,                      /* added to the bias */
    FACTOR_ALPHA,                       /* a number */
    FACTOR_MAGNITUDE, FACTOR_DORA_SCALE,        /* norms of rows or columns */
    FACTOR_HADA_1A, FACTOR_HADA_1B, FACTOR_HADA_2A, FACTOR_HADA_2B, FACTOR_HADA_T1, FACTOR_HADA_T2,
    FACTOR_LOKR_1, FACTOR_LOKR_1A, FACTOR_LOKR_1B, FACTOR_LOKR_2, FACTOR_LOKR_2A, FACTOR_LOKR_2B, FACTOR_LOKR_T2,
    FACTOR_IA3,                         /* multiplies rows or columns */
    FACTOR_DIFF, FACTOR_DIFF_BIAS,      /* added as it is, to the weight and to the bias */
    FACTOR_BASE, FACTOR_BASE_BIAS,      /* base_layer.weight, base_layer.bias: replace */
    FACTOR_SET, FACTOR_SET_BIAS,        /* replace */
    FACTOR_TOKENS,                      /* rows that replace rows */
    FACTOR_ROLES
};

/* How the two factors of a low-rank change are stored. */
enum factor_order {
    ORDER_LINEAR,                       /* A [r, in], B [out, r] */
    ORDER_EMBEDDING,                    /* A [r, vocab], B [dim, r] */
    ORDER_ROWS,                         /* a [vocab, r], b [dim, r]: embeddings in GGUF */
    ORDER_MLX                           /* a [in, r], b [r, out] */
};

/* A module of an adapter. */
struct adapter_module {
    const char *name;                   /* len bytes: "model.layers.0.self_attn.q_proj"; borrowed from the catalog */
    uint32_t len;
    bool whole;                         /* the name names a tensor, with ".weight" */
    enum factor_order order;
    const struct tensor *factor[FACTOR_ROLES];  /* with extent.file as in the model; or NULL */
    double alpha, whole_scale, scale;   /* whole_scale: alpha / rank; scale: that times the scale of the command line */
    uint64_t rank;
    const struct tower_hit *hit;        /* nhits of them, if the names of towers decide what it changes; in the job's memory */
    size_t nhits;
    bool skipped;                       /* the base does not have its part of the model, or another module changes its weight */
    const struct parameter *parameter;  /* the parameter of target_parameters that its factors are of, or NULL */
    uint32_t path;                      /* bytes of the name of the module that has the parameter */
    const struct tensor *again[2];      /* a second tensor that replaces the weight, or the bias: has to be equal */
};

struct adapter {
    const char *path;                   /* of the file, for messages; owned */
    char *shown;                        /* owned */
    char *folder;                       /* directory of the file; owned */
    bool tokenizer;                     /* tokenizer_config.json is beside the file */
    double c;                           /* scale of the command line */
    enum adapter_family family;
    struct model file;                  /* its sources move to the model of the job */
    uint32_t first;                     /* file index of the first of them */
    json_t *config;                     /* adapter_config.json, or NULL; owned */
    json_t *towers;                     /* the members of lora_adapter_metadata by tower, each as a config of PEFT, or NULL; owned */
    const char *alpha_name, *rank_name; /* names of alpha and rank in the header of a single file, or NULL; static */
    double alpha, declared_rank;        /* their values */
    const struct tensor *tensors;       /* the file's, with extent.file as in the model of the job; in the job's memory */
    struct names *faults;               /* failures that a description collects, instead of the first; or NULL. Borrowed */
    struct adapter_module *module;      /* n of them; owned */
    size_t n, room;
    struct table names;
    const char *variant;                /* name of the adapter inside the file ("default"), nvariant bytes; borrowed */
    size_t nvariant;
};

/* Returns true after adding a failure to a->faults, where only an error about the adapter has such a place. */
bool adapter_tolerates(struct adapter *a, struct err *err);

/* Finds the file of an adapter and opens it, with adapter_config.json. Clear *a also after a failure. */
bool adapter_open(struct adapter *a, const struct adapter_argument *arg, const struct adapter_job *job, struct err *err);
void adapter_clear(struct adapter *a);

/* Returns true if the name of a tensor says that it is a factor of an adapter, also of a form that is not merged. */
bool adapter_names_factor(const struct tensor *t);

/* Sorts the tensors of the file into modules. Fails for a tensor that has no place in one, or whose elements cannot be decoded. */
bool adapter_read_keys(struct adapter *a, const struct adapter_job *job, struct err *err);

/* Checks adapter_config.json as a whole: refuses types and variants by name, and members whose effect is not known. */
bool adapter_check_config(const struct adapter *a, struct err *err);

/* Checks the members of a config of PEFT; `where` names it. */
bool adapter_check_members(const json_t *config, const char *where, struct err *err);

/* A member of it, and the value for columns of lora_B that are grouped by expert. */
#define ADAPTER_B_LAYOUT "lora_B_layout"
#define ADAPTER_B_GROUPED "grouped_by_expert"

/* Reads alpha and rank from the header of a single file. Fails with ERR_UNSUPPORTED if it has something else that looks like a scale. */
bool adapter_read_header(struct adapter *a, struct err *err);

/* Returns what lora_adapter_metadata has for a module, or NULL. *named: the name of the module starts with the name of its
 * tower. */
json_t *adapter_tower(const struct adapter *a, const struct adapter_module *m, bool *named);

/* Refuses types and variants of adapters in GGUF, and keys whose effect is not known. */
bool adapter_check_gguf(const struct adapter *a, struct err *err);

/* Sets rank, alpha and scale of each module, from the config or from the factors, and checks that its factors are complete
 * and agree. */
bool adapter_settle_modules(struct adapter *a, const struct adapter_job *job, struct err *err);

/* Return true for the input embedding of a language model, and for its head, by the end of the module's name. */
bool adapter_is_embedding(const struct adapter_module *m);
bool adapter_is_head(const struct adapter_module *m);

/* Sets *yes if the name of a module matches an expression of adapter_config.json, put into a format. Fails with ERR_UNSUPPORTED,
 * naming `member`, if the expression is not supported. */
bool adapter_matches(bool *yes, const char *name, size_t n, const char *format, const char *expression, const char *member,
    struct err *err);

/* Return members of the config: NULL or false if it has none. */
const json_t *adapter_member(const struct adapter *a, const char *name);
bool adapter_flag(const struct adapter *a, const char *name);

/* Fails about a module of the adapter: "module NAME: ...". */
bool adapter_fail(const struct adapter_module *m, enum err_kind kind, struct err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
