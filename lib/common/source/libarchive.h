/* libarchive: its functions, from a library that is loaded when the first input needs it.
 *
 * It is not linked because it depends on a dozen libraries, which cost every process 3 MiB and two milliseconds. Static
 * tools, which have no loader, do link it (LIBARCHIVE_LINKED).
 */
#ifndef SOURCE_LIBARCHIVE_H
#define SOURCE_LIBARCHIVE_H

#include <archive.h>
#include <stdbool.h>

#include "base/err.h"

struct libarchive {
    void *handle;
    __typeof__(&archive_read_new) read_new;
    __typeof__(&archive_read_free) read_free;
    __typeof__(&archive_read_support_filter_zstd) read_support_filter_zstd;
    __typeof__(&archive_read_support_filter_xz) read_support_filter_xz;
    __typeof__(&archive_read_support_format_raw) read_support_format_raw;
    __typeof__(&archive_read_support_format_empty) read_support_format_empty;
    __typeof__(&archive_read_open) read_open;
    __typeof__(&archive_read_next_header) read_next_header;
    __typeof__(&archive_read_data_block) read_data_block;
    __typeof__(&archive_filter_bytes) filter_bytes;
    __typeof__(&archive_filter_count) filter_count;
    __typeof__(&archive_set_error) set_error;
    __typeof__(&archive_errno) error_number;
    __typeof__(&archive_error_string) error_string;
};

/* Loads it for an input compressed with `packing`, which is also the name of a command. Fails with ERR_UNSUPPORTED if the
 * library is not installed or lacks a function. Close it after a failure, too. */
bool libarchive_open(struct libarchive *lib, const char *packing, struct err *err);
void libarchive_close(struct libarchive *lib);

#endif
