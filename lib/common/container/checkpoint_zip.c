#include "container/archive_priv.h"

bool
checkpoint_zip_read(struct catalog *c, struct source *src, struct zip *zip, uint32_t file, const struct limits *limits,
    struct err *err)
{
    (void)c, (void)src, (void)zip, (void)file, (void)limits;
    return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "this is a PyTorch checkpoint (ZIP), which is not supported yet: "
        "look for the same model as safetensors or GGUF");
}
