/* side_files: what goes into a model directory besides weights. */
#ifndef PIPELINE_SIDE_FILES_H
#define PIPELINE_SIDE_FILES_H

#include "container/model.h"
#include "plan/model_config.h"

/* Files of more than this are left where they are, with a note. */
#define SIDE_FILE_MAX (UINT64_C(256) << 20)

/* The one directory that is copied: chat templates with names, which transformers reads from there. */
#define SIDE_FILES_TEMPLATES "additional_chat_templates"

/* Write config.json into the directory `to`, without what it says about quantization when `decodes`, and with
 * what `quantization`, or NULL, says of encoded weights; and where the model
 * was named as a directory, copy the other files of it that are no weights and say nothing about quantization: the
 * tokenizer, the generation config, code. Of its directories only SIDE_FILES_TEMPLATES is copied. What is left is noted in the catalog. */
bool side_files_write(struct model *model, const char *to, bool decodes,
    const struct model_config *quantization, struct err *err);

#endif
