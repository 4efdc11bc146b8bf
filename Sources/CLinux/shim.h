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
