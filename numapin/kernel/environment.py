"""The environment that the server gets: the one that numapin got, byte for byte, with what it sets."""

import os
from collections.abc import Iterator, Mapping
from typing import Any


class Environment(Mapping[bytes, bytes]):
    """An environment as execve(2) has it: entries in their order, a name perhaps twice.

    Container runtimes do hand on a name twice (NVIDIA_VISIBLE_DEVICES, under CDI), and which of the two counts is the
    server's business. os.execve asks a mapping for keys() and values(): one that answers with lists keeps both.
    """

    def __init__(self, entries: list[tuple[bytes, bytes]]) -> None:
        self._entries = entries

    def __getitem__(self, name: bytes) -> bytes:
        return dict(reversed(self._entries))[name]

    def __iter__(self) -> Iterator[bytes]:
        return (name for name, _ in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> Any:
        """The values, one for each entry."""
        return [content for _, content in self._entries]

    def marked(self, name: bytes, content: bytes) -> "Environment":
        """The same environment with this one variable set."""
        return Environment([*(entry for entry in self._entries if entry[0] != name), (name, content)])


def initial_environment() -> Environment:
    """The environment at the start of this process, byte for byte: /proc/self/environ."""
    try:
        with open("/proc/self/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return Environment(list(os.environb.items()))
    pairs = (entry.partition(b"=") for entry in entries)
    return Environment([(name, content) for name, equals, content in pairs if equals and name])
