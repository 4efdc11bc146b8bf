// Clients of WebSockets, many in one process, the same for each server that they are held against.
//
//   socket-load fanout PROTOCOL PORT SUBSCRIBERS WINDOW SECONDS [TOKEN [CHANNEL SINCE OUTLET] ...]
//       publishes messages of 100 bytes, of which WINDOW at most have not reached every subscriber; each subscriber
//       checks that it gets all of them, in order. Where there are several channels, each has a publisher and SUBSCRIBERS
//       of its own. Prints: deliveries, seconds, the median delay and that of the slowest
//       hundredth in nanoseconds, nanoseconds of its own processor time, all messages, and the delay of the slowest
//       hundredth of each tenth of a second
//   socket-load paced PORT SUBSCRIBERS RATE SECONDS TOKEN CHANNEL SINCE OUTLET
//       the same of a gateway, with so many messages a second, each of which is due at its time: its delay counts from then
//   socket-load lag PORT SLOW STUCK BYTES TOKEN CHANNEL SINCE
//       subscribes, prints "held", and then does not keep up, until its input ends: some read at paces below BYTES a second
//       and come back where they are sent away, some do not read at all
//   socket-load acknowledge PORT CLIENTS WINDOW SECONDS RATE TOKEN OUTLET
//       posts messages of 100 bytes by requests of WebSockets, each of which is answered; a client has WINDOW of them under
//       way at most. With a RATE each is due at its time, whatever became of those before, and its delay counts from then;
//       0 is as many as are answered. Prints: answers, then as above, without the tenths
//   socket-load arrive PORT CLIENTS MESSAGES RATE TOKEN CHANNEL OUTLET OTHER
//       posts so many messages, then has CLIENTS subscribe at once without a position, while RATE messages a second go on
//       and the client of the token OTHER asks for something small; each of them checks that it gets all, in order. Prints
//       seconds, how many the server sent away, of the answers to the other one the median delay, that of the slowest
//       hundredth and the longest in nanoseconds, the messages that went on, and nanoseconds of its own processor time
//   socket-load crowd TYPE HISTORY PORT TOKEN [PORT TOKEN ...]
//       browsers that are peers of one session, by ad hoc mode of that type, each at the next of these gateways; they keep
//       their messages in the HISTORY that is named. Takes commands by its input, and answers each with a line of "done" and figures:
//       pair COUNT           so many more get tokens, by codes that the clients of the TOKENs make
//       join COUNT           so many of these open WebSockets and join, one after another, until each is connected with
//                            every other one. Prints seconds
//       talk SECONDS RATE    one of them sends messages to all, as above; each other one checks that it gets all of them, in
//                            order. Prints messages, deliveries, and then as above, without the tenths
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

static char room[256 << 10];

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
static uint64_t sent_at;
static void note_relayed(struct client *client, uint64_t number) {
  errno = 0;
  if (number != client->next++) fail("a message is missing, or comes twice");
  note_delay(now() - sent_at);
  has_come = 1;
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
    sent_at = now();
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
    int rooms = count < 11 ? 1 : (count - 8) / 3;
    struct place *places = calloc((size_t)rooms, sizeof *places);
    if (!places) fail("begin");
    for (int at = 0; at < rooms; at++)
      places[at] = (struct place){protocol_named(words[2]),       atoi(words[3]),
                                  word(count, words, 7),          word(count, words, 8 + 3 * at),
                                  word(count, words, 9 + 3 * at), word(count, words, 10 + 3 * at)};
    fan_out(places, rooms, atoi(words[4]), atoi(words[5]), atof(words[6]), 0);
  } else if (count >= 6 && count % 2 == 0 && !strcmp(words[1], "crowd")) {
    int gateways = (count - 4) / 2;
    struct place *places = calloc((size_t)gateways, sizeof *places);
    if (!places) fail("begin");
    for (int at = 0; at < gateways; at++)
      places[at] =
          (struct place){protocol_named("vicinity"), atoi(words[4 + 2 * at]), words[5 + 2 * at], "", "", ""};
    crowd(places, gateways, words[2], words[3]);
  } else if (count == 10 && !strcmp(words[1], "paced")) {
    struct place place = {protocol_named("vicinity"), atoi(words[2]), words[6], words[7], words[8], words[9]};
    fan_out(&place, 1, atoi(words[3]), requests_max, atof(words[5]), atof(words[4]));
  } else if (count == 9 && !strcmp(words[1], "lag")) {
    struct place place = {protocol_named("vicinity"), atoi(words[2]), words[6], words[7], words[8], ""};
    lag(&place, atoi(words[3]), atoi(words[4]), atoi(words[5]));
  } else if (count == 9 && !strcmp(words[1], "acknowledge")) {
    struct place place = {protocol_named("vicinity"), atoi(words[2]), words[7], "", "", words[8]};
    acknowledge(&place, atoi(words[3]), atoi(words[4]), atof(words[5]), atof(words[6]));
  } else if (count == 10 && !strcmp(words[1], "arrive")) {
    struct place place = {protocol_named("vicinity"), atoi(words[2]), words[6], words[7], "", words[8]};
    arrive(&place, words[9], atoi(words[3]), atoi(words[4]), atof(words[5]));
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
    fprintf(stderr, "Usage: socket-load fanout|paced|lag|acknowledge|arrive|crowd|hold|relay …, as the head of its source says\n");
    return 2;
  }
}
