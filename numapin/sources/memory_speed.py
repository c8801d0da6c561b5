"""What the firmware claims of memory, how large the caches are, and what an earlier `bench` saved."""

import json
import re
from collections.abc import Mapping

from numapin.sources.nodes import CPU, NODE
from numapin.sources.parsing import number, read
from numapin.sources.root import Root
from numapin.speed import LATENCY, Firmware
from numapin.topology import Topology

SCHEMA = "numapin.bench/v1"
_SIZE = re.compile(r"(\d{1,9})K", re.ASCII)


def read_claims(root: Root, topology: Topology) -> dict[int, Firmware]:
    """HMAT: node<N>/access0/initiators/ tells a node's speed for those nodes that reach it fastest, mostly itself.

    Nanoseconds and MB/s (Documentation/admin-guide/mm/numaperf.rst); only firmware that has the table shows it.
    """
    found = {}
    for node in topology.nodes:
        place = f"{NODE}/node{node.id}/access0/initiators"
        claim = Firmware(read(root, f"{place}/read_latency", number), read(root, f"{place}/read_bandwidth", number))
        if claim.latency_ns or claim.bandwidth_mb_s:
            found[node.id] = claim
    return found


def read_cache_bytes(root: Root) -> int:
    """The size of the last cache of the first CPU, in bytes; 0 where nobody says."""
    place = f"{CPU}/cpu{min(_online(root), default=0)}/cache"
    sizes = [_SIZE.fullmatch(root.read(f"{place}/{name}/size") or "") for name in root.names(place)]
    return max((int(found[1]) << 10 for found in sizes if found), default=0)


def _online(root: Root) -> list[int]:
    text = root.read(f"{CPU}/online") or "0"
    return [int(part) for part in re.findall(r"\d{1,5}", text)]


def may_have_huge_pages(root: Root) -> bool:
    """Whether madvise(2) gets transparent huge pages here."""
    return "[never]" not in (root.read("/sys/kernel/mm/transparent_hugepage/enabled") or "[never]")


def read_latencies(root: Root, path: str) -> dict[tuple[int, int], float]:
    """Nanoseconds by node of the CPU and node of the memory, as `bench --save` wrote them.

    It only makes a hint better: what is not there, or is something else, is nothing.
    """
    try:
        record = json.loads(root.read(path) or "null")
        if record["schema"] != SCHEMA:
            return {}
        (matrix,) = [one for one in record["matrices"] if one["key"] == LATENCY.key]
        return dict(_pairs(matrix))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def _pairs(matrix: Mapping[str, list[list[float | None]]]) -> list[tuple[tuple[int, int], float]]:
    """Those of its numbers that are some."""
    return [
        ((int(str(row)), int(str(column))), float(cell))
        for row, line in zip(matrix["rows"], matrix["values"], strict=True)
        for column, cell in zip(matrix["columns"], line, strict=True)
        if cell is not None and 0 < float(cell) < 1e9
    ]
