#ifndef ENCODE_MX_H
#define ENCODE_MX_H

#include "encode/encode.h"

extern const struct encoder encode_mx[];

/* Targets of exact transcoding that have no encode(). */
extern const struct encoder encode_mx_exact[];

#endif
