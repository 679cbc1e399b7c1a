/* Bare bytes: the data of one tensor, without type or shape. */
#include "writer/one_priv.h"
#include "writer/writer.h"

static bool
raw_lay_out(struct pieces *pieces, struct choice *choice, const struct writer_options *options, struct err *err)
{
    char name[STR_SHOWN], text[SHAPE_TEXT];
    uint64_t nbytes;
    bool whole = true;
    (void)options;
    if (!one_tensor(choice, "raw output", err))
        return false;
    const struct tensor t = chosen_tensor(&choice->list[0]);
    if (!shape_nbytes(&t.shape, t.dtype, &nbytes, &whole) || !whole)
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: %s of %s is not a whole number of bytes, or overflows "
            "64 bits", str_shown(name, t.name, t.name_len), shape_text(text, &t.shape), dtype_name(t.dtype));
    return pieces_chosen(pieces, &choice->list[0], err);
}

const struct writer writer_raw = { .name = "raw", .align = 1, .lay_out = raw_lay_out };
