#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether this processor has the instructions that `chash_pair` is made of.
bool chash_can_pair(void);

/// The SHA-256 of two messages of one length, which each begin with the same byte, side by side: of the processor's
/// instructions for it each waits for the one before, and those of the other message go in between.
void chash_pair(
    uint8_t label, const uint8_t *first, const uint8_t *second, size_t count, uint8_t *first_digest,
    uint8_t *second_digest);
