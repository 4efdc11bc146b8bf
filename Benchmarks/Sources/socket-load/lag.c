#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

// So much of the time between two looks, in which each slow client reads its share.
enum { beat_milliseconds = 50, unread_max = 64 << 10 };

static void note_read(struct client *client, uint64_t number) { client->next = number + 1; }

// From where it was; the position has the number of the first message.
static void come_in(struct client *client, const struct place *place, uint64_t next) {
  struct place here = *place;
  char since[128];
  const char *dot = strrchr(place->since, '.');
  if (!dot) fail("a position is an epoch and an offset");
  snprintf(since, sizeof since, "%.*s.%llu", (int)(dot - place->since), place->since,
           strtoull(dot + 1, NULL, 10) + (unsigned long long)next);
  here.since = since;
  open_clients(client, 1, &here, 1);
  client->heard = note_read, client->next = next, client->may_end = 1;
  int unread = unread_max;
  setsockopt(client->socket, SOL_SOCKET, SO_RCVBUF, &unread, sizeof unread);
  fcntl(client->socket, F_SETFL, O_NONBLOCK);
}

void lag(const struct place *place, int slow, int stuck, int rate) {
  struct client *clients = calloc((size_t)(slow + stuck), sizeof *clients);
  static char room[256 << 10];
  if (!clients) fail("begin");
  for (int at = 0; at < slow + stuck; at++) come_in(clients + at, place, 0);
  printf("held\n");
  fflush(stdout);
  struct pollfd end = {.fd = 0, .events = POLLIN};
  while (poll(&end, 1, beat_milliseconds) == 0) {
    for (int at = 0; at < slow; at++) {
      // Each at a pace of its own, all of them below that of the messages.
      size_t share = (size_t)rate * beat_milliseconds / 1000 * (size_t)(at + 1) / (size_t)(slow + 1);
      ssize_t got = recv(clients[at].socket, room, share < sizeof room ? share : sizeof room, 0);
      if (got < 0 && errno == EAGAIN) continue;
      if (got > 0) feed(clients + at, room, (size_t)got);
      if (got > 0 && !clients[at].has_ended) continue;
      close(clients[at].socket);
      come_in(clients + at, place, clients[at].next);
    }
  }
}
