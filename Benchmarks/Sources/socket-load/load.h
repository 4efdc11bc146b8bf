#pragma once
#include <stddef.h>
#include <stdint.h>

enum { message_bytes = 100, requests_max = 64, clients_per_address = 900 };

// The server under load, as the command line names it.
struct place {
  const struct protocol *protocol;
  int port;
  // For Vicinity: the client's token, the collection that is followed, the position since when, and where messages go. Of
  // NATS: the subject, as the collection and as where messages go; its own, if there is none.
  const char *token, *channel, *since, *outlet;
};

// How a server is spoken to once its WebSocket is open. What is said goes into a room of 1 KiB and may be several frames.
struct protocol {
  const char *name, *path, *subprotocol;
  size_t (*subscribe)(char *room, const struct place *place);
  size_t (*introduce)(char *room, const struct place *place);
  size_t (*publish)(char *room, const struct place *place, const char *message);
  // The server's text when that is done.
  const char *subscribed, *introduced;
  size_t subscribed_count, introduced_count;
};

const struct protocol *protocol_named(const char *name);

// A message carries its number and is checked to its last byte.
void write_message(char *room, uint64_t number);

// Room of a message, as a request to publish it.
enum { publication_max = 1024 };

struct client;
// Called for each message that a client receives, with its number.
typedef void (*heard)(struct client *client, uint64_t number);
// Called with each whole text of the server.
typedef void (*told)(struct client *client, const char *text, size_t count);

struct client {
  int socket;
  heard heard;
  // If it is set, it gets the texts, which are then not searched for messages.
  told told;
  // The weight of its listener.
  void *context;
  uint64_t next;
  // Whether the server may send it away, and has done so.
  int may_end, has_ended;
  // The frame that is being read: the known part of its header, and the rest of its payload.
  unsigned char header[10];
  unsigned header_count, opcode, is_final;
  uint64_t payload_left;
  // The beginning of a message that another read brings the rest of.
  char part[message_bytes];
  unsigned part_count;
  // The beginning of a text that another read brings the rest of.
  char *text;
  size_t text_count;
};

// Connects, and subscribes or only says who it is; from several addresses, since a gateway gives each so many places.
void open_clients(struct client *clients, int count, const struct place *place, int subscribe);
// Connects, and says nothing yet.
void open_client(struct client *client, const struct place *place, int from);
// The address of the client of this number.
int address_of(int number);
void feed(struct client *client, const char *bytes, size_t count);
// Checks the message that lies in a text, if there is one.
void read_message(struct client *client, const char *text, size_t count);
// A frame of a client: masked by zeros, which leave the payload as it is.
size_t frame(char *room, unsigned opcode, const char *payload, size_t count);

int connect_to(int port, int from);
void say_all(int socket, const char *bytes, size_t count);
int is_answered(const char *bytes, size_t count);
// Rooms of one publisher and so many subscribers, each room at a place of its own. With a rate each message is due at its
// time; without one, as many are sent as the window allows.
void fan_out(const struct place *places, int rooms, int subscribers, int window, double seconds, double rate);
// Clients that subscribe at once to a channel with so many messages, while others go on and another client asks.
void arrive(const struct place *place, const char *other, int count, int messages, double rate);
// Browsers that are peers of one session, at these gateways in turn; takes commands by its input until that ends.
void crowd(const struct place *gateways, int count, const char *type, const char *keep);
// Some who read at paces below so many bytes a second, and some who do not read at all, until the input ends.
void lag(const struct place *place, int slow, int stuck, int rate);
// Messages that are due at their time, or as many as are answered.
void acknowledge(const struct place *place, int clients, int window, double seconds, double rate);

void note_delay(uint64_t delay);
void forget_delays(void);
uint64_t delay_of(double share);
void end_tenth(void);
void print_tenths(void);
uint64_t processor_time(void);
uint64_t now(void);
_Noreturn void fail(const char *what);
