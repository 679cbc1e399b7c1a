#include "container/container.h"

#include <string.h>

#include "base/bytes.h"
#include "container/foreign.h"

/* In the order in which they are tried. */
static const struct container *const rows[] = {
    &container_gguf,
    &container_safetensors,             /* before formats with a magic: its header length can look like one, its '{' cannot */
    &container_zip,
    &container_npy,
    &container_stacked,
    &container_tar_form,
    &container_ggml,
};

/* Returns true if an input that no container recognizes may be a damaged safetensors file: its first bytes are a possible
 * header length, or an object follows them. The safetensors reader then gives the best error message. */
static bool
might_be_safetensors(const uint8_t *head, uint64_t have)
{
    enum { PREFIX = 8 };
    return have < PREFIX || load_le64(head) <= META_JSON_MAX
        || (have > PREFIX && head[PREFIX] == '{' && (have == PREFIX + 1 || memchr("\"} \t\r\n", head[PREFIX + 1], 6)));
}

bool
container_detect(const struct container **out, struct source *src, struct err *err)
{
    const uint8_t *head;
    uint64_t have;
    if (!source_head(src, FOREIGN_PROBE, &head, &have, err))
        return false;
    if (have == 0)
        return err_set(err, ERR_MALFORMED, source_is_file(src) ? "file is empty: download or copy it again"
            : "input is empty: the command that feeds the pipe failed, or its output went elsewhere");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i]->probe(head, (size_t)have, source_size(src))) {
            *out = rows[i];
            return true;
        }
    if (!foreign_check(head, (size_t)have, err))
        return false;
    if (str_ends(source_name(src), ".flashpack"))               /* its only mark is at the end of the file */
        return err_set(err, ERR_UNSUPPORTED, "this is a FlashPack file, which is not supported: look for the same model in safetensors or "
            "GGUF format");
    if (!might_be_safetensors(head, have))
        return err_set(err, ERR_MALFORMED, "not a model file: expected safetensors, GGUF, a PyTorch checkpoint, "
            "NPY or NPZ; download it again, or give another file");
    *out = &container_safetensors;
    return true;
}
