// Measures the cost of TLS 1.3 by itself, as a link uses it: Ed25519 certificates on both sides, one connection, blocking calls.
//
//   tls-floor serve ADDRESS                       prints its port, then echoes what each connection sends, one at a time
//   tls-floor handshakes ADDRESS PORT COUNT PAUSE
//                                                 prints the median time of a handshake and of a byte there and back after
//                                                 it; before each it waits for so many milliseconds
//   tls-floor trips ADDRESS PORT COUNT BYTES      prints the median time there and back, and that of the slowest hundredth
//
// All in nanoseconds.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void need(int holds, const char *what) {
  if (holds) return;
  perror(what);
  ERR_print_errors_fp(stderr);
  exit(1);
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int accept_any(X509_STORE_CTX *store, void *unused) {
  (void)store, (void)unused;
  return 1;
}

static SSL_CTX *make_context(void) {
  EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
  X509 *certificate = X509_new();
  need(key && certificate, "make a key");
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  need(X509_sign(certificate, key, NULL) > 0, "sign a certificate");
  SSL_CTX *context = SSL_CTX_new(TLS_method());
  need(context && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION), "make a context");
  need(SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256"), "set the cipher");
  need(SSL_CTX_set1_sigalgs_list(context, "ed25519"), "ask for Ed25519");
  need(SSL_CTX_use_certificate(context, certificate) && SSL_CTX_use_PrivateKey(context, key), "use the certificate");
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  SSL_CTX_set_cert_verify_callback(context, accept_any, NULL);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 1);
  const unsigned char name[] = "vicinity floor";
  need(SSL_CTX_set_session_id_context(context, name, sizeof name - 1), "name the sessions");
  return context;
}

static struct sockaddr_in place(const char *address, int port) {
  struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  need(inet_pton(AF_INET, address, &place.sin_addr) == 1, "read the address");
  return place;
}

static void send_at_once(int descriptor) {
  int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void serve(const char *address) {
  SSL_CTX *context = make_context();
  struct sockaddr_in here = place(address, 0);
  socklen_t size = sizeof here;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  need(listener >= 0 && bind(listener, (struct sockaddr *)&here, size) == 0 && listen(listener, 16) == 0, "listen");
  getsockname(listener, (struct sockaddr *)&here, &size);
  printf("%d\n", ntohs(here.sin_port));
  fflush(stdout);
  for (;;) {
    int descriptor = accept(listener, NULL, NULL);
    need(descriptor >= 0, "accept");
    send_at_once(descriptor);
    SSL *connection = SSL_new(context);
    SSL_set_fd(connection, descriptor);
    if (SSL_accept(connection) == 1) {
      char bytes[16384];
      int count;
      while ((count = SSL_read(connection, bytes, sizeof bytes)) > 0) SSL_write(connection, bytes, count);
    }
    SSL_free(connection);
    close(descriptor);
  }
}

static SSL *connect_to(SSL_CTX *context, const char *address, int port) {
  struct sockaddr_in there = place(address, port);
  int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  need(descriptor >= 0 && connect(descriptor, (struct sockaddr *)&there, sizeof there) == 0, "connect");
  send_at_once(descriptor);
  SSL *connection = SSL_new(context);
  SSL_set_fd(connection, descriptor);
  need(SSL_connect(connection) == 1, "shake hands");
  return connection;
}

static void hang_up(SSL *connection) {
  int descriptor = SSL_get_fd(connection);
  SSL_shutdown(connection);
  SSL_free(connection);
  close(descriptor);
}

static uint64_t trip(SSL *connection, char *bytes, int size) {
  uint64_t start = now();
  need(SSL_write(connection, bytes, size) == size, "write");
  for (int got = 0; got < size;) {
    int count = SSL_read(connection, bytes + got, size - got);
    need(count > 0, "read");
    got += count;
  }
  return now() - start;
}

static int ascending(const void *one, const void *other) {
  uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
  return (a > b) - (a < b);
}

static uint64_t quantile(uint64_t *times, int count, int percent) {
  qsort(times, (size_t)count, sizeof *times, ascending);
  return times[count * percent / 100];
}

int main(int words, char **word) {
  // It ends with whoever started it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  if (words == 3 && !strcmp(word[1], "serve")) {
    serve(word[2]);
  } else if (words == 6 && !strcmp(word[1], "handshakes")) {
    SSL_CTX *context = make_context();
    int count = atoi(word[4]), pause = atoi(word[5]);
    uint64_t handshakes[count], trips[count];
    char byte = 7;
    for (int i = 0; i < count; i++) {
      usleep((useconds_t)pause * 1000);
      uint64_t start = now();
      SSL *connection = connect_to(context, word[2], atoi(word[3]));
      handshakes[i] = now() - start;
      // The first one waits for the server to have read our certificate: that is the handshake's still.
      handshakes[i] += trip(connection, &byte, 1);
      trips[i] = trip(connection, &byte, 1);
      handshakes[i] -= trips[i] < handshakes[i] ? trips[i] : 0;
      hang_up(connection);
    }
    printf("%lu %lu\n", quantile(handshakes, count, 50), quantile(trips, count, 50));
  } else if (words == 6 && !strcmp(word[1], "trips")) {
    SSL *connection = connect_to(make_context(), word[2], atoi(word[3]));
    int count = atoi(word[4]), size = atoi(word[5]);
    uint64_t *times = calloc((size_t)count, sizeof *times);
    char *bytes = calloc((size_t)size, 1);
    for (int i = 0; i < count; i++) times[i] = trip(connection, bytes, size);
    printf("%lu %lu\n", quantile(times, count, 50), quantile(times, count, 99));
    hang_up(connection);
  } else {
    fprintf(stderr, "Usage: tls-floor serve ADDRESS | handshakes ADDRESS PORT COUNT PAUSE | trips ADDRESS PORT COUNT BYTES\n");
    return 2;
  }
  return 0;
}
