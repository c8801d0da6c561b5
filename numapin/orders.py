"""What the keeper is told: where threads belong that did not exist before exec. A value, printed and handed over."""

from collections.abc import Mapping

from numapin.engine import HotRule, Workers
from numapin.ids import CpuSet
from numapin.values import field, value


@value
class HotOrder:
    """Threads that get a CPU of their own, and SCHED_FIFO or a niceness."""

    rule: HotRule
    fifo: int = 0
    """SCHED_FIFO priority, 1 to 49; 0 leaves the policy as it is."""
    nice: int | None = None
    """Niceness, -20 to -1; None leaves it as it is."""
    asked: str = ""
    """What the operator wrote: a glob, or a profile's name."""

    @property
    def how(self) -> str:
        """`SCHED_FIFO priority=1`, or `nice -10`."""
        return f"SCHED_FIFO priority={self.fifo}" if self.fifo else f"nice {self.nice}"


@value
class Share:
    """The part of the container's CPUs that belongs to the worker of one accelerator."""

    label: str
    """How messages call the accelerator: `GPU 0 (0000:3b:00.0)`."""
    index: int
    """Its ordinal in what the server sees."""
    names: tuple[str, ...]
    """What stands for it in CUDA_VISIBLE_DEVICES: the driver's ordinal, UUIDs."""
    device: str | None
    """Its device file, `/dev/nvidia3`; None where the driver did not say."""
    node: int
    cpus: CpuSet

    def __str__(self) -> str:
        return f"{self.label.partition(' (')[0]} cpus={self.cpus}"


@value
class Pinned:
    """An interrupt and where it was put."""

    irq: int
    cpus: CpuSet
    device: str


@value
class Orders:
    """All that the keeper is told."""

    cpus: CpuSet
    """Where the server is bound; a thread that belongs nowhere else may run on all of them that are nobody's own."""
    hot: tuple[HotOrder, ...] = ()
    workers: Workers | None = None
    """How a worker is known; None where there is nothing to narrow."""
    shares: tuple[Share, ...] = ()
    interrupts: tuple[Pinned, ...] = ()
    cores: Mapping[int, CpuSet] = field(default_factory=dict)
    """Hardware threads of the same core, by CPU."""
    scheduling: bool = True
    """SCHED_FIFO and niceness are to be set, not only CPUs."""
    unsafe: bool = False
    """SCHED_FIFO also where it leaves no CPU free."""
    binders: tuple[str, ...] = ()
    """Environment variables, as NAME=value, by which somebody in the server may bind anew."""
    irq_balancer: str | None = None
    """How irqbalance was seen running; None where it was not."""
    rt_hint: str = ""
    """What to do where SCHED_FIFO is refused."""
    kernel: tuple[int, int] | None = None
    """Major and minor version."""
    metrics: str | None = None
    """File for Prometheus' text format."""
    log_format: str = "text"

    @property
    def fifo(self) -> int:
        """The highest SCHED_FIFO priority that will be asked for; 0 where none is."""
        return max((order.fifo for order in self.hot), default=0) if self.scheduling else 0

    def __str__(self) -> str:
        """`threads 'NCCL*' SCHED_FIFO priority=1; workers GPU 0 cpus=0-15, GPU 1 cpus=16-31`."""
        hot = [f"{one.rule.thread!r} {one.how if self.scheduling else 'own CPU only'}" for one in self.hot]
        parts = [f"threads {', '.join(hot)}"] if hot else []
        parts += [f"workers {', '.join(map(str, self.shares))}"] if self.workers else []
        return "; ".join(parts or [f"cpus={self.cpus}"])
