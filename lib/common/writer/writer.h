/* writer: the layout of one file of a format: its limits, tensor order, metadata and pieces. It must not know why a tensor
 * is in the output, move the bytes of weights, or write a file. Begin with struct writer: a format is one file and one row
 * here. */
#ifndef WRITER_WRITER_H
#define WRITER_WRITER_H

#include "kernel/kernels.h"
#include "plan/choice.h"
#include "plan/pieces.h"
#include "writer/keys.h"

enum writer_order {
    WRITER_ORDER_INPUT,         /* the order of the input */
    WRITER_ORDER_NAME           /* the order of the format's reference writer */
};

/* The file being laid out, the number of files, and the tensors in all of them. */
struct writer_split {
    uint16_t no, count;         /* no counts from 0 */
    uint64_t tensors;
};

struct writer_options {
    enum writer_order order;
    const struct keys *keys;            /* metadata made for this writer; NULL: none. Borrowed */
    const struct kernels *kernels;      /* for checksums; borrowed as long as the pieces exist */
    const struct writer_split *split;   /* NULL: a single file. Only some formats store it */
};

struct writer {
    const char *name;           /* "safetensors" */
    uint32_t align;             /* a power of two: tensor data is padded to a multiple of it */
    enum keeps keeps;           /* the quantized weights that the format holds as they are stored */
    enum keys_kind keys;        /* the kind of metadata it stores */
    /* Orders the tensors of a choice, checks that the format can store them (ERR_UNSUPPORTED or ERR_LIMIT, naming the
     * tensor), and appends the pieces of the whole file. */
    bool (*lay_out)(struct pieces *pieces, struct choice *choice, const struct writer_options *options,
        struct err *err);
    /* Appends n bytes of padding to a header that lay_out() made. NULL: the format has no place for them. */
    void (*lengthen)(struct str *header, size_t n);
};

/* safetensors: metadata become strings; "format" is set to "pt" if it is missing. The header is byte-identical to the
 * reference writer's. */
extern const struct writer writer_safetensors;

/* GGUF version 3, little-endian; tensors and data are aligned to 32 bytes, or to general.alignment. In a split model, each
 * file has the split keys, and only the first one has the others. */
extern const struct writer writer_gguf;

/* NPZ, byte-identical to np.savez writing to a stream that cannot seek: uncompressed members in input order, each array
 * named by its tensor. Metadata is dropped. */
extern const struct writer writer_npz;

/* NPY, and the bare bytes, little-endian and row-major. ERR_USAGE unless there is exactly one tensor. */
extern const struct writer writer_npy, writer_raw;

#endif
