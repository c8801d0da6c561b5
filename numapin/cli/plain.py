"""Command lines as they are nearly always written, read without click, whose import takes as long as all of the rest.

Whatever is not plainly right is left to click, which explains what is wrong with it, and which has the help texts.
Both read the same table of options and the same table of commands.
"""

from collections.abc import Sequence
from typing import Any

from numapin.cli.actions import COMMANDS, Entry
from numapin.cli.table import Option
from numapin.cli.texts import add
from numapin.values import value


@value
class Line:
    """A command line that was understood."""

    entry: Entry
    given: dict[str, Any]
    """Values by option, of those that were given."""
    command: tuple[str, ...]


def parse(arguments: Sequence[str]) -> Line | None:
    """Read `check --policy restricted`, `run --keep -- COMMAND` and the like; None for anything else."""
    entry = COMMANDS.get(arguments[0]) if arguments else None
    if entry is None:
        return None
    options = {f"--{option.name}": option for option in entry.options}
    given: dict[str, Any] = {}
    words = list(arguments[1:])
    while words and words[0].startswith("-") and words[0] != "--":
        name, equals, text = words.pop(0).partition("=")
        option = options.get(name)
        if option is None or bool(equals if not option.form else not (equals or words)):
            return None
        if option.bare is not None and not equals and words[0].startswith("-"):
            return None
        if not option.form:
            given[option.field] = True
        elif not _take(given, option, text if equals else words.pop(0)):
            return None
    if words[:1] == ["--"]:
        words.pop(0)
    return Line(entry, given, tuple(words)) if entry.takes_command or not words else None


def _take(given: dict[str, Any], option: Option, text: str) -> bool:
    """Note an option's value; not where its text is wrong."""
    try:
        parsed = option.parse(text)
    except ValueError:
        return False
    before = given.get(option.field) if option.many else None
    given[option.field] = parsed if before is None else add(before, parsed)
    return True
