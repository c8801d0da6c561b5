"""Capturing a machine: read it as `show`, `check` and `plan` would, and keep exactly what was read."""

import json
import os
import stat

from numapin.settings import Settings
from numapin.sources import netlink, nvml
from numapin.sources.environment import read_environment
from numapin.sources.links import unexplained
from numapin.sources.machine import read_machine
from numapin.sources.memory import Members
from numapin.sources.nodes import read_siblings
from numapin.sources.recording import RecordingRoot
from numapin.sources.redaction import LISTINGS, Redaction
from numapin.sources.textual import format_capture


def capture(base: str = "") -> str:
    """The capture of this machine, or of a captured one in a directory, as text.

    Raises CannotRead where a file cannot be understood, as the readers do.
    """
    root = RecordingRoot(base)
    _, assignment = read_machine(root, Settings(), whole=True)
    # And as a plan with a keeper would, which shares whole cores out.
    read_siblings(root, assignment.cpus)
    for place, record in _answers(root).items():
        root.members.files[place] = record.encode()
        root.members.modes[place] = stat.S_IFREG | 0o644
    redaction = Redaction()
    return format_capture(_redacted(root.members, redaction), _listings(root, redaction))


def _answers(root: RecordingRoot) -> dict[str, str]:
    """What no file holds: NVML's answers, and netlink's about interfaces that sysfs cannot explain."""
    records: dict[str, str] = {}
    answers = nvml.read_nvml(root, read_environment(root))
    if answers is not None:
        records[nvml.CAPTURED.lstrip("/")] = json.dumps(nvml.record(answers), indent=1)
    links = {name: netlink.read_link(root, name) for name in unexplained(root)}
    if links:
        told = {name: netlink.record(link) for name, link in links.items() if link}
        records[netlink.CAPTURED.lstrip("/")] = json.dumps(told, indent=1)
    return records


def _redacted(members: Members, redaction: Redaction) -> Members:
    # In the order of their paths: numapin/nvml.json and proc/driver have whole UUIDs, proc/self/environ beginnings.
    files = {
        redaction.path(place): redaction.text(place, members.files[place].decode("utf-8", "backslashreplace")).encode()
        for place in sorted(members.files)
    }
    links = {redaction.path(place): redaction.path(target) for place, target in members.links.items()}
    modes = {redaction.path(place): mode for place, mode in members.modes.items()}
    return Members(files, links, modes)


def _listings(root: RecordingRoot, redaction: Redaction) -> dict[str, list[str]]:
    kept: dict[str, list[str]] = {}
    for place, names in root.listings.items():
        pattern = LISTINGS.get(place)
        shown = [redaction.path(name) for name in names if pattern is None or pattern.fullmatch(name)]
        if shown:
            kept[redaction.path(place)] = shown
    return kept


def write_capture(text: str, path: str) -> None:
    """Write a capture as a whole or not at all: a bug report must not get half of one."""
    unfinished = f"{path}.{os.getpid()}.part"
    try:
        with open(unfinished, "x", encoding="utf-8") as file:
            file.write(text)
        os.replace(unfinished, path)
    except BaseException:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise
