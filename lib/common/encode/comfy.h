#ifndef ENCODE_COMFY_H
#define ENCODE_COMFY_H

#include "encode/encode.h"

extern const struct encoder encode_comfy[];

#endif
