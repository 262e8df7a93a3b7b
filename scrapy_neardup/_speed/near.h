/* Which numbers are within k bits of another one: d & (d - 1) clears the lowest bit of d, so that
   nothing is left after k times. Several at a time where the compiler knows vectors, twice as
   many where the processor has AVX2. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define AT_ONCE 24 /* windows; a multiple of each vector's */

#if defined(__GNUC__)

#define INLINED __attribute__((always_inline)) static inline

#define VECTOR(TYPE, NAME, BYTES)                                                              \
    typedef TYPE NAME __attribute__((vector_size(BYTES)));                                     \
    typedef TYPE NAME##_loaded __attribute__((vector_size(BYTES), aligned(sizeof(TYPE)), may_alias))

#define ANY(NEAR, BYTES, SAYS)                                                                 \
    do {                                                                                       \
        uint64_t words[(BYTES) / 8], any = 0;                                                  \
        memcpy(words, &(NEAR), BYTES);                                                         \
        for (int word = 0; word < (BYTES) / 8; word++) any |= words[word];                     \
        SAYS = any != 0;                                                                       \
    } while (0)

/* NAME_64: whether any of n 64-bit numbers is near the key. The last few may be compared twice.

   NAME_next: the first of entries i to n whose window is near one in its bucket. An entry is
   window << 32 | bucket << (32 - bits) | position. Windows are compared AT_ONCE, which is most
   buckets without a branch, and reaches over the end of a bucket: who finds something looks again.

   Each is compiled for k = 3, too, where the loop over bits is unrolled. */
#define DEFINE_NEAR(NAME, TARGET, BYTES)                                                       \
    VECTOR(uint64_t, NAME##_long, BYTES);                                                      \
    VECTOR(uint32_t, NAME##_short, BYTES);                                                     \
    TARGET INLINED int NAME##_64_of(                                                           \
            const uint64_t *numbers, ptrdiff_t n, uint64_t key, int k) {                       \
        const ptrdiff_t lanes = (BYTES) / 8;                                                   \
        NAME##_long near = {0};                                                                \
        int says;                                                                              \
        if (n < lanes) {                                                                       \
            for (ptrdiff_t at = 0; at < n; at++) {                                             \
                uint64_t d = numbers[at] ^ key;                                                \
                for (int bit = 0; bit < k; bit++) d &= d - 1;                                  \
                if (!d) return 1;                                                              \
            }                                                                                  \
            return 0;                                                                          \
        }                                                                                      \
        for (ptrdiff_t at = 0; at < n; at += lanes) {                                          \
            ptrdiff_t from = at + lanes <= n ? at : n - lanes;                                 \
            NAME##_long d = *(const NAME##_long_loaded *)(numbers + from) ^ key;               \
            for (int bit = 0; bit < k; bit++) d &= d - 1;                                      \
            near |= (NAME##_long)(d == 0);                                                     \
        }                                                                                      \
        ANY(near, BYTES, says);                                                                \
        return says;                                                                           \
    }                                                                                          \
    TARGET INLINED ptrdiff_t NAME##_next_of(const uint64_t *entries, ptrdiff_t i, ptrdiff_t n, \
            const uint32_t *ends, const uint32_t *windows, int bits, int k) {                  \
        for (; i < n; i++) {                                                                   \
            uint32_t window = (uint32_t)(entries[i] >> 32);                                    \
            uint32_t bucket = (uint32_t)entries[i] >> (32 - bits);                             \
            NAME##_short near = {0};                                                           \
            int says;                                                                          \
            for (uint32_t at = ends[bucket]; at < ends[bucket + 1]; at += AT_ONCE) {           \
                _Pragma("GCC unroll 6")                                                        \
                for (int lane = 0; lane < AT_ONCE; lane += (BYTES) / 4) {                      \
                    NAME##_short d =                                                           \
                        *(const NAME##_short_loaded *)(windows + at + lane) ^ window;          \
                    for (int bit = 0; bit < k; bit++) d &= d - 1;                              \
                    near |= (NAME##_short)(d == 0);                                            \
                }                                                                              \
            }                                                                                  \
            ANY(near, BYTES, says);                                                            \
            if (says) return i;                                                                \
        }                                                                                      \
        return n;                                                                              \
    }                                                                                          \
    TARGET static inline int NAME##_64(                                                        \
            const uint64_t *numbers, ptrdiff_t n, uint64_t key, int k) {                       \
        return k == 3 ? NAME##_64_of(numbers, n, key, 3) : NAME##_64_of(numbers, n, key, k);   \
    }                                                                                          \
    TARGET static inline ptrdiff_t NAME##_next(                                                \
            const uint64_t *entries, ptrdiff_t i, ptrdiff_t n,                                 \
            const uint32_t *ends, const uint32_t *windows, int bits, int k) {                  \
        return k == 3 ? NAME##_next_of(entries, i, n, ends, windows, bits, 3)                  \
                      : NAME##_next_of(entries, i, n, ends, windows, bits, k);                 \
    }

#else

#define DEFINE_NEAR(NAME, TARGET, BYTES)                                                       \
    static int NAME##_64(const uint64_t *numbers, ptrdiff_t n, uint64_t key, int k) {          \
        for (ptrdiff_t at = 0; at < n; at++) {                                                 \
            uint64_t d = numbers[at] ^ key;                                                    \
            for (int bit = 0; bit < k; bit++) d &= d - 1;                                      \
            if (!d) return 1;                                                                  \
        }                                                                                      \
        return 0;                                                                              \
    }                                                                                          \
    static ptrdiff_t NAME##_next(const uint64_t *entries, ptrdiff_t i, ptrdiff_t n,            \
            const uint32_t *ends, const uint32_t *windows, int bits, int k) {                  \
        for (; i < n; i++) {                                                                   \
            uint32_t window = (uint32_t)(entries[i] >> 32);                                    \
            uint32_t bucket = (uint32_t)entries[i] >> (32 - bits);                             \
            for (uint32_t at = ends[bucket]; at < ends[bucket + 1]; at++) {                    \
                uint32_t d = windows[at] ^ window;                                             \
                for (int bit = 0; bit < k; bit++) d &= d - 1;                                  \
                if (!d) return i;                                                              \
            }                                                                                  \
        }                                                                                      \
        return n;                                                                              \
    }

#endif

DEFINE_NEAR(near_16, , 16)

#if defined(__GNUC__) && defined(__x86_64__)
DEFINE_NEAR(near_32, __attribute__((target("avx2"))), 32)
#define CHOSEN(WHAT) (__builtin_cpu_supports("avx2") ? near_32_##WHAT : near_16_##WHAT)
#else
#define CHOSEN(WHAT) near_16_##WHAT
#endif

#define any_near CHOSEN(64)
#define next_near CHOSEN(next)

#if defined(__GNUC__)
#define prefetch(address) __builtin_prefetch(address)
#else
#define prefetch(address) ((void)(address))
#endif
