#include "pipeline/audit.h"

#include "base/bytes.h"
#include "base/num.h"

enum { STEP = 16 << 10 };

/* Exponent and mantissa of a float type, as bits of its code. */
struct masks {
    uint32_t exponent, mantissa;
};

static bool
masks_of(enum dtype dtype, struct masks *m)
{
    switch (dtype) {
    case DTYPE_F32:     *m = (struct masks){ 0x7F800000, 0x007FFFFF }; return true;
    case DTYPE_BF16:    *m = (struct masks){ 0x7F80, 0x007F };         return true;
    case DTYPE_F16:     *m = (struct masks){ 0x7C00, 0x03FF };         return true;
    default:            return false;
    }
}

static uint32_t
code_at(const uint8_t *p, size_t size, bool big_endian)
{
    if (size == 2)
        return big_endian ? load_be16(p) : load_le16(p);
    return big_endian ? load_be32(p) : load_le32(p);
}

static bool
count(struct audit *audit, const struct model *model, const struct tensor *t, struct err *err)
{
    uint8_t buf[STEP];
    struct masks m;
    if (!masks_of(t->dtype, &m))
        return true;
    size_t size = dtype_facts(t->dtype)->bytes;
    for (uint64_t done = 0; done < t->extent.nbytes;) {
        size_t n = (size_t)num_min(STEP, t->extent.nbytes - done);
        if (!source_read(model->src[t->extent.file], t->extent.at + done, buf, n, err))
            return false;
        for (size_t i = 0; i < n; i += size) {
            uint32_t code = code_at(buf + i, size, t->big_endian);
            if ((code & m.exponent) == m.exponent)
                *(code & m.mantissa ? &audit->nan : &audit->infinite) += 1;
        }
        done += n;
    }
    return true;
}

bool
audit_scales(struct audit *audit, const struct model *model, const struct roles *roles, struct err *err)
{
    *audit = (struct audit){ 0 };
    for (size_t i = 0; i < roles_weight_count(roles); i++)
        for (unsigned p = 1; p < SCHEME_PARTS; p++) {
            const struct tensor *t = roles_weight(roles, i)->part[p];
            if (t && !count(audit, model, t, err))
                return false;
        }
    return true;
}
