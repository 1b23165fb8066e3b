/*
 * WebSocket load client: many connections in one thread, for rates that a client in Node.js cannot read.
 *
 *   load-client <port> <path> <connections> <command>
 *
 * Opens the connections, sends the command on each, and prints `open` when every connection was answered. For each line on
 * its input, `count` or `mark`, it prints one line, and `mark` begins to count the bytes again:
 *
 *   <fewest bytes of a connection> <most bytes of a connection> <closed connections> <events> <latency µs>...
 *
 * All connections subscribe to the same topic. If their byte counts differ by less than an event, which heartbeats explain, each
 * received every event. Events are counted, and their latency is measured from `"published":<µs>`, on the first connection alone. Latencies are those since the last line.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EVENT_MARK "{\"type\":\"trade\""
#define TIME_MARK "\"published\":"
enum { readLength = 1 << 20, carriedLength = 4096, maxLatencies = 1 << 16, stampDigits = 16, openAtOnce = 64, signOfLifeMs = 10000, watched = 16 };

/* The end of what a watched connection received: the beginning of an event that the next read completes. */
typedef struct Watch {
  char carried[carriedLength];
  int used;
} Watch;

typedef struct {
  int fd;
  /* Bytes since the last mark, without the answer to the handshake. */
  long long bytes;
  int upgraded, answered, closed;
  /* Null: its events are not counted. */
  struct Watch *watch;
  char handshake[1024];
  int handshakeLength;
} Connection;

static Connection *connections;
static int total, opened, answered, closed, poller;
static char buffer[carriedLength + readLength];
static long long events;
static long latencies[maxLatencies];
static int latencyCount;
static char request[1024];
static unsigned char command[1024];
static int requestLength, commandLength;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static long long nowUs(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

/* Counts the events of a watched connection. */
static void countEvents(Watch *watch, const char *data, int length) {
  if (watch->used + length > (int)sizeof buffer) fail("a read is too long");
  memmove(buffer + watch->used, data, length);
  memcpy(buffer, watch->carried, watch->used);
  const char *at = buffer, *end = buffer + watch->used + length;
  for (;;) {
    const char *event = memmem(at, end - at, EVENT_MARK, sizeof EVENT_MARK - 1);
    const char *stamp = event == NULL ? NULL : memmem(event, end - event, TIME_MARK, sizeof TIME_MARK - 1);
    if (stamp == NULL || end - stamp < (int)sizeof TIME_MARK + stampDigits) {
      const char *rest = event != NULL ? event : end - at > (int)sizeof EVENT_MARK ? end - (int)sizeof EVENT_MARK : at;
      watch->used = end - rest;
      if (watch->used > carriedLength) fail("an event is too long");
      memcpy(watch->carried, rest, watch->used);
      return;
    }
    events++;
    if (latencyCount < maxLatencies) latencies[latencyCount++] = nowUs() - atoll(stamp + sizeof TIME_MARK - 1);
    at = stamp + sizeof TIME_MARK - 1;
  }
}

static void openNext(void) {
  if (opened == total) return;
  Connection *connection = &connections[opened++];
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(request)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  connection->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connection->fd < 0) fail("socket");
  int yes = 1;
  setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
  const char *text = strchr(request, '\n') + 1;
  if (write(connection->fd, text, requestLength) != requestLength) fail("write");
  struct epoll_event interest = {.events = EPOLLIN, .data.ptr = connection};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, connection->fd, &interest) != 0) fail("epoll_ctl");
}

static void drop(Connection *connection) {
  epoll_ctl(poller, EPOLL_CTL_DEL, connection->fd, NULL);
  close(connection->fd);
  connection->closed = 1;
  closed++;
}

/* Returns the number of bytes behind the head of the answer to the handshake, or -1 before its end. */
static int readHandshake(Connection *connection, const char *data, int length) {
  int room = (int)sizeof connection->handshake - 1 - connection->handshakeLength;
  int copied = length < room ? length : room;
  memcpy(connection->handshake + connection->handshakeLength, data, copied);
  int before = connection->handshakeLength;
  connection->handshakeLength += copied;
  connection->handshake[connection->handshakeLength] = 0;
  char *end = strstr(connection->handshake, "\r\n\r\n");
  if (end == NULL && room > copied) return -1;
  if (end == NULL || strncmp(connection->handshake, "HTTP/1.1 101", 12) != 0) {
    fprintf(stderr, "%s\n", connection->handshake);
    exit(1);
  }
  if (write(connection->fd, command, commandLength) != commandLength) fail("write");
  return length - (end + 4 - connection->handshake - before);
}

static void readFrom(Connection *connection) {
  char *data = buffer + carriedLength;
  int length = read(connection->fd, data, readLength);
  if (length <= 0) {
    if (length == 0 || errno != EAGAIN) drop(connection);
    return;
  }
  if (!connection->upgraded) {
    int behind = readHandshake(connection, data, length);
    if (behind < 0) return;
    connection->upgraded = 1;
    data += length - behind;
    length = behind;
    if (length == 0) return;
  }
  if (!connection->answered) {
    connection->answered = 1;
    openNext();
    if (++answered == total) {
      puts("open");
      fflush(stdout);
    }
  }
  connection->bytes += length;
  if (connection->watch != NULL) countEvents(connection->watch, data, length);
}

static void report(void) {
  char line[64];
  if (fgets(line, sizeof line, stdin) == NULL) exit(0);
  long long fewest = connections[0].bytes, most = fewest;
  for (int i = 1; i < total; i++) {
    if (connections[i].bytes < fewest) fewest = connections[i].bytes;
    if (connections[i].bytes > most) most = connections[i].bytes;
  }
  printf("%lld %lld %d %lld", fewest, most, closed, events);
  for (int i = 0; i < latencyCount; i++) printf(" %ld", latencies[i]);
  puts("");
  fflush(stdout);
  latencyCount = 0;
  if (line[0] == 'm')
    for (int i = 0; i < total; i++) connections[i].bytes = 0;
}

/* One ping for each connection in `signOfLifeMs`, spread over that time. */
static void sendSignsOfLife(long long sinceUs) {
  static const unsigned char ping[] = {0x89, 0x80, 0, 0, 0, 0};
  static long long sent;
  for (long long due = sinceUs * total / (signOfLifeMs * 1000LL); sent < due; sent++) {
    Connection *connection = &connections[sent % total];
    if (!connection->closed && write(connection->fd, ping, sizeof ping) != sizeof ping) drop(connection);
  }
}

int main(int count, char **arguments) {
  if (count != 5) return fprintf(stderr, "usage: load-client <port> <path> <connections> <command>\n"), 2;
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  total = atoi(arguments[3]);
  connections = calloc(total, sizeof *connections);
  for (int i = 0; i < watched; i++) connections[(long long)total * i / watched].watch = calloc(1, sizeof(Watch));
  int portLength = snprintf(request, sizeof request, "%s\n", arguments[1]);
  requestLength = snprintf(request + portLength, sizeof request - portLength,
                           "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
                           arguments[2]);
  int textLength = strlen(arguments[4]);
  if (textLength > 125) return fprintf(stderr, "the command is longer than 125 bytes\n"), 2;
  /* One text frame; the mask is zero. */
  command[0] = 0x81;
  command[1] = 0x80 | textLength;
  memcpy(command + 6, arguments[4], textLength);
  commandLength = 6 + textLength;
  poller = epoll_create1(0);
  struct epoll_event input = {.events = EPOLLIN, .data.ptr = NULL};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, 0, &input) != 0) fail("epoll_ctl");
  for (int i = 0; i < openAtOnce; i++) openNext();
  long long openedUs = 0;
  for (;;) {
    struct epoll_event ready[512];
    int readyCount = epoll_wait(poller, ready, 512, 1000);
    for (int i = 0; i < readyCount; i++) {
      if (ready[i].data.ptr == NULL) report();
      else readFrom(ready[i].data.ptr);
    }
    if (answered < total) continue;
    if (openedUs == 0) openedUs = nowUs();
    sendSignsOfLife(nowUs() - openedUs);
  }
}
