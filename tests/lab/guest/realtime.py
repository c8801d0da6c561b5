"""SCHED_FIFO for the main thread: who gets it, who does not, and who is refused."""

from typing import Any

from tests.lab.guest import process
from tests.lab.guest.launch import driver, numapin, serving
from tests.lab.guest.main import case

WITHOUT_SYS_NICE = ("setpriv", "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice")
"""execve(2) gives root what the bounding set holds."""
WITH_LIMIT = ("prlimit", "--rtprio=5", *WITHOUT_SYS_NICE)


def _seen(*options: str, front: tuple[str, ...] = ()) -> dict[str, Any]:
    with serving("run", *options, mib=20, front=front, variables=driver("gpu1")) as server:
        seen = {"server": server.look(), "child": process.look(process.children(server.pid)[0])}
    return {**seen, "said": server.said}


@case
def fifo() -> dict[str, Any]:
    return _seen("--rt-main", "1")


@case
def fifo_refused() -> dict[str, Any]:
    return _seen("--rt-main", "1", front=WITHOUT_SYS_NICE)


@case
def fifo_required() -> dict[str, Any]:
    options = ("run", "--rt-main", "1", "--rt", "require", "--", "/bin/true")
    return numapin(*options, front=WITHOUT_SYS_NICE, variables=driver("gpu1"))


@case
def fifo_by_limit() -> dict[str, Any]:
    return _seen("--rt-main", "5", front=WITH_LIMIT)


@case
def fifo_above_limit() -> dict[str, Any]:
    options = ("run", "--rt-main", "6", "--rt", "require", "--", "/bin/true")
    return numapin(*options, front=WITH_LIMIT, variables=driver("gpu1"))
