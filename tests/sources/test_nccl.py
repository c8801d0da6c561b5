"""The topology file that a VM's maker ships for NCCL."""

import pytest

from numapin.errors import CannotRead
from numapin.sources.nccl import read_nccl_nodes
from tests.sources.trees import Tree

NDV5 = """<?xml version="1.0" encoding="UTF-8"?>
<system version="1">
  <cpu numaid="0" affinity="ffff,ffffffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200"/>
      <pci busid="0101:00:00.0" class="0x020700"/>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="ffff,ffffffff,00000000" arch="x86_64">
    <pci busid="0008:00:00.0" class="0x030200"/>
    <nic><net name="mlx5_0"/></nic>
  </cpu>
  <cpu numaid="-1"><pci busid="0009:00:00.0"/></cpu>
  <cpu><pci busid="000A:00:00.0"/></cpu>
</system>
"""
NAMED = {"NCCL_TOPO_FILE": "/opt/topo.xml"}


def nodes(tree: Tree, text: str | bytes) -> dict[str, int]:
    return {str(one): node for one, node in read_nccl_nodes(tree({"/opt/topo.xml": text}), NAMED).items()}


def test_the_node_of_every_function_at_any_depth(tree: Tree) -> None:
    expected = {"ffff:ff:01.0": 0, "0001:00:00.0": 0, "0101:00:00.0": 0, "0008:00:00.0": 1}
    assert nodes(tree, NDV5) == expected


def test_an_address_that_is_none_is_passed_over(tree: Tree) -> None:
    assert nodes(tree, '<system><cpu numaid="0"><pci busid="here"/><pci/></cpu></system>') == {}


@pytest.mark.parametrize(
    "environment", [{}, {"NCCL_TOPO_FILE": ""}, {"NCCL_TOPO_FILE": "/nowhere"}, {"NCCL_TOPO_FILE": "/opt"}]
)
def test_no_file_tells_nothing(tree: Tree, environment) -> None:
    assert read_nccl_nodes(tree({"/opt/topo.xml": NDV5}), environment) == {}


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + "]><system>&i;</system>"
)
SENSELESS = {
    "empty": "",
    "no XML": "gpu 0 node 0",
    "binary": bytes(range(256)),
    "zero in it": "<system>\0</system>",
    "cut off": NDV5[:300],
    "a node that is no number": '<system><cpu numaid="first"><pci busid="0001:00:00.0"/></cpu></system>',
    "entities upon entities": BOMB,
    "an entity of this machine": '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><system>&e;</system>',
}


@pytest.mark.usefixtures("quickly", "little_memory")
@pytest.mark.parametrize("text", SENSELESS.values(), ids=SENSELESS)
def test_a_file_that_makes_no_sense_is_named(tree: Tree, text: str | bytes) -> None:
    with pytest.raises(CannotRead, match=r"^/opt/topo\.xml \(NCCL_TOPO_FILE\) cannot be understood: "):
        nodes(tree, text)


@pytest.mark.usefixtures("quickly")
def test_cpus_within_cpus_come_to_an_end(tree: Tree) -> None:
    """As deep as a megabyte allows: each function counts once, not once for every CPU above it."""
    depth = 60_000
    text = "<system>" + "<cpu>" * depth + '<pci busid="0001:00:00.0"/>' + "</cpu>" * depth + "</system>"
    assert nodes(tree, text) == {}
