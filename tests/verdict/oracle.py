"""DESIGN section 5 once more, by brute force: written from its text, sharing nothing with numapin but the values.

A sentence of the section stands above the lines that say it. Where the text leaves open whether a thing that is
already called misaligned gets a second code too, that code is in `may` and not in `must`. Misaligned is only what is
so wherever the devices are whose home nobody can say.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from numapin.assignment import Accelerator, Assignment, Device, NetworkInterface, RdmaDevice
from numapin.settings import Settings
from numapin.topology import Node, Topology
from tests.verdict.oracle_homes import home_chain

Nodes = frozenset[int]
NOWHERE: Nodes = frozenset()


@dataclass
class Answer:
    """What section 5 says about one case."""

    misaligned: bool = False
    unknown: bool = False
    must: set[str] = field(default_factory=set)
    may: set[str] = field(default_factory=set)
    bound: list[tuple[Nodes, Nodes, Nodes]] = field(default_factory=list)
    """Nodes, CPUs and memory nodes to bind to, each way that the text allows; empty where it does not say."""

    @property
    def status(self) -> str:
        """A proven misalignment stays one, whatever else nobody can say."""
        return "misaligned" if self.misaligned else "unknown" if self.unknown else "aligned"

    def wrong(self, code: str, certain: bool = True) -> None:
        """A rule of `restricted` or of `single-numa-node` is broken."""
        if certain:
            self.misaligned = True
            self.must.add(code)
        else:
            self.may.add(code)


def by_the_book(topology: Topology, assignment: Assignment, settings: Settings) -> Answer:
    """The verdict, from the text."""
    # DESIGN says "`none`: nothing judged, nothing bound."
    if settings.policy == "none":
        return Answer(bound=[(NOWHERE, NOWHERE, NOWHERE)])
    answer = Answer()
    case = Book(topology, assignment, settings)
    # DESIGN says "--unknown: a device or machine whose node nobody can say"
    if case.strangers:
        answer.unknown = True
        answer.must.add("NODE_UNKNOWN")
        if not case.known and settings.unknown == "fail":
            # Wherever the devices are, one of the CPUs' nodes must be theirs, and have memory.
            answer.may |= set() if case.mems & frozenset().union(*map(case.servers, case.needed)) else {"MEMS_REMOTE"}
            answer.may |= set() if settings.narrow else {"CPUS_SPAN_NODES", "MEMS_SPAN_NODES"}
            answer.bound = [case.place(nodes) for nodes in best_nodes(case)] if settings.policy == "best-effort" else []
            return answer
    # DESIGN says "`single-numa-node`: `restricted`, and N is one node. `best-effort`: the same reasons as warnings"
    if settings.policy != "restricted":
        one_node(case, answer)
    restricted(case, answer)
    if not settings.narrow:
        wide(case, answer, settings)
    if settings.policy == "best-effort":
        answer.bound = [case.place(nodes) for nodes in best_nodes(case)]
    elif not answer.misaligned and (settings.unknown == "warn" or not answer.unknown):
        answer.bound = [case.place(case.needed)]
    return answer


class Book:
    """One case, as plain sets."""

    def __init__(self, topology: Topology, assignment: Assignment, settings: Settings) -> None:
        self.topology, self.assignment, self.settings = topology, assignment, settings
        self.case = (topology, assignment, settings)
        self.nodes: dict[int, Node] = {node.id: node for node in topology.nodes}
        # DESIGN says "Allowed CPUs A = the cgroup's effective cpuset ∩ online."
        self.cpus = frozenset(assignment.cpus) & frozenset(topology.cpus_online)
        # DESIGN says "Allowed memory M = the cgroup's effective mems ∩ nodes with memory, less GPU-memory nodes."
        real = {n for n, node in self.nodes.items() if node.memory_bytes != 0 and not node.gpu_memory}
        self.with_memory = frozenset(real)
        self.mems = frozenset(assignment.mems) & self.with_memory
        self.accelerators = self.homes(assignment.accelerators)
        self.rdma = self.homes(assignment.rdma)
        self.nics = self.homes(assignment.nics)
        self.strangers = [device for device in assignment.devices if self.home(device) is None]
        self.known = [device for device in assignment.devices if self.home(device) is not None]
        # DESIGN says "N = the homes of all assigned devices, or the nodes of A where there are none."
        of_cpus = self.grouped(n for n, node in self.nodes.items() if self.cpus & frozenset(node.cpus))
        self.needed = (self.accelerators | self.rdma | self.nics) or of_cpus

    def group(self, node: int) -> Nodes:
        """`--align socket`: "nodes of one package count as one"."""
        package = self.nodes[node].package
        if self.settings.align == "numa" or package is None:
            return frozenset([node])
        return frozenset(n for n, other in self.nodes.items() if other.package == package)

    def grouped(self, nodes: Iterator[int]) -> frozenset[Nodes]:
        return frozenset(self.group(node) for node in nodes)

    def homes(self, devices: tuple[Device, ...]) -> frozenset[Nodes]:
        return self.grouped(home for home in map(self.home, devices) if home is not None)

    def home(self, device: Device) -> int | None:
        names = {str(device.pci)} if device.pci else set()
        names |= {device.name} if isinstance(device, RdmaDevice | NetworkInterface) else set()
        names |= {str(device.uuid), str(device.mig)} if isinstance(device, Accelerator) else set()
        affinity = device.cpu_affinity if isinstance(device, Accelerator) else None
        return next(home_chain(self.case, device.pci, names, frozenset(affinity or ())), None)

    def cpus_of(self, nodes: Nodes) -> Nodes:
        return frozenset(cpu for node in nodes for cpu in self.nodes[node].cpus)

    def servers(self, nodes: Nodes) -> Nodes:
        """Whose memory serves these: their own, else "the nearest that has"; of several as near, the lowest allowed."""
        own = nodes & self.with_memory
        if own or not self.with_memory:
            return own
        far = {n: min(self.nodes[node].distances.get(n, 10_000) for node in nodes) for n in self.with_memory}
        nearest = frozenset(n for n in far if far[n] == min(far.values()))
        return frozenset([min(nearest & self.mems or nearest)])

    def place(self, groups: frozenset[Nodes]) -> tuple[Nodes, Nodes, Nodes]:
        """Section 6: "A ∩ CPUs of N", "M ∩ N". Of nodes that count as one, those are named that have the CPUs."""
        nodes = frozenset(node for group in groups for node in group if self.cpus & frozenset(self.nodes[node].cpus))
        mems = frozenset(node for group in groups for node in self.servers(group) & self.mems)
        return nodes, self.cpus & self.cpus_of(nodes), mems


def one_node(book: Book, answer: Answer) -> None:
    """What single-numa-node adds: "N is one node"."""
    if len(book.accelerators) > 1:
        answer.wrong("GPUS_SPAN_NODES")
    if len(book.needed) > 1:
        # Without accelerators the text does not say which of several devices is the remote one.
        answer.misaligned |= bool(book.known)
        answer.may |= {"RDMA_REMOTE", "NIC_REMOTE"}
        if not book.known:
            answer.wrong("CPUS_SPAN_NODES", certain=not book.strangers)


def restricted(book: Book, answer: Answer) -> None:
    """Every rule of `restricted`."""
    strange = any(isinstance(device, Accelerator) for device in book.strangers)
    # DESIGN says "RDMA and NIC homes lie within the accelerators' homes where there are accelerators"
    if book.accelerators and not book.rdma <= book.accelerators:
        answer.wrong("RDMA_REMOTE", certain=not strange or book.settings.policy != "restricted")
    if book.accelerators and not book.nics <= book.accelerators:
        answer.wrong("NIC_REMOTE", certain=not strange or book.settings.policy != "restricted")
    # DESIGN says "Every node of N needs an allowed CPU and allowed memory". What is remote already has its own code.
    several = book.settings.policy != "restricted" and len(book.needed) > 1
    for group in book.needed:
        certain = not several and (group in book.accelerators or not book.accelerators)
        if not book.cpus & book.cpus_of(group):
            answer.wrong("CPUS_REMOTE", certain)
        # DESIGN says "(a node that has no memory of its own is served by the nearest that has […])"
        if not book.servers(group) & book.mems:
            answer.wrong("MEMS_REMOTE", certain)
    # DESIGN says "and the accelerators spread over no more nodes than their number needs on this machine"
    number = len({device.pci for device in book.assignment.accelerators})
    if len(book.accelerators) > fewest_nodes(book, number):
        answer.wrong("GPUS_SPREAD", certain=not several)


def fewest_nodes(book: Book, number: int) -> int:
    """By "what nodes hold, not what is free": every subset of nodes is tried."""
    functions = book.topology.pci
    assigned = [functions[one.pci] for one in book.assignment.accelerators if one.pci]
    kinds = {(function.vendor, function.class_code) for function in assigned}
    named = {one.pci: one for one in book.assignment.accelerators}
    holds: dict[Nodes, int] = {}
    for pci, function in functions.items():
        if (function.vendor, function.class_code) in kinds:
            names, one = {str(pci)}, named.get(pci)
            home = book.home(one) if one else next(home_chain(book.case, pci, names, NOWHERE), None)
            if home is not None:
                holds[book.group(home)] = holds.get(book.group(home), 0) + 1
    for size in range(len(holds) + 1):
        if any(sum(holds[group] for group in chosen) >= number for chosen in combinations(holds, size)):
            return size
    return len(holds)


def wide(book: Book, answer: Answer, settings: Settings) -> None:
    """DESIGN says "More CPUs or memory nodes than N needs is not a misalignment while `--narrow` holds"."""
    certain = not answer.misaligned and not book.strangers
    _, cpus, mems = book.place(book.needed)
    if settings.policy == "best-effort" and not certain:
        answer.may |= {"CPUS_SPAN_NODES", "MEMS_SPAN_NODES"}
    if not book.cpus <= cpus:
        answer.wrong("CPUS_SPAN_NODES", certain)
    if not book.mems <= mems:
        answer.wrong("MEMS_SPAN_NODES", certain)


def best_nodes(book: Book) -> list[frozenset[Nodes]]:
    """DESIGN says "the node that holds most accelerators, then most devices, then most allowed CPUs"."""
    groups = book.grouped(n for n, node in book.nodes.items() if node.cpus)

    def count(devices: tuple[Device, ...], group: Nodes) -> int:
        return sum(book.home(device) in group for device in devices)

    rank = {
        group: (
            count(book.assignment.accelerators, group),
            count(book.assignment.devices, group),
            len(book.cpus & book.cpus_of(group)),
        )
        for group in groups
    }
    # Nothing can be bound where no CPU is allowed: the best of the others.
    usable = [group for group in groups if book.cpus & book.cpus_of(group)]
    return [frozenset([group]) for group in usable if rank[group] == max(rank[one] for one in usable)]
