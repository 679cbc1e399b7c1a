#ifndef ENCODE_MLX_H
#define ENCODE_MLX_H

#include "encode/encode.h"

extern const struct encoder encode_mlx[];

#endif
