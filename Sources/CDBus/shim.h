// libdbus, with functions in place of its error object, whose fields Swift does not see.
#pragma once

#include <dbus/dbus.h>
#include <stdio.h>

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

// The answer, which the caller unreferences; nil, with the error's name, where there is none in time.
static inline DBusMessage *CDBus_ask(
    DBusConnection *connection, DBusMessage *message, int milliseconds, char *reason, int reason_bytes) {
  DBusError error;
  dbus_error_init(&error);
  DBusMessage *answer = dbus_connection_send_with_reply_and_block(connection, message, milliseconds, &error);
  if (!answer) snprintf(reason, (size_t)reason_bytes, "%s", error.name ? error.name : "");
  dbus_error_free(&error);
  return answer;
}
