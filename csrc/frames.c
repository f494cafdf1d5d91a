#include "frames.h"

uint32_t rx__frame_check(const rx__crcs *crcs, const rx__frame *f, const void *body)
{
    rx__frame plain = *f;
    plain.check = 0;
    return rx__crc(crcs, rx__crc(crcs, 0, &plain, sizeof plain), body, f->size);
}
