/* store: models that lie in the local store of another program, named as that program names them.
 *
 *      ollama:[HOST/][NAMESPACE/]MODEL[:TAG]       $OLLAMA_MODELS, $HOME/.ollama/models
 *      hf:ORG/NAME[/FILE][@REV]                    $HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE, $HF_HOME/hub,
 *                                                  $XDG_CACHE_HOME/huggingface/hub, $HOME/.cache/huggingface/hub
 *
 * Only looked up: nothing is downloaded. A file that is called so is named ./ollama:FILE.
 */
#ifndef CONTAINER_STORE_H
#define CONTAINER_STORE_H

#include "base/limits.h"
#include "base/str.h"
#include "catalog/catalog.h"
#include "source/inputs.h"

/* Whether an operand names a model of a store. */
bool store_named(const char *operand);

/* Append the path of the model that the operand names: a file, or the directory of a model. What else belongs
 * to the model goes to the catalog as warnings, the store's own files that were read to `inputs`. ERR_USAGE: no such
 * name can be; ERR_OPEN: not in the store (the text names the place, and the command that would bring the model);
 * ERR_MALFORMED, ERR_UNSUPPORTED, ERR_LIMIT: the store's own files. */
bool store_resolve(struct str *path, const char *operand, struct inputs *inputs, struct catalog *catalog,
    const struct limits *limits, struct err *err);

#endif
