/* name: derives general.name of a GGUF file from the files of a model directory. Source: gguf-py's metadata.py. */
#ifndef HF_NAME_H
#define HF_NAME_H

#include "hf/folder.h"
#include "writer/keys.h"

/* Puts general.name: `name` or `model_name` from the front matter of README.md, or else a title made from _name_or_path in
 * config.json. Puts no key if neither exists. The name of the directory is not used, so that the output does not depend on
 * it.
 *
 * llama.cpp strips white space after special tokens if the name contains phi-3 or phi3, and then requires the tokens of
 * Phi-3. The name is changed to contain "phi-3" only for a Phi-3 that has these tokens. Call this after the vocabulary keys
 * are put. Fails with ERR_MALFORMED for a bad config.json.
 */
bool hf_name_put(struct keys *keys, const struct hf_folder *folder, bool phi3, struct err *err);

#endif
