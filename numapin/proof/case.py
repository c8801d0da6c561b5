"""A running server, and where it should be."""

from numapin.ids import CpuSet
from numapin.marker import Marker
from numapin.server import Server
from numapin.topology import Topology
from numapin.tree import Process
from numapin.values import value
from numapin.verdict.wording import count, nodes


@value
class Pin:
    """An interrupt of one of the server's devices."""

    irq: int
    device: str
    """Its label."""
    node: int


@value
class Running:
    """What is compared."""

    marker: Marker
    """Where it should be: what was left at its start, or what the verdict of now says."""
    server: Server
    topology: Topology | None = None
    """None for a quick look, which tells CPUs but not their nodes."""
    pins: tuple[Pin, ...] = ()
    interrupts_matter: bool = False
    """Whether one that goes elsewhere is drift (`--irq require`), or only said."""

    @property
    def everybody(self) -> str:
        """`vllm (process 1) with 3 more processes and 69 threads`."""
        tree = self.server.tree
        threads = count(len(self.server.threads), "thread")
        others = f"{count(len(tree) - 1, 'process')[:-1]}es" if len(tree) > 2 else "1 process"
        return f"{tree[0].label} with {f'{others} below it and ' if len(tree) > 1 else ''}{threads}"

    def at(self, cpus: CpuSet) -> str:
        """`CPUs 0-63 of nodes 0-1`."""
        return f"{cpus.label} of {nodes(self.topology.nodes_of(cpus))}" if self.topology else cpus.label

    def binders(self, process: Process) -> str:
        """The variables by which a process rebinds itself, as the end of a sentence."""
        found = self.server.binders.get(process.pid, ())
        return f", where {' and '.join(found)} is set" if found else ""
