/*
 * A wall clock that is wrong: a library for LD_PRELOAD that adds RIG_CLOCK_S seconds to the time of day.
 *
 * libfaketime does so too, but time.sleep fails under it, or threads wait for ever: it takes monotonic clocks for the time of day,
 * or the other way round. Here the monotonic clock is as it is, as on a real machine, where nobody can set it. Deadlines that are
 * times of day are set right, since the kernel goes by its own clock. `programs.py` compiles this.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { OLDEST_TIME_OF_DAY = 1000000000 }; /* A monotonic clock counts from the machine's start, and is far below this. */

static long offset(void) {
  static long seconds, is_read;
  if (!is_read) {
    const char *text = getenv("RIG_CLOCK_S");
    seconds = text ? atol(text) : 0;
    is_read = 1;
  }
  return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
  int result = syscall(SYS_clock_gettime, clock, at);
  if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += offset();
  return result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  (void)zone;
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  at->tv_sec = exact.tv_sec;
  at->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (at) *at = exact.tv_sec;
  return exact.tv_sec;
}

int timespec_get(struct timespec *at, int base) {
  if (base != TIME_UTC) return 0;
  clock_gettime(CLOCK_REALTIME, at);
  return base;
}

/* --- deadlines --- */

static struct timespec right(const struct timespec *deadline) {
  struct timespec at = *deadline;
  if (at.tv_sec >= OLDEST_TIME_OF_DAY) at.tv_sec -= offset();
  return at;
}

/* dlsym alone would find the function of an old ABI, where there are two. */
static void *next(const char *name) {
  void *function = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
  return function ? function : dlsym(RTLD_NEXT, name);
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict deadline) {
  static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (!real) real = next("pthread_cond_timedwait");
  struct timespec at = right(deadline);
  return real(condition, mutex, &at);
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict deadline) {
  static int (*real)(cnd_t *, mtx_t *, const struct timespec *);
  if (!real) real = next("cnd_timedwait");
  struct timespec at = right(deadline);
  return real(condition, mutex, &at);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
  static int (*real)(sem_t *, const struct timespec *);
  if (!real) real = next("sem_timedwait");
  struct timespec at = right(deadline);
  return real(semaphore, &at);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline) {
  static int (*real)(pthread_mutex_t *, const struct timespec *);
  if (!real) real = next("pthread_mutex_timedlock");
  struct timespec at = right(deadline);
  return real(mutex, &at);
}
