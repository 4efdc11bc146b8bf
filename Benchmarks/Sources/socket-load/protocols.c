#include <stdio.h>
#include <string.h>

#include "load.h"

static const char topic[] = "bench";

// vicinity.v1

static size_t vicinity_introduce(char *room, const struct place *place) {
  char text[512];
  int count = snprintf(text, sizeof text, "{\"id\":1,\"connect\":{\"token\":\"%s\"}}", place->token);
  return frame(room, 1, text, (size_t)count);
}

static size_t vicinity_subscribe(char *room, const struct place *place) {
  char text[512];
  size_t said = vicinity_introduce(room, place);
  int count = snprintf(text, sizeof text, "{\"id\":2,\"subscribe\":{\"channel\":\"%s\",\"since\":\"%s\"}}", place->channel,
                       place->since);
  return said + frame(room + said, 1, text, (size_t)count);
}

static size_t vicinity_publish(char *room, const struct place *place, const char *message) {
  char text[512];
  int count = snprintf(text, sizeof text,
                       "{\"id\":3,\"request\":{\"method\":\"POST\",\"path\":\"%s\",\"body\":\"%.*s\"}}", place->outlet,
                       message_bytes, message);
  return frame(room, 1, text, (size_t)count);
}

// NATS

static size_t nats_introduce(char *room, const struct place *place) {
  (void)place;
  static const char text[] = "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nPING\r\n";
  return frame(room, 2, text, sizeof text - 1);
}

static const char *subject(const char *name) { return *name ? name : topic; }

static size_t nats_subscribe(char *room, const struct place *place) {
  char text[256];
  int count = snprintf(text, sizeof text, "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB %s 1\r\nPING\r\n",
                       subject(place->channel));
  return frame(room, 2, text, (size_t)count);
}

static size_t nats_publish(char *room, const struct place *place, const char *message) {
  char text[256];
  int count = snprintf(text, sizeof text, "PUB %s %d\r\n%.*s\r\n", subject(place->outlet), message_bytes, message_bytes, message);
  return frame(room, 2, text, (size_t)count);
}

// MQTT 3.1.1, QoS 0

static size_t mqtt_introduce(char *room, const struct place *place) {
  (void)place;
  // A clean session of no name, kept alive by nothing.
  static const char packet[] = {0x10, 12, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0, 0, 0};
  return frame(room, 2, packet, sizeof packet);
}

static size_t mqtt_subscribe(char *room, const struct place *place) {
  static const char packet[] = {(char)0x82, 10, 0, 1, 0, 5, 'b', 'e', 'n', 'c', 'h', 0};
  size_t said = mqtt_introduce(room, place);
  return said + frame(room + said, 2, packet, sizeof packet);
}

static size_t mqtt_publish(char *room, const struct place *place, const char *message) {
  (void)place;
  char packet[9 + message_bytes] = {0x30, 7 + message_bytes, 0, 5, 'b', 'e', 'n', 'c', 'h'};
  memcpy(packet + 9, message, message_bytes);
  return frame(room, 2, packet, sizeof packet);
}

static const struct protocol protocols[] = {
    {"vicinity", "/v1/socket", "vicinity.v1", vicinity_subscribe, vicinity_introduce, vicinity_publish, "\"id\":2,\"ok\"",
     "\"id\":1,\"ok\"", 11, 11},
    {"nats", "/", "", nats_subscribe, nats_introduce, nats_publish, "PONG", "PONG", 4, 4},
    {"mqtt", "/mqtt", "mqtt", mqtt_subscribe, mqtt_introduce, mqtt_publish, "\x90\x03\x00\x01\x00", "\x20\x02\x00\x00", 5,
     4},
};

const struct protocol *protocol_named(const char *name) {
  for (size_t at = 0; at < sizeof protocols / sizeof protocols[0]; at++)
    if (!strcmp(protocols[at].name, name)) return &protocols[at];
  fail("protocols are vicinity, nats and mqtt");
}
