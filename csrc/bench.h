/*
 * numapin._bench: what `numapin bench` measures, and nothing else. numapin._native stays small without it.
 *
 * The compiler and cffi's cdef() both read this file, as they read numapin.h: declarations only.
 *
 * Every function returns 0 or -errno, gives back all it took before it returns, and keeps no state. The work is
 * done by threads of its own, each pinned on one CPU, with all signals blocked: affinity and memory policy of the
 * calling thread stay as they are, so any thread may call. It takes about as long as `seconds` says, plus the time to
 * fill the memory and at least one pass; a thread on a CPU that realtime threads keep busy takes as long as they let it.
 *
 * At most `bytes` of memory are touched. On a node they are bound strictly (MPOL_BIND): the caller looks first
 * whether the node, and the cgroup, has that much free, because the kernel answers a shortage with its OOM killer.
 *
 * -EINVAL: a CPU that is not here or not allowed, a node without memory here, no bytes, no seconds. -ENOMEM: no room,
 * or no thread. -ENOSYS, -EPERM: memory cannot be bound here (no NUMA in the kernel, a seccomp profile).
 * -EXDEV: the kernel answered 0, and yet the pages are elsewhere.
 */

/*
 * The idle latency of memory: the time of one load that needs the answer of the load before it.
 *
 * cpu          where the loads run.
 * node         where the memory is; below 0, wherever the kernel puts it.
 * bytes        one random cycle through all 64-byte lines of that many bytes: well above the last cache's size for
 *              the memory, below it for a cache.
 * nanoseconds  the median of several slices of the time, so that one interruption does not count.
 * huge         1 when huge pages hold the memory; where it is 0, misses of the TLB are in the figure.
 */
int numapin_bench_latency(unsigned cpu, int node, unsigned long bytes, double seconds, double *nanoseconds, int *huge);

/*
 * The bandwidth of memory: one thread on each of `count` CPUs, each with its own share of bytes / count on the node.
 *
 * A pass is one sweep of all threads over their shares, from the first start to the last stop. The best pass counts,
 * as in STREAM. A share that fits a cache measures the cache.
 *
 * kind  0 reads. 1 writes with ordinary stores, and does not count that the CPU reads each line before it writes it.
 *       2 copies one half of each share into the other, and counts bytes read and bytes written: this is STREAM's Copy.
 *       In turns by memcpy(), which gcc makes of it, and on x86 by stores that pass the caches by, as others do.
 */
int numapin_bench_bandwidth(const unsigned *cpus, unsigned count, int node, unsigned long bytes, double seconds,
	int kind, double *bytes_per_second);

/*
 * How long a sleeping thread on CPU `to` takes to run again: from just before a thread on CPU `from` wakes it (futex)
 * until it reads the clock, in nanoseconds. Between two wake-ups both sleep. from and to may be one CPU.
 *
 * -ETIME: the sleeper never slept when it was woken, so that there is no figure.
 */
int numapin_bench_wakeup(unsigned from, unsigned to, double seconds, double *median, double *p99);

/*
 * The bandwidth between memory and one GPU, by its driver: copies of `bytes` pinned bytes, the best of many, each way.
 * The driver stays loaded, and its children by fork() without exec() cannot use the GPU.
 *
 * pci     the GPU's address, such as 0000:65:00.0.
 * cpu     where the thread runs that asks for the copies.
 * why     filled with at most `length` bytes, the last one 0: empty, or what failed.
 *
 * -ENOSYS: no libcuda.so.1, or one without a function that is needed. -EIO: the driver refused, and why names the
 * function and says the driver's words. Otherwise as above, for the memory.
 */
int numapin_bench_copies(const char *pci, unsigned cpu, int node, unsigned long bytes, double seconds,
	double *to_device, double *from_device, char *why, unsigned long length);
