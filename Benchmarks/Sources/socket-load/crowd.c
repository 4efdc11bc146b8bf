#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

enum { browsers_max = 16384, window_max = 1024, patience_seconds = 60, members_shown = 100 };
// The answers that a browser waits for, by the numbers of their requests.
enum { is_sent = 3, is_known = 11, has_peer, has_session, follows_members, follows_messages };

struct browser {
  struct client client;
  char token[80], session[80];
  int has_joined, members, messages;
  // Others that it is connected with.
  int connected_count;
};

static const struct place *gateways;
static int gateway_count;
static const char *type, *keep;
static struct browser *browsers;
static int paired, joined, poller, has_command;
// Figures of all browsers together.
static int64_t connected;
static uint64_t read_at, progress, published, answered, completed, delivered;
static uint64_t sent_at[window_max];
static int remaining[window_max];

// The gateway of the browser with this number.
static const struct place *place_of(int number) { return gateways + number % gateway_count; }

// Input from the gateway

static const char *behind(const char *text, size_t count, const char *key) {
  const char *found = memmem(text, count, key, strlen(key));
  return found ? found + strlen(key) : NULL;
}

static void copy_text(char *room, size_t room_count, const char *text, size_t count, const char *key) {
  const char *value = behind(text, count, key), *end = value ? memchr(value, '"', count - (size_t)(value - text)) : NULL;
  if (!end || (size_t)(end - value) >= room_count) fail("an answer lacks a text");
  memcpy(room, value, (size_t)(end - value));
  room[end - value] = 0;
}

static int number_behind(const char *text, size_t count, const char *key) {
  const char *value = behind(text, count, key);
  if (!value) fail("an answer lacks a number");
  return atoi(value);
}

// As a page of the dashboard, a browser follows the first members and is told how many there are.
static void note_members(struct browser *browser, const char *text, size_t count) {
  static const char name[] = "\"displayName\":\"B";
  int now_connected = number_behind(text, count, ",\"connected\":");
  if (now_connected != browser->connected_count) progress = read_at;
  connected += now_connected - browser->connected_count;
  browser->connected_count = now_connected;
  int shown = 0;
  for (const char *end = text + count; (text = behind(text, (size_t)(end - text), name)); shown++)
    if (atoi(text) >= paired) fail("a member is none of the browsers");
  if (shown > members_shown) fail("a page has more members than were asked for");
}

static void note_message(struct client *client, uint64_t number) {
  errno = 0;
  if (number != client->next) fail(number > client->next ? "a peer has missed messages" : "messages come twice");
  client->next++;
  delivered++;
  note_delay(read_at - sent_at[number % window_max]);
  if (--remaining[number % window_max] == 0) completed++, progress = read_at;
}

static void ask(struct browser *browser, const char *text) {
  char room[1024];
  say_all(browser->client.socket, room, frame(room, 1, text, strlen(text)));
}

static void subscribe(struct browser *browser, int id, const char *collection, int limit) {
  char text[512], query[32] = "";
  if (limit) snprintf(query, sizeof query, "?limit=%d", limit);
  snprintf(text, sizeof text, "{\"id\":%d,\"subscribe\":{\"channel\":\"/v1/sessions/%s/%s%s\"}}", id, browser->session,
           collection, query);
  ask(browser, text);
}

static void note_answer(struct browser *browser, const char *text, size_t count) {
  char request[512], peer[80];
  if (behind(text, count, "\"problem\":")) {
    fprintf(stderr, "%.*s\n", (int)count, text);
    fail("a request is refused");
  }
  switch (atoi(text + 6)) {
    case is_sent:
      answered++;
      return;
    case has_peer:
      copy_text(peer, sizeof peer, text, count, "\"ok\":{\"id\":\"");
      snprintf(request, sizeof request,
               "{\"id\":%d,\"request\":{\"method\":\"POST\",\"path\":\"/v1/sessions\",\"body\":{\"peer\":\"%s\","
               "\"adhoc\":\"%s\",\"maxPeers\":1000000,\"history\":{\"keep\":\"%s\"}}}}",
               has_session, peer, type, keep);
      return ask(browser, request);
    case has_session:
      copy_text(browser->session, sizeof browser->session, text, count, "\"ok\":{\"id\":\"");
      subscribe(browser, follows_members, "members", members_shown);
      return subscribe(browser, follows_messages, "messages", 0);
    case follows_members:
      browser->members = number_behind(text, count, "\"number\":");
      return note_members(browser, text, count);
    case follows_messages:
      browser->messages = number_behind(text, count, "\"number\":");
      browser->has_joined = 1;
      progress = read_at;
      return;
  }
}

static void take_text(struct client *client, const char *text, size_t count) {
  struct browser *browser = client->context;
  errno = 0;
  if (count < 7) fail("a text is short");
  if (!memcmp(text, "{\"id\":", 6)) return note_answer(browser, text, count);
  if (memcmp(text, "{\"n\":", 5)) fail("a text is of no channel");
  int channel = atoi(text + 5);
  if (channel == browser->members) note_members(browser, text, count);
  // The sender sees its own messages, and what becomes of them.
  if (channel == browser->messages && browser != browsers) read_message(client, text, count);
}

static void serve(int milliseconds) {
  static char bytes[256 << 10];
  struct epoll_event events[64];
  int count = epoll_wait(poller, events, 64, milliseconds);
  for (int at = 0; at < count; at++) {
    struct browser *browser = events[at].data.ptr;
    if (!browser) {
      has_command = 1;
      continue;
    }
    ssize_t got = recv(browser->client.socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) continue;
    if (got <= 0) fail("a WebSocket has ended");
    read_at = now();
    feed(&browser->client, bytes, (size_t)got);
  }
  errno = 0;
  if (now() - progress > patience_seconds * 1000000000ull && !has_command) fail("nothing happens any more");
}

// Pairing

static void post(int connection, int port, const char *path, const char *token, const char *body, const char *key,
                 char *value, size_t value_count) {
  char room[8192];
  int count = snprintf(room, sizeof room,
                       "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s%s%sContent-Type: application/json\r\n"
                       "Content-Length: %zu\r\n\r\n%s",
                       path, port, token ? "Authorization: Bearer " : "", token ? token : "", token ? "\r\n" : "",
                       strlen(body), body);
  say_all(connection, room, (size_t)count);
  size_t answered = 0;
  do {
    ssize_t got = recv(connection, room + answered, sizeof room - answered, 0);
    if (got <= 0) fail("the connection has ended");
    answered += (size_t)got;
  } while (!is_answered(room, answered));
  copy_text(value, value_count, room, answered, key);
}

static void pair_one(int connection, const struct place *place, int number) {
  char code[64], body[128];
  if (number == browsers_max) fail("there are too many browsers");
  post(connection, place->port, "/v1/pairing-codes", place->token, "{\"role\":\"member\"}", "\"code\":\"", code,
       sizeof code);
  snprintf(body, sizeof body, "{\"code\":\"%s\",\"name\":\"B%d\"}", code, number);
  post(connection, place->port, "/v1/pairings", NULL, body, "\"token\":\"", browsers[number].token,
       sizeof browsers[number].token);
}

static void pair(int count) {
  int first = paired;
  paired += count;
  for (int gateway = 0; gateway < gateway_count; gateway++) {
    int connection = connect_to(gateways[gateway].port, address_of(0));
    for (int number = first; number < paired; number++)
      if (place_of(number) == gateways + gateway) pair_one(connection, gateways + gateway, number);
    close(connection);
  }
  printf("done\n");
}

// Joining

static void begin(int number) {
  struct browser *browser = browsers + number;
  char text[512];
  if (number >= paired) fail("a browser has no token");
  open_client(&browser->client, place_of(number), address_of(number));
  browser->client.told = take_text, browser->client.heard = note_message, browser->client.context = browser;
  browser->client.next = published;
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = browser};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, browser->client.socket, &event)) fail("wait");
  snprintf(text, sizeof text, "{\"id\":%d,\"connect\":{\"token\":\"%s\"}}", is_known, browser->token);
  ask(browser, text);
  snprintf(text, sizeof text,
           "{\"id\":%d,\"request\":{\"method\":\"POST\",\"path\":\"/v1/peers\",\"body\":{\"displayName\":\"B%d\"}}}",
           has_peer, number);
  ask(browser, text);
}

static void join(int count) {
  uint64_t start = progress = now();
  for (int end = joined + count; joined < end; joined++) {
    begin(joined);
    while (!browsers[joined].has_joined) serve(100);
  }
  while (connected < (int64_t)joined * (joined - 1)) serve(100);
  printf("done %f\n", (double)(now() - start) / 1e9);
}

// Messages

static void talk(double seconds, double rate) {
  char path[256];
  snprintf(path, sizeof path, "/v1/sessions/%s/messages", browsers[0].session);
  struct place here = gateways[0];
  here.outlet = path;
  uint64_t start = progress = now(), end = start + (uint64_t)(seconds * 1e9), measured = 0, processor = 0;
  uint64_t first = published, all = delivered, counted = delivered;
  uint64_t window = rate > 0 ? window_max : requests_max;
  while (1) {
    uint64_t time = now();
    // The warm-up is not counted.
    if (!measured && time > start + (end - start) / 5) {
      forget_delays();
      counted = delivered, measured = time, processor = processor_time();
    }
    if (time >= end && completed == published) break;
    uint64_t due = rate > 0 ? first + 1 + (uint64_t)((double)(time - start) / 1e9 * rate) : UINT64_MAX;
    while (time < end && published < due && published - completed < window &&
           published - answered < requests_max) {
      char message[message_bytes], request[publication_max];
      write_message(message, published);
      sent_at[published % window_max] = rate > 0 ? start + (uint64_t)((double)(published - first) / rate * 1e9) : time;
      remaining[published++ % window_max] = joined - 1;
      say_all(browsers[0].client.socket, request, here.protocol->publish(request, &here, message));
    }
    serve(rate > 0 ? 1 : 100);
  }
  printf("done %llu %llu %llu %f %llu %llu %llu\n", (unsigned long long)(published - first),
         (unsigned long long)(delivered - all), (unsigned long long)(delivered - counted),
         (double)(now() - measured) / 1e9, (unsigned long long)delay_of(0.5), (unsigned long long)delay_of(0.99),
         (unsigned long long)(processor_time() - processor));
}

void crowd(const struct place *at, int count_of_gateways, const char *type_of_session, const char *history) {
  gateways = at, gateway_count = count_of_gateways, type = type_of_session, keep = history;
  browsers = calloc(browsers_max, sizeof *browsers);
  poller = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  if (!browsers || poller < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, 0, &event)) fail("begin");
  while (1) {
    // Between commands all is read that comes.
    while (!has_command) progress = now(), serve(1000);
    char line[64] = "";
    if (read(0, line, sizeof line - 1) <= 0) return;
    has_command = 0;
    double seconds, rate;
    int count;
    if (sscanf(line, "pair %d", &count) == 1)
      pair(count);
    else if (sscanf(line, "join %d", &count) == 1)
      join(count);
    else if (sscanf(line, "talk %lf %lf", &seconds, &rate) == 2 && joined > 1)
      talk(seconds, rate);
    else
      fail("commands are pair, join and talk");
    fflush(stdout);
  }
}
