/*
 * numapin._native: the system calls that Python lacks, and nothing else.
 *
 * The compiler and cffi's cdef() both read this file, so a signature is written once. cdef() knows
 * no preprocessor: there are only declarations here, which C allows to be repeated, so that no
 * include guard is needed.
 *
 * Every function returns 0, or what its comment says, or -errno as the kernel gave it. None allocates, none keeps
 * state, and none changes anything but the calling thread or the thread named by tid (0 is the caller).
 */

/*
 * Set the memory policy of the calling thread: set_mempolicy(2).
 *
 * mode   an MPOL_ mode, with its MPOL_F_ flags in the same word.
 * nodes  a mask of nodes, node N in bit N % wordsize of word N / wordsize; NULL when bits is 0.
 * bits   how many bits of nodes count; the kernel reads the whole word in which the last one lies.
 *
 * -EINVAL: no node of the mask is allowed here, or none has memory, or the mode is not known.
 * -EPERM, -ENOSYS: a seccomp profile; -ENOSYS also a kernel without CONFIG_NUMA.
 */
int numapin_set_mempolicy(int mode, const unsigned long *nodes, unsigned long bits);

/*
 * Read the memory policy of the calling thread: get_mempolicy(2). mode is filled with mode and flags.
 *
 * -EINVAL: the mask is shorter than the kernel's highest possible node; offer more bits.
 */
int numapin_get_mempolicy(int *mode, unsigned long *nodes, unsigned long bits);

/*
 * Set policy, static priority and niceness of one thread: sched_setattr(2).
 * Deadlines are left at 0: this is for SCHED_FIFO, SCHED_RR, SCHED_OTHER and the way back.
 *
 * flags  SCHED_FLAG_ bits, RESET_ON_FORK being 1.
 * nice   counts under SCHED_OTHER only.
 *
 * -EPERM: neither CAP_SYS_NICE nor an RLIMIT_RTPRIO of at least priority, or a cgroup v1 whose
 * cpu.rt_runtime_us is 0; or a niceness below what RLIMIT_NICE allows. -EINVAL: a priority that the
 * policy does not have. -ESRCH: no such thread.
 */
int numapin_sched_setattr(int tid, unsigned int policy, unsigned int priority, unsigned long long flags, int nice);

/* Read the same four of one thread: sched_getattr(2). */
int numapin_sched_getattr(int tid, unsigned int *policy, unsigned int *priority, unsigned long long *flags, int *nice);

/*
 * Read the CPUs on which a thread may run: sched_getaffinity(2), for the keeper, which asks this of a
 * thousand threads and only compares. CPU N is bit N % wordsize of word N / wordsize.
 *
 * bits   how many bits cpus has room for, a multiple of the word size; what is beyond the kernel's own mask is cleared.
 *
 * -EINVAL: the mask is shorter than the kernel's highest possible CPU; offer more bits. -ESRCH: no such thread.
 */
int numapin_sched_getaffinity(int tid, unsigned long *cpus, unsigned long bits);

/*
 * Count an event from now on: perf_event_open(2). Returns a file descriptor, closed on exec, from which read(2) gives
 * three 64-bit numbers: the count, how long it was to be counted and how long it was, in nanoseconds (the kernel takes
 * turns where it has too few counters).
 *
 * type, config   PERF_TYPE_ and its event.
 * tid            a thread, in user space, with the threads that it makes meanwhile (inherit); -1 for a CPU's.
 * cpu            -1; or the CPU, for what is counted of all that runs there, or of what it shares with others.
 *
 * -ENOENT, -EOPNOTSUPP, -EINVAL: this CPU, or this virtual machine, has no such event. -EACCES, -EPERM:
 * kernel.perf_event_paranoid or a seccomp profile. -EMFILE: RLIMIT_NOFILE. -ESRCH: no such thread.
 */
int numapin_perf_open(unsigned int type, unsigned long long config, int tid, int cpu);
