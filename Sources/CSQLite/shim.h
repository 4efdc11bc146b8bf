// SQLite 3, with a function for each macro and variadic function that Swift cannot import.
// SwiftPM does not rebuild when this file changes: touch a Swift file that imports it.
#pragma once

#include <sqlite3.h>

// SQLite keeps a copy of its own.
static inline int CSQLite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}
static inline int CSQLite_bind_text(sqlite3_stmt *statement, int index, const char *bytes, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, index, bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}
static inline int CSQLite_db_config(sqlite3 *database, int option, int value) {
  return sqlite3_db_config(database, option, value, (int *)0);
}
// Before anything else: then SQLite locks nothing where it takes memory. Once it is in use it refuses.
static inline int CSQLite_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
// The log and its index stay when the database is closed, empty: where the disk is full by then, they could not be made.
static inline int CSQLite_keep_log(sqlite3 *database) {
  int keeps = 1;
  return sqlite3_file_control(database, "main", SQLITE_FCNTL_PERSIST_WAL, &keeps);
}
// The database's own file, as SQLite itself syncs it.
static inline int CSQLite_sync_file(sqlite3 *database) {
  sqlite3_file *file = 0;
  int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  return code == SQLITE_OK ? file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) : code;
}
