/* ct: config.json of compressed-tensors. For the files of this layer. */
#ifndef ENCODE_CT_H
#define ENCODE_CT_H

#include "encode/encode.h"

/* config() and config_mixes() of each encoder with a config_group(). */
void ct_config(struct str *out, const struct roster *m);
bool ct_mixes(const struct encoding *a, const struct encoding *b);

extern const struct encoder encode_ct[];

#endif
