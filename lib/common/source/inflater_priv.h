/* inflater: the bytes of one deflated member of an archive, from its first to its last. The stream must end with the last
 * byte that the member has, and with the last one in the archive. */
#ifndef SOURCE_INFLATER_PRIV_H
#define SOURCE_INFLATER_PRIV_H

#include "source/zip.h"

enum { INFLATER_STEP = 64 << 10 };

/* Exactly n bytes of the archive. */
typedef bool read_archive(void *of, uint64_t at, void *buf, size_t n, struct err *err);

struct inflater;

/* It reads `step` compressed bytes at a time, INFLATER_STEP at most. NULL: no memory. */
struct inflater *inflater_new(size_t step, struct err *err);
void inflater_free(struct inflater *f);                 /* takes NULL */

/* From now on it is about m, borrowed; its CRC-32 is looked at when it has come to its end if `check`. */
void inflater_begin(struct inflater *f, const struct zip_member *m, bool check);

/* The next bytes of the member, at most n, one at least; it has more. */
bool inflater_some(struct inflater *f, read_archive *read, void *of, uint8_t *buf, size_t n, size_t *got, struct err *err);

/* ERR_MALFORMED: its bytes are others. */
bool inflater_bad_crc(const struct zip_member *m, struct err *err);

#endif
