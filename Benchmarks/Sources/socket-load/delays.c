#include <stdio.h>
#include <string.h>
#include <time.h>

#include "load.h"

// Delays by their size: a bucket is a thirty-second of its power of two wide.
enum { parts_bits = 5, buckets = 64 << parts_bits };
static uint64_t delays[buckets];

// The slowest hundredth of each tenth of a second, and the delays that were there when the last of them ended.
enum { tenths_max = 1000 };
static uint64_t tenths[tenths_max], earlier[buckets];
static int tenths_count;

void forget_delays(void) {
  memset(delays, 0, sizeof delays);
  memset(earlier, 0, sizeof earlier);
  tenths_count = 0;
}

void note_delay(uint64_t delay) {
  int top = 63 - __builtin_clzll(delay | 1 << parts_bits);
  delays[((uint64_t)(top - parts_bits) << parts_bits) + (delay >> (top - parts_bits))]++;
}

// The delays since then.
static uint64_t delay_since(const uint64_t *then, double share) {
  uint64_t all = 0, seen = 0;
  for (int at = 0; at < buckets; at++) all += delays[at] - then[at];
  for (int at = 0; at < buckets; at++) {
    seen += delays[at] - then[at];
    if (seen == 0 || (double)seen < share * (double)all) continue;
    int shift = at < 2 << parts_bits ? 0 : (at >> parts_bits) - 1;
    return (uint64_t)(at - (shift << parts_bits)) << shift;
  }
  return 0;
}

uint64_t delay_of(double share) {
  static const uint64_t never[buckets];
  return delay_since(never, share);
}

void end_tenth(void) {
  uint64_t delay = delay_since(earlier, 0.99);
  // In one in which nothing came, what is late is late in the next one.
  if (delay && tenths_count < tenths_max) tenths[tenths_count++] = delay;
  memcpy(earlier, delays, sizeof delays);
}

void print_tenths(void) {
  for (int at = 0; at < tenths_count; at++) printf(" %llu", (unsigned long long)tenths[at]);
}

uint64_t processor_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
