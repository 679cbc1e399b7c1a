/* A model of whisper.cpp, and everything computed from its header and records. */
#include "model_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (container_ggml.probe(p, n, n))
        model_fuzz(&container_ggml, p, n, true);
    return 0;
}
