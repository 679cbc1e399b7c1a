/* trees: models in ordinary folders, and the folders in which other programs keep theirs.
 *
 *      lmstudio        $HOME/.lmstudio/models, $HOME/.cache/lm-studio/models
 *      llama.cpp       $LLAMA_CACHE, $XDG_CACHE_HOME/llama.cpp, $HOME/.cache/llama.cpp
 *      comfyui         $COMFYUI_PATH/models, $HOME/ComfyUI/models, $HOME/comfy/ComfyUI/models
 *      docker          $HOME/.docker/models/blobs (Docker Model Runner)
 */
#ifndef MODEL_TREES_H
#define MODEL_TREES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/names.h"
#include "base/str.h"

/* Returns the word for the folders of program i, or NULL after the last. */
const char *trees_word(size_t i);

/* Appends the paths of the models in the folders of program i. Appends those folders that exist to `roots`, "A, B". Fails with ERR_OPEN
 * or ERR_IO if one cannot be read. */
bool trees_of(struct names *list, struct str *roots, size_t i, struct err *err);

/* Appends the paths of the models in a folder and in those below it, without links to folders: a directory with a config.json is one
 * model, and so is each file elsewhere that is named like a model, of a split one the first. A file named by its digest is one if it
 * begins as GGUF does. */
bool trees_list(struct names *list, const char *dir, struct err *err);

#endif
