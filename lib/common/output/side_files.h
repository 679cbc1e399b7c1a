/* side_files: the files of a model directory besides its weights. The config.json of the model's catalog, without the quantization
 * members if weights are dequantized, and with the members of `quantization` if weights are quantized. Then either the files given
 * as texts and no others, or, if the input is a directory, copies of its other files, such as tokenizer, generation config and
 * code, except weights, quantizer configs and the files of a training job. Of its subdirectories, additional_chat_templates and
 * those that modules.json names are copied. A tokenizer from another directory replaces all files of the input's. */
#ifndef OUTPUT_SIDE_FILES_H
#define OUTPUT_SIDE_FILES_H

#include "base/names.h"
#include "base/texts.h"
#include "model/model.h"
#include "output/outputs.h"
#include "hf/quantization.h"

/* Larger files are not copied; a note says so. */
#define SIDE_FILE_MAX (UINT64_C(256) << 20)

struct side_files {
    struct model *model;
    struct outputs *outputs;
    const char *to;             /* output directory */
    bool decodes;               /* some weights are dequantized */
    const struct hf_quantization *quantization;    /* or NULL */
    const char *tokenizer;      /* directory whose tokenizer replaces the input's, or NULL */
    const struct texts *texts;  /* all other side files of the directory; NULL: the input's */
    struct names names;         /* files to copy; owned */
    struct names left;          /* files of a training job, which are not copied; owned */
};

/* Lists the files to copy and adds them to the inputs of the model. An existing file that cannot be read, such as a dangling
 * link or a FIFO, is ERR_OPEN. Notes files that are too large in the catalog. */
bool side_files_find(struct side_files *files, struct err *err);

/* Adds one file of the directory to the outputs, or writes one from a text. Also used for the weight files and their index. */
bool side_files_add_one(const struct side_files *files, const char *name, struct err *err);
bool side_files_write_one(const struct side_files *files, const char *name, const struct str *text, struct err *err);

/* Adds all files to the outputs. */
bool side_files_add(const struct side_files *files, struct err *err);

bool side_files_write(const struct side_files *files, struct err *err);
void side_files_clear(struct side_files *files);

#endif
