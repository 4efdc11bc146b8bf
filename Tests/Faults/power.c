// Records what a power cut would take: preloaded into a program, this notes beside each change of a file or a folder what was there
// before, and when it was synced. `power.py` undoes afterwards, by chance, what was not.
//
//     POWER_ROOT   the folder that counts
//     POWER_LOG    where it is noted
//     POWER_SAVE   a folder beside for files that lose their names
//
// Syncs are noted and not done: whoever is killed loses nothing by that, and no power is cut.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 65536, SECTOR = 512 };
enum kind { WRITE = 1, SYNC, NAME, UNNAME, RENAME, FOLDER, UNFOLDER };

struct record {
  uint32_t kind, length;     // of what follows: the bytes before, or texts with a zero behind each
  uint64_t inode, offset, size;  // the file's; where the bytes are; how long it was
  uint64_t number;           // of the record, or up to which a sync counts
};

static char root[PATH_MAX], save[PATH_MAX];
static size_t root_length;
static int log_file = -1;
static uint64_t number;
static unsigned char counts[FILES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// As the next library has it.
#define REAL(name) \
  ({ \
    static __typeof__(&name) it; \
    if (!it) it = (__typeof__(&name))real(#name); \
    it; \
  })
static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  return found;
}

__attribute__((constructor)) static void begin(void) {
  const char *folder = getenv("POWER_ROOT"), *path = getenv("POWER_LOG"), *beside = getenv("POWER_SAVE");
  if (!folder || !path || !beside) return;
  if (!realpath(folder, root)) return;
  root_length = strlen(root);
  snprintf(save, sizeof save, "%s", beside);
  log_file = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_ours(const char *path) {
  return log_file >= 0 && path && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

// The whole path of a name in an open folder.
static const char *whole(int folder, const char *path, char *room) {
  if (log_file < 0 || !path) return NULL;
  if (path[0] == '/') return path;
  char link[64], place[PATH_MAX];
  ssize_t count;
  if (folder == AT_FDCWD) {
    if (!getcwd(place, sizeof place)) return NULL;
  } else {
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    if ((count = readlink(link, place, sizeof place - 1)) < 0) return NULL;
    place[count] = 0;
  }
  if ((size_t)snprintf(room, PATH_MAX, "%s/%s", place, path) >= PATH_MAX) return NULL;
  return room;
}

static int counts_file(int file, struct stat *status) {
  return log_file >= 0 && file >= 0 && file < FILES_MAX && counts[file] && !fstat(file, status);
}

// In one piece, so that none is torn by the end of the process; with the lock held.
static void note(struct record record, const void *bytes) {
  char *whole = malloc(sizeof record + record.length);
  if (!whole) abort();
  if (record.kind != SYNC) record.number = ++number;
  memcpy(whole, &record, sizeof record);
  if (record.length) memcpy(whole + sizeof record, bytes, record.length);
  size_t count = sizeof record + record.length, done = 0;
  while (done < count) {
    ssize_t more = REAL(write)(log_file, whole + done, count - done);
    if (more <= 0) abort();
    done += more;
  }
  free(whole);
}

static void note_texts(enum kind kind, uint64_t inode, uint64_t folder, const char *one, const char *other) {
  char texts[2 * PATH_MAX];
  size_t first = strlen(one) + 1, second = other ? strlen(other) + 1 : 0;
  memcpy(texts, one, first);
  if (other) memcpy(texts + first, other, second);
  note((struct record){.kind = kind, .length = first + second, .inode = inode, .offset = folder}, texts);
}

// The present content before it changes, in whole sectors.
static void note_bytes(int file, const struct stat *status, uint64_t from, uint64_t to) {
  uint64_t start = from / SECTOR * SECTOR, end = (to + SECTOR - 1) / SECTOR * SECTOR;
  if (end > (uint64_t)status->st_size) end = status->st_size;
  size_t count = start < end ? end - start : 0;
  char link[64], *bytes = malloc(count + 1);
  if (!bytes) abort();
  if (count) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    int reader = REAL(open)(link, O_RDONLY | O_CLOEXEC);
    if (reader < 0) abort();
    for (size_t done = 0; done < count;) {
      ssize_t more = pread(reader, bytes + done, count - done, start + done);
      if (more <= 0) abort();
      done += more;
    }
    REAL(close)(reader);
  }
  note(
      (struct record){.kind = WRITE, .length = count, .inode = status->st_ino, .offset = start, .size = status->st_size},
      bytes);
  free(bytes);
}

static uint64_t folder_of(const char *path) {
  char folder[PATH_MAX];
  struct stat status;
  snprintf(folder, sizeof folder, "%s", path);
  char *slash = strrchr(folder, '/');
  if (!slash) return 0;
  *slash = 0;
  return stat(folder, &status) ? 0 : status.st_ino;
}

// MARK: Files

static int opened(int file, const char *path, int was_there) {
  if (file < 0) return file;
  if (file >= FILES_MAX) abort();
  struct stat status;
  counts[file] = is_ours(path) && !fstat(file, &status) && S_ISREG(status.st_mode);
  if (counts[file] && !was_there) note_texts(NAME, status.st_ino, folder_of(path), path, NULL);
  return file;
}

static int open_it(int folder, const char *name, int flags, mode_t mode) {
  char room[PATH_MAX];
  const char *path = whole(folder, name, room);
  if (!is_ours(path)) {
    int file = REAL(openat)(folder, name, flags, mode);
    if (file >= 0 && file < FILES_MAX) counts[file] = 0;
    return file;
  }
  pthread_mutex_lock(&lock);
  struct stat status;
  int was_there = !stat(path, &status);
  if (was_there && flags & O_TRUNC && S_ISREG(status.st_mode)) {
    int file = REAL(openat)(folder, name, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
      note_bytes(file, &status, 0, status.st_size);
      REAL(close)(file);
    }
  }
  int file = opened(REAL(openat)(folder, name, flags, mode), path, was_there);
  int code = errno;
  pthread_mutex_unlock(&lock);
  errno = code;
  return file;
}

#define MODE(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | __O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  }

int open(const char *path, int flags, ...) {
  MODE(flags)
  return open_it(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE(flags)
  return open_it(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
  MODE(flags)
  return open_it(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
  MODE(flags)
  return open_it(folder, path, flags, mode);
}

int close(int file) {
  if (file >= 0 && file < FILES_MAX) counts[file] = 0;
  return REAL(close)(file);
}

#define CHANGE(file, from, to, call) \
  struct stat status; \
  if (!counts_file(file, &status)) return call; \
  pthread_mutex_lock(&lock); \
  if (!fstat(file, &status)) note_bytes(file, &status, from, to); \
  __typeof__(call) result = call; \
  int code = errno; \
  pthread_mutex_unlock(&lock); \
  errno = code; \
  return result;

ssize_t write(int file, const void *bytes, size_t count) {
  off_t at = file >= 0 && file < FILES_MAX && counts[file] ? lseek(file, 0, SEEK_CUR) : 0;
  CHANGE(file, at, at + count, REAL(write)(file, bytes, count))
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
  CHANGE(file, at, at + count, REAL(pwrite)(file, bytes, count, at))
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
  CHANGE(file, at, at + count, REAL(pwrite64)(file, bytes, count, at))
}
int ftruncate(int file, off_t size) {
  CHANGE(file, size, status.st_size > size ? status.st_size : size, REAL(ftruncate)(file, size))
}
int ftruncate64(int file, off64_t size) {
  CHANGE(file, size, status.st_size > size ? status.st_size : size, REAL(ftruncate64)(file, size))
}

static int sync_it(int file) {
  struct stat status;
  if (log_file >= 0 && !fstat(file, &status) && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) {
    pthread_mutex_lock(&lock);
    note((struct record){.kind = SYNC, .inode = status.st_ino, .number = number}, NULL);
    pthread_mutex_unlock(&lock);
  }
  return 0;
}
int fsync(int file) { return sync_it(file); }
int fdatasync(int file) { return sync_it(file); }

// MARK: Names

// It stays beside under its number.
static void keep(const char *path, uint64_t *inode) {
  struct stat status;
  char place[PATH_MAX + 32];
  *inode = 0;
  if (lstat(path, &status)) return;
  *inode = status.st_ino;
  if (!S_ISREG(status.st_mode)) return;
  snprintf(place, sizeof place, "%s/%llu", save, (unsigned long long)status.st_ino);
  if (REAL(link)(path, place) && errno != EEXIST) abort();
}

static int rename_it(int one, const char *from, int other, const char *to) {
  char room[PATH_MAX], space[PATH_MAX];
  const char *source = whole(one, from, room), *target = whole(other, to, space);
  if (!is_ours(target)) return REAL(renameat)(one, from, other, to);
  pthread_mutex_lock(&lock);
  uint64_t before;
  keep(target, &before);
  int result = REAL(renameat)(one, from, other, to), code = errno;
  if (!result) note_texts(RENAME, before, folder_of(target), source, target);
  pthread_mutex_unlock(&lock);
  errno = code;
  return result;
}
int rename(const char *from, const char *to) { return rename_it(AT_FDCWD, from, AT_FDCWD, to); }
int renameat(int one, const char *from, int other, const char *to) { return rename_it(one, from, other, to); }

static int unlink_it(int folder, const char *name, int flags) {
  char room[PATH_MAX];
  const char *path = whole(folder, name, room);
  if (!is_ours(path)) return REAL(unlinkat)(folder, name, flags);
  pthread_mutex_lock(&lock);
  uint64_t inode;
  keep(path, &inode);
  int result = REAL(unlinkat)(folder, name, flags), code = errno;
  if (!result) note_texts(flags & AT_REMOVEDIR ? UNFOLDER : UNNAME, inode, folder_of(path), path, NULL);
  pthread_mutex_unlock(&lock);
  errno = code;
  return result;
}
int unlink(const char *path) { return unlink_it(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char *name, int flags) { return unlink_it(folder, name, flags); }
int rmdir(const char *path) { return unlink_it(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char *path) {
  struct stat status;
  return unlink_it(AT_FDCWD, path, !lstat(path, &status) && S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0);
}

int link(const char *from, const char *to) {
  int result = REAL(link)(from, to), code = errno;
  struct stat status;
  if (!result && is_ours(to) && !stat(to, &status)) {
    pthread_mutex_lock(&lock);
    note_texts(NAME, status.st_ino, folder_of(to), to, NULL);
    pthread_mutex_unlock(&lock);
  }
  errno = code;
  return result;
}

int mkdir(const char *path, mode_t mode) {
  int result = REAL(mkdir)(path, mode), code = errno;
  struct stat status;
  if (!result && is_ours(path) && !stat(path, &status)) {
    pthread_mutex_lock(&lock);
    note_texts(FOLDER, status.st_ino, folder_of(path), path, NULL);
    pthread_mutex_unlock(&lock);
  }
  errno = code;
  return result;
}
