/* name: general.name of a GGUF file, from the files of a model directory. Source: gguf-py's metadata.py. */
#ifndef HF_NAME_H
#define HF_NAME_H

#include "hf/family.h"
#include "hf/folder.h"
#include "writer/keys.h"

/* Puts general.name: `name` or `model_name` of README.md's front matter as it is, else a title made of config.json's
 * _name_or_path; nothing where neither has one. A directory's own name is not read: the output does not depend on it.
 *
 * llama.cpp strips white space after special tokens if the name contains phi-3 or phi3, and then refuses a vocabulary without
 * the tokens of Phi-3. The name contains it for a family that is named so and has them, and otherwise not. Call it after
 * the keys of the vocabulary are put. ERR_MALFORMED: config.json. */
bool hf_name_put(struct keys *keys, const struct hf_folder *folder, const struct hf_family *family, struct err *err);

#endif
