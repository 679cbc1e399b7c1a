/* card: keys general.* of a GGUF adapter from the model card beside it and the name of its directory. Source: gguf-py's
 * metadata.py. */
#ifndef HF_CARD_H
#define HF_CARD_H

#include "hf/folder.h"
#include "writer/keys.h"

/* Puts general.name, general.license, general.base_model.*, general.tags and so on. `config`: the config.json in the directory, or
 * empty; `name`: of the directory; `params`: the number of elements, negative for an adapter. Warns of members that are not read. Fails
 * with ERR_MALFORMED for a bad config.json. */
bool hf_card_put(struct keys *keys, const struct hf_text *card, const struct hf_text *config, const char *name, double params,
    struct catalog *warnings, struct err *err);

#endif
