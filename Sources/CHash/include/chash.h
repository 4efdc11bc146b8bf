#pragma once

#include <stddef.h>
#include <stdint.h>

/// The BLAKE3 of each 16 KiB in a row, and of what is left at the end: 32 bytes for each. Without bytes there are none.
///
/// `lanes` is how many pieces are hashed side by side: what `chash_lanes` says, or less.
void chash_each(const uint8_t *bytes, size_t count, int lanes, uint8_t *digests);

/// How many this processor has room for: 4, 8 or 16.
int chash_lanes(void);
