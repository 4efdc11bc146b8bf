// The parts of Linux that Swift's Glibc module leaves out.
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

// glibc shows these under _GNU_SOURCE only, which the Glibc module was built without.
int accept4(int, struct sockaddr *, socklen_t *, int);
int pipe2(int[2], int);
ssize_t preadv2(int, const struct iovec *, int, off_t, int);
const char *strerrorname_np(int);
const char *strerrordesc_np(int);
int setns(int, int);
int sync_file_range(int, long, long, unsigned);
int unshare(int);

// The beginning of the kernel's `struct tcp_info` (linux/tcp.h), of which glibc's own ends earlier. Times are in
// microseconds.
struct tcp_measurements {
  unsigned char states[8];
  unsigned limits[15];
  unsigned rtt, rttvar;
  unsigned windows[7];
  unsigned long pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
  unsigned segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
  unsigned long delivery_rate, times[3];
  unsigned delivered, delivered_ce;
  unsigned long bytes_sent, bytes_retrans;
};
