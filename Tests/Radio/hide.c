// Loaded before other libraries, hides a Bluetooth controller from a program: the one whose number HIDDEN has. All of the lab's belong to
// one kernel, so that a host which uses all its adapters would use those of the other host.
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// HCIGETDEVINFO, whose argument begins with the number.
static const unsigned long get_info = _IOR('H', 211, int);

int ioctl(int socket, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  const char *hidden = getenv("HIDDEN");
  if (request == get_info && hidden && *(uint16_t *)argument == atoi(hidden)) {
    errno = ENODEV;
    return -1;
  }
  return syscall(SYS_ioctl, socket, request, argument);
}
