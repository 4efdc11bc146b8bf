// Clients of WebSockets, many in one process, the same for each server that they are held against.
//
//   socket-load fanout PROTOCOL PORT SUBSCRIBERS WINDOW SECONDS [TOKEN CHANNEL SINCE OUTLET]
//       publishes messages of 100 bytes, of which WINDOW at most have not reached every subscriber; each subscriber
//       checks that it gets all of them, in order. Prints: deliveries, seconds, the median delay and that of the slowest
//       hundredth in nanoseconds, nanoseconds of its own processor time, and the delay of the slowest hundredth of each
//       tenth of a second
//   socket-load paced PORT SUBSCRIBERS RATE SECONDS TOKEN CHANNEL SINCE OUTLET
//       the same of a gateway, with so many messages a second, each of which is due at its time: its delay counts from then
//   socket-load lag PORT SLOW STUCK BYTES TOKEN CHANNEL SINCE
//       subscribes, prints "held", and then does not keep up, until its input ends: some read at paces below BYTES a second
//       and come back where they are sent away, some do not read at all
//   socket-load acknowledge PORT CLIENTS WINDOW SECONDS RATE TOKEN OUTLET
//       posts messages of 100 bytes by requests of WebSockets, each of which is answered; a client has WINDOW of them under
//       way at most. With a RATE each is due at its time, whatever became of those before, and its delay counts from then;
//       0 is as many as are answered. Prints: answers, then as above, without the tenths
//   socket-load hold PROTOCOL PORT CLIENTS [TOKEN CHANNEL SINCE]
//       subscribes and prints "held", then waits until its input ends
//   socket-load relay PORT TOKEN OUTLET PORT TOKEN CHANNEL SINCE COUNT
//       posts a message to one gateway by HTTP and waits for it on a WebSocket of another. Prints both delays as above
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

static const char *word(int count, char **words, int at) { return at < count ? words[at] : ""; }

// Fan-out

// Of requests a gateway takes so many at a time of one WebSocket.
enum { window_max = 1024, requests_max = 64 };
static uint64_t sent_at[window_max];
static int remaining[window_max];
static uint64_t read_at, completed, delivered;

static void hear(struct client *client, uint64_t number) {
  errno = 0;
  if (number != client->next) fail(number > client->next ? "a subscriber has missed messages" : "messages come twice");
  client->next++;
  delivered++;
  note_delay(read_at - sent_at[number % window_max]);
  if (--remaining[number % window_max] == 0) completed++;
}

static char room[256 << 10];

// With a rate each message is due at its time; without one, as many are sent as the window allows.
static void fan_out(const struct place *place, int subscribers, int window, double seconds, double rate) {
  struct client *clients = calloc((size_t)subscribers + 1, sizeof *clients), *publisher = clients + subscribers;
  int poll = epoll_create1(EPOLL_CLOEXEC);
  if (!clients || poll < 0 || window > window_max) fail("begin");
  open_clients(clients, subscribers, place, 1);
  open_clients(publisher, 1, place, 0);
  for (int at = 0; at <= subscribers; at++) {
    if (at < subscribers) clients[at].heard = hear;
    fcntl(clients[at].socket, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = clients + at};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, clients[at].socket, &event)) fail("wait");
  }

  static char queue[window_max * 1024];
  size_t queued = 0;
  uint64_t published = 0, start = now(), measured = 0, end = start + (uint64_t)(seconds * 1e9), progress = start, known = 0;
  uint64_t processor = 0, tenth_end = 0;
  const uint64_t tenth = 100000000;
  while (1) {
    uint64_t time = now();
    // What is still cold is not counted.
    if (!measured && time > start + (end - start) / 5) {
      forget_delays();
      delivered = 0, measured = time, processor = processor_time(), tenth_end = time + tenth;
    }
    if (measured && time >= tenth_end && tenth_end <= end) end_tenth(), tenth_end += tenth;
    if (time >= end && completed == published) break;
    if (completed > known) known = completed, progress = time;
    errno = 0;
    if (time - progress > 5000000000) fail("nothing arrives any more");
    uint64_t due = rate > 0 ? (uint64_t)((double)(time - start) / 1e9 * rate) : UINT64_MAX;
    while (time < end && published < due && published - completed < (uint64_t)window) {
      char message[message_bytes];
      write_message(message, published);
      queued += place->protocol->publish(queue + queued, place, message);
      sent_at[published % window_max] = rate > 0 ? start + (uint64_t)((double)published / rate * 1e9) : time;
      remaining[published++ % window_max] = subscribers;
    }
    if (queued) {
      ssize_t said = send(publisher->socket, queue, queued, MSG_NOSIGNAL);
      if (said < 0 && errno != EAGAIN) fail("publish");
      if (said > 0) memmove(queue, queue + said, queued -= (size_t)said);
    }
    struct epoll_event events[64];
    struct timespec wait = {.tv_nsec = queued ? 0 : rate > 0 ? 200000 : 100000000};
    int count = epoll_pwait2(poll, events, 64, &wait, NULL);
    for (int at = 0; at < count; at++) {
      struct client *client = events[at].data.ptr;
      ssize_t got = recv(client->socket, room, sizeof room, 0);
      if (got < 0 && errno == EAGAIN) continue;
      if (got <= 0) fail("a WebSocket has ended");
      errno = 0;
      if (client == publisher && memmem(room, (size_t)got, "\"problem\"", 9)) fail("a message is refused");
      read_at = now();
      feed(client, room, (size_t)got);
    }
  }
  printf("%llu %f %llu %llu %llu", (unsigned long long)delivered, (double)(now() - measured) / 1e9,
         (unsigned long long)delay_of(0.5), (unsigned long long)delay_of(0.99),
         (unsigned long long)(processor_time() - processor));
  print_tenths();
  printf("\n");
}

static void hold(const struct place *place, int count) {
  struct client *clients = calloc((size_t)count, sizeof *clients);
  if (!clients) fail("begin");
  open_clients(clients, count, place, 1);
  printf("held\n");
  fflush(stdout);
  while (read(0, room, sizeof room) > 0) continue;
}

// From one gateway to another

static int has_come;
static void note_relayed(struct client *client, uint64_t number) {
  errno = 0;
  if (number != client->next++) fail("a message is missing, or comes twice");
  note_delay(now() - sent_at[0]);
  has_come = 1;
}

// Whether the whole answer of a post is here.
static int is_answered(const char *bytes, size_t count) {
  char *end = memmem(bytes, count, "\r\n\r\n", 4), *length = memmem(bytes, count, "Content-Length:", 15);
  errno = 0;
  if (!end || !length) return 0;
  if (memcmp(bytes, "HTTP/1.1 20", 11)) fail("a message is refused");
  return count >= (size_t)(end + 4 - bytes) + (size_t)atol(length + 15);
}

static void relay(const struct place *from, const struct place *to, int count) {
  struct client listener;
  open_clients(&listener, 1, to, 1);
  listener.heard = note_relayed;
  int poster = connect_to(from->port, 2);
  for (int number = 0; number < count; number++) {
    // Apart from each other, as people's messages are.
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    char post[1024], message[message_bytes], answer[8192];
    write_message(message, (uint64_t)number);
    int bytes = snprintf(post, sizeof post,
                         "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
                         "Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n%.*s",
                         from->outlet, from->port, from->token, message_bytes, message_bytes, message);
    sent_at[0] = now();
    say_all(poster, post, (size_t)bytes);
    size_t answered = 0;
    int is_done = 0;
    has_come = 0;
    while (!has_come || !is_done) {
      struct pollfd both[] = {{.fd = listener.socket, .events = POLLIN}, {.fd = poster, .events = POLLIN}};
      errno = 0;
      if (poll(both, 2, 5000) <= 0) fail("a message does not arrive");
      if (both[0].revents) {
        ssize_t got = recv(listener.socket, room, sizeof room, 0);
        if (got <= 0) fail("the WebSocket has ended");
        feed(&listener, room, (size_t)got);
      }
      if (both[1].revents) {
        ssize_t got = recv(poster, answer + answered, sizeof answer - answered, 0);
        if (got <= 0) fail("the connection has ended");
        is_done = is_answered(answer, answered += (size_t)got);
      }
    }
  }
  printf("%llu %llu\n", (unsigned long long)delay_of(0.5), (unsigned long long)delay_of(0.99));
}

int main(int count, char **words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (count >= 7 && !strcmp(words[1], "fanout")) {
    struct place place = {protocol_named(words[2]), atoi(words[3]), word(count, words, 7), word(count, words, 8),
                          word(count, words, 9), word(count, words, 10)};
    fan_out(&place, atoi(words[4]), atoi(words[5]), atof(words[6]), 0);
  } else if (count == 10 && !strcmp(words[1], "paced")) {
    struct place place = {protocol_named("vicinity"), atoi(words[2]), words[6], words[7], words[8], words[9]};
    fan_out(&place, atoi(words[3]), requests_max, atof(words[5]), atof(words[4]));
  } else if (count == 9 && !strcmp(words[1], "lag")) {
    struct place place = {protocol_named("vicinity"), atoi(words[2]), words[6], words[7], words[8], ""};
    lag(&place, atoi(words[3]), atoi(words[4]), atoi(words[5]));
  } else if (count == 9 && !strcmp(words[1], "acknowledge")) {
    struct place place = {protocol_named("vicinity"), atoi(words[2]), words[7], "", "", words[8]};
    acknowledge(&place, atoi(words[3]), atoi(words[4]), atof(words[5]), atof(words[6]));
  } else if (count >= 5 && !strcmp(words[1], "hold")) {
    struct place place = {protocol_named(words[2]), atoi(words[3]), word(count, words, 5), word(count, words, 6),
                          word(count, words, 7), ""};
    hold(&place, atoi(words[4]));
  } else if (count == 10 && !strcmp(words[1], "relay")) {
    const struct protocol *vicinity = protocol_named("vicinity");
    struct place from = {vicinity, atoi(words[2]), words[3], "", "", words[4]};
    struct place to = {vicinity, atoi(words[5]), words[6], words[7], words[8], ""};
    relay(&from, &to, atoi(words[9]));
  } else {
    fprintf(stderr, "Usage: socket-load fanout|paced|lag|acknowledge|hold|relay …, as the head of its source says\n");
    return 2;
  }
}
