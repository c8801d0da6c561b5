"""Roots that hold just the files a reader looks at: a path and its content each, or the target of a link."""

from collections.abc import Callable, Mapping
from pathlib import Path

from numapin.sources.captured import DirectoryRoot
from tests.machines.builder import build_machine

Files = Mapping[str, str | bytes]
Tree = Callable[..., DirectoryRoot]
"""conftest.py's fixture `tree`."""
Machine = Callable[..., DirectoryRoot]
"""conftest.py's fixture `machine`."""

TWO_NODES = (
    "node 0 cpus=0-7 memory=64G distances=10,21 package=0",
    "node 1 cpus=8-15 memory=64G distances=21,10 package=1",
)


def write_files(base: Path, files: Files, links: Mapping[str, str] | None = None) -> Path:
    """Add files and links to a root; a link's target is written as it is, also an absolute one."""
    for path, content in files.items():
        place = base / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    for path, target in (links or {}).items():
        place = base / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(target)
    return base


def build(base: Path, *lines: str, files: Files | None = None, links: Mapping[str, str] | None = None) -> DirectoryRoot:
    """A machine that tests.machines.builder writes from lines, with files and links over it."""
    return DirectoryRoot(str(write_files(build_machine(base, *lines), files or {}, links)))
