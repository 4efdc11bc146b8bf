#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

enum { patience_seconds = 120, probe_milliseconds = 2, events_max = 64 };

struct newcomer {
  struct client client;
  int has_begun;
};

static uint64_t answered, progress;

static void note_answer(struct client *client, const char *text, size_t count) {
  (void)client;
  if (memmem(text, count, "\"problem\":", 10)) fail("a message is refused");
  if (count > 8 && !memcmp(text, "{\"id\":3,", 8)) answered++, progress = now();
}

// A full history has lost its oldest messages; from the first one on all must come, in order.
static void note_message(struct client *client, uint64_t number) {
  struct newcomer *newcomer = client->context;
  if (!newcomer->has_begun) newcomer->has_begun = 1, client->next = number;
  errno = 0;
  if (number != client->next) fail(number > client->next ? "a newcomer has missed messages" : "messages come twice");
  client->next++;
  progress = now();
}

static void follow(int poller, struct client *client) {
  fcntl(client->socket, F_SETFL, O_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, client->socket, &event)) fail("wait");
}

static void serve(int poller, int milliseconds) {
  static char bytes[256 << 10];
  struct epoll_event events[events_max];
  int count = epoll_wait(poller, events, events_max, milliseconds);
  for (int at = 0; at < count; at++) {
    struct client *client = events[at].data.ptr;
    ssize_t got = recv(client->socket, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EAGAIN) continue;
    if (got > 0) feed(client, bytes, (size_t)got);
    if (got <= 0 || client->has_ended) {
      client->has_ended = 1;
      close(client->socket);
    }
  }
  errno = 0;
  if (now() - progress > patience_seconds * 1000000000ull) fail("nothing arrives any more");
}

static void publish(struct client *publisher, const struct place *place, uint64_t number) {
  char message[message_bytes], request[publication_max];
  write_message(message, number);
  size_t count = place->protocol->publish(request, place, message), said = 0;
  while (said < count) {
    ssize_t got = send(publisher->socket, request + said, count - said, MSG_NOSIGNAL);
    if (got < 0 && errno != EAGAIN) fail("publish");
    if (got > 0) said += (size_t)got;
  }
}

// Asks for something small again and again, by another client, until it is ended; then says how long answers took.
static volatile sig_atomic_t is_over;
static void end_probe(int number) { (void)number, is_over = 1; }

static void probe(const struct place *place, const char *token, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGTERM, end_probe);
  int connection = connect_to(place->port, 200);
  char request[512], answer[16384];
  int count = snprintf(request, sizeof request,
                       "GET /v1/peers?limit=1 HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n\r\n",
                       place->port, token);
  uint64_t longest = 0;
  forget_delays();
  while (!is_over) {
    uint64_t start = now();
    say_all(connection, request, (size_t)count);
    size_t answered = 0;
    do {
      ssize_t got = recv(connection, answer + answered, sizeof answer - answered, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) fail("the connection has ended");
      answered += (size_t)got;
    } while (!is_answered(answer, answered));
    uint64_t delay = now() - start;
    note_delay(delay);
    if (delay > longest) longest = delay;
    poll(NULL, 0, probe_milliseconds);
  }
  dprintf(output, "%llu %llu %llu", (unsigned long long)delay_of(0.5), (unsigned long long)delay_of(0.99),
          (unsigned long long)longest);
  _exit(0);
}

void arrive(const struct place *place, const char *other, int count, int messages, double rate) {
  struct newcomer *newcomers = calloc((size_t)count, sizeof *newcomers);
  struct client *clients = calloc((size_t)count, sizeof *clients);
  int poller = epoll_create1(EPOLL_CLOEXEC);
  if (!newcomers || !clients || poller < 0) fail("begin");
  struct client publisher;
  open_clients(&publisher, 1, place, 0);
  publisher.told = note_answer;
  follow(poller, &publisher);
  uint64_t published = 0;
  progress = now();
  while (answered < (uint64_t)messages) {
    while (published < (uint64_t)messages && published - answered < requests_max / 2)
      publish(&publisher, place, published++);
    serve(poller, 100);
  }

  open_clients(clients, count, place, 0);
  for (int at = 0; at < count; at++) {
    newcomers[at].client = clients[at];
    newcomers[at].client.heard = note_message;
    newcomers[at].client.context = newcomers + at;
    newcomers[at].client.may_end = 1;
    follow(poller, &newcomers[at].client);
  }
  int ends[2];
  if (pipe(ends)) fail("make a pipe");
  fflush(stdout);
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (!child) probe(place, other, ends[1]);

  uint64_t start = progress = now(), processor = processor_time();
  for (int at = 0; at < count; at++) {
    char text[512], room[1024];
    snprintf(text, sizeof text, "{\"id\":2,\"subscribe\":{\"channel\":\"%s\"}}", place->channel);
    say_all(newcomers[at].client.socket, room, frame(room, 1, text, strlen(text)));
  }
  int there = 0, ended = 0;
  while (there + ended < count || answered < published) {
    uint64_t time = now();
    uint64_t due = (uint64_t)messages + (uint64_t)((double)(time - start) / 1e9 * rate);
    // Once all that was there has come, nothing more is published, and the rest is waited for.
    while (there + ended < count && published < due && published - answered < requests_max / 2 && !is_over)
      publish(&publisher, place, published++);
    serve(poller, 1);
    there = ended = 0;
    uint64_t end = is_over ? published : (uint64_t)messages;
    for (int at = 0; at < count; at++) {
      if (newcomers[at].client.has_ended)
        ended++;
      else if (newcomers[at].client.next >= end)
        there++;
    }
    if (there + ended == count && !is_over) is_over = 1, there = ended = 0;
  }
  double seconds = (double)(now() - start) / 1e9;
  kill(child, SIGTERM);
  waitpid(child, NULL, 0);
  char delays[128] = "";
  if (read(ends[0], delays, sizeof delays - 1) <= 0) fail("the probe says nothing");
  printf("%f %d %s %llu %llu\n", seconds, ended, delays, (unsigned long long)(published - (uint64_t)messages),
         (unsigned long long)(processor_time() - processor));
}
