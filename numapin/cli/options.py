"""What a command line and the environment come to: the values of all options."""

from collections.abc import Mapping
from typing import Any

from numapin.cli.table import EVERY
from numapin.errors import UsageError
from numapin.settings import Counting, Settings
from numapin.values import value

FIELDS = frozenset(Settings.__annotations__)


@value
class Asked:
    """What a command line and the environment come to."""

    settings: Settings
    root: str
    format: str
    termination_log: str
    pid: int | None
    quick: bool
    tree: bool
    pages: Counting
    save: str | None
    """Empty where it was given without a name."""
    seconds: int
    baseline: str | None
    url: str | None
    model: str | None
    clients: int
    tokens: int
    prompt_words: int
    megabytes: int


def resolve(given: Mapping[str, Any], environment: Mapping[str, str]) -> Asked:
    """The value of every option: as given on the command line, else as the environment says, else its default.

    Raises UsageError where the environment says what cannot be.
    """
    values = dict(given)
    for option in EVERY:
        text = environment.get(option.variable, "")
        if option.field not in values and text:
            try:
                values[option.field] = option.parse(text)
            except ValueError as error:
                raise UsageError(f"{option.variable}={text}: {error}") from None
    explicit = frozenset(values)
    values = {option.field: values.get(option.field, option.default) for option in EVERY}
    fields = {name: chosen for name, chosen in values.items() if name in FIELDS}
    settings = Settings(**{**fields, "home": fields["home"] or {}}, explicit=explicit)
    if settings.rt_unsafe and settings.rt_main is None and not settings.hot:
        raise UsageError("--rt-unsafe forces --rt-main or --hot, and neither is given")
    return Asked(settings, **{name: chosen for name, chosen in values.items() if name not in FIELDS})
