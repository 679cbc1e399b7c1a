/* bnb8: bitsandbytes INT8. */
#ifndef ENCODE_BNB8_H
#define ENCODE_BNB8_H

#include "encode/encode.h"

extern const struct encoder encode_bnb8[];      /* ends with a row without a name */

#endif
