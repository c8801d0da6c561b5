"""What was measured beside what the firmware claims, and what a mismatch costs here."""

from collections.abc import Iterator, Mapping

from numapin.speed import LATENCY, READ, Firmware, Matrix
from numapin.topology import Topology

TOLERANCE = 1.25
"""Within a quarter of each other, a claim and a figure agree: distances are whole tenths, and firmware rounds."""
LOCAL = 10
"""The distance of a node to itself (ACPI, SLIT)."""


def disagreements(matrices: Mapping[str, Matrix], topology: Topology, claims: Mapping[int, Firmware]) -> Iterator[str]:
    """Sentences: where distances or HMAT say something else than was measured."""
    latency, read = matrices.get(LATENCY.key), matrices.get(READ.key)
    if latency:
        yield from _distances(latency, topology)
    for node, claim in claims.items():
        here = str(node)
        if latency and claim.latency_ns:
            yield from _claim(f"read latency of node {node}", claim.latency_ns, latency.number(here, here), "ns")
        if read and claim.bandwidth_mb_s:
            yield from _claim(
                f"read bandwidth of node {node}", claim.bandwidth_mb_s / 1000, read.number(here, here), "GB/s"
            )


def _distances(latency: Matrix, topology: Topology) -> Iterator[str]:
    """SLIT says how far each is relative to local, times ten."""
    for node in topology.nodes:
        for other, distance in node.distances.items():
            ratio = latency.ratio(str(node.id), str(other))
            if other != node.id and ratio is not None and _differ(distance / LOCAL, ratio):
                yield (
                    f"from node {node.id} to node {other} the firmware says distance {distance} "
                    f"({distance / LOCAL:.1f} × local), measured is {ratio:.2f} ×"
                )


def _claim(what: str, claimed: float, measured: float | None, unit: str) -> Iterator[str]:
    if measured is not None and _differ(claimed, measured):
        yield f"the firmware (HMAT) says that the {what} is {claimed:.0f} {unit}, measured is {measured:.1f} {unit}"


def _differ(claimed: float, measured: float) -> bool:
    low, high = sorted((claimed, measured))
    return low <= 0 or high / low > TOLERANCE
