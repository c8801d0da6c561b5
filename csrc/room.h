/* What the benchmarks of bench.h share: memory on a node, a thread on a CPU, a clock. For C only. */
#ifndef NUMAPIN_ROOM_H
#define NUMAPIN_ROOM_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct room {
	char *start; /* of the bytes asked for, on a huge page's border where there are enough of them */
	size_t bytes;
	int huge; /* whether huge pages hold nearly all of it */
	void *mapping;
	size_t mapped;
};

/*
 * Take memory on a node (below 0: anywhere), touch every page of it, and see that it is there.
 * The calling thread touches it: it runs where the memory is wanted.
 */
int room_take(struct room *room, int node, size_t bytes);

void room_give(struct room *room);

/* Start a thread that runs on one CPU from its first instruction on, and takes no signals. */
int room_thread(pthread_t *thread, unsigned cpu, void *(*work)(void *), void *argument);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t room_clock(void);

#endif
