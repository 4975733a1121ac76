/*
 * The network of the rig of several machines: a switch in user space, and the first process of each machine.
 *
 *   fabric switch SOCKET NAME=OCTET ...   makes a network namespace for each machine, with a TAP device `eth0` whose other end is
 *                                         here. Prints `NAME DESCRIPTOR` for each (the namespace is /proc/PID/fd/DESCRIPTOR), then
 *                                         `ready`. Takes commands as datagrams at SOCKET, and answers each.
 *   fabric init                           is process 1 of a machine: waits for all that die there.
 *
 * Both end when their standard input does, so nothing outlives whoever holds the other end of that pipe. Each machine has a
 * namespace without a name and its device is born in there, so that rigs that run at once have nothing in common.
 *
 * Commands: link FROM TO LOSS_PER_MILLE DELAY_MS (one direction) | rate NAME KBIT (both directions, 0: no limit) | heal |
 *           stats | needle HEX (counts frames with these bytes) | hits
 *
 * Every frame passes here, because kernels may lack netem. `programs.py` compiles this, `switch.py` starts it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PORTS = 32, MOST_NEEDLES = 16, MOST_HELD = 200000, FRAME = 2048, ANSWER = 65000 };
enum { BURST = 64 };                        /* frames that are read from one machine before another has its turn */
enum { COMMANDS = 1000, TIMER, LIFE_LINE }; /* what epoll says of descriptors that are no port */
static const int64_t LONGEST_QUEUE_NS = 1500000000; /* a narrow line drops what would wait longer, as a router's buffer does */

/* A machine's end of the switch. */
typedef struct {
  char name[16];
  int descriptor;
  int kbit;
  int64_t sends_until, receives_until; /* when a narrow line has passed on what it has taken */
} Port;

/* One direction between two machines. */
typedef struct {
  int loss_per_mille, delay_ms;
  uint64_t passed, dropped;
  uint64_t hits[MOST_NEEDLES];
} Line;

/* A frame on its way. */
typedef struct {
  int64_t due;
  uint64_t number; /* frames that are due at once keep their order */
  int to, length;
  unsigned char data[FRAME];
} Held;

typedef struct {
  unsigned char bytes[256];
  int length;
} Needle;

static Port ports[MOST_PORTS];
static int port_count;
static int port_of_octet[256];
static Line lines[MOST_PORTS][MOST_PORTS];
static Needle needles[MOST_NEEDLES];
static int needle_count;
static Held **heap; /* the frame that is due first is at its top */
static int held_count, heap_room;
static uint64_t frames_held;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* --- frames that wait --- */

static int is_before(const Held *a, const Held *b) { return a->due != b->due ? a->due < b->due : a->number < b->number; }

static void swap(int a, int b) {
  Held *frame = heap[a];
  heap[a] = heap[b];
  heap[b] = frame;
}

static void push(Held *frame) {
  if (held_count == heap_room) {
    heap_room = heap_room ? heap_room * 2 : 256;
    heap = realloc(heap, heap_room * sizeof *heap);
    if (!heap) fail("realloc");
  }
  int place = held_count++;
  heap[place] = frame;
  for (; place && is_before(heap[place], heap[(place - 1) / 2]); place = (place - 1) / 2) swap(place, (place - 1) / 2);
}

static Held *pop(void) {
  Held *top = heap[0];
  heap[0] = heap[--held_count];
  for (int place = 0;;) {
    int left = 2 * place + 1, right = left + 1, least = place;
    if (left < held_count && is_before(heap[left], heap[least])) least = left;
    if (right < held_count && is_before(heap[right], heap[least])) least = right;
    if (least == place) return top;
    swap(place, least);
    place = least;
  }
}

/* --- passing on --- */

/* Return when a line of `kbit` has passed on a frame that comes to it at `at`; -1 if its buffer is full. */
static int64_t through(int64_t at, int kbit, int64_t *busy_until, int length) {
  if (!kbit) return at;
  int64_t begin = *busy_until > at ? *busy_until : at;
  if (begin - at > LONGEST_QUEUE_NS) return -1;
  return *busy_until = begin + (int64_t)length * 8 * 1000000 / kbit;
}

static void put(int to, const unsigned char *data, int length) {
  /* A machine that is just being started has no device that is up: its frames are lost, as on a real cable. */
  if (write(ports[to].descriptor, data, length) < 0 && errno != EIO && errno != EAGAIN) perror("write");
}

static void pass_on(int from, int to, const unsigned char *data, int length) {
  Line *line = &lines[from][to];
  int64_t time = now(), due = time;
  if (line->loss_per_mille && rand() % 1000 < line->loss_per_mille) due = -1;
  if (due >= 0) due = through(due, ports[from].kbit, &ports[from].sends_until, length);
  if (due >= 0) due = through(due + line->delay_ms * 1000000LL, ports[to].kbit, &ports[to].receives_until, length);
  if (due < 0 || held_count >= MOST_HELD) {
    line->dropped++;
    return;
  }
  line->passed++;
  for (int i = 0; i < needle_count; i++)
    if (memmem(data, length, needles[i].bytes, needles[i].length)) line->hits[i]++;
  if (due <= time) {
    put(to, data, length);
    return;
  }
  Held *frame = malloc(sizeof *frame);
  if (!frame) fail("malloc");
  *frame = (Held){.due = due, .number = frames_held++, .to = to, .length = length};
  memcpy(frame->data, data, length);
  push(frame);
}

static void read_port(int from) {
  static unsigned char data[FRAME];
  for (int i = 0; i < BURST; i++) {
    int length = read(ports[from].descriptor, data, FRAME);
    if (length < 14) return;
    if (data[0] & 1) { /* to a group: to everybody */
      for (int to = 0; to < port_count; to++)
        if (to != from) pass_on(from, to, data, length);
    } else if (port_of_octet[data[5]] >= 0) {
      pass_on(from, port_of_octet[data[5]], data, length);
    }
  }
}

/* Pass on what is due, and set the timer to what comes next. */
static void release(int timer) {
  static int64_t armed;
  int64_t time = now();
  while (held_count && heap[0]->due <= time) {
    Held *frame = pop();
    put(frame->to, frame->data, frame->length);
    free(frame);
  }
  if (held_count && heap[0]->due != armed) {
    armed = heap[0]->due;
    struct itimerspec first = {.it_value = {armed / 1000000000LL, armed % 1000000000LL}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &first, 0);
  }
}

/* --- commands --- */

static int port_named(const char *name) {
  for (int i = 0; i < port_count; i++)
    if (!strcmp(ports[i].name, name)) return i;
  return -1;
}

static void add_needle(const char *hex, char *answer) {
  Needle *needle = &needles[needle_count];
  int length = strlen(hex) / 2;
  if (needle_count == MOST_NEEDLES || length > (int)sizeof needle->bytes) {
    strcpy(answer, "too many needles, or too long a one");
    return;
  }
  for (int i = 0; i < length; i++) {
    unsigned byte;
    sscanf(hex + 2 * i, "%2x", &byte);
    needle->bytes[i] = byte;
  }
  needle->length = length;
  needle_count++;
}

static void print_lines(char *answer, int by_needle) {
  int length = 0;
  answer[0] = 0;
  for (int from = 0; from < port_count; from++)
    for (int to = 0; to < port_count; to++) {
      Line *line = &lines[from][to];
      if (length > ANSWER - 200) return;
      if (!by_needle && (line->passed || line->dropped))
        length += sprintf(answer + length, "%s %s %llu %llu\n", ports[from].name, ports[to].name,
                          (unsigned long long)line->passed, (unsigned long long)line->dropped);
      for (int i = 0; by_needle && i < needle_count && length < ANSWER - 200; i++)
        if (line->hits[i])
          length += sprintf(answer + length, "%d %s %s %llu\n", i, ports[from].name, ports[to].name,
                            (unsigned long long)line->hits[i]);
    }
}

static void heal(void) {
  for (int from = 0; from < port_count; from++) {
    ports[from].kbit = 0;
    for (int to = 0; to < port_count; to++) lines[from][to].loss_per_mille = lines[from][to].delay_ms = 0;
  }
}

static void obey(const char *command, char *answer) {
  char from[64], to[64], hex[600];
  int first, second;
  strcpy(answer, "ok");
  if (sscanf(command, "link %60s %60s %d %d", from, to, &first, &second) == 4) {
    int a = port_named(from), b = port_named(to);
    if (a < 0 || b < 0)
      strcpy(answer, "no such machine");
    else
      lines[a][b].loss_per_mille = first, lines[a][b].delay_ms = second;
  } else if (sscanf(command, "rate %60s %d", from, &first) == 2) {
    int a = port_named(from);
    if (a < 0)
      strcpy(answer, "no such machine");
    else
      ports[a].kbit = first;
  } else if (!strcmp(command, "heal")) {
    heal();
  } else if (sscanf(command, "needle %598s", hex) == 1) {
    add_needle(hex, answer);
  } else if (!strcmp(command, "stats") || !strcmp(command, "hits")) {
    print_lines(answer, command[0] == 'h');
  } else {
    strcpy(answer, "no such command");
  }
}

static void read_command(int socket) {
  static char answer[ANSWER];
  char command[700];
  struct sockaddr_un asker;
  socklen_t size = sizeof asker;
  int length = recvfrom(socket, command, sizeof command - 1, 0, (struct sockaddr *)&asker, &size);
  if (length <= 0) return;
  command[length] = 0;
  obey(command, answer);
  sendto(socket, answer, strlen(answer), MSG_DONTWAIT, (struct sockaddr *)&asker, size);
}

/* --- start --- */

/* Make a namespace whose only cable ends in this process. */
static void add_port(char *text) {
  Port *port = &ports[port_count];
  char *octet = strchr(text, '=');
  if (!octet || port_count == MOST_PORTS) fail(text);
  *octet++ = 0;
  snprintf(port->name, sizeof port->name, "%s", text);
  port_of_octet[atoi(octet) & 255] = port_count;
  if (unshare(CLONE_NEWNET)) fail("unshare");
  int space = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  /* A TAP device is born in the namespace of whoever opens this file. */
  port->descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
  strcpy(request.ifr_name, "eth0");
  if (space < 0 || port->descriptor < 0 || ioctl(port->descriptor, TUNSETIFF, &request)) fail(port->name);
  printf("%s %d\n", port->name, space);
  port_count++;
}

static void watch(int epoll, int descriptor, uint32_t what) {
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = what};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) && errno != EPERM) fail("epoll_ctl");
}

static int listen_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  unlink(path);
  int commands = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (commands < 0 || bind(commands, (struct sockaddr *)&address, sizeof address)) fail(path);
  return commands;
}

static int run_switch(int count, char **arguments) {
  int first_space = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), epoll = epoll_create1(EPOLL_CLOEXEC);
  memset(port_of_octet, -1, sizeof port_of_octet);
  for (int i = 1; i < count; i++) add_port(arguments[i]);
  if (setns(first_space, CLONE_NEWNET)) fail("setns");
  for (int i = 0; i < port_count; i++) watch(epoll, ports[i].descriptor, i);
  int commands = listen_at(arguments[0]), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  watch(epoll, commands, COMMANDS);
  watch(epoll, timer, TIMER);
  watch(epoll, STDIN_FILENO, LIFE_LINE);
  puts("ready");
  fflush(stdout);
  for (;;) {
    struct epoll_event events[64];
    int event_count = epoll_wait(epoll, events, 64, -1);
    for (int i = 0; i < event_count; i++) {
      uint32_t what = events[i].data.u32;
      uint64_t expirations;
      if (what == LIFE_LINE) return 0;
      if (what == COMMANDS)
        read_command(commands);
      else if (what != TIMER)
        read_port(what);
      else if (read(timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN)
        fail("timer");
    }
    release(timer);
  }
}

static int run_init(void) {
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  for (;;) {
    struct pollfd life_line = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&life_line, 1, 200) > 0) return 0; /* The kernel ends the whole machine with its process 1. */
    while (waitpid(-1, 0, WNOHANG) > 0) continue;
  }
}

int main(int count, char **arguments) {
  if (count > 1 && !strcmp(arguments[1], "init")) return run_init();
  if (count > 3 && !strcmp(arguments[1], "switch")) return run_switch(count - 2, arguments + 2);
  fputs("fabric switch SOCKET NAME=OCTET ... | fabric init\n", stderr);
  return 2;
}
