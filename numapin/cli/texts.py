"""The texts of options as values: one parser for each form. Each raises ValueError with what is wrong."""

from collections.abc import Callable
from typing import Any

from numapin.ids import CpuSet, NodeSet
from numapin.settings import Hot

Parse = Callable[[str], Any]
"""Makes the value of an option's text; raises ValueError with what is wrong."""


def choice(form: str) -> Parse:
    """One of the words that stand with bars between them."""

    def parse(text: str) -> str:
        if text not in form.split("|"):
            raise ValueError(f"{text!r} is none of {form.replace('|', ', ')}")
        return text

    return parse


def switch(text: str) -> bool:
    """A flag's value in the environment."""
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"{text!r} is neither 1 nor 0")


def whole_number(least: int, most: int) -> Parse:
    """A decimal number within bounds."""

    def parse(text: str) -> int:
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1
        if not least <= number <= most:
            raise ValueError(f"{text!r} is no number from {least} to {most}")
        return number

    return parse


def cpu_list(text: str) -> CpuSet:
    """A CPU list such as `0-15,32`; not an empty one, which would allow nothing."""
    cpus = CpuSet.parse(text)
    if not cpus:
        raise ValueError("an empty list allows no CPU")
    return cpus


def node_list(text: str) -> NodeSet:
    """A list of nodes such as `0-1`; not an empty one."""
    nodes = NodeSet.parse(text)
    if not nodes:
        raise ValueError("an empty list allows no memory")
    return nodes


def irq_cpus(text: str) -> str | CpuSet:
    """`container`, `local`, or a CPU list."""
    return text if text in ("container", "local") else cpu_list(text)


def devices(text: str) -> tuple[str, ...]:
    """`auto`, `none`, or names with commas between them, in their order."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError("an empty list names no device: none takes them all out of the judgement")
    return names


def homes(text: str) -> dict[str, int]:
    """`DEVICE=NODE`, several with commas between them."""
    found: dict[str, int] = {}
    for entry in text.split(","):
        device, equals, node = entry.strip().rpartition("=")
        if not equals or not device or not (node.isascii() and node.isdecimal() and len(node) < 6):
            raise ValueError(f"{entry.strip()!r} is not DEVICE=NODE")
        found[device] = int(node)
    return found


def hot(least: int, most: int) -> Parse:
    """`GLOB=LEVEL` or `GLOB`, several with commas between them; a level within bounds."""

    def parse(text: str) -> tuple[Hot, ...]:
        return tuple(one(entry.strip()) for entry in text.split(","))

    def one(entry: str) -> Hot:
        glob, equals, level = entry.rpartition("=")
        if not (glob if equals else entry):
            raise ValueError(f"{entry!r} names no thread: GLOB or GLOB={least}")
        if not equals:
            return Hot(entry)
        number = int(level) if level.lstrip("-").isdecimal() and level.isascii() and len(level) < 10 else most + 1
        if not least <= number <= most:
            raise ValueError(f"{entry!r}: {level!r} is no number from {least} to {most}")
        return Hot(glob, number)

    return parse


def word(text: str) -> str:
    """A profile's name, or one of the words that stand for a choice."""
    if not text.replace("-", "").replace("_", "").isalnum():
        raise ValueError(f"{text!r} is no name of a profile")
    return text


def absolute_path(text: str) -> str:
    """A path that means the same file from everywhere."""
    if not text.startswith("/"):
        raise ValueError(f"{text!r} is no absolute path")
    return text


def add(before: Any, more: Any) -> Any:
    """The values of an option that was given more than once, in their order."""
    return {**before, **more} if isinstance(more, dict) else (*before, *more)
