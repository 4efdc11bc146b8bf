// libmicrohttpd, with a function for each call that takes a list of arguments of any length, or gives back a union.
// SwiftPM does not rebuild when this file changes: touch a Swift file that imports it.
#pragma once

#include <microhttpd.h>

// A daemon without a thread, without a port of its own, and without a log: what it has to say of single connections, such
// as that a pair of sockets is no TCP, helps nobody.
static inline struct MHD_Daemon *CMicroHTTPD_start(
    unsigned connections_max, size_t connection_memory, unsigned idle_seconds, MHD_AccessHandlerCallback access,
    MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback connected,
    void *(*began)(void *, const char *, struct MHD_Connection *), void *context) {
  struct MHD_OptionItem options[] = {
      {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)connections_max, NULL},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)connection_memory, NULL},
      {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)idle_seconds, NULL},
      {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)completed, context},
      {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)connected, context},
      {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)began, context},
      {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
      // Without it, no file is ever sent by sendfile.
      {MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, NULL},
      {MHD_OPTION_END, 0, NULL},
  };
  unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE;
  return MHD_start_daemon(flags, 0, NULL, NULL, access, context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}
static inline int CMicroHTTPD_poll_descriptor(struct MHD_Daemon *daemon) {
  return MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}
static inline int CMicroHTTPD_descriptor(struct MHD_Connection *connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}
static inline void *CMicroHTTPD_socket_context(struct MHD_Connection *connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}
// The library forgets an upgraded connection, and closes its descriptor.
static inline void CMicroHTTPD_forget_upgraded(struct MHD_UpgradeResponseHandle *upgraded) {
  MHD_upgrade_action(upgraded, MHD_UPGRADE_ACTION_CLOSE);
}
// None where it is 0.
static inline void CMicroHTTPD_set_idle_time(struct MHD_Connection *connection, unsigned seconds) {
  MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}
static inline struct MHD_Response *CMicroHTTPD_response_of_unknown_size(
    size_t block, MHD_ContentReaderCallback read, void *context, MHD_ContentReaderFreeCallback release) {
  return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, block, read, context, release);
}
static const ssize_t CMicroHTTPD_END_OF_STREAM = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t CMicroHTTPD_END_WITH_ERROR = MHD_CONTENT_READER_END_WITH_ERROR;
