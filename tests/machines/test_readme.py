"""The table of the captured GPU hosts: what each container has, and what comes of it."""

from typing import NamedTuple

import pytest

from numapin.cli.session import read_and_judge
from numapin.settings import Settings
from numapin.sources.opening import open_root
from tests.machines.captured import GPU_HOSTS, archive


class Row(NamedTuple):
    """One row of the README beside the captured machines."""

    cpus: str
    mems: str
    gpus: tuple[str, ...]
    rdma: tuple[str, ...]
    status: str
    nodes: str


ALL_P4D_GPUS = tuple(f"0000:{bus}:{slot}.0" for bus in ("10", "20", "90", "a0") for slot in ("1c", "1d"))

TABLE = {
    "h100-8gpu-16nic": Row("0-15", "0", ("0000:0f:00.0", "0000:2d:00.0"), ("mlx5_0", "mlx5_1"), "aligned", "0"),
    "azure-ndv5-8gpu": Row("48-63", "1", ("000a:00:00.0",), ("mlx5_5",), "aligned", "1"),
    "azure-ndv4-8gpu-4node": Row(
        "24-47", "0-3", ("0001:00:00.0", "0002:00:00.0"), ("mlx5_2", "mlx5_3"), "aligned", "1"
    ),
    "aws-p4d-8gpu": Row("0-95", "0-1", ALL_P4D_GPUS, ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"), "misaligned", ""),
    "mi300x-8gpu-8nic": Row("0-7", "0", ("0000:0c:00.0", "0000:9f:00.0"), ("mlx5_0",), "misaligned", ""),
    "mi300a-4gpu-4node": Row("48-55", "2", ("0000:82:00.0",), ("mlx5_0",), "aligned", "2"),
    "rome-8gpu-nps4": Row("16-23", "1", ("0000:4a:00.0",), ("mlx5_0",), "aligned", "1"),
    "rome-8gpu-nps4-7nodes": Row("48-55", "3", ("0000:03:00.0",), (), "aligned", "3"),
}


@pytest.mark.parametrize("name", GPU_HOSTS)
def test_a_gpu_host_gives_what_its_readme_says(name: str) -> None:
    judged = read_and_judge(open_root(str(archive(name))), Settings())
    assignment, verdict = judged.assignment, judged.verdict
    bound = str(verdict.nodes) if verdict.status == "aligned" else ""
    assert TABLE[name] == Row(
        str(assignment.cpus),
        str(assignment.mems),
        tuple(str(one.pci) for one in assignment.accelerators),
        tuple(one.name for one in assignment.rdma),
        verdict.status,
        bound,
    )


def test_gpu_4_of_the_mi300x_is_what_is_misaligned() -> None:
    verdict = read_and_judge(open_root(str(archive("mi300x-8gpu-8nic"))), Settings()).verdict
    assert verdict.sentence == "GPU 0 (0000:0c:00.0) is on node 0, GPU 1 (0000:9f:00.0) is on node 1"
    assert {reason.code for reason in verdict.errors} >= {"GPUS_SPAN_NODES"}


def test_the_whole_p4d_is_aligned_under_restricted_on_both_nodes() -> None:
    verdict = read_and_judge(open_root(str(archive("aws-p4d-8gpu"))), Settings(policy="restricted")).verdict
    assert (verdict.status, str(verdict.nodes), str(verdict.cpus), str(verdict.mems)) == (
        "aligned",
        "0-1",
        "0-95",
        "0-1",
    )
