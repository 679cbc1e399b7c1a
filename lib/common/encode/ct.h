/* ct: integers of compressed-tensors. */
#ifndef ENCODE_CT_H
#define ENCODE_CT_H

#include "encode/encode.h"

extern const struct encoder encode_ct[];

#endif
