"""A root that remembers what was read: a capture is exactly what the readers read, with no second list to keep."""

import stat

from numapin.sources.captured import DirectoryRoot
from numapin.sources.memory import Members


class RecordingRoot(DirectoryRoot):
    """This machine, or a captured one in a directory, read through the same link-following as a capture will be."""

    def __init__(self, base: str) -> None:
        super().__init__(base)
        self.is_live = not base
        self.members = Members()
        self.listings: dict[str, list[str]] = {}

    def _link(self, place: str) -> str | None:
        # /proc/self leads to a process id that the capture must not depend on: the kernel resolves it all the same.
        target = None if place == "proc/self" else super()._link(place)
        if target is not None:
            self.members.links[place] = target
        return target

    def _bytes(self, place: str) -> bytes | None:
        content = super()._bytes(place)
        if content is not None:
            self.members.files[place] = content
            self.members.modes.setdefault(place, stat.S_IFREG | 0o644)
        return content

    def _names(self, place: str) -> list[str]:
        names = super()._names(place)
        if names:
            self.listings[place] = names
        return names

    def _mode(self, place: str) -> int | None:
        mode = super()._mode(place)
        if mode is not None:
            self.members.modes[place] = mode
        return mode
