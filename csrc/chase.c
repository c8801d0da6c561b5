/* The latency of memory; see bench.h. */
#define _GNU_SOURCE
#include "bench.h"
#include "room.h"

#include <errno.h>
#include <stdlib.h>

#define SLICES 15
#define STEPS 4096 /* between two looks at the clock, which cost about 30 ns each */

struct line {
	struct line *next;
	char rest[64 - sizeof(struct line *)];
};

_Static_assert(sizeof(struct line) == 64, "one load, one cache line");

struct chase {
	int node;
	size_t bytes;
	double seconds;
	double nanoseconds;
	int huge;
	int error;
};

/* splitmix64: any order that no prefetcher knows will do. */
static uint64_t some(uint64_t *state)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
	return mixed ^ mixed >> 31;
}

/* Sattolo's shuffle leaves one cycle through all lines; an ordinary shuffle leaves several, most of them short. */
static void thread_lines(struct line *lines, size_t count)
{
	uint64_t state = 1;

	for (size_t index = 0; index < count; index++)
		lines[index].next = &lines[index];
	for (size_t index = count - 1; index > 0; index--) {
		size_t other = some(&state) % index;
		struct line *next = lines[index].next;

		lines[index].next = lines[other].next;
		lines[other].next = next;
	}
}

static struct line *walk(struct line *at)
{
	for (int step = 0; step < STEPS; step += 8) {
		at = at->next->next->next->next;
		at = at->next->next->next->next;
	}
	/* The compiler must believe that somebody wants to know. */
	__asm__ volatile("" : "+r"(at));
	return at;
}

static int compare(const void *left, const void *right)
{
	double difference = *(const double *)left - *(const double *)right;

	return (difference > 0) - (difference < 0);
}

static double measure(struct line *at, double seconds)
{
	double slices[SLICES];

	for (int warm = 0; warm < 4; warm++)
		at = walk(at);
	for (int slice = 0; slice < SLICES; slice++) {
		uint64_t start = room_clock(), spent;
		double steps = 0;

		do {
			at = walk(at);
			steps += STEPS;
			spent = room_clock() - start;
		} while (spent < seconds * 1e9 / SLICES);
		slices[slice] = spent / steps;
	}
	qsort(slices, SLICES, sizeof *slices, compare);
	return slices[SLICES / 2];
}

static void *chase(void *argument)
{
	struct chase *chase = argument;
	struct room room;

	chase->error = room_take(&room, chase->node, chase->bytes);
	if (chase->error)
		return NULL;
	chase->huge = room.huge;
	thread_lines((struct line *)room.start, room.bytes / sizeof(struct line));
	chase->nanoseconds = measure((struct line *)room.start, chase->seconds);
	room_give(&room);
	return NULL;
}

int numapin_bench_latency(unsigned cpu, int node, unsigned long bytes, double seconds, double *nanoseconds, int *huge)
{
	struct chase asked = {.node = node, .bytes = bytes, .seconds = seconds};
	pthread_t thread;
	int error;

	if (bytes < sizeof(struct line) || !(seconds > 0))
		return -EINVAL;
	error = room_thread(&thread, cpu, chase, &asked);
	if (error)
		return error;
	pthread_join(thread, NULL);
	*nanoseconds = asked.nanoseconds;
	*huge = asked.huge;
	return asked.error;
}
