// Whole chunks, LANES pieces of them side by side, each in its element of every vector; included once for each number.

#define GLUE_(name, lanes) name##lanes
#define GLUE(name, lanes) GLUE_(name, lanes)
#define WIDE(name) GLUE(name, LANES)
#define VECTOR WIDE(vector_)
#define EACH for (int i = 0; i < LANES; i++)

typedef uint32_t VECTOR __attribute__((vector_size(4 * LANES)));

/// Rows become columns: each round deals the rows of both halves out in turn, as a perfect shuffle deals cards.
TARGET static inline void WIDE(transpose_)(VECTOR rows[LANES]) {
  VECTOR dealt[LANES];
  for (int round = 1; round < LANES; round *= 2) {
    for (int i = 0; i < LANES / 2; i++) {
      dealt[2 * i] = __builtin_shufflevector(rows[i], rows[i + LANES / 2], LOW_IN_TURN);
      dealt[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + LANES / 2], HIGH_IN_TURN);
    }
    EACH rows[i] = dealt[i];
  }
}

TARGET static inline void WIDE(compress_)(
    VECTOR chain[8], const VECTOR words[16], VECTOR number, uint32_t flags) {
  const VECTOR zero = {0};
  VECTOR v[16];
  for (int i = 0; i < 8; i++) v[i] = chain[i];
  for (int i = 0; i < 4; i++) v[8 + i] = zero + start[i];
  v[12] = number;
  v[13] = zero;
  v[14] = zero + BLOCK;
  v[15] = zero + flags;
  ROUNDS(v, words);
  for (int i = 0; i < 8; i++) chain[i] = v[i] ^ v[8 + i];
}

/// The chaining values of LANES pieces in a row, of which the first has this number in its chunk.
TARGET static void WIDE(pieces_)(const uint8_t *bytes, uint32_t number, VECTOR chain[8]) {
  VECTOR numbers;
  EACH numbers[i] = number + (uint32_t)i;
  for (int i = 0; i < 8; i++) chain[i] = (VECTOR){0} + start[i];
  for (size_t at = 0; at < PIECE; at += BLOCK) {
    VECTOR words[16];
    for (int part = 0; part < 16; part += LANES) {
      EACH memcpy(&words[part + i], bytes + i * PIECE + at + 4 * part, sizeof(VECTOR));
      WIDE(transpose_)(words + part);
    }
    // The processor does not see so many places coming; where nothing follows, nothing is fetched.
    EACH __builtin_prefetch(bytes + CHUNK + i * PIECE + at);
    WIDE(compress_)(chain, words, numbers, (at == 0 ? FIRST : 0) | (at + BLOCK == PIECE ? LAST : 0));
  }
}

/// The parents of twice LANES of them.
TARGET static void WIDE(parents_)(const VECTOR first[8], const VECTOR second[8], uint32_t flags, VECTOR chain[8]) {
  VECTOR words[16];
  for (int i = 0; i < 8; i++) {
    words[i] = __builtin_shufflevector(first[i], second[i], EVEN);
    words[8 + i] = __builtin_shufflevector(first[i], second[i], ODD);
  }
  for (int i = 0; i < 8; i++) chain[i] = (VECTOR){0} + start[i];
  WIDE(compress_)(chain, words, (VECTOR){0}, PARENT | flags);
}

/// At most LANES chunks in a row. A vector of which there is no second one is its own: nobody asks for what comes of that.
TARGET static void WIDE(chunks_)(const uint8_t *bytes, size_t count, uint8_t *digests) {
  VECTOR chains[PIECES][8];
  size_t vectors = count * PIECES / LANES;
  for (size_t i = 0; i < vectors; i++) {
    WIDE(pieces_)(bytes + i * LANES * PIECE, (uint32_t)(i * LANES % PIECES), chains[i]);
  }
  for (int left = PIECES; left > 1; left /= 2) {
    const uint32_t flags = left == 2 ? ROOT : 0;
    for (size_t i = 0; 2 * i < vectors; i++) {
      const size_t second = 2 * i + 1 < vectors ? 2 * i + 1 : 2 * i;
      WIDE(parents_)(chains[2 * i], chains[second], flags, chains[i]);
    }
    vectors = (vectors + 1) / 2;
  }
  for (size_t i = 0; i < count; i++) {
    uint32_t words[8];
    for (int word = 0; word < 8; word++) words[word] = chains[0][word][i];
    memcpy(digests + DIGEST * i, words, DIGEST);
  }
}

#undef GLUE_
#undef GLUE
#undef WIDE
#undef VECTOR
#undef EACH
#undef LANES
#undef TARGET
#undef LOW_IN_TURN
#undef HIGH_IN_TURN
#undef EVEN
#undef ODD
