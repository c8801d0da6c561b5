"""Starting the keeper: a process of its own, which holds nothing of the server's and outlives it by milliseconds.

It is forked twice, so that numapin has no child to wait for and the server, which numapin becomes, gets none but as
PID 1; and it execs a fresh Python: what the judging loaded stays behind, and its command line is not the server's,
which somebody may kill by name.
"""

import contextlib
import fcntl
import os
import pickle
import stat
import sys
from typing import NoReturn

from numapin.orders import Orders

ORDERS, PROCESS = 0, 3
"""Descriptors that a keeper is started with: its orders on standard input, and the server's pidfd."""

CODE = "import sys; sys.path[:] = {path!r}; from numapin.keeping import main; main()"
HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""The folder in which the package is."""

KEPT_VARIABLES = ("LD_LIBRARY_PATH", "NUMAPIN_DEBUG")
"""What a keeper is given of the environment: where libnuma may be."""


def keeper_of(pid: int) -> bool:
    """Whether a process has a keeper already, by the name that every keeper binds (/proc/net/unix)."""
    name = f"@{keeper_name(pid)}"
    with contextlib.suppress(OSError), open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        return any(line.rstrip("\n").endswith(f" {name}") for line in file)
    return False


def keeper_name(pid: int) -> str:
    """The abstract socket of a process's keeper: one process is one name, also where network namespaces are shared."""
    try:
        space = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        space = 0
    return f"numapin-keeper/{space}/{pid}"


def start_keeper(orders: Orders, pid: int) -> None:
    """Start a keeper for a process of this user's, and see that it was started. Raises OSError."""
    memory, process = _memory(orders), _process(pid)
    failed, told = os.pipe()
    told = _above(told)
    child = os.fork()
    if child == 0:
        _leave_orphan(memory, process, told, pid)
    for descriptor in (told, memory, *([] if process is None else [process])):
        os.close(descriptor)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)
    # The keeper's end closes at exec; what comes through before is the errno of an exec that failed.
    code = os.read(failed, 16)
    os.close(failed)
    if code:
        raise OSError(int(code), os.strerror(int(code)))


def become_keeper(orders: Orders, pid: int) -> NoReturn:
    """Turn this process into the keeper of another one; what it says goes to its own stderr."""
    memory, process = _memory(orders), _process(pid)
    _arrange(memory, process)
    _execute(pid, process, "--stderr", "--foreground")


def _memory(orders: Orders) -> int:
    """The orders as a file that is nowhere: on a descriptor that no other process has."""
    content = pickle.dumps(orders)
    descriptor = _above(os.memfd_create("numapin-orders"))
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _process(pid: int) -> int | None:
    """A pidfd, which cannot come to mean another process; None before Linux 5.3 or where seccomp denies it."""
    try:
        return _above(os.pidfd_open(pid))
    except ProcessLookupError:
        raise
    except OSError:
        return None


def _above(descriptor: int) -> int:
    """The same file on a descriptor that is none of those that the keeper starts with."""
    higher = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return higher


def _leave_orphan(memory: int, process: int | None, told: int, pid: int) -> NoReturn:
    """In the middle process: its child becomes an orphan as soon as it leaves, and the keeper.

    Neither of them ever returns or raises: they would go on as another numapin, and start the server twice.
    """
    try:
        if os.fork() == 0:
            _become_keeper(memory, process, pid)
    except OSError as error:
        os.write(told, str(error.errno).encode())
    finally:
        os._exit(0)


def _become_keeper(memory: int, process: int | None, pid: int) -> NoReturn:
    """In the orphan: leave everything of the server's, then exec."""
    os.setsid()
    os.chdir("/")
    words = _leave_streams()
    _arrange(memory, process)
    _execute(pid, process, *words)


def _leave_streams() -> tuple[str, ...]:
    """Let go of stdout, and of stderr where that is a pipe: its reader waits until nobody has it open any more.

    A log file is kept instead: opened anew it would have a place of its own to write at, over what the server writes.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    try:
        if not stat.S_ISFIFO(os.fstat(2).st_mode):
            return ("--stderr",)
    except OSError:
        pass
    os.dup2(nothing, 2)
    return ()


def _arrange(memory: int, process: int | None) -> None:
    """Orders and pidfd where the keeper looks for them, and nothing else open beyond the standard streams."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if int(name) > 2:
                os.set_inheritable(int(name), False)
    os.dup2(memory, ORDERS)
    if process is not None:
        os.dup2(process, PROCESS)


def _execute(pid: int, process: int | None, *words: str) -> NoReturn:
    """Exec a Python that has numapin's path and nothing else of this one's environment."""
    watched = [] if process is None else ["--pidfd", str(PROCESS)]
    # numapin's own folder first: an editable install is on no path, but on a finder that -S leaves out.
    code = CODE.format(path=[HOME, *sys.path])
    command = [sys.executable, "-I", "-S", "-c", code, "numapin-keeper", "--pid", str(pid), *watched, *words]
    environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    os.execve(sys.executable, command, environment)  # noqa: S606 -- no shell is wanted
