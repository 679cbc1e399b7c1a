/* A GGUF header, and everything computed from it. */
#include "model_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    model_fuzz(&container_gguf, p, n, true);
    model_fuzz(&container_gguf, p, n, false);
    return 0;
}
