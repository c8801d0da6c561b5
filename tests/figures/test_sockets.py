"""Which counters tell what goes between sockets, on each maker's machines: files as its kernel module shows them."""

import pytest

from numapin.counters import Opening
from numapin.sources.opening import open_root
from numapin.sources.root import LiveRoot
from numapin.sources.sockets import read_links
from tests.machines.builder import build_machine

INTEL, GENOA, MILAN, TURIN = (
    f"cpu:type:x86,{name}:feature:,0000,0001"
    for name in ("ven0000fam0006mod008F", "ven0002fam0019mod0011", "ven0002fam0019mod0001", "ven0002fam001Amod0002")
)
UPI = {"type": "21", "cpumask": "0,56", "format/event": "config:0-7", "format/umask": "config:8-15,32-55"}
FABRIC = {"type": "9", "cpumask": "0", "format/event": "config:0-7,32-37", "format/umask": "config:8-15,24-27"}
OLD_FABRIC = {**FABRIC, "format/event": "config:0-7,32-35,59-60", "format/umask": "config:8-15"}


def links(directory, modalias, **units):
    files = {"/sys/devices/system/cpu/modalias": modalias}
    for name, unit in units.items():
        files |= {f"/sys/bus/event_source/devices/{name}/{file}": text for file, text in unit.items()}
    return read_links(
        open_root(str(build_machine(directory, *(f"file {path} {text}" for path, text in files.items()))))
    )


def test_intel_has_a_unit_for_each_link_and_counts_in_ninths_of_a_cache_line(tmp_path):
    found = links(tmp_path, INTEL, uncore_upi_0=UPI, uncore_upi_1={**UPI, "type": "22"}, uncore_imc_0=UPI)
    assert found == tuple(Opening(kind, 0x0F02, cpu=cpu, size=64 / 9) for kind in (21, 22) for cpu in (0, 56))


@pytest.mark.parametrize(
    ("modalias", "unit", "count", "first"),
    [
        # Event 0xb5f, umask 0xf3e: bits 8 to 13 of the event go to 32 to 37, bits 8 to 11 of the umask to 24 to 27.
        (GENOA, FABRIC, 8, Opening(9, 0x0B << 32 | 0x0F << 24 | 0x3E << 8 | 0x5F, cpu=0, size=64)),
        (TURIN, FABRIC, 6, Opening(9, 0x0D << 32 | 0x0F << 24 | 0x3E << 8 | 0x5F, cpu=0, size=64)),
        (MILAN, OLD_FABRIC, 4, Opening(9, 0x07 << 32 | 0x02 << 8 | 0xC7, cpu=0, size=32)),
    ],
)
def test_amd_has_an_event_for_each_link(tmp_path, modalias, unit, count, first):
    found = links(tmp_path, modalias, amd_df=unit, amd_l3=unit)
    assert len({one.config for one in found}) == len(found) == count
    assert found[0] == first


@pytest.mark.parametrize(
    ("modalias", "unit"),
    [
        ("", FABRIC),
        ("cpu:type:aarch64:feature:,0000", FABRIC),
        (GENOA.replace("0019", "001B"), FABRIC),
        (GENOA, OLD_FABRIC),
        (GENOA, {**FABRIC, "cpumask": ""}),
        (GENOA, {**FABRIC, "format/event": "config1:0-13"}),
        (GENOA, {**FABRIC, "format/event": "config:0-7,60-99"}),
        (GENOA, {**FABRIC, "format/umask": "config:nonsense"}),
        (GENOA, {name: text for name, text in FABRIC.items() if name != "type"}),
    ],
)
def test_a_machine_that_is_not_known_is_not_guessed_at(tmp_path, modalias, unit):
    """A number that means something else there would be a figure that lies."""
    assert links(tmp_path, modalias, amd_df=unit) == ()


def test_this_machine_has_some_or_none():
    assert all(one.size > 1 and one.cpu >= 0 for one in read_links(LiveRoot()))
