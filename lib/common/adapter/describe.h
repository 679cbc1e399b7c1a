/* describe: an adapter without a base: what it is, what it changes, and what would be refused. */
#ifndef ADAPTER_DESCRIBE_H
#define ADAPTER_DESCRIBE_H

#include "base/names.h"
#include "kernel/kernels.h"
#include "model/model.h"

enum adapter_form { FORM_LORA, FORM_DORA, FORM_LOHA, FORM_LOKR, FORM_IA3, FORM_DIFFERENCE, FORM_REPLACEMENT, FORM_TOKENS, FORMS };

/* Modules with the same name but for numbers, and the same form, rank and alpha. */
struct adapter_pattern {
    char *module;               /* numbers are "*"; owned */
    size_t n;                   /* modules */
    enum adapter_form form;     /* the main one */
    uint64_t rank;              /* 0: has none */
    double alpha, scale;        /* NAN: has none */
};

/* The place of a tensor in an adapter. */
struct adapter_place {
    const char *role;           /* static; NULL: not a part of an adapter */
    const char *module;         /* n bytes; borrowed from the file's catalog; NULL if `role` is */
    size_t n;
};

struct adapter;

struct adapter_facts {
    const char *kind;           /* "peft", "single", "gguf" or "mlx"; static */
    char *type;                 /* peft_type, fine_tune_type or adapter.type, escaped; owned, or NULL */
    char *base;                 /* the base model that the adapter names, escaped; owned, or NULL */
    size_t modules;
    size_t forms[FORMS];        /* modules that have each */
    struct adapter_pattern *pattern;    /* npatterns of them, in order of first use; owned */
    size_t npatterns, room;
    struct names refused;       /* why it would be refused, whatever the base; empty if it would not */
    bool tokenizer;             /* a tokenizer is beside it */
    struct adapter_place *place;        /* one for each tensor of the file; owned */
    struct adapter *adapter;    /* owned */
};

/* Sets *file to the file of an adapter in a directory that is not one of a model; the caller frees it. NULL otherwise. */
bool adapter_in_directory(char **file, const char *operand, struct err *err);

/* Sets *is if an opened regular file is an adapter by its metadata, the config beside it, or the names of its tensors. */
bool adapter_recognize(bool *is, const struct catalog *c, const char *file, struct err *err);

/* Returns true if a name belongs to a part of an image model. */
bool adapter_has_towers(const struct catalog *c);

/* Describes the adapter in a file, which is open as a model, too, and whose memory and files it uses. Returns NULL on failure; the
 * caller frees the result before the model. */
struct adapter_facts *adapter_describe(const char *file, struct model *model, const struct kernels *k, const struct limits *limits,
    struct err *err);
void adapter_facts_free(struct adapter_facts *f);       /* accepts NULL */

/* Return words for reports. */
const char *adapter_form_word(enum adapter_form form);          /* "lora": for programs */
const char *adapter_form_name(enum adapter_form form);          /* "LoRA" */

#endif
