// Measures the cost of an answer of libmicrohttpd by itself: one thread, its own epoll, one resource that lies ready.
//
//   http-floor BYTES        prints its port, then answers each request with so many bytes of JSON
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct MHD_Response *resource;

static enum MHD_Result answer(void *unused, struct MHD_Connection *connection, const char *target, const char *method,
                              const char *version, const char *body, size_t *body_count, void **request) {
  (void)unused, (void)target, (void)method, (void)version, (void)body, (void)body_count;
  // A response before the request is complete closes the connection.
  if (!*request) {
    *request = resource;
    return MHD_YES;
  }
  return MHD_queue_response(connection, MHD_HTTP_OK, resource);
}

int main(int count, char **words) {
  int bytes = count == 2 ? atoi(words[1]) : 0;
  if (bytes < 2) {
    fprintf(stderr, "Usage: http-floor BYTES\n");
    return 2;
  }
  char *json = malloc((size_t)bytes);
  if (!json) return 1;
  memset(json, 'x', (size_t)bytes);
  json[0] = json[bytes - 1] = '"';
  resource = MHD_create_response_from_buffer((size_t)bytes, json, MHD_RESPMEM_PERSISTENT);
  MHD_add_response_header(resource, "Content-Type", "application/json");

  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct MHD_Daemon *daemon =
      MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, answer, NULL, MHD_OPTION_SOCK_ADDR, &address,
                       MHD_OPTION_CONNECTION_LIMIT, 1024u, MHD_OPTION_END);
  if (!daemon) {
    fprintf(stderr, "libmicrohttpd does not start\n");
    return 1;
  }
  printf("%d\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
  fflush(stdout);
  pause();
}
