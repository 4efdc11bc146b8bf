#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/// Puts bytes into the room, as `recv` does: how many, 0 at the end, or less than 0 for an error, as `-EAGAIN`.
typedef ssize_t (*creceive_source)(void *context, int descriptor, void *room, size_t count);

/// From here on this thread's `recv` without flags asks the source, until that is null.
void creceive_divert(creceive_source source, void *context);

/// The system's own `recv`, with an error as less than 0.
ssize_t creceive_plain(int descriptor, void *room, size_t count);

/// Whether libraries of this process come here when they call `recv`.
bool creceive_is_in_place(void);
