#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MARK '#'

uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

_Noreturn void fail(const char *what) {
  printf("failed: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
  exit(1);
}

int connect_to(int port, int from) {
  int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000000u + (unsigned)from)};
  if (made < 0) fail("make a socket");
  setsockopt(made, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  if (bind(made, (struct sockaddr *)&address, sizeof address) < 0) fail("take an address of the loopback");
  address.sin_port = htons((uint16_t)port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(made, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct timeval patience = {.tv_sec = 10};
  setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return made;
}

void say_all(int socket, const char *bytes, size_t count) {
  while (count) {
    ssize_t said = send(socket, bytes, count, MSG_NOSIGNAL);
    if (said <= 0) fail("send");
    bytes += said, count -= (size_t)said;
  }
}

// Whether the whole answer of a post is here.
int is_answered(const char *bytes, size_t count) {
  char *end = memmem(bytes, count, "\r\n\r\n", 4), *length = memmem(bytes, count, "Content-Length:", 15);
  errno = 0;
  if (!end || !length) return 0;
  if (memcmp(bytes, "HTTP/1.1 20", 11)) fail("a post is refused");
  return count >= (size_t)(end + 4 - bytes) + (size_t)atol(length + 15);
}

size_t frame(char *room, unsigned opcode, const char *payload, size_t count) {
  size_t head = count < 126 ? 6 : 8;
  memset(room, 0, head);
  room[0] = (char)(0x80 | opcode);
  room[1] = (char)(0x80 | (count < 126 ? count : 126));
  if (count >= 126) room[2] = (char)(count >> 8), room[3] = (char)count;
  memcpy(room + head, payload, count);
  return head + count;
}

// Opening

static char early[1 << 20];

// Reads until `sign` has come; what came after `skipped` goes through the frames' reader.
static void await(struct client *client, const char *sign, size_t sign_count, int has_head) {
  size_t count = 0, fed = 0;
  while (1) {
    ssize_t got = count < sizeof early ? recv(client->socket, early + count, sizeof early - count, 0) : 0;
    if (got <= 0) fail("the server does not say that the client is welcome");
    count += (size_t)got;
    if (has_head) {
      char *end = memmem(early, count, "\r\n\r\n", 4);
      if (!end) continue;
      if (memcmp(early, "HTTP/1.1 101", 12)) fail("the server does not open a WebSocket");
      return feed(client, end + 4, count - (size_t)(end + 4 - early));
    }
    feed(client, early + fed, count - fed);
    fed = count;
    if (memmem(early, count, sign, sign_count)) return;
  }
}

static void ask(struct client *client, const struct place *place, int from) {
  const struct protocol *protocol = place->protocol;
  char room[1024];
  *client = (struct client){.socket = connect_to(place->port, from)};
  int count = snprintf(room, sizeof room,
                       "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s%s%s\r\n",
                       protocol->path, place->port, *protocol->subprotocol ? "Sec-WebSocket-Protocol: " : "",
                       protocol->subprotocol, *protocol->subprotocol ? "\r\n" : "");
  say_all(client->socket, room, (size_t)count);
}

void open_client(struct client *client, const struct place *place, int from) {
  ask(client, place, from);
  await(client, NULL, 0, 1);
}

// Some at a time: mosquitto looks for what is new ten times a second.
enum { opened_at_once = 100 };

int address_of(int number) { return 2 + number / clients_per_address; }

void open_clients(struct client *clients, int count, const struct place *place, int subscribe) {
  static int opened;
  const struct protocol *protocol = place->protocol;
  char room[1024];
  for (int first = 0; first < count; first += opened_at_once) {
    int end = first + opened_at_once < count ? first + opened_at_once : count;
    for (int at = first; at < end; at++) ask(clients + at, place, address_of(opened++));
    for (int at = first; at < end; at++) {
      await(clients + at, NULL, 0, 1);
      say_all(clients[at].socket, room, (subscribe ? protocol->subscribe : protocol->introduce)(room, place));
    }
    for (int at = first; at < end; at++) {
      if (subscribe)
        await(clients + at, protocol->subscribed, protocol->subscribed_count, 0);
      else
        await(clients + at, protocol->introduced, protocol->introduced_count, 0);
    }
  }
}

// Messages, wherever in the frames of a protocol they lie: nothing else in these has the mark.

void write_message(char *room, uint64_t number) {
  memset(room, 'x', message_bytes);
  room[0] = MARK;
  for (int digit = 12; digit > 0; digit--, number /= 10) room[digit] = (char)('0' + number % 10);
}

static void check(struct client *client, const char *message) {
  static char rest[message_bytes];
  if (!rest[0]) memset(rest, 'x', sizeof rest);
  uint64_t number = 0;
  for (int digit = 1; digit <= 12; digit++) number = number * 10 + (uint64_t)(message[digit] - '0');
  if (message[0] != MARK || memcmp(message + 13, rest, message_bytes - 13)) fail("a message is damaged");
  client->heard(client, number);
}

void read_message(struct client *client, const char *text, size_t count) {
  const char *message = memchr(text, MARK, count);
  if (!message) return;
  if (text + count - message < message_bytes) fail("a message is cut");
  check(client, message);
}

static void read_payload(struct client *client, const char *bytes, size_t count) {
  if (!client->heard) return;
  const char *end = bytes + count;
  if (client->part_count) {
    size_t missing = message_bytes - client->part_count, more = count < missing ? count : missing;
    memcpy(client->part + client->part_count, bytes, more);
    client->part_count += (unsigned)more;
    bytes += more;
    if (more < missing) return;
    client->part_count = 0;
    check(client, client->part);
  }
  while ((bytes = memchr(bytes, MARK, (size_t)(end - bytes)))) {
    if (end - bytes < message_bytes) {
      client->part_count = (unsigned)(end - bytes);
      memcpy(client->part, bytes, client->part_count);
      return;
    }
    check(client, bytes);
    bytes += message_bytes;
  }
}

// A text that another read brings the rest of is gathered.
static void read_text(struct client *client, const char *bytes, size_t count) {
  int is_whole = client->is_final && count == client->payload_left;
  if (is_whole && !client->text_count) return client->told(client, bytes, count);
  client->text = realloc(client->text, client->text_count + count);
  if (!client->text) fail("hold a text");
  memcpy(client->text + client->text_count, bytes, count);
  client->text_count += count;
  if (!is_whole) return;
  client->told(client, client->text, client->text_count);
  free(client->text);
  client->text = NULL, client->text_count = 0;
}

// Frames

static int header_bytes(const struct client *client) {
  if (client->header_count < 2) return 2;
  unsigned length = client->header[1] & 0x7f;
  return length < 126 ? 2 : length == 126 ? 4 : 10;
}

static void begin_frame(struct client *client) {
  int bytes = header_bytes(client);
  client->opcode = client->header[0] & 0x0f;
  client->is_final = client->header[0] >> 7;
  client->payload_left = client->header[1] & 0x7f;
  if (bytes > 2) {
    client->payload_left = 0;
    for (int at = 2; at < bytes; at++) client->payload_left = client->payload_left << 8 | client->header[at];
  }
  client->header_count = 0;
  if (client->opcode == 8 && !client->may_end) fail("the server closes a WebSocket");
  if (client->opcode == 8) client->has_ended = 1;
  if (client->opcode == 9 && client->payload_left == 0) {
    char pong[8];
    say_all(client->socket, pong, frame(pong, 10, "", 0));
  }
}

void feed(struct client *client, const char *bytes, size_t count) {
  const char *end = bytes + count;
  while (bytes < end) {
    if (client->payload_left) {
      size_t part = (size_t)(end - bytes) < client->payload_left ? (size_t)(end - bytes) : (size_t)client->payload_left;
      if (client->opcode < 8) (client->told ? read_text : read_payload)(client, bytes, part);
      client->payload_left -= part;
      bytes += part;
      continue;
    }
    client->header[client->header_count++] = (unsigned char)*bytes++;
    if ((int)client->header_count == header_bytes(client) && client->header_count >= 2) begin_frame(client);
  }
}
