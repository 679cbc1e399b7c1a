/* back: the way back: a Hugging Face model directory from a GGUF file. Chooses the family, recovers config.json from keys and
 * tensors, and makes the tokenizer files. Start here; then back_members.h and back_rows.h. */
#ifndef FAMILY_BACK_H
#define FAMILY_BACK_H

#include "base/texts.h"
#include "family/scope.h"
#include "family/hf_model.h"
#include "plan/choice.h"
#include "writer/keys.h"

struct back_options {
    const struct hf_model_options *how; /* family, pre, no_tokenizer, dequantize and more; borrowed */
    bool cast;                  /* all tensors get the type `to` */
    enum dtype to;              /* type of a quantized model */
};

/* A zeroed struct is empty. */
struct back_model {
    const struct back_options *options; /* borrowed */
    struct model_family *family;        /* owned */
    enum dtype element;         /* type of the tensors: F32, F16 or BF16 */
    struct texts texts;         /* the files, except for config.json */
    struct str config_text;     /* config.json, after back_choose() */
    struct keys metadata;       /* of the weight files; owned */
    struct str lost;            /* names of members that are the same for each model of the family, for a note; "a, b" */
    json_t *stored, *keys, *config, *known, *file;      /* GGUF keys, as stored and as the family names them; members
                                                 * recovered; these and the defaults; values of other files; owned */
    struct family_sources *sources;     /* owned */
    struct scope scope;
};

/* Reads a GGUF model. Fails with ERR_UNSUPPORTED if the model is not GGUF, if its architecture has no family, or if the
 * tokenizer cannot be recovered. Call back_clear() even after a failure. */
bool back_open(struct back_model *back, struct model *model, const struct back_options *options, struct err *err);

/* Checks that the keys exist which the family needs, and warns about those that it does not read. */
bool back_check(struct back_model *back, struct model *model, struct err *err);

/* Replaces a choice made by choice_make() by the tensors of the directory, and completes the texts. */
bool back_choose(struct back_model *back, struct model *model, struct choice *choice, struct err *err);
void back_clear(struct back_model *back);

#endif
