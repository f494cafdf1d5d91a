/* x^a for arrays of positive floats, in code that the compiler turns into vector instructions of whatever processor.
 *
 * 2^(a log2 x), both from polynomials. Only +, -, * and conversions, each rounded for itself (built without contraction
 * to fused operations), so all processors give the same bits. The relative error is below 5e-6 for x from 1e-26 to 1e26
 * and a from 0 to 1, and grows with |a log2 x|. */
#include <math.h>
#include <string.h>

#include "replay.h"

static inline float power(float x, float a)
{
    /* x = 2^e m with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh(s), s = (m - 1) / (m + 1) */
    uint32_t bits;
    memcpy(&bits, &x, 4);
    int32_t e = (int32_t)(bits - 0x3f3504f3u) >> 23;
    bits -= (uint32_t)e << 23;
    float m;
    memcpy(&m, &bits, 4);
    float s = (m - 1.0f) / (m + 1.0f), z = s * s;
    float series = ((0.41219858f * z + 0.57707802f) * z + 0.96179669f) * z + 2.88539008f;
    float y = a * ((float)e + s * series);
    y = y < -126.0f ? -126.0f : y > 127.0f ? 127.0f : y;
    /* 2^y = 2^k 2^f with f in [-1/2, 1/2] */
    float k = (y + 12582912.0f) - 12582912.0f, f = y - k;
    float p = ((((((1.5252734e-5f * f + 1.5403530e-4f) * f + 1.3333558e-3f) * f + 9.6181291e-3f) * f + 5.5504109e-2f) * f + 2.4022651e-1f) * f +
               6.9314718e-1f) * f + 1.0f;
    uint32_t scale = (uint32_t)((int32_t)k + 127) << 23;
    float two_k;
    memcpy(&two_k, &scale, 4);
    return p * two_k;
}

void rx__powers(int64_t n, const float *restrict x, float add, float exponent, float *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        float v = x[i] + add;
        float p = power(v, exponent);
        out[i] = v > 0.0f ? p : 0.0f;
    }
}
