/* proto: recognizes formats that are protobuf messages. They have no magic; their structure takes its place: every field that is
 * in view must be one of the message, with the wire type of the message. Formats and sources: foreign.c. */
#ifndef CONTAINER_PROTO_H
#define CONTAINER_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum proto_kind {
    PROTO_END,                  /* ends a list of fields */
    PROTO_NUMBER,               /* a varint */
    PROTO_FIXED,                /* 4 bytes */
    PROTO_TEXT,                 /* UTF-8 without control characters, except white space */
    PROTO_BYTES,                /* anything with a length */
    PROTO_MESSAGE
};

struct proto_field {
    uint16_t number;
    enum proto_kind kind;
    bool needed;                /* must be in view, if all of the message is, and in view in any case in the outermost one */
    const struct proto_field *of;       /* fields of the message */
};

/* Returns true if the first n bytes of a file can be the start of a message with these fields. */
bool proto_is(const uint8_t *p, size_t n, const struct proto_field *fields);

#endif
