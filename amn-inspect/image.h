/* image: describes an image model and the GGUF file that amn-convert would make of it. */
#ifndef AMN_INSPECT_IMAGE_H
#define AMN_INSPECT_IMAGE_H

#include "family/image.h"
#include "report/inspect.h"

/* Zeroed: none. Clear it with image_clear(&d->model), also after a failure. */
struct image_description {
    struct image_model model;
    struct inspect_image shown;
    struct err refusal;
    bool found;                 /* it is an image model */
};

/* Recognizes the names of an image model. */
bool image_describe(struct image_description *d, const struct catalog *catalog, struct err *err);

#endif
