/*
 * Copies between memory and a GPU; see bench.h.
 *
 * The driver is opened when it is asked for: numapin is built, and mostly used, where there is none. Each function
 * here opens one thing, has the next function work with it, and closes it again, so that every path closes all.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "room.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"
#define NON_BLOCKING 1 /* CU_STREAM_NON_BLOCKING: not in step with the default stream of others in this process */

/* The types of cuda.h: CUresult and CUdevice are int, CUdeviceptr is a number, CUcontext and CUstream are pointers. */
#define FUNCTIONS(X) \
	X(cuInit, (unsigned flags)) \
	X(cuGetErrorString, (int result, const char **text)) \
	X(cuDeviceGetByPCIBusId, (int *device, const char *pci)) \
	X(cuDevicePrimaryCtxRetain, (void **context, int device)) \
	X(cuDevicePrimaryCtxRelease_v2, (int device)) \
	X(cuCtxSetCurrent, (void *context)) \
	X(cuMemHostRegister_v2, (void *start, size_t bytes, unsigned flags)) \
	X(cuMemHostUnregister, (void *start)) \
	X(cuMemAlloc_v2, (unsigned long long *memory, size_t bytes)) \
	X(cuMemFree_v2, (unsigned long long memory)) \
	X(cuStreamCreate, (void **stream, unsigned flags)) \
	X(cuStreamDestroy_v2, (void *stream)) \
	X(cuMemcpyHtoDAsync_v2, (unsigned long long to, const void *from, size_t bytes, void *stream)) \
	X(cuMemcpyDtoHAsync_v2, (void *to, unsigned long long from, size_t bytes, void *stream)) \
	X(cuStreamSynchronize, (void *stream))

struct copies {
	const char *pci;
	int node;
	size_t bytes;
	double seconds;
	double to_device, from_device;
	char *why;
	size_t length;
	int error;
	struct room room;
	int device;
	unsigned long long memory;
	void *stream;
#define POINTER(name, parameters) int(*name) parameters;
	FUNCTIONS(POINTER)
#undef POINTER
};

/* Call a function of the driver: 0, or -EIO with its name and what the driver says of it in why. */
#define CALL(copies, name, ...) check(copies, #name, (copies)->name(__VA_ARGS__))

static int check(struct copies *copies, const char *name, int result)
{
	const char *text = NULL;

	if (!result)
		return 0;
	if (copies->cuGetErrorString(result, &text) || !text)
		text = "an error that the driver does not know";
	snprintf(copies->why, copies->length, "%s: %s", name, text);
	return -EIO;
}

static int copy(struct copies *copies, int back)
{
	int error;

	if (back)
		error = CALL(copies, cuMemcpyDtoHAsync_v2, copies->room.start, copies->memory, copies->bytes, copies->stream);
	else
		error = CALL(copies, cuMemcpyHtoDAsync_v2, copies->memory, copies->room.start, copies->bytes, copies->stream);
	return error ? error : CALL(copies, cuStreamSynchronize, copies->stream);
}

/* The best of the copies that half of the time has room for, in bytes per second. */
static int best(struct copies *copies, int back, double *rate)
{
	uint64_t began = room_clock(), start, stop;
	double this;

	do {
		int error;

		start = room_clock();
		error = copy(copies, back);
		if (error)
			return error;
		stop = room_clock();
		this = 1e9 * copies->bytes / (stop > start ? stop - start : 1);
		*rate = this > *rate ? this : *rate;
	} while (stop - began < copies->seconds * 1e9 / 2);
	return 0;
}

static int with_stream(struct copies *copies)
{
	int error = CALL(copies, cuStreamCreate, &copies->stream, NON_BLOCKING);

	if (error)
		return error;
	error = best(copies, 0, &copies->to_device);
	if (!error)
		error = best(copies, 1, &copies->from_device);
	copies->cuStreamDestroy_v2(copies->stream);
	return error;
}

static int with_memory(struct copies *copies)
{
	int error = CALL(copies, cuMemAlloc_v2, &copies->memory, copies->bytes);

	if (error)
		return error;
	error = with_stream(copies);
	copies->cuMemFree_v2(copies->memory);
	return error;
}

static int with_room(struct copies *copies)
{
	int error = room_take(&copies->room, copies->node, copies->bytes);

	if (error) {
		snprintf(copies->why, copies->length, "memory: %s", strerrordesc_np(-error));
		return error;
	}
	error = CALL(copies, cuMemHostRegister_v2, copies->room.start, copies->bytes, 0);
	if (!error) {
		error = with_memory(copies);
		copies->cuMemHostUnregister(copies->room.start);
	}
	room_give(&copies->room);
	return error;
}

/* The primary context is the one that the rest of this process shares with us, if it uses the GPU: it is counted. */
static int with_context(struct copies *copies)
{
	void *context;
	int error = CALL(copies, cuDevicePrimaryCtxRetain, &context, copies->device);

	if (error)
		return error;
	error = CALL(copies, cuCtxSetCurrent, context);
	if (!error) {
		error = with_room(copies);
		copies->cuCtxSetCurrent(NULL);
	}
	copies->cuDevicePrimaryCtxRelease_v2(copies->device);
	return error;
}

/* Not closed again: the driver keeps threads and exit handlers, which must not lose their code. */
static int load(struct copies *copies)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		snprintf(copies->why, copies->length, LIBRARY " is not here");
		return -ENOSYS;
	}
#define FIND(name, parameters) \
	*(void **)&copies->name = dlsym(library, #name); \
	if (!copies->name) { \
		snprintf(copies->why, copies->length, LIBRARY " has no " #name); \
		return -ENOSYS; \
	}
	FUNCTIONS(FIND)
#undef FIND
	return 0;
}

static void *work(void *argument)
{
	struct copies *copies = argument;

	copies->error = load(copies);
	if (!copies->error)
		copies->error = CALL(copies, cuInit, 0);
	if (!copies->error)
		copies->error = CALL(copies, cuDeviceGetByPCIBusId, &copies->device, copies->pci);
	if (!copies->error)
		copies->error = with_context(copies);
	return NULL;
}

int numapin_bench_copies(const char *pci, unsigned cpu, int node, unsigned long bytes, double seconds,
	double *to_device, double *from_device, char *why, unsigned long length)
{
	struct copies copies = {
		.pci = pci,
		.node = node,
		.bytes = bytes,
		.seconds = seconds,
		.why = why,
		.length = length,
	};
	pthread_t thread;
	int error;

	snprintf(why, length, "%s", "");
	if (!bytes || !(seconds > 0))
		return -EINVAL;
	error = room_thread(&thread, cpu, work, &copies);
	if (error)
		return error;
	pthread_join(thread, NULL);
	*to_device = copies.to_device;
	*from_device = copies.from_device;
	return copies.error;
}
