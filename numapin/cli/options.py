"""The option table: every option of run, check, plan and show, once, as data without click.

Each option is also a variable, NUMAPIN_<OPTION>, so that a pod spec can set it without touching argv. The entrypoint's
own form, `run -- COMMAND`, takes all from the environment, and importing click would be a third of its time.
"""

from collections.abc import Callable, Mapping
from typing import Any

from numapin.errors import UsageError
from numapin.ids import CpuSet, NodeSet
from numapin.settings import AUTO, Settings
from numapin.values import value

PREFIX = "NUMAPIN_"
MOST_PRIORITY = 49
"""Above it a thread would go before the kernel's own interrupt threads, which run at SCHED_FIFO 50."""

Parse = Callable[[str], Any]
"""Makes the value of an option's text; raises ValueError with what is wrong."""


@value
class Option:
    """One option, in all the forms in which it can be given."""

    name: str
    form: str
    """What its value looks like, for --help; empty for a flag."""
    parse: Parse
    default: Any
    help: str

    @property
    def field(self) -> str:
        """Its name as an identifier."""
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        """Its twin in the environment."""
        return PREFIX + self.field.upper()


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


POLICIES = "none|best-effort|restricted|single-numa-node"
MODES = "require|try|off"
REFUSED = "refused: stop / warn and go on / do not attempt it."
MANY = 1_000_000

JUDGING = (
    Option("policy", POLICIES, choice(POLICIES), "single-numa-node", "What must share a node, in the kubelet's words."),
    Option(
        "scope",
        "container|pod",
        choice("container|pod"),
        "container",
        "pod: every process of a shared process namespace must be allowed on the same nodes.",
    ),
    Option("align", "numa|socket", choice("numa|socket"), "numa", "socket: the nodes of one package count as one."),
    Option("unknown", "fail|warn", choice("fail|warn"), "fail", "A device or machine whose node nobody can say."),
    Option("expect-gpus", "N", whole_number(0, MANY), None, "As many accelerators must be visible."),
    Option("expect-rdma", "N", whole_number(0, MANY), None, "As many RDMA devices must be visible."),
    Option("narrow", "", switch, True, "More CPUs or memory nodes than needed: bind to those needed / misaligned."),
)
"""Options that say what is judged."""

ASSIGNED = (
    Option("gpus", "auto|none|LIST", devices, AUTO, "Accelerators: index, UUID or unique prefix, PCI address."),
    Option("rdma", "auto|none|LIST", devices, AUTO, "RDMA devices: mlx5_0, or PCI address."),
    Option("nics", "auto|none|LIST", devices, AUTO, "Network interfaces: eth0, or PCI address."),
    Option(
        "home", "DEVICE=NODE", homes, None, "A device's node, where you know better than the firmware (repeatable)."
    ),
    Option("cpus", "LIST", cpu_list, None, "What if: judge as if the container had these CPUs."),
    Option("mems", "LIST", node_list, None, "What if: judge as if the container had the memory of these nodes."),
)
"""Options that say what this container has."""

BINDING = (
    Option("cpu", MODES, choice(MODES), "require", f"CPU affinity {REFUSED}"),
    Option("memory", MODES, choice(MODES), "require", f"Memory policy {REFUSED}"),
    Option("irq", MODES, choice(MODES), "try", f"Interrupt affinity {REFUSED}"),
    Option("rt", MODES, choice(MODES), "try", f"Real-time scheduling {REFUSED}"),
    Option(
        "memory-policy",
        "bind|preferred",
        choice("bind|preferred"),
        "bind",
        "bind: only these nodes, at the price of an out-of-memory kill; preferred: others when they are full.",
    ),
    Option(
        "irq-cpus",
        "container|local|LIST",
        irq_cpus,
        "container",
        "Where the NICs' interrupts go: the container's CPUs on their node, all CPUs of the node, or these.",
    ),
    Option(
        "rt-main",
        "PRIO",
        whole_number(1, MOST_PRIORITY),
        None,
        f"SCHED_FIFO for the server's main thread, 1 to {MOST_PRIORITY}; 1 is enough.",
    ),
    Option("rt-unsafe", "", switch, False, "SCHED_FIFO even where it can hang the server or the host."),
)
"""Options that say what is bound, and how much each step matters."""

READING = (
    Option("root", "DIR|TAR|FILE", str, "/", "Read this captured machine."),
    Option("format", "text|json", choice("text|json"), "text", "Form of the report."),
)
"""Options about where to read and how to report."""

SPEAKING = (
    Option("log-format", "text|json", choice("text|json"), "text", "Form of what is said on stderr."),
    Option("termination-log", "PATH", str, "/dev/termination-log", "Where Kubernetes looks for a failure's cause."),
)
"""Options about where else to speak."""

EVERY = (*JUDGING, *ASSIGNED, *BINDING, *READING, *SPEAKING)
FIELDS = frozenset(Settings.__annotations__)


@value
class Asked:
    """What a command line and the environment come to."""

    settings: Settings
    root: str
    format: str
    log_format: str
    termination_log: str


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
    if settings.rt_unsafe and settings.rt_main is None:
        raise UsageError("--rt-unsafe forces --rt-main, which is not given")
    return Asked(settings, *(values[name] for name in ("root", "format", "log_format", "termination_log")))
