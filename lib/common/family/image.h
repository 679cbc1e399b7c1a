/* image: image models (Stable Diffusion, FLUX, Wan ...) as GGUF: which family the names of a file have, and what its tensors become.
 * Source: tools/convert.py, fix_5d_tensors.py and lcpp.patch of ComfyUI-GGUF (branch auto_convert, 4dfc025). */
#ifndef FAMILY_IMAGE_H
#define FAMILY_IMAGE_H

#include "family/family.h"
#include "model/model.h"
#include "plan/choice.h"
#include "writer/keys.h"

struct image_options {
    const struct model_family *given;   /* use this family, without detection; or NULL; borrowed */
    bool foreign;                       /* it is not built in */
    bool keep_shapes;                   /* do not write tensors in rows of another length */
    bool keep_types;                    /* the user chose the type of all floats */
};

/* A zeroed struct holds no image model. */
struct image_model {
    const struct model_family *family;  /* NULL: no image model */
    struct model_family *own;           /* the same if it was found, NULL if it was given; owned */
    bool foreign;                       /* the family is not built in */
    const struct family_prefix *prefix; /* where its names begin, or NULL */
    struct keys keys;                   /* of the GGUF file; empty if the file keeps its own */
    size_t nleft;                       /* tensors of other models in the file, nbytes_left of them; the first: */
    uint64_t nbytes_left;
    struct tensor first_left;
    size_t nreshaped;
};

/* Finds the family of a model by the names of a choice, or, if a GGUF file declares one, by its architecture; none if it is
 * a language model, or no family has its names. Fails with ERR_UNSUPPORTED for names of diffusers; for names of an image model
 * that no family knows, or of an adapter; with ERR_MALFORMED if the given family lacks a name. `choice` NULL: by the names in the
 * catalog, and unknown names do not fail. Clear it also after a failure. */
bool image_open(struct image_model *image, const struct catalog *catalog, const struct choice *choice,
    const struct image_options *how, struct err *err);

/* Replaces the chosen tensors by those of the GGUF file: without other models, with names, types and shapes of the family, and makes
 * the keys. Fails with ERR_UNSUPPORTED if a tensor cannot be stored, with ERR_MALFORMED if two get one name. */
bool image_choose(struct image_model *image, struct model *model, struct choice *choice, const struct image_options *how,
    struct err *err);

/* Returns true if a tensor, by its name in the file, belongs to the model, not to another one in the file. */
bool image_owns(const struct image_model *image, const struct tensor *t);

/* Gives tensors of a GGUF file the shapes that its keys comfy.gguf.orig_shape.NAME say. Fails with ERR_MALFORMED if one has another
 * number of elements. */
bool image_restore(struct choice *choice, struct model *model, struct err *err);

void image_clear(struct image_model *image);

#endif
