/* store: finds models in the local stores of other programs, by the names that these programs use.
 *
 *      ollama:[HOST/][NAMESPACE/]MODEL[:TAG]       $OLLAMA_MODELS, $HOME/.ollama/models
 *      hf:ORG/NAME[/FILE][@REV]                    $HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE, $HF_HOME/hub,
 *                                                  $XDG_CACHE_HOME/huggingface/hub, $HOME/.cache/huggingface/hub
 *
 * Nothing is downloaded. A file whose name begins like this is given as ./ollama:FILE.
 */
#ifndef MODEL_STORE_H
#define MODEL_STORE_H

#include "base/limits.h"
#include "base/names.h"
#include "base/str.h"
#include "catalog/catalog.h"
#include "source/inputs.h"

/* Returns true if an operand names a model in a store. */
bool store_named(const char *operand);

/* Returns true if a path that does not exist has the form ORG/NAME of a model in a store. */
bool store_is_like(const char *path);

/* Appends the path of the model that the operand names: a file or a model directory. Other files that belong to the model
 * are noted in the catalog; the store's own files that were read are added to `inputs`. Fails with ERR_USAGE for an invalid
 * name; with ERR_OPEN if the store has no such model (the text gives the path and the command that downloads it); with
 * ERR_MALFORMED, ERR_UNSUPPORTED or ERR_LIMIT for a bad manifest or ref. */
bool store_resolve(struct str *path, const char *operand, struct inputs *inputs, struct catalog *catalog, struct err *err);

/* Returns the prefix of operands of store i, such as "hf", or NULL after the last store. */
const char *store_word(size_t i);

/* Appends the operand of every model in store i to the list. Sets *root to the store's folder, or leaves it empty if no
 * variable names one. A folder that does not exist has no models. Fails with ERR_OPEN or ERR_IO if something cannot be read;
 * the list then has all other models.
 *
 * Models are listed without checking that they can be read; opening the operand shows that. A Hugging Face repository has an
 * operand for each revision, plus one for each subdirectory with a model and for each further safetensors or GGUF file. It
 * has none if it has no weights and no incomplete download. Names that are not valid in an operand are left out.
 */
bool store_list(struct names *list, struct str *root, size_t i, const struct limits *limits, struct err *err);

#endif
