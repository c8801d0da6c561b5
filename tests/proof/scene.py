"""A running server in few words: two nodes, a server on the first, a worker below it."""

from collections.abc import Mapping

from numapin.ids import CpuSet, NodeSet
from numapin.marker import Marker
from numapin.proof import prove
from numapin.proof.case import Pin, Running
from numapin.server import Pages, Server, ThreadState
from numapin.topology import Node, Topology
from numapin.tree import Process, Thread
from numapin.verdict import Verdict

GIB = 1 << 30


def cpus(text: str) -> CpuSet:
    return CpuSet.parse(text)


def nodes(text: str) -> NodeSet:
    return NodeSet.parse(text)


TOPOLOGY = Topology(
    cpus("0-7"),
    (Node(0, cpus("0-3"), 64 * GIB, {0: 10, 1: 21}), Node(1, cpus("4-7"), 64 * GIB, {0: 21, 1: 10})),
)
MARKER = Marker("single-numa-node", nodes("0"), cpus("0-3"), nodes("0"))
BOTH = Marker("restricted", nodes("0-1"), cpus("0-7"), nodes("0-1"))
SERVER = Process(1, 0, "vllm serve", (Thread(1, "vllm"), Thread(2, "ZMQbg/IO/0")))
WORKER = Process(45, 1, "VLLM::Worker_TP0", tuple(Thread(45 + one, "VLLM::Worker_TP") for one in range(3)))
FINE = ThreadState(cpus("0-3"), "bind=static:0")
THREADS = {1: FINE, 2: FINE, 45: FINE, 46: FINE, 47: FINE}


def anonymous(*gib: float) -> Pages:
    """So many GiB on node 0, and on node 1."""
    return Pages({node: int(size * GIB) for node, size in enumerate(gib)}, {0: GIB, 1: 9 * GIB}, {1: 5 * GIB})


def server(threads: Mapping[int, ThreadState] | None = None, **facts) -> Server:
    """All as it should be, but for what is said."""
    whole = {"cpuset": cpus("0-7"), "mems": nodes("0-1"), "pages": anonymous(18.0), **facts}
    return Server((SERVER, WORKER), {**THREADS, **(threads or {})}, **whole)


def verdict(
    threads: Mapping[int, ThreadState] | None = None,
    marker: Marker = MARKER,
    pins: tuple[Pin, ...] = (),
    quick: bool = False,
    **facts,
) -> Verdict:
    return prove(Running(marker, server(threads, **facts), None if quick else TOPOLOGY, pins))
