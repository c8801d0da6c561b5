/*
 * The tests' own NVIDIA driver library: NVML's calls, answered from the file that NUMAPIN_TEST_NVML names, so that the
 * real pynvml runs on a machine without a GPU. Function names, structures, codes and the rules for handles are those of
 * NVIDIA's nvml.h, 64-bit Linux. answers.c reads the file's statements and fields.c their fields into the values below;
 * nvml.c answers the calls about the driver from them, and those that find a device; device.c those about one device.
 *
 * The file is text, one statement a line; '#' at a line's start or after a blank starts a comment:
 *
 *     driver 550.54.15                     # required: an empty file is no driver
 *     gpu 0 uuid=GPU-1f... pci=00000000:3B:00.0 minor=0 cpus=0-31,64-95 nodes=0 name=NVIDIA H100 80GB HBM3
 *     mig 0 uuid=MIG-2a... gi=7 ci=0       # a MIG device on GPU 0, declared after it
 *     ancestor 0 1 20                      # how near GPUs 0 and 1 are (NVML_TOPOLOGY_*: 0 10 20 30 40 50)
 *     error nvmlInit_v2 12                 # this call fails with that code
 *     error nvmlDeviceGetUUID 15 gpu=1     # only for that GPU and the MIG devices on it
 *
 * gpu: uuid and pci are required. minor defaults to the index. cpus and nodes (the kernel's list format) and numa (the
 * node of a coherent GPU's own memory) default to "not supported"; socket-cpus and socket-nodes, the answers at socket
 * scope, to cpus and nodes. mig=1 is MIG mode without a MIG device.
 * mig: uuid is required. index defaults to the first free one (a real list has gaps), gi to index + 1, ci to 0.
 * name takes the rest of its line.
 */
#ifndef NUMAPIN_TEST_NVML_H
#define NUMAPIN_TEST_NVML_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* nvmlReturn_t, in the numbers and words of NVIDIA's nvml.h. */
enum status {
	SUCCESS = 0,
	UNINITIALIZED = 1,
	INVALID_ARGUMENT = 2,
	NOT_SUPPORTED = 3,
	NOT_FOUND = 6,
	INSUFFICIENT_SIZE = 7,
	DRIVER_NOT_LOADED = 9,
	UNKNOWN = 999,
};

enum {
	MAX_TEXT = 1 << 20,
	MAX_DEVICES = 256,
	MAX_FAULTS = 1024,
	MAX_ANCESTORS = 1024,
	MAX_MIGS = 7,    /* on one GPU: what an A100 or H100 holds */
	MAX_CPU = 8191,  /* the kernel's largest NR_CPUS, less one */
	MAX_NODE = 1023, /* the kernel's largest MAX_NUMNODES, less one */
	WORD_BITS = sizeof(unsigned long) * CHAR_BIT,
	SET_WORDS = (MAX_CPU + 1) / WORD_BITS,
};

#define ABSENT UINT_MAX

enum scope { SCOPE_NODE, SCOPE_SOCKET, SCOPES };

struct address {
	bool given;
	unsigned domain, bus, device;
};

/* A set of CPUs or of nodes; `given` tells an empty answer from none. */
struct set {
	bool given;
	unsigned long words[SET_WORDS];
};

/* What an NVML handle points at: a GPU, or a MIG device, which has a parent. */
struct device {
	const struct device *parent;
	unsigned index, minor, numa, mig, gpu_instance, compute_instance;
	const char *uuid, *name;
	struct address pci;
	struct set cpus[SCOPES], nodes[SCOPES];
};

/* `gpu` is ABSENT where the call fails for everyone. */
struct fault {
	const char *function;
	unsigned code, gpu;
};

struct ancestor {
	unsigned first, second, level;
};

extern struct answers {
	const char *driver;
	size_t devices_used, faults_used, ancestors_used;
	unsigned gpus;
	struct device devices[MAX_DEVICES];
	struct fault faults[MAX_FAULTS];
	struct ancestor ancestors[MAX_ANCESTORS];
	char text[MAX_TEXT + 1]; /* every string above points into it */
} answers;

/* Read the file at `path`: SUCCESS; DRIVER_NOT_LOADED where it does not open; UNKNOWN where it makes no sense. */
int answers_read(const char *path);

/* The MIG device `index` of `parent`, or, without a parent, the GPU `index`; NULL where there is none. */
struct device *answers_device(const struct device *parent, unsigned index);

/* The next word of `*rest`, which moves past it; "" at the end. */
char *next_word(char **rest);

/* A decimal number up to `limit` and nothing else. */
bool read_number(const char *text, unsigned limit, void *number);

/* "domain:bus:device.0" or "bus:device.0" in hexadecimal, as nvmlDeviceGetHandleByPciBusId takes it. */
bool read_address(const char *text, unsigned highest_device, void *address);

/* The key=value fields of a GPU's or a MIG device's line. */
enum owner { GPU = 1, MIG = 2, EITHER = GPU | MIG };
bool read_fields(char *rest, enum owner owner, struct device *device);

#define API __attribute__((visibility("default"))) /* everything else stays inside the library */

/* Whether the call named `function` about `device` may go on and write to `out`; `kind` says which handles it takes. */
int enter_device(const char *function, const struct device *device, enum owner kind, const void *out);

/* Hand out `found` as a handle; `otherwise` is the code where nothing was found. */
int hand_out(const char *function, const struct device *found, const struct device **handle, int otherwise);

/* Copy `text` into the caller's buffer. */
int copy_out(const char *text, char *out, unsigned size);

#endif
