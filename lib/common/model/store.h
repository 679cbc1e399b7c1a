/* store: models that lie in the local store of another program, named as that program names them.
 *
 *      ollama:[HOST/][NAMESPACE/]MODEL[:TAG]       $OLLAMA_MODELS, $HOME/.ollama/models
 *      hf:ORG/NAME[/FILE][@REV]                    $HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE, $HF_HOME/hub,
 *                                                  $XDG_CACHE_HOME/huggingface/hub, $HOME/.cache/huggingface/hub
 *
 * Only looked up: nothing is downloaded. A file that is called so is named ./ollama:FILE.
 */
#ifndef MODEL_STORE_H
#define MODEL_STORE_H

#include "base/limits.h"
#include "base/names.h"
#include "base/str.h"
#include "catalog/catalog.h"
#include "source/inputs.h"

/* Whether an operand names a model of a store. */
bool store_named(const char *operand);

/* Append the path of the model that the operand names: a file, or the directory of a model. What else belongs
 * to the model goes to the catalog as warnings, the store's own files that were read to `inputs`. ERR_USAGE: no such
 * name can be; ERR_OPEN: not in the store (the text names the place, and the command that would bring the model);
 * ERR_MALFORMED, ERR_UNSUPPORTED, ERR_LIMIT: the store's own files. */
bool store_resolve(struct str *path, const char *operand, struct inputs *inputs, struct catalog *catalog, struct err *err);

/* What stands before the colon of the operands of store number i: "hf". NULL behind the last store. */
const char *store_word(size_t i);

/* Add the operand of every model of store number i. *root becomes the folder that was looked in, and is empty when no variable
 * says where that is; a folder that is not there has no models. What cannot be read is ERR_OPEN or ERR_IO, and the list has
 * what lies elsewhere.
 *
 * A model is listed whether or not it can be read: that shows when its operand is opened. A repository has one for each
 * revision, and in it one for each directory that holds a model and for each further safetensors or GGUF file; none when
 * there are no weights and none are on their way. Names that cannot be written as an operand are left out. */
bool store_list(struct names *list, struct str *root, size_t i, const struct limits *limits, struct err *err);

#endif
