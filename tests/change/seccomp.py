"""A seccomp filter like those of container runtimes: it answers some system calls with an errno (seccomp(2))."""

import ctypes
import errno
import platform
import struct
from collections.abc import Callable, Iterable

NUMBERS = {
    "x86_64": {
        "sched_setaffinity": 203,
        "mbind": 237,
        "set_mempolicy": 238,
        "get_mempolicy": 239,
        "sched_setattr": 314,
        "set_mempolicy_home_node": 450,
    },
    "aarch64": {
        "sched_setaffinity": 122,
        "mbind": 235,
        "get_mempolicy": 236,
        "set_mempolicy": 237,
        "sched_setattr": 274,
        "set_mempolicy_home_node": 450,
    },
}
MEMORY = ("get_mempolicy", "set_mempolicy", "mbind", "set_mempolicy_home_node")
"""What Docker and containerd deny where CAP_SYS_NICE is not in the bounding set."""

SYS_NICE = 23

# From linux/prctl.h, linux/seccomp.h and linux/bpf_common.h.
_PR_CAPBSET_DROP, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 24, 22, 38
_SECCOMP_MODE_FILTER, _RET_ALLOW, _RET_ERRNO = 2, 0x7FFF0000, 0x00050000
_LOAD_NUMBER, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def deny(names: Iterable[str], code: int = errno.EPERM, *, drop_sys_nice: bool = False) -> Callable[[], None]:
    """A preexec_fn: the calls fail with this errno from then on; `drop_sys_nice` as where runtimes deny them."""
    numbers = [NUMBERS[platform.machine()][name] for name in names]
    libc = ctypes.CDLL(None, use_errno=True)
    code_of_filter = _program(numbers, code)

    def install() -> None:
        if drop_sys_nice:
            # Without CAP_SETPCAP it fails, and then there is mostly nothing to drop either.
            libc.prctl(_PR_CAPBSET_DROP, SYS_NICE, 0, 0, 0)
        program = _Program(len(code_of_filter) // 8, code_of_filter)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
            _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0
        ):
            raise OSError(ctypes.get_errno(), "seccomp")

    return install


def _program(numbers: list[int], code: int) -> bytes:
    """Load the call's number; if it is one of these, answer errno; else let it through."""
    jumps = [
        struct.pack("HBBI", _JUMP_EQUAL, len(numbers) - position, 0, number) for position, number in enumerate(numbers)
    ]
    ends = [struct.pack("HBBI", _RETURN, 0, 0, _RET_ALLOW), struct.pack("HBBI", _RETURN, 0, 0, _RET_ERRNO | code)]
    return b"".join([struct.pack("HBBI", _LOAD_NUMBER, 0, 0, 0), *jumps, *ends])
