// Round trips of messages between two chats: rounds SAY SAID SAY SAID, the pipe that the first chat reads and the file that it writes,
// then those of the second. The first one says something, and the second one answers as soon as it has heard that.
// Prints the median in milliseconds.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "measure.h"

enum { ROUNDS = 60, UNCOUNTED = 10, WAIT = 30000 };

struct chat {
  int say, said, changes;
  char text[1 << 14];
  size_t length;
};

static void check(const char *what, long result) {
  if (result >= 0) return;
  printf("rounds: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void open_chat(struct chat *chat, const char *say, const char *said) {
  check(say, chat->say = open(say, O_WRONLY));
  check(said, chat->said = open(said, O_RDONLY));
  check("end", lseek(chat->said, 0, SEEK_END));
  check("inotify", chat->changes = inotify_init());
  check("watch", inotify_add_watch(chat->changes, said, IN_MODIFY));
}

static void tell(struct chat *chat, const char *word, int number) {
  char line[64];
  int length = snprintf(line, sizeof line, "say %s %d\n", word, number);
  check("say", write(chat->say, line, length));
}

static void await(struct chat *chat, const char *word, int number) {
  char wanted[64], events[4096];
  snprintf(wanted, sizeof wanted, "\"text\":\"%s %d\"", word, number);
  for (;;) {
    // Text was searched as it came, so that only its end is still of use.
    if (chat->length > sizeof chat->text / 2) {
      size_t kept = sizeof wanted;
      memmove(chat->text, chat->text + chat->length - kept, kept);
      chat->length = kept;
    }
    long n = read(chat->said, chat->text + chat->length, sizeof chat->text - 1 - chat->length);
    check("read", n);
    chat->length += n;
    chat->text[chat->length] = 0;
    if (strstr(chat->text, wanted)) break;
    if (n > 0) continue;
    struct pollfd change = {.fd = chat->changes, .events = POLLIN};
    errno = ETIME;
    check(wanted, poll(&change, 1, WAIT) > 0 ? 0 : -1);
    check("changes", read(chat->changes, events, sizeof events));
  }
  chat->length = 0;
}

int main(int count, char **words) {
  static struct chat a, b;
  static double rounds[ROUNDS];
  if (count != 5) return 2;
  open_chat(&a, words[1], words[2]);
  open_chat(&b, words[3], words[4]);
  for (int i = -UNCOUNTED; i < ROUNDS; i++) {
    double start = now();
    tell(&a, "there", i);
    await(&b, "there", i);
    tell(&b, "back", i);
    await(&a, "back", i);
    if (i >= 0) rounds[i] = now() - start;
  }
  printf("%.2f\n", median(rounds, ROUNDS));
  return 0;
}
