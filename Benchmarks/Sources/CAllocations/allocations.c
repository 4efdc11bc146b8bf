// The allocator's entry points, counted and handed on to glibc. An executable's own definitions come before those of the
// libraries it loads, so the Swift runtime and OpenSSL call these too. The count is of each thread, exact and without a
// lock. Freeing is not counted, and a resize is: it may move the memory.

#include <errno.h>
#include <malloc.h>
#include <stddef.h>

#include "CAllocations.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static _Thread_local uint64_t count_of_this_thread;

uint64_t allocations_of_this_thread(void) { return count_of_this_thread; }

uint64_t allocated_bytes(void) {
  struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
}

void *malloc(size_t size) {
  count_of_this_thread += 1;
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  count_of_this_thread += 1;
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  count_of_this_thread += 1;
  return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
  count_of_this_thread += 1;
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  void *found = memalign(alignment, size);
  if (found == NULL) return ENOMEM;
  *memory = found;
  return 0;
}
