#include "container/container.h"

#include <string.h>

#include "base/bytes.h"

enum { PROBE_BYTES = 512 };

static bool
starts(const uint8_t *head, size_t n, const char *magic, size_t len)
{
    return n >= len && memcmp(head, magic, len) == 0;
}

static bool
probe_old_ggml(const uint8_t *head, size_t n, uint64_t size)
{
    static const char magics[][5] = { "GGML", "GGMF", "GGJT", "lmgg", "fmgg", "tjgg" };
    (void)size;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (starts(head, n, magics[i], 4))
            return true;
    return false;
}

static bool
probe_zip(const uint8_t *head, size_t n, uint64_t size)
{
    (void)size;
    return starts(head, n, "PK\3\4", 4) || starts(head, n, "PK\5\6", 4);
}

static bool
probe_npy(const uint8_t *head, size_t n, uint64_t size)
{
    (void)size;
    return starts(head, n, "\x93NUMPY", 6);
}

/* PROTO, a version, and an opcode that can come first. A safetensors file that is cut can begin so too: the rest of a
 * header length is zeros. */
static bool
probe_pickle(const uint8_t *head, size_t n, uint64_t size)
{
    static const char first[] = "()]}cCGJKMNTUX\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x95\x96";
    (void)size;
    bool zeros = n >= 5;
    for (size_t i = 4; i < n && i < 8; i++)
        zeros = zeros && head[i] == 0;
    return n >= 3 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 && memchr(first, head[2], sizeof first - 1)
        && !zeros;
}

static bool
probe_tar(const uint8_t *head, size_t n, uint64_t size)
{
    (void)size;
    return n >= 262 && memcmp(head + 257, "ustar", 5) == 0;
}

/* In the order of trial. A row without read() is recognised by name only. */
static const struct container *const rows[] = {
    &container_gguf,
    &container_safetensors,
    &(const struct container){ .name = "GGML file older than GGUF (convert it again)", .probe = probe_old_ggml },
    &(const struct container){ .name = "ZIP archive (PyTorch checkpoint or NPZ)", .probe = probe_zip },
    &(const struct container){ .name = "NPY array", .probe = probe_npy },
    &(const struct container){ .name = "PyTorch checkpoint (pickle)", .probe = probe_pickle },
    &(const struct container){ .name = "tar archive", .probe = probe_tar },
};

/* A broken safetensors file still has its name, its brace, or a header length that could be one. */
static bool
might_be_safetensors(const uint8_t *head, uint64_t have, const char *name)
{
    static const char suffix[] = ".safetensors";
    size_t n = strlen(name), len = sizeof suffix - 1;
    return have <= 8 || head[8] == '{' || load_le64(head) <= limits_default.json_header
        || (n >= len && strcmp(name + n - len, suffix) == 0);
}

bool
container_detect(const struct container **out, struct source *src, struct err *err)
{
    const uint8_t *head;
    uint64_t have;
    if (!source_head(src, PROBE_BYTES, &head, &have, err))
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i]->probe(head, (size_t)have, source_size(src))) {
            *out = rows[i];
            return rows[i]->read
                || err_set(err, ERR_UNSUPPORTED, 0, "this is a %s, which cannot be read", rows[i]->name);
        }
    /* safetensors has no magic: where something speaks for it, its reader says best what is wrong. */
    *out = &container_safetensors;
    return have == 0 || might_be_safetensors(head, have, source_name(src))
        || err_set(err, ERR_MALFORMED, 0, "this is no model file: nothing begins with %02x %02x %02x %02x", head[0],
            have > 1 ? head[1] : 0, have > 2 ? head[2] : 0, have > 3 ? head[3] : 0);
}
