// libdbus, with functions in place of its error object, whose fields Swift does not see.
#pragma once

#include <dbus/dbus.h>
#include <stdio.h>
#include <time.h>

// Types of arguments: the library has them as casts of characters.
static const int CDBus_text = DBUS_TYPE_STRING;
static const int CDBus_signed = DBUS_TYPE_INT32;
static const int CDBus_unsigned = DBUS_TYPE_UINT32;
static const int CDBus_boolean = DBUS_TYPE_BOOLEAN;

// Nil, with the name of the error, where there is no connection.
static inline DBusConnection *CDBus_open(const char *address, char *reason, int reason_bytes) {
  DBusError error;
  dbus_error_init(&error);
  DBusConnection *connection = dbus_connection_open_private(address, &error);
  if (!connection) snprintf(reason, (size_t)reason_bytes, "%s", error.name ? error.name : "");
  dbus_error_free(&error);
  return connection;
}

// The answer, which the caller unreferences; nil, with the error's name, where there is none in time. The library's own
// call that blocks has no limit for the time until a message is written, as to a bus that does not authenticate.
static inline DBusMessage *CDBus_ask(
    DBusConnection *connection, DBusMessage *message, int milliseconds, char *reason, int reason_bytes) {
  const char *error = DBUS_ERROR_DISCONNECTED;
  DBusMessage *answer = NULL;
  DBusPendingCall *pending = NULL;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  long long deadline = now.tv_sec * 1000LL + now.tv_nsec / 1000000 + milliseconds;
  if (dbus_connection_send_with_reply(connection, message, &pending, milliseconds) && pending) {
    while (!dbus_pending_call_get_completed(pending)) {
      clock_gettime(CLOCK_MONOTONIC, &now);
      long long left = deadline - (now.tv_sec * 1000LL + now.tv_nsec / 1000000);
      if (left <= 0) {
        error = DBUS_ERROR_NO_REPLY;
        break;
      }
      if (!dbus_connection_read_write_dispatch(connection, (int)left)) break;
    }
    if (dbus_pending_call_get_completed(pending)) {
      answer = dbus_pending_call_steal_reply(pending);
    } else {
      dbus_pending_call_cancel(pending);
    }
    dbus_pending_call_unref(pending);
  }
  if (answer && dbus_message_get_type(answer) == DBUS_MESSAGE_TYPE_ERROR) {
    const char *name = dbus_message_get_error_name(answer);
    snprintf(reason, (size_t)reason_bytes, "%s", name ? name : "");
    dbus_message_unref(answer);
    return NULL;
  }
  if (!answer) snprintf(reason, (size_t)reason_bytes, "%s", error);
  return answer;
}
