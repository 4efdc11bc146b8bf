// Raw RFCOMM between two controllers of one machine, to compare with: rfcomm SERVER CLIENT (their addresses), as root.
// Prints the median round trip of 64 bytes in milliseconds, and the throughput of 2 MiB in kB/s.
#define _GNU_SOURCE
#include <bluetooth/bluetooth.h>
#include <bluetooth/rfcomm.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"

enum { CHANNEL = 22, PINGS = 100, PING = 64, BULK = 2 << 20, CHUNK = 4096, TRIES = 50 };

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

// A link that has just ended may make the next one fail.
static int connect_to(const char *server, const char *client) {
  struct sockaddr_rc a = {.rc_family = AF_BLUETOOTH, .rc_channel = CHANNEL};
  for (int i = 0; i < 6; i++) a.rc_bdaddr.b[5 - i] = strtol(server + 3 * i, NULL, 16);
  for (int tries = 1;; tries++) {
    int s = open_socket(client, 0);
    int result = connect(s, (struct sockaddr *)&a, sizeof a);
    if (result == 0 || tries == TRIES) {
      check("connect", result);
      return s;
    }
    close(s);
    usleep(100000);
  }
}

int main(int count, char **words) {
  static char data[CHUNK];
  static double pings[PINGS];
  if (count != 3) return 2;
  int listener = open_socket(words[1], CHANNEL);
  check("listen", listen(listener, 1));
  if (fork() == 0) {
    serve(listener);
    return 0;
  }
  int s = connect_to(words[1], words[2]);
  for (int i = 0; i < PINGS; i++) {
    double start = now();
    transfer(s, data, PING, 1);
    transfer(s, data, PING, 0);
    pings[i] = now() - start;
  }
  double start = now();
  for (long sent = 0; sent < BULK; sent += CHUNK) transfer(s, data, CHUNK, 1);
  transfer(s, data, 1, 0);
  double rate = BULK / (now() - start);
  printf("%.2f %.0f\n", median(pings, PINGS), rate);
  return 0;
}
