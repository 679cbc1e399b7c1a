#include "hf/back/stub.h"

bool
family_back_choose(struct choice *choice, const struct family_tensors *how, struct err *err)
{
    (void)choice, (void)how, (void)err;
    return true;
}
