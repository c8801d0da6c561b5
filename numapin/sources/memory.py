"""A captured machine whose files are all in memory: what archives and text captures are read into."""

import stat

from numapin.sources.captured import CapturedRoot
from numapin.values import field, value


@value
class Members:
    """What a capture holds, by place: contents of files, targets of links, modes of all but links."""

    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)

    def below(self, top: str) -> "Members":
        """The members below a folder, by their place in it; `top` ends with a slash or is empty."""
        cut = len(top)
        return Members(
            {place[cut:]: content for place, content in self.files.items() if place.startswith(top)},
            {place[cut:]: target for place, target in self.links.items() if place.startswith(top)},
            {place[cut:]: mode for place, mode in self.modes.items() if place.startswith(top)},
        )


class MemoryRoot(CapturedRoot):
    """A capture that was read whole, as a machine."""

    def __init__(self, members: Members) -> None:
        super().__init__()
        self._members = members
        self._children: dict[str, set[str]] = {"": set()}
        for place in (*members.modes, *members.links):
            self._add(place)

    def _add(self, place: str) -> None:
        while place:
            parent, _, name = place.rpartition("/")
            known = self._children.setdefault(parent, set())
            if name in known:
                return
            known.add(name)
            place = parent

    def _link(self, place: str) -> str | None:
        return self._members.links.get(place)

    def _bytes(self, place: str) -> bytes | None:
        return self._members.files.get(place)

    def _names(self, place: str) -> list[str]:
        return list(self._children.get(place, ()))

    def _mode(self, place: str) -> int | None:
        return self._members.modes.get(place, stat.S_IFDIR | 0o755 if place in self._children else None)
