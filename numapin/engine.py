"""What is known of an inference engine or a library: how its processes and threads are called. Values and questions.

The knowledge itself is data, one TOML file for each (numapin/profiles, and the operator's own).
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from numapin.values import field, value


@value
class HotRule:
    """Threads on the path of every token."""

    thread: str
    """Glob of the thread's name; the kernel keeps 15 characters of one."""
    process: str = "*"
    """Glob of the title of its process."""


@value
class Workers:
    """How the processes are known that have an accelerator each."""

    title: str = ""
    """Regular expression that a worker's title matches somewhere; empty where the title says nothing."""
    ranks: tuple[str, ...] = ()
    """Regular expressions with one group each for the numbers in a title, the slowest first; a missing one counts 0."""
    variables: tuple[str, ...] = ()
    """Environment variables that hold the local rank; the first that is set counts."""


@value
class Profile:
    """One engine or library."""

    name: str
    about: str
    commands: tuple[str, ...] = ()
    """Regular expressions by one of which a server's command line, with blanks between the words, is known."""
    workers: Workers | None = None
    hot: tuple[HotRule, ...] = ()
    uses: tuple[str, ...] = ()
    """Profiles whose hot threads are this one's too."""
    named: tuple[str, ...] = ()
    """Names of threads, as they are, that are there only under `variables`."""
    variables: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    """The engine's own options: `enable` (alone), `nodes` and `cpus` (before one word for each accelerator)."""


def recognise(profiles: Mapping[str, Profile], command: Sequence[str]) -> Profile | None:
    """The engine of a command line; None where no profile knows it. An engine comes before a mere launcher of one.

    Of several that match, the one whose match begins last: `torchrun … -m sglang.launch_server` is SGLang. Of those
    that begin together, the longest, which says most; of equals, the first by name, so that it is always the same one.
    """
    line = " ".join(command)
    found = [
        (match.span(), name)
        for name, profile in sorted(profiles.items())
        for expression in profile.commands
        if (match := re.search(expression, line))
    ]
    # max() keeps the first of equals.
    return profiles[max(found, key=lambda one: one[0])[1]] if found else None


def hot_rules(profiles: Mapping[str, Profile], name: str) -> tuple[HotRule, ...]:
    """A profile's hot threads, its own first, then those of what it uses."""
    return tuple(dict.fromkeys(_rules(profiles, name, set())))


def _rules(profiles: Mapping[str, Profile], name: str, seen: set[str]) -> Iterator[HotRule]:
    if name in seen or name not in profiles:
        return
    seen.add(name)
    yield from profiles[name].hot
    for other in profiles[name].uses:
        yield from _rules(profiles, other, seen)
