/* bnb4: bitsandbytes NF4 and FP4. */
#ifndef ENCODE_BNB4_H
#define ENCODE_BNB4_H

#include "encode/encode.h"

extern const struct encoder encode_bnb4[];      /* ends with a row without a name */

#endif
