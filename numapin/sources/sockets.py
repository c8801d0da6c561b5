"""The links between sockets: the counters that tell what goes over them.

The kernel shows each unit that counts as a PMU, with the layout of its event numbers
(Documentation/ABI/testing/sysfs-bus-event_source-devices-format). Which number means data on a link it does not say:
these are the makers' own, as perf has them in tools/perf/pmu-events/arch/x86.
"""

import re
from collections.abc import Iterator

from numapin.counters import Opening
from numapin.ids import CpuSet
from numapin.sources.parsing import number, read
from numapin.sources.root import Root
from numapin.values import value

DEVICES = "/sys/bus/event_source/devices"
MODALIAS = "/sys/devices/system/cpu/modalias"
"""`cpu:type:x86,ven0002fam0019mod0011:feature:…`, in hexadecimal; /proc/cpuinfo says the same a hundred times."""

_LAYOUT = re.compile(r"config:([\d,-]+)", re.ASCII)
_WORD = 64


@value
class _Maker:
    """How a family of CPUs counts the data that leaves a socket."""

    cpus: re.Pattern[str]
    unit: re.Pattern[str]
    """The PMU's name; there may be several."""
    events: tuple[int, ...]
    """One for each link that a PMU sees."""
    umask: int
    size: float
    """Bytes that one count stands for."""


_AMD = re.compile(r"amd_df")
_MAKERS = (
    # UNC_UPI_TxL_FLITS.ALL_DATA, from Skylake-SP on; one PMU for each link. Nine flits carry 64 bytes.
    _Maker(re.compile(r"ven0000fam0006"), re.compile(r"uncore_upi_\d+"), (0x02,), 0x0F, 64 / 9),
    # Zen 2 and 3: remote_outbound_data_controller_0 to 3.
    _Maker(re.compile(r"ven0002fam00(17|19mod00[0245])"), _AMD, tuple(range(0x7C7, 0x8C7, 0x40)), 0x02, 32),
    # Zen 4: local_socket_outbound_data_beats_link0 to 7.
    _Maker(re.compile(r"ven0002fam0019"), _AMD, tuple(range(0xB5F, 0xD5F, 0x40)), 0xF3E, 64),
    # Zen 5: local_socket_outbound_data_beats_link_0 to 5.
    _Maker(re.compile(r"ven0002fam001Amod00[012467]"), _AMD, tuple(range(0xD5F, 0xEDF, 0x40)), 0xF3E, 64),
)


def read_links(root: Root) -> tuple[Opening, ...]:
    """What to count for all data that leaves a socket for another; none where this machine shows no such counter."""
    alias = root.read(MODALIAS) or ""
    maker = next((one for one in _MAKERS if one.cpus.search(alias)), None)
    if maker is None:
        return ()
    units = [name for name in root.names(DEVICES) if maker.unit.fullmatch(name)]
    return tuple(opening for name in units for opening in _openings(root, f"{DEVICES}/{name}", maker))


def _openings(root: Root, unit: str, maker: _Maker) -> Iterator[Opening]:
    """Each event on one CPU of each socket: those of the unit's cpumask."""
    kind = read(root, f"{unit}/type", number)
    cpus = read(root, f"{unit}/cpumask", CpuSet.parse) or CpuSet()
    umask = _placed(maker.umask, root.read(f"{unit}/format/umask"))
    for event in maker.events:
        code = _placed(event, root.read(f"{unit}/format/event"))
        if kind is not None and code is not None and umask is not None:
            yield from (Opening(kind, code | umask, cpu=cpu, size=maker.size) for cpu in cpus)


def _placed(number: int, layout: str | None) -> int | None:
    """The number with its bits where the layout has them, `config:0-7,32-37`; None where it does not fit."""
    found = _LAYOUT.fullmatch((layout or "").strip())
    try:
        bits = list(CpuSet.parse(found[1])) if found else []
    except ValueError:
        return None
    if number >> len(bits) or max(bits, default=_WORD) >= _WORD:
        return None
    return sum(1 << bit for position, bit in enumerate(bits) if number >> position & 1)
