"""Which worker process has which accelerator: by its rank, checked against the devices that it holds open.

Never by counting nodes. A worker that cannot be told is named, and stays where the whole server is bound.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from numapin.engine import Workers
from numapin.orders import Orders, Share
from numapin.tree import Process, Tree
from numapin.values import field, value

VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""Variables by which an engine gives its processes a part of the accelerators (vLLM's data parallel ranks)."""

Rank = tuple[int, ...]


@value
class Told:
    """What is known of the workers."""

    shares: Mapping[int, Share] = field(default_factory=dict)
    """By process id; also of the processes that a worker started."""
    untold: Mapping[int, str] = field(default_factory=dict)
    """Why not, by process id of the worker."""


def tell(tree: Tree, orders: Orders) -> Told:
    """The accelerator of each worker, as far as it can be told."""
    workers = orders.workers
    if workers is None:
        return Told()
    shares: dict[int, Share] = {}
    untold: dict[int, str] = {}
    found = [process for process in tree if is_worker(process, workers)]
    for visible in dict.fromkeys(map(_visible, found)):
        group = [process for process in found if _visible(process) == visible]
        own = _seen(orders.shares, visible)
        ordinals = list(_ordinals(group, workers, len(own)))
        for process, ordinal in zip(group, ordinals, strict=True):
            twice = bool(workers.title) and ordinal is not None and ordinals.count(ordinal) > 1
            told = f"several workers have the rank {ordinal}" if twice else _decide(process, ordinal, own)
            if isinstance(told, Share):
                shares[process.pid] = told
            else:
                untold[process.pid] = told
    return Told(_with_children(tree, shares, untold), untold)


def is_worker(process: Process, workers: Workers) -> bool:
    """By its title; of engines that give none, by a rank in its environment."""
    if workers.title:
        return bool(re.search(workers.title, process.title))
    return any(name in process.variables for name in workers.variables)


def _visible(process: Process) -> str | None:
    return next((process.variables[name] for name in VISIBLE if name in process.variables), None)


def _seen(shares: tuple[Share, ...], visible: str | None) -> tuple[Share | None, ...]:
    """The accelerators by the ordinal that a process with such a variable uses; None for those without a share."""
    if visible is None:
        by_index = {share.index: share for share in shares}
        return tuple(by_index.get(index) for index in range(max(by_index, default=-1) + 1))
    return tuple(_named(shares, name.strip()) for name in visible.split(","))


def _named(shares: tuple[Share, ...], name: str) -> Share | None:
    def is_it(known: str) -> bool:
        return known == name or (name.startswith(("GPU-", "MIG-")) and known.startswith(name))

    found = [share for share in shares if any(map(is_it, share.names))]
    return found[0] if len(found) == 1 else None


def _ordinals(group: Sequence[Process], workers: Workers, many: int) -> Iterator[int | None]:
    """Each worker's ordinal among the `many` accelerators that it sees: its environment's, else by its title."""
    ranks = [_rank(process.title, workers) for process in group]
    order = _order({rank for rank in ranks if rank}, many)
    for process, rank in zip(group, ranks, strict=True):
        given = next((process.variables[name] for name in workers.variables if name in process.variables), "")
        yield int(given) if given.isascii() and given.isdecimal() and len(given) < 6 else order.get(rank)


def _rank(title: str, workers: Workers) -> Rank:
    """The numbers in a title, slowest first, -1 for those that are not in it; empty where none is, or is not yet."""
    found = [re.search(expression, title) for expression in workers.ranks]
    texts = [match[1] or "" if match else "" for match in found]
    numbers = tuple(int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else -1 for text in texts)
    return numbers if max(numbers, default=-1) >= 0 else ()


def _order(ranks: set[Rank], many: int) -> dict[Rank, int]:
    """Ordinals by rank: their order, once as many are there as there are accelerators.

    Before, a single number is the ordinal itself; of several nobody can say how large each dimension will be.
    """
    if len(ranks) == many:
        return {rank: place for place, rank in enumerate(sorted(ranks))}
    single = all(len([number for number in rank if number >= 0]) == 1 for rank in ranks)
    return {rank: max(rank) for rank in ranks} if single else {}


def _decide(process: Process, ordinal: int | None, seen: tuple[Share | None, ...]) -> Share | str:
    """The share of a worker, or why it cannot be told."""
    held = {share for share in seen if share and share.device in (process.devices or ())}
    if ordinal is None and len(held) == 1:
        return next(iter(held))
    if ordinal is None:
        return "neither its title nor its environment says which accelerator it has"
    share = seen[ordinal] if ordinal < len(seen) else None
    if share is None:
        return f"its rank is {ordinal}, and no accelerator of that ordinal has a known node here"
    if held and share not in held:
        names = ", ".join(sorted(one.label for one in held))
        return f"its rank {ordinal} stands for {share.label}, but it holds {names} open"
    return share


def _with_children(tree: Tree, shares: dict[int, Share], untold: Mapping[int, str]) -> dict[int, Share]:
    """What a worker started works for it. Parents come before their children."""
    known = dict(shares)
    for process in tree:
        if process.pid not in known and process.pid not in untold and process.parent in known:
            known[process.pid] = known[process.parent]
    return known
