/* See room.h for what each function means. */
#define _GNU_SOURCE
#include "room.h"

#include <errno.h>
#include <numaif.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifndef MPOL_F_STATIC_NODES /* the kernel has it; numaif.h of libnuma 2.0.16 has not */
#define MPOL_F_STATIC_NODES (1 << 15)
#endif

#define HUGE_BYTES ((size_t)2 << 20)
#define NODES 1024 /* the kernel's MAX_NUMNODES is at most this */
#define CPUS 8192  /* as is its NR_CPUS */
#define WORD_BITS (8 * sizeof(unsigned long))
#define SAMPLES 64

/* Address space for bytes, and for one huge page more, so that the start can be on a huge page's border. */
static int reserve(struct room *room, size_t bytes)
{
	size_t extra = bytes < HUGE_BYTES ? 0 : HUGE_BYTES;
	uintptr_t start;

	if (!bytes)
		return -EINVAL;
	if (bytes > PTRDIFF_MAX - extra)
		return -ENOMEM;
	room->bytes = bytes;
	room->mapped = bytes + extra;
	room->mapping = mmap(NULL, room->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room->mapping == MAP_FAILED)
		return -errno;
	start = (uintptr_t)room->mapping;
	room->start = room->mapping;
	if (extra)
		room->start += (HUGE_BYTES - start % HUGE_BYTES) % HUGE_BYTES;
	return 0;
}

/* On the mapping, not the thread: nothing else that the thread allocates is bound. */
static int bind_to(const struct room *room, int node)
{
	unsigned long nodes[NODES / WORD_BITS] = {0};

	if (node >= NODES)
		return -EINVAL;
	nodes[node / WORD_BITS] = 1UL << node % WORD_BITS;
	/* maxnode is bits + 1, as in numapin.c. */
	return mbind(room->mapping, room->mapped, MPOL_BIND | MPOL_F_STATIC_NODES, nodes, NODES + 1, 0) < 0 ? -errno : 0;
}

static long faults(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_minflt;
}

/*
 * Touch every page. The faults say whether huge pages came, which madvise(), answering 0, does not: the
 * administrator may have said never, or memory may be in pieces. Ordinary pages take one fault each, so with
 * a twentieth of that at least 19 bytes in 20 are on huge ones.
 */
static void touch(struct room *room)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t whole = room->bytes - room->bytes % HUGE_BYTES;
	int advised = whole && !madvise(room->start, whole, MADV_HUGEPAGE);
	long before = faults();

	for (size_t offset = 0; offset < room->bytes; offset += page)
		*(volatile char *)(room->start + offset) = 1;
	room->huge = advised && (size_t)(faults() - before) < room->bytes / page / 20;
}

/* Ask where some of the pages, spread over all, are. */
static int verify(const struct room *room, int node)
{
	for (size_t sample = 0; sample < SAMPLES; sample++) {
		char *address = room->start + room->bytes / SAMPLES * sample;
		int found;

		if (get_mempolicy(&found, NULL, 0, address, MPOL_F_NODE | MPOL_F_ADDR) < 0)
			return -errno;
		if (found != node)
			return -EXDEV;
	}
	return 0;
}

int room_take(struct room *room, int node, size_t bytes)
{
	int error = reserve(room, bytes);

	if (error)
		return error;
	if (node >= 0)
		error = bind_to(room, node);
	if (!error)
		touch(room);
	if (!error && node >= 0)
		error = verify(room, node);
	if (error)
		room_give(room);
	return error;
}

void room_give(struct room *room)
{
	munmap(room->mapping, room->mapped);
}

/*
 * By attributes, not by the thread itself: a CPU that the kernel refuses is then the answer of
 * pthread_create(), and no thread is left. Signals stay with the caller's threads, which know what to do with them.
 */
static int confine(pthread_attr_t *attributes, unsigned cpu)
{
	cpu_set_t cpus[CPUS / CPU_SETSIZE];
	sigset_t signals;
	int error;

	if (cpu >= CPUS)
		return EINVAL;
	CPU_ZERO_S(sizeof cpus, cpus);
	CPU_SET_S(cpu, sizeof cpus, cpus);
	sigfillset(&signals);
	error = pthread_attr_setaffinity_np(attributes, sizeof cpus, cpus);
	return error ? error : pthread_attr_setsigmask_np(attributes, &signals);
}

int room_thread(pthread_t *thread, unsigned cpu, void *(*work)(void *), void *argument)
{
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	error = confine(&attributes, cpu);
	if (!error)
		error = pthread_create(thread, &attributes, work, argument);
	pthread_attr_destroy(&attributes);
	/* The limit of threads is the one reason for EAGAIN. */
	return error == EAGAIN ? -ENOMEM : -error;
}

uint64_t room_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
