"""Memory on other nodes than it should be. Only what a memory policy places counts: anonymous pages."""

from collections.abc import Iterator, Mapping

from numapin.ids import NodeSet
from numapin.proof.case import Running
from numapin.units import MIB, format_size
from numapin.verdict.alignment import Finding
from numapin.verdict.wording import nodes

MOST_REMOTE = 16 * MIB
LEAST_REMOTE = MIB
MOST_SHARE = 0.01
"""Drift is more than 16 MiB, or more than 1 % of all where that is more than 1 MiB: a page or two that the runtime
touched before the server was bound, or that another process shares by copy on write, are none."""


def remote_pages(case: Running) -> Iterator[Finding]:
    """Of the whole server; and, where workers were narrowed to a node of their own, of each of these."""
    pages = case.server.pages
    if pages is None:
        return
    remote = outside(pages.anonymous, case.marker.memory_nodes)
    if _is_drift(remote, pages.anonymous):
        message = (
            f"{_of(remote, pages.anonymous)} anonymous memory is on {nodes(NodeSet.of(remote))}{_most(case)}; "
            f"it belongs on {nodes(case.marker.memory_nodes)}"
        )
        # Where no policy was set, nothing has drifted from it.
        yield Finding("PAGES_REMOTE", "anonymous memory", message, warns=not case.marker.mems)
    else:
        yield from _of_workers(case)


def _of_workers(case: Running) -> Iterator[Finding]:
    """A worker that is narrowed to one of several nodes: what it touched before lies where it was then."""
    for process in case.server.tree:
        state = case.server.threads.get(process.pid)
        own = case.topology.nodes_of(state.cpus) if case.topology and state and state.cpus else case.marker.memory_nodes
        pages = case.server.pages_of.get(process.pid)
        if pages is None or not own < case.marker.memory_nodes:
            continue
        remote = outside(pages.anonymous, own)
        if _is_drift(remote, pages.anonymous):
            message = f"{_of(remote, pages.anonymous)} anonymous memory of {process.label} is on "
            message += f"{nodes(NodeSet.of(remote))}; the process itself is on {nodes(own)}"
            yield Finding("PAGES_REMOTE", process.label, message, warns=True)


def local_share(case: Running) -> Iterator[str]:
    """`18.0 of 18.1 GiB anonymous memory is there`, for the sentence of who is where it should be."""
    if case.server.pages:
        anonymous = case.server.pages.anonymous
        local = {node: size for node, size in anonymous.items() if node in case.marker.memory_nodes}
        yield f"{_of(local, anonymous)} anonymous memory is there"


def outside(sizes: Mapping[int, int], belongs: NodeSet) -> dict[int, int]:
    """What lies on other nodes."""
    return {node: size for node, size in sizes.items() if size and node not in belongs}


def _is_drift(remote: Mapping[int, int], pages: Mapping[int, int]) -> bool:
    away, everything = sum(remote.values()), sum(pages.values())
    return away > MOST_REMOTE or (away > LEAST_REMOTE and away > MOST_SHARE * everything)


def _of(part: Mapping[int, int], whole: Mapping[int, int]) -> str:
    """`1.2 of 18.0 GiB`; `3.5 MiB of 18.0 GiB`."""
    one, all_of_it = format_size(sum(part.values())), format_size(sum(whole.values()))
    return f"{one.removesuffix(all_of_it[-4:])} of {all_of_it}"


def _most(case: Running) -> str:
    """The process that has most of it, where each was looked at."""
    away = {
        pid: sum(outside(pages.anonymous, case.marker.memory_nodes).values())
        for pid, pages in case.server.pages_of.items()
    }
    pid = max(away, key=lambda one: away[one], default=None)
    found = next((process for process in case.server.tree if process.pid == pid), None)
    return f", most of it of {found.label}" if found and len(away) > 1 else ""
