"""When SCHED_FIFO for the main thread is impossible or unsafe here."""

from collections.abc import Iterator

from numapin.assignment import Permissions, Realtime
from numapin.ids import CpuSet
from numapin.verdict.alignment import Finding
from numapin.verdict.case import Case

FAIR_SERVER = (6, 12)
"""From this kernel on a fair server protects other tasks from FIFO ones, and sched_rt_runtime_us does nothing."""


def realtime(case: Case, cpus: CpuSet) -> Iterator[Finding]:
    """What speaks against the SCHED_FIFO that was asked for."""
    priority = case.settings.rt_main
    if priority is None or case.settings.rt == "off":
        return
    reason = forbidden(priority, case.assignment.permissions, case.assignment.realtime)
    if reason:
        yield Finding("RT_NOT_PERMITTED", "main thread", reason)
    danger = unsafe(cpus, case.assignment.realtime)
    if danger:
        forced = " (forced by --rt-unsafe)" if case.settings.rt_unsafe else ""
        yield Finding("RT_UNSAFE", "main thread", danger + forced)


def forbidden(priority: int, permissions: Permissions, realtime: Realtime) -> str | None:
    """Why the kernel will refuse (user_check_sched_setscheduler, kernel/sched/syscalls.c); None where it should not."""
    if realtime.group_runtime_us == 0:
        return f"SCHED_FIFO {priority} needs a real-time budget, and this cgroup's cpu.rt_runtime_us is 0"
    if priority <= permissions.rtprio_limit or (permissions.has_sys_nice and not permissions.user_namespace):
        return None
    limit = f"and RLIMIT_RTPRIO is {permissions.rtprio_limit}"
    return f"SCHED_FIFO {priority} needs CAP_SYS_NICE or RLIMIT_RTPRIO {priority}, {limit}"


def unsafe(cpus: CpuSet, realtime: Realtime) -> str | None:
    """Why a spinning FIFO thread could hang the server or the host; None where it cannot."""
    if len(cpus) < 2:
        return f"the main thread under SCHED_FIFO would leave no CPU free: bound to {len(cpus)}"
    if realtime.runtime_us == -1 and (realtime.kernel is None or realtime.kernel < FAIR_SERVER):
        return "sched_rt_runtime_us is -1: before Linux 6.12 nothing stops a spinning SCHED_FIFO thread"
    return None
