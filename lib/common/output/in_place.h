/* in_place: a new header in a file whose tensor data stays where it is.
 *
 * The bytes that change are first kept in FILE.amn-undo, and this file is removed after they are written. If the job is killed in
 * between, the next one undoes the change.
 */
#ifndef OUTPUT_IN_PLACE_H
#define OUTPUT_IN_PLACE_H

#include "model/model.h"
#include "writer/writer.h"

/* Sets *writer to the format of a file, by its first bytes, and undoes an interrupted change of its header; *undone: there was one.
 * Fails with ERR_OPEN or ERR_IO, ERR_USAGE for what is not a regular file, ERR_MALFORMED for a damaged FILE.amn-undo, ERR_CREATE if
 * another job changes the file. */
bool in_place_begin(const struct writer **writer, bool *undone, const char *path, struct err *err);

/* Writes the header that the pieces have, and sets *changed to the number of bytes written. Fails with ERR_UNSUPPORTED if a tensor
 * would not be copied to the place that it has, or the header does not fit before it. After ERR_IO the file has its old bytes, or
 * FILE.amn-undo has. */
bool in_place_write(uint64_t *changed, const char *path, const struct model *model, const struct writer *writer,
    const struct pieces *pieces, struct err *err);

#endif
