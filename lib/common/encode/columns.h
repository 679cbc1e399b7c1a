#ifndef ENCODE_COLUMNS_H
#define ENCODE_COLUMNS_H

#include "encode/encode.h"

extern const struct encoder encode_columns[];

#endif
