#include "chash.h"

#include <string.h>

// BLAKE3, https://github.com/BLAKE3-team/BLAKE3-specs: what is called a chunk there is a piece here, and sixteen of them
// are a chunk.

enum { BLOCK = 64, PIECE = 1024, PIECES = 16, CHUNK = PIECES * PIECE, DIGEST = 32 };
enum { FIRST = 1, LAST = 2, PARENT = 4, ROOT = 8 };

static const uint32_t start[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/// Which word each step of a round takes.
static const uint8_t order[7][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
    {3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1}, {10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
    {12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4}, {9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
    {11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13}};

// One word, or one word of each lane: numbers and vectors are added, mixed and turned alike.

#define TURN(x, bits) ((x) >> (bits) | (x) << (32 - (bits)))

// A round mixes four columns and then four diagonals, each as a step of all four at a time: none of them waits for
// another, so that the processor has something to do while one of them is on its way.

#define MIX(v, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3, x0, x1, x2, x3, y0, y1, y2, y3)    \
  HALF(v, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3, x0, x1, x2, x3, 16, 12)                \
  HALF(v, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3, y0, y1, y2, y3, 8, 7)

#define HALF(v, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3, x0, x1, x2, x3, first, second)    \
  v[0] += x0; v[1] += x1; v[2] += x2; v[3] += x3;                                                 \
  v[0] += v[b0]; v[1] += v[b1]; v[2] += v[b2]; v[3] += v[b3];                                     \
  v[d0] ^= v[0]; v[d1] ^= v[1]; v[d2] ^= v[2]; v[d3] ^= v[3];                                     \
  v[d0] = TURN(v[d0], first); v[d1] = TURN(v[d1], first);                                         \
  v[d2] = TURN(v[d2], first); v[d3] = TURN(v[d3], first);                                         \
  v[c0] += v[d0]; v[c1] += v[d1]; v[c2] += v[d2]; v[c3] += v[d3];                                 \
  v[b0] ^= v[c0]; v[b1] ^= v[c1]; v[b2] ^= v[c2]; v[b3] ^= v[c3];                                 \
  v[b0] = TURN(v[b0], second); v[b1] = TURN(v[b1], second);                                       \
  v[b2] = TURN(v[b2], second); v[b3] = TURN(v[b3], second);

#define WORD(words, i) words[order[r][i]]

#define ROUNDS(v, words)                                                                          \
  _Pragma("GCC unroll 7") for (int r = 0; r < 7; r++) {                                           \
    MIX(v, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,                                              \
        WORD(words, 0), WORD(words, 2), WORD(words, 4), WORD(words, 6),                           \
        WORD(words, 1), WORD(words, 3), WORD(words, 5), WORD(words, 7))                           \
    MIX(v, 5, 6, 7, 4, 10, 11, 8, 9, 15, 12, 13, 14,                                              \
        WORD(words, 8), WORD(words, 10), WORD(words, 12), WORD(words, 14),                        \
        WORD(words, 9), WORD(words, 11), WORD(words, 13), WORD(words, 15))                        \
  }

// Whole chunks, many pieces side by side.

#define LANES 4
#define TARGET
#define LOW_IN_TURN 0, 4, 1, 5
#define HIGH_IN_TURN 2, 6, 3, 7
#define EVEN 0, 2, 4, 6
#define ODD 1, 3, 5, 7
#include "lanes.h"

#if defined(__x86_64__)

#define LANES 8
#define TARGET __attribute__((target("avx2")))
#define LOW_IN_TURN 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_IN_TURN 4, 12, 5, 13, 6, 14, 7, 15
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD 1, 3, 5, 7, 9, 11, 13, 15
#include "lanes.h"

#define LANES 16
#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq")))
#define LOW_IN_TURN 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_IN_TURN 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#include "lanes.h"

int chash_lanes(void) {
  __builtin_cpu_init();
  const int has_512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  return has_512 ? 16 : __builtin_cpu_supports("avx2") ? 8 : 4;
}

static void chunks(const uint8_t *bytes, size_t count, int lanes, uint8_t *digests) {
  if (lanes == 16) return chunks_16(bytes, count, digests);
  if (lanes == 8) return chunks_8(bytes, count, digests);
  chunks_4(bytes, count, digests);
}

#else

int chash_lanes(void) { return 4; }

static void chunks(const uint8_t *bytes, size_t count, int lanes, uint8_t *digests) {
  (void)lanes;
  chunks_4(bytes, count, digests);
}

#endif

// The rest, one piece after the other.

static void compress(
    uint32_t chain[8], const void *block, uint32_t number, uint32_t count, uint32_t flags) {
  uint32_t words[16], v[16];
  memcpy(words, block, BLOCK);
  for (int i = 0; i < 8; i++) v[i] = chain[i];
  for (int i = 0; i < 4; i++) v[8 + i] = start[i];
  v[12] = number;
  v[13] = 0;
  v[14] = count;
  v[15] = flags;
  ROUNDS(v, words);
  for (int i = 0; i < 8; i++) chain[i] = v[i] ^ v[8 + i];
}

/// The chaining value of bytes of a chunk, of which the first piece has this number in it.
static void node(const uint8_t *bytes, size_t count, uint32_t number, uint32_t root, uint32_t chain[8]) {
  memcpy(chain, start, sizeof start);
  if (count <= PIECE) {
    uint32_t first = FIRST;
    for (; count > BLOCK; bytes += BLOCK, count -= BLOCK, first = 0) compress(chain, bytes, number, BLOCK, first);
    uint8_t last[BLOCK] = {0};
    memcpy(last, bytes, count);
    compress(chain, last, number, (uint32_t)count, first | LAST | root);
  } else {
    size_t left = PIECE;
    while (2 * left < count) left *= 2;
    uint32_t pair[2][8];
    node(bytes, left, number, 0, pair[0]);
    node(bytes + left, count - left, number + (uint32_t)(left / PIECE), 0, pair[1]);
    compress(chain, pair, 0, BLOCK, PARENT | root);
  }
}

void chash_each(const uint8_t *bytes, size_t count, int lanes, uint8_t *digests) {
  while (count >= CHUNK) {
    const size_t whole = count / CHUNK, now = whole < (size_t)lanes ? whole : (size_t)lanes;
    chunks(bytes, now, lanes, digests);
    bytes += now * CHUNK;
    count -= now * CHUNK;
    digests += now * DIGEST;
  }
  if (count == 0) return;
  uint32_t chain[8];
  node(bytes, count, 0, ROOT, chain);
  memcpy(digests, chain, DIGEST);
}
