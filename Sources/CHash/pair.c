#include "chash.h"

#include <string.h>

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define LANES 2
#define BLOCK 64
#define EACH for (int lane = 0; lane < LANES; lane++)
#define WITH_SHA __attribute__((target("sha,sse4.1")))

// FIPS 180-4, section 4.2.2.
static const uint32_t constants[64] __attribute__((aligned(16))) = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/// The eight words as the instructions want them: a, b, e, f in one register, c, d, g, h in the other.
struct state {
  __m128i abef[LANES], cdgh[LANES];
};

bool chash_can_pair(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1)) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

WITH_SHA static void take(struct state *state, const uint8_t *blocks[LANES], size_t count) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0bULL, 0x0405060700010203ULL);
  for (; count > 0; count--) {
    __m128i abef[LANES], cdgh[LANES], words[4][LANES], sum[LANES];
    EACH {
      abef[lane] = state->abef[lane];
      cdgh[lane] = state->cdgh[lane];
    }
#pragma GCC unroll 16
    for (int group = 0; group < 16; group++) {
      __m128i *now = words[group & 3], *last = words[(group + 3) & 3], *before = words[(group + 2) & 3];
      EACH {
        if (group < 4) {
          now[lane] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(blocks[lane] + 16 * group)), big_endian);
        } else {
          __m128i mixed = _mm_sha256msg1_epu32(now[lane], words[(group + 1) & 3][lane]);
          mixed = _mm_add_epi32(mixed, _mm_alignr_epi8(last[lane], before[lane], 4));
          now[lane] = _mm_sha256msg2_epu32(mixed, last[lane]);
        }
        sum[lane] = _mm_add_epi32(now[lane], _mm_load_si128((const __m128i *)(constants + 4 * group)));
      }
      EACH cdgh[lane] = _mm_sha256rnds2_epu32(cdgh[lane], abef[lane], sum[lane]);
      EACH abef[lane] = _mm_sha256rnds2_epu32(abef[lane], cdgh[lane], _mm_shuffle_epi32(sum[lane], 0x0e));
    }
    EACH {
      state->abef[lane] = _mm_add_epi32(state->abef[lane], abef[lane]);
      state->cdgh[lane] = _mm_add_epi32(state->cdgh[lane], cdgh[lane]);
      blocks[lane] += BLOCK;
    }
  }
}

WITH_SHA static void put(__m128i abef, __m128i cdgh, uint8_t *digest) {
  uint32_t x[4], y[4];
  _mm_storeu_si128((__m128i *)x, abef);
  _mm_storeu_si128((__m128i *)y, cdgh);
  const uint32_t words[8] = {x[3], x[2], y[3], y[2], x[1], x[0], y[1], y[0]};
  for (int i = 0; i < 8; i++) {
    const uint32_t word = __builtin_bswap32(words[i]);
    memcpy(digest + 4 * i, &word, 4);
  }
}

WITH_SHA void chash_pair(
    uint8_t label, const uint8_t *first, const uint8_t *second, size_t count, uint8_t *first_digest,
    uint8_t *second_digest) {
  struct state state;
  EACH {
    state.abef[lane] = _mm_set_epi32(0x6a09e667, (int)0xbb67ae85, 0x510e527f, (int)0x9b05688c);
    state.cdgh[lane] = _mm_set_epi32(0x3c6ef372, (int)0xa54ff53a, 0x1f83d9ab, 0x5be0cd19);
  }
  const uint8_t *messages[LANES] = {first, second};
  const uint8_t *blocks[LANES];
  uint8_t edge[LANES][2 * BLOCK];
  size_t taken = 0;
  // The label and what fills up the first block; then whole blocks where they lie.
  if (count + 1 >= BLOCK) {
    taken = BLOCK - 1;
    EACH {
      edge[lane][0] = label;
      memcpy(edge[lane] + 1, messages[lane], taken);
      blocks[lane] = edge[lane];
    }
    take(&state, blocks, 1);
    EACH blocks[lane] = messages[lane] + taken;
    take(&state, blocks, (count - taken) / BLOCK);
    taken += (count - taken) / BLOCK * BLOCK;
  }
  // What is left, a one, zeros, and how many bits there were.
  const size_t rest = count - taken, labels = taken == 0 ? 1 : 0;
  const size_t end = rest + labels + 1 + 8 > BLOCK ? 2 * BLOCK : BLOCK;
  const uint64_t bits = __builtin_bswap64((count + 1) * 8);
  EACH {
    memset(edge[lane], 0, end);
    edge[lane][0] = label;
    if (rest > 0) memcpy(edge[lane] + labels, messages[lane] + taken, rest);
    edge[lane][labels + rest] = 0x80;
    memcpy(edge[lane] + end - 8, &bits, 8);
    blocks[lane] = edge[lane];
  }
  take(&state, blocks, end / BLOCK);
  put(state.abef[0], state.cdgh[0], first_digest);
  put(state.abef[1], state.cdgh[1], second_digest);
}

#else

bool chash_can_pair(void) { return false; }

void chash_pair(
    uint8_t label, const uint8_t *first, const uint8_t *second, size_t count, uint8_t *first_digest,
    uint8_t *second_digest) {
  (void)label, (void)first, (void)second, (void)count, (void)first_digest, (void)second_digest;
  __builtin_trap();
}

#endif
