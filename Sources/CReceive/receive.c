// The process's `recv`. libmicrohttpd has no other way to be given bytes than a socket that it reads, and is to have the
// client's own, so that answers go out without another copy. The dynamic linker takes this definition before the C
// library's; where nothing is diverted, it is the same system call.
#define _GNU_SOURCE
#include "receive.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

static _Thread_local creceive_source source;
static _Thread_local void *source_context;

void creceive_divert(creceive_source new_source, void *context) {
  source = new_source;
  source_context = context;
}

ssize_t creceive_plain(int descriptor, void *room, size_t count) {
  ssize_t received = recvfrom(descriptor, room, count, 0, NULL, NULL);
  return received < 0 ? -errno : received;
}

ssize_t recv(int descriptor, void *room, size_t count, int flags) {
  if (source == NULL || flags != 0) return recvfrom(descriptor, room, count, flags, NULL, NULL);
  ssize_t received = source(source_context, descriptor, room, count);
  if (received >= 0) return received;
  errno = (int)-received;
  return -1;
}

bool creceive_is_in_place(void) { return dlsym(RTLD_DEFAULT, "recv") == (void *)recv; }
