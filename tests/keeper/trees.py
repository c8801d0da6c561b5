"""Trees and orders for the keeper's tests, in few words."""

from numapin.engine import HotRule, Workers
from numapin.ids import CpuSet
from numapin.orders import HotOrder, Orders, Share
from numapin.tree import Process, Thread, Tree

VLLM = Workers("^VLLM::Worker", (r"_DP(\d+)", r"_PP(\d+)", r"_PCP(\d+)", r"_TP(\d+)"), ("LOCAL_RANK",))


def cpus(text: str) -> CpuSet:
    return CpuSet.parse(text)


def process(pid: int, title: str, *names: str, parent: int = 1, **facts) -> Process:
    """A process whose main thread has the first of the names, or its title's first 15 characters."""
    called = names or (title.partition(" ")[0].rpartition("/")[2][:15],)
    threads = tuple(Thread(pid + place, name) for place, name in enumerate(called))
    return Process(pid, parent, title, threads, names=frozenset(called[:1]), **facts)


def tree(*others: Process) -> Tree:
    """A server, process 1, and these below it."""
    return (process(1, "/usr/bin/python3 /usr/bin/vllm serve x", "vllm", "ZMQbg/IO/0", parent=0), *others)


def share(index: int, where: str, node: int, device: str | None = "") -> Share:
    """GPU `index` with these CPUs; its device file is /dev/nvidia<index> unless told otherwise."""
    device = f"/dev/nvidia{index}" if device == "" else device
    return Share(f"GPU {index}", index, (str(index), f"GPU-{index}abc"), device, node, cpus(where))


def hot(thread: str, fifo: int = 1, nice: int | None = None) -> HotOrder:
    return HotOrder(HotRule(thread), 0 if nice else fifo, nice, asked=thread)


def orders(*wanted: HotOrder, on: str = "0-7", **others) -> Orders:
    return Orders(cpus(on), hot=wanted, **others)


TWO = (share(0, "0-3", 0), share(1, "4-7", 1))
