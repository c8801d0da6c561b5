/*
 * The calls about the driver and those that find a device. Each first looks for an `error` in its own name. The file is
 * read anew by each first nvmlInit. Not thread-safe: a test needs no more.
 */
#include "nvml.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned users; /* nvmlInit calls not yet matched by nvmlShutdown */

/* The code that an `error` line gives `function`, for this device where it has one. */
static int fault(const char *function, const struct device *device)
{
	const struct device *gpu = device && device->parent ? device->parent : device;
	for (const struct fault *fault = answers.faults; fault < answers.faults + answers.faults_used; fault++) {
		bool hit = fault->gpu == ABSENT || (gpu && fault->gpu == gpu->index);
		if (hit && strcmp(fault->function, function) == 0)
			return (int)fault->code;
	}
	return SUCCESS;
}

static bool is_handle(const struct device *device)
{
	uintptr_t offset = (uintptr_t)device - (uintptr_t)answers.devices;
	return offset < answers.devices_used * sizeof *device && offset % sizeof *device == 0;
}

/* Whether a call that is not about one device may go on and write to `out`. */
static int enter(const char *function, const void *out)
{
	int code = users == 0 ? UNINITIALIZED : fault(function, NULL);
	return code == SUCCESS && !out ? INVALID_ARGUMENT : code;
}

int enter_device(const char *function, const struct device *device, enum owner kind, const void *out)
{
	if (users == 0)
		return UNINITIALIZED;
	if (!is_handle(device))
		return INVALID_ARGUMENT;
	int code = fault(function, device);
	return code == SUCCESS && (!out || !(kind & (device->parent ? MIG : GPU))) ? INVALID_ARGUMENT : code;
}

int hand_out(const char *function, const struct device *found, const struct device **handle, int otherwise)
{
	int code = users == 0 ? UNINITIALIZED : fault(function, found);
	if (code == SUCCESS && (!found || !handle))
		code = handle ? otherwise : INVALID_ARGUMENT;
	if (code == SUCCESS)
		*handle = found;
	return code;
}

int copy_out(const char *text, char *out, unsigned size)
{
	return (unsigned)snprintf(out, size, "%s", text) < size ? SUCCESS : INSUFFICIENT_SIZE;
}

/* pynvml and nvmlInit_v2 both come here, so an error for either name stops both. */
API int nvmlInitWithFlags(unsigned flags)
{
	(void)flags;
	int code = users == 0 ? answers_read(getenv("NUMAPIN_TEST_NVML")) : SUCCESS;
	if (code == SUCCESS)
		code = fault("nvmlInit_v2", NULL);
	if (code == SUCCESS)
		code = fault("nvmlInitWithFlags", NULL);
	users += code == SUCCESS;
	return code;
}

API int nvmlInit_v2(void)
{
	return nvmlInitWithFlags(0);
}

/* Lets go even where it reports an error, so that the next nvmlInit reads the file anew. */
API int nvmlShutdown(void)
{
	int code = enter(__func__, "");
	users -= users > 0;
	return code;
}

API const char *nvmlErrorString(int code)
{
	static const char *const WORDS[] = {
		"Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions",
		"Already Initialized", "Not Found", "Insufficient Size", "Insufficient External Power",
		"Driver Not Loaded", "Timeout", "Interrupt Request Issue", "NVML Shared Library Not Found",
		"Function Not Found", "Corrupted infoROM", "GPU is lost", "GPU requires reset",
		"The operating system has blocked the request", "Driver/library version mismatch",
	};
	return code >= 0 && (size_t)code < sizeof WORDS / sizeof *WORDS ? WORDS[code] : "Unknown Error";
}

API int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
	int code = enter(__func__, version);
	return code == SUCCESS ? copy_out(answers.driver, version, length) : code;
}

API int nvmlDeviceGetCount_v2(unsigned *count)
{
	int code = enter(__func__, count);
	if (code == SUCCESS)
		*count = answers.gpus;
	return code;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned index, const struct device **device)
{
	return hand_out(__func__, answers_device(NULL, index), device, INVALID_ARGUMENT);
}

/* GPUs and MIG devices alike, by the whole UUID. */
API int nvmlDeviceGetHandleByUUID(const char *uuid, const struct device **device)
{
	const struct device *found = NULL;
	for (size_t i = 0; uuid && !found && i < answers.devices_used; i++)
		if (strcmp(answers.devices[i].uuid, uuid) == 0)
			found = &answers.devices[i];
	return hand_out(__func__, found, device, uuid ? NOT_FOUND : INVALID_ARGUMENT);
}

API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, const struct device **device)
{
	struct address wanted;
	const struct device *found = NULL;
	bool valid = bus_id && read_address(bus_id, 31, &wanted);
	for (unsigned i = 0; valid && !found && i < answers.gpus; i++) {
		const struct device *gpu = answers_device(NULL, i);
		if (gpu->pci.domain == wanted.domain && gpu->pci.bus == wanted.bus && gpu->pci.device == wanted.device)
			found = gpu;
	}
	return hand_out(__func__, found, device, valid ? NOT_FOUND : INVALID_ARGUMENT);
}
