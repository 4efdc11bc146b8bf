// libwebsockets, as an independent client of the tests.
// SwiftPM does not rebuild when this file changes: touch a Swift file that imports it.
#pragma once

#include <libwebsockets.h>
#include <string.h>

// A context without a port, for a client of one protocol. The two protocols are room that it keeps.
static inline struct lws_context *CWebSockets_context(
    struct lws_protocols *protocols, lws_callback_function *callback) {
  struct lws_context_creation_info info;
  memset(&info, 0, sizeof info);
  memset(protocols, 0, 2 * sizeof *protocols);
  protocols[0].name = "";
  protocols[0].callback = callback;
  info.port = CONTEXT_PORT_NO_LISTEN;
  info.protocols = protocols;
  info.options = LWS_SERVER_OPTION_VALIDATE_UTF8;
  info.uid = -1;
  info.gid = -1;
  lws_set_log_level(0, NULL);
  return lws_create_context(&info);
}

static inline struct lws *CWebSockets_connect(
    struct lws_context *context, const char *address, int port, const char *path, void *user) {
  struct lws_client_connect_info info;
  memset(&info, 0, sizeof info);
  info.context = context;
  info.address = address;
  info.port = port;
  info.path = path;
  info.host = address;
  info.origin = address;
  info.opaque_user_data = user;
  return lws_client_connect_via_info(&info);
}

static const size_t CWebSockets_prefix = LWS_PRE;
