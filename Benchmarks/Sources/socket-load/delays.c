#include <string.h>
#include <time.h>

#include "load.h"

// Delays by their size: a bucket is a thirty-second of its power of two wide.
enum { parts_bits = 5, buckets = 64 << parts_bits };
static uint64_t delays[buckets];

void forget_delays(void) { memset(delays, 0, sizeof delays); }

void note_delay(uint64_t delay) {
  int top = 63 - __builtin_clzll(delay | 1 << parts_bits);
  delays[((uint64_t)(top - parts_bits) << parts_bits) + (delay >> (top - parts_bits))]++;
}

uint64_t delay_of(double share) {
  uint64_t all = 0, seen = 0;
  for (int at = 0; at < buckets; at++) all += delays[at];
  for (int at = 0; at < buckets; at++) {
    seen += delays[at];
    if (seen == 0 || (double)seen < share * (double)all) continue;
    int shift = at < 2 << parts_bits ? 0 : (at >> parts_bits) - 1;
    return (uint64_t)(at - (shift << parts_bits)) << shift;
  }
  return 0;
}

uint64_t processor_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
