"""What the operator asked for: the options as a value, and their closed lists of words."""

from collections.abc import Mapping
from typing import Literal

from numapin.ids import CpuSet, NodeSet
from numapin.values import field, value

Policy = Literal["none", "best-effort", "restricted", "single-numa-node"]
Mode = Literal["require", "try", "off"]

Counting = Literal["auto", "maps", "cgroup", "off"]
"""Who is asked where a server's memory is: the page tables of each process, its cgroup, or nobody."""

AUTO = ("auto",)
"""The value of a device option that leaves the choice to numapin."""

NONE = ("none",)
"""The value of a device option that takes all devices of its kind out of the judgement."""


BENCH_FILE = "/var/lib/numapin/bench.json"
"""Where `bench --save` writes, and hints of a mismatch look, unless told otherwise."""


@value
class Hot:
    """Threads that are to be hot, and how hot."""

    pattern: str
    """A glob of their name, or the name of a profile, or `auto`: the profile of the engine."""
    level: int | None = None
    """SCHED_FIFO priority, or niceness."""

    def __str__(self) -> str:
        return self.pattern if self.level is None else f"{self.pattern}={self.level}"


@value
class Settings:
    """One field for each option of `run`, `check` and `plan`; the option table (cli.options) documents them."""

    policy: Policy = "single-numa-node"
    scope: Literal["container", "pod"] = "container"
    align: Literal["numa", "socket"] = "numa"
    unknown: Literal["fail", "warn"] = "fail"
    gpus: tuple[str, ...] = AUTO
    rdma: tuple[str, ...] = AUTO
    nics: tuple[str, ...] = AUTO
    expect_gpus: int | None = None
    expect_rdma: int | None = None
    home: Mapping[str, int] = field(default_factory=dict)
    """Node by device, in any of the device's names."""
    cpus: CpuSet | None = None
    mems: NodeSet | None = None
    narrow: bool = True
    bench: str = BENCH_FILE
    """What `bench` saved: what a mismatch costs here."""
    cpu: Mode = "require"
    memory: Mode = "require"
    irq: Mode = "try"
    rt: Mode = "try"
    memory_policy: Literal["bind", "preferred"] = "bind"
    irq_cpus: Literal["container", "local"] | CpuSet = "container"
    rt_main: int | None = None
    """SCHED_FIFO priority of the main thread."""
    rt_unsafe: bool = False
    """The operator forces SCHED_FIFO where it can hang the host or the server."""
    hot: tuple[Hot, ...] = ()
    """Threads for SCHED_FIFO and a CPU of their own, by name."""
    hot_nice: tuple[Hot, ...] = ()
    """The same with a niceness instead of SCHED_FIFO."""
    workers: str = "auto"
    """The profile that says which process has which accelerator; `off`: workers stay where the server is bound."""
    engine: str = "auto"
    """The server's profile; `auto`: by its command line."""
    profiles: str = "/etc/numapin/profiles"
    """The operator's own profiles."""
    keep: bool = False
    """A keeper stays beside the server in any case."""
    metrics: str | None = None
    """Where the keeper writes what it counts."""
    log_format: Literal["text", "json"] = "text"
    explicit: frozenset[str] = frozenset()
    """Names of the fields that the operator set, by option or environment."""

    @property
    def names_interrupts(self) -> bool:
        """Whether the operator spoke of the NICs or their interrupts in so many words."""
        return bool(self.explicit & {"irq", "nics", "rdma"})

    @property
    def names_engine(self) -> bool:
        """Whether a profile is needed in any case: to know what was asked for, or whether it can be had."""
        return bool(self.hot or self.hot_nice or self.engine != "auto" or self.workers not in ("auto", "off"))
