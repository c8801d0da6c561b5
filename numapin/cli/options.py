"""The option table: every option of run, check, plan and show, once. Each is also a variable NUMAPIN_<OPTION>."""

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from numapin.errors import UsageError
from numapin.ids import CpuSet, NodeSet
from numapin.settings import Settings

MODES = ("require", "try", "off")
MOST_PRIORITY = 49
"""Above it a thread would go before the kernel's own interrupt threads, which run at SCHED_FIFO 50."""

Function = Callable[..., Any]


class CpuList(click.ParamType):
    """A CPU list such as `0-15,32`."""

    name = "LIST"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> CpuSet:
        """Parse it, or say what is wrong."""
        return value if isinstance(value, CpuSet) else _parsed(self, CpuSet, value, param, ctx)


class NodeList(click.ParamType):
    """A list of nodes such as `0-1`."""

    name = "LIST"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> NodeSet:
        """Parse it, or say what is wrong."""
        return value if isinstance(value, NodeSet) else _parsed(self, NodeSet, value, param, ctx)


def _parsed(kind: click.ParamType, sets: Any, value: str, param: Any, ctx: Any) -> Any:
    try:
        parsed = sets.parse(value)
    except ValueError as error:
        kind.fail(str(error), param, ctx)
    if not parsed:
        kind.fail("an empty list allows nothing", param, ctx)
    return parsed


class IrqCpus(click.ParamType):
    """`container`, `local`, or a CPU list."""

    name = "container|local|LIST"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word, or the parsed list."""
        return value if value in ("container", "local") else CpuList().convert(value, param, ctx)


class Devices(click.ParamType):
    """`auto`, `none`, or names with commas between them."""

    name = "auto|none|LIST"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """The names, in the order given."""
        if isinstance(value, tuple):
            return value
        names = tuple(name.strip() for name in value.split(",") if name.strip())
        if not names:
            self.fail("an empty list names no device: none takes them all out of the judgement", param, ctx)
        return names


class Homes(click.ParamType):
    """`DEVICE=NODE`, several with commas between them."""

    name = "DEVICE=NODE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, int]:
        """Node by device."""
        homes: dict[str, int] = {}
        for entry in value.split(","):
            device, equals, node = entry.strip().rpartition("=")
            if not equals or not device or not (node.isascii() and node.isdecimal()):
                self.fail(f"{entry!r} is not DEVICE=NODE", param, ctx)
            homes[device] = int(node)
        return homes


def _option(*names: str, **attributes: Any) -> Callable[[Function], Function]:
    variable = "NUMAPIN_" + names[0].partition("/")[0].strip("-").replace("-", "_").upper()
    return click.option(*names, envvar=variable, show_envvar=False, **attributes)


def _choice(*words: str) -> click.Choice[str]:
    return click.Choice(words)


DEVICES = (
    _option("--gpus", type=Devices(), default="auto", help="Accelerators: index, UUID or unique prefix, PCI address."),
    _option("--rdma", type=Devices(), default="auto", help="RDMA devices: mlx5_0, or PCI address."),
    _option("--nics", type=Devices(), default="auto", help="Network interfaces: eth0, or PCI address."),
    _option("--home", type=Homes(), multiple=True, help="Node of a device, where you know better than the firmware."),
    _option("--cpus", type=CpuList(), help="What if: judge as if the container had these CPUs."),
    _option("--mems", type=NodeList(), help="What if: judge as if the container had memory of these nodes."),
)
"""Options that say what this container has."""

JUDGING = (
    _option(
        "--policy",
        type=_choice("none", "best-effort", "restricted", "single-numa-node"),
        default="single-numa-node",
        show_default=True,
        help="What must share a node, in the kubelet's words.",
    ),
    _option(
        "--scope",
        type=_choice("container", "pod"),
        default="container",
        show_default=True,
        help="pod: every process of a shared process namespace must be allowed on the same nodes.",
    ),
    _option(
        "--align",
        type=_choice("numa", "socket"),
        default="numa",
        show_default=True,
        help="socket: the nodes of one package count as one.",
    ),
    _option(
        "--unknown",
        type=_choice("fail", "warn"),
        default="fail",
        show_default=True,
        help="A device or machine whose node nobody can say.",
    ),
    _option("--expect-gpus", type=click.IntRange(0), metavar="N", help="As many GPUs must be visible."),
    _option("--expect-rdma", type=click.IntRange(0), metavar="N", help="As many RDMA devices must be visible."),
    _option(
        "--narrow/--no-narrow",
        default=True,
        show_default=True,
        help="More CPUs or memory nodes than needed: bind to those needed / call it misaligned.",
    ),
)
"""Options that say what is judged."""

BINDING = (
    _option("--cpu", type=_choice(*MODES), default="require", show_default=True, help="CPU affinity refused: stop, warn, or do not try."),
    _option("--memory", type=_choice(*MODES), default="require", show_default=True, help="Memory policy refused: stop, warn, or do not try."),
    _option("--irq", type=_choice(*MODES), default="try", show_default=True, help="Interrupt affinity refused: stop, warn, or do not try."),
    _option("--rt", type=_choice(*MODES), default="try", show_default=True, help="Real-time scheduling refused: stop, warn, or do not try."),
    _option(
        "--memory-policy",
        type=_choice("bind", "preferred"),
        default="bind",
        show_default=True,
        help="bind: only these nodes, at the price of an out-of-memory kill; preferred: others when they are full.",
    ),
    _option(
        "--irq-cpus",
        type=IrqCpus(),
        default="container",
        show_default=True,
        help="Where the NICs' interrupts go: the container's CPUs on their node, all CPUs of the node, or these.",
    ),
    _option(
        "--rt-main",
        type=click.IntRange(1, MOST_PRIORITY),
        metavar="PRIO",
        help=f"SCHED_FIFO for the server's main thread, 1 to {MOST_PRIORITY}; 1 is enough.",
    ),
    _option("--rt-unsafe", is_flag=True, help="SCHED_FIFO even where it can hang the server or the host."),
)
"""Options that say what is bound, and how much each step matters."""

READING = (
    _option("--root", default="/", metavar="DIR|TAR", show_default=True, help="Read this captured machine."),
    _option("--format", "form", type=_choice("text", "json"), default="text", show_default=True, help="Form of the report."),
)
"""Options about where to read and how to report."""

SPEAKING = (
    _option(
        "--log-format",
        type=_choice("text", "json"),
        default="text",
        show_default=True,
        help="Form of what is said on stderr.",
    ),
    _option(
        "--termination-log",
        default="/dev/termination-log",
        metavar="PATH",
        show_default=True,
        help="Where Kubernetes looks for the cause of a failure, if it exists.",
    ),
)
"""Options about where else to speak."""


def with_options(*groups: tuple[Callable[[Function], Function], ...]) -> Callable[[Function], Function]:
    """A decorator that adds groups of options to a command, in their order."""

    def decorate(function: Function) -> Function:
        for option in reversed([option for group in groups for option in group]):
            function = option(function)
        return function

    return decorate


def settings_of(ctx: click.Context) -> Settings:
    """The settings that a command line and the environment come to."""
    fields = {name: value for name, value in ctx.params.items() if name in Settings.__dataclass_fields__}
    homes: dict[str, int] = {}
    for entry in fields.pop("home", ()):
        homes.update(entry)
    given = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    explicit = frozenset(name for name in ctx.params if ctx.get_parameter_source(name) in given)
    if fields.get("rt_unsafe") and fields.get("rt_main") is None:
        raise UsageError("--rt-unsafe forces --rt-main, which is not given")
    return Settings(**fields, home=homes, explicit=explicit)
