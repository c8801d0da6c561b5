"""What `verify` found, as text and as JSON; the schema lies beside this module."""

from collections.abc import Iterator, Mapping
from typing import Any

from numapin.ids import CpuSet, printable
from numapin.proof.case import Running
from numapin.render.report import reason
from numapin.server import Pages, Server
from numapin.tree import Process
from numapin.units import format_size
from numapin.verdict import Verdict

Json = dict[str, Any]


def report(running: Running, verdict: Verdict, *, planned: bool) -> Json:
    """One object. `planned`: it was compared with what was left at its start, and not with the verdict of now."""
    server = running.server
    return {
        "schema": "numapin.verify/v1",
        "verdict": verdict.status,
        "policy": verdict.policy,
        "pid": server.tree[0].pid,
        "against": "plan" if planned else "verdict",
        "nodes": list(verdict.nodes),
        "cpus": str(verdict.cpus),
        "mems": str(verdict.mems),
        "reasons": [reason(one) for one in verdict.reasons],
        "pages": _pages(server.pages),
        "counted": None if server.pages is None else "maps" if server.pages_of else "cgroup",
        "processes": [_process(server, one) for one in server.tree],
    }


def _process(server: Server, process: Process) -> Json:
    states = [state for _, state in server.states(process)]
    return {
        "pid": process.pid,
        "parent": process.parent,
        "title": process.title,
        "threads": len(process.threads),
        "cpus": sorted({str(state.cpus) for state in states}),
        "memory_policies": sorted({state.memory_policy for state in states if state.memory_policy}),
        "binders": list(server.binders.get(process.pid, ())),
        "pages": _pages(server.pages_of.get(process.pid)),
    }


def _pages(pages: Pages | None) -> Json | None:
    if pages is None:
        return None
    kinds = {"anonymous": pages.anonymous, "shared": pages.shared, "file": pages.file}
    return {kind: {str(node): size for node, size in sizes.items()} for kind, sizes in kinds.items()}


def memory_lines(server: Server) -> Iterator[str]:
    """Memory by node, the kinds apart: only anonymous memory is placed by a policy, and judged."""
    if server.pages:
        kinds = (("anonymous", "anonymous"), ("shared", "shared"), ("file", "file-backed"))
        told = (f"{name} {_by_node(sizes)}" for kind, name in kinds if (sizes := getattr(server.pages, kind)))
        yield f"memory: {'; '.join(told) or 'none'}"


def _by_node(sizes: Mapping[int, int]) -> str:
    told = [f"{format_size(size)} on node {node}" for node, size in sizes.items() if size]
    return ", ".join(told) or "none"


def tree_lines(server: Server) -> Iterator[str]:
    """One line for each process, below its parent: its threads, where they may run, where its own memory is."""
    depth: dict[int, int] = {}
    for process in server.tree:
        depth[process.pid] = depth.get(process.parent, -1) + 1
        states = [state for _, state in server.states(process)]
        masks = sorted({state.cpus for state in states if state.cpus}, key=lambda cpus: cpus.mask)
        threads = f"{len(states)} thread{'' if len(states) == 1 else 's'} on {_masks(masks)}"
        pages = server.pages_of.get(process.pid)
        memory = f"; {_by_node(pages.anonymous)}" if pages else ""
        yield printable(f"{'  ' * depth[process.pid]}{process.label}: {threads}{memory}")


def _masks(masks: list[CpuSet]) -> str:
    """All of them where they are few."""
    shown = " or ".join(cpus.label for cpus in masks[:3])
    return f"{shown} or others" if len(masks) > 3 else shown or "CPUs that cannot be seen"
