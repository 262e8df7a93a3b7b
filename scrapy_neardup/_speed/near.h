/* Which numbers are within k bits of another one: d & (d - 1) clears the lowest bit of d, so that
   nothing is left after k times. Several at a time where the compiler knows vectors; the same code
   is compiled again for AVX2, and the processor chooses. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define AT_ONCE 24 /* windows; a multiple of what a vector holds */
#define INLINED __attribute__((always_inline)) static inline
#define VECTOR(TYPE, BYTES)                                                                    \
    __attribute__((vector_size(BYTES), aligned(sizeof(TYPE)), may_alias)) TYPE
#define prefetch(address) __builtin_prefetch(address)
#else
#define AT_ONCE 1
#define INLINED static inline
#define VECTOR(TYPE, BYTES) TYPE
#define prefetch(address) ((void)(address))
#endif

/* NAME_any: whether any of n numbers is near the key. The last few may be compared twice.

   NAME_next: the first of entries i to n whose window is near one in its bucket. An entry is
   window << 32 | bucket << (32 - bits) | position. Windows are compared AT_ONCE, which is most
   buckets without a branch, and reaches over the end of a bucket: who finds something looks again.

   Each is compiled for k = 3, too, where the loop over bits is unrolled. */
#define DEFINE_NEAR(NAME, TARGET, BYTES)                                                       \
    typedef VECTOR(uint64_t, BYTES) NAME##_longs;                                              \
    typedef VECTOR(uint32_t, BYTES) NAME##_shorts;                                             \
    TARGET INLINED int NAME##_any_of(                                                          \
            const uint64_t *numbers, ptrdiff_t n, uint64_t key, int k) {                       \
        const ptrdiff_t lanes = sizeof(NAME##_longs) / sizeof(uint64_t);                       \
        NAME##_longs near = {0};                                                               \
        for (ptrdiff_t at = 0; at < n && n < lanes; at++) {                                    \
            uint64_t d = numbers[at] ^ key;                                                    \
            for (int bit = 0; bit < k; bit++) d &= d - 1;                                      \
            if (!d) return 1;                                                                  \
        }                                                                                      \
        for (ptrdiff_t at = 0; at < n && n >= lanes; at += lanes) {                            \
            ptrdiff_t from = at + lanes <= n ? at : n - lanes;                                 \
            NAME##_longs d = *(const NAME##_longs *)(numbers + from) ^ key;                    \
            for (int bit = 0; bit < k; bit++) d &= d - 1;                                      \
            near |= (NAME##_longs)(d == 0);                                                    \
        }                                                                                      \
        return memcmp(&near, &(NAME##_longs){0}, sizeof(near)) != 0;                           \
    }                                                                                          \
    TARGET INLINED ptrdiff_t NAME##_next_of(const uint64_t *entries, ptrdiff_t i, ptrdiff_t n, \
            const uint32_t *ends, const uint32_t *windows, int bits, int k) {                  \
        const int lanes = sizeof(NAME##_shorts) / sizeof(uint32_t);                            \
        for (; i < n; i++) {                                                                   \
            uint32_t window = (uint32_t)(entries[i] >> 32);                                    \
            uint32_t bucket = (uint32_t)entries[i] >> (32 - bits);                             \
            NAME##_shorts near = {0};                                                          \
            for (uint32_t at = ends[bucket]; at < ends[bucket + 1]; at += AT_ONCE) {           \
                for (int lane = 0; lane < AT_ONCE; lane += lanes) {                            \
                    NAME##_shorts d = *(const NAME##_shorts *)(windows + at + lane) ^ window;  \
                    for (int bit = 0; bit < k; bit++) d &= d - 1;                              \
                    near |= (NAME##_shorts)(d == 0);                                           \
                }                                                                              \
            }                                                                                  \
            if (memcmp(&near, &(NAME##_shorts){0}, sizeof(near))) return i;                    \
        }                                                                                      \
        return n;                                                                              \
    }                                                                                          \
    TARGET static inline int NAME##_any(                                                       \
            const uint64_t *numbers, ptrdiff_t n, uint64_t key, int k) {                       \
        return k == 3 ? NAME##_any_of(numbers, n, key, 3) : NAME##_any_of(numbers, n, key, k); \
    }                                                                                          \
    TARGET static inline ptrdiff_t NAME##_next(                                                \
            const uint64_t *entries, ptrdiff_t i, ptrdiff_t n,                                 \
            const uint32_t *ends, const uint32_t *windows, int bits, int k) {                  \
        return k == 3 ? NAME##_next_of(entries, i, n, ends, windows, bits, 3)                  \
                      : NAME##_next_of(entries, i, n, ends, windows, bits, k);                 \
    }

DEFINE_NEAR(plain, , 16)

#if defined(__GNUC__) && defined(__x86_64__)
DEFINE_NEAR(wide, __attribute__((target("avx2"))), 32)
#define CHOSEN(WHAT) (__builtin_cpu_supports("avx2") ? wide_##WHAT : plain_##WHAT)
#else
#define CHOSEN(WHAT) plain_##WHAT
#endif

#define any_near CHOSEN(any)
#define next_near CHOSEN(next)
