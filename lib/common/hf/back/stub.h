/* stub: stands for the tensor rows until they are there. */
#ifndef HF_BACK_STUB_H
#define HF_BACK_STUB_H

#include "hf/family/scope.h"
#include "model/model.h"
#include "plan/choice.h"

struct family_tensors {
    const struct model_family *family;
    struct scope *scope;
    struct model *model;
    enum dtype matrices;
    bool exact;
    bool mtp_only;
    bool allow_missing, skip_unknown;
};
bool family_back_choose(struct choice *choice, const struct family_tensors *how, struct err *err);

struct family_sources { struct model *model; };
bool family_sources_of_catalog(struct family_sources **s, const struct model_family *family, struct model *model, struct err *err);
struct scope_tensors family_sources_scope(struct family_sources *s);
void family_sources_free(struct family_sources *s);

#endif
