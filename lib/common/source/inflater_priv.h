/* inflater: decompresses one deflated member of an archive, from its first byte to its last. The stream must end exactly
 * with the declared size of the member, both compressed and uncompressed. */
#ifndef SOURCE_INFLATER_PRIV_H
#define SOURCE_INFLATER_PRIV_H

#include "source/zip.h"

enum { INFLATER_STEP = 64 << 10 };

/* Reads exactly n bytes of the archive. */
typedef bool read_archive(void *of, uint64_t at, void *buf, size_t n, struct err *err);

struct inflater;

/* Makes an inflater that reads `step` compressed bytes at a time, at most INFLATER_STEP. Returns NULL if out of memory. */
struct inflater *inflater_new(size_t step, struct err *err);
void inflater_free(struct inflater *f);                 /* NULL is allowed */

/* Begins member m, which is borrowed. With `check`, its CRC-32 is verified at its end. */
void inflater_begin(struct inflater *f, const struct zip_member *m, bool check);

/* Produces the next 1 to n bytes of the member, which must not have ended. */
bool inflater_some(struct inflater *f, read_archive *read, void *of, uint8_t *buf, size_t n, size_t *got, struct err *err);

/* Fails with ERR_MALFORMED because the CRC-32 of the member is wrong. */
bool inflater_bad_crc(const struct zip_member *m, struct err *err);

#endif
