#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "load.h"

enum { window_max = 1024 };

struct room {
  const struct place *place;
  struct client publisher, *subscribers;
  uint64_t published, completed, sent_at[window_max];
  int remaining[window_max];
  size_t queued;
  char *queue;
};

static uint64_t read_at, completed, published, delivered;

static void hear(struct client *client, uint64_t number) {
  struct room *room = client->context;
  errno = 0;
  if (number != client->next) fail(number > client->next ? "a subscriber has missed messages" : "messages come twice");
  client->next++;
  delivered++;
  note_delay(read_at - room->sent_at[number % window_max]);
  if (--room->remaining[number % window_max] == 0) room->completed++, completed++;
}

static void follow(int poll, struct client *client) {
  fcntl(client->socket, F_SETFL, O_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
  if (epoll_ctl(poll, EPOLL_CTL_ADD, client->socket, &event)) fail("wait");
}

static void open_room(struct room *room, const struct place *place, int subscribers, int window, int poll) {
  room->place = place;
  room->subscribers = calloc((size_t)subscribers, sizeof *room->subscribers);
  room->queue = malloc((size_t)window * publication_max);
  if (!room->subscribers || !room->queue) fail("begin");
  open_clients(room->subscribers, subscribers, place, 1);
  open_clients(&room->publisher, 1, place, 0);
  for (int at = 0; at < subscribers; at++) {
    room->subscribers[at].heard = hear, room->subscribers[at].context = room;
    follow(poll, room->subscribers + at);
  }
  room->publisher.context = room;
  follow(poll, &room->publisher);
}

static void publish(struct room *room, uint64_t until, int subscribers, int window, uint64_t start, double rate) {
  while (room->published < until && room->published - room->completed < (uint64_t)window) {
    char message[message_bytes];
    uint64_t number = room->published++;
    published++;
    write_message(message, number);
    room->queued += room->place->protocol->publish(room->queue + room->queued, room->place, message);
    room->sent_at[number % window_max] = rate > 0 ? start + (uint64_t)((double)number / rate * 1e9) : now();
    room->remaining[number % window_max] = subscribers;
  }
}

static void say_queued(struct room *room) {
  if (!room->queued) return;
  ssize_t said = send(room->publisher.socket, room->queue, room->queued, MSG_NOSIGNAL);
  if (said < 0 && errno != EAGAIN) fail("publish");
  if (said > 0) memmove(room->queue, room->queue + said, room->queued -= (size_t)said);
}

static void hear_some(struct client *client) {
  static char bytes[256 << 10];
  struct room *room = client->context;
  ssize_t got = recv(client->socket, bytes, sizeof bytes, 0);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) fail("a WebSocket has ended");
  errno = 0;
  if (client == &room->publisher && memmem(bytes, (size_t)got, "\"problem\"", 9)) fail("a message is refused");
  read_at = now();
  feed(client, bytes, (size_t)got);
}

void fan_out(const struct place *places, int rooms_count, int subscribers, int window, double seconds, double rate) {
  struct room *rooms = calloc((size_t)rooms_count, sizeof *rooms);
  int poll = epoll_create1(EPOLL_CLOEXEC);
  if (!rooms || poll < 0 || window > window_max) fail("begin");
  for (int at = 0; at < rooms_count; at++) open_room(rooms + at, places + at, subscribers, window, poll);

  uint64_t start = now(), measured = 0, end = start + (uint64_t)(seconds * 1e9), progress = start, known = 0;
  uint64_t processor = 0, tenth_end = 0;
  const uint64_t tenth = 100000000;
  while (1) {
    uint64_t time = now();
    // The warm-up is not counted.
    if (!measured && time > start + (end - start) / 5) {
      forget_delays();
      delivered = 0, measured = time, processor = processor_time(), tenth_end = time + tenth;
    }
    if (measured && time >= tenth_end && tenth_end <= end) end_tenth(), tenth_end += tenth;
    if (time >= end && completed == published) break;
    if (completed > known) known = completed, progress = time;
    errno = 0;
    if (time - progress > 5000000000) fail("nothing arrives any more");
    uint64_t due = rate > 0 ? 1 + (uint64_t)((double)(time - start) / 1e9 * rate) : UINT64_MAX;
    int is_queued = 0;
    for (int at = 0; at < rooms_count; at++) {
      if (time < end) publish(rooms + at, due, subscribers, window, start, rate);
      say_queued(rooms + at);
      is_queued |= rooms[at].queued > 0;
    }
    struct epoll_event events[64];
    struct timespec wait = {.tv_nsec = is_queued ? 0 : rate > 0 ? 200000 : 100000000};
    int count = epoll_pwait2(poll, events, 64, &wait, NULL);
    for (int at = 0; at < count; at++) hear_some(events[at].data.ptr);
  }
  printf("%llu %f %llu %llu %llu %llu", (unsigned long long)delivered, (double)(now() - measured) / 1e9,
         (unsigned long long)delay_of(0.5), (unsigned long long)delay_of(0.99),
         (unsigned long long)(processor_time() - processor), (unsigned long long)published);
  print_tenths();
  printf("\n");
}
