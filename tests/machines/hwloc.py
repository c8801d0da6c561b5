"""What hwloc's lstopo reads from the same tree: an answer that nobody here wrote."""

import os
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple


class Reading(NamedTuple):
    """A machine, as far as hwloc and numapin both tell it."""

    cpus: dict[int, frozenset[int]]
    """Online CPUs by node."""
    memory: dict[int, int]
    distances: dict[tuple[int, int], int]
    functions: dict[str, frozenset[int]]
    """By PCI address, the nodes that the function is close to."""


def lstopo(root: Path) -> Reading:
    """Run lstopo on a captured machine, with the nodes of GPUs and with all PCI functions."""
    settings = {"HWLOC_FSROOT": str(root), "HWLOC_THISSYSTEM": "0", "HWLOC_COMPONENTS": "linux,stop"}
    environment = os.environ | settings | {"HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES": "1", "HWLOC_HIDE_ERRORS": "2"}
    command = ["lstopo-no-graphics", "--whole-io", "--disallowed", "--of", "xml"]
    text = subprocess.run(command, env=environment, check=True, capture_output=True).stdout
    tree = ET.fromstring(text)
    above = {child: parent for parent in tree.iter() for child in parent}
    nodes = [one for one in tree.iter("object") if one.get("type") == "NUMANode"]
    return Reading(
        cpus={int(one.get("os_index", -1)): members(one.get("cpuset", "")) for one in nodes},
        memory={int(one.get("os_index", -1)): int(one.get("local_memory", 0)) for one in nodes},
        distances=distances(tree),
        functions={
            one.get("pci_busid", ""): locality(one, above) for one in tree.iter("object") if one.get("pci_busid")
        },
    )


def members(mask: str) -> frozenset[int]:
    """The bits of hwloc's mask: words of 32 bits, the highest first, zero words left empty."""
    words = [int(word or "0", 16) for word in mask.split(",")]
    return frozenset(
        32 * position + bit for position, word in enumerate(reversed(words)) for bit in range(32) if word >> bit & 1
    )


def locality(function: ET.Element, above: dict[ET.Element, ET.Element]) -> frozenset[int]:
    """The nodes of the first object above a PCI function that is no I/O object."""
    one = function
    while "nodeset" not in one.attrib:
        one = above[one]
    return members(one.attrib["nodeset"])


def distances(tree: ET.Element) -> dict[tuple[int, int], int]:
    matrix = next((one for one in tree.iter("distances2") if one.get("name") == "NUMALatency"), None)
    if matrix is None:
        return {}
    ids = [int(word) for part in matrix.iter("indexes") for word in (part.text or "").split()]
    values = [int(word) for part in matrix.iter("u64values") for word in (part.text or "").split()]
    pairs = [(one, other) for one in ids for other in ids]
    return dict(zip(pairs, values, strict=True))
