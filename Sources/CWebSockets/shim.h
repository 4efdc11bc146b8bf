// libwebsockets, and the libuv whose loop it runs on.
// SwiftPM does not rebuild when this file changes: touch a Swift file that imports it.
#pragma once

#include <libwebsockets.h>
#include <string.h>
#include <uv.h>

// A context on a loop of ours, with one protocol and without a port. The two protocols are room that it keeps.
static inline struct lws_context *CWebSockets_start(
    uv_loop_t *loop, struct lws_protocols *protocols, lws_callback_function *callback, void *user,
    size_t read_bytes, size_t piece_bytes) {
  // Whether a client is alive is asked elsewhere, by any frame of his: no ping of its own in all of a program's life.
  static const lws_retry_bo_t retry = {.secs_since_valid_ping = 0, .secs_since_valid_hangup = 0};
  void *loops[1] = {loop};
  struct lws_context_creation_info info;
  memset(&info, 0, sizeof info);
  memset(protocols, 0, 2 * sizeof *protocols);
  protocols[0].name = "vicinity";
  protocols[0].callback = callback;
  protocols[0].rx_buffer_size = piece_bytes;
  info.port = CONTEXT_PORT_NO_LISTEN_SERVER;
  info.protocols = protocols;
  info.foreign_loops = loops;
  info.options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_VALIDATE_UTF8;
  info.pt_serv_buf_size = (unsigned)read_bytes;
  info.retry_and_idle_policy = &retry;
  info.uid = -1;
  info.gid = -1;
  info.user = user;
  info.timeout_secs = 10;
  lws_set_log_level(0, NULL);
  return lws_create_context(&info);
}
