#pragma once

#include <stdint.h>

/// How often the calling thread has asked for memory since it started.
uint64_t allocations_of_this_thread(void);
