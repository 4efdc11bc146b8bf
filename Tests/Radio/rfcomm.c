// Raw RFCOMM between two controllers of one machine, to compare with: rfcomm SERVER CLIENT (their addresses), as root.
// Prints the round trip of 64 bytes in milliseconds, and the throughput of 4 MiB in kB/s.
#define _GNU_SOURCE
#include <bluetooth/bluetooth.h>
#include <bluetooth/rfcomm.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHANNEL = 22, PINGS = 100, PING = 64, BULK = 4 << 20, CHUNK = 4096 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void check(const char *what, long result) {
  if (result >= 0) return;
  printf("rfcomm: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int open_socket(const char *address, int channel) {
  int s = socket(AF_BLUETOOTH, SOCK_STREAM, BTPROTO_RFCOMM);
  struct sockaddr_rc a = {.rc_family = AF_BLUETOOTH, .rc_channel = channel};
  check("socket", s);
  for (int i = 0; i < 6; i++) a.rc_bdaddr.b[5 - i] = strtol(address + 3 * i, NULL, 16);
  check("bind", bind(s, (struct sockaddr *)&a, sizeof a));
  return s;
}

static void transfer(int s, char *data, long count, int sends) {
  while (count > 0) {
    long n = sends ? send(s, data, count < CHUNK ? count : CHUNK, 0) : recv(s, data, count < CHUNK ? count : CHUNK, 0);
    check(sends ? "send" : "recv", n > 0 ? n : -1);
    count -= n;
  }
}

static void serve(int listener) {
  char data[CHUNK];
  int s = accept(listener, NULL, NULL);
  check("accept", s);
  for (int i = 0; i < PINGS; i++) {
    transfer(s, data, PING, 0);
    transfer(s, data, PING, 1);
  }
  transfer(s, data, BULK, 0);
  transfer(s, data, 1, 1);
  recv(s, data, 1, 0);
}

int main(int count, char **words) {
  static char data[CHUNK];
  if (count != 3) return 2;
  int listener = open_socket(words[1], CHANNEL);
  check("listen", listen(listener, 1));
  if (fork() == 0) {
    serve(listener);
    return 0;
  }
  int s = open_socket(words[2], 0);
  struct sockaddr_rc a = {.rc_family = AF_BLUETOOTH, .rc_channel = CHANNEL};
  for (int i = 0; i < 6; i++) a.rc_bdaddr.b[5 - i] = strtol(words[1] + 3 * i, NULL, 16);
  check("connect", connect(s, (struct sockaddr *)&a, sizeof a));
  double start = now();
  for (int i = 0; i < PINGS; i++) {
    transfer(s, data, PING, 1);
    transfer(s, data, PING, 0);
  }
  double ping = (now() - start) / PINGS;
  start = now();
  for (long sent = 0; sent < BULK; sent += CHUNK) transfer(s, data, CHUNK, 1);
  transfer(s, data, 1, 0);
  printf("raw RFCOMM: round trip %.2f ms, %.0f kB/s\n", ping * 1e3, BULK / 1e3 / (now() - start));
  return 0;
}
