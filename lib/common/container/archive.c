/* archive: the two kinds of ZIP archive, NPZ and PyTorch. Only the directory, which is at the end, shows which one it is. */
#include <string.h>

#include "base/str.h"
#include "container/archive.h"
#include "container/container.h"
#include "container/numpy/npz.h"
#include "container/torch/checkpoint_zip.h"

static bool
archive_probe(const uint8_t *head, size_t n, uint64_t size)
{
    (void)size;
    return n >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

/* Returns the bytes before the first slash of a name; 0 if it has none. */
static size_t
prefix_len(const struct zip_member *m)
{
    const char *slash = strchr(m->name, '/');
    if (slash)
        return (size_t)(slash - m->name);
    return 0;
}

/* Returns true for an archive with a data.pkl anywhere. Also for one whose data.pkl is missing: all members in one folder,
 * some of them torch's, and none named *.npy. */
bool
archive_is_checkpoint(const struct zip *zip)
{
    static const char *const torch[] = { "/version", "/.data/version", "/byteorder", "/.format_version", "/constants.pkl" };
    size_t len = 0;
    if (zip->n != 0)
        len = prefix_len(&zip->member[0]);
    bool one = len != 0, known = false;
    for (size_t i = 0; i < zip->n; i++) {
        const struct zip_member *m = &zip->member[i];
        const char *rest = m->name + prefix_len(m);
        if (str_ends(m->name, "/data.pkl") || str_ends(m->name, "\\data.pkl"))
            return true;
        one = one && !str_ends(m->name, ".npy") && prefix_len(m) == len && memcmp(m->name, zip->member[0].name, len) == 0;
        known = known || str_begins(rest, "/data/");
        for (size_t j = 0; j < sizeof torch / sizeof *torch; j++)
            known = known || strcmp(rest, torch[j]) == 0;
    }
    return one && known;
}

const char *
archive_format(const struct zip *zip)
{
    static const struct {
        const char *member, *format;
    } rows[] = {
        { "model.weights.h5", "a Keras model" },
        { "saved_model.pb", "a TensorFlow model" },
        { "com.apple.CoreML/", "a Core ML model" },
        { "archive_format", "a program of torch.export (.pt2)" },
    };
    for (size_t i = 0; i < zip->n; i++)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++)
            if (strstr(zip->member[i].name, rows[j].member))
                return rows[j].format;
    return NULL;
}

/* Fails because the archive is neither NPZ nor a checkpoint, and names its format if a member shows it. */
static bool
refuse_archive(const struct zip *zip, struct err *err)
{
    const char *format = archive_format(zip);
    if (format)
        return err_set(err, ERR_UNSUPPORTED, "this ZIP archive is %s, which is not supported: look for "
            "the same model in safetensors or GGUF format", format);
    return err_set(err, ERR_UNSUPPORTED, "this ZIP archive is neither a PyTorch checkpoint nor an NPZ file: "
        "extract it with 'unzip FILE' and give the model in it");
}

static bool
read_archive(struct catalog *c, struct source *src, struct zip *zip, uint32_t file, const struct container_options *options,
    struct err *err)
{
    bool npz;
    if (!zip_read(zip, src, catalog_budget(c), err))
        return false;
    if (zip->comment_len != 0)
        catalog_note(c, "the ZIP archive has a comment of %u bytes", (unsigned)zip->comment_len);
    if (archive_is_checkpoint(zip))
        return checkpoint_zip_read(c, src, zip, file, options, err);
    if (!npz_probe(zip, src, &npz, err))
        return false;
    if (npz)
        return npz_read(c, src, zip, file, options, err);
    return refuse_archive(zip, err);
}

/* Reads an input that is not seekable. A small one is read to its end; a checkpoint laid out as torch writes it is read in
 * one pass, which sets *done; anything else must be spooled, because its directory comes last. */
static bool
go_forward(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options, bool *done,
    struct err *err)
{
    bool ended;
    *done = false;
    return source_ended_by(src, SOURCE_SETTLE, &ended, err)
        && (ended || checkpoint_zip_forward(c, src, file, options, done, err))
        && (*done || source_spool(src, SOURCE_SIZE_UNKNOWN, true, err));
}

static bool
archive_read(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options, struct err *err)
{
    struct zip zip = { 0 };
    bool done;
    if (str_ends(source_name(src), ".distcp"))          /* archives of single tensors, one after another */
        return err_set(err, ERR_UNSUPPORTED, "this is one file of a distributed checkpoint (torch.distributed.checkpoint), "
            "which has pieces of tensors: give "
            "its directory");
    bool ok = go_forward(c, src, file, options, &done, err)
        && (done || read_archive(c, src, &zip, file, options, err));
    zip_clear(&zip);
    return ok;
}

const struct container container_zip = {
    .name = "ZIP",
    .probe = archive_probe,
    .read = archive_read,
    .tail_ok = true,
    .has_configs = true,
};
