"""The option table: every option of every command, once, as data without click.

Each option is also a variable, NUMAPIN_<OPTION>, so that a pod spec can set it without touching argv. The entrypoint's
own form, `run -- COMMAND`, takes all from the environment, and importing click would be a third of its time.
"""

from typing import Any

from numapin.cli.texts import (
    Parse,
    absolute_path,
    choice,
    cpu_list,
    devices,
    homes,
    hot,
    irq_cpus,
    node_list,
    switch,
    whole_number,
    word,
)
from numapin.settings import AUTO, BENCH_FILE
from numapin.values import value

PREFIX = "NUMAPIN_"
MOST_PRIORITY = 49
"""Above it a thread would go before the kernel's own interrupt threads, which run at SCHED_FIFO 50."""


@value
class Option:
    """One option, in all the forms in which it can be given."""

    name: str
    form: str
    """What its value looks like, for --help; empty for a flag."""
    parse: Parse
    default: Any
    help: str
    many: bool = False
    """It can be given more than once, and its values add up."""
    bare: str | None = None
    """What it stands for where it is given without a value; None where it needs one."""

    @property
    def field(self) -> str:
        """Its name as an identifier."""
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        """Its twin in the environment."""
        return PREFIX + self.field.upper()


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
    Option(
        "bench", "FILE", absolute_path, BENCH_FILE, "What bench --save wrote: hints say what a mismatch costs here."
    ),
    Option("narrow", "", switch, True, "More CPUs or memory nodes than needed: bind to those needed / misaligned."),
)
"""Options that say what is judged."""

ASSIGNED = (
    Option("gpus", "auto|none|LIST", devices, AUTO, "Accelerators: index, UUID or unique prefix, PCI address."),
    Option("rdma", "auto|none|LIST", devices, AUTO, "RDMA devices: mlx5_0, or PCI address."),
    Option("nics", "auto|none|LIST", devices, AUTO, "Network interfaces: eth0, or PCI address."),
    Option(
        "home",
        "DEVICE=NODE",
        homes,
        None,
        "A device's node, where you know better than the firmware (repeatable).",
        many=True,
    ),
    Option("cpus", "LIST", cpu_list, None, "What if: judge as if the container had these CPUs."),
    Option("mems", "LIST", node_list, None, "What if: judge as if the container had the memory of these nodes."),
)
"""Options that say what this container has."""

IRQ = Option(
    "irq", MODES, choice(MODES), "try", f"Interrupt affinity {REFUSED} verify: drift / a warning / not looked at."
)

BINDING = (
    Option("cpu", MODES, choice(MODES), "require", f"CPU affinity {REFUSED}"),
    Option("memory", MODES, choice(MODES), "require", f"Memory policy {REFUSED}"),
    IRQ,
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

KEEPING = (
    Option(
        "hot",
        "GLOB[=PRIO]",
        hot(1, MOST_PRIORITY),
        (),
        "Threads of this name get SCHED_FIFO (1 without PRIO) and a CPU of their own each; GLOB may be the name of a "
        "profile, or auto for the engine's (repeatable).",
        many=True,
    ),
    Option("hot-nice", "GLOB[=NICE]", hot(-20, -1), (), "The same with a niceness, -10 without NICE.", many=True),
    Option(
        "workers",
        "auto|PROFILE|off",
        word,
        "auto",
        "Where the accelerators are on several nodes, each worker process goes beside its own: how workers are known.",
    ),
    Option("engine", "auto|PROFILE", word, "auto", "Which server this is. auto: by COMMAND."),
    Option("profiles", "DIR", str, "/etc/numapin/profiles", "Your own profiles, beside those that numapin has."),
    Option("keep", "", switch, False, "Stay beside the server in any case, and put back what moves."),
    Option("metrics", "PATH", absolute_path, None, "Write what the keeper does there, for Prometheus."),
)
"""Options about the threads that do not exist before exec, and the keeper that waits for them."""

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

WATCHING = (Option("pid", "N", whole_number(1, 1 << 22), None, "The server's process id."),)
"""Options about a server that runs already."""

VERIFYING = (
    Option("quick", "", switch, False, "Read status files alone, for a probe: milliseconds, and no look at memory."),
    Option("tree", "", switch, False, "Also show every process: where its threads may run and its memory is."),
    Option(
        "pages",
        "auto|maps|cgroup|off",
        choice("auto|maps|cgroup|off"),
        "auto",
        "Where memory is asked for: maps makes the kernel walk all pages under the mmap lock, cgroup is its own count; "
        "auto: cgroup for more than 16 GiB.",
    ),
)
"""Options about how closely a server is looked at."""

FILES = (
    Option("save", "FILE", str, None, "Write the results there, as JSON.", bare=""),
    Option("seconds", "N", whole_number(1, 3600), 30, "How long it may take altogether."),
)
"""Options about measuring anything."""

LOADING = (
    Option("baseline", "FILE", str, None, "Compare with what --save wrote before."),
    Option("url", "URL", str, None, "Ask this OpenAI-style server for completions meanwhile: http://127.0.0.1:8000."),
    Option("model", "NAME", str, None, "The model that it is asked for; the first of /v1/models without it."),
    Option("clients", "N", whole_number(1, 1024), 4, "As many ask at a time."),
    Option("tokens", "N", whole_number(1, 100_000), 64, "The most that an answer may have."),
    Option("prompt-words", "N", whole_number(1, 100_000), 128, "Words of each prompt, at random."),
)
"""Options about measuring a server."""

BENCHING = (Option("megabytes", "N", whole_number(1, 1_000_000), 512, "Memory to measure with."),)
"""Options about measuring the machine."""

OWN = (*JUDGING, *ASSIGNED, *BINDING, *KEEPING, *READING, *SPEAKING)
"""The options of commands about this very container."""

OTHERS = (*WATCHING, *JUDGING, *ASSIGNED, *BINDING, *KEEPING, *SPEAKING)
"""The options of commands about another process."""

FORM, LOG = READING[1:], SPEAKING[:1]
PROVING = (*WATCHING, *VERIFYING, *JUDGING, *ASSIGNED, IRQ, *FORM, *LOG)
"""The options of `verify`."""

PAGES = VERIFYING[2:]
MEASURING = (*WATCHING, *FILES, *LOADING, *PAGES, *JUDGING, *ASSIGNED, *FORM, *LOG)
"""The options of `measure`."""

BENCH = (*FILES, *BENCHING, *ASSIGNED[:1], *ASSIGNED[4:], *FORM, *LOG)
"""The options of `bench`."""

EVERY = (*OWN, *WATCHING, *VERIFYING, *FILES, *LOADING, *BENCHING)
