/* table: the rows of each file, in the order of reports. Each list ends with a row without a name. */
#ifndef ENCODE_TABLE_H
#define ENCODE_TABLE_H

#include "encode/encode.h"

extern const struct encoder encode_fp8[];
extern const struct encoder encode_bnb4[];
extern const struct encoder encode_bnb8[];
extern const struct encoder encode_ct[];
extern const struct encoder encode_columns[];
extern const struct encoder encode_mx[];
extern const struct encoder encode_by_rows[];
extern const struct encoder encode_mlx[];
extern const struct encoder encode_comfy[];
extern const struct encoder encode_ggml[];

/* Targets of exact transcoding that have no encode(): MX types of single programs, and unquantized types. */
extern const struct encoder encode_mx_exact[];
extern const struct encoder encode_plain_exact[];

#endif
