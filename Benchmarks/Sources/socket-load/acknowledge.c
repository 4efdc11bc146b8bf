#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "load.h"

// As many may wait for their answer as are due in some seconds at the highest rate.
enum { due_max = 1 << 18, sending_max = 64 << 10 };
static uint64_t due_at[due_max];
static uint64_t read_at, answered;

struct poster {
  struct client client;
  int under_way;
  size_t queued;
  char queue[sending_max];
};

// An answer repeats its message.
static void note_answer(struct client *client, uint64_t number) {
  ((struct poster *)client)->under_way--;
  note_delay(read_at - due_at[number % due_max]);
  answered++;
}

static void say_queued(struct poster *poster) {
  if (!poster->queued) return;
  ssize_t said = send(poster->client.socket, poster->queue, poster->queued, MSG_NOSIGNAL);
  if (said < 0 && errno != EAGAIN) fail("post");
  if (said > 0) memmove(poster->queue, poster->queue + said, poster->queued -= (size_t)said);
}

static void hear_answers(struct poster *poster) {
  static char room[256 << 10];
  ssize_t got = recv(poster->client.socket, room, sizeof room, 0);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) fail("a WebSocket has ended");
  errno = 0;
  if (memmem(room, (size_t)got, "\"problem\"", 9)) fail("a message is refused");
  read_at = now();
  feed(&poster->client, room, (size_t)got);
}

void acknowledge(const struct place *place, int count, int window, double seconds, double rate) {
  struct poster *posters = calloc((size_t)count, sizeof *posters);
  int poll = epoll_create1(EPOLL_CLOEXEC);
  if (!posters || poll < 0) fail("begin");
  for (int at = 0; at < count; at++) {
    struct client *client = &posters[at].client;
    open_clients(client, 1, place, 0);
    client->heard = note_answer;
    fcntl(client->socket, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = posters + at};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, client->socket, &event)) fail("wait");
  }

  uint64_t start = now(), end = start + (uint64_t)(seconds * 1e9), measured = 0, processor = 0;
  uint64_t posted = 0, before = 0, known = 0, progress = start;
  int turn = 0;
  while (1) {
    uint64_t time = now();
    // The warm-up is not counted.
    if (!measured && time > start + (end - start) / 5) {
      forget_delays();
      before = answered, measured = time, processor = processor_time();
    }
    if (time >= end && answered == posted) break;
    if (answered > known) known = answered, progress = time;
    errno = 0;
    if (time - progress > 10000000000) fail("nothing is answered any more");
    uint64_t due = rate > 0 ? 1 + (uint64_t)((double)((time < end ? time : end) - start) / 1e9 * rate) : UINT64_MAX;
    for (int passed = 0; posted < due && passed < count && (rate > 0 || time < end);) {
      struct poster *poster = posters + turn++ % count;
      if (poster->under_way == window || poster->queued + 1024 > sending_max) {
        passed++;
        continue;
      }
      passed = 0;
      if (posted - answered >= due_max) fail("too much waits for its answer");
      char message[message_bytes];
      write_message(message, posted);
      poster->queued += place->protocol->publish(poster->queue + poster->queued, place, message);
      due_at[posted % due_max] = rate > 0 ? start + (uint64_t)((double)posted / rate * 1e9) : time;
      poster->under_way++;
      posted++;
    }
    for (int at = 0; at < count; at++) say_queued(posters + at);
    struct epoll_event events[64];
    int ready = epoll_wait(poll, events, 64, rate > 0 ? 1 : 100);
    for (int at = 0; at < ready; at++) hear_answers(events[at].data.ptr);
  }
  printf("%llu %f %llu %llu %llu\n", (unsigned long long)(answered - before), (double)(now() - measured) / 1e9,
         (unsigned long long)delay_of(0.5), (unsigned long long)delay_of(0.99),
         (unsigned long long)(processor_time() - processor));
}
