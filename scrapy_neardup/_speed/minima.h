/* Minima of a document's shingle hashes: under one permutation whose range is cut into bins, and
   under linear permutations x -> factor * x + summand (mod 2^64). `fingerprints/batch.py` says what
   the results are. The same code is compiled again for AVX2 and AVX-512, and the processor
   chooses. */

#include <stddef.h>
#include <stdint.h>

#define RANK_BITS 53
#define RANK (((uint64_t)1 << RANK_BITS) - 1)
#define THROW_STEP 0x9E3779B97F4A7C15u
#define BLOCK 256 /* hashes rehashed at once */
#define LANES 32  /* permutations whose minima are held in registers */

static inline uint64_t mixed(uint64_t value) {
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

/* Each bin's minimum over the n hashes; a bin that a throw leaves empty takes the next one's.

   A throw is told by the bits above RANK, so that an earlier one is always less. */
#define DEFINE_BINNED(NAME, TARGET)                                                            \
    TARGET static void NAME(                                                                   \
            const uint64_t *hashes, ptrdiff_t n, uint64_t *least, ptrdiff_t bins) {            \
        uint64_t rehashed[BLOCK];                                                              \
        ptrdiff_t left = 0;                                                                    \
        int shift = 64; /* leaves the number of a hash's bin */                                \
        for (ptrdiff_t rest = bins; rest > 1; rest >>= 1) shift--;                             \
        for (ptrdiff_t bin = 0; bin < bins; bin++) least[bin] = UINT64_MAX;                    \
        for (ptrdiff_t i = 0; i < n; i++) {                                                    \
            uint64_t rank = hashes[i] & RANK, *bin = least + (hashes[i] >> shift);             \
            *bin = rank < *bin ? rank : *bin;                                                  \
        }                                                                                      \
        for (ptrdiff_t bin = 0; bin < bins; bin++) left += least[bin] == UINT64_MAX;           \
        for (uint64_t turn = 1; left && turn < (uint64_t)bins; turn++) {                       \
            const uint64_t tag = turn << RANK_BITS;                                            \
            for (ptrdiff_t start = 0; start < n; start += BLOCK) {                             \
                ptrdiff_t size = n - start < BLOCK ? n - start : BLOCK;                        \
                for (ptrdiff_t i = 0; i < size; i++)                                           \
                    rehashed[i] = mixed(hashes[start + i] + turn * THROW_STEP);                \
                for (ptrdiff_t i = 0; i < size; i++) {                                         \
                    uint64_t *bin = least + (rehashed[i] >> shift);                            \
                    if (*bin < tag) continue;                                                  \
                    uint64_t rank = (rehashed[i] & RANK) | tag;                                \
                    left -= *bin == UINT64_MAX;                                                \
                    if (rank < *bin) *bin = rank;                                              \
                }                                                                              \
            }                                                                                  \
        }                                                                                      \
        for (ptrdiff_t bin = 0; left && bin < bins; bin++) {                                   \
            if (least[bin] != UINT64_MAX) continue;                                            \
            for (ptrdiff_t i = 0; i < n; i++) {                                                \
                uint64_t rank = mixed(hashes[i] + (uint64_t)(bin + bins) * THROW_STEP) & RANK; \
                rank |= (uint64_t)bins << RANK_BITS;                                           \
                if (rank < least[bin]) least[bin] = rank;                                      \
            }                                                                                  \
        }                                                                                      \
    }

/* The minimum under each of `count` permutations. */
#define DEFINE_PERMUTED(NAME, TARGET)                                                          \
    TARGET static void NAME(                                                                   \
            const uint64_t *hashes, ptrdiff_t n, const uint64_t *factors,                      \
            const uint64_t *summands, uint64_t *least, ptrdiff_t count) {                      \
        for (ptrdiff_t j = 0; j < count; j++) {                                                \
            uint64_t best = UINT64_MAX;                                                        \
            for (ptrdiff_t i = 0; i < n; i++) {                                                \
                uint64_t value = factors[j] * hashes[i] + summands[j];                         \
                best = value < best ? value : best;                                            \
            }                                                                                  \
            least[j] = best;                                                                   \
        }                                                                                      \
    }

DEFINE_BINNED(binned_plain, )
DEFINE_PERMUTED(permuted_plain, )

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>

#define WIDE __attribute__((target("avx512f,avx512dq"), optimize("O3")))
DEFINE_BINNED(binned_wide, WIDE)
DEFINE_PERMUTED(permuted_rest, WIDE)

WIDE static void permuted_wide(
        const uint64_t *hashes, ptrdiff_t n, const uint64_t *factors, const uint64_t *summands,
        uint64_t *least, ptrdiff_t count) {
    ptrdiff_t j = 0;
    for (; j + LANES <= count; j += LANES) {
        __m512i factor[LANES / 8], summand[LANES / 8], best[LANES / 8];
        for (int lane = 0; lane < LANES / 8; lane++) {
            factor[lane] = _mm512_loadu_si512(factors + j + 8 * lane);
            summand[lane] = _mm512_loadu_si512(summands + j + 8 * lane);
            best[lane] = _mm512_set1_epi64(-1);
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            __m512i hash = _mm512_set1_epi64((long long)hashes[i]);
            for (int lane = 0; lane < LANES / 8; lane++)
                best[lane] = _mm512_min_epu64(best[lane],
                    _mm512_add_epi64(_mm512_mullo_epi64(hash, factor[lane]), summand[lane]));
        }
        for (int lane = 0; lane < LANES / 8; lane++)
            _mm512_storeu_si512(least + j + 8 * lane, best[lane]);
    }
    permuted_rest(hashes, n, factors + j, summands + j, least + j, count - j);
}

#define IS_WIDE __builtin_cpu_supports("avx512dq")
#define fill_binned (IS_WIDE ? binned_wide : binned_plain)
#define fill_permuted (IS_WIDE ? permuted_wide : permuted_plain)
#else
#define fill_binned binned_plain
#define fill_permuted permuted_plain
#endif
