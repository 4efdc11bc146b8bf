// zlib 1.2.
#pragma once

// Without what it has for files: that would bring in headers of the system, whose types Swift then takes for zlib's.
#define Z_SOLO
#include <zlib.h>

// Macros, which Swift does not see. 15 bits of window, and 16 for a gzip header around.

static inline int CZlib_deflate_init_gzip(z_stream *stream, int level) {
  return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

static inline int CZlib_inflate_init_gzip(z_stream *stream) { return inflateInit2(stream, 15 + 16); }
