/* writer knows how one file of a format is laid out: its limits, its order of tensors, its metadata, its pieces.
 * It must not know why a tensor is in the output, nor move the bytes of weights, nor write a file.
 * Begin with struct writer: a format is one file and one row here. */
#ifndef WRITER_WRITER_H
#define WRITER_WRITER_H

#include "kernel/kernels.h"
#include "plan/passthrough.h"
#include "plan/pieces.h"
#include "writer/keys.h"

enum writer_order {
    WRITER_ORDER_INPUT,         /* as the weights lie in the input */
    WRITER_ORDER_NAME           /* as the reference writer of the format has it */
};

/* Which file of how many is laid out, and the tensors of all. */
struct writer_split {
    uint16_t no, count;         /* from 0 on */
    uint64_t tensors;
};

struct writer_options {
    enum writer_order order;
    const struct keys *keys;            /* the metadata, made for this writer; NULL: none. Borrowed */
    const struct kernels *kernels;      /* for checksums; borrowed as long as the pieces are */
    const struct writer_split *split;   /* NULL: all is one file. Only some formats say it in the file */
};

struct writer {
    const char *name;           /* "safetensors" */
    uint32_t align;             /* a power of two: the data of each tensor take a multiple of it */
    enum passthrough_packed packed;    /* what its readers know of quantized weights */
    enum keys_kind keys;        /* what it has for metadata */
    /* Put the tensors of a choice in order, check that the format can hold them (ERR_UNSUPPORTED, ERR_LIMIT, naming the
     * tensor), and append the pieces of the whole output. */
    bool (*lay_out)(struct pieces *pieces, struct choice *choice, const struct writer_options *options,
        struct err *err);
};

/* safetensors: metadata become strings; "format" is "pt", added where it is missing. Byte for byte the header of the
 * reference writer. */
extern const struct writer writer_safetensors;

/* GGUF version 3, little-endian; tensors and data at multiples of 32 bytes, or as the key general.alignment says. Of a split
 * one, each file has the split keys, and only the first one others. */
extern const struct writer writer_gguf;

/* NPZ, byte for byte what np.savez of numpy writes to a stream that cannot seek: members that are not compressed, in the
 * order of the input, each an array called by its tensor. Of metadata nothing is kept. */
extern const struct writer writer_npz;

/* NPY and the bare bytes, little-endian and row-major: of one tensor, else ERR_USAGE. */
extern const struct writer writer_npy, writer_raw;

#endif
