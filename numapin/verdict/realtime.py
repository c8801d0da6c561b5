"""When SCHED_FIFO, for the main thread or for threads by name, is impossible or unsafe here."""

from collections.abc import Iterator

from numapin.assignment import Permissions, Realtime
from numapin.ids import CpuSet
from numapin.settings import Settings
from numapin.verdict.alignment import Finding
from numapin.verdict.case import Case

LEAST = 1
"""The priority that is ahead of all ordinary threads: more is never needed."""

FAIR_SERVER = (6, 12)
"""From this kernel on a fair server protects other tasks from FIFO ones, and sched_rt_runtime_us does nothing."""


def realtime(case: Case, cpus: CpuSet) -> Iterator[Finding]:
    """What speaks against the SCHED_FIFO that was asked for."""
    if case.settings.rt == "off":
        return
    for subject, priority in _asked(case.settings):
        reason = forbidden(priority, case.assignment.permissions, case.assignment.realtime)
        if reason:
            yield Finding("RT_NOT_PERMITTED", subject, reason)
        danger = unsafe(cpus, case.assignment.realtime, subject)
        if danger:
            forced = " (forced by --rt-unsafe)" if case.settings.rt_unsafe else ""
            yield Finding("RT_UNSAFE", subject, danger + forced)


def _asked(settings: Settings) -> Iterator[tuple[str, int]]:
    """Whom SCHED_FIFO is asked for, and the priority."""
    if settings.rt_main is not None:
        yield "main thread", settings.rt_main
    if settings.hot:
        yield "hot threads", max(wish.level or LEAST for wish in settings.hot)


def forbidden(priority: int, permissions: Permissions, realtime: Realtime) -> str | None:
    """Why the kernel will refuse (user_check_sched_setscheduler, kernel/sched/syscalls.c); None where it should not."""
    if realtime.group_runtime_us == 0:
        return f"SCHED_FIFO {priority} needs a real-time budget, and this cgroup's cpu.rt_runtime_us is 0"
    if priority <= permissions.rtprio_limit or (permissions.has_sys_nice and not permissions.user_namespace):
        return None
    limit = f"and RLIMIT_RTPRIO is {permissions.rtprio_limit}"
    return f"SCHED_FIFO {priority} needs CAP_SYS_NICE or RLIMIT_RTPRIO {priority}, {limit}"


def unsafe(cpus: CpuSet, realtime: Realtime, subject: str = "main thread") -> str | None:
    """Why a spinning FIFO thread could hang the server or the host; None where it cannot."""
    if len(cpus) < 2:
        return f"the {subject} under SCHED_FIFO would leave no CPU free: bound to {len(cpus)}"
    if realtime.runtime_us == -1 and (realtime.kernel is None or realtime.kernel < FAIR_SERVER):
        return "sched_rt_runtime_us is -1: before Linux 6.12 nothing stops a spinning SCHED_FIFO thread"
    return None
