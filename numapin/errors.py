"""What can go wrong with numapin itself, and the exit status of each. Misalignment is a verdict, never one of these."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit statuses, the same for every command (after a successful exec the status is the server's own)."""

    ALIGNED = 0
    USAGE = 2
    CANNOT_TELL = 69
    BUG = 70
    REFUSED = 77
    MISALIGNED = 78
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127


class NumapinError(Exception):
    """A failure with a sentence for the operator."""

    exit = Exit.BUG

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(NumapinError):
    """The operator asked for something that cannot be."""

    exit = Exit.USAGE


class CannotRead(NumapinError):
    """A file of the kernel or of a capture holds what it cannot hold."""

    exit = Exit.CANNOT_TELL


class CannotExecute(NumapinError):
    """The server's command cannot be run."""

    def __init__(self, message: str, status: Exit) -> None:
        super().__init__(message)
        self.exit = status
