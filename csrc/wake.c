/* How long a wake-up takes; see bench.h. */
#define _GNU_SOURCE
#include "bench.h"
#include "room.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST 100000
#define LEAST 100   /* rounds, however short the time */
#define PAUSE 50000 /* ns: long enough for the other to fall asleep */

struct pair {
	unsigned to;
	double seconds;
	double *samples;
	unsigned taken;
	int error;
	atomic_uint call, reply; /* futexes: how many calls there were, how many were answered */
	atomic_int over;
	uint64_t woken;
};

static void sleep_while(atomic_uint *futex, unsigned value)
{
	while (atomic_load(futex) == value)
		syscall(SYS_futex, futex, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

/* How many slept: 1 or 0. */
static long wake(atomic_uint *futex)
{
	return syscall(SYS_futex, futex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *sleeper(void *argument)
{
	struct pair *pair = argument;

	for (unsigned calls = 0; !atomic_load(&pair->over); calls++) {
		sleep_while(&pair->call, calls);
		pair->woken = room_clock();
		atomic_store(&pair->reply, calls + 1);
		wake(&pair->reply);
	}
	return NULL;
}

/* One call, and its answer. A sleeper that was still on its way to sleep, so that nobody was woken, does not count. */
static void call(struct pair *pair, unsigned calls)
{
	struct timespec pause = {.tv_nsec = PAUSE};
	uint64_t start;
	long woke;

	nanosleep(&pause, NULL);
	start = room_clock();
	atomic_store(&pair->call, calls + 1);
	woke = wake(&pair->call);
	sleep_while(&pair->reply, calls);
	if (woke == 1)
		pair->samples[pair->taken++] = pair->woken - start;
}

static void *waker(void *argument)
{
	struct pair *pair = argument;
	uint64_t start = room_clock();
	unsigned calls = 0;
	pthread_t other;

	pair->error = room_thread(&other, pair->to, sleeper, pair);
	if (pair->error)
		return NULL;
	while (pair->taken < MOST && (calls < LEAST || room_clock() - start < pair->seconds * 1e9))
		call(pair, calls++);
	atomic_store(&pair->over, 1);
	atomic_fetch_add(&pair->call, 1);
	wake(&pair->call);
	pthread_join(other, NULL);
	return NULL;
}

static int compare(const void *left, const void *right)
{
	double difference = *(const double *)left - *(const double *)right;

	return (difference > 0) - (difference < 0);
}

static int run(struct pair *pair, unsigned from)
{
	pthread_t thread;
	int error = room_thread(&thread, from, waker, pair);

	if (error)
		return error;
	pthread_join(thread, NULL);
	qsort(pair->samples, pair->taken, sizeof *pair->samples, compare);
	return pair->error || pair->taken ? pair->error : -ETIME;
}

int numapin_bench_wakeup(unsigned from, unsigned to, double seconds, double *median, double *p99)
{
	struct pair pair = {.to = to, .seconds = seconds};
	int error;

	if (!(seconds > 0))
		return -EINVAL;
	pair.samples = malloc(MOST * sizeof *pair.samples);
	if (!pair.samples)
		return -ENOMEM;
	error = run(&pair, from);
	if (!error) {
		*median = pair.samples[(pair.taken - 1) / 2];
		*p99 = pair.samples[(pair.taken - 1) * 99UL / 100];
	}
	free(pair.samples);
	return error;
}
