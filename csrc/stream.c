/* The bandwidth of memory; see bench.h. */
#define _GNU_SOURCE
#include "bench.h"
#include "room.h"

#include <errno.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { READ, WRITE, COPY };

/* A share is a multiple of this: the loops take so many bytes a turn. */
#define BLOCK 256

/* Bytes in a pass of one thread, for which a small share is swept several times: shorter ones are lost in the clock. */
#define LEAST_PASS ((size_t)16 << 20)

/*
 * A cache line. One core keeps so many loads under way, so that the wider each is the more memory it reads: 13.7 GB/s
 * by 64 bytes, 9.6 by 32 and 8.5 by 16 [measured on a Xeon with AVX-512]. The loader chooses what this CPU has.
 */
typedef uint64_t lane __attribute__((vector_size(64), may_alias));

#ifdef __x86_64__
#define WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDEST
#endif

struct team {
	int node;
	size_t share;
	double seconds;
	int kind;
	unsigned count;
	pthread_mutex_t birth; /* held until all threads are there, or one is not */
	int complete;
	atomic_int error;
	atomic_uint waiting, round;
	uint64_t began;
	double best;
	int over;
	struct member *members;
};

struct member {
	struct team *team;
	pthread_t thread;
	uint64_t start, stop, sum;
};

/*
 * Wait for all. Sleeping in pthread_barrier_wait() would cost a wake-up of 50 us at the start of every pass. Yielding
 * lets two threads on one CPU, if the caller wants that, get on.
 */
static void meet(struct team *team)
{
	unsigned round = atomic_load(&team->round);

	if (atomic_fetch_add(&team->waiting, 1) + 1 == team->count) {
		atomic_store(&team->waiting, 0);
		atomic_fetch_add(&team->round, 1);
		return;
	}
	while (atomic_load(&team->round) == round)
		sched_yield();
}

/* Four sums, so that no addition waits for the one before. */
WIDEST static uint64_t read_all(const struct room *room)
{
	const lane *at = (const lane *)room->start, *end = (const lane *)(room->start + room->bytes);
	lane one = {0}, two = {0}, three = {0}, four = {0};

	for (; at < end; at += 4) {
		one += at[0];
		two += at[1];
		three += at[2];
		four += at[3];
	}
	one += two + three + four;
	return one[0] + one[1];
}

WIDEST static void write_all(const struct room *room, uint64_t value)
{
	lane *at = (lane *)room->start, *end = (lane *)(room->start + room->bytes);
	lane all = {0};

	all += value;
	for (; at < end; at += 4) {
		at[0] = all;
		at[1] = all;
		at[2] = all;
		at[3] = all;
	}
}

/* What gcc makes of STREAM's Copy, and what programs do. */
static void copy_all(const struct room *room)
{
	memcpy(room->start + room->bytes / 2, room->start, room->bytes / 2);
}

/*
 * What other compilers make of it: stores that pass the caches by, so that no line is read before it is written. The C
 * library has them too, for sizes that it believes to be large: copies are 28 GB/s by it and 44 so [measured on an EPYC].
 */
static void copy_past_caches(const struct room *room)
{
#ifdef __x86_64__
	const __m128i *from = (const __m128i *)room->start, *end = (const __m128i *)(room->start + room->bytes / 2);
	__m128i *to = (__m128i *)end;

	for (; from < end; from += 4, to += 4) {
		_mm_stream_si128(&to[0], from[0]);
		_mm_stream_si128(&to[1], from[1]);
		_mm_stream_si128(&to[2], from[2]);
		_mm_stream_si128(&to[3], from[3]);
	}
	_mm_sfence();
#else
	copy_all(room);
#endif
}

static size_t sweeps(const struct team *team)
{
	return team->share < LEAST_PASS ? LEAST_PASS / team->share : 1;
}

static void sweep(struct member *me, const struct room *room, unsigned pass)
{
	switch (me->team->kind) {
	case READ:
		me->sum += read_all(room);
		break;
	case WRITE:
		write_all(room, me->start);
		break;
	default:
		(pass % 2 ? copy_all : copy_past_caches)(room);
	}
	/* The next sweep is not this one again, for all that the compiler knows. */
	__asm__ volatile("" ::: "memory");
}

/* One thread does this between two meetings: the pass that all have done. */
static void tally(struct team *team)
{
	uint64_t start = UINT64_MAX, stop = 0;
	double rate;

	for (unsigned index = 0; index < team->count; index++) {
		struct member *one = &team->members[index];

		start = one->start < start ? one->start : start;
		stop = one->stop > stop ? one->stop : stop;
	}
	rate = 1e9 * team->share * sweeps(team) * team->count / (stop > start ? stop - start : 1);
	team->best = rate > team->best ? rate : team->best;
	team->began = team->began ? team->began : start;
	team->over = stop - team->began >= team->seconds * 1e9;
}

static void passes(struct member *me, const struct room *room)
{
	struct team *team = me->team;

	for (unsigned pass = 0; !team->over; pass++) {
		me->start = room_clock();
		for (size_t left = sweeps(team); left > 0; left--)
			sweep(me, room, pass);
		me->stop = room_clock();
		meet(team);
		if (me == team->members)
			tally(team);
		meet(team);
	}
}

static void *member(void *argument)
{
	struct member *me = argument;
	struct team *team = me->team;
	struct room room;
	int error;

	pthread_mutex_lock(&team->birth);
	pthread_mutex_unlock(&team->birth);
	if (!team->complete)
		return NULL;
	error = room_take(&room, team->node, team->share);
	if (error)
		atomic_store(&team->error, error);
	meet(team);
	if (!atomic_load(&team->error))
		passes(me, &room);
	if (!error)
		room_give(&room);
	return NULL;
}

/* All threads or none: with one missing, those that are there would wait for it. */
static int run(struct team *team, const unsigned *cpus)
{
	unsigned started = 0;
	int error = 0;

	pthread_mutex_init(&team->birth, NULL);
	pthread_mutex_lock(&team->birth);
	for (; started < team->count && !error; started += !error) {
		team->members[started].team = team;
		error = room_thread(&team->members[started].thread, cpus[started], member, &team->members[started]);
	}
	team->complete = !error;
	pthread_mutex_unlock(&team->birth);
	while (started > 0)
		pthread_join(team->members[--started].thread, NULL);
	pthread_mutex_destroy(&team->birth);
	return error ? error : atomic_load(&team->error);
}

int numapin_bench_bandwidth(const unsigned *cpus, unsigned count, int node, unsigned long bytes, double seconds,
	int kind, double *bytes_per_second)
{
	struct team team = {.node = node, .seconds = seconds, .kind = kind, .count = count};
	int error;

	if (!count || kind < READ || kind > COPY || !(seconds > 0))
		return -EINVAL;
	team.share = bytes / count / BLOCK * BLOCK;
	if (!team.share)
		return -EINVAL;
	team.members = calloc(count, sizeof *team.members);
	if (!team.members)
		return -ENOMEM;
	error = run(&team, cpus);
	free(team.members);
	*bytes_per_second = team.best;
	return error;
}
