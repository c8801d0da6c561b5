/* See numapin.h for what each function means. */
#define _GNU_SOURCE
#include "numapin.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <numaif.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * As the kernel declared it first (SCHED_ATTR_SIZE_VER0, 48 bytes), which every kernel takes. It has
 * a name of its own because glibc declares struct sched_attr from 2.41 on, and not before.
 */
struct attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

_Static_assert(sizeof(struct attr) == 48, "the kernel refuses any other size with E2BIG or EINVAL");

static int result(long returned)
{
	return returned < 0 ? -errno : 0;
}

/*
 * maxnode is bits + 1 in both calls below: the kernel decrements it before it reads the mask
 * (mm/mempolicy.c, get_nodes). With maxnode = bits the highest node would be lost without an error,
 * and a machine whose only node is 0 would answer EINVAL.
 */
int numapin_set_mempolicy(int mode, const unsigned long *nodes, unsigned long bits)
{
	return result(set_mempolicy(mode, nodes, bits + 1));
}

int numapin_get_mempolicy(int *mode, unsigned long *nodes, unsigned long bits)
{
	return result(get_mempolicy(mode, nodes, bits + 1, NULL, 0));
}

/* A raw call: glibc has no wrapper before 2.41, and its sched_setscheduler() takes no flags word. */
int numapin_sched_setattr(int tid, unsigned int policy, unsigned int priority, unsigned long long flags, int nice)
{
	struct attr attr = {
		.size = sizeof attr,
		.policy = policy,
		.priority = priority,
		.flags = flags,
		.nice = nice,
	};

	return result(syscall(SYS_sched_setattr, tid, &attr, 0));
}

int numapin_sched_getattr(int tid, unsigned int *policy, unsigned int *priority, unsigned long long *flags, int *nice)
{
	/* The size argument, not the field, tells the kernel how much it may fill. */
	struct attr attr = {0};
	int error = result(syscall(SYS_sched_getattr, tid, &attr, sizeof attr, 0));

	if (error)
		return error;
	*policy = attr.policy;
	*priority = attr.priority;
	*flags = attr.flags;
	*nice = attr.nice;
	return 0;
}

/* A raw call: it says how many bytes it wrote, which glibc's wrapper hides, and takes a mask of any size. */
int numapin_sched_getaffinity(int tid, unsigned long *cpus, unsigned long bits)
{
	long written = syscall(SYS_sched_getaffinity, tid, bits / 8, cpus);

	if (written < 0)
		return -errno;
	memset((char *)cpus + written, 0, bits / 8 - written);
	return 0;
}

/*
 * A raw call: glibc has no wrapper. Of a thread kernel and hypervisor are left out, which every perf_event_paranoid up to 2
 * allows; what CPUs share, such as a link between sockets, cannot tell them apart and refuses (PERF_PMU_CAP_NO_EXCLUDE).
 */
int numapin_perf_open(unsigned int type, unsigned long long config, int tid, int cpu)
{
	int of_a_thread = cpu < 0;
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof attr,
		.config = config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.inherit = of_a_thread,
		.exclude_kernel = of_a_thread,
		.exclude_hv = of_a_thread,
	};
	long opened = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return opened < 0 ? -errno : (int)opened;
}
