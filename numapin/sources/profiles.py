"""Profiles of engines and libraries: TOML files, numapin's own and the operator's."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from numapin.engine import HotRule, Profile, Workers
from numapin.errors import UsageError
from numapin.ids import shorten
from numapin.sources.root import MOST_BYTES, read_descriptor

OWN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "profiles")
ENDING = ".toml"
FLAGS = ("enable", "nodes", "cpus")

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def read_profiles(folder: str) -> dict[str, Profile]:
    """All profiles by name: numapin's, and those of a folder, which replace one of the same name.

    Raises UsageError for what is wrong in a file, with the file and the key.
    """
    files = {name: os.path.join(place, name + ENDING) for place in (OWN, folder) for name in _names(place)}
    profiles = {name: _read(path, name) for name, path in files.items()}
    for name, profile in profiles.items():
        for other in profile.uses:
            if other not in profiles:
                there = ", ".join(sorted(profiles))
                raise UsageError(f"the profile {files[name]}: uses is {shorten(other)}, no profile; there are {there}")
    return profiles


def _names(folder: str) -> list[str]:
    try:
        files = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"the profiles in {folder} cannot be read: {error.strerror}") from None
    names = [file.removesuffix(ENDING) for file in files if file.endswith(ENDING)]
    for name in names:
        if not _NAME.fullmatch(name) or name in ("auto", "off"):
            raise UsageError(
                f"{folder}/{shorten(name)[1:-1]}{ENDING}: a profile's name is small letters, digits, - and _"
            )
    return names


def _read(path: str, name: str) -> Profile:
    content = read_descriptor(path)
    if content is None:
        raise UsageError(f"the profile {path} cannot be read")
    if len(content) > MOST_BYTES:
        raise UsageError(f"the profile {path} is longer than {MOST_BYTES >> 20} MiB")
    return parse_profile(path, name, _toml(path, content))


def _toml(path: str, content: bytes) -> dict[str, Any]:
    # Only a keeper needs profiles.
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415
    else:
        import tomli as tomllib  # noqa: PLC0415
    try:
        table: dict[str, Any] = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        # Both what is no text and what is no TOML.
        raise UsageError(f"the profile {path} is no TOML: {error}") from None
    return table


def parse_profile(path: str, name: str, table: dict[str, Any]) -> Profile:
    """A profile out of its table. Raises UsageError, with the file and the key, for what does not belong there."""
    reader = _Reader(path, "", table)
    workers = reader.part("workers")
    return reader.done(
        Profile(
            name,
            about=reader.text("about"),
            commands=reader.texts("commands", _expression),
            workers=_workers(workers) if workers else None,
            hot=tuple(_hot(part) for part in reader.parts("hot")),
            uses=reader.texts("uses"),
            named=reader.texts("named"),
            variables=reader.variables("variables"),
            flags=reader.flags("flags"),
        )
    )


def _workers(reader: "_Reader") -> Workers:
    return reader.done(
        Workers(
            title=reader.text("title", _expression),
            ranks=reader.texts("ranks", _number),
            variables=reader.texts("variables"),
        )
    )


def _hot(reader: "_Reader") -> HotRule:
    rule = HotRule(reader.text("thread"), reader.text("process") or "*")
    if not rule.thread:
        raise reader.wrong("thread", "nothing", "a glob of a thread's name")
    return reader.done(rule)


def _expression(text: str) -> str | None:
    """What is wrong with a regular expression; None where nothing is."""
    import warnings  # noqa: PLC0415 -- only a keeper needs profiles

    with warnings.catch_warnings():
        # What a later Python will read otherwise; let pass, it would warn the server's log at every start.
        warnings.simplefilter("error")
        try:
            re.compile(text)
        except (re.error, RecursionError, OverflowError, Warning) as error:
            return f"no regular expression ({error})"
    return None


def _number(text: str) -> str | None:
    return _expression(text) or (None if re.compile(text).groups == 1 else "an expression without exactly one group")


def _shown(found: object) -> str:
    """What stands there instead, for a message. A table may be too deep, and a number too long, to be written out."""
    if isinstance(found, dict | list):
        return "a table" if isinstance(found, dict) else "a list"
    try:
        return shorten(str(found))
    except ValueError:
        return "a number of thousands of digits"


Check = Callable[[str], str | None]
WANTED: dict[Check, str] = {
    _expression: "a regular expression of Python's",
    _number: r"a regular expression with one group for the number, such as '_TP(\d+)'",
}
T = TypeVar("T")


class _Reader:
    """One table of a profile, of which each key is taken once, and none may be left."""

    def __init__(self, path: str, place: str, table: dict[str, Any]) -> None:
        self._path, self._place, self._table = path, place, table
        self._known: set[str] = set()

    def wrong(self, key: str, found: object, wanted: str) -> UsageError:
        """The error for a key."""
        return UsageError(f"the profile {self._path}: {self._place}{key} is {found}; it should be {wanted}")

    def done(self, value: T) -> T:
        """The value, where no key is left that nobody knows."""
        for key in self._table:
            if key not in self._known:
                there = ", ".join(sorted(self._known))
                raise UsageError(f"the profile {self._path}: {self._place}{shorten(key)} is no key; there are {there}")
        return value

    def _take(self, key: str, kind: type, wanted: str) -> Any:
        self._known.add(key)
        found = self._table.get(key, kind())
        if not isinstance(found, kind):
            raise self.wrong(key, _shown(found), wanted)
        return found

    def text(self, key: str, check: Check | None = None) -> str:
        found: str = self._take(key, str, "a text")
        self._check(key, [found], check)
        return found

    def texts(self, key: str, check: Check | None = None) -> tuple[str, ...]:
        found = self._take(key, list, "a list of texts")
        self._check(key, found, check)
        return tuple(found)

    def variables(self, key: str) -> Mapping[str, str]:
        found = self._pairs(key)
        for name, content in found.items():
            # setenv(3) refuses `=` and NUL, after everything else was done; other odd names no shell could set.
            if not _VARIABLE.fullmatch(name) or "\0" in content:
                wanted = "a table of names of letters, digits and _, and texts without NUL"
                raise self.wrong(key, f"a table with {shorten(name)} = {shorten(content)}", wanted)
        return found

    def flags(self, key: str) -> Mapping[str, str]:
        found = self._pairs(key)
        for name in found:
            if name not in FLAGS:
                raise self.wrong(key, f"a table with {shorten(name)}", f"a table of {', '.join(FLAGS)}")
        return found

    def _pairs(self, key: str) -> dict[str, str]:
        found = self._take(key, dict, "a table of texts")
        self._check(key, list(found.values()), None)
        return dict(found)

    def part(self, key: str) -> "_Reader | None":
        found = self._take(key, dict, "a table")
        return _Reader(self._path, f"{self._place}{key}.", found) if key in self._table else None

    def parts(self, key: str) -> list["_Reader"]:
        found = self._take(key, list, "a list of tables")
        if not all(isinstance(one, dict) for one in found):
            raise self.wrong(key, "a list of something else", "a list of tables, [[hot]]")
        return [_Reader(self._path, f"{key}.", one) for one in found]

    def _check(self, key: str, found: list[Any], check: Check | None) -> None:
        for one in found:
            if not isinstance(one, str):
                raise self.wrong(key, _shown(one), "text")
            problem = check(one) if check else None
            if check and problem:
                raise self.wrong(key, f"{shorten(one)}, {problem}", WANTED[check])
