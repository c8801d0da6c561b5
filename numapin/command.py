"""Finding the server's command before anything is touched, as a shell would (126 and 127)."""

import errno
import os
from collections.abc import Sequence

from numapin.errors import CannotExecute, Exit
from numapin.plan import Command

DEFAULT_PATH = "/bin:/usr/bin"
"""Where execvp(3) looks when PATH is not set; an empty PATH, or an empty entry of it, is the working directory."""


def find_command(arguments: Sequence[str], path: str | None) -> Command:
    """The file that a command names: with a slash it is that file, else the first executable of that name in PATH.

    Raises CannotExecute: 127 where there is none, 126 where it is there and cannot be executed.
    """
    name = arguments[0]
    if "/" in name:
        _require_executable(name, name)
        return Command(name, tuple(arguments))
    denied: str | None = None
    for folder in (DEFAULT_PATH if path is None else path).split(":"):
        candidate = os.path.join(folder or ".", name)
        if os.path.isfile(candidate):
            if os.access(candidate, os.X_OK):
                _require_program(name, candidate)
                return Command(candidate, tuple(arguments))
            denied = denied or candidate
    if denied:
        raise CannotExecute(f"cannot execute {name}: {denied} is not executable", Exit.NOT_EXECUTABLE)
    raise CannotExecute(f"cannot execute {name}: there is no such command in PATH ({path})", Exit.NOT_FOUND)


def _require_executable(name: str, path: str) -> None:
    if not os.path.exists(path):
        raise CannotExecute(f"cannot execute {name}: there is no such file", Exit.NOT_FOUND)
    if os.path.isdir(path):
        raise CannotExecute(f"cannot execute {name}: it is a directory", Exit.NOT_EXECUTABLE)
    if not os.access(path, os.X_OK):
        raise CannotExecute(f"cannot execute {name}: it is not executable", Exit.NOT_EXECUTABLE)
    _require_program(name, path)


def _require_program(name: str, path: str) -> None:
    """Find out now what execve(2) would only tell when all was bound: no program, or no interpreter for it."""
    try:
        with open(path, "rb") as file:
            head = file.read(256)
    except OSError:
        # A program may be executable and not readable: the kernel will tell.
        return
    if head.startswith(b"#!"):
        words = head[2:].split(b"\n")[0].split()
        code = _interpreter_error(words[0]) if words else errno.ENOEXEC
    else:
        code = 0 if head.startswith(b"\x7fELF") or _has_other_formats() else errno.ENOEXEC
    if code:
        raise refused_exec(name, code)


def _interpreter_error(interpreter: bytes) -> int:
    if not os.path.isfile(interpreter):
        return errno.ENOENT
    return 0 if os.access(interpreter, os.X_OK) else errno.EACCES


def _has_other_formats() -> bool:
    """Whether binfmt_misc knows formats beside ELF and #! (emulators, Wine): then only the kernel can tell."""
    try:
        return bool(set(os.listdir("/proc/sys/fs/binfmt_misc")) - {"register", "status"})
    except OSError:
        return False


def refused_exec(name: str, code: int | None) -> CannotExecute:
    """The error for an execve(2) that the kernel refused although the file looked executable."""
    why = os.strerror(code) if code else "unknown error"
    if code == errno.ENOEXEC:
        why = "it is neither a program nor a script with a #! line"
    missing = code in (errno.ENOENT, errno.ENOTDIR)
    # The file is there: what is missing is the interpreter that its #! line or its ELF header names.
    if missing:
        why = "the interpreter that it names is not there"
    return CannotExecute(f"cannot execute {name}: {why}", Exit.NOT_FOUND if missing else Exit.NOT_EXECUTABLE)
