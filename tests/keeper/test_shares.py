"""CPUs shared out to accelerators: whole cores, on the node of each."""

import pytest

from numapin.ids import CpuSet
from numapin.shares import divide
from tests.keeper.trees import cpus

SMT = {cpu: CpuSet.of([cpu, cpu ^ 8]) for cpu in range(16)}
"""CPU 8 is the other hardware thread of CPU 0."""


@pytest.mark.parametrize(
    ("where", "parts", "siblings", "expected"),
    [
        ("0-7", 2, {}, ["0-3", "4-7"]),
        ("0-15", 2, SMT, ["0-3,8-11", "4-7,12-15"]),
        ("0-7", 3, {}, ["0-2", "3-5", "6-7"]),
        ("0-7", 1, {}, ["0-7"]),
        ("0-1", 4, {}, ["0-1"] * 4),
        # Two hardware threads of one core are one core.
        ("0,8", 2, SMT, ["0,8", "0,8"]),
        # A core of which the container has half.
        ("0-3,8", 2, SMT, ["0-1,8", "2-3"]),
        ("0-7", 8, {}, [str(cpu) for cpu in range(8)]),
    ],
)
def test_cpus_are_divided(where, parts, siblings, expected):
    found = divide(cpus(where), parts, siblings)
    assert [str(one) for one in found] == expected
