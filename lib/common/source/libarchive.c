#include "source/libarchive.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LIBARCHIVE_ROOM = 4 << 20 };     /* loading it takes 1 MiB */

/* libarchive exits or crashes if one of its small initial allocations fails. So check first that there is memory for them
 * and for loading the library. */
static bool
find_room(struct err *err)
{
    void *volatile room = malloc(LIBARCHIVE_ROOM);      /* volatile keeps the pair from being optimised away */
    free(room);
    return room || err_memory(err, LIBARCHIVE_ROOM);
}

#ifdef LIBARCHIVE_LINKED                /* linked into a static program, which has no loader */

static bool
libarchive_load(struct libarchive *lib, const char *packing, struct err *err)
{
    (void)packing, (void)err;
    *lib = (struct libarchive){
        .read_new = archive_read_new,
        .read_free = archive_read_free,
        .read_support_filter_zstd = archive_read_support_filter_zstd,
        .read_support_filter_xz = archive_read_support_filter_xz,
        .read_support_format_raw = archive_read_support_format_raw,
        .read_support_format_empty = archive_read_support_format_empty,
        .read_open = archive_read_open,
        .read_next_header = archive_read_next_header,
        .read_data_block = archive_read_data_block,
        .filter_bytes = archive_filter_bytes,
        .filter_count = archive_filter_count,
        .set_error = archive_set_error,
        .error_number = archive_errno,
        .error_string = archive_error_string,
    };
    return true;
}

#else

/* libarchive 3 of any minor version. LIBARCHIVE_DIR is the directory of the library that belongs to the headers. */
#ifdef __APPLE__
#define FILE_NAME LIBARCHIVE_DIR "/libarchive.13.dylib"
#else
#define FILE_NAME "libarchive.so.13"
#endif

static const struct {
    const char *name;
    size_t at;                  /* offset in struct libarchive */
} calls[] = {
    { "archive_read_new", offsetof(struct libarchive, read_new) },
    { "archive_read_free", offsetof(struct libarchive, read_free) },
    { "archive_read_support_filter_zstd", offsetof(struct libarchive, read_support_filter_zstd) },
    { "archive_read_support_filter_xz", offsetof(struct libarchive, read_support_filter_xz) },
    { "archive_read_support_format_raw", offsetof(struct libarchive, read_support_format_raw) },
    { "archive_read_support_format_empty", offsetof(struct libarchive, read_support_format_empty) },
    { "archive_read_open", offsetof(struct libarchive, read_open) },
    { "archive_read_next_header", offsetof(struct libarchive, read_next_header) },
    { "archive_read_data_block", offsetof(struct libarchive, read_data_block) },
    { "archive_filter_bytes", offsetof(struct libarchive, filter_bytes) },
    { "archive_filter_count", offsetof(struct libarchive, filter_count) },
    { "archive_set_error", offsetof(struct libarchive, set_error) },
    { "archive_errno", offsetof(struct libarchive, error_number) },
    { "archive_error_string", offsetof(struct libarchive, error_string) },
};

/* The loader reports the reason only as text. errno was set to 0 before, and malloc() sets it to ENOMEM. */
static bool
libarchive_failed(const char *packing, struct err *err)
{
    int sys = errno;
    const char *why = dlerror();
    if (sys == ENOMEM)
        return err_set(err, ERR_LIMIT, "out of memory while loading libarchive");
    return err_set(err, ERR_UNSUPPORTED, "compressed with %s, but libarchive cannot be loaded (%s); "
        "install it, or use: %s -dc FILE | amn-inspect", packing, str_or(why, FILE_NAME), packing);
}

static bool
libarchive_load(struct libarchive *lib, const char *packing, struct err *err)
{
    errno = 0;
    lib->handle = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);
    if (!lib->handle)
        return libarchive_failed(packing, err);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *call = dlsym(lib->handle, calls[i].name);
        if (!call)
            return libarchive_failed(packing, err);
        memcpy((uint8_t *)lib + calls[i].at, &call, sizeof call);
    }
    return true;
}

#endif

bool
libarchive_open(struct libarchive *lib, const char *packing, struct err *err)
{
    return find_room(err) && libarchive_load(lib, packing, err);
}

void
libarchive_close(struct libarchive *lib)
{
    if (lib->handle)
        dlclose(lib->handle);
}
