#pragma once

#include <stdint.h>

/// How often the calling thread has asked for memory since it started.
uint64_t allocations_of_this_thread(void);

/// The bytes that all threads hold now, with what the allocator adds to each piece.
uint64_t allocated_bytes(void);
