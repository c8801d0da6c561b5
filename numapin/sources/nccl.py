"""The topology file that a VM's maker ships for NCCL, where the VM's firmware says nothing: NCCL_TOPO_FILE."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from numapin.errors import CannotRead
from numapin.ids import PciAddress
from numapin.sources.drivers import read_address
from numapin.sources.parsing import node_id
from numapin.sources.root import Root

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def read_nccl_nodes(root: Root, environment: Mapping[str, str]) -> dict[PciAddress, int]:
    """Node by PCI function: `<cpu numaid="0"> … <pci busid="0001:00:00.0">`; empty where the variable names no file.

    Raises CannotRead where the file is no such XML.
    """
    path = environment.get("NCCL_TOPO_FILE")
    text = root.read(path) if path else None
    if text is None:
        return {}
    from xml.etree.ElementTree import ParseError, fromstring  # noqa: PLC0415 -- only these VMs need it

    try:
        system = fromstring(text)  # noqa: S314 -- expat refuses entity bombs since 2.4.1; the operator names the file
        return dict(_functions(system))
    except (ParseError, ValueError, RecursionError) as error:
        raise CannotRead(f"{path} (NCCL_TOPO_FILE) cannot be understood: {error}") from None


def _functions(system: "Element") -> Iterator[tuple[PciAddress, int]]:
    """Each function with the node of the <cpu> around it, however deep it lies."""
    pending: list[tuple[Element, int | None]] = [(system, None)]
    while pending:
        element, node = pending.pop()
        if element.tag == "cpu":
            node = node_id(element.get("numaid", "-1"))
        address = read_address(element.get("busid", "")) if element.tag == "pci" else None
        if address and node is not None:
            yield address, node
        pending += [(child, node) for child in element]
