/* side_files: what goes into a model directory besides weights: config.json, without what it says about quantization when
 * weights are decoded, and with what `quantization` says of encoded ones; and where the model was named as a directory, a
 * copy of its other files except weights and configs of quantizers: the tokenizer, the generation config, code. Of
 * its folders only additional_chat_templates is copied. */
#ifndef OUTPUT_SIDE_FILES_H
#define OUTPUT_SIDE_FILES_H

#include "base/names.h"
#include "model/model.h"
#include "output/outputs.h"
#include "hf/quantization.h"

/* Files of more than this are left where they are, with a note. */
#define SIDE_FILE_MAX (UINT64_C(256) << 20)

struct side_files {
    struct model *model;
    struct outputs *outputs;
    const char *to;             /* the directory */
    bool decodes;               /* some weight of the model is decoded */
    const struct hf_quantization *quantization;    /* or NULL */
    struct names names;         /* those that are copied; owned */
};

/* Lists the files that are copied, and makes them inputs of the model. One that is there and cannot be read, such as a link
 * to nothing or a FIFO, is ERR_OPEN. Files that are too long are noted in the catalog. */
bool side_files_find(struct side_files *files, struct err *err);

/* Adds all files to the outputs. */
bool side_files_add(const struct side_files *files, struct err *err);

bool side_files_write(const struct side_files *files, struct err *err);
void side_files_clear(struct side_files *files);

#endif
