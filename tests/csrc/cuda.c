/*
 * A stand-in for libcuda.so.1, a mock because no machine here has a GPU: memory of the "device" is malloc()'s, copies
 * are memcpy(), and what is taken and not given back is counted. FAILS names the function that answers an error.
 */
#include <stdlib.h>
#include <string.h>

#define DEVICE 3
#define NO_SUCH_DEVICE 100
#define FAILED 719

static int held; /* contexts, registrations, memory, streams */
static char *registered, context, stream;
static size_t registered_bytes;
static void *current;

int standin_held(void)
{
	return held;
}

static int fails(const char *name)
{
	const char *chosen = getenv("FAILS");

	return chosen && !strcmp(chosen, name) ? FAILED : 0;
}

static int take(const char *name)
{
	int error = fails(name);

	held += !error;
	return error;
}

static int give(const char *name)
{
	held--;
	return fails(name);
}

int cuInit(unsigned flags)
{
	return flags ? FAILED : fails(__func__);
}

int cuGetErrorString(int result, const char **text)
{
	*text = result == FAILED ? "unspecified launch failure" : result == NO_SUCH_DEVICE ? "no such device" : NULL;
	return !*text;
}

int cuDeviceGetByPCIBusId(int *device, const char *pci)
{
	*device = DEVICE;
	return strcmp(pci, "0000:65:00.0") ? NO_SUCH_DEVICE : fails(__func__);
}

int cuDevicePrimaryCtxRetain(void **taken, int device)
{
	*taken = &context;
	return device == DEVICE ? take(__func__) : FAILED;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	return device == DEVICE && !current ? give(__func__) : FAILED;
}

int cuCtxSetCurrent(void *chosen)
{
	int error = fails(__func__);

	current = error ? current : chosen;
	return error;
}

int cuMemHostRegister_v2(void *start, size_t bytes, unsigned flags)
{
	registered = start;
	registered_bytes = bytes;
	return current == &context && !flags ? take(__func__) : FAILED;
}

int cuMemHostUnregister(void *start)
{
	return start == registered ? give(__func__) : FAILED;
}

int cuMemAlloc_v2(unsigned long long *memory, size_t bytes)
{
	int error = current == &context ? take(__func__) : FAILED;

	*memory = error ? 0 : (unsigned long long)malloc(bytes);
	return error;
}

int cuMemFree_v2(unsigned long long memory)
{
	free((void *)memory);
	return give(__func__);
}

int cuStreamCreate(void **made, unsigned flags)
{
	*made = &stream;
	return current == &context && flags == 1 ? take(__func__) : FAILED;
}

int cuStreamDestroy_v2(void *made)
{
	return made == &stream ? give(__func__) : FAILED;
}

static int copy(const char *name, void *to, const void *from, const void *host, size_t bytes, void *by)
{
	if (fails(name) || by != &stream || host != registered || bytes > registered_bytes)
		return FAILED;
	memcpy(to, from, bytes);
	return 0;
}

int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *by)
{
	return copy(__func__, (void *)to, from, from, bytes, by);
}

int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *by)
{
	return copy(__func__, to, (const void *)from, to, bytes, by);
}

int cuStreamSynchronize(void *by)
{
	return by == &stream ? fails(__func__) : FAILED;
}
