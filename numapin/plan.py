"""The plan: the ordered steps that bring this process to where the verdict wants it. A value; planning makes it."""

from typing import Literal

from numapin.settings import Mode
from numapin.steps import Step
from numapin.values import value

Outcome = Literal["planned", "done", "already", "refused", "skipped"]


@value
class PlannedStep:
    """A step, how much it matters, and what came of it."""

    step: Step
    mode: Mode
    outcome: Outcome = "planned"
    errno: int | None = None
    """The kernel's, where it refused; None where numapin itself did."""
    why: str = ""
    """Why it was refused, in a few words."""
    hint: str = ""

    @property
    def line(self) -> str:
        """The step's own line, the same in a dry run and in a run."""
        return str(self.step)


@value
class Plan:
    """The steps in their order: what dies with the process first, what outlives it last, then exec."""

    steps: tuple[PlannedStep, ...] = ()


@value
class Command:
    """The server's command, found and executable."""

    path: str
    arguments: tuple[str, ...]
